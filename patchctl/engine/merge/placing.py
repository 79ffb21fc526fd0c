"""Each change of a patch on its way through the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchctl.engine.merge import insertions, replacements
from patchctl.engine.merge.align import pair
from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.rules import CONTESTED, INSERTIONS, REPLACEMENTS, Rule
from patchctl.engine.merge.scope import has_heading
from patchctl.engine.merge.text import is_weak

Part = tuple[Change, Placed | None]

# An insertion among lines that are alike can be read in many ways; with more than these, which is meant is a guess.
_MOST_SLIDES = 60


@dataclass(frozen=True, slots=True)
class Composed:
    """A text, and for each of its lines the index of the line of the new file that it is, or -1."""

    data: bytes
    origins: tuple[int, ...]


def place(ctx: Context, change: Change, off: frozenset[str]) -> list[Part]:
    """``change``, whole or in parts, each part with its place or None. ``off``: rules that are not asked."""
    return [_insertion(ctx, change, off)] if change.inserts else _replacement(ctx, change, off)


def _replacement(ctx: Context, change: Change, off: frozenset[str]) -> list[Part]:
    found = _first(ctx, change, REPLACEMENTS, off)
    if found and not (found.rule == "adjacent" and _grows(ctx, change)):
        return [(change, found)]
    parts = list(split(ctx, change))
    if len(parts) == 1:
        return [(change, None)]
    return [_insertion(ctx, p, off) if p.inserts else (p, _first(ctx, p, REPLACEMENTS, off)) for p in parts]


def _grows(ctx: Context, change: Change) -> bool:
    """Whether a replacement also adds lines at an end where upstream added lines: their order is open."""
    first, last = ctx.align.sure(change.start), ctx.align.sure(change.end - 1)
    above = ctx.align.at(change.start - 1) != first - 1
    below = ctx.align.at(change.end) != last + 1
    parts = list(split(ctx, change))
    old = ctx.base.lines[change.start : change.end]
    if not _told(old):
        return bool(change.new)
    if len(parts) == 1 and pair(old, change.new):
        return False  # one line, edited
    if len(parts) == 1:
        titled = has_heading(old, ctx.kind) or has_heading(change.new, ctx.kind)
        return (above or below) and (titled or _told(change.new) > _told(old))
    return (above and parts[0].inserts) or (below and parts[-1].inserts)


def _told(lines: Sequence[bytes]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _insertion(ctx: Context, change: Change, off: frozenset[str]) -> Part:
    turned = list(slides(ctx, change))
    if len(turned) > _MOST_SLIDES:
        return change, None
    for each in turned if "same-change" not in off else ():
        same = replacements.same(ctx, each)
        if same:
            return each, same
    rules: Iterable[tuple[str, Rule]] = CONTESTED if _is_contested(ctx, turned) else INSERTIONS
    if _is_ambiguous(ctx, turned):
        rules = [item for item in rules if item[0] == "beside-sibling"]
    for name, rule in rules:
        if name in off:
            continue
        ctx.spend(len(turned))
        found = [(each, placed) for each in turned if (placed := rule(ctx, each)) and placed.rule not in off]
        if found:
            agree = len({_where(ctx, placed) for _, placed in found}) == 1
            return found[0] if agree else (change, None)
    return change, None


def _first(ctx: Context, change: Change, rules: Iterable[tuple[str, Rule]], off: frozenset[str]) -> Placed | None:
    for name, rule in rules:
        if name not in off:
            ctx.spend(1)
            found = rule(ctx, change)
            if found and found.rule not in off:
                return found
    return None


def _is_contested(ctx: Context, turned: Sequence[Change]) -> bool:
    """Whether upstream added lines at the very place of an insertion, however it is slid.

    Where one way to see it is untouched, lines of upstream that are not parted by a blank go on with a neighbour.
    """
    theirs = [lines for each in turned if (lines := insertions.contested(ctx, each))]
    if not theirs:
        return False
    calm = any(insertions.between(ctx, each) for each in turned)
    return any(not calm or not lines[0].strip() or not lines[-1].strip() for lines in theirs)


def _is_ambiguous(ctx: Context, turned: Sequence[Change]) -> bool:
    """Whether the added lines repeat lines beside them, so that it is open which are new, and upstream edited those."""
    here = turned[0].start
    told = []
    for each in turned[1:]:
        passed = range(min(here, each.start), max(here, each.start))
        if any(not is_weak(ctx.base.lines[at]) for at in passed):
            told.append(each)
    if not told or all(insertions.between(ctx, each) for each in told):
        return False
    return any(insertions.between(ctx, each) for each in turned)


def _where(ctx: Context, placed: Placed) -> tuple[object, ...]:
    """The same for placements that make the same text: insertions slid down as far as they go."""
    if len(placed.puts) != 1 or placed.puts[0].start != placed.puts[0].end:
        return placed.puts
    put, lines = placed.puts[0], ctx.onto.lines
    new, at = put.new, put.start
    while at < len(lines) and lines[at] == new[0] and at - put.start < 2 * _MOST_SLIDES:
        new, at = (*new[1:], new[0]), at + 1
    return (at, new)


def slides(ctx: Context, change: Change) -> Iterator[Change]:
    """``change`` and the other insertions that make the same text of the base; one too many where they are many."""
    yield change
    base, new, at = ctx.base.lines, change.new, change.start
    while at < len(base) and base[at] == new[0] and at - change.start < _MOST_SLIDES:
        new, at = (*new[1:], new[0]), at + 1
        yield Change(at, at, new, change.new_start + at - change.start)
    new, at = change.new, change.start
    while at > 0 and base[at - 1] == new[-1] and change.start - at < _MOST_SLIDES:
        new, at = (new[-1], *new[:-1]), at - 1
        yield Change(at, at, new, change.new_start + at - change.start)


def split(ctx: Context, change: Change) -> Iterator[Change]:
    """A replacement as edits of single lines, with what was added and taken away between them."""
    old = ctx.base.lines[change.start : change.end]
    if _told(change.new) and not _told(old):
        yield Change(change.start, change.end, (), change.new_start)
        yield Change(change.end, change.end, change.new, change.new_start)
        return
    at = new_at = 0
    for i, j, _ in [*pair(old, change.new), (len(old), len(change.new), 1.0)]:
        if i > at or j > new_at:
            start = change.start + at
            yield Change(start, change.start + i, change.new[new_at:j], change.new_start + new_at)
        if i < len(old) and old[i] != change.new[j]:
            yield Change(change.start + i, change.start + i + 1, (change.new[j],), change.new_start + j)
        at, new_at = i + 1, j + 1


def compose(lines: Sequence[bytes], puts: Sequence[Put]) -> Composed | None:
    """``lines`` with ``puts`` made, in the order given where they meet; None if they overlap, or if a line without
    its end would stand in the middle."""
    out: list[bytes] = []
    origins: list[int] = []
    at = 0
    for put in sorted(puts, key=lambda put: (put.start, put.end)):
        if put.start < at:
            return None
        out += lines[at : put.start]
        origins += range(at, put.start)
        out += put.new
        origins += [-1] * len(put.new)
        at = put.end
    out += lines[at:]
    origins += range(at, len(lines))
    if any(not line.endswith(b"\n") for line in out[:-1]):
        return None
    return Composed(b"".join(out), tuple(origins))
