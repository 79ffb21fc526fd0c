from tests.upstream.common import dist
from tests.upstream.machine import machine

__all__ = ["dist", "machine"]
