"""The trees that a contract is read from: a release with or without the series, or a folder."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from patchctl.engine.state import FileState, blob_id
from patchctl.errors import EnvironmentFailed, InvalidInput, Problem
from patchctl.git import Git, TreeEntry

# Larger files are data, whatever their name says.
_LARGEST = 8 * 1024 * 1024
_FILES = frozenset({0o100644, 0o100755})
_LEFTOVERS = frozenset({".git", ".hg", ".svn", ".patchctl", "__pycache__", "node_modules", ".tox", ".venv"})


class Tree(Protocol):
    """A :class:`patchctl.contract.syntax.Source` that also tells files apart without reading them."""

    def read(self, path: str) -> bytes | None: ...

    def exists(self, path: str) -> bool: ...

    def names(self) -> Sequence[str]: ...

    def blob(self, path: str) -> str | None:
        """The git blob id of the file at ``path``; None where there is none."""


@dataclass
class Overlay:
    """What a series makes of the files that it touches.

    ``ids`` are known from the lock; ``make`` applies the patches, when a text is asked for.
    """

    ids: Mapping[str, str | None] | None
    make: MakeStates

    @cached_property
    def states(self) -> Mapping[str, FileState | None]:
        return self.make()

    def blobs(self) -> Mapping[str, str | None]:
        if self.ids is not None:
            return self.ids
        return {path: state.blob if state else None for path, state in self.states.items()}


class MakeStates(Protocol):
    def __call__(self) -> Mapping[str, FileState | None]: ...


@dataclass
class CommitTree:
    """The files of a commit, with the changes of ``overlay`` on top. A context manager: it keeps git running."""

    git: Git
    entries: Mapping[str, TreeEntry]
    overlay: Overlay
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CommitTree:
        return self

    def __exit__(self, *error: object) -> None:
        process = self._process
        if process is not None:
            with process:
                assert process.stdin is not None
                process.stdin.close()
            self._process = None

    def read(self, path: str) -> bytes | None:
        if path in self._changed:
            state = self.overlay.states.get(path)
            return state.data if state is not None else None
        entry = self._entry(path)
        return self._content(entry.id) if entry is not None else None

    def exists(self, path: str) -> bool:
        return self.blob(path) is not None

    def names(self) -> Sequence[str]:
        names = {path for path in self.entries if self._entry(path) is not None} | self._changed.keys()
        return sorted(path for path in names if self.exists(path))

    def blob(self, path: str) -> str | None:
        if path in self._changed:
            return self._changed[path]
        entry = self._entry(path)
        return entry.id if entry is not None else None

    @cached_property
    def _changed(self) -> Mapping[str, str | None]:
        return self.overlay.blobs()

    def _entry(self, path: str) -> TreeEntry | None:
        entry = self.entries.get(path)
        return entry if entry is not None and entry.mode in _FILES else None

    def _content(self, blob: str) -> bytes:
        # One process for all: files are asked for one by one, as imports lead to them.
        if self._process is None:
            self._process = self.git.start("cat-file", "--batch", stderr=subprocess.DEVNULL)
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(f"{blob}\n".encode())
            self._process.stdin.flush()
            head = self._process.stdout.readline().split()
            size = int(head[2])
            data = self._process.stdout.read(size)
            self._process.stdout.read(1)
        except (OSError, IndexError, ValueError):
            why = f"object {blob} can't be read from {self.git.git_dir or self.git.cwd}"
            raise EnvironmentFailed(Problem("git", why, next="patchctl fetch")) from None
        return data


@dataclass
class Folder:
    """The files below ``root``, by the names that the repository has for them.

    ``repository`` is the prefix that names have there, ``local`` the one that they have below ``root``. Links that
    lead out of ``root``, and what is no file, are not there.
    """

    root: Path
    repository: str = ""
    local: str = ""
    _read: dict[str, bytes | None] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path, prefixes: Iterable[tuple[str, str]], declared: Iterable[str]) -> Folder:
        """The folder, with the first of the prefixes under which a declared file is there.

        Raises InvalidInput when ``root`` is no folder.
        """
        if not root.is_dir():
            why = f"{root} {'is no folder' if root.exists() else 'does not exist'}."
            raise InvalidInput(Problem("no-such-path", why, file=str(root)))
        paths = [path for path in declared if path]
        pairs = [("", ""), *prefixes]
        for path in paths:  # without a project: an archive keeps what the repository has below some folder
            parts = path.split("/")[:-1]
            pairs += [("/".join(parts[:at]) + "/", "") for at in range(1, len(parts) + 1)]
        folders = [cls(root, repository, local) for repository, local in pairs]
        return next((each for each in folders if any(each.exists(path) for path in paths)), folders[0])

    def read(self, path: str) -> bytes | None:
        if path not in self._read:
            self._read[path] = self._content(path)
        return self._read[path]

    def exists(self, path: str) -> bool:
        found = self._place(path)
        return found is not None and os.path.isfile(found)  # noqa: PTH113  asked a thousand times a run

    def blob(self, path: str) -> str | None:
        data = self.read(path)
        return blob_id(data) if data is not None else None

    def names(self) -> Sequence[str]:
        found = []
        top = self.root / self.local
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in _LEFTOVERS)
            below = os.path.relpath(folder, top)
            prefix = self.repository + ("" if below == "." else f"{below}/")
            found += [prefix + name for name in names if name.endswith(".py")]
        return sorted(found)

    def _place(self, path: str) -> str | None:
        if not path.startswith(self.repository) or ".." in path.split("/") or "\0" in path:
            return None
        return f"{self.root}/{self.local}{path[len(self.repository) :]}"

    def _content(self, path: str) -> bytes | None:
        place = self._place(path)
        if place is None:
            return None
        try:
            real = os.path.realpath(place)
            if os.path.commonpath([real, os.path.realpath(self.root)]) != os.path.realpath(self.root):
                return None
            with Path(real).open("rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                data = file.read(_LARGEST + 1)
        except (OSError, ValueError):
            return None
        return data if len(data) <= _LARGEST else None


@dataclass
class Recorded:
    """A tree that remembers what was asked of it: what an answer rests on."""

    tree: Tree
    blobs: dict[str, str | None] = field(default_factory=dict)
    listed: bool = False

    def read(self, path: str) -> bytes | None:
        data = self.tree.read(path)
        self.blobs[path] = self.tree.blob(path) if data is not None else None
        return data

    def exists(self, path: str) -> bool:
        found = self.tree.exists(path)
        if not found:
            self.blobs.setdefault(path, None)
        elif path not in self.blobs:
            self.blobs[path] = self.tree.blob(path)
        return found

    def names(self) -> Sequence[str]:
        self.listed = True
        return self.tree.names()
