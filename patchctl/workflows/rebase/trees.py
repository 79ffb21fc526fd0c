"""The two releases as the engine looks at them: listed once, read by one long-lived process of git.

Both lie in one repository, the cache, so that git can say what upstream did to a file without anybody reading it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from types import TracebackType

from patchctl.engine.model import LINK, MODES, REGULAR, FileState
from patchctl.engine.options import Script
from patchctl.engine.overlay import Entry, Overlay, Tree, ancestors, through_link
from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import TreeEntry
from patchctl.upstream.pristine import PristineTree

_SUBMODULE = 0o160000
_AT_ONCE = 64  # blobs to ask for; so few names go into a pipe whatever git does meanwhile
_SECTION = re.compile(rb"index ([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})")
_RANGES = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = ("-r", "-U0", "--histogram", "--no-renames", "--full-index", "--text", "--no-ext-diff", "--no-textconv")


class Blobs:
    """The blobs of one repository, read one after another through a single ``git cat-file --batch``."""

    def __init__(self, tree: PristineTree) -> None:
        self._tree = tree
        self._process = tree.git.start("cat-file", "--batch", stderr=None)

    def __enter__(self) -> Blobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait()

    def get(self, blob: str) -> bytes:
        """The content of ``blob``. Raises EnvironmentFailed when the cache is damaged."""
        self._send(blob.encode() + b"\n")
        return self._received(blob)

    def _send(self, asked: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # what is missing shows when it is read
            stdin.write(asked)
            stdin.flush()

    def _received(self, blob: str) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        head = stdout.readline().split()
        if len(head) == 3 and head[1] == b"blob":
            return stdout.read(int(head[2]) + 1)[:-1]
        raise self._tree.cache.broken(f"{blob} can't be read: {b' '.join(head).decode(errors='replace')}")

    def ask(self, blobs: Sequence[str]) -> Iterator[bytes]:
        """The contents of ``blobs``: git reads on while the last one is looked at. Raises what :meth:`get` does."""
        for start in range(0, len(blobs), _AT_ONCE):
            some = blobs[start : start + _AT_ONCE]
            self._send("".join(f"{blob}\n" for blob in some).encode())
            yield from map(self._received, some)


class Release:
    """A release as a :class:`patchctl.engine.overlay.Tree`.

    ``modes`` are executable bits as recorded elsewhere, for files of a release that carries none.
    """

    def __init__(self, tree: PristineTree, blobs: Blobs, modes: Mapping[str, int] | None = None) -> None:
        self.tree = tree
        self._blobs = blobs
        self._modes = modes or {}
        try:
            self.entries: dict[str, TreeEntry] = tree.git.tree(tree.commit)
        except EnvironmentFailed as error:
            raise tree.cache.broken(str(error)) from None
        self._known: dict[str, FileState | None] = {}
        self._names: list[str] | None = None

    def get(self, path: str) -> FileState | None:
        """The file at ``path``. Raises Refused for a link or a submodule on the way, or at it."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read the files at ``paths`` in one go, those that there are."""
        wanted = {
            path: self.entries[path]
            for path in paths
            if path not in self._known and path in self.entries and self.entries[path].mode in MODES
        }
        for (path, entry), data in zip(
            wanted.items(), self._blobs.ask([entry.id for entry in wanted.values()]), strict=True
        ):
            self._known[path] = self._state(path, entry, data)

    def below(self, path: str) -> Sequence[str]:
        names = self.names()
        start = bisect_left(names, f"{path}/")
        return names[start : bisect_left(names, f"{path}0")]  # 0 is the character behind /

    def names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted(path for path, entry in self.entries.items() if entry.mode in MODES)
        return self._names

    def _read(self, path: str) -> FileState | None:
        entry = self.entries.get(path)
        if entry is not None and entry.mode in MODES:
            return self._state(path, entry, self._blobs.get(entry.id))
        if entry is not None and entry.mode == _SUBMODULE:
            raise Refused(Problem("submodule", f"{path} is a submodule, which patchctl does not change.", file=path))
        for folder in ancestors(path) if entry is None else ():
            above = self.entries.get(folder)
            if above is not None and above.mode == LINK:
                raise Refused(through_link(path, folder))
            if above is None:
                break
        return None

    def _state(self, path: str, entry: TreeEntry, data: bytes) -> FileState:
        return FileState(data, self._modes.get(path, REGULAR) if self._hides_mode(entry) else entry.mode)

    def _hides_mode(self, entry: TreeEntry) -> bool:
        return not self.tree.modes and entry.mode != LINK


