"""Where a transaction can be hit: tests cut it short at every step, as a kill or a failing disk would.

Every write, rename, link, unlink, mkdir, rmdir and fsync of a transaction passes a point first. Normally a
point does nothing. The environment variable ``PATCHCTL_FAULT``, read when a place is opened, sets one:

``kill:N``      SIGKILL to ourselves at point N (from 1)
``enospc:N``, ``eacces:N``   the operation at point N fails, once
``full:N``      from point N on, everything that takes space fails (write, link, mkdir); renames work
``erofs:N``     from point N on, everything fails, the way back included
``term:N``, ``int:N``        SIGTERM or SIGINT to ourselves at point N
``random:S``    SIGKILL from outside, S seconds after the first point
``count:FILE``  nothing fails; FILE tells how many points were passed, and the seconds from the first to the last
"""

from __future__ import annotations

import errno
import os
import signal
import time

VARIABLE = "PATCHCTL_FAULT"

# The operations that need room on the disk: what fails when it is full.
_TAKES_SPACE = frozenset({"write", "link", "mkdir", "symlink"})
_SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
_ERRORS = {"enospc": errno.ENOSPC, "eacces": errno.EACCES, "full": errno.ENOSPC, "erofs": errno.EROFS}


class Faults:
    """Counts the operations of one process and makes the wanted one fail. An empty ``spec`` wants none."""

    def __init__(self, spec: str = "") -> None:
        self._kind, _, self._argument = spec.partition(":")
        self._seen = 0
        self._began = 0.0
        self._report = -1

    @classmethod
    def from_environment(cls) -> Faults:
        """What ``PATCHCTL_FAULT`` asks for; nothing when it is not set."""
        return cls(os.environ.get(VARIABLE, ""))

    def point(self, operation: str, name: str) -> None:
        """Call before ``operation`` (a word such as ``rename``) on the file ``name``.

        Raises OSError, as the operation itself would, where a fault is set for it.
        """
        if self._kind:
            self._pass(operation, name)

    def _pass(self, operation: str, name: str) -> None:
        self._seen += 1
        if self._seen == 1:
            self._began = time.monotonic()
        if self._kind == "count":
            self._count()
        elif self._kind == "random":
            if self._seen == 1:
                _kill_after(float(self._argument))
        elif self._hits(operation):
            if self._kind in _SIGNALS:
                os.kill(os.getpid(), _SIGNALS[self._kind])
            else:
                number = _ERRORS[self._kind]
                raise OSError(number, os.strerror(number), name)

    def _count(self) -> None:
        if self._report < 0:
            self._report = os.open(self._argument, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        # At every point, since nobody tells which is the last; in one cheap call, since it is timed.
        os.pwrite(self._report, b"%12d %14.6f\n" % (self._seen, time.monotonic() - self._began), 0)

    def _hits(self, operation: str) -> bool:
        wanted = int(self._argument)
        if self._kind == "erofs":
            return self._seen >= wanted
        if self._kind == "full":
            return self._seen >= wanted and operation in _TAKES_SPACE
        return self._seen == wanted


def _kill_after(seconds: float) -> None:
    """Have another process kill this one, at a moment that has nothing to do with what this one does."""
    victim = os.getpid()
    if os.fork():
        return
    time.sleep(seconds)
    if os.getppid() == victim:
        os.kill(victim, signal.SIGKILL)
    os._exit(0)
