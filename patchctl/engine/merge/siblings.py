"""Whole definitions go beside the sibling that they stood beside, found by its name in the same scope.

The order of definitions in a module or class has no meaning unless a name is defined twice or one is used as a
decorator of the next, and such are left alone. So a definition can hardly go wrong as long as it is in its scope.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from patchctl.engine.merge.align import NONE
from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.outline import Definition


def beside(ctx: Context, change: Change, later: bool = False) -> Placed | None:
    """A block of whole definitions: behind the nearest sibling above it that is left, or before the nearest below.

    Of two that are equally near, the one above counts, or with ``later`` the one below.
    """
    mine = whole_definitions(ctx, change)
    if not mine:
        return None
    scope = _scope(ctx, mine[0].scope)
    here = ctx.new_outline.by_scope.get(scope, []) if scope is not None else []
    names = Counter(item.name for item in here)
    if not here or any(names[item.name] for item in mine):
        return None
    family = ctx.patched_outline.by_scope[mine[0].scope]
    first, last = family.index(mine[0]), family.index(mine[-1])
    twice = Counter(item.name for item in family)
    found = []
    for distance, item in enumerate(reversed(family[:first]), 1):
        if _loose(ctx, family[first - distance].end, family[first - distance + 1].start):
            break
        if names[item.name] == 1 and twice[item.name] == 1:
            found.append((distance, 0, item))
            break
    for distance, item in enumerate(family[last + 1 :], 1):
        if _loose(ctx, family[last + distance - 1].end, item.start):
            break
        if names[item.name] == 1 and twice[item.name] == 1:
            found.append((distance, 1, item))
            break
    if not found:
        return None
    distance, side, item = min(found, key=lambda each: (each[0], each[1] != later))
    if distance > 1 and not ctx.patched_outline.python:
        return None  # elsewhere the order of definitions may matter, and does to those who read them
    there = next(other for other in here if other.name == item.name)
    if there.indent != mine[0].indent:
        return None
    place = there.end if side == 0 else there.start
    return _put(ctx, mine, place, behind=side == 0) if _defined_before_use(ctx, mine, here, place) else None


def free_order(ctx: Context, change: Change) -> Placed | None:
    """The same where upstream added something at the very place: the order of Python's definitions is free."""
    return beside(ctx, change, later=True) if ctx.parses else None


def whole_definitions(ctx: Context, change: Change) -> list[Definition]:
    """The definitions that ``change`` adds, if it adds nothing else but blank lines and they are siblings."""
    if not change.inserts:
        return []
    start, end = change.new_start, change.new_start + len(change.new)
    mine = ctx.patched_outline.within(start, end)
    covered = {at for item in mine for at in range(item.start, item.end)}
    alone = all(at in covered or ctx.patched.blank(at) for at in range(start, end))
    return mine if alone and mine and len({(item.scope, item.indent) for item in mine}) == 1 else []


def _scope(ctx: Context, scope: tuple[str, ...]) -> tuple[str, ...] | None:
    """What ``scope`` is called in the new file: the same, or what upstream renamed it to; None where that is open."""
    if not scope:
        return scope
    old = next((item for item in ctx.old_outline.all if (*item.scope, item.name) == scope), None)
    new = [item for item in ctx.new_outline.all if (*item.scope, item.name) == scope]
    there = ctx.align.at(old.head) if old else NONE
    if old is None or len(new) > 1:
        return None
    if new:
        return scope if there in (new[0].head, NONE) else None  # another one has taken the name
    renamed = next((item for item in ctx.new_outline.all if item.head == there), None)
    if renamed is None:
        return None
    found = (*renamed.scope, renamed.name)
    mine = {item.name for item in ctx.old_outline.by_scope.get(scope, ())}
    theirs = {item.name for item in ctx.new_outline.by_scope.get(found, ())}
    return found if len(mine & theirs) * 2 > len(mine) else None


def _loose(ctx: Context, end: int, start: int) -> bool:
    """Whether lines that are no definition part two siblings: a module's own statements have an order."""
    return any(not ctx.patched.blank(at) for at in range(end, start))


def _defined_before_use(ctx: Context, mine: Sequence[Definition], here: Sequence[Definition], place: int) -> bool:
    """Whether what heads need at once (decorators, base classes, defaults) is defined above them, both ways."""
    told = b" ".join(line for item in mine for line in ctx.patched.lines[item.start : item.head + 1])
    for item in here:
        if item.start >= place and _mentions(told, item.name):
            return False
        if item.end <= place:
            theirs = b" ".join(ctx.onto.lines[item.start : item.head + 1])
            if any(_mentions(theirs, each.name) for each in mine):
                return False
    return True


def _mentions(text: bytes, name: str) -> bool:
    return re.search(rb"(?<![\w.])%b(?!\w)" % re.escape(name.encode("utf-8", "surrogateescape")), text) is not None


def _put(ctx: Context, mine: Sequence[Definition], place: int, behind: bool) -> Placed:
    lines = ctx.patched.lines
    start, end = mine[0].start, mine[-1].end
    if behind:
        while start > 0 and ctx.patched.blank(start - 1):
            start -= 1
    else:
        while end < len(lines) and ctx.patched.blank(end):
            end += 1
    return Placed(
        "beside-sibling",
        (Put(place, place, tuple(lines[start:end])),),
        place,
        0.8,
        "placed by the name of its neighbour",
    )
