"""The proposal of a merge that a person must finish: the new file with diff3 markers where changes found no place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from patchctl.engine.markers import Edit as Marked
from patchctl.engine.markers import Labels, assemble, question
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.model import Change, Context, Put
from patchctl.engine.merge.placing import Composed


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of the three texts that a question is about: base, new file and patched, each from and to."""

    base: tuple[int, int]
    onto: tuple[int, int]
    patched: tuple[int, int]


def propose(
    ctx: Context, edits: Sequence[Edit], lost: Sequence[Change], puts: Sequence[Put], labels: Labels
) -> Composed:
    """The new file with ``puts`` made and a question for each of the changes ``lost``."""
    regions = _regions(ctx, edits, lost)
    marked = []
    for region in regions:
        base = ctx.base.lines[slice(*region.base)]
        new = ctx.patched.lines[slice(*region.patched)]
        marked.append(question(ctx.onto.lines, *region.onto, base, new))
    ends = [region.onto[1] for region in regions]
    free = [put for put in puts if not _taken(put, regions[bisect_left(ends, put.start) :][:1])]
    for put in free:
        marked.append(Marked(put.start, put.end, put.new))
    marked.sort(key=lambda edit: (edit.start, edit.end))
    made = assemble(ctx.onto.lines, _apart(marked), labels)
    return Composed(b"".join(text for text, _ in made), tuple(origin for _, origin in made))


def _taken(put: Put, near: Sequence[Region]) -> bool:
    """Whether ``put`` lies in the region that ends behind its start, or at it: its text is a part of that question."""
    return any(region.onto[0] <= put.end and put.start <= region.onto[1] for region in near)


def _apart(marked: Sequence[Marked]) -> list[Marked]:
    """Edits that overlap one before them are left out: they are in its question, or can't be made."""
    out: list[Marked] = []
    for edit in marked:
        if not out or edit.start >= out[-1].end:
            out.append(edit)
    return out


def _regions(ctx: Context, edits: Sequence[Edit], lost: Sequence[Change]) -> list[Region]:
    exact = ctx.align.exact
    size = len(ctx.base)
    touched = [False] * (size + 1)
    for edit in edits:
        for at in range(edit[0], max(edit[1], edit[0] + 1)):
            touched[min(at, size)] = True
    spans: list[list[int]] = []
    for change in sorted(lost, key=lambda change: change.start):
        start, end = change.start, change.end
        while start > 0 and (exact[start - 1] < 0 or (touched[start - 1] and start - 1 < change.start)):
            start -= 1
        while end < size and (exact[end] < 0 or touched[end]):
            end += 1
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([start, end])
    return [_region(ctx, edits, start, end) for start, end in spans]


def _region(ctx: Context, edits: Sequence[Edit], start: int, end: int) -> Region:
    exact = ctx.align.exact
    first = exact[start - 1] + 1 if start else 0
    last = exact[end] if end < len(ctx.base) else len(ctx.onto)
    before = bisect_left(edits, start, key=lambda edit: max(edit.end, edit.start + 1))
    upto = bisect_right(edits, end, key=lambda edit: edit.end)
    return Region((start, end), (first, last), (start + _shift(edits, before), end + _shift(edits, upto)))


def _shift(edits: Sequence[Edit], count: int) -> int:
    """By how much the patched text is longer than the base behind its first ``count`` edits."""
    return edits[count - 1].new_end - edits[count - 1].end if count else 0
