"""The commands of ``rebase``: begin, continue, skip, drop, keep, accept and abort."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import InvalidInput, Problem, Refused
from patchctl.series.project import load
from patchctl.upstream.cache import Progress
from patchctl.workflows.rebase import finish, ground, resolver, session
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import SETTLED_BY_HAND
from patchctl.workflows.rebase.state import State
from patchctl.workflows.rebase.work import RebaseReport, Work


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. ``goal`` is a tag, a version or ``latest``; ``start`` None is the default target."""

    goal: str
    start: str | None = None
    into_existing: bool = False
    dry_run: bool = False
    rules: str = "all"
    resolver: str | None = None


def begin(root: Path, request: Request, progress: Progress | None = None) -> RebaseReport:
    """Begin to move the series of the project at ``root``, and end it at once if there is nothing to decide.

    Raises InvalidInput (no such target or release, both the same), DecisionNeeded (a series that is not locked),
    Refused (a rebase under way, patches that a target lacks which is there already), EnvironmentFailed.
    """
    if request.resolver is not None:
        resolver.seconds()
    with session.session(root) as here:
        session.no_other(here)
        project = load(root)
        start = project.target(request.start)[0]
        goal = ground.goal_of(project, request.goal, progress)
        if goal.tag == start:
            if request.goal == "latest":
                return RebaseReport(start, start, done=True, notes=(f"{start} is the newest release.",))
            why = f"The series stands on {start} already."
            raise InvalidInput(Problem("usage", why, next="patchctl rebase --to latest"))
        inputs = session.inputs(project, start, goal.tag)
        with ground.opened(project, start, goal, progress) as here_to:
            _check_goal(here_to, request)
            sources = (here_to.base.tree.source, here_to.onto.tree.source)
            state = State(start, goal.tag, goal.pin, request.rules, sources, request.resolver, inputs)
            return Work(here, here_to, state, dry_run=request.dry_run).go()


def _check_goal(here: Ground, request: Request) -> None:
    """Raise Refused for patches that can't be added to a target which is there, and for files in their way.

    Not only at the end, when a person has decided everything.
    """
    links = [path.name for path in (here.project.series_path, here.project.lock_path) if path.is_symlink()]
    if links:
        raise Refused([finish.a_link(name) for name in links])
    tag = here.goal.tag
    listed = {one.id for one in here.existing} | set(here.dropped)
    missing = [one.id for one in here.patches if one.id not in listed]
    if here.is_target and missing and not request.into_existing:
        why = f"{tag} is a target already, and does not list {{}}; with --into-existing it is added."
        step = f"patchctl rebase --to {tag} --from {here.start} --into-existing"
        raise Refused([Problem("target-exists", why.format(id), id, next=step) for id in missing])
    paths = [(id, here.project.patch_path(tag, id)) for id in missing]
    taken = [finish.in_the_way(str(path.relative_to(here.project.root))) for _, path in paths if path.exists()]
    if taken:
        raise Refused(taken)


def proceed(root: Path, progress: Progress | None = None) -> RebaseReport:
    """Take every conflict that was resolved, and go on. Raises InvalidInput without a rebase under way."""

    def step(work: Work) -> None:
        for one in work.plan.stuck:
            if one.outcome in SETTLED_BY_HAND:
                work.take(one)

    return _with(root, progress, step)


def skip(root: Path, progress: Progress | None = None) -> RebaseReport:
    """Leave the first patch that needs a decision behind, and go on."""

    def step(work: Work) -> None:
        first = next((one for one in work.plan.stuck if one.outcome != "waiting"), None)
        if first is None:
            why = "No patch needs a decision any more."
            raise InvalidInput(Problem("not-in-conflict", why, next="patchctl rebase --continue"))
        work.drop(first, "skipped")

    return _with(root, progress, step)


def drop(root: Path, id: str, reason: str, progress: Progress | None = None) -> RebaseReport:
    """Do not carry patch ``id`` on the new release, and go on."""
    return _with(root, progress, lambda work: work.drop(work.step(id), reason))


def keep(root: Path, id: str, progress: Progress | None = None) -> RebaseReport:
    """Carry patch ``id`` with its own version wherever it meets upstream's, and go on."""
    return _with(root, progress, lambda work: work.keep(work.step(id)))


def accept(root: Path, id: str, reason: str, progress: Progress | None = None) -> RebaseReport:
    """Overrule what the guards have against patch ``id``, or take note of what its reviews say, and go on."""
    return _with(root, progress, lambda work: work.accept(work.step(id), reason))


def abort(root: Path) -> State | None:
    """End the rebase under way; everything outside the state folder is as it was. Returns what it was, if that can
    be read.

    Raises InvalidInput when there is none.
    """
    with session.session(root) as here:
        if not here.stands and not here.recovered:
            raise InvalidInput(Problem("no-rebase", "No rebase is under way here.", next="patchctl rebase --to TAG"))
        state = None
        with suppress(Refused):
            state = here.store.read()
        here.store.forget()
        return state


def _with(root: Path, progress: Progress | None, step: Callable[[Work], None]) -> RebaseReport:
    with session.session(root) as here:
        project = load(root)  # only now: what was killed half-way has been taken back
        state = session.running(here, project)
        goal = ground.Goal(state.goal, state.pin)
        with ground.opened(project, state.start, goal, progress, state.trees) as here_to:
            work = Work(here, here_to, state)
            work.look()
            # A conflict may have changed since it was laid out: an answer to another question is none.
            work.publish()
            step(work)
            return work.go()
