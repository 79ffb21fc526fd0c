"""A small git repository with a conflict in its index, written by hand: one folder, no process.

The index holds the three sides as stages 1 to 3, as ``git merge`` leaves them, so that ``git diff``, ``git mergetool``
and ``git checkout --theirs`` work in it. Formats: gitrepository-layout(5), gitformat-index(5).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patchctl.engine.model import FileState
from patchctl.target.safeio import Root

_WHO = b"patchctl <patchctl@invalid> 946684800 +0000"
_CONFIG = (
    b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tautocrlf = false\n"
    b"[merge]\n\tconflictStyle = diff3\n[mergetool]\n\tkeepBackup = false\n"
)
_LONGEST_FLAG = 0xFFF


@dataclass(frozen=True, slots=True)
class Sides:
    """A file's three sides; ``settled`` is what it becomes where nothing is open about it."""

    base: FileState | None
    onto: FileState | None
    patch: FileState | None
    settled: FileState | None = None
    is_settled: bool = False


def write(root: Root, folder: str, files: Mapping[str, Sides], message: str) -> None:
    """Make ``folder``/.git, which must not be there; ``message`` is that of the one commit, the files of ``onto``."""
    git = f"{folder}/.git"
    for name in ("", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/refs/tags", "/info"):
        root.mkdir(f"{git}{name}")
    store = _Store(root, git)
    onto = {path: sides.onto for path, sides in files.items()}
    tree = store.tree({path: state for path, state in onto.items() if state is not None})
    text = b"tree %s\nauthor %s\ncommitter %s\n\n" % (tree.encode(), _WHO, _WHO)
    commit = store.put(b"commit", text + message.encode("utf-8", "surrogateescape") + b"\n")
    root.write(f"{git}/refs/heads/main", commit.encode() + b"\n")
    root.write(f"{git}/config", _CONFIG)
    root.write(f"{git}/index", _index(store, files))
    root.write(f"{git}/HEAD", b"ref: refs/heads/main\n")


class _Store:
    """Loose objects."""

    def __init__(self, root: Root, git: str) -> None:
        self._root = root
        self._git = git
        self._folders: set[str] = set()
        self._known: set[str] = set()

    def put(self, kind: bytes, data: bytes) -> str:
        raw = b"%s %d\0" % (kind, len(data)) + data
        name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        if name in self._known:
            return name
        self._known.add(name)
        if name[:2] not in self._folders:
            self._folders.add(name[:2])
            self._root.mkdir(f"{self._git}/objects/{name[:2]}")
        self._root.write(f"{self._git}/objects/{name[:2]}/{name[2:]}", zlib.compress(raw, 1), 0o444)
        return name

    def tree(self, files: Mapping[str, FileState]) -> str:
        below: dict[str, dict[str, FileState]] = {}
        entries: list[tuple[bytes, bytes]] = []
        for path, state in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = state
            else:
                raw = name.encode("utf-8", "surrogateescape")
                blob = bytes.fromhex(self.put(b"blob", state.data))
                entries.append((raw, b"%o %s\0%s" % (state.mode, raw, blob)))
        for name, inner in below.items():
            raw = name.encode("utf-8", "surrogateescape")
            entries.append((raw + b"/", b"40000 %s\0%s" % (raw, bytes.fromhex(self.tree(inner)))))
        return self.put(b"tree", b"".join(entry for _, entry in sorted(entries)))


def _index(store: _Store, files: Mapping[str, Sides]) -> bytes:
    entries = [
        (path.encode("utf-8", "surrogateescape"), stage, state)
        for path, sides in files.items()
        for stage, state in _stages(sides)
    ]
    entries.sort(key=lambda entry: entry[:2])
    out = [b"DIRC" + struct.pack(">II", 2, len(entries))]
    for path, stage, state in entries:
        flags = (stage << 12) | min(len(path), _LONGEST_FLAG)
        blob = bytes.fromhex(store.put(b"blob", state.data))
        entry = struct.pack(">10I20sH", 0, 0, 0, 0, 0, 0, state.mode, 0, 0, 0, blob, flags) + path
        out.append(entry + b"\0" * (8 - len(entry) % 8))
    data = b"".join(out)
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _stages(sides: Sides) -> Iterator[tuple[int, FileState]]:
    if sides.is_settled:
        if sides.settled is not None:
            yield 0, sides.settled
        return
    for stage, state in ((1, sides.base), (2, sides.onto), (3, sides.patch)):
        if state is not None:
            yield stage, state
