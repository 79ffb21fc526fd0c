"""What upstream did, between two releases, near to the lines that a patch touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchctl.engine.lines import split
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.diff import script
from patchctl.engine.model import FileState
from patchctl.engine.options import Script
from patchctl.engine.overlay import Tree
from patchctl.engine.scopes import Scopes, indent_of
from patchctl.workflows.report.interdiff import shown
from patchctl.workflows.report.model import Block, Row, UpstreamFile, UpstreamHunk
from patchctl.workflows.report.stack import Layer, Lines, look, touched

# Lines between a change of upstream's and one of the patch's that still have to do with each other.
NEAR = 10
_CONTEXT = 3
MOST_HUNKS = 20
MOST_ROWS = 80
_BINARY = 8000


Scripts = Callable[[FileState, FileState], "Script | None"]


@dataclass(frozen=True)
class Releases:
    """Both releases, and what may know already how a file of one became a file of the other."""

    base: Tree
    onto: Tree
    scripts: Scripts | None = None

    def edits(self, old: FileState, new: FileState) -> Sequence[Edit]:
        """The edit script between two states of a file."""
        found = self.scripts(old, new) if self.scripts is not None else None
        return [Edit(*edit) for edit in found] if found is not None else script(split(old.data), split(new.data))


def upstream(layer: Layer, followed: dict[str, str | None], releases: Releases) -> tuple[UpstreamFile, ...]:
    """For each file that the patch touches, upstream's changes near to its lines.

    ``followed`` gives, for the patch's names of files, their names on the new release (None: gone) where they differ.
    """
    out: list[UpstreamFile] = []
    for section in layer.patch.files if layer.patch else ():
        path = section.old_path or section.path
        if any(file.path == path for file in out):
            continue
        out.append(_file(layer, path, followed.get(section.path, path), releases))
    return tuple(out)


def _file(layer: Layer, path: str, name: str | None, releases: Releases) -> UpstreamFile:
    base, onto = releases.base, releases.onto
    old, new = look(base, path), look(onto, name) if name else None
    if new is None and name != path:
        name, new = path, look(onto, path)
    if old is None or new is None:
        state = "absent" if old is new else "new" if old is None else "gone"
        return UpstreamFile(path, name if new else None, state)
    state = "moved" if name != path else "same" if old == new else "changed"
    if old.data == new.data or _binary(old) or _binary(new):
        return UpstreamFile(path, name, state)
    lines = Lines(old, layer.before.get(path))
    ranges = [lines.down(*span) for span in touched(path, layer.patch)]
    texts = _Texts(split(old.data), split(new.data), releases.edits(old, new))
    near, elsewhere = [], 0
    for group in texts.groups():
        distance = min((_distance(edit, span) for edit in group for span in ranges), default=NEAR + 1)
        if distance <= NEAR:
            near.append(texts.hunk(group, distance))
        else:
            elsewhere += 1
    kept = sorted(sorted(near, key=lambda hunk: hunk.distance)[:MOST_HUNKS], key=lambda hunk: hunk.start)
    return UpstreamFile(path, name, state, tuple(kept), elsewhere, len(near) - len(kept))


def _binary(state: FileState) -> bool:
    return b"\0" in state.data[:_BINARY]


def _distance(edit: Edit, span: tuple[int, int]) -> int:
    """The number of unchanged lines of the base between the two; 0 also where they only touch."""
    return max(edit[0] - span[1], span[0] - edit[1], 0)


@dataclass(frozen=True)
class _Texts:
    """Both releases of one file."""

    old: Sequence[bytes]
    new: Sequence[bytes]
    edits: Sequence[Edit]

    def groups(self) -> Iterator[list[Edit]]:
        """The changes, those together whose context would overlap."""
        group: list[Edit] = []
        for edit in self.edits:
            if group and edit.start - group[-1][1] > 2 * _CONTEXT:
                yield group
                group = []
            group.append(edit)
        if group:
            yield group

    def hunk(self, group: Sequence[Edit], distance: int) -> UpstreamHunk:
        start, end = max(group[0][0] - _CONTEXT, 0), min(group[-1][1] + _CONTEXT, len(self.old))
        rows = list(self._rows(group, start, end))
        shift = group[0][2] - group[0][0]
        new_end = end + group[-1][3] - group[-1][1]
        heading = f"@@ -{_span(start, end)} +{_span(start + shift, new_end)} @@"
        scope = self._scope(group[0][2])
        heading += f" {scope}" if scope else ""
        block = Block(heading, tuple(rows[:MOST_ROWS]), max(len(rows) - MOST_ROWS, 0))
        first, last = group[0][2], group[-1][3]
        return UpstreamHunk(block, distance, min(first + 1, len(self.new)) or 1, max(last, first + 1))

    def _rows(self, group: Sequence[Edit], start: int, end: int) -> Iterator[Row]:
        at, shift = start, group[0][2] - group[0][0]
        for first, last, new_first, new_last in group:
            yield from (Row(" ", shown(self.old[k]), k + 1, k + shift + 1) for k in range(at, first))
            yield from (Row("-", shown(self.old[k]), k + 1) for k in range(first, last))
            yield from (Row("+", shown(self.new[k]), None, k + 1) for k in range(new_first, new_last))
            at, shift = last, new_last - last
        yield from (Row(" ", shown(self.old[k]), k + 1, k + shift + 1) for k in range(at, end))

    def _scope(self, at: int) -> str:
        line = next((line for line in self.new[at : at + 20] if line.strip()), b"")
        return ".".join(self._scopes.chain(at, indent_of(line)))

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes(self.new)


def _span(start: int, end: int) -> str:
    count = end - start
    return str(start + 1) if count == 1 else f"{start + 1 if count else start},{count}"
