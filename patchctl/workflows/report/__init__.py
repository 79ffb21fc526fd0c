"""``report``: what a reviewer of an upgrade reads, in Markdown, HTML and JSON.

:func:`report` tells the story of two targets after the fact; a rebase that has the results at hand calls
:func:`tell` and :func:`render` (to write them together with the rest) or :func:`write`.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path

from patchctl.errors import Problem, Refused
from patchctl.series.files import replace_file
from patchctl.series.load import folder_name
from patchctl.series.project import Project
from patchctl.upstream import pristine
from patchctl.upstream.cache import Progress
from patchctl.workflows.rebase.trees import Blobs, Release
from patchctl.workflows.report import document, markdown, page, recompute
from patchctl.workflows.report.build import Moved as Moved
from patchctl.workflows.report.build import tell as tell
from patchctl.workflows.report.model import PatchStory as PatchStory
from patchctl.workflows.report.model import Upgrade as Upgrade

FORMATS = {"md": markdown.render, "html": page.render, "json": document.render}
_FOLDER = "build/reports"


def report(
    project: Project,
    from_tag: str | None = None,
    to_tag: str | None = None,
    today: datetime.date | None = None,
    progress: Progress | None = None,
) -> Upgrade:
    """The upgrade from one target to another, told from the targets as they stand.

    ``to_tag`` defaults to the newest, ``from_tag`` to what it was made from, else the one before it by version.
    Raises InvalidInput for unknown targets, Refused for patch files that can't be read, and what opening the
    pristine trees raises.
    """
    start, end = recompute.tags(project, from_tag, to_tag)
    one, two = _trees(project, start, end, progress)
    with Blobs(one) as blobs:  # both lie in one cache
        base, onto = (Release(tree, blobs, recompute.modes(project, tag)) for tree, tag in ((one, start), (two, end)))
        return tell(project, recompute.recompute(project, start, end, base, onto), today)


def render(upgrade: Upgrade) -> dict[str, bytes]:
    """The files of a report, by their names relative to the project."""
    folder = f"{_FOLDER}/{folder_name(upgrade.from_tag)}..{folder_name(upgrade.to_tag)}"
    return {f"{folder}/report.{name}": make(upgrade) for name, make in FORMATS.items()}


def write(project: Project, moved: Moved, today: datetime.date | None = None) -> dict[str, Path]:
    """Write the report on ``moved``; returns the files by format. Raises what :func:`save` does."""
    return save(project, render(tell(project, moved, today)))


def save(project: Project, files: Mapping[str, bytes]) -> dict[str, Path]:
    """Write what :func:`render` gave; returns the files by format.

    Raises OSError, and Refused where a link would lead the files out of the project.
    """
    out = {}
    for name, data in files.items():
        path = project.root / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project.root)):
            raise Refused(Problem("unsafe-path", f"A link on the way to {name} leads out of the project.", file=name))
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
        out[path.suffix[1:]] = path
    return out


def _trees(
    project: Project, start: str, end: str, progress: Progress | None
) -> tuple[pristine.PristineTree, pristine.PristineTree]:
    """Both releases, from one kind of source where the cache has it: archives leave files out."""
    one = pristine.open_tree(project, start, "auto", progress)
    two = pristine.open_tree(project, end, "auto", progress)
    if one.source != two.source:
        kept = [
            pristine.kept_release(project, tag, project.series.targets[tag].pin) for tag in (start, end)
        ]  # fmt: skip
        common = next((source for source in kept[0] if source in kept[1]), None)
        if common is not None:
            return kept[0][common], kept[1][common]
    return one, two
