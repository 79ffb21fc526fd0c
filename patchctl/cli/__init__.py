"""The command line: one module a command, each parses, calls one workflow and renders its result."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``patchctl`` script."""
    from patchctl.cli.main import run

    run()
