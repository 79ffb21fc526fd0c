"""Where the hunks of one file land: forward, already there, or for a person to decide.

Without the file that the patch was made for, a hunk is placed by its own context (:mod:`patchctl.engine.place`).
With it (the base), what lies wholly in the lines that base and the new file share at their beginnings or ends
moves by arithmetic, one unchanged line away from anything that upstream touched. The rest is placed by its own
context, and only if that context is unique in the base too and the definition around it is the same on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from patchctl.engine.markers import Edit, Labels, assemble, question
from patchctl.engine.model import Hunk, Op
from patchctl.engine.place import Known, Miss, Spot, Target, change_indent, leading, place, reverse, scope_of, start_of


@dataclass(frozen=True, slots=True)
class Landing:
    """A hunk that has its place: its first line is line ``at`` (an index) of the file.

    ``method``: exact, offset (context, at another line than stated), transport (by arithmetic, its context has
    changed), present (the file has it already; then there are no ``edits``). ``sure``: known by arithmetic, not
    by looking for text. ``notes`` are for a reviewer.
    """

    at: int
    method: str
    scope: str | None
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    sure: bool = False

    @property
    def present(self) -> bool:
        return self.method == "present"


@dataclass(frozen=True, slots=True)
class Base:
    """The file that the hunks were made for, and where they stand in it."""

    target: Target
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Composed:
    """A result: its bytes, for each line the index of the line that it was (or -1), where each hunk starts
    (None: nowhere yet), and whether a person must decide something in it."""

    data: bytes
    origins: tuple[int, ...]
    starts: tuple[int | None, ...]
    conflict: bool


def land(
    target: Target, hunks: Sequence[Hunk], known: Known, known_new: Known, base: Base | None = None, only: str = "all"
) -> list[Landing | Miss]:
    """A landing for each hunk of a section.

    ``known`` and ``known_new`` say whether ``target`` is the file before or after the patch, by blob id.
    ``only`` = "transport" rules out what is placed by context though a base is there.
    """
    turned = [reverse(hunk) for hunk in hunks]
    backward: list[Spot | Miss] | None = None
    if known_new is Known.SAME:
        backward = place(target, turned, known_new)
        if all(isinstance(spot, Spot) for spot in backward):
            return [_present(target, hunk, spot) for hunk, spot in zip(hunks, backward, strict=True)]
    forward = _forward(target, hunks, known, base, only)
    if all(isinstance(item, Landing) and (known is Known.SAME or item.sure) for item in forward):
        return forward
    backward = backward or place(target, turned, known_new)
    if base is not None:
        backward = [
            _news(target, spot, hunk, base, start)
            for hunk, spot, start in zip(hunks, backward, base.starts, strict=True)
        ]
    chosen = [_choose(target, hunk, ahead, back) for hunk, ahead, back in zip(hunks, forward, backward, strict=True)]
    return _in_order(hunks, chosen)


def edits_of(hunk: Hunk, at: int) -> tuple[Edit, ...]:
    """The changes of ``hunk`` without their context, its old lines beginning at index ``at``."""
    edits: list[Edit] = []
    start = at
    new: list[bytes] = []
    removed = 0
    for line in hunk.lines:
        if line.op is Op.CONTEXT:
            if new or removed:
                edits.append(Edit(start, start + removed, tuple(new)))
            start += removed + 1
            new, removed = [], 0
        elif line.op is Op.REMOVE:
            removed += 1
        else:
            new.append(line.data)
    if new or removed:
        edits.append(Edit(start, start + removed, tuple(new)))
    return tuple(edits)


def compose(
    target: Target, hunks: Sequence[Hunk], landings: Sequence[Landing | Miss], labels: Labels, doubtful: bool = False
) -> Composed:
    """Make the edits; a :class:`Miss` becomes a marker block, and with ``doubtful`` every landing does."""
    lines = target.exact.lines
    edits: list[Edit] = []
    shift = 0
    starts: list[int | None] = []
    floor = 0
    for hunk, item, limit in zip(hunks, landings, _next_starts(landings, len(lines)), strict=True):
        if isinstance(item, Landing):
            starts.append(item.at + shift)
            shift += sum(len(edit.new) - (edit.end - edit.start) for edit in item.edits)
            edits += (
                (question(lines, e.start, e.end, lines[e.start : e.end], e.new) for e in item.edits)
                if (doubtful)
                else item.edits
            )
            floor = max([floor, *(edit.end for edit in item.edits)])
            continue
        starts.append(None)
        start = min(max(item.near, floor), limit)
        end = max(min(start + len(hunk.old), limit), start)
        asked = question(lines, start, end, hunk.old, hunk.new)
        edits.append(asked)
        floor = max(floor, asked.end)
    made = assemble(lines, edits, labels)
    conflict = any(edit.base is not None for edit in edits)
    return Composed(b"".join(t for t, _ in made), tuple(i for _, i in made), tuple(starts), conflict)


def _next_starts(landings: Sequence[Landing | Miss], end: int) -> list[int]:
    """For each of ``landings``, where the first edit of those behind it begins; ``end`` where there is none."""
    out: list[int] = []
    for item in reversed(landings):
        out.append(end)
        if isinstance(item, Landing):
            end = min([end, *(edit.start for edit in item.edits)])
    return out[::-1]


def _forward(target: Target, hunks: Sequence[Hunk], known: Known, base: Base | None, only: str) -> list[Landing | Miss]:
    if base is None:
        return [
            Landing(spot.at, spot.method, spot.scope, edits_of(hunk, spot.at), spot.notes)
            if isinstance(spot, Spot)
            else spot
            for hunk, spot in zip(hunks, place(target, hunks, known), strict=True)
        ]
    shared = _Shared(base.target, target)
    moved = [_transport(target, hunk, start, shared) for hunk, start in zip(hunks, base.starts, strict=True)]
    sure = [landing for landing in moved if landing is not None]
    if len(sure) == len(moved):
        return list(sure)
    spots = place(target, hunks, known)
    return [
        landing or _checked(target, hunk, spot, base.target, start, only)
        for landing, hunk, spot, start in zip(moved, hunks, spots, base.starts, strict=True)
    ]


class _Shared:
    """The lines that two files have in common at their beginnings and at their ends."""

    def __init__(self, base: Target, target: Target) -> None:
        old, new = base.exact.lines, target.exact.lines
        shortest = min(len(old), len(new))
        self._head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
        self._tail = next((at for at in range(shortest) if old[-1 - at] != new[-1 - at]), shortest)
        self._length = len(old)
        self.moved = len(new) - len(old)

    def shift(self, start: int, end: int) -> int | None:
        """By how much the lines from ``start`` to ``end`` of the base moved; None where that is not certain.

        The line before and the line behind must be shared as well.
        """
        # Where lines repeat, both overlap, and what upstream did may lie anywhere in the overlap.
        first, last = sorted((self._head, self._length - self._tail))
        return 0 if end < first else self.moved if start > last else None


def _transport(target: Target, hunk: Hunk, start: int, shared: _Shared) -> Landing | None:
    moved: list[Edit] = []
    for edit in edits_of(hunk, start):
        shift = shared.shift(edit.start, edit.end)
        if shift is None:
            return None
        moved.append(Edit(edit.start + shift, edit.end + shift, edit.new))
    if not moved or not hunk.old:
        return None  # without a single old line, nothing says what the hunk belongs to
    at = max(moved[0].start - leading(hunk), 0)
    method = "transport"
    if target.exact.stands(hunk.old, at):
        method = "exact" if at == start_of(hunk) else "offset"
    return Landing(at, method, scope_of(target, hunk, at), tuple(moved), sure=True)


def _checked(target: Target, hunk: Hunk, spot: Spot | Miss, base: Target, start: int, only: str) -> Landing | Miss:
    """A place by context, checked against what the base tells about it."""
    if isinstance(spot, Miss):
        return _explained(hunk, spot, base, start)
    if only == "transport":
        text = f"Upstream changed lines around the hunk; its context stands at line {spot.at + 1} (see --rules all)."
        return Miss("rules", text, spot.at)
    there = base.scopes.chain(start + leading(hunk), change_indent(hunk))
    here = target.scopes.chain(spot.at + leading(hunk), change_indent(hunk))
    if there != here:
        made_for, found = ".".join(there) or "the module", ".".join(here) or "the module"
        text = f"The hunk is made for {made_for}; its lines stand in {found}"
        return Miss("scope", f"{text} (line {spot.at + 1}) only.", spot.at)
    if len(base.exact.find(hunk.old, 2)) > 1:
        text = f"The hunk's lines stood several times in the base; only those at line {spot.at + 1} are left."
        return Miss("ambiguous", text, spot.at)
    return Landing(spot.at, spot.method, spot.scope, edits_of(hunk, spot.at), spot.notes)


def _explained(hunk: Hunk, miss: Miss, base: Target, start: int) -> Miss:
    scope = ".".join(base.scopes.chain(start + leading(hunk), change_indent(hunk)))
    return replace(miss, message=f"{miss.message} (It was made for {scope}.)") if scope else miss


def _news(target: Target, spot: Spot | Miss, hunk: Hunk, base: Base, start: int) -> Spot | Miss:
    """``spot``, where the result of ``hunk`` stands, if that is news, and in the definition that the hunk is for."""
    if isinstance(spot, Miss):
        return spot
    if base.target.exact.find(hunk.new, 1):
        return Miss("context", "What the hunk makes stood in the base already, so it proves nothing.", spot.at)
    indent = change_indent(hunk)
    there = base.target.scopes.chain(start + leading(hunk), indent)
    if target.scopes.chain(spot.at + leading(hunk), indent) != there:
        return Miss("scope", "What the hunk makes stands in another definition only.", spot.at)
    return spot


def _present(target: Target, hunk: Hunk, spot: Spot | Miss) -> Landing | Miss:
    if isinstance(spot, Miss):
        return spot
    return Landing(spot.at, "present", scope_of(target, reverse(hunk), spot.at), (), spot.notes)


def _choose(target: Target, hunk: Hunk, ahead: Landing | Miss, back: Spot | Miss) -> Landing | Miss:
    """Do it, or is it there already? A hunk can fit both ways if it adds lines at its edge."""
    if isinstance(back, Miss) or not edits_of(hunk, 0):
        return ahead
    if isinstance(ahead, Miss):
        return ahead if _still_there(target, hunk) else _present(target, hunk, back)
    if ahead.sure or (ahead.method == "exact" and back.method != "exact" and not _beside(hunk, ahead, back)):
        return ahead
    if back.method == "exact" and ahead.method != "exact":
        return _present(target, hunk, back)
    text = f"The hunk fits at line {ahead.at + 1}, and what it adds stands at line {back.at + 1} already."
    return Miss("already-there", text, ahead.at)


def _still_there(target: Target, hunk: Hunk) -> bool:
    """Whether ``hunk`` only deletes, and what it deletes stands in the file yet: its bare context proves nothing."""
    gone = [line.data for line in hunk.lines if line.op is Op.REMOVE]
    return len(hunk.old) == len(hunk.new) + len(gone) and bool(target.exact.find(gone, 1))


def _beside(hunk: Hunk, ahead: Landing, back: Spot) -> bool:
    return back.at - len(hunk.new) <= ahead.at <= back.at + len(hunk.new)


def _in_order(hunks: Sequence[Hunk], chosen: list[Landing | Miss]) -> list[Landing | Miss]:
    """Hunks that landed before the end of the one above them did not land."""
    floor = 0
    out: list[Landing | Miss] = []
    for hunk, item in zip(hunks, chosen, strict=True):
        if isinstance(item, Landing):
            first = item.edits[0].start if item.method == "transport" else item.at
            if first < floor:
                item = Miss("order", f"The hunk would land at line {first + 1}, inside the one before it.", floor)
            else:
                last = item.at + len(hunk.new if item.present else hunk.old)
                floor = item.edits[-1].end if item.method == "transport" else last
        out.append(item)
    return out
