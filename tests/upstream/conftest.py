from tests.upstream.machine import machine

__all__ = ["machine"]
