"""What patches need at run time (``requires`` in series.yaml), compared with what an environment has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from patchctl.series import versions
from patchctl.series.project import Project
from patchctl.target import environment


@dataclass(frozen=True, slots=True)
class Requirement:
    """One package that a patch needs, and the version that is there (None: not installed)."""

    patch: str
    package: str
    specifier: str
    installed: str | None

    @property
    def met(self) -> bool:
        if self.installed is None:
            return False
        # 0.6.9+cu130 is a build of 0.6.9; what marks the build must not decide.
        return versions.satisfies(self.installed.partition("+")[0], self.specifier)

    def __str__(self) -> str:
        there = f"{self.installed} is installed" if self.installed else "it is not installed"
        return f"{self.patch} needs {self.package} {self.specifier}; {there}."


def compare(project: Project, patches: Iterable[str], python: Path | None = None) -> list[Requirement]:
    """Everything that ``patches`` need, with what the environment of ``python`` (None: this one) has of it.

    Raises EnvironmentFailed when there is no such interpreter.
    """
    needs = [
        (id, package, specifier)
        for id in patches
        if id in project.series.patches
        for package, specifier in project.series.patches[id].requires.items()
    ]
    if not needs:
        return []
    from importlib.metadata import distributions

    path = [str(folder) for folder in environment.search_path(python)]
    there: dict[str, str | None] = {}
    for package in dict.fromkeys(package for _, package, _ in needs):
        first = next(iter(distributions(name=package, path=path)), None)
        there[package] = first.version if first is not None else None
    return [Requirement(id, package, specifier, there[package]) for id, package, specifier in needs]
