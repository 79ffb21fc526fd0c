"""Taking the layers of a stack back to the pristine bytes, and putting them on.

Every step is compared with the recorded blob ids, so that nothing rests on a patch merely having fitted.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from patchctl.engine import strict
from patchctl.engine.model import Change, FilePatch, FileState, Patch
from patchctl.errors import DecisionNeeded, Problem, Refused
from patchctl.target.place import Step
from patchctl.workflows.faults import Faults
from patchctl.workflows.stack import Layer, Stack, States, stamp

# What such a section made goes away whole: its bytes are known by their hash, nothing is read from its hunks.
_MAKES = (Change.CREATE, Change.COPY)


def take_back(stack: Stack, states: States, at: Mapping[str, int]) -> dict[str, FileState | None]:
    """The pristine states of all files, reached by reversing the layers that are on them.

    Raises Refused where a file does not come out as recorded, or a patch can't be reversed.
    """
    now = dict(states)
    for index in reversed(range(len(stack.layers))):
        live = stack.live(at, index)
        if any(live.values()):
            _reverse(stack.layers[index], live, now)
    return now


def put_on(
    stack: Stack, pristine: States, tell: Callable[[Step], None] = lambda step: None
) -> dict[str, FileState | None]:
    """The files as the last layer leaves them, each layer proved against the footprint.

    ``tell`` is called with what each layer makes of its files as soon as that is known, and no more once one failed.
    Raises DecisionNeeded when a patch does not fit its own pre-image exactly, Refused when one is unsafe, or fits
    and yet makes something else than was recorded. All that can be told of all layers is in it.
    """
    now = dict(pristine)
    faults = Faults()
    open_files: set[str] = set()  # what a patch that failed would have made of them, nobody knows
    for layer in stack.layers:
        result: States = {}
        if open_files.isdisjoint(layer.after):
            with faults.noted():
                patch = layer.read()
                result = _applied(layer, patch, now)
        if not result:
            open_files.update(layer.after)
        now.update(result)
        if not open_files:
            tell(Step(layer.id, patch.mail, {file.path: now[file.path] for file in layer.files}))
    with faults.noted():
        check_folders(now, now)
    faults.settle()
    return now


def check_folders(paths: Iterable[str], now: States, patch: str | None = None) -> None:
    """That none of the files ``paths`` stands below another file, or below a link.

    Raises Refused, naming ``patch``, which made them.
    """
    problems = []
    for path in paths:
        if now.get(path) is None:
            continue
        parts = path.split("/")
        above = next((name for name in ("/".join(parts[:end]) for end in range(1, len(parts))) if now.get(name)), None)
        if above is not None:
            why = f"{path} can't stand there: {above} is a file or a link, not a folder."
            problems.append(Problem("unsafe-path", why, patch, path))
    if problems:
        raise Refused(problems)


def _applied(layer: Layer, patch: Patch, now: dict[str, FileState | None]) -> States:
    try:
        result = strict.apply_patch(patch, now.get)
    except DecisionNeeded as misfits:
        raise DecisionNeeded(_inexact(layer, misfits)) from None
    _prove(layer, result)
    check_folders(result, ChainMap(result, now), layer.id)
    return result


def irreversible(stack: Stack) -> list[Problem]:
    """The patches that could be applied and never taken back."""
    problems = []
    for layer in stack.layers:
        for section in layer.read().files:
            if section.change in _MAKES:
                continue
            try:
                strict.reverse(section)
            except strict.Irreversible:
                why = "The binary change lacks its reverse half, so it could not be taken back."
                redo = "git diff --binary --full-index"
                problems.append(Problem("irreversible", why, layer.id, section.path, next=redo))
    return problems


def _reverse(layer: Layer, live: Mapping[str, bool | None], now: dict[str, FileState | None]) -> None:
    patch = layer.read()
    before = {file.path: file.before for file in layer.files}
    made = {path for path, stamp_before in before.items() if stamp_before is None and live[path]}
    sections = tuple(
        _reversed(layer, section)
        for section in reversed(patch.files)
        if _is_on(layer, section, live) and section.change not in _MAKES
    )
    try:
        result = strict.apply_patch(Patch(layer.id, patch.mail, sections), now.get)
    except DecisionNeeded as misfits:
        raise Refused(_inexact(layer, misfits)) from None
    now.update(result)
    now.update(dict.fromkeys(made))
    for path, on in live.items():
        if on and stamp(now[path]) != before[path]:
            raise Refused(
                Problem("integrity", "Taking the patch back does not give the recorded bytes.", layer.id, path)
            )


def _is_on(layer: Layer, section: FilePatch, live: Mapping[str, bool | None]) -> bool:
    on = {live.get(path) for path in section.paths}
    if on == {True, False}:
        raise Refused(
            Problem("half-live", "Half of this rename is there, the other half is not.", layer.id, section.path)
        )
    return True in on


def _reversed(layer: Layer, section: FilePatch) -> FilePatch:
    try:
        return strict.reverse(section)
    except strict.Irreversible:
        why = "The binary change lacks its reverse half and can't be taken back."
        raise Refused(Problem("irreversible", why, layer.id, section.path)) from None


def _inexact(layer: Layer, misfits: DecisionNeeded) -> list[Problem]:
    show = f"patchctl show {layer.id}"
    return [replace(problem, kind="inexact", patch=layer.id, next=show) for problem in misfits.problems]


def _prove(layer: Layer, result: States) -> None:
    made = {path: stamp(state) for path, state in result.items()}
    wrong = sorted(path for path in {*made, *layer.after} if made.get(path) != layer.after.get(path))
    if wrong:
        raise Refused(
            [
                Problem(
                    "integrity",
                    "The patch fits, but its result is not what the lock recorded.",
                    layer.id,
                    path,
                    next="patchctl lock --check",
                )
                for path in wrong
            ]
        )
