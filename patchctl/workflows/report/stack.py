"""The old series on the old release, patch by patch: what each file was before and after each of them.

Patches speak of lines of the file as the patches below them left it, and upstream's changes of lines of the
pristine one; this is where both meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchctl.engine import reader, strict
from patchctl.engine.lines import split
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.diff import script
from patchctl.engine.model import FileState, Op, Patch
from patchctl.engine.overlay import Tree
from patchctl.errors import PatchctlError


@dataclass(frozen=True)
class Layer:
    """A patch in its place: the files that it touches, before and after it. Not ``exact``: it does not fit there,
    and both are as the tree has them."""

    id: str
    patch: Patch | None
    before: Mapping[str, FileState | None]
    after: Mapping[str, FileState | None]
    exact: bool


def layers(tree: Tree, patches: Mapping[str, bytes], known: Mapping[str, Patch] | None = None) -> dict[str, Layer]:
    """The layers of ``patches`` (id to text, in order) on ``tree``; ``known`` are those that were read already."""
    now: dict[str, FileState | None] = {}

    def get(path: str) -> FileState | None:
        return now[path] if path in now else look(tree, path)

    out: dict[str, Layer] = {}
    for id, data in patches.items():
        patch = known[id] if known and id in known else _read(id, data)
        paths = [path for section in patch.files for path in section.paths] if patch else []
        before = {path: get(path) for path in paths}
        try:
            after = strict.apply_patch(patch, get) if patch else {}
        except PatchctlError:
            out[id] = Layer(id, patch, before, before, False)
            continue
        out[id] = Layer(id, patch, {path: get(path) for path in after}, after, patch is not None)
        now.update(after)
    return out


def below(known: Mapping[str, Layer], id: str, order: Sequence[str]) -> dict[str, FileState | None]:
    """The files as the patches before ``id`` leave them; ``order`` are the ids of all."""
    now: dict[str, FileState | None] = {}
    for other in order[: order.index(id)]:
        now.update(known[other].after if other in known else {})
    return now


def look(tree: Tree, path: str) -> FileState | None:
    """The file at ``path``; None also where the way there leads through a link."""
    try:
        return tree.get(path)
    except PatchctlError:
        return None


def _read(id: str, data: bytes) -> Patch | None:
    try:
        found = reader.read(data, id, strip=1)
    except PatchctlError:
        return None
    return found[0] if len(found) == 1 else None


class Lines:
    """A pristine file and the same file under some patches, and which lines of one are which of the other."""

    def __init__(self, pristine: FileState | None, patched: FileState | None) -> None:
        self._pristine = pristine.data if pristine else b""
        self._patched = patched.data if patched else b""

    @cached_property
    def _edits(self) -> Sequence[Edit]:
        same = self._pristine == self._patched
        return () if same else script(split(self._pristine), split(self._patched))

    def down(self, start: int, end: int) -> tuple[int, int]:
        """Lines ``start`` to ``end`` (indices, end excluded) of the patched file as a range of the pristine one."""
        first, last = self._index(start, begin=True), self._index(end, begin=False)
        return min(first, last), max(first, last)

    def _index(self, at: int, *, begin: bool) -> int:
        shift = 0
        for start, end, new_start, new_end in self._edits:
            if at < new_start or (at == new_start and not begin):
                break
            if at < new_end:
                return start if begin else end
            shift = end - new_end
        return at + shift


def touched(path: str, patch: Patch | None) -> list[tuple[int, int]]:
    """The ranges of lines (indices, end excluded) that ``patch`` changes in its old file ``path``.

    A pure insertion is an empty range: the place before that line.
    """
    out: list[tuple[int, int]] = []
    for section in patch.files if patch else ():
        if (section.old_path or section.new_path) != path:
            continue
        for hunk in section.hunks:
            at = hunk.old_start - 1 if hunk.old_count else hunk.old_start
            start: int | None = None
            for line in hunk.lines:
                if line.op is Op.CONTEXT:
                    if start is not None:
                        out.append((start, at))
                        start = None
                elif start is None:
                    start = at
                at += line.op is not Op.ADD
            if start is not None:
                out.append((start, at))
    return out
