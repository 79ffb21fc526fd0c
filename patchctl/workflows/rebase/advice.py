"""What to tell a person whose patch is stuck: why, and which command helps."""

from __future__ import annotations

import shlex
from dataclasses import replace

from patchctl.errors import Problem
from patchctl.workflows.rebase import conflicts
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import SETTLED_BY_HAND, Step


def with_next(here: Ground, step: Step, problem: Problem, dry_run: bool) -> Problem:
    """``problem`` of a patch that is stuck, with the command that helps."""
    if problem.next is not None:
        return replace(problem, patch=step.id)
    if dry_run:
        more = " --into-existing" if here.is_target else ""
        return replace(problem, patch=step.id, next=f"patchctl rebase --from {here.start} --to {here.goal.tag}{more}")
    if step.outcome == "waiting":
        return replace(problem, patch=step.id, next="patchctl rebase --continue")
    if step.outcome == "refused":
        return replace(problem, patch=step.id, next=f"patchctl rebase --drop {step.id} --reason WHY")
    if step.outcome == "superseded":
        return replace(problem, patch=step.id, next=f"patchctl rebase --drop {step.id} --reason WHY")
    if step.guarded:
        return replace(problem, patch=step.id, next=f"patchctl rebase --accept {step.id} --reason WHY")
    there = (path for path in step.report.proposals if problem.file in (path, step.moved.get(path)))
    path = next(there, None)
    if path is None:  # a whole file, one side or the other
        return replace(problem, patch=step.id, next=f"patchctl rebase --keep {step.id}")
    where = f"{conflicts.folder(step.id)}/{path}"
    return replace(problem, patch=step.id, next=f"${{EDITOR:-vi}} {shlex.quote(where)}")


def changed(step: Step) -> Problem:
    why = (
        f"The conflict of {step.id} is another one now, since what is below it was decided otherwise. It is laid out "
        f"anew; where you had worked on it, your files are in {conflicts.folder(step.id)}{conflicts.BEFORE}/."
    )
    return Problem("changed-conflict", why, step.id, next="patchctl rebase --continue")


def nothing_open(step: Step, what: str) -> Problem:
    why = f"{step.id} is {step.outcome}, so there is no conflict of it that could be {what}."
    return Problem("not-in-conflict", why, step.id, next="patchctl rebase --continue")


def nothing_to_accept(step: Step) -> Problem:
    why = f"{step.id} is {step.outcome}, and there is no finding that could be accepted."
    if step.outcome in SETTLED_BY_HAND:
        why += " Resolve the conflict first, or keep or drop the patch."
    return Problem("nothing-to-accept", why, step.id, next="patchctl rebase --continue")
