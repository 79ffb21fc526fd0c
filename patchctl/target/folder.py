"""What an unpacked tree and site-packages have in common: a folder of files, a receipt, a state folder."""

from __future__ import annotations

import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.engine.state import LINK, FileState
from patchctl.errors import EnvironmentFailed, PatchctlError, Problem, Refused
from patchctl.series import receipt as receipts
from patchctl.series.receipt import Receipt
from patchctl.target import layout as layouts
from patchctl.target import traces
from patchctl.target.faults import Faults
from patchctl.target.locking import FolderLock
from patchctl.target.safeio import Root, failed

if TYPE_CHECKING:
    from patchctl.target.commits import Draft
    from patchctl.target.place import WritePlan
    from patchctl.target.transaction import Change

# Transactions are imported where something is written: who only looks, as a container's entrypoint does at every
# start, shall not wait for them.


def open_root(path: Path, faults: Faults) -> Root:
    """Open ``path`` as a root. Raises EnvironmentFailed if there is no such folder."""
    try:
        return Root.open(path, faults)
    except (FileNotFoundError, NotADirectoryError):
        raise EnvironmentFailed(Problem("no-folder", f"There is no folder {path}.")) from None
    except OSError as error:
        raise failed(error, f"opening {path}") from error


def load_receipt(path: Path, state: FileState | None) -> Receipt | None:
    """The receipt in ``state``, read at ``path``. Raises Refused if it can't be read."""
    if state is None:
        return None
    try:
        if state.mode == LINK:
            raise ValueError("a link, not a file")
        return receipts.load(state.data)
    except ValueError as error:
        message = f"{path} can't be read as a receipt ({error}). Was it written by a later patchctl, or edited?"
        step = f"rm {path}, then patchctl apply: the files are proved by the lock"
        raise Refused(Problem("receipt", message, file=str(path), next=step)) from None


class FolderPlace(ABC):
    """The part of :class:`patchctl.target.place.Place` that both share."""

    kind = ""

    def __init__(self, root: Path, state: Path, lock: Path, layout: Mapping[str, str], faults: Faults) -> None:
        self._path = root
        self._state = state
        self._faults = faults
        self._lock = FolderLock(lock)
        self._layout = layout

    @property
    def root(self) -> Path:
        return self._path

    @property
    def carries_modes(self) -> bool:
        # Wheels drop executable bits. Only a mapping that takes whole folders as they are is not a wheel's.
        return "" in self._layout.values()

    @property
    def layout(self) -> Mapping[str, str]:
        """The prefix mapping that this place follows (repository to place)."""
        return self._layout

    def local(self, path: str) -> str | None:
        return layouts.local(self._layout, path)

    def read(self, path: str) -> FileState | None:
        name = self.local(path)
        if name is None:
            raise Refused(self._outside(path))
        with self._opened() as root:
            return self._read(root, name)

    @contextmanager
    def locked(self) -> Iterator[None]:
        try:
            with self._lock.held():
                yield
        except OSError as error:
            raise failed(error, f"working in {self._path}") from error

    def interrupted(self) -> bool:
        if not traces.stand(self._state):
            return False
        self._lock.wait()  # it may be no dead run's journal but a living one's
        return traces.stand(self._state)

    def recover(self) -> None:
        from patchctl.target import transaction

        with self._opened() as root:
            transaction.recover(root, self._state)

    def draft(self) -> Draft | None:
        return None  # there is no history here

    def in_the_way(self, paths: Mapping[str, FileState | None]) -> tuple[Problem, ...]:
        problems: list[Problem] = []
        names = {path: self.local(path) for path in paths}
        ours = {name for name in names.values() if name is not None}
        with self._opened() as root:
            for path, expected in paths.items():
                name = names[path]
                if name is None:
                    problems.append(self._outside(path))
                    continue
                try:
                    problems += self._hindrances(root, name, expected, ours)
                except PatchctlError as refused:
                    problems += refused.problems
        return tuple(problems)

    def _read(self, root: Root, name: str) -> FileState | None:
        forbidden = self._forbidden(name)
        if forbidden is not None:
            raise Refused(Problem("forbidden", forbidden, file=name))
        return root.read(name)

    @abstractmethod
    def _forbidden(self, name: str) -> str | None:
        """Why the file ``name`` of this place must not be touched by a patch, None if it may."""

    def _outside(self, path: str) -> Problem:
        mapping = ", ".join(f"{old or './'} to {new or './'}" for old, new in self._layout.items()) or "nothing"
        message = f"{path} has no place in {self._path}: what stands there maps {mapping}."
        return Problem("outside-layout", message, file=path)

    @contextmanager
    def _opened(self) -> Iterator[Root]:
        with open_root(self._path, self._faults) as root:
            try:
                yield root
            except OSError as error:
                raise failed(error, f"working in {self._path}") from error

    def _hindrances(self, root: Root, name: str, expected: FileState | None, ours: set[str]) -> Iterator[Problem]:
        from patchctl.target import transaction

        found = transaction.stamp(self._read(root, name))
        if found != transaction.stamp(expected):
            yield transaction.changed_meanwhile(name, found, transaction.stamp(expected))
        if expected is not None:
            return
        here = root.lstat(name)
        if here is not None and stat.S_ISDIR(here.st_mode):
            others = [other for other in _files_below(root, name) if other not in ours]
            if others:
                yield Problem("in-the-way", f"{name} is a folder ({others[0]} is in it), not a file.", file=name)
        parts = name.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            above = "/".join(parts[:end])
            there = root.lstat(above)
            if there is not None and not stat.S_ISDIR(there.st_mode) and above not in ours:
                yield Problem("in-the-way", f"{above} is a file, {name} needs a folder there.", file=name)
                return

    def _moves(self, plan: WritePlan, old: Receipt | None, *, times: bool) -> list[Change]:
        """The plan's moves as changes below the root. Raises Refused naming all that this place can't hold."""
        from patchctl.target import originals
        from patchctl.target.transaction import Change

        problems: list[Problem] = []
        changes: list[Change] = []
        before = originals.of(old)
        for path, move in plan.moves.items():
            name = self.local(path)
            if name is None:
                problems.append(self._outside(path))
                continue
            forbidden = self._forbidden(name)
            if forbidden is not None:
                problems.append(Problem("forbidden", forbidden, file=path))
            changes.append(originals.restoring(Change(name, move.before, move.after), before, times=times))
        if problems:
            raise Refused(problems)
        return changes

    def _completed(self, root: Root, receipt: Receipt, old: Receipt | None) -> Receipt:
        """``receipt`` with the mapping used here, and what unapply needs beyond contents and modes."""
        from patchctl.target import originals

        touched = {self.local(file.path) for patch in receipt.patches for file in patch.files}
        names = [name for name in touched if name is not None]
        extra = {**receipt.extra, originals.KEY: originals.carried(root, originals.of(old), names)}
        return replace(receipt, layout=dict(self._layout), extra=extra)


def _files_below(root: Root, folder: str) -> Iterator[str]:
    for name in root.names(folder):
        path = f"{folder}/{name}"
        found = root.lstat(path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            yield from _files_below(root, path)
        else:
            yield path
