"""The report of a rebase that is done, out of what the rebase knows."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from patchctl.errors import PatchctlError, Problem
from patchctl.series.lock import Review
from patchctl.series.model import Dropped
from patchctl.workflows import report
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import Plan


def files(
    here: Ground,
    plan: Plan,
    new: Mapping[str, bytes],
    dropped: Mapping[str, Dropped],
    accepted: Mapping[str, Sequence[Review]],
) -> tuple[dict[str, bytes], list[Problem]]:
    """The files of the report, by their names in the project. ``new`` are the patch files that the goal carries.

    A report that can't be made keeps nobody from their patches: the problems say why there is none.
    """
    moved = report.Moved(
        here.start,
        here.goal.tag,
        here.base,
        here.onto,
        tuple(step.report for step in plan.steps),
        {one.id: one.data for one in here.patches},
        new,
        dropped,
        accepted,
        {step.id: step.outcome for step in plan.steps if step.id in new},
        scripts=here.scripts,
        known={one.id: one.patch for one in here.patches},
    )
    try:
        return report.render(report.tell(here.project, moved, datetime.date.today())), []
    except PatchctlError as error:
        again = f"patchctl report --from {here.start} --to {here.goal.tag}"
        why = f"There is no report: {error.problems[0].message}"
        return {}, [Problem("no-report", why, next=again)]
