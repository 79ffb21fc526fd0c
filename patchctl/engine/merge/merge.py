"""Merging what a patch did to a file with what upstream did to it.

:func:`merge` takes the three texts and two edit scripts. Every change of the patch gets its place by the first rule
that knows one (:mod:`patchctl.engine.merge.rules`); what no rule knows, and what a check objects to, is a conflict
with a proposal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from patchctl.engine.lines import split
from patchctl.engine.markers import Labels
from patchctl.engine.merge import checks, conflict, signals, upstreamed
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.model import Change, Context, Exhausted, Placed, Put
from patchctl.engine.merge.placing import Composed, Part, compose, place
from patchctl.engine.merge.report import Hint, made_for, only_imports, records, review
from patchctl.engine.merge.rules import PRESENT, TRANSPORT
from patchctl.engine.outcome import HunkRecord

NO_LABELS = Labels("onto", "base", "patch")


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a person must decide: ``kind`` is context, rules, renamed, overlap, too-large, syntax, defined-twice,
    name-gone or superseded; ``hunk`` counts from 1, ``line`` is one of the new file or the result, from 1."""

    kind: str
    text: str
    hunk: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """``result`` is the merged text; if it is None, ``objections`` say why, and ``proposal`` has conflict markers.

    ``hunks`` has a record for each hunk. ``present``: all of the patch is in the new file already; ``partial``: a
    part. ``review``: what to look at though it is clean. ``parts``: each change with its place, if it has one.
    """

    result: Composed | None
    proposal: Composed | None
    hunks: tuple[HunkRecord, ...]
    review: tuple[Hint, ...]
    objections: tuple[Objection, ...]
    evidence: tuple[str, ...]
    present: bool
    partial: bool
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class How:
    """How far to go. ``rules``: "transport" accepts only what moves by arithmetic, "all" every rule but those that
    ``off`` names. ``accepted``: kinds of objections to a result that a person has overruled. ``elsewhere`` tells
    whether most of some lines stand in another file of the new tree by now: code that is gone here may be there."""

    rules: str = "all"
    off: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()
    elsewhere: Callable[[Sequence[bytes]], bool] | None = None
    labels: Labels = NO_LABELS


def merge(
    path: str,
    base: bytes,
    onto: bytes,
    patched: bytes,
    upstream: Sequence[tuple[int, int, int, int]],
    edits: Sequence[tuple[int, int, int, int]],
    *,
    hunks: Sequence[tuple[int, int]] | None = None,
    how: How = How(),
) -> Merged:
    """Carry the change from ``base`` to ``patched`` onto ``onto``.

    ``path`` is the file's name in the new tree: its ending tells the language. ``upstream`` and ``edits`` are the
    edit scripts from base to onto and from base to patched: (start, end, new start, new end), indices from 0, end
    excluded, in order, as git's histogram or myers algorithm finds them. ``hunks``: the lines of the base, indices
    too, that each hunk of the patch speaks of, context included; default: a hunk for each edit.
    """
    script = [Edit(*edit) for edit in edits]
    lines = split(patched)
    added = [line for edit in script for line in lines[edit.new_start : edit.new_end]]
    ctx = Context(path, base, onto, patched, [Edit(*edit) for edit in upstream], how.elsewhere, added)
    changes = [Change(e.start, e.end, tuple(ctx.patched.lines[e.new_start : e.new_end]), e.new_start) for e in script]
    spans = list(hunks) if hunks is not None else [(edit.start, edit.end) for edit in script]
    parts, objections = _placed(ctx, changes, spans, how)
    result, hints = _checked(ctx, script, parts, objections, how.accepted)
    done = any(found.rule in PRESENT for _, found in parts if found)
    there = upstreamed.find(ctx, changes) if objections or done or upstreamed.likely(ctx, changes) else None
    if there and there.all:
        parts, objections = upstreamed.present(ctx, changes), []
        result, hints = compose(ctx.onto.lines, []), []
    elif there and result is not None and upstreamed.would_double(there, parts) and "superseded" not in how.accepted:
        objections.append(Objection("superseded", f"Upstream does a part of it already. {' '.join(there.evidence)}"))
        result, hints = None, []
    merged = _sum_up(ctx, script, parts, spans, result, objections, how.labels, there)
    return replace(merged, review=(*merged.review, *hints)) if hints and result is not None else merged


def _placed(
    ctx: Context, changes: Sequence[Change], spans: Sequence[tuple[int, int]], how: How
) -> tuple[list[Part], list[Objection]]:
    objections: list[Objection] = []
    if ctx.renames and how.rules == "transport":
        text = f"Upstream renamed {_told(ctx)}, which the patch uses (see --rules all)."
        objections.append(Objection("renamed", text))
    parts: list[Part] = []
    try:
        for change in changes:
            parts += place(ctx, change, how.off)
    except Exhausted:
        objections.append(Objection("too-large", "The file has too many changes, or too many lines that are alike."))
        return [(change, None) for change in changes], objections
    for at, (change, placed) in enumerate(parts):
        if placed is None:
            objections.append(_lost(ctx, change, spans))
        elif how.rules == "transport" and placed.rule not in TRANSPORT:
            text = f"The rule {placed.rule} would put it at line {placed.at + 1} (see --rules all)."
            objections.append(Objection("rules", text, _hunk(change, spans, len(ctx.base)), placed.at + 1))
            parts[at] = (change, None)
    return parts, objections


