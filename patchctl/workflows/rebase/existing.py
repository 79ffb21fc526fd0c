"""A goal that is a target already: its patches stand, and are only compared with what the series would bring."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from patchctl.engine import port as engine
from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.model import FileState
from patchctl.engine.options import Decision, Names, Options
from patchctl.engine.outcome import Note, PatchReport
from patchctl.workflows.rebase.ground import Ground, States

EQUAL, DIFFERENT = "equal", "different"


@dataclass(frozen=True, slots=True)
class Settled:
    """A patch that the goal has decided: what is told of it, and how the two compare (None: it is dropped there)."""

    decision: Decision
    report: PatchReport
    existing: str | None


def settled(ground: Ground) -> dict[str, Settled]:
    """The patches of the series that the goal lists or has dropped."""
    listed = {one.id for one in ground.existing}
    found: dict[str, Settled] = {}
    if not any(one.id in listed or one.id in ground.dropped for one in ground.patches):
        return found
    now: dict[str, FileState | None] = {}
    for report in _reports(ground, listed):
        after = {path: entry.state for path, entry in report.changes.items()}
        before = {path: now[path] if path in now else ground.onto.get(path) for path in after}
        if report.name in listed and report.stuck:
            now.update(ground.existing_sides[report.name][1])
        elif report.name not in ground.dropped:
            now.update(after)
        if report.name in listed:
            sides = ground.existing_sides[report.name]
            same = not report.stuck and _same((before, after), sides)
            told = _compared(ground, report, same)
            found[report.name] = Settled(Decision(told.outcome), told, EQUAL if same else DIFFERENT)
        elif report.name in ground.dropped:
            told = _dropped(ground, report)
            found[report.name] = Settled(Decision(told.outcome), told, None)
    return found


def _reports(ground: Ground, listed: Collection[str]) -> list[PatchReport]:
    """What the engine says of every patch, on top of what the goal has made of the ones before it."""
    decided: dict[str, Decision] = {}
    first: dict[str, PatchReport] = {}
    while True:
        labels = Names(ground.goal.tag, ground.start)
        options = Options(scripts=ground.scripts, decided=decided, labels=labels)
        reports = engine.port([one.raw for one in ground.patches], ground.onto, ground.base, options=options)
        new: dict[str, Decision] = {}
        for report in reports:
            if report.name in decided or report.outcome in ("waiting", "upstreamed"):
                continue
            if report.name in ground.dropped:
                new[report.name] = Decision("dropped")
            elif report.name in listed and report.stuck:
                new[report.name] = Decision("resolved", ground.existing_sides[report.name][1])
            if report.name in new:
                first[report.name] = report
        if not new:
            return [first.get(report.name, report) for report in reports]
        decided |= new


def _dropped(ground: Ground, report: PatchReport) -> PatchReport:
    """That the goal does not carry a patch: as the engine finds, or since somebody decided so."""
    entry = ground.dropped[report.name]
    text = f"{ground.goal.tag} does not carry it: {entry.reason}" + (f" ({entry.evidence})" if entry.evidence else "")
    evidence = (Note("dropped", text), *report.evidence)
    outcome = report.outcome if report.outcome == "upstreamed" else "dropped"
    return PatchReport(report.name, outcome, report.files, evidence=evidence)


def _compared(ground: Ground, report: PatchReport, same: bool) -> PatchReport:
    where = f"{ground.goal.tag} has a patch file of its own for it"
    if same:
        return replace(report, evidence=(*report.evidence, Note("existing", f"{where}, which makes the same change.")))
    text = f"{where}, which makes another change than the one from {ground.start} would; it stays as it is."
    note = Note("existing", text)
    if report.stuck or report.outcome == "upstreamed":
        # What the engine leaves to a person, a person has done already: the file that stands there is the answer.
        return PatchReport(report.name, "resolved", report.files, (note,), report.evidence)
    return replace(report, review=(*report.review, note))


def _same(mine: tuple[States, States], theirs: tuple[States, States]) -> bool:
    """Whether two patches do the same to the same files, wherever in them and on top of whatever."""
    return mine[1].keys() == theirs[1].keys() and all(
        _edit(mine[0].get(path), mine[1][path]) == _edit(theirs[0].get(path), theirs[1][path]) for path in mine[1]
    )


def _edit(before: FileState | None, after: FileState | None) -> tuple[object, ...]:
    """What was done to a file: its lines that went and came, in order, and its mode."""
    old, new = (split(state.data) if state is not None else [] for state in (before, after))
    modes = tuple(state and state.mode for state in (before, after))
    return (modes, *((tuple(old[a:b]), tuple(new[c:d])) for a, b, c, d in script(old, new)))
