"""Rules about series.lock, and whether each patch fits its release to the byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from patchctl.engine.model import FilePatch
from patchctl.errors import EnvironmentFailed, PatchctlError
from patchctl.series.lock import FILE_NAME, LockedPatch, LockedTarget, Pin
from patchctl.series.receipt import Stamp
from patchctl.upstream import pristine
from patchctl.workflows import lock as locking
from patchctl.workflows.lint.findings import Carried, Context, Finding, Severity


def stale_lock(context: Context) -> Iterator[Finding]:
    """A series.lock that is missing, broken, or about other pins, patches or texts than there are."""
    if context.lock_fault is not None:
        for problem in context.lock_fault.problems:
            yield Finding("lock", problem.message, FILE_NAME, next=problem.next)
        return
    series = context.project.series
    for tag, target in series.targets.items():
        entry = context.lock.targets.get(tag) if context.lock else None
        step = f"patchctl lock {tag}"
        if entry is None:
            if target.patches:
                yield Finding("lock", f"series.lock has no entry for {tag}.", FILE_NAME, target=tag, next=step)
            continue
        if entry.pin != Pin(target.pin.sdist, tuple(sorted(target.pin.wheels)), target.pin.commit):
            yield Finding("lock", f"the pins of {tag} are not those in series.lock.", FILE_NAME, target=tag, next=step)
        if [patch.id for patch in entry.patches] != list(target.patches):
            why = f"series.lock has other patches of {tag}, or another order, than series.yaml."
            yield Finding("lock", why, FILE_NAME, target=tag, next=step)
        for carried in context.of(tag):
            known = entry.patch(carried.id)
            if known and carried.data is not None and hashlib.sha256(carried.data).hexdigest() != known.sha256:
                yield carried.finding("lock", "it is not the text that series.lock records.", next=step)
    for tag in context.lock.targets if context.lock else ():
        if tag not in series.targets:
            yield Finding("lock", f"series.lock has an entry for {tag}, series.yaml has none.", FILE_NAME, target=tag)


def exact(context: Context) -> Iterator[Finding]:
    """Patches whose context is not that of their release: applied on it where the cache has it, else by blob ids."""
    for tag in context.project.series.targets:
        carried = list(context.of(tag))
        if not carried or any(len(patch.patches) != 1 for patch in carried):
            # What can't be read has findings of its own, and what comes after it can't be judged.
            continue
        entry = context.lock.targets.get(tag) if context.lock else None
        tree = _cached(context, tag)
        if tree is not None:
            yield from _applied(context, tag, carried, tree, entry)
            continue
        yield from _by_ids(carried, entry)
        why = f"{tag} is not in the cache: its patches were compared with series.lock, not with the release."
        yield context.in_series(
            "inexact",
            why,
            ("targets", tag),
            key=True,
            severity=Severity.NOTE,
            target=tag,
            next=f"patchctl fetch {tag}",
        )


def _cached(context: Context, tag: str) -> pristine.PristineTree | None:
    try:
        return pristine.kept(context.project, tag)
    except EnvironmentFailed:
        # Without git there is no cache either; lint does what it can.
        return None


def _applied(
    context: Context, tag: str, carried: list[Carried], tree: pristine.PristineTree, entry: LockedTarget | None
) -> Iterator[Finding]:
    by_id = {patch.id: patch for patch in carried}
    try:
        found = locking.footprint(context.project, tag, tree, entry)
    except PatchctlError as error:
        for problem in error.problems:
            patch = by_id.get(problem.patch or "")
            if patch is None:
                yield Finding("inexact", problem.message, FILE_NAME, target=tag, file=problem.file)
                continue
            line = _line(patch, problem.file)
            yield patch.finding(
                "inexact", problem.message, line=line, file=problem.file, hunk=problem.hunk, next=problem.next
            )
        return
    for locked in found.patches:
        known = entry.patch(locked.id) if entry else None
        if known is not None and known.sha256 == locked.sha256 and _files(known) != _files(locked):
            why = "what it makes of the release is not what series.lock records."
            yield by_id[locked.id].finding("lock", why, next=f"patchctl lock {tag}")


def _by_ids(carried: list[Carried], entry: LockedTarget | None) -> Iterator[Finding]:
    for patch in carried:
        known = entry.patch(patch.id) if entry else None
        if known is None or patch.data is None or hashlib.sha256(patch.data).hexdigest() != known.sha256:
            continue
        files = {file.path: file for file in known.files}
        for section in patch.patches[0].files:
            yield from _section_ids(
                patch, section, files.get(section.old_path or ""), files.get(section.new_path or "")
            )


def _section_ids(patch: Carried, section: FilePatch, old: object, new: object) -> Iterator[Finding]:
    before = getattr(old, "before", None)
    after = getattr(new, "after", None)
    for said, stamp, side in ((section.old_blob, before, "before"), (section.new_blob, after, "after")):
        if said and isinstance(stamp, Stamp) and not stamp.blob.startswith(said):
            why = f"its index line says blob {said} {side}, series.lock says {stamp.blob[: len(said)]}."
            yield patch.finding("inexact", why, line=section.line, file=section.path)


def _files(patch: LockedPatch) -> dict[str, object]:
    return {file.path: (file.before, file.after) for file in patch.files}


def _line(patch: Carried, file: str | None) -> int:
    sections = (section for read in patch.patches for section in read.files)
    return next((section.line for section in sections if file in section.paths), 1) or 1
