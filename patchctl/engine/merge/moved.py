"""Where things went between two whole trees: files, folders, and the definitions of a file that was split.

A tree of thousands of files is not read for one that is missing. Its names come first: files of the same name, then
of a related one, then new ones near by; only those are read, and the first round that finds something ends it.
:mod:`patchctl.engine.merge.follow` compares contents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

from patchctl.engine.lines import split
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.follow import Moved, alike, bag, best, size
from patchctl.engine.merge.outline import Definition, Outline
from patchctl.engine.merge.text import Text, indent_of, is_weak
from patchctl.engine.state import LINK, FileState
from patchctl.errors import Refused

_MOST_READ = 1500  # files of one round
_SAMPLE = 48  # lines by which a file is told from one that has nothing to do with it
_SEEN = 0.15  # of them must stand in it
_ENOUGH_BODY = 0.4  # of the lines of a definition that is found in another file
_MARGIN = 0.15
_SIBLINGS = 12  # files of a folder that are looked for
_LONGEST_BODY = 200_000  # bytes of a definition
_WORD = re.compile(r"[A-Za-z0-9]+")


class Tree(Protocol):
    """A tree that is only looked at."""

    def get(self, path: str) -> FileState | None:
        """The file at ``path``, None if there is none."""

    def names(self) -> Sequence[str]:
        """The names of all files."""


class Moves:
    """What became of the files of ``base`` in ``onto``, any number of releases later. Listings and texts are kept:
    make one for a whole run."""

    def __init__(self, base: Tree, onto: Tree) -> None:
        self._base = base
        self._onto = onto
        self._texts: dict[str, bytes] = {}
        self._known: dict[str, list[Moved]] = {}

    @cached_property
    def _old(self) -> frozenset[str]:
        return frozenset(self._base.names())

    @cached_property
    def _new(self) -> frozenset[str]:
        return frozenset(self._onto.names())

    @cached_property
    def _fresh(self) -> list[str]:
        """The files that only the new tree has."""
        return sorted(self._new - self._old)

    def _text(self, path: str) -> bytes:
        if path not in self._texts:
            self._texts[path] = _read(self._onto, path)
        return self._texts[path]

    def file(self, path: str, data: bytes) -> list[Moved]:
        """What the file ``data``, in the base at ``path``, may have become, if the new tree has none at ``path``.

        One element: that is clear. Several: open, the best first. None: it was deleted, or rewritten.
        """
        if path not in self._known:
            self._known[path] = self._look_for(path, data)
        return self._known[path]

    def _look_for(self, path: str, data: bytes) -> list[Moved]:
        want = bag(data)
        sample = _sample(data)
        for round_ in _rounds(path, self._fresh):
            found = []
            for other in round_[:_MOST_READ]:
                text = self._text(other)
                if _seen(sample, text):
                    score = alike(path, want, other, text)
                    if score:
                        found.append(Moved(other, score))
            if found:
                return best(path, found)
        return self._put_into(path, want, sample)

    def _put_into(self, path: str, want: Counter[bytes], sample: Sequence[bytes]) -> list[Moved]:
        """Files that were there before and that have taken in most of ``want``: those near by are read."""
        ending = _ending(path)
        near = path.rpartition("/")[0]
        found = []
        for other in sorted(self._new & self._old):
            if _ending(other) != ending or other.rpartition("/")[0] != near or not _seen(sample, self._text(other)):
                continue
            gained = bag(self._text(other)) - bag(_read(self._base, other))
            share = size(want & gained) / max(size(want), 1)
            if share >= 0.6 and size(want) >= 200:
                found.append(Moved(other, share, into=True))
        return best(path, found)

    def homes(self, path: str, base: bytes, spans: Sequence[tuple[int, int]]) -> list[Moved | None]:
        """For each of ``spans`` (lines of ``base``, indices, end excluded) the file of the new tree that holds, by
        now, the definition around it; None where that is no definition, or is found in no file or in several.

        For a file that is gone and was split, or whose definitions were moved into others that there were before.
        """
        text = Text(base)
        outline = Outline(text, path)
        found: dict[tuple[str, ...], Moved | None] = {}
        out: list[Moved | None] = []
        for start, end in spans:
            home = None
            for item in _around(outline, start, end):
                key = (*item.scope, item.name)
                if key not in found:
                    found[key] = self._home(path, text, item)
                home = home or found[key]
            out.append(home)
        return out

    def _home(self, path: str, text: Text, item: Definition) -> Moved | None:
        """The file that holds the definition ``item`` of the base file ``text`` now."""
        if item.name.startswith("__"):
            return None  # every class has them
        lines = text.lines[item.head : item.end]
        body = Counter(line.strip() for line in lines if not is_weak(line))
        sample = _sample(b"".join(lines[1:]))
        word = item.name.encode("utf-8", "surrogateescape")
        head = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class|func(?:tion)?)[ \t]+%b\b" % re.escape(word))
        found = []
        for other in self._readable(path):
            data = self._text(other)
            if word not in data or not _seen(sample, data):
                continue
            for match in head.finditer(data):
                mine = Counter(line.strip() for line in _body(data, match.start()))
                score = size(body & mine) / max(size(body), 1)
                if score >= _ENOUGH_BODY:
                    found.append(Moved(other, score, into=other in self._old))
        found.sort(key=lambda each: (-each.score, each.path))
        clear = found and (len(found) == 1 or found[0].score >= found[1].score + _MARGIN)
        return found[0] if clear else None

    def _readable(self, path: str) -> Iterator[str]:
        """Files that ``path`` may have been split into: new ones, then those of its own folder and the ones below."""
        ending = _ending(path)
        near = path.rpartition("/")[0]
        for other in self._fresh:
            if _ending(other) == ending:
                yield other
        for other in sorted(self._new & self._old):
            if other != path and _ending(other) == ending and other.startswith(near):
                yield other

    def _known_folder(self, path: str) -> str | None:
        """The nearest folder around ``path`` that has files in the base; None if that is the tree itself."""
        parts = path.split("/")[:-1]
        for count in range(len(parts), 0, -1):
            folder = "/".join(parts[:count])
            if any(name.startswith(f"{folder}/") for name in self._old):
                return folder
        return None

    def folder(self, path: str) -> str | None:
        """Where the files of the folder that ``path`` lies in are now, if all of them have left it.

        Where the base has no such folder, the nearest one above it counts. None if a file is left there, or if they
        can't be found again: they were deleted. For creations.
        """
        folder = self._known_folder(path)
        if folder is None or any(name.startswith(f"{folder}/") for name in self._new):
            return None
        stood = sorted(name for name in self._old if name.startswith(f"{folder}/"))
        votes: Counter[str] = Counter()
        for name in stood[:: max(1, len(stood) // _SIBLINGS)][:_SIBLINGS]:
            found = self.file(name, _read(self._base, name))
            if found:
                votes[_same_depth(found[0].path, name, folder)] += 1
        return votes.most_common(1)[0][0] if votes else None


def _same_depth(path: str, name: str, folder: str) -> str:
    """The folder that ``folder`` has become if its file ``name`` is at ``path`` now."""
    below = name[len(folder) + 1 :]
    return path[: -len(below) - 1] if path.endswith(f"/{below}") else path.rpartition("/")[0]


def _read(tree: Tree, path: str) -> bytes:
    """The text at ``path``; nothing for links and what lies behind them."""
    try:
        state = tree.get(path)
    except Refused:
        return b""
    return state.data if state is not None and state.mode != LINK else b""


def portion(base: bytes, patched: bytes, edits: Sequence[Edit]) -> bytes:
    """``base`` with only those of its edits to ``patched`` that are given, in order: the part of a patch that goes
    into one of the files that a file was split into."""
    old, new = split(base), split(patched)
    out: list[bytes] = []
    at = 0
    for edit in edits:
        out += old[at : edit.start]
        out += new[edit.new_start : edit.new_end]
        at = edit.end
    return b"".join([*out, *old[at:]])


def _rounds(path: str, fresh: Sequence[str]) -> Iterator[list[str]]:
    """The files of ``fresh`` that may be the one that was at ``path``, likeliest first, in rounds."""
    name, ending = path.rpartition("/")[2], _ending(path)
    same = [other for other in fresh if other.rpartition("/")[2] == name]
    related = [other for other in fresh if other not in same and _ending(other) == ending and _related(path, other)]
    yield sorted(same, key=lambda other: -_common(path, other))
    yield related
    passed = {*same, *related}
    rest = [other for other in fresh if other not in passed and _ending(other) == ending]
    yield sorted(rest, key=lambda other: -_common(path, other))
    folder = path.rpartition("/")[0]
    yield [other for other in fresh if other.rpartition("/")[0] == folder and _ending(other) != ending]


def _related(path: str, other: str) -> bool:
    """Whether one file's name has all the words of the other's, or the other stands in a folder of that name."""
    one, two = _words(path), _words(other)
    if one and two and (one <= two or two <= one):
        return True
    stem = path.rpartition(".")[0]
    return other.startswith(stem + "/")


def _words(path: str) -> frozenset[str]:
    return frozenset(_WORD.findall(path.rpartition("/")[2].rpartition(".")[0].lower()))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""


def _common(one: str, two: str) -> int:
    """How many folders two paths share from the top."""
    count = 0
    for a, b in zip(one.split("/"), two.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count


def _sample(data: bytes) -> list[bytes]:
    """Long lines of a file, spread over it, as they stand there."""
    lines = sorted(
        {line.strip() for line in data.split(b"\n") if not is_weak(line)}, key=lambda line: (-len(line), line)
    )
    longest = lines[: 4 * _SAMPLE]
    return longest[:: max(1, len(longest) // _SAMPLE)][:_SAMPLE]


def _seen(sample: Sequence[bytes], data: bytes) -> bool:
    """Whether enough lines of ``sample`` stand in ``data`` to compare the two in full."""
    wanted = max(1, int(len(sample) * _SEEN))
    seen = 0
    for left, line in zip(range(len(sample), 0, -1), sample, strict=True):
        seen += line in data
        if seen >= wanted:
            return True
        if seen + left - 1 < wanted:
            return False
    return not sample


def _body(data: bytes, start: int) -> list[bytes]:
    """The lines of the definition whose head begins at byte ``start`` of ``data``, by indentation."""
    lines = data[start : start + _LONGEST_BODY].split(b"\n")
    indent = indent_of(lines[0])
    end = 1
    while end < len(lines):
        line = lines[end]
        if line.strip() and indent_of(line) <= indent and line.lstrip()[:1] not in (b")", b"]", b"}", b"#"):
            break
        end += 1
    return lines[:end]


def _around(outline: Outline, start: int, end: int) -> list[Definition]:
    """The definitions that lines ``start`` to ``end`` stand in or touch, innermost first."""
    found = [item for item in outline.all if item.start < max(end, start + 1) and start < item.end]
    return sorted(found, key=lambda item: (-len(item.scope), item.start))
