"""The command line: one module a command, each parses, calls one workflow and renders its result."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``patchctl`` script."""
    import contextlib
    import os
    import signal
    import sys

    # In another locale Python would give files other names than git and the patches do, where they are not ASCII.
    if sys.getfilesystemencoding().replace("-", "").lower() != "utf8" and sys.executable:
        with contextlib.suppress(OSError):
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    # Until the program is read nothing is done: a signal ends it on the spot, without a traceback or another's status.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from patchctl.cli.main import run

    run()
