"""Lines that upstream moved within their own definition.

A line is taken to have moved if upstream took it away here and put it there, if it says something, and if neither
the old nor the new text of the definition holds it a second time. Lines that stood next to a moved line, and stand
next to it still, moved along.
"""

from __future__ import annotations

from collections import Counter

from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.outline import Definition
from patchctl.engine.merge.text import is_weak

_LARGEST = 2000  # lines of a definition
_SMALLEST = 3  # lines of a block that moved


def moved(ctx: Context, change: Change) -> Placed | None:
    """Lines to replace that stand elsewhere in the same definition now, together and unchanged."""
    if change.inserts:
        return None
    old = _around(ctx.old_outline.all, change.start, change.end)
    if old is None or old.end - old.start > _LARGEST:
        return None
    new = [item for item in ctx.new_outline.by_scope.get(old.scope, ()) if item.name == old.name]
    if len(new) != 1 or new[0].end - new[0].start > _LARGEST:
        return None
    pairs = _pairs(ctx, old, new[0])
    there = [pairs.get(at) for at in range(change.start, change.end)]
    first = there[0]
    if first is None or there != list(range(first, first + len(there))):
        return None
    if not _block(pairs, change.start, change.end):
        return None
    if not ctx.fits(change.start, first, ctx.base.lines[change.start : change.end]):
        return None
    return Placed("moved-lines", (Put(first, first + len(there), change.new),), first, 0.75)


def _block(pairs: dict[int, int], start: int, end: int) -> bool:
    """Whether enough lines moved together: to move a single line is to change its meaning."""
    while start - 1 in pairs and pairs[start - 1] == pairs[start] - 1:
        start -= 1
    while end in pairs and pairs[end] == pairs[end - 1] + 1:
        end += 1
    return end - start >= _SMALLEST


def _around(items: list[Definition], start: int, end: int) -> Definition | None:
    """The innermost definition whose body holds the lines."""
    return next((item for item in reversed(items) if item.head < start and end <= item.end), None)


def _pairs(ctx: Context, old: Definition, new: Definition) -> dict[int, int]:
    exact, back = ctx.align.exact, ctx.align.back
    gone = [at for at in range(old.head, old.end) if exact[at] < 0]
    come = {at for at in range(new.head, new.end) if at not in back or exact[back[at]] != at}
    before = Counter(ctx.base.lines[old.head : old.end])
    after = Counter(ctx.onto.lines[new.head : new.end])
    where = {ctx.onto.lines[at]: at for at in come}
    pairs = {}
    for at in gone:
        line = ctx.base.lines[at]
        if line in where and before[line] == after[line] == 1 and not is_weak(line):
            pairs[at] = where[line]
    for step, order in ((1, gone), (-1, gone[::-1])):
        for at in order:
            near = pairs.get(at - step)
            if at in pairs or near is None or near + step not in come:
                continue
            if ctx.onto.lines[near + step] == ctx.base.lines[at]:
                pairs[at] = near + step
    return pairs
