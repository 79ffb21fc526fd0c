"""``list`` and ``show``: the series at a glance, and one patch of it."""

from __future__ import annotations

import datetime
import difflib
import hashlib
from dataclasses import dataclass
from typing import Any

from patchctl.errors import InvalidInput, PatchctlError, Problem
from patchctl.series.model import Dropped, PatchInfo
from patchctl.series.project import Project
from patchctl.series.receipt import TouchedFile


@dataclass(frozen=True, slots=True)
class ListedPatch:
    """A patch of a target. ``order`` counts from 1; ``note`` says what keeps its files from being known."""

    order: int
    id: str
    info: PatchInfo
    path: str
    files: tuple[str, ...]
    locked: bool
    expired: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The patches of a target in order, and what lies beside them."""

    target: str
    targets: tuple[str, ...]
    patches: tuple[ListedPatch, ...]
    dropped: dict[str, Dropped]
    unlisted: tuple[str, ...]


def listing(project: Project, target: str | None, today: datetime.date) -> Listing:
    """The patches of ``target`` (None: the default). Raises InvalidInput for an unknown target."""
    tag, entry = project.target(target)
    return Listing(
        target=tag,
        targets=tuple(project.series.targets),
        patches=tuple(_listed(project, tag, order, name, today) for order, name in enumerate(entry.patches, 1)),
        dropped=entry.dropped,
        unlisted=tuple(project.unlisted(tag)),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """A patch with its text. ``footprint`` is what series.lock records, empty if it does not know the patch."""

    listed: ListedPatch
    target: str
    targets: tuple[str, ...]
    sha256: str
    footprint: tuple[TouchedFile, ...]
    data: bytes


def show(project: Project, patch_id: str, target: str | None, today: datetime.date) -> Shown:
    """One patch as ``target`` has it; without a target, as the default one has it, else the first that does.

    Raises InvalidInput for an unknown patch, Refused where its file is missing.
    """
    having = [tag for tag, entry in project.series.targets.items() if patch_id in entry.patches]
    tag, _ = project.target(target)
    if tag not in having:
        if target is not None or not having:
            raise _unknown(project, patch_id, tag, having)
        tag = having[0]
    data = project.patch_bytes(tag, patch_id)
    order = project.series.targets[tag].patches.index(patch_id) + 1
    locked = project.locked(tag)
    entry = locked.patch(patch_id) if locked else None
    return Shown(
        listed=_listed(project, tag, order, patch_id, today),
        target=tag,
        targets=tuple(having),
        sha256=hashlib.sha256(data).hexdigest(),
        footprint=entry.files if entry else (),
        data=data,
    )


def info_document(info: PatchInfo) -> dict[str, Any]:
    """What series.yaml says of a patch, for JSON."""
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(info)
    return document


def is_past(expires: str | None, today: datetime.date) -> bool:
    """Whether the day ``expires`` (ISO) is over."""
    return expires is not None and datetime.date.fromisoformat(expires) < today


def _listed(project: Project, tag: str, order: int, patch_id: str, today: datetime.date) -> ListedPatch:
    info = project.series.patches[patch_id]
    locked = project.locked(tag)
    entry = locked.patch(patch_id) if locked else None
    note = ""
    files: tuple[str, ...] = ()
    if entry is not None:
        files = tuple(sorted(file.path for file in entry.files))
    else:
        try:
            files = _touched(project.patch_bytes(tag, patch_id), patch_id)
        except PatchctlError as error:
            note = error.problems[0].message
    path = project.patch_path(tag, patch_id).relative_to(project.root).as_posix()
    return ListedPatch(order, patch_id, info, path, files, entry is not None, is_past(info.expires, today), note)


def _touched(data: bytes, name: str) -> tuple[str, ...]:
    from patchctl.engine import reader

    patches = reader.read(data, name, strip=1)
    return tuple(sorted({path for patch in patches for section in patch.files for path in section.paths}))


def _unknown(project: Project, patch_id: str, tag: str, having: list[str]) -> InvalidInput:
    why = project.series.targets[tag].dropped.get(patch_id)
    if why is not None:
        message = f"'{patch_id}' is not carried on {tag}: {why.reason}."
    elif having:
        message = f"'{patch_id}' is not carried on {tag}, but on {', '.join(having)}."
    else:
        near = difflib.get_close_matches(patch_id, list(project.series.patches), n=1)
        message = f"There is no patch '{patch_id}' on {tag}." + (f" Did you mean '{near[0]}'?" if near else "")
    return InvalidInput(Problem("unknown-patch", message, next=f"patchctl list --target {tag}"))
