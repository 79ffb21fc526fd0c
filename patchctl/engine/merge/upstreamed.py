"""Whether upstream has what a patch does: the same change, the same effect, the same definitions, or a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from patchctl.engine.merge.align import NONE
from patchctl.engine.merge.model import Change, Context, Placed
from patchctl.engine.merge.outline import Definition
from patchctl.engine.merge.signals import names
from patchctl.engine.merge.text import is_weak


@dataclass(frozen=True, slots=True)
class Upstreamed:
    """What the new file has of a patch already.

    ``all``: every change is there. ``changes``: for each change whether it is. ``rivals``: definitions that the
    patch adds and that upstream has in the same scope with another body: (dotted name, line from 1, likeness).
    ``own``: sentences about cases for which upstream has something of its own. ``again``: changes of which upstream
    does a part elsewhere in the same function, in its own words.
    """

    all: bool
    changes: tuple[bool, ...]
    rivals: tuple[tuple[str, int, float], ...] = ()
    evidence: tuple[str, ...] = field(default=())
    own: tuple[str, ...] = ()
    again: tuple[Change, ...] = ()


def likely(ctx: Context, changes: Sequence[Change]) -> bool:
    """Whether a change that has found its place should still be looked for: all names that are new to the file with
    it are new with upstream's changes too. Cheap, so that it can be asked of every merge."""
    added = [line for change in changes for line in change.new if not line.lstrip().startswith((b"#", b"//"))]
    if not added or not ctx.align.script:
        return False
    mine = names(added)
    new = mine - ctx.base.having(mine)
    return bool(new) and ctx.onto.having(new) == new


def present(ctx: Context, changes: Sequence[Change]) -> list[tuple[Change, Placed | None]]:
    """The places of ``changes`` in a file that has all of them: nothing is to be put anywhere."""
    return [(each, Placed("already", (), max(ctx.align.at(each.start - 1) + 1, 0))) for each in changes]


def would_double(there: Upstreamed, parts: Sequence[tuple[Change, Placed | None]]) -> bool:
    """Whether something would be put into the file that upstream does there in its own words."""
    return any(
        placed is not None and placed.puts and any(_adds(again, change.new_start) for again in there.again)
        for change, placed in parts
    )


def find(ctx: Context, changes: Sequence[Change]) -> Upstreamed:
    """Look at each change: does its result stand where it would go, or do its definitions stand in their scope?"""
    if ctx.onto.data == ctx.patched.data:
        return Upstreamed(True, tuple(True for _ in changes), (), ("The file is the one that the patch makes.",))
    there = tuple(_stands(ctx, change) for change in changes)
    rivals = tuple(_rivals(ctx, changes))
    evidence = []
    if all(there) and there:
        evidence.append("Every change of the patch stands in the new file already.")
    elif any(there):
        evidence.append(f"{sum(there)} of {len(there)} changes of the patch stand in the new file already.")
    for name, line, score in rivals:
        evidence.append(f"{name} is defined at line {line} already; {score:.0%} of its lines are the patch's.")
    present = bool(there) and all(there)
    if present or rivals:
        return Upstreamed(present, there, rivals, tuple(evidence))
    from patchctl.engine.merge import effects  # much to load, for the few that come this far

    effect = effects.same_effect(ctx, changes)
    evidence += effect.evidence if effect.proved or effect.again else effect.own
    again = tuple(each for each in changes if any(_adds(each, line - 1) for line in effect.again))
    return Upstreamed(effect.proved, there, rivals, tuple(evidence), effect.own, again)


def _adds(change: Change, line: int) -> bool:
    return change.new_start <= line < change.new_start + len(change.new)


def _stands(ctx: Context, change: Change) -> bool:
    """Whether the new file has the result of ``change`` between what is left of its neighbours, or its definitions
    word for word in their scope."""
    before, behind = ctx.align.sure(change.start - 1), ctx.align.sure(change.end)
    if NONE not in (before, behind) and tuple(ctx.onto.lines[before + 1 : behind]) == change.new:
        told = change.new or ctx.base.lines[change.start : change.end]
        return ctx.fits(change.start, before + 1, told)
    mine = _definitions(ctx, change)
    return bool(mine) and all(_same(ctx, item) for item in mine)


def _definitions(ctx: Context, change: Change) -> list[Definition]:
    start, end = change.new_start, change.new_start + len(change.new)
    mine = ctx.patched_outline.within(start, end)
    covered = {at for item in mine for at in range(item.start, item.end)}
    alone = all(at in covered or ctx.patched.blank(at) for at in range(start, end))
    return mine if change.inserts and alone else []


def _there(ctx: Context, item: Definition) -> Definition | None:
    found = [other for other in ctx.new_outline.by_scope.get(item.scope, ()) if other.name == item.name]
    return found[0] if len(found) == 1 else None


def _same(ctx: Context, item: Definition) -> bool:
    other = _there(ctx, item)
    return other is not None and _body(ctx.patched.lines, item) == _body(ctx.onto.lines, other)


def _body(lines: list[bytes], item: Definition) -> list[bytes]:
    return [line for line in lines[item.start : item.end] if line.strip()]


def _rivals(ctx: Context, changes: Sequence[Change]) -> list[tuple[str, int, float]]:
    old = {(*item.scope, item.name) for item in ctx.old_outline.all}
    added = {at for c in changes for at in range(c.new_start, c.new_start + len(c.new))}
    out = []
    for item in ctx.patched_outline.all:
        key = (*item.scope, item.name)
        if item.head not in added or key in old:
            continue
        other = _there(ctx, item)
        if other is not None and not _same(ctx, item):
            mine, theirs = _body(ctx.patched.lines, item), set(_body(ctx.onto.lines, other))
            told = [line for line in mine if not is_weak(line)] or mine
            out.append((".".join(key), other.head + 1, sum(line in theirs for line in told) / len(told)))
    return out
