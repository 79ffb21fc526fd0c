"""Where lines go that the patch only adds.

Each rule takes one insertion and says where it goes, or None if it has nothing to say. All of them look at the two
neighbours that the lines had in the base and at what became of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from patchctl.engine.merge.align import NONE
from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.text import first_indent, is_weak, lowest_indent

_IMPORT = re.compile(rb"\s*(?:(?:import|use|require(?:_relative)?|#\s*include)\b|(?:const|let|var)\b.*\brequire\(|\Z)")
_LEADING = (b"#", b"//", b"@", b"--", b";;")


def contested(ctx: Context, change: Change) -> list[bytes]:
    """The lines that upstream put between the two neighbours, if any says something: the order of both is open."""
    before, behind = ctx.align.at(change.start - 1), ctx.align.at(change.start)
    if NONE in (before, behind):
        return []
    lines = ctx.onto.lines[before + 1 : behind]
    return lines if any(line.strip() for line in lines) else []


def between(ctx: Context, change: Change) -> Placed | None:
    """Both neighbours stand, and touch each other still: nothing happened here, so nothing can be wrong."""
    before, behind = ctx.align.sure(change.start - 1), ctx.align.sure(change.start)
    if NONE in (before, behind) or behind != before + 1 or not ctx.fits(change.start, behind, change.new):
        return None
    return Placed("transport", (Put(behind, behind, change.new),), behind)


def soft_between(ctx: Context, change: Change) -> Placed | None:
    """Both neighbours touch still, and upstream edited one of them; if it edited both, this is another text."""
    before, behind = ctx.align.at(change.start - 1), ctx.align.at(change.start)
    if NONE in (before, behind) or behind != before + 1 or not ctx.fits(change.start, behind, change.new):
        return None
    if NONE == ctx.align.sure(change.start - 1) == ctx.align.sure(change.start):
        return None
    return Placed("edited-neighbours", (Put(behind, behind, change.new),), behind, 0.9)


def past_blanks(ctx: Context, change: Change) -> Placed | None:
    """The nearest lines that are not blank stand with nothing but blanks between them: as many as before stay above."""
    first, last = _real(ctx, change)
    before, behind = ctx.align.at(first), ctx.align.at(last)
    if NONE in (before, behind) or not before < behind or (behind == before + 1 and last == first + 1):
        return None
    if any(ctx.onto.lines[at].strip() for at in range(before + 1, behind)):
        return None
    place = min(before + 1 + (change.start - first - 1), behind)
    if not ctx.fits(change.start, place, change.new):
        return None
    edited = [ctx.align.sure(first), ctx.align.sure(last)].count(NONE)
    if edited:
        return Placed("edited-neighbours", (Put(place, place, change.new),), place, 0.9) if edited == 1 else None
    return Placed("past-blanks", (Put(place, place, change.new),), place, 0.95)


def closed_gap(ctx: Context, change: Change) -> Placed | None:
    """Upstream took the lines next to it away and put nothing there: as if they had never stood between.

    What stood beyond them touches the other neighbour now; the lines go in between.
    """
    if _is_import(ctx, change):
        return None
    for edit in (ctx.align.around(change.start - 1), ctx.align.around(change.start)):
        if edit is None or edit.new_start != edit.new_end or change.start not in (edit.start, edit.end):
            continue
        before, behind = ctx.align.sure(edit.start - 1), ctx.align.sure(edit.end)
        if behind != before + 1 or ctx.moved_away(edit.start, edit.end):
            return None
        if not ctx.fits(change.start, behind, change.new):
            return None
        edge = before < 0 or behind >= len(ctx.onto)
        if edge and ctx.kind == "prose" and before < 0:
            return None
        return Placed(
            "closed-gap", (Put(behind, behind, change.new),), behind, 0.85, "one of the two neighbours is gone"
        )
    return None


def one_neighbour(ctx: Context, change: Change) -> Placed | None:
    """One neighbour stands, and the other has no counterpart: the lines stay with the one that is left.

    The blank lines that parted them from it come along; what parts it from its new neighbour stays.
    """
    first, last = _real(ctx, change)
    before, behind = ctx.align.sure(first), ctx.align.sure(last)
    if (before == NONE) == (behind == NONE) or _is_import(ctx, change):
        return None
    gone = last if behind == NONE else first
    left = first if behind == NONE else last
    if ctx.align.at(gone) != NONE or not _strong(ctx, left) or ctx.moved_away(gone, gone + 1):
        return None
    place = before + 1 if behind == NONE else behind
    new = _parted(ctx, change, first, last, above=behind == NONE)
    if not new or not ctx.fits(change.start, place, new):
        return None
    return Placed("one-neighbour", (Put(place, place, new),), place, 0.7, "one neighbour is gone")


def _is_import(ctx: Context, change: Change) -> bool:
    """Whether ``change`` adds imports in a language whose people sort them by rules of their own: without its
    neighbour, each has a place that only they know. (Python's can stand anywhere among others.)"""
    return ctx.kind in ("code", "c") and all(_IMPORT.match(line) for line in change.new)


def _real(ctx: Context, change: Change) -> tuple[int, int]:
    """The nearest lines of the base above and below that are not blank."""
    first, last = change.start - 1, change.start
    while first >= 0 and ctx.base.blank(first):
        first -= 1
    while last < len(ctx.base) and ctx.base.blank(last):
        last += 1
    return first, last


def _parted(ctx: Context, change: Change, first: int, last: int, above: bool) -> tuple[bytes, ...]:
    """The added lines with the blanks between them and the neighbour that is left, and no others."""
    blank = ctx.base.lines[first + 1 : change.start], ctx.base.lines[change.start : last]
    new = [*blank[0], *change.new] if above else [*change.new, *blank[1]]
    if above:
        while new and not new[-1].strip():
            new.pop()
    else:
        while new and not new[0].strip():
            new.pop(0)
    return tuple(new)


def _strong(ctx: Context, at: int) -> bool:
    return 0 <= at < len(ctx.base) and not is_weak(ctx.base.lines[at])


def by_scope(ctx: Context, change: Change) -> Placed | None:
    """Upstream added lines at the very place, but only one order leaves both in the scope that they were made for."""
    theirs = contested(ctx, change)
    first = next((line for line in change.new if line.strip()), b"")
    if not theirs or is_weak(first):
        return None
    before, behind = ctx.align.at(change.start - 1), ctx.align.at(change.start)
    mine, other = first_indent(change.new), first_indent(theirs)
    if lowest_indent(theirs) > mine:  # theirs go on with what stands above
        place = behind
    elif lowest_indent(change.new) > other:
        place = before + 1
    else:
        return None
    if not ctx.fits(change.start, place, change.new):
        return None
    return Placed("order-by-scope", (Put(place, place, change.new),), place, 0.8, "upstream added lines here, too")


def above_its_line(ctx: Context, change: Change) -> Placed | None:
    """Comments and decorators: they speak of the line that follows them, and stay on top of it."""
    if any(not line.lstrip().startswith(_LEADING) for line in change.new) or not _strong(ctx, change.start):
        return None
    behind = ctx.align.at(change.start)
    if behind == NONE or ctx.base.indents[change.start] != first_indent(change.new):
        return None
    if not ctx.fits(change.start, behind, change.new):
        return None
    return Placed("above-its-line", (Put(behind, behind, change.new),), behind, 0.85, "upstream added lines here, too")


def already(ctx: Context, change: Change) -> Placed | None:
    """The very lines stand at the anchor, and upstream put them there: none of them is a line of the base."""
    size = len(change.new)
    sure = ctx.align.sure
    places = set()
    if _strong(ctx, change.start - 1) and sure(change.start - 1) != NONE:
        places.add(sure(change.start - 1) + 1)
    if _strong(ctx, change.start) and sure(change.start) != NONE:
        places.add(sure(change.start) - size)
    for place in sorted(at for at in places if 0 <= at <= len(ctx.onto) - size):
        there = tuple(ctx.onto.lines[place : place + size]) == change.new and _news(ctx, place, place + size)
        if there and ctx.fits(change.start, place, change.new):
            return Placed("already", (), place, 0.95, "upstream has these lines here already")
    return None


def _news(ctx: Context, start: int, end: int) -> bool:
    """Whether no line there that says something comes from the base, and one says something."""
    spoken = [at for at in range(start, end) if not is_weak(ctx.onto.lines[at])]
    return bool(spoken) and not any(at in ctx.align.back for at in spoken)


def stripped(change: Change) -> Change:
    """``change`` without blank lines at both ends."""
    new: Sequence[bytes] = change.new
    start = 0
    while start < len(new) and not new[start].strip():
        start += 1
    end = len(new)
    while end > start and not new[end - 1].strip():
        end -= 1
    return replace(change, new=tuple(new[start:end]), new_start=change.new_start + start)
