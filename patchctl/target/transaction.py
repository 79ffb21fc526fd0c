"""Moving a set of files from one state to another: all of them, or none.

First everything new is laid out in the state folder, so that a full disk shows while nothing has changed.
Then a journal is written that tells how to take everything back, and the files are renamed into place one by
one. The file that was there is kept by a second name until the end: taking back restores the very inode,
and nothing is ever written into a file, which other places may share by a hard link. Every file is read
back. The transaction counts from the moment its journal is marked done.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchctl.engine.state import EXECUTABLE, LINK, FileState
from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Stamp
from patchctl.target import journal as journals
from patchctl.target import rollback, traces
from patchctl.target.journal import Entry, Journal, kept, staged
from patchctl.target.safeio import Root, failed
from patchctl.target.signals import Held, complete

_STANDS = "The journal stands: the next apply or unapply there will put it right."
SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """What one file shall become. ``before`` is what must stand there for it, None is no file.

    ``mtime_ns`` None means a fresh time, in a later second than the replaced file's, so that bytecode made from
    that can't pass for bytecode of this; ``permissions`` None means those of the replaced file, or the umask's.
    ``of_state``: the path is below the state folder instead of the root.
    """

    path: str
    before: FileState | Stamp | None
    after: FileState | None
    mtime_ns: int | None = None
    permissions: int | None = None
    of_state: bool = False


def run(
    root: Root,
    state: Path,
    changes: Iterable[Change],
    *,
    discard: Iterable[str] = (),
    note: Mapping[str, Any] | None = None,
    then: Callable[[], None] | None = None,
    undo: Callable[[Mapping[str, Any]], None] | None = None,
    durable: bool = True,
) -> None:
    """Do all of ``changes`` below ``root``, or none.

    ``state`` is the folder for journal and stage; it is made if need be (one level), and removed when nothing is
    left in it. ``discard`` names files that go away whatever their content (bytecode); that one isn't there is
    fine. Folders that become empty are removed, as git does. ``then`` is called when all files stand and are
    proved, before the transaction counts: if it raises, ``undo(note)`` is called and the files are taken back.
    ``undo`` must tolerate being called for something that was not done, and twice; :func:`recover` takes the same.
    Without ``durable`` the new files are left to the system to bring onto the disk: a kill loses nothing, a power
    cut soon after may.

    The caller holds the place's lock and has recovered what was interrupted. Raises Refused when a file is not in
    the state its change expects, EnvironmentFailed when the disk fails; SIGINT and SIGTERM come through after
    everything is taken back.
    """
    work = [change for change in changes if change.mtime_ns is not None or not _same(change.before, change.after)]
    work.sort(key=lambda change: change.after is not None)  # what goes away first: a folder may become a file
    doomed = list(discard)
    if not work and not doomed and then is None:
        return
    with Held() as held:
        try:
            with _state_folder(root, state) as store:
                _Run(root, store, work, doomed, dict(note or {}), held, durable).all(then, undo)
                complete()
        except OSError as error:
            raise failed(error, f"writing into {root.path}", "Nothing has changed.") from error
        finally:
            _drop_state_folder(root, state)


def interrupted(state: Path) -> bool:
    """Whether a run that was cut short left its journal in ``state``."""
    return traces.stand(state)


def recover(root: Root, state: Path, undo: Callable[[Mapping[str, Any]], None] | None = None) -> None:
    """Take back what an interrupted run did, or clear up after one that was complete.

    The caller holds the place's lock. Raises Refused naming every file that is neither as it was before that run nor
    as the run left it (nothing is changed then), EnvironmentFailed when the disk fails; both leave the journal.
    """
    if not traces.stand(state):
        return
    with Held():
        try:
            with Root.open(state, root.faults, follow=False) as store:
                journal = journals.read(store)
                if journal is not None and journal.phase == "ready":
                    rollback.take_back(root, store, journal, undo)
                rollback.clear(store)
        except OSError as error:
            raise failed(error, f"taking back an interrupted run in {root.path}", _STANDS) from error
        _drop_state_folder(root, state)


@contextmanager
def _state_folder(root: Root, state: Path) -> Iterator[Root]:
    if not state.is_dir() or state.is_symlink():
        root.faults.point("mkdir", str(state))
        with suppress(FileExistsError):
            state.mkdir()
    with Root.open(state, root.faults, follow=False) as store:
        yield store


def _drop_state_folder(root: Root, state: Path) -> None:
    """Remove the state folder if nothing is left in it; an empty one that stays does no harm."""
    with suppress(OSError):
        root.faults.point("rmdir", str(state))
        state.rmdir()


class _Run:
    """One transaction on its way."""

    def __init__(
        self,
        root: Root,
        store: Root,
        work: Sequence[Change],
        doomed: Sequence[str],
        note: dict[str, Any],
        held: Held,
        durable: bool,
    ) -> None:
        self._root = root
        self._store = store
        self._work = work
        self._doomed = doomed
        self._note = note
        self._held = held
        self._durable = durable
        self._seen: list[os.stat_result | None] = []
        self._missing: frozenset[str] = frozenset()  # the folders to be made

    def all(self, then: Callable[[], None] | None, undo: Callable[[Mapping[str, Any]], None] | None) -> None:
        self._check()
        journal = Journal("staging")
        try:
            journals.write(self._store, journal, sync=False)
            self._stage()
            journal = self._plan()
            journals.write(self._store, journal, sync=True)
            self._do(journal)
            self._prove()
            if then is not None:
                then()
            self._held.check()
            journals.mark_done(self._store)
        except BaseException as reason:
            # Whatever it was, a signal or a fault of our own included: the files come first.
            try:
                if journal.phase == "ready":
                    rollback.take_back(self._root, self._store, journal, undo)
                rollback.clear(self._store)
            except OSError as error:
                doing = f"taking back a run in {self._root.path} that had failed ({reason})"
                raise failed(error, doing, _STANDS) from reason
            raise
        try:
            rollback.clear(self._store)
        except OSError as error:
            outcome = "The files themselves are complete; the next run clears up."
            raise failed(error, f"clearing up after a run in {self._root.path}", outcome) from error

    def _home(self, of_state: bool) -> Root:
        return self._store if of_state else self._root

    def _check(self) -> None:
        """That every file stands as its change expects; remembers which inode that was."""
        problems = []
        for change in self._work:
            home = self._home(change.of_state)
            self._seen.append(home.lstat(change.path))
            found = stamp(home.read(change.path))
            if found != stamp(change.before):
                problems.append(changed_meanwhile(change.path, found, stamp(change.before)))
        if problems:
            raise Refused(problems)

    def _stage(self) -> None:
        """Lay out all new contents, with the permissions and times they shall have."""
        store = self._store
        store.mkdir(traces.STAGE, 0o700)
        for number, (change, old) in enumerate(zip(self._work, self._seen, strict=True)):
            if change.after is None:
                continue
            self._held.check()
            name = staged(number)
            if change.after.mode == LINK:
                store.symlink(name, change.after.data)
            else:
                store.write(name, change.after.data, 0o777 if change.after.mode == EXECUTABLE else 0o666)
            if old is not None and stat.S_ISDIR(old.st_mode):
                old = None
            if old is not None or change.mtime_ns is not None or change.permissions is not None:
                owner = None if old is None else (old.st_uid, old.st_gid)
                store.dress(name, _permissions(change, old), _mtime(change, old), owner)
        if self._durable:
            for number, change in enumerate(self._work):
                if change.after is not None and change.after.mode != LINK:
                    store.sync_file(staged(number))

    def _plan(self) -> Journal:
        entries = [Entry(c.path, stamp(c.before), stamp(c.after), of_state=c.of_state) for c in self._work]
        entries += [Entry(path, None, None, soft=True) for path in self._doomed]
        made: dict[str, None] = {}
        folders: dict[str, int] = {}
        for entry in entries:
            if entry.of_state:
                continue
            for above in _folders_above(entry.path):
                found = self._root.lstat(above)
                if found is not None and stat.S_ISDIR(found.st_mode):
                    if entry.after is None:
                        folders[above] = stat.S_IMODE(found.st_mode)
                elif entry.after is not None:
                    made[above] = None
        self._missing = frozenset(made)
        return Journal("ready", os.urandom(4).hex(), tuple(entries), tuple(made), folders, self._note)

    def _do(self, journal: Journal) -> None:
        touched: dict[str, None] = {}
        for above in journal.made:
            touched[above.rpartition("/")[0]] = None
        for number, entry in enumerate(journal.entries):
            self._held.check()
            home = self._home(entry.of_state)
            if entry.soft:
                rollback.set_aside(home, self._store, journal, number)
            elif entry.after is None:
                self._keep(journal, number)
                home.unlink(entry.path)
            else:
                self._make_way(journal, entry)
                self._keep(journal, number)
                rollback.put(self._store, staged(number), home, entry.path, journal.beside(number))
            if not entry.of_state:
                touched[entry.path.rpartition("/")[0]] = None
        for entry in journal.entries:
            if entry.after is None and not entry.of_state:
                self._prune(entry.path)
        if self._durable:
            for folder in touched:
                self._root.sync(folder)

    def _keep(self, journal: Journal, number: int) -> None:
        """Keep the old file, and make sure that it is still the one that was looked at."""
        old = self._seen[number]
        entry = journal.entries[number]
        home = self._home(entry.of_state)
        now = home.lstat(entry.path)
        if entry.before is None:
            if now is not None and stat.S_ISDIR(now.st_mode):
                raise Refused(Problem("in-the-way", f"{entry.path} is a folder, not a file.", file=entry.path))
            if now is not None:
                raise Refused(changed_meanwhile(entry.path, stamp(home.read(entry.path)), None))
            return
        if now is None or old is None or _identity(now) != _identity(old):
            raise Refused(changed_meanwhile(entry.path, stamp(home.read(entry.path)), entry.before))
        rollback.keep(home, entry.path, self._store, kept(number))

    def _make_way(self, journal: Journal, entry: Entry) -> None:
        """Make the folders that ``entry`` needs, and remove an emptied one that has its name."""
        home = self._home(entry.of_state)
        if entry.before is None:
            found = home.lstat(entry.path)
            if found is not None and stat.S_ISDIR(found.st_mode):
                for other in journal.entries:
                    if other.after is None and other.path.startswith(entry.path + "/"):
                        self._prune(other.path)
        for above in _folders_above(entry.path):
            if above not in self._missing:
                continue
            found = home.lstat(above)
            if found is None:
                home.mkdir(above)
            elif not stat.S_ISDIR(found.st_mode):
                why = f"{above} is a file, {entry.path} needs a folder there."
                raise Refused(Problem("in-the-way", why, file=entry.path))

    def _prune(self, path: str) -> None:
        """Remove the folders above a removed file that are empty now, never the root."""
        for above in reversed(_folders_above(path)):
            if not self._root.rmdir(above):
                return

    def _prove(self) -> None:
        """Read everything back. What a write call said is no proof, nor a folder that was open all the while."""
        self._root.forget()
        wrong = []
        for change in self._work:
            found = stamp(self._home(change.of_state).read(change.path))
            if found != stamp(change.after):
                wrong.append(changed_meanwhile(change.path, found, stamp(change.after)))
        if wrong:
            raise Refused(wrong)


def stamp(state: FileState | Stamp | None) -> Stamp | None:
    """A file's identity, as receipts and journals hold it."""
    if isinstance(state, FileState):
        return Stamp(state.blob, f"{state.mode:06o}")
    return state


