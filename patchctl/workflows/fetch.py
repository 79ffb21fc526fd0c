"""``fetch``: fill the cache with pristine releases, proved by their pins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import InvalidInput, Problem
from patchctl.series.project import Project
from patchctl.upstream import pristine
from patchctl.upstream.cache import Cache, Progress
from patchctl.workflows import together


@dataclass(frozen=True, slots=True)
class Fetched:
    """A release in the cache: where it came from, and whether it was there before."""

    target: str
    source: str
    commit: str
    archive: str | None
    sha256: str | None
    pinned: bool
    fresh: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What the cache holds after a fetch; ``history`` are the two tags whose commits between were asked for."""

    cache: Path
    targets: tuple[Fetched, ...]
    history: tuple[str, str] | None = None

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for target in self.targets for problem in _warnings(target))


def fetch(
    project: Project,
    targets: Sequence[str] = (),
    source: str = "auto",
    history: str | None = None,
    progress: Progress | None = None,
) -> FetchReport:
    """Fetch ``targets`` (default: the series' own) from ``source`` into the cache.

    ``history`` is ``A..B``, two tags: the commits that B has and A has not are fetched from git. Raises what
    :func:`patchctl.upstream.pristine.open_tree` does, with the problems of all targets.
    """
    between = None if history is None else _between(history)
    names: Sequence[str | None] = targets or (() if between else (None,))
    tags = list(dict.fromkeys(project.target(name)[0] for name in names))
    done = together.each(tags, lambda tag: _one(project, tag, source, progress))
    if between is not None:
        pristine.fetch_history(project, between, source, progress)
    return FetchReport(Cache(project.series.upstream).path, tuple(done), between)


def _one(project: Project, tag: str, source: str, progress: Progress | None) -> Fetched:
    tree = pristine.open_tree(project, tag, source, progress, fill=True)
    if not tree.fresh:
        tree.prove()
    return Fetched(tag, tree.source, tree.commit, tree.archive, tree.sha256, tree.pinned, tree.fresh, tree.notes)


def _between(text: str) -> tuple[str, str]:
    first, dots, last = text.partition("..")
    if not dots or not first or not last or last.startswith("."):
        raise InvalidInput(Problem("usage", f"--history takes two tags, A..B, not {text!r}."))
    return first, last


def _warnings(target: Fetched) -> list[Problem]:
    found = [Problem("other-source", f"{target.target} comes from {target.source}: {note}") for note in target.notes]
    if not target.pinned:
        pin = f"commit: {target.commit}" if target.source == "git" else f"sdist: sha256:{target.sha256}"
        if target.archive is not None and target.archive.endswith(".whl"):
            pin = f"wheels: [sha256:{target.sha256}]"
        advice = "" if target.source == "path" else f" To pin what was fetched, add it to the target's pin: {pin}"
        why = f"Nothing in series.yaml proves {target.target} as it comes from {target.source}.{advice}"
        found.append(Problem("unpinned", why))
    return found
