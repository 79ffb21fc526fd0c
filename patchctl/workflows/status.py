"""``status``: which patches are live in a place, proved file by file by hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Receipt, Stamp, TouchedFile
from patchctl.target.installed import Installed
from patchctl.target.place import Place
from patchctl.workflows.stack import Chain, Stack, stamp

LIVE, MISSING, HALF_LIVE, MODIFIED, INTERRUPTED = "live", "missing", "half-live", "modified", "interrupted"


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a patch: its footprint, what was found, and whether the patch is on it (None: can't be told)."""

    file: TouchedFile
    found: Stamp | None
    live: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """``state`` is live, missing, half-live, modified or interrupted."""

    id: str
    state: str
    files: tuple[FileStatus, ...]


@dataclass(frozen=True, slots=True)
class StatusReport:
    """``receipt`` is what the place says of itself; ``problems`` is empty when all is as it should be."""

    target: str
    place: Place
    receipt: Receipt | None
    patches: tuple[PatchStatus, ...]
    problems: tuple[Problem, ...]


def status(
    place: Place, target: str, stack: Stack, *, listed: Sequence[str] | None = None, allow_missing: bool = False
) -> StatusReport:
    """Compare what stands in ``place`` with the footprint of ``stack``.

    ``listed`` are the patches that the series has for the target; None where that is known to be those of ``stack``.
    Writes nothing; a file that can't be read honestly (a link in the way) counts as modified.
    """
    if place.interrupted():
        patches = tuple(PatchStatus(layer.id, INTERRUPTED, ()) for layer in stack.layers)
        why = "A run was killed on the way here. The next apply or unapply puts it right."
        return StatusReport(target, place, None, patches, (Problem("interrupted", why, next="patchctl apply"),))
    receipt, problems = _receipt(place)
    states, notes = _look(place, stack)
    at = {path: None if path in notes else stack.chains[path].locate(states[path]) for path in stack.chains}
    patches = tuple(
        _patch(layer.id, layer.files, stack.live(at, index), states, notes) for index, layer in enumerate(stack.layers)
    )
    problems += _complaints(target, receipt, patches, allow_missing)
    if isinstance(place, Installed):
        problems += place.hidden(path for path, state in states.items() if state is not None)
    if listed is not None:
        problems += _unlike(target, receipt, [layer.id for layer in stack.layers], listed)
        patches += tuple(PatchStatus(id, MISSING, ()) for id in listed if id not in {patch.id for patch in patches})
    return StatusReport(target, place, receipt, patches, tuple(problems))


def _receipt(place: Place) -> tuple[Receipt | None, list[Problem]]:
    try:
        return place.receipt(), []
    except Refused as refused:
        return None, list(refused.problems)


def _look(place: Place, stack: Stack) -> tuple[dict[str, Stamp | None], dict[str, str]]:
    states: dict[str, Stamp | None] = {}
    notes: dict[str, str] = {}
    for path, chain in stack.chains.items():
        try:
            states[path] = _seen(place, path, chain)
        except Refused as refused:
            states[path], notes[path] = None, refused.problems[0].message
    return states, notes


def _seen(place: Place, path: str, chain: Chain) -> Stamp | None:
    state = place.read(path)
    return stamp(state if place.carries_modes else chain.as_recorded(state))


def _patch(
    id: str,
    files: Sequence[TouchedFile],
    live: dict[str, bool | None],
    states: dict[str, Stamp | None],
    notes: dict[str, str],
) -> PatchStatus:
    seen = tuple(FileStatus(file, states[file.path], live[file.path], notes.get(file.path, "")) for file in files)
    kinds = set(live.values())
    if None in kinds:
        state = MODIFIED
    elif kinds == {True}:
        state = LIVE
    else:
        state = HALF_LIVE if True in kinds else MISSING
    return PatchStatus(id, state, seen)


def _complaints(
    target: str, receipt: Receipt | None, patches: Sequence[PatchStatus], allow_missing: bool
) -> list[Problem]:
    wrong = [patch for patch in patches if patch.state != LIVE and not (patch.state == MISSING and allow_missing)]
    if wrong and receipt is not None and receipt.target != target:
        why = f"{receipt.upstream} {receipt.target} is applied here, not {target}."
        return [Problem("other-target", why, next=f"patchctl status --target {receipt.target}")]
    if len(wrong) > 1 and all(patch.state == MISSING for patch in patches):
        why = f"None of the {len(patches)} patches is in this place."
        return [Problem(MISSING, why, wrong[0].id, wrong[0].files[0].file.path, next="patchctl apply")]
    return [_complaint(patch) for patch in wrong]


def _unlike(target: str, receipt: Receipt | None, known: Sequence[str], listed: Sequence[str]) -> list[Problem]:
    """Where the series is not what was compared: patches that nobody has locked, and some that it has no more."""
    why = "series.yaml lists this patch, and series.lock does not know it: nothing says what it would look like here."
    problems = [Problem("no-lock", why, id, next=f"patchctl lock {target}") for id in listed if id not in known]
    if [id for id in known if id in listed] != [id for id in listed if id in known]:
        order = f"The patches of {target} stand in another order in series.yaml than in series.lock."
        problems.append(Problem("stale-lock", order, next=f"patchctl lock {target}"))
    applied = [patch.id for patch in receipt.patches] if receipt is not None and receipt.target == target else []
    why = "The patch is in this place, or in series.lock, and series.yaml does not list it any more."
    step = "patchctl apply" if set(known) <= set(listed) else f"patchctl lock {target}"
    gone = (id for id in dict.fromkeys([*known, *applied]) if id not in listed)
    return problems + [Problem("unlisted", why, id, next=step) for id in gone]


def _complaint(patch: PatchStatus) -> Problem:
    wrong = [file.file.path for file in patch.files if not file.live]
    why = {
        MISSING: "The patch is not in this place.",
        HALF_LIVE: f"The patch is only on a part of its files; missing from {', '.join(wrong)}.",
        MODIFIED: f"In a state that nobody recorded: {', '.join(f.file.path for f in patch.files if f.live is None)}.",
    }[patch.state]
    # apply would refuse a file that it does not know: what somebody did there is not its to undo.
    step = "put the file back as it was" if patch.state == MODIFIED else "patchctl apply"
    return Problem(patch.state, why, patch.id, wrong[0], next=step)
