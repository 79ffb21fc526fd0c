"""Which tree a contract is held against: a target with its series or without, any release, or a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from patchctl.engine.state import FileState
from patchctl.errors import DecisionNeeded, InvalidInput, Problem
from patchctl.series import versions
from patchctl.series.model import Pin, Target
from patchctl.series.project import Project
from patchctl.upstream.cache import Progress
from patchctl.workflows.contract.trees import CommitTree, Folder, Overlay

if TYPE_CHECKING:
    from patchctl.upstream.pristine import PristineTree

# Where an unpacked release says its version: a source archive, a wheel's folder, an installed one.
_VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Release:
    """A release in the cache: its tag, how it was opened, the ids of the patches on it, and its files."""

    tag: str
    opened: PristineTree
    patches: tuple[str, ...]
    tree: CommitTree

    @property
    def source(self) -> str:
        return self.opened.source


def release(
    project: Project, tag: str, *, patched: bool, source: str = "auto", progress: Progress | None = None
) -> Release:
    """The release ``tag``, with the series that series.yaml lists for it if ``patched``.

    The tag need not be a target. Raises what opening the pristine tree raises, and for a series that does not fit
    DecisionNeeded.
    """
    from patchctl.upstream import pristine

    known = with_target(project, tag)
    opened = pristine.open_tree(known, tag, source, progress)
    bare = Release(tag, opened, (), CommitTree(opened.git, opened.git.tree(opened.commit), Overlay({}, dict)))
    return with_series(known, bare) if patched else bare


def with_series(project: Project, found: Release) -> Release:
    """``found`` with the series that series.yaml lists for it; the same where there is none."""
    target = project.series.targets.get(found.tag)
    if target is None or not target.patches:
        return found
    overlay = _overlay(project, found.tag, found.opened)
    tree = CommitTree(found.tree.git, found.tree.entries, overlay)
    return replace(found, patches=tuple(target.patches), tree=tree)


def with_target(project: Project, tag: str) -> Project:
    """``project``, with a bare target for a tag that series.yaml does not list."""
    if tag in project.series.targets:
        return project
    targets = {**project.series.targets, tag: Target(pin=Pin(), patches=[])}
    return replace(project, series=msgspec.structs.replace(project.series, targets=targets))


def _overlay(project: Project, tag: str, opened: PristineTree) -> Overlay:
    from patchctl.workflows import lock as locking

    locked = project.locked(tag)
    ids: dict[str, str | None] | None = None
    if locked is not None and locking.looks_current(project, tag, project.series.targets[tag], locked):
        ids = {}
        for patch in locked.patches:
            ids.update((file.path, file.after.blob if file.after else None) for file in patch.files)
    return Overlay(ids, lambda: _applied(project, tag, opened))


def _applied(project: Project, tag: str, opened: PristineTree) -> Mapping[str, FileState | None]:
    """The files that the series of ``tag`` touches, as it leaves them."""
    from patchctl.engine import strict
    from patchctl.workflows.stack import Layer

    now: dict[str, FileState | None] = {}
    for id in project.series.targets[tag].patches:
        patch = Layer(id, "", (), project.patch_bytes(tag, id)).read()
        wanted = {path for section in patch.files for path in (section.old_path, section.new_path) if path}
        now = {**opened.read(sorted(wanted - now.keys())), **now}
        try:
            now.update(strict.apply_patch(patch, now.get))
        except DecisionNeeded as misfits:
            problems = [replace(each, patch=id, next=f"patchctl lock {tag}") for each in misfits.problems]
            raise DecisionNeeded(problems) from None
    return now


def folder(root: Path, project: Project | None, declared: Iterable[str]) -> Folder:
    """The tree in the folder ``root``; ``declared`` are files that a contract names, by their names upstream."""
    prefixes: list[tuple[str, str]] = []
    if project is not None:
        upstream = project.series.upstream
        prefixes = [(upstream.sdist.root, ""), *upstream.layout.items()] if upstream.sdist.root else []
        prefixes += [pair for pair in upstream.layout.items() if pair not in prefixes]
    return Folder.of(root, prefixes, declared)


def version_in(root: Path, project: Project) -> str | None:
    """The version of the release that lies in ``root``, as its own files say; None if they do not."""
    receipt = root / ".patchctl" / "receipt.json"
    name = project.series.upstream.pypi or project.series.upstream.name
    metadata = [root / "PKG-INFO", *root.glob(f"{re.sub('[-_.]+', '_', name)}-*.dist-info/METADATA")]
    for path in metadata:
        found = _VERSION.search(_text(path))
        if found and versions.is_version(found[1]):
            return found[1]
    tag = re.search(r'"target": *"([^"]+)"', _text(receipt))
    version = versions.version_of(tag[1], project.series.upstream.tag) if tag else None
    if version is not None:
        return str(version)
    folder_version = re.search(r"(?:^|[-_])v?(\d+(?:\.\w+)+)$", root.name)
    if folder_version and versions.is_version(folder_version[1]):
        return folder_version[1]
    return None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""


def release_tag(project: Project, name: str) -> str:
    """The tag that ``name``, a tag or a version, stands for. Raises InvalidInput for what stands for no release."""
    template = project.series.upstream.tag
    for tag in (name, versions.tag_of(name, template)):
        if tag in project.series.targets or versions.version_of(tag, template) is not None:
            return tag
    raise InvalidInput(Problem("unknown-target", f"'{name}' is no target, nor a tag of the form {template}."))


def chosen(project: Project, text: str, progress: Progress | None = None) -> list[str]:
    """The tags that ``text`` names: a range ``A..B`` (post- and pre-releases left out), or a list with commas.

    Raises InvalidInput for an empty range or an odd name.
    """
    if ".." not in text:
        tags = [release_tag(project, part.strip()) for part in text.split(",") if part.strip()]
        if not tags:
            raise InvalidInput(Problem("usage", f"--targets '{text}' names no release: say A..B, or TAG,TAG."))
        return list(dict.fromkeys(tags))
    first, _, last = text.partition("..")
    template = project.series.upstream.tag
    low, high = (versions.version_of(release_tag(project, end), template) if end else None for end in (first, last))
    from patchctl.upstream import release as releasing

    found: list[str] = []
    for tag in versions.sort_tags(releasing.known(project, progress), template):
        version = versions.version_of(tag, template)
        if version is None or version.is_prerelease or version.is_postrelease:
            continue
        if (low is None or version >= low) and (high is None or version <= high):
            found.append(tag)
    if not found:
        raise InvalidInput(Problem("unknown-target", f"No known release lies in {text}."))
    return found


def checked(paths: Sequence[str]) -> None:
    """Raise InvalidInput for a provider that is not FILE.py:CLASS."""
    for text in paths:
        if not re.fullmatch(r"[^:]+\.py:[A-Za-z_][\w.]*", text):
            raise InvalidInput(Problem("usage", f"'{text}' is not of the form FILE.py:CLASS."))
