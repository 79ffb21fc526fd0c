"""Signals that ask a process to stop, held back while files move."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_done = False


def complete() -> None:
    """Note that what the process was called for is done and stays done: who stops it now stops only its report."""
    global _done
    _done = True


def is_complete() -> bool:
    """Whether :func:`complete` was called."""
    return _done


class Stopped(BaseException):
    """A stopping signal came while it was held back. Not an Exception: nothing on the way may swallow it."""


class Held:
    """A context in which SIGINT, SIGTERM and SIGHUP are noted instead of obeyed.

    Whoever works in it calls :meth:`check` where stopping is safe. On the way out with :class:`Stopped` the
    signal goes to the handler that was there before; where that would end the process on the spot, SystemExit is
    raised instead, with the status a shell gives it, so that callers can clear up. A signal that came after the
    last check is dropped: the work was complete by then, and must not be reported as taken back. Outside the
    main thread, where handlers can't be set, nothing is held.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._before: dict[int, Any] = {}

    def check(self) -> None:
        """Raise Stopped if a signal came."""
        if self._came is not None:
            raise Stopped

    def __enter__(self) -> Held:
        if threading.current_thread() is threading.main_thread():
            for number in _STOPPING:
                before = signal.getsignal(number)
                # nohup and the like ignore a signal on purpose; a handler set from C can't be put back.
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if isinstance(error, Stopped) and self._came is not None:
            if self._before[self._came] != signal.SIG_DFL:
                signal.raise_signal(self._came)
            raise SystemExit(128 + self._came) from None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = number
