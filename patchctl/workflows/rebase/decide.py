"""What a person did to a conflict, judged: is it an answer, and does it pass the guards?"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from patchctl.engine.model import LINK, FileState
from patchctl.errors import Problem, Refused
from patchctl.target.safeio import Root
from patchctl.workflows.rebase import conflicts, guard, regions
from patchctl.workflows.rebase.conflicts import Laid
from patchctl.workflows.rebase.ground import Ground, States
from patchctl.workflows.rebase.plan import Plan, Step
from patchctl.workflows.rebase.state import Open
from patchctl.workflows.stack import stamp


@dataclass(frozen=True, slots=True)
class Answer:
    """What stands in a conflict's folder. ``open`` says why it is no answer yet, ``against`` what the guards found;
    ``review`` is for a reviewer. Only without the first two is it decided."""

    files: States
    open: tuple[Problem, ...] = ()
    against: tuple[Problem, ...] = ()
    review: tuple[Problem, ...] = ()
    untouched: bool = False


def answer(root: Root, ground: Ground, plan: Plan, step: Step, laid: Laid, was: Open) -> Answer:
    """What a person made of the conflict of ``step``. ``root`` is the state folder."""
    try:
        files, problems = conflicts.read(root, step.id, was.proposed)
    except Refused as error:
        return Answer({}, _unreadable(step, error))
    problems += _markers(step, laid, files)
    untouched = [path for path in laid.unsettled if stamp(files.get(path)) == was.proposed.get(path)]
    if untouched and not problems:
        problems += [_undecided(step, path) for path in untouched]
    if problems:
        return Answer(files, tuple(problems), untouched=len(untouched) == len(laid.unsettled))
    return judged(ground, plan, step, files)


def kept(root: Root, ground: Ground, plan: Plan, step: Step, laid: Laid, was: Open) -> Answer:
    """The patch's own side wherever nothing else was said: in every region that is open still, and for whole files."""
    try:
        files, problems = conflicts.read(root, step.id, was.proposed)
    except Refused as error:
        return Answer({}, _unreadable(step, error))
    if problems:
        return Answer(files, tuple(problems))
    result: dict[str, FileState | None] = dict(files)
    for path in laid.unsettled:
        state = files.get(path)
        if state is not None and regions.questions(state.data):
            result[path] = FileState(regions.answered(state.data, lambda question: question.patch), state.mode)
        elif path not in step.report.proposals and stamp(state) == was.proposed.get(path):
            result[path] = laid.sides[path].patch  # no merge of it was tried: one side or the other
    problems = _markers(step, laid, result)
    if problems:
        return Answer(result, tuple(problems))
    found = judged(ground, plan, step, result)
    if found.open:
        return found
    # That the target has a version of its own is what the person has decided about; what else it has is not.
    against = [one for one in found.against if one.kind != "superseded"]
    against += _with_step(step, (one for one in found.review if one.kind == "lost"))
    return Answer(found.files, (), tuple(against), tuple(one for one in found.review if one.kind != "lost"))


def _unreadable(step: Step, error: Refused) -> tuple[Problem, ...]:
    look = f"ls -lR {conflicts.folder(step.id)}"
    return tuple(replace(one, patch=step.id, next=one.next or look) for one in error.problems)


def judged(ground: Ground, plan: Plan, step: Step, files: States) -> Answer:
    """``files`` as the answer to ``step``, with what the guards have to say."""
    changed = {path: state for path, state in files.items() if state != step.before.get(path) or path in step.before}
    try:
        before = {**{path: _now(ground, plan, step, path) for path in changed}, **step.before}
        against, review = guard.check(ground, step.id, before, changed, plan.now(step.id), step.moved)
    except Refused as error:
        return Answer(files, _unreadable(step, error))
    if all(changed[path] == before[path] for path in changed):
        why = f"The files are those of {ground.goal.tag}: nothing of the patch is left in them."
        step_next = f"patchctl rebase --drop {step.id} --reason WHY"
        return Answer(files, (Problem("empty", why, step.id, next=step_next),))
    review += guard.lost(ground, step.id, step.before, changed, step.moved)
    review += guard.reverted(ground, step.id, step.before, changed, step.moved)
    return Answer(changed, (), tuple(_with_step(step, against)), tuple(review))


def _now(ground: Ground, plan: Plan, step: Step, path: str) -> FileState | None:
    now = plan.now(step.id)
    return now[path] if path in now else (ground.standing if ground.existing else ground.onto).get(path)


def _with_step(step: Step, against: Iterable[Problem]) -> list[Problem]:
    accept = f"patchctl rebase --accept {step.id} --reason WHY"
    return [
        Problem(one.kind, one.message, step.id, one.file, one.hunk, accept if one.kind in guard.KINDS else one.next)
        for one in against
    ]


def _markers(step: Step, laid: Laid, files: States) -> list[Problem]:
    problems = []
    for path, state in files.items():
        if state is None or state.mode == LINK:
            continue
        sides = laid.sides.get(path)
        known = [one.data for one in (sides.base, sides.onto, sides.patch, sides.settled) if one] if sides else []
        lines = regions.left(state.data, known)
        if lines:
            where = f"{conflicts.folder(step.id)}/{path}"
            why = f"Conflict markers are left in {where}, line {lines[0]}."
            problems.append(
                Problem("markers", why, step.id, where, next=f"${{EDITOR:-vi}} +{lines[0]} {shlex.quote(where)}")
            )
    return problems


def _undecided(step: Step, path: str) -> Problem:
    where = f"{conflicts.folder(step.id)}/{path}"
    why = f"{where} stands as it was proposed: edit it, or keep or drop the patch."
    return Problem("undecided", why, step.id, where, next=f"patchctl rebase --keep {step.id}")
