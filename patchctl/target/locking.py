"""Keeping other patchctl processes out of a folder, with nothing left behind: the folder itself is locked."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Network file systems that can't lock a folder. Two runs at once on one of them is a risk that is taken:
# the alternative is to refuse work that nobody disturbs.
_CANT = frozenset({errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class FolderLock:
    """An advisory lock (flock) on the folder ``path``; it may be taken again by its holder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; waits for another process that does."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock(descriptor, fcntl.LOCK_EX)
            self._depth = 1
            yield
        finally:
            self._depth = 0
            os.close(descriptor)

    def wait(self) -> None:
        """Return when no other process holds the lock."""
        if not self._depth:
            with self.held():
                pass


def _lock(descriptor: int, how: int) -> None:
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _CANT:
            raise