def changed_meanwhile(path: str, found: Stamp | None, expected: Stamp | None) -> Problem:
    """What to say of a file that is not in the state it must be in."""
    return Problem("changed", f"{path} is {_words(found)}, expected was {_words(expected)}.", file=path)


def _words(state: Stamp | None) -> str:
    return "no file" if state is None else f"blob {state.blob[:12]} with mode {state.mode}"


def _same(before: FileState | Stamp | None, after: FileState | None) -> bool:
    return stamp(before) == stamp(after)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


def _folders_above(path: str) -> list[str]:
    """The folders that ``path`` stands in, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _permissions(change: Change, old: os.stat_result | None) -> int | None:
    """The permission bits of the new file; None for what the umask gave it."""
    if change.permissions is not None:
        return change.permissions
    if old is None or change.after is None or LINK in (change.after.mode, stat.S_IFMT(old.st_mode)):
        return None
    bits = old.st_mode & 0o777
    if change.after.mode == EXECUTABLE:
        # As chmod +x does where the umask allows it: whoever may read may run. One who runs it already, still may.
        return bits if bits & 0o100 else bits | (bits & 0o444) >> 2
    return bits & ~0o111 if bits & 0o100 else bits


def _mtime(change: Change, old: os.stat_result | None) -> int | None:
    """The modification time of the new file; None for now."""
    if change.mtime_ns is not None or old is None:
        return change.mtime_ns
    now = time.time_ns()
    return now if now // SECOND > old.st_mtime_ns // SECOND else (old.st_mtime_ns // SECOND + 1) * SECOND
