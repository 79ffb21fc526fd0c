"""From the project's files to the layers of a stack."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from patchctl.errors import DecisionNeeded, Problem, Refused
from patchctl.workflows.stack import Layer, Stack

if TYPE_CHECKING:
    from patchctl.series.lock import LockedPatch, LockedTarget
    from patchctl.series.project import Project


def locked_target(project: Project, tag: str) -> LockedTarget:
    """The lock's entry for ``tag``. Raises DecisionNeeded when there is none."""
    entry = project.locked(tag)
    if entry is None:
        why = f"series.lock has no entry for {tag}: nothing says what its files must be."
        raise DecisionNeeded(Problem("no-lock", why, next=f"patchctl lock {tag}"))
    return entry


def outline(patches: Sequence[LockedPatch]) -> Stack:
    """The stack of ``patches`` by their footprints alone: enough to tell what is live.

    Raises DecisionNeeded for a lock that does not follow the order of the series.
    """
    return Stack(Layer(patch.id, patch.sha256, patch.files, b"") for patch in patches)


def locked_layers(project: Project, tag: str, patches: Sequence[LockedPatch]) -> list[Layer]:
    """The layers of ``patches``, each file proved against the lock.

    Raises Refused naming every patch file that is missing or is not the one that was locked.
    """
    layers: list[Layer] = []
    problems: list[Problem] = []
    for patch in patches:
        try:
            data = project.patch_bytes(tag, patch.id)
        except Refused as refused:
            problems += refused.problems
            continue
        if hashlib.sha256(data).hexdigest() == patch.sha256:
            layers.append(Layer(patch.id, patch.sha256, patch.files, data))
        else:
            problems.append(_tampered(project, tag, patch.id))
    if problems:
        raise Refused(problems)
    return layers


def _tampered(project: Project, tag: str, id: str) -> Problem:
    path = project.patch_path(tag, id).relative_to(project.root)
    why = "The patch file is not the one that series.lock records. If you edited it, review and lock it again."
    return Problem("tampered", why, id, str(path), next=f"patchctl lock {tag}")
