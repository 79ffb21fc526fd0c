"""Rules about which files there are."""

from __future__ import annotations

import os
from collections.abc import Iterator

from patchctl.series.load import folder_name
from patchctl.series.project import PATCHES, RESOLUTIONS
from patchctl.workflows.lint.findings import Carried, Context, Finding


def missing(context: Context) -> Iterator[Finding]:
    """Patches that series.yaml names and that have no file to read."""
    for carried in context.carried:
        if carried.data is None and carried.refused is not None:
            problem = carried.refused.problems[0]
            ids = context.project.series.targets[carried.target].patches
            place = ("targets", carried.target, "patches", ids.index(carried.id))
            yield context.in_series(
                "missing-file", problem.message, place, target=carried.target, patch=carried.id, file=carried.path
            )


def unlisted(context: Context) -> Iterator[Finding]:
    """Patch files that no target lists."""
    project = context.project
    why = "no target of series.yaml lists this patch file, so it is not applied."
    for tag in project.series.targets:
        for path in project.unlisted(tag):
            yield Finding("unlisted-file", why, path, target=tag, next=f"list it under targets.{tag}.patches")
    top = project.root / PATCHES
    known = {folder_name(tag) for tag in project.series.targets} | {RESOLUTIONS}
    for entry in sorted(os.scandir(top), key=lambda entry: entry.name) if top.is_dir() else ():
        path = f"{PATCHES}/{entry.name}"
        if entry.name.endswith((".patch", ".diff")) and not entry.is_dir():
            yield Finding("unlisted-file", why, path)
        elif entry.is_dir(follow_symlinks=False) and entry.name not in known and _holds_patches(entry.path):
            yield Finding("unlisted-file", f"no target of series.yaml has the folder {entry.name}.", path)


def duplicate(context: Context) -> Iterator[Finding]:
    """Two ids of one target with the same change."""
    for tag in context.project.series.targets:
        first: dict[bytes, Carried] = {}
        for carried in context.of(tag):
            if carried.head is None or not carried.head.diff:
                continue
            twin = first.setdefault(carried.head.diff, carried)
            if twin is not carried:
                yield carried.finding("duplicate", f"{twin.id} holds the very same change; {tag} would get it twice.")


def _holds_patches(folder: str) -> bool:
    return any(entry.name.endswith((".patch", ".diff")) for entry in os.scandir(folder))
