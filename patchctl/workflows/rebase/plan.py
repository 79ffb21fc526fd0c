"""What becomes of every patch, with the decisions made so far: the engine's reports, and what they stand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from patchctl.engine import port as engine
from patchctl.engine.model import FilePatch, FileState
from patchctl.engine.options import Decision, Names, Options
from patchctl.engine.outcome import Note, PatchReport
from patchctl.engine.overlay import Tree
from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Stamp
from patchctl.workflows.rebase import existing, guard, replay
from patchctl.workflows.rebase.ground import Carried, Ground, States
from patchctl.workflows.rebase.state import State
from patchctl.workflows.stack import stamp

STUCK = frozenset({"conflict", "superseded", "waiting", "refused"})
# A person can answer these with files.
SETTLED_BY_HAND = ("conflict", "superseded")
# A patch with one of these is not carried on the new release.
GONE = frozenset({"upstreamed", "dropped"})
# What a person has answered with files.
ANSWERED = ("resolved", "kept")


@dataclass(frozen=True)
class Step:
    """What becomes of one patch. ``before`` are the files as the patches above leave them, ``after`` as this one
    does, as far as that is certain. ``existing`` is equal or different for a patch that the goal lists already."""

    carried: Carried
    report: PatchReport
    before: States
    after: States
    existing: str | None = None

    @property
    def id(self) -> str:
        return self.carried.id

    @property
    def outcome(self) -> str:
        return self.report.outcome

    @property
    def stuck(self) -> bool:
        return self.outcome in STUCK

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps the patch from being carried, the weightiest first."""
        return tuple(sorted(self.report.problems, key=lambda problem: problem.kind != "superseded"))

    @property
    def guarded(self) -> bool:
        """Whether nothing but guards speaks against the patch: then ``--accept`` is one way on."""
        return self.stuck and {problem.kind for problem in self.problems} <= guard.KINDS - {"superseded"}

    @property
    def moved(self) -> dict[str, str]:
        """The old names of files, by the names that upstream has moved them to."""
        return {file.onto: file.path for file in self.report.files if file.onto is not None and file.onto != file.path}

    @property
    def stamps(self) -> dict[str, Stamp | None]:
        """What the files before the patch are."""
        return {path: stamp(state) for path, state in self.before.items()}


@dataclass(frozen=True)
class Plan:
    """What becomes of all patches, in the order of the series; ``problems`` are about remembered resolutions."""

    steps: tuple[Step, ...]
    problems: tuple[Problem, ...] = ()

    def step(self, id: str) -> Step:
        return next(step for step in self.steps if step.id == id)

    def now(self, id: str) -> dict[str, FileState | None]:
        """All files that the patches before ``id`` have changed."""
        now: dict[str, FileState | None] = {}
        for step in self.steps:
            if step.id == id:
                break
            now.update(step.after)
        return now

    @property
    def stuck(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.stuck)


def compute(ground: Ground, state: State) -> tuple[Plan, State]:
    """The plan, and ``state`` without decisions that do not hold any more: the files that they stood on have changed.

    Remembered resolutions are replayed as long as they answer a conflict. Raises what the engine's trees raise.
    """
    settled = existing.settled(ground)
    replayed: dict[str, replay.Replayed] = {}
    tried: set[str] = set()
    problems: list[Problem] = []
    while True:
        plan = Plan(_steps(ground, state, settled, replayed), tuple(problems))
        stale = _stale(plan, state)
        if stale:
            # The first alone: what the others stand on shows once it is tried again.
            state = replace(state, decided={id: one for id, one in state.decided.items() if id != stale})
            continue
        lost = next((step.id for step in plan.steps if step.id in replayed and _shifted(step, replayed)), None)
        if lost is not None:
            del replayed[lost]
            tried.discard(lost)
            continue
        found, complaints = _replays(ground, plan, tried)
        problems += complaints
        replayed.update(found)
        if found:
            continue
        unheard = _unheard(ground, state, settled, replayed)
        if unheard is not None:
            state = replace(state, accepted={id: one for id, one in state.accepted.items() if id != unheard})
            continue
        against = _objections(ground, plan, state, replayed)
        if not against:
            return replace(plan, problems=tuple(problems)), state
        problems += against
        fallen = {problem.patch for problem in against}
        state = replace(state, decided={id: one for id, one in state.decided.items() if id not in fallen})
        replayed = {id: one for id, one in replayed.items() if id not in fallen}


def _replays(ground: Ground, plan: Plan, tried: set[str]) -> tuple[dict[str, replay.Replayed], list[Problem]]:
    found: dict[str, replay.Replayed] = {}
    problems: list[Problem] = []
    for step in plan.steps:
        if step.outcome != "conflict" or step.id in tried:
            continue
        tried.add(step.id)
        one, complaints = replay.find(ground, step, plan.now(step.id))
        problems += complaints
        if one is not None:
            found[step.id] = one
    return found, problems


def _shifted(step: Step, replayed: Mapping[str, replay.Replayed]) -> bool:
    return any(stamp(step.before.get(path)) != old for path, old in replayed[step.id].ground.items())


