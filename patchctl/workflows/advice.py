"""What a person should know beside the result of an ``apply``: never a reason to refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from patchctl.errors import Problem
from patchctl.series.project import Project
from patchctl.target.installed import Installed
from patchctl.target.place import Place


def unlisted(project: Project, tag: str) -> tuple[Problem, ...]:
    """The patch files that lie with the target's others and are not applied, since the series does not list them."""
    why = f"{{}} lies with the patches of {tag}, but series.yaml does not list it: it is not applied."
    step = f"list it under targets.{tag}.patches, or remove it"
    return tuple(Problem("unlisted", why.format(path), file=path, next=step) for path in project.unlisted(tag))


def hidden(place: Place, paths: Iterable[str]) -> tuple[Problem, ...]:
    """The files ``paths`` that are as they should be in ``place`` and that Python does not import."""
    return place.hidden(paths) if isinstance(place, Installed) else ()


def unmet(project: Project, patches: Iterable[str], python: Path | None) -> tuple[Problem, ...]:
    """What ``patches`` need at run time and the environment of ``python`` (None: this one) does not have.

    Raises EnvironmentFailed when there is no such interpreter.
    """
    from patchctl.workflows import requires

    return tuple(
        # No command: what the whole engine is pinned to comes before what one patch would like.
        Problem("requires", str(need), need.patch)
        for need in requires.compare(project, patches, python)
        if not need.met
    )
