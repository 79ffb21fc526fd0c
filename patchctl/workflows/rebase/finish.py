"""The end of a rebase: everything is computed and proved first, then written in one transaction."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from patchctl.engine.model import LINK, REGULAR, FileState
from patchctl.errors import Problem, Refused
from patchctl.series import load
from patchctl.series import lock as locking
from patchctl.series.edit import SeriesEditor
from patchctl.series.lock import Lock, LockedPatch, LockedTarget, Provenance
from patchctl.series.model import Dropped, Pin, Target
from patchctl.series.project import PATCHES
from patchctl.series.resolutions import Resolution, dumps, path_of
from patchctl.target.safeio import Root
from patchctl.target.transaction import Change, run
from patchctl.workflows.motion import check_folders
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import GONE, Plan, Step
from patchctl.workflows.rebase.rewrite import Written, rewrite
from patchctl.workflows.rebase.state import FILE, FOLDER, State, digest

_DURABLE = 64
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be written: files of the project by their names, and the patches and the ``report`` among them."""

    files: Mapping[str, bytes]
    patches: tuple[Written, ...]
    report: frozenset[str]
    problems: tuple[Problem, ...] = ()

    def without_report(self, why: Problem) -> Outcome:
        files = {path: data for path, data in self.files.items() if path not in self.report}
        return Outcome(files, self.patches, frozenset(), (*self.problems, why))


def prepare(ground: Ground, plan: Plan, state: State, resolutions: Iterable[Resolution]) -> Outcome:
    """All files that the rebase makes of the project. Raises Refused for a patch that can't be proved."""
    carried = [step for step in plan.steps if step.existing is None and step.outcome not in GONE]
    check_folders(_all(plan), _all(plan))
    written = tuple(rewrite(carried))
    gone = [
        step for step in plan.steps if step.outcome in GONE and step.existing is None and step.id not in ground.dropped
    ]
    dropped = {step.id: _dropped(ground, state, step) for step in gone}
    tag = ground.goal.tag
    folder = f"{PATCHES}/{load.folder_name(tag)}"
    files = {f"{folder}/{one.id}.patch": one.data for one in written}
    files |= {path_of(one.name): dumps(one) for one in resolutions}
    if not ground.is_target or written or gone:
        files[locking.FILE_NAME] = locking.dumps(_lock(ground, state, carried, written))
        files[load.FILE_NAME] = _series(ground, [one.id for one in written], dropped)
    there = {one.id: one.data for one in ground.existing} | {one.id: one.data for one in written}
    from patchctl.workflows.rebase import story  # templates and their engine, which a start has no use for

    told, problems = story.files(ground, plan, there, {**ground.dropped, **dropped}, state.accepted)
    return Outcome({**files, **told}, written, frozenset(told), tuple(problems))


def fitting(project: Root, outcome: Outcome) -> Outcome:
    """``outcome``, without its report where that can't be written: it keeps nobody from their patches."""
    for path in sorted(outcome.report):
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            found = project.lstat(name)
            if found is None:
                break
            if not (stat.S_ISREG(found.st_mode) if name == path else stat.S_ISDIR(found.st_mode)):
                why = f"There is no report: {name} is in the way, a link or of another kind than it has to be."
                return outcome.without_report(Problem("no-report", why, file=name, next=f"ls -ld {name}"))
    return outcome


