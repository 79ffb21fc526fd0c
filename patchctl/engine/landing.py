"""Where the hunks of one file land by their own context: forward, already there, or for a person to decide.

This is for files without a base (:mod:`patchctl.engine.place` has the rule), and for a base itself. Where a base is
known and the file differs from it, :mod:`patchctl.engine.merge` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchctl.engine.markers import Edit, Labels, assemble, question
from patchctl.engine.model import Hunk, Op
from patchctl.engine.place import Known, Miss, Spot, Target, place, reverse, scope_of


@dataclass(frozen=True, slots=True)
class Landing:
    """A hunk that has its place: its first line is line ``at`` (an index) of the file.

    ``method``: exact, offset (at another line than stated), present (the file has it already; then there are no
    ``edits``). ``notes`` are for a reviewer.
    """

    at: int
    method: str
    scope: str | None
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def present(self) -> bool:
        return self.method == "present"


@dataclass(frozen=True, slots=True)
class Composed:
    """A result: its bytes, for each line the index of the line that it was (or -1), where each hunk starts
    (None: nowhere yet), and whether a person must decide something in it."""

    data: bytes
    origins: tuple[int, ...]
    starts: tuple[int | None, ...]
    conflict: bool


def land(target: Target, hunks: Sequence[Hunk], known: Known, known_new: Known) -> list[Landing | Miss]:
    """A landing for each hunk of a section.

    ``known`` and ``known_new`` say whether ``target`` is the file before or after the patch, by blob id.
    """
    turned = [reverse(hunk) for hunk in hunks]
    backward: list[Spot | Miss] | None = None
    if known_new is Known.SAME:
        backward = place(target, turned, known_new)
        if all(isinstance(spot, Spot) for spot in backward):
            return [_present(target, hunk, spot) for hunk, spot in zip(hunks, backward, strict=True)]
    forward = _forward(target, hunks, known)
    if known is Known.SAME and all(isinstance(item, Landing) for item in forward):
        return forward
    backward = backward or place(target, turned, known_new)
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


def _forward(target: Target, hunks: Sequence[Hunk], known: Known) -> list[Landing | Miss]:
    return [
        Landing(spot.at, spot.method, spot.scope, edits_of(hunk, spot.at), spot.notes)
        if isinstance(spot, Spot)
        else spot
        for hunk, spot in zip(hunks, place(target, hunks, known), strict=True)
    ]


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
    if ahead.method == "exact" and back.method != "exact" and not _beside(hunk, ahead, back):
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
            if item.at < floor:
                item = Miss("order", f"The hunk would land at line {item.at + 1}, inside the one before it.", floor)
            else:
                floor = item.at + len(hunk.new if item.present else hunk.old)
        out.append(item)
    return out
