"""Releases that are no targets yet: which is the newest, and what exactly a tag stands for.

What was found out about a tag is kept beside the cache's repository, so that a second look needs no network.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.errors import EnvironmentFailed, InvalidInput, Problem
from patchctl.git import Git
from patchctl.series import load, versions
from patchctl.series.model import Pin
from patchctl.series.project import Project
from patchctl.upstream import gitsource, pristine
from patchctl.upstream.cache import SOURCES, Cache, Progress
from patchctl.upstream.urls import git_address

if TYPE_CHECKING:
    from packaging.version import Version

_PINS = "pins"
# An index that has the archives and does not say their hashes: a folder, or a page with links.
_UNSTATED = "unstated"


@dataclass(frozen=True, slots=True)
class Found:
    """What a tag stands for, and what a person should know of how that was found out."""

    pin: Pin
    notes: tuple[str, ...] = ()


def newest(project: Project) -> str:
    """The tag of the newest release by version: no pre-, post- or development release, nothing yanked.

    The tags of the git repository count, else what the package index has. Raises EnvironmentFailed when nobody
    answers, or nobody has a release.
    """
    upstream = project.series.upstream
    problems: list[Problem] = []
    if upstream.git is not None:
        try:
            tags = gitsource.tags(Git(project.root), git_address(upstream.git, project.root))
            found = [tag for tag in tags if _is_release(versions.version_of(tag, upstream.tag))]
            if found:
                return versions.sort_tags(found, upstream.tag)[-1]
        except EnvironmentFailed as error:
            problems += error.problems
    if upstream.pypi is not None:
        from patchctl.upstream import pipconfig
        from patchctl.upstream.index import Indexes

        with Indexes(pipconfig.read()) as indexes:
            known, failures = indexes.releases(upstream.pypi)
        final = [version for version in known if _is_release(version)]
        if final:
            return versions.tag_of(max(final), upstream.tag)
        problems.append(Problem("network", "; ".join(failures) or f"No index has a release of {upstream.pypi}."))
    why = f"No release of the form {upstream.tag} was found upstream."
    raise EnvironmentFailed(problems or Problem("no-release", why))


def known(project: Project, progress: Progress | None = None) -> list[str]:
    """The tags of all releases that can be told of: targets, what the cache has, what the package index lists.

    Without a network, those that are here.
    """
    upstream = project.series.upstream
    tags = dict.fromkeys(project.series.targets)
    cache = Cache(upstream)
    for source in SOURCES:
        prefix = f"refs/upstream/{source}/"
        tags.update(dict.fromkeys(ref.removeprefix(prefix) for ref in cache.find(f"{prefix}*")))
    if upstream.pypi is not None:
        from patchctl.upstream import pipconfig
        from patchctl.upstream.index import Indexes

        if progress is not None:
            progress(f"looking for releases of {upstream.pypi}", 0, None)
        with Indexes(pipconfig.read()) as indexes:
            listed, _ = indexes.releases(upstream.pypi)
        tags.update(dict.fromkeys(versions.tag_of(version, upstream.tag) for version in listed))
    return [tag for tag in tags if versions.version_of(tag, upstream.tag) is not None]


def tag_for(project: Project, name: str) -> str:
    """The tag that ``name`` means: itself, or that of a version. Raises InvalidInput for what can be no release."""
    template = project.series.upstream.tag
    for tag in (name, versions.tag_of(name, template)):
        if versions.version_of(tag, template) is not None and not load.unsafe_tag(tag):
            return tag
    why = load.unsafe_tag(name) or f"does not have the form {template} with a version in it"
    raise InvalidInput(Problem("usage", f"The tag '{name}' {why}.", next="patchctl rebase --to latest"))


def find(project: Project, tag: str, progress: Progress | None = None) -> Found:
    """What ``tag`` is at every source that answers: the commit, the hashes of source archive and wheels.

    Raises InvalidInput when all sources answer and none knows the tag, EnvironmentFailed when none answers and the
    cache does not have the release.
    """
    cache = Cache(project.series.upstream)
    store = cache.path / _PINS / f"{load.folder_name(tag)}.json"
    known = _read(store)
    if known is not None:
        return Found(known)
    if progress is not None:
        progress(f"asking what {tag} is", 0, None)
    found, problems = _asked(project, tag)
    if any(problem.kind == _UNSTATED for problem in problems):
        found = _fetched(project, tag, found, progress)
        problems = [problem for problem in problems if problem.kind != _UNSTATED]
    if found == Pin():
        found = _of_cache(project, tag)
    if found == Pin():
        if any(problem.kind not in ("no-tag", "no-release") for problem in problems):
            raise EnvironmentFailed(problems)
        why = " ".join(problem.message for problem in problems)
        step = problems[0].next or "patchctl rebase --to latest"
        raise InvalidInput(Problem("unknown-release", f"There is no release {tag}. {why}", next=step))
    with cache.writing(progress):
        _write(store, found)
    return Found(found, tuple(problem.message for problem in problems))


def _asked(project: Project, tag: str) -> tuple[Pin, list[Problem]]:
    upstream = project.series.upstream
    problems: list[Problem] = []
    commit = None
    if upstream.git is not None:
        url = git_address(upstream.git, project.root)
        try:
            commit = gitsource.commit_of(Git(project.root), url, tag)
            if commit is None:
                problems.append(Problem("no-tag", f"The git repository has no tag {tag}."))
        except EnvironmentFailed as error:
            problems += error.problems
    sdist: str | None = None
    wheels: list[str] = []
    if upstream.pypi is not None:
        sdist, wheels, problem = _hashes(upstream.pypi, tag, upstream.tag)
        problems += [problem] if problem is not None else []
    return Pin(sdist, wheels, commit), problems


def _hashes(package: str, tag: str, template: str) -> tuple[str | None, list[str], Problem | None]:
    from patchctl.upstream import pipconfig
    from patchctl.upstream.index import Indexes

    version = versions.version_of(tag, template)
    if version is None:
        return None, [], Problem("no-release", f"{tag} stands for no version on a package index.")
    with Indexes(pipconfig.read()) as indexes:
        offer = indexes.offer(package, version)
    stated = [(archive.kind, archive.filename, f"sha256:{archive.sha256}") for archive in offer.archives]
    stated = [entry for entry in stated if not entry[2].endswith(":None")]
    # The archive that fetch would take first: a release may come in more than one form.
    sdists = sorted((not name.endswith(".tar.gz"), name, value) for kind, name, value in stated if kind == "sdist")
    wheels = sorted({value for kind, _, value in stated if kind == "wheel"})
    if stated:
        return (sdists[0][2] if sdists else None), wheels, None
    if offer.archives:
        return None, [], Problem(_UNSTATED, f"No index says the hashes of {package} {version}.")
    if not offer.asked or (len(offer.failures) == len(offer.asked) and not all(map(_unknown, offer.failures))):
        why = "; ".join(offer.failures) or "pip is told to use no index"
        return None, [], Problem("network", f"No package index can be asked for {package} {version}: {why}.")
    return None, [], Problem("no-release", f"No package index has {package} {version}.")


def _fetched(project: Project, tag: str, found: Pin, progress: Progress | None) -> Pin:
    """``found``, and what the archive is that the index gives."""
    tree = pristine.open_release(project, tag, found, "pypi", progress)
    return _with_archive(found, tree)


def _with_archive(pin: Pin, tree: pristine.PristineTree) -> Pin:
    value = f"sha256:{tree.sha256}"
    if tree.archive is not None and tree.archive.endswith(".whl"):
        return Pin(pin.sdist, [value], pin.commit)
    return Pin(value, pin.wheels, pin.commit)


def _unknown(failure: str) -> bool:
    return "has no project" in failure


def _of_cache(project: Project, tag: str) -> Pin:
    """What the cache has of the release already, as a pin: offline, nothing else can be said of it."""
    for tree in pristine.kept_release(project, tag, Pin()).values():
        if tree.source == "git":
            return Pin(commit=tree.commit)
        if tree.sha256 is not None:
            return _with_archive(Pin(), tree)
    return Pin()


def _is_release(version: Version | None) -> bool:
    return version is not None and not (version.is_prerelease or version.is_postrelease or version.local)


def _read(store: Path) -> Pin | None:
    import msgspec

    try:
        found = msgspec.json.decode(store.read_bytes(), type=Pin)
    except (OSError, msgspec.MsgspecError):
        return None  # it can be asked for again
    return found if found != Pin() else None


def _write(store: Path, pin: Pin) -> None:
    store.parent.mkdir(exist_ok=True)
    document = {"sdist": pin.sdist, "wheels": pin.wheels, "commit": pin.commit}
    draft = store.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({key: value for key, value in document.items() if value}))
    draft.replace(store)


def common(first: Iterable[str], second: Iterable[str]) -> str | None:
    """The source that both releases can be read from, if any: two kinds of archives hold different files."""
    others = set(second)
    return next((source for source in first if source in others), None)