def _checked(
    ctx: Context,
    script: Sequence[Edit],
    parts: Sequence[Part],
    objections: list[Objection],
    accepted: frozenset[str],
) -> tuple[Composed | None, list[Hint]]:
    """The result, if there is one that nothing speaks against, and what to look at in it; ``objections`` grow."""
    if objections:
        return None, []
    made = compose(ctx.onto.lines, [put for _, placed in parts if placed for put in placed.puts])
    if made is None:
        objections.append(Objection("overlap", "Two changes would land on the same lines."))
        return None, []
    if made.data == ctx.onto.data or ctx.base.data == ctx.onto.data:
        return made, []
    vetoes = [*checks.check(ctx, script, parts, made.data), *checks.doubled(ctx, parts)]
    hints = [Hint(veto.kind, veto.text, veto.line) for veto in vetoes if veto.kind in checks.REVIEWED | accepted]
    left = [veto for veto in vetoes if veto.kind not in checks.REVIEWED | accepted]
    objections += [Objection(veto.kind, veto.text, line=veto.line) for veto in left]
    return (None if left else made), hints


def _told(ctx: Context) -> str:
    return ", ".join(f"{old.decode()} to {new.decode()}" for old, new in sorted(ctx.renames.items()))


def _lost(ctx: Context, change: Change, spans: Sequence[tuple[int, int]]) -> Objection:
    before = ctx.align.at(change.start - 1)
    line = before + 2 if before >= -1 else None
    what = "The lines that it changes" if not change.inserts else "The lines around its place"
    scope = made_for(ctx, change)
    where = f"line {change.start + 1} of the base" + (f", in {scope}" if scope else "")
    text = f"{what} ({where}) are not what they were, and no rule knows where it goes."
    return Objection("context", text, _hunk(change, spans, len(ctx.base)), line)


def _hunk(change: Change, spans: Sequence[tuple[int, int]], size: int) -> int | None:
    """Which hunk ``change`` belongs to, from 1."""
    return bisect_right(spans, (change.start, size + 1)) or None


def _sum_up(
    ctx: Context,
    script: Sequence[Edit],
    parts: Sequence[Part],
    spans: Sequence[tuple[int, int]],
    result: Composed | None,
    objections: Sequence[Objection],
    labels: Labels,
    there: upstreamed.Upstreamed | None,
) -> Merged:
    done = [found.rule in PRESENT for _, found in parts if found]
    present = not objections and bool(done) and all(done)
    if objections and there and not any(item.kind == "superseded" for item in objections):
        objections = [*objections, *_own(there)]
    return Merged(
        result,
        _proposal(ctx, script, parts, objections, labels) if objections else None,
        tuple(records(ctx, parts, spans, result is None)),
        tuple(_hints(ctx, script, parts)) if result is not None and not present else (),
        tuple(objections),
        there.evidence if there and (objections or any(done)) else (),
        present,
        not present and any(found.rule in PRESENT and not only_imports(ctx, c) for c, found in parts if found),
        tuple(parts),
    )


def _own(there: upstreamed.Upstreamed) -> Iterable[Objection]:
    """What upstream has of its own in the place of what the patch brings."""
    if there.rivals:
        names = ", ".join(name for name, _, _ in there.rivals)
        yield Objection("superseded", f"Upstream has its own {names}, which the patch adds.", line=there.rivals[0][1])
    elif there.own:
        yield Objection("superseded", " ".join(there.own))


def _proposal(
    ctx: Context, script: Sequence[Edit], parts: Sequence[Part], objections: Sequence[Objection], labels: Labels
) -> Composed | None:
    if any(item.kind == "too-large" for item in objections):
        return None
    doubtful = all(found for _, found in parts)
    lost = [change for change, found in parts if found is None or doubtful]
    puts: list[Put] = [] if doubtful else [put for _, placed in parts if placed for put in placed.puts]
    return conflict.propose(ctx, script, lost, puts, labels)


def _hints(ctx: Context, script: Sequence[Edit], parts: Sequence[Part]) -> Iterable[Hint]:
    if ctx.renames:
        yield Hint("renamed", f"The patch's lines use the new names: {_told(ctx)}.")
    yield from review(ctx, parts)
    yield from signals.hints(ctx, script)


def placed_by(merged: Merged) -> dict[str, int]:
    """How many changes each rule has placed."""
    out: dict[str, int] = {}
    for _, found in merged.parts:
        name = found.rule if isinstance(found, Placed) else "none"
        out[name] = out.get(name, 0) + 1
    return out