def write(project: Root, outcome: Outcome, inputs: Mapping[str, str], *, state_stands: bool) -> list[str]:
    """Write the files, and end the state if there is one, in one transaction; returns their names.

    ``inputs`` are the hashes of what the outcome was made from. Raises Refused when a file is in the way, or is not
    that any more, EnvironmentFailed when the disk fails; then nothing has changed.
    """
    changes = []
    for path, data in outcome.files.items():
        old = project.read(path)
        if old is not None and old.mode == LINK:
            raise Refused(a_link(path))
        if old is not None and path.endswith(".patch"):
            raise Refused(in_the_way(path))
        if path in inputs and digest(old.data if old is not None else None) != inputs[path]:
            why = f"{path} has been changed just now, so what was to be written does not fit it."
            raise Refused(Problem("changed", why, file=path, next="patchctl rebase --abort"))
        changes.append(Change(path, old, FileState(data, old.mode if old is not None else REGULAR)))
    written = [change.path for change in changes if change.before != change.after]
    if state_stands:
        store = project.path / FOLDER
        with Root.open(store, project.faults, follow=False) as root:
            changes.append(Change(FILE, root.read(FILE), None, of_state=True))
    # Bringing hundreds of files onto the disk one by one takes longer than making them.
    run(project, project.path / FOLDER, changes, durable=len(changes) <= _DURABLE)
    return written


def a_link(path: str) -> Problem:
    """What to say of a file that is to be written, and is a link."""
    return Problem("unsafe-path", f"{path} is a link; it is not replaced.", file=path, next=f"ls -l {path}")


def in_the_way(path: str) -> Problem:
    """What to say of a patch file that stands where a new one would go, and belongs to no target."""
    why = f"{path} is there already, and no target lists it; it is not overwritten."
    return Problem("in-the-way", why, file=path, next=f"git log -- {path}")


def _all(plan: Plan) -> dict[str, FileState | None]:
    files: dict[str, FileState | None] = {}
    for step in plan.steps:
        files.update(step.after)
    return files


def _lock(ground: Ground, state: State, steps: Sequence[Step], written: Sequence[Written]) -> Lock:
    """series.lock with what is new of the goal."""
    project, tag = ground.project, ground.goal.tag
    outcomes = {step.id: step.outcome for step in steps}
    new = tuple(
        LockedPatch(
            one.id,
            one.sha256,
            one.files,
            tuple(state.accepted.get(one.id, ())),
            Provenance(ground.start, outcomes[one.id]),
        )
        for one in written
    )
    targets = dict(project.lock.targets) if project.lock is not None else {}
    there = targets.get(tag) if ground.is_target else None
    if there is None:
        pin = ground.goal.pin
        if pin is None:
            known = project.series.targets[tag].pin
            pin = locking.Pin(known.sdist, tuple(known.wheels), known.commit)
        there = LockedTarget(pin)
    targets[tag] = LockedTarget(there.pin, (*there.patches, *new))
    return Lock(targets)


def _series(ground: Ground, ids: Sequence[str], dropped: Mapping[str, Dropped]) -> bytes:
    """series.yaml with the new target, or with what was added to the one that is there."""
    editor = SeriesEditor(ground.project.series_path.read_bytes())
    tag = ground.goal.tag
    if ground.goal.pin is not None:
        pin = Pin(ground.goal.pin.sdist, list(ground.goal.pin.wheels), ground.goal.pin.commit)
        editor.add_target(tag, Target(pin, list(ids), dict(dropped)))
        return editor.finish()
    for id in ids:
        editor.add_patch(tag, id)
    for id, why in dropped.items():
        editor.drop(tag, id, why)
    return editor.finish()


def _dropped(ground: Ground, state: State, step: Step) -> Dropped:
    decided = state.decided.get(step.id)
    if decided is not None:
        return Dropped(_line(decided.reason), _line(decided.evidence), "rebase", ground.start)
    evidence = " ".join(dict.fromkeys(note.text for note in step.report.evidence))
    return Dropped("upstreamed", _line(evidence), "rebase", ground.start)


def _line(text: str) -> str:
    """``text`` as one line that any YAML can hold."""
    line = " ".join(text.split()).encode("utf-8", "backslashreplace").decode()
    line = "".join(sign if sign.isprintable() else f"\\u{ord(sign):04x}" for sign in line)
    return line if len(line) <= _LONGEST_TEXT else f"{line[: _LONGEST_TEXT - 1]}…"