class Patched:
    """A release with files laid over it, as a tree."""

    def __init__(self, release: Tree, changes: Mapping[str, FileState | None]) -> None:
        self._over = Overlay(release, {path: Entry(state) for path, state in changes.items()})
        self._release = release
        self._changes = changes

    def get(self, path: str) -> FileState | None:
        return self._over.get(path)

    def below(self, path: str) -> Sequence[str]:
        made = [name for name, state in self._changes.items() if state is not None and name.startswith(f"{path}/")]
        return sorted({*made, *(name for name in self._release.below(path) if name not in self._changes)})

    def names(self) -> Sequence[str]:
        made = [name for name, state in self._changes.items() if state is not None]
        return sorted({*made, *(name for name in self._release.names() if name not in self._changes)})


class Scripts:
    """What upstream did to the files that patches touch, as git's histogram sees it."""

    def __init__(self, base: Release, onto: Release, paths: Iterable[str]) -> None:
        self._base, self._onto = base, onto
        self._paths = tuple(dict.fromkeys(paths))
        self._found: dict[tuple[str, str], Script] | None = None
        self._early: Thread | None = None

    def begin(self) -> None:
        """Have git find out while somebody else reads on."""
        self._early = Thread(target=self._try, daemon=True)
        self._early.start()

    def _try(self) -> None:
        with suppress(EnvironmentFailed, OSError):  # it will be asked again where a fault can be told
            self._found = self._ask()

    def __call__(self, old: FileState, new: FileState) -> Script | None:
        """The edit script between two states of a file, None where git was not asked about them."""
        if self._early is not None:
            self._early.join()
            self._early = None
        if self._found is None:
            self._found = self._ask()
        return self._found.get((old.blob, new.blob))

    def _ask(self) -> dict[tuple[str, str], Script]:
        changed = [path for path in self._paths if self._changed(path)]
        if not changed:
            return {}
        git, commits = self._base.tree.git, (self._base.tree.commit, self._onto.tree.commit)
        return _scripts(git.run("--literal-pathspecs", "diff-tree", *_DIFF, *commits, "--", *changed))

    def _changed(self, path: str) -> bool:
        old, new = self._base.entries.get(path), self._onto.entries.get(path)
        return old is not None and new is not None and old.id != new.id and old.mode in MODES and new.mode in MODES


def _scripts(out: bytes) -> dict[tuple[str, str], Script]:
    found: dict[tuple[str, str], list[tuple[int, int, int, int]]] = {}
    edits: list[tuple[int, int, int, int]] = []
    lines = out.split(b"\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(b"index ") and (section := _SECTION.match(line)):
            edits = []
            found.setdefault((section[1].decode(), section[2].decode()), edits)  # another file may hold the same two
        elif line.startswith(b"@@ ") and (ranges := _RANGES.match(line)):
            start, end = _span(ranges[1], ranges[2])
            new_start, new_end = _span(ranges[3], ranges[4])
            edits.append((start, end, new_start, new_end))
            at += end - start + new_end - new_start  # lines of a hunk are content, whatever they look like
    return dict(found)


def _span(start: bytes, count: bytes | None) -> tuple[int, int]:
    """A header's range as indices from 0, the end excluded; an empty one stands behind the line that it names."""
    first, size = int(start), 1 if count is None else int(count)
    first -= size > 0
    return first, first + size


def recorded_modes(paths: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Modes by path, out of pairs of a path and a mode as the lock writes it; the first of several counts."""
    found: dict[str, int] = {}
    for path, mode in paths:
        found.setdefault(path, int(mode, 8))
    return found
