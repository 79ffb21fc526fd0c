"""What becomes of lines that the patch takes away or replaces."""

from __future__ import annotations

from itertools import pairwise

from patchctl.engine.merge.align import NONE
from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.renames import same_words
from patchctl.engine.merge.text import is_weak
from patchctl.engine.merge.tokens import merge_line


def whole(ctx: Context, change: Change) -> Placed | None:
    """All the lines stand together still. If their neighbours do too, nothing happened here; else upstream's change
    is a neighbour of this one, and does not touch it."""
    sure = ctx.align.sure
    first = sure(change.start)
    size = change.end - change.start
    if first == NONE or any(sure(change.start + k) != first + k for k in range(size)):
        return None
    if not ctx.fits(change.start, first, ctx.base.lines[change.start : change.end]):
        return None
    calm = sure(change.start - 1) == first - 1 and sure(change.end) == first + size
    return Placed(
        "transport" if calm else "adjacent", (Put(first, first + size, change.new),), first, 1.0 if calm else 0.95
    )


def same(ctx: Context, change: Change) -> Placed | None:
    """Upstream made the same change: the lines between the two neighbours are those that the patch wants."""
    before, behind = ctx.align.sure(change.start - 1), ctx.align.sure(change.end)
    if NONE in (before, behind) or tuple(ctx.onto.lines[before + 1 : behind]) != change.new:
        return None
    told = change.new or ctx.base.lines[change.start : change.end]
    if not ctx.fits(change.start, before + 1, told):
        return None  # the same words, for something else
    return Placed("same-change", (), before + 1)


def scattered(ctx: Context, change: Change) -> Placed | None:
    """A pure deletion: the lines that are left go, what upstream put between them stays; lines that upstream has
    taken away are done."""
    if change.new:
        return None
    there = [ctx.align.sure(at) for at in range(change.start, change.end)]
    if any(at == NONE and ctx.align.at(line) != NONE for line, at in enumerate(there, change.start)):
        return None  # edited upstream: is the edit still wanted?
    gone = [line for line, at in enumerate(there, change.start) if at == NONE]
    if not all(ctx.align.deleted(line) for line in gone):
        return None  # rewritten: is the new text still wanted?
    if any(ctx.onto.counts[ctx.base.lines[line]] for line in gone if not is_weak(ctx.base.lines[line])):
        return None  # it stands elsewhere now
    left = [at for at in there if at != NONE]
    if any(two != one + 1 and is_weak(ctx.onto.lines[at]) for one, two in pairwise(left) for at in (one, two)):
        return None  # a blank or a bracket beside upstream's lines may be theirs by now
    for line, at in enumerate(there, change.start):
        if at != NONE and not is_weak(ctx.base.lines[line]) and not ctx.fits(line, at, ctx.base.lines[line : line + 1]):
            return None
    puts = tuple(Put(at, at + 1, ()) for at in left)
    near = left[0] if left else max(ctx.align.at(change.start - 1), 0)
    return Placed("deleted-lines" if left else "gone-already", puts, near, 0.9)


def edited(ctx: Context, change: Change) -> Placed | None:
    """One line that both sides edited, in different words of it: the words are merged."""
    if change.end - change.start != 1 or len(change.new) != 1:
        return None
    there = ctx.align.at(change.start)
    if there == NONE:
        return None
    if not _alone(ctx, change) and not ctx.fits(change.start, there, ctx.base.lines[change.start : change.end]):
        return None
    merged = merge_line(ctx.base.lines[change.start], ctx.onto.lines[there], change.new[0])
    if merged is None:
        return None
    return Placed("edited-line", (Put(there, there + 1, (merged,)),), there, 0.8)


def _alone(ctx: Context, change: Change) -> bool:
    """Whether the line is a sentence that stands once in either text: what heading it is under does not matter then."""
    line = ctx.base.lines[change.start]
    return ctx.kind == "prose" and not is_weak(line) and ctx.base.counts[line] == 1 == ctx.onto.counts[line]


def reflowed(ctx: Context, change: Change) -> Placed | None:
    """Upstream only broke the lines otherwise, or renamed what stands in them: nothing of its edit is lost when the
    patch's version, with the new names, takes their place."""
    before, behind = ctx.align.sure(change.start - 1), ctx.align.sure(change.end)
    if NONE in (before, behind) or before + 1 >= behind or not change.new or ctx.kind == "prose":
        return None
    old, new = ctx.base.lines[change.start : change.end], ctx.onto.lines[before + 1 : behind]
    if not same_words(old, new, ctx.all_renames(old)):
        return None
    if not ctx.fits(change.start, before + 1, change.new):
        return None
    return Placed("reflowed", (Put(before + 1, behind, change.new),), before + 1, 0.85, "upstream edited these lines")
