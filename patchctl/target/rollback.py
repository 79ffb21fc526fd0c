"""The way back from a transaction: keeping what was there, and putting it there again.

Taking back may itself be killed and begun again: each step looks at what stands before it acts.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

from patchctl.engine.state import LINK, FileState
from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Stamp
from patchctl.target.journal import Entry, Journal, kept, staged
from patchctl.target.safeio import Root, link, rename
from patchctl.target.traces import DONE, DRAFT, STAGE, STANDING

# What link() says where it can't: another file system, one without hard links, a file that isn't ours to link.
_NO_LINK = frozenset({errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


def keep(home: Root, path: str, store: Root, name: str) -> None:
    """Keep the file ``path`` under a second name in the store; as a copy where a link can't be made."""
    try:
        link(home, path, store, name)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        _copy(home, path, store, f"{name}.part")
        rename(store, f"{name}.part", store, name)


def put(store: Root, name: str, home: Root, path: str, beside: str) -> None:
    """Move a file from the store to its place in one step; over ``beside`` where that is another file system."""
    try:
        rename(store, name, home, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        home.unlink(beside)
        _copy(store, name, home, beside)
        rename(home, beside, home, path)
        store.unlink(name)


def set_aside(home: Root, store: Root, journal: Journal, number: int) -> None:
    """Take a discarded file away, to where it can be brought back from."""
    path = journal.entries[number].path
    found = home.lstat(path)
    if found is None or stat.S_ISDIR(found.st_mode):
        return
    try:
        rename(home, path, store, kept(number))
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        keep(home, path, store, kept(number))
        home.unlink(path)


def take_back(
    root: Root, store: Root, journal: Journal, undo: Callable[[Mapping[str, Any]], None] | None = None
) -> None:
    """Put every file back to what it was before the transaction of ``journal``.

    Raises Refused, before anything is changed, naming all files that were changed since by somebody else.
    """
    back = _Back(root, store, journal)
    back.check()
    if undo is not None:
        undo(journal.note)
    numbers = range(len(journal.entries) - 1, -1, -1)
    for number in numbers:
        if journal.entries[number].after is not None:
            back.one(number)
    for folder in reversed(journal.made):
        if root.lstat(folder) is not None:
            root.rmdir(folder)
    for number in numbers:
        if journal.entries[number].after is None:
            back.one(number)
    back.sync()


def clear(store: Root) -> None:
    """Remove stage and journal, the journal last."""
    for name in store.names(STAGE):
        store.unlink(f"{STAGE}/{name}")
    if store.lstat(STAGE) is not None:
        store.rmdir(STAGE)
    for name in (DRAFT, DONE, STANDING):
        if store.lstat(name) is not None:
            store.unlink(name)


class _Back:
    def __init__(self, root: Root, store: Root, journal: Journal) -> None:
        self._root = root
        self._store = store
        self._journal = journal

    def check(self) -> None:
        problems = []
        for number, entry in enumerate(self._journal.entries):
            if not entry.soft and not self._ours(number, entry):
                problems.append(self._foreign(number, entry))
        if problems:
            raise Refused(problems)

    def one(self, number: int) -> None:
        entry = self._journal.entries[number]
        home = self._home(entry)
        if self._journal.token:
            self._drop_beside(number, home)
        old = self._store.lstat(kept(number))
        if old is None:
            if not entry.soft and entry.before is None and _stamp(home.read(entry.path)) == entry.after:
                home.unlink(entry.path)
            return
        now = home.lstat(entry.path)
        if now is not None and os.path.samestat(now, old):
            return  # kept, but not replaced yet; the second name goes with the stage
        if now is not None and not entry.soft and _stamp(home.read(entry.path)) == entry.before:
            return
        self._make_folders(entry)
        put(self._store, kept(number), home, entry.path, self._journal.beside(number))

    def sync(self) -> None:
        for folder in dict.fromkeys(entry.path.rpartition("/")[0] for entry in self._journal.entries):
            self._root.sync(folder)

    def _home(self, entry: Entry) -> Root:
        return self._store if entry.of_state else self._root

    def _ours(self, number: int, entry: Entry) -> bool:
        """Whether what stands there may be replaced: it's what we put there, or still (or again) what was there."""
        home = self._home(entry)
        found = _stamp(home.read(entry.path))
        if found in (entry.after, entry.before):
            return True
        old = self._store.lstat(kept(number))
        if old is not None:
            now = home.lstat(entry.path)
            return now is not None and os.path.samestat(now, old)
        # Nothing kept: the run had not come to this file, or it has been taken back already. For a new file that
        # only holds as long as the new content still waits.
        return entry.before is not None or self._store.lstat(staged(number)) is not None or found is None

    def _foreign(self, number: int, entry: Entry) -> Problem:
        old = self._store.path / kept(number)
        kept_at = f" What stood there before it is {old}." if entry.before is not None else ""
        message = f"{entry.path} was changed by somebody since patchctl was interrupted.{kept_at}"
        hint = "Move your version elsewhere, put the earlier one back, and run the command again."
        return Problem("changed", message + " " + hint, file=entry.path)

    def _drop_beside(self, number: int, home: Root) -> None:
        beside = self._journal.beside(number)
        if home.lstat(beside) is not None:
            home.unlink(beside)

    def _make_folders(self, entry: Entry) -> None:
        """Make the folders again that went away when they became empty, with their permissions."""
        home = self._home(entry)
        parts = entry.path.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            above = "/".join(parts[:end])
            if home.lstat(above) is None:
                home.mkdir(above)
                if above in self._journal.folders:
                    home.dress(above, self._journal.folders[above], None, None)


def _copy(source: Root, path: str, target: Root, name: str) -> None:
    """Copy a file or link with its permissions, time and owner; a leftover of an earlier try is replaced."""
    state = source.read(path)
    found = source.lstat(path)
    if state is None or found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(source.path / path))
    target.unlink(name)
    if state.mode == LINK:
        target.symlink(name, state.data)
    else:
        target.write(name, state.data, 0o600)
    target.dress(name, stat.S_IMODE(found.st_mode), found.st_mtime_ns, (found.st_uid, found.st_gid))


def _stamp(state: FileState | None) -> Stamp | None:
    return None if state is None else Stamp(state.blob, f"{state.mode:06o}")