def _unheard(
    ground: Ground,
    state: State,
    settled: Mapping[str, existing.Settled],
    replayed: Mapping[str, replay.Replayed],
) -> str | None:
    """A patch in which the guards find more by now than somebody has accepted."""
    for id, reviews in state.accepted.items():
        if id in state.decided or not any(review.kind in guard.KINDS for review in reviews):
            continue
        others = {other: one for other, one in state.accepted.items() if other != id}
        steps = _steps(ground, replace(state, accepted=others), settled, replayed)
        found = next(step.problems for step in steps if step.id == id)
        if any(problem.kind in guard.KINDS and not guard.covered(problem, reviews) for problem in found):
            return id
    return None


def _objections(ground: Ground, plan: Plan, state: State, replayed: Mapping[str, replay.Replayed]) -> list[Problem]:
    """What the guards have against the first answer that stands no more: a name it uses went with another patch."""
    for step in plan.steps:
        one = state.decided.get(step.id)
        if step.id not in replayed and (one is None or one.outcome not in ANSWERED):
            continue
        base = ground.base_sides[step.id][0]
        # A file that upstream has moved has no other side under its new name, and can't be compared.
        files = {path: after for path, after in step.after.items() if path in base or step.before[path] is None}
        found, _ = guard.check(ground, step.id, step.before, files, plan.now(step.id), {})
        accepted = state.accepted.get(step.id, ())
        gone = [one for one in found if one.kind == "name-gone" and not guard.covered(one, accepted)]
        if gone:
            if step.id in replayed:
                return [replay.unused(step.id, gone[0])]
            accept = f"patchctl rebase --accept {step.id} --reason WHY"
            return [replace(problem, next=accept) for problem in gone]
    return []


def _stale(plan: Plan, state: State) -> str | None:
    for step in plan.steps:
        decided = state.decided.get(step.id)
        if decided is not None and any(step.stamps.get(path) != old for path, old in decided.ground.items()):
            return step.id
    return None


def _steps(
    ground: Ground, state: State, settled: Mapping[str, existing.Settled], replayed: Mapping[str, replay.Replayed]
) -> tuple[Step, ...]:
    steps = _tried(ground, state, settled, replayed, {})
    if not any(ground.project.series.patches[one.id].contracts for one in ground.patches):
        return steps
    from patchctl.workflows.rebase import contracts  # few patches name one

    rivals = contracts.rivals(ground, steps)
    return contracts.judged(ground, _tried(ground, state, settled, replayed, rivals) if rivals else steps)


def _tried(
    ground: Ground,
    state: State,
    settled: Mapping[str, existing.Settled],
    replayed: Mapping[str, replay.Replayed],
    rivals: Mapping[str, PatchReport],
) -> tuple[Step, ...]:
    decided = {id: Decision(one.outcome) for id, one in rivals.items()}
    decided |= {id: one.decision for id, one in settled.items()}
    decided |= {id: one.decision for id, one in replayed.items()}
    decided |= {id: Decision(one.outcome, one.files) for id, one in state.decided.items()}
    accepted = {id: frozenset(review.kind for review in reviews) for id, reviews in state.accepted.items()}
    options = Options(
        scripts=ground.scripts, decided=decided, labels=Names(ground.goal.tag, ground.start), accepted=accepted
    )
    tree = ground.standing if ground.existing else ground.onto
    raw = [one.raw for one in ground.patches]
    reports = engine.port(raw, tree, ground.base, state.rules, options=options)
    steps: list[Step] = []
    now: dict[str, FileState | None] = {}
    for one, report in zip(ground.patches, (rivals.get(report.name, report) for report in reports), strict=True):
        told = _told(report, state, settled.get(one.id), replayed.get(one.id))
        told = replace(told, evidence=(*told.evidence, *ground.links.get(one.id, ())))
        after = {path: entry.state for path, entry in report.changes.items()}
        paths = _paths(one.patch.files, report, after)
        before = _before(paths, now, tree)
        steps.append(Step(one, told, before, after, settled[one.id].existing if one.id in settled else None))
        now.update(after)
    return tuple(steps)


def _before(paths: Iterable[str], now: States, tree: Tree) -> dict[str, FileState | None]:
    """What stands at ``paths``; those that can't be looked at, since a link leads there, are left out."""
    found: dict[str, FileState | None] = {}
    for path in paths:
        with suppress(Refused):
            found[path] = now[path] if path in now else tree.get(path)
    return found


def _paths(sections: Sequence[FilePatch], report: PatchReport, after: Iterable[str]) -> list[str]:
    """The files that a patch is about, by their names in the new release."""
    if report.outcome == "refused":
        return []
    onto = {file.path: file.onto for file in report.files}
    named = [name for section in sections for name in (section.old_path, section.new_path) if name is not None]
    there = [onto.get(name) or name for name in named]
    return list(dict.fromkeys([*there, *after, *report.proposals]))


def _told(
    report: PatchReport, state: State, settled: existing.Settled | None, replayed: replay.Replayed | None
) -> PatchReport:
    """``report`` with what the engine can't know of a patch that was decided elsewhere."""
    decided = state.decided.get(report.name)
    if decided is not None:
        text = {"resolved": "A person resolved the conflict.", "kept": "A person kept the patch's own version."}
        why = decided.evidence or decided.reason or text.get(decided.outcome, "")
        review = (*report.review, *(Note(*note) for note in decided.review))
        return replace(report, evidence=(*report.evidence, Note("decision", why)), review=review)
    if settled is not None:
        return replace(settled.report, name=report.name)
    if replayed is not None:
        return replace(report, review=(*report.review, *replayed.review), files=replayed.files)
    return report
