"""Standard input, output and error as a process may find them: closed, full, or of a narrow encoding."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO


def prepare() -> None:
    """Make sure that all three are there, and that no character can keep a line from being printed.

    Else the next file to be opened would get the number of the closed one, and whatever git prints would go into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO())
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO) -> None:
    """Have what is still to be written to ``stream`` go nowhere: its reader went away, or its disk is full."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def flushed() -> OSError | None:
    """Bring everything out, so that Python need not complain at exit; why standard output could not be written to.

    A reader that went away has read all that it wanted: that is no fault.
    """
    fault = None
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            silence(stream)
            if stream is sys.stdout and error.errno != errno.EPIPE:
                fault = error
    return fault


def _nowhere() -> TextIO:
    return io.TextIOWrapper(io.FileIO(os.open(os.devnull, os.O_WRONLY), "w"), write_through=True)
