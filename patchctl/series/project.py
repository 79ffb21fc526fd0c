"""The project: the folder with series.yaml, its patch files and its lock."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from patchctl.errors import InvalidInput, Problem
from patchctl.series import load as loading
from patchctl.series import lock as locking
from patchctl.series import versions, yamldoc
from patchctl.series.files import read_inside
from patchctl.series.finding import find as find
from patchctl.series.load import folder_name
from patchctl.series.model import Series, Target
from patchctl.series.yamldoc import Document

MAX_PATCH_BYTES = 256 * 1024 * 1024
PATCHES = "patches"
RESOLUTIONS = "resolutions"


@dataclass(frozen=True)
class Project:
    """A project as it stands on disk; ``document`` knows the line of everything in series.yaml."""

    root: Path
    series: Series
    lock: locking.Lock | None = None
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def series_path(self) -> Path:
        return self.root / loading.FILE_NAME

    @property
    def lock_path(self) -> Path:
        return self.root / locking.FILE_NAME

    def target(self, name: str | None = None) -> tuple[str, Target]:
        """The tag and target that ``name`` means; None is ``default:``, else the newest by version.

        A version is taken for its tag. Raises InvalidInput, naming the known targets.
        """
        targets = self.series.targets
        if name is None:
            tag = self.series.default or versions.sort_tags(targets, self.series.upstream.tag)[-1]
            return tag, targets[tag]
        for tag in (name, versions.tag_of(name, self.series.upstream.tag)):
            if tag in targets:
                return tag, targets[tag]
        known = ", ".join(versions.sort_tags(targets, self.series.upstream.tag))
        raise InvalidInput(
            Problem(
                "unknown-target",
                f"There is no target '{name}' in series.yaml. Known are: {known}.",
                next="patchctl list",
            )
        )

    def locked(self, tag: str) -> locking.LockedTarget | None:
        """What series.lock says of a target."""
        return self.lock.targets.get(tag) if self.lock else None

    def folder(self, tag: str) -> Path:
        """Where a target's patches lie."""
        return self.root / PATCHES / folder_name(tag)

    def patch_path(self, tag: str, patch_id: str) -> Path:
        return self.folder(tag) / f"{patch_id}.patch"

    def patch_bytes(self, tag: str, patch_id: str) -> bytes:
        """A patch file's bytes. Raises Refused when it is missing, too large, or leads out of the project."""
        return read_inside(self.root, self.patch_path(tag, patch_id), MAX_PATCH_BYTES, patch=patch_id)

    def unlisted(self, tag: str) -> list[str]:
        """The patch files in a target's folder that the series does not list, relative to the project."""
        folder = self.folder(tag)
        listed = {f"{patch_id}.patch" for patch_id in self.series.targets[tag].patches}
        if not folder.is_dir():
            return []
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name not in listed)
        return [
            os.path.relpath(folder / name, self.root)
            for name in names
            if name.endswith((".patch", ".diff")) and not name.startswith(".")
        ]


def load(start: Path, *, with_lock: bool = True) -> Project:
    """The project at or above ``start``.

    Raises InvalidInput for a missing or invalid series.yaml, Refused for a series.lock that can't be relied on.
    """
    root = find(start)
    with (root / loading.FILE_NAME).open("rb") as file:
        data = file.read(yamldoc.MAX_BYTES + 1)
    loaded = loading.load(data, loading.FILE_NAME)
    lock = locking.read(root / locking.FILE_NAME) if with_lock else None
    return Project(root, loaded.series, lock, loaded.document)
