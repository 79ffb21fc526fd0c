"""``lock``: record what each patch is, and what it makes of the pristine release.

The footprint is found by applying: every patch, in the order of the series, strictly onto what the patches
before it leave of the pristine tree. What comes out does not depend on where that tree came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from patchctl.engine import strict
from patchctl.engine.model import Change, FileState, Patch
from patchctl.errors import DecisionNeeded, Problem, Refused
from patchctl.series import lock as locking
from patchctl.series.lock import Lock, LockedPatch, LockedTarget, Pin
from patchctl.series.model import Target
from patchctl.series.project import Project
from patchctl.series.receipt import Stamp, TouchedFile
from patchctl.target import signals
from patchctl.upstream import pristine
from patchctl.upstream.cache import Progress
from patchctl.workflows import together
from patchctl.workflows.motion import check_folders
from patchctl.workflows.stack import Layer, stamp

Get = Callable[[str], "FileState | None"]


@dataclass(frozen=True, slots=True)
class TargetLock:
    """What a run found of one target.

    ``source`` and ``commit`` name the pristine tree; both are None where the hashes alone showed that nothing
    had changed, or that the target is gone. ``differences`` are against series.lock as it was.
    """

    target: str
    source: str | None
    commit: str | None
    patches: int
    differences: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockReport:
    """What a run found, and whether series.lock was written."""

    targets: tuple[TargetLock, ...]
    written: bool

    @property
    def differences(self) -> tuple[Problem, ...]:
        return tuple(problem for target in self.targets for problem in target.differences)


def lock(
    project: Project,
    targets: Sequence[str] = (),
    *,
    source: str = "auto",
    check: bool = False,
    progress: Progress | None = None,
) -> LockReport:
    """Recompute the lock of ``targets``, and write it unless ``check``.

    Without names: the default target, and every other one whose patch files, order or pins are not those of the
    lock. Raises DecisionNeeded when a patch is not exact on what it applies to (all of them, with file and hunk),
    Refused for unsafe or missing patch files, and what opening the pristine tree raises.
    """
    old = project.lock.targets if project.lock else {}
    done = together.each(
        _chosen(project, targets, old), lambda tag: _target(project, tag, old.get(tag), source, progress)
    )
    new = {**old, **{report.target: locked for report, locked in done}}
    reports = [report for report, _ in done]
    if not targets:
        for tag in sorted(old.keys() - project.series.targets.keys()):
            del new[tag]
            gone = _stale(f"series.lock has an entry for {tag}, which series.yaml has not.", tag)
            reports.append(TargetLock(tag, None, None, 0, (gone,)))
    written = False if check else locking.write(project.lock_path, Lock(new))
    if written:
        signals.complete()
    return LockReport(tuple(reports), written)


def footprint(project: Project, tag: str, tree: pristine.PristineTree, old: LockedTarget | None) -> LockedTarget:
    """The lock's entry for ``tag`` as its patch files and ``tree`` give it.

    ``old`` lends what can't be found anew: accepted reviews of unchanged patches, and executable bits where the
    tree has none. Raises as :func:`lock` does.
    """
    target = project.series.targets[tag]
    layers = together.each(target.patches, lambda id: _layer(project, tag, id))
    patches = dict(zip(target.patches, together.each(layers, lambda layer: layer.read()), strict=True))
    states = tree.read(path for patch in patches.values() for path in _wanted(patch))
    if not tree.modes:
        states = {path: _with_mode(path, state, patches.values(), old) for path, state in states.items()}
    files = _apply_all(patches, states)
    locked = tuple(_locked(layer, files[layer.id], old) for layer in layers)
    return LockedTarget(Pin(target.pin.sdist, tuple(target.pin.wheels), target.pin.commit), locked)


def _chosen(project: Project, names: Sequence[str], old: Mapping[str, LockedTarget]) -> list[str]:
    if names:
        return list(dict.fromkeys(project.target(name)[0] for name in names))
    default = project.target(None)[0]
    return [
        tag
        for tag, target in project.series.targets.items()
        if tag == default or not looks_current(project, tag, target, old.get(tag))
    ]


def looks_current(project: Project, tag: str, target: Target, old: LockedTarget | None) -> bool:
    """Whether patch files, order and pins are those of the lock; then so is the footprint."""
    if old is None or _pins(target) != old.pin or list(target.patches) != [patch.id for patch in old.patches]:
        return False
    try:
        return all(_sha256(project.patch_bytes(tag, patch.id)) == patch.sha256 for patch in old.patches)
    except Refused:
        return False


def _target(
    project: Project, tag: str, old: LockedTarget | None, source: str, progress: Progress | None
) -> tuple[TargetLock, LockedTarget]:
    tree = pristine.open_tree(project, tag, source, progress)
    new = footprint(project, tag, tree, old)
    differences = tuple(_differences(tag, old, new))
    return TargetLock(tag, tree.source, tree.commit, len(new.patches), differences, tree.notes), new


def _layer(project: Project, tag: str, id: str) -> Layer:
    data = project.patch_bytes(tag, id)
    return Layer(id, _sha256(data), (), data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _pins(target: Target) -> Pin:
    # The lock's own reading gives wheels in the order in which they are written: sorted.
    return Pin(target.pin.sdist, tuple(sorted(target.pin.wheels)), target.pin.commit)


def _wanted(patch: Patch) -> Iterable[str]:
    for section in patch.files:
        yield from section.paths
        if section.change is Change.COPY and section.old_path is not None:
            yield section.old_path


def _with_mode(
    path: str, state: FileState | None, patches: Iterable[Patch], old: LockedTarget | None
) -> FileState | None:
    """``state`` with the mode that a source without executable bits hides: as the patches say, else the lock."""
    if state is None:
        return None
    said = (section.old_mode for patch in patches for section in patch.files if section.old_path == path)
    mode = next((mode for mode in said if mode is not None), None)
    if mode is None and old is not None:
        known = (file.before for patch in old.patches for file in patch.files if file.path == path)
        mode = next((int(before.mode, 8) for before in known if before and before.blob == state.blob), None)
    return state if mode is None else replace(state, mode=mode)


def _apply_all(
    patches: Mapping[str, Patch], states: dict[str, FileState | None]
) -> dict[str, dict[str, tuple[Stamp | None, Stamp | None]]]:
    """For each patch, its files before and after. Raises DecisionNeeded with every misfit of every patch."""
    now = dict(states)
    files: dict[str, dict[str, tuple[Stamp | None, Stamp | None]]] = {}
    broken: dict[str, str] = {}
    problems: list[Problem] = []
    for id, patch in patches.items():
        touched = [path for section in patch.files for path in section.paths]
        waits = next((path for path in touched if path in broken), None)
        if waits is not None:
            why = f"It touches a file that {broken[waits]} does not fit; whether it fits shows once that one does."
            problems.append(Problem("not-judged", why, id, waits, next=f"patchctl show {broken[waits]}"))
            result = None
        else:
            result, misfits = _apply(id, patch, now.get)
            problems += misfits
        if result is None:
            broken.update(dict.fromkeys(touched, id))
            continue
        files[id] = {path: (stamp(now.get(path)), stamp(state)) for path, state in result.items()}
        now.update(result)
        check_folders(result, now, id)
    if problems:
        raise DecisionNeeded(problems)
    check_folders(now, now)
    return files


def _apply(id: str, patch: Patch, get: Get) -> tuple[dict[str, FileState | None] | None, list[Problem]]:
    try:
        return strict.apply_patch(patch, get), []
    except DecisionNeeded as misfits:
        return None, [
            replace(problem, kind="inexact", patch=id, next=f"patchctl show {id}") for problem in misfits.problems
        ]


def _locked(
    layer: Layer, files: Mapping[str, tuple[Stamp | None, Stamp | None]], old: LockedTarget | None
) -> LockedPatch:
    touched = tuple(TouchedFile(path, *files[path]) for path in sorted(files))
    was = old.patch(layer.id) if old else None
    # Somebody accepted a finding about another text than the one that stands there now: it has to be seen again.
    same = was if was is not None and was.sha256 == layer.sha256 else LockedPatch(layer.id, layer.sha256, touched)
    return replace(same, files=touched)


def _differences(tag: str, old: LockedTarget | None, new: LockedTarget) -> Iterable[Problem]:
    if old is None:
        yield _stale(f"series.lock has no entry for {tag}.", tag)
        return
    if old.pin != replace(new.pin, wheels=tuple(sorted(new.pin.wheels))):
        yield _stale(f"The pins of {tag} are not those in series.lock.", tag)
    was, now = [patch.id for patch in old.patches], [patch.id for patch in new.patches]
    for id in now:
        if id not in was:
            yield _stale(f"series.lock does not know this patch of {tag}.", tag, id)
    for id in was:
        if id not in now:
            yield _stale(f"series.lock has this patch, the series of {tag} has not.", tag, id)
    if sorted(was) == sorted(now) and was != now:
        yield _stale(f"The patches of {tag} stand in another order than in series.lock.", tag)
    for patch in new.patches:
        known = old.patch(patch.id)
        if known is not None:
            yield from _patch_differences(tag, known, patch)


def _patch_differences(tag: str, old: LockedPatch, new: LockedPatch) -> Iterable[Problem]:
    if old.sha256 != new.sha256:
        yield _stale("The patch file is not the one that series.lock records.", tag, new.id)
    was, now = ({file.path: file for file in patch.files} for patch in (old, new))
    for path in sorted(was.keys() | now.keys()):
        if was.get(path) != now.get(path):
            yield _stale("What the patch makes of this file is not what series.lock records.", tag, new.id, path)


def _stale(why: str, tag: str, patch: str | None = None, file: str | None = None) -> Problem:
    return Problem("stale-lock", why, patch, file, next=f"patchctl lock {tag}")
