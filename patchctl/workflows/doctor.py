"""``doctor``: can this machine do the work, and is the project in order? Looks at everything, changes nothing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from patchctl import git as gits
from patchctl.errors import SEVERITY, CheckFailed, EnvironmentFailed, PatchctlError
from patchctl.series import project as projects
from patchctl.series.project import Project
from patchctl.target import environment
from patchctl.upstream import cache as caches
from patchctl.upstream import gitsource, pipconfig
from patchctl.upstream.cache import Cache, Progress
from patchctl.upstream.urls import git_address, redact
from patchctl.workflows import requires
from patchctl.workflows.lock import looks_current

OK, WARN, FAIL = "ok", "warn", "fail"
_PYTHON = (3, 10)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: ``ok``, ``warn`` or ``fail``; ``next`` is what to do.

    ``environment`` says whether a fault lies with the machine rather than with the project.
    """

    name: str
    state: str
    message: str
    next: str | None = None
    environment: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All findings, in the order in which they were looked at."""

    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """4 when the machine can't do the work, else 1 when the project has a fault, else 0."""
        failed = [finding for finding in self.findings if finding.state == FAIL]
        if any(finding.environment for finding in failed):
            return EnvironmentFailed.exit_code
        return CheckFailed.exit_code if failed else 0


def doctor(
    start: Path, *, online: bool = False, python: Path | None = None, progress: Progress | None = None
) -> DoctorReport:
    """Look at the tools, the cache, the project at or above ``start``, and the environment of ``python``.

    ``online`` also asks the upstream's servers. Every fault becomes a finding; none is raised.
    """
    findings = [_python(), *_guarded("git", _git)]
    project: Project | None = None
    try:
        project = projects.load(start)
    except PatchctlError as fault:
        findings += _project_faults(fault)
    else:
        findings.append(_series(project))
        findings += _guarded("lock", lambda: _lock(project))
    findings += _guarded("cache", lambda: _cache(project, progress))
    findings += _guarded("index", lambda: _index(project, online))
    if project is not None:
        if online:
            findings += _guarded("upstream", lambda: _upstream(project))
        findings += _guarded("requires", lambda: _requires(project, python))
    return DoctorReport(tuple(findings))


def _guarded(name: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    try:
        return list(look())
    except PatchctlError as fault:
        here = SEVERITY.index(type(fault)) <= SEVERITY.index(EnvironmentFailed)
        return [Finding(name, FAIL, problem.message, problem.next, environment=here) for problem in fault.problems]
    except OSError as fault:
        return [Finding(name, FAIL, f"{fault.strerror or fault}: {fault.filename}", environment=True)]


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info < _PYTHON:
        return Finding("python", FAIL, f"Python {version} is too old; patchctl needs 3.10.", environment=True)
    return Finding("python", OK, f"Python {version}")


def _git() -> Iterator[Finding]:
    yield Finding("git", OK, f"git {'.'.join(map(str, gits.version()))}; no other tool is needed")


def _project_faults(fault: PatchctlError) -> Iterator[Finding]:
    for problem in fault.problems:
        if problem.kind == "no-project":
            yield Finding("series", WARN, "There is no project here, so only the machine was looked at.", problem.next)
        else:
            name = "lock" if problem.file == "series.lock" else "series"
            yield Finding(name, FAIL, problem.message, problem.next)


def _series(project: Project) -> Finding:
    targets = project.series.targets
    count = len({id for target in targets.values() for id in target.patches})
    return Finding("series", OK, f"{project.series_path}: {len(targets)} targets, {count} patches")


def _lock(project: Project) -> Iterator[Finding]:
    for tag, target in project.series.targets.items():
        entry = project.locked(tag)
        if entry is None:
            yield Finding("lock", FAIL, f"{tag} is not in series.lock.", f"patchctl lock {tag}")
        elif not looks_current(project, tag, target, entry):
            why = f"Patch files, order or pins of {tag} are not those in series.lock."
            yield Finding("lock", FAIL, why, f"patchctl lock --check {tag}")
        else:
            yield Finding("lock", OK, f"{tag} is locked: {len(entry.patches)} patches")


def _cache(project: Project | None, progress: Progress | None) -> Iterator[Finding]:
    folder = caches.root()
    above = next(path for path in (folder, *folder.parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        why = f"The cache folder {folder} can't be written. Set PATCHCTL_CACHE to a folder that can."
        # What is in it already can be read all the same.
        yield Finding("cache", FAIL if above != folder or not folder.is_dir() else WARN, why, environment=True)
    if project is None:
        yield Finding("cache", OK, f"{folder}")
        return
    cache = Cache(project.series.upstream)
    if not cache.exists():
        yield Finding("cache", WARN, f"Nothing of {project.series.upstream.name} is in {folder}.", "patchctl fetch")
        return
    if progress is not None:
        progress("reading the cache", 0, None)
    if wrong := cache.check():
        problem = cache.broken(wrong[0]).problems[0]
        yield Finding("cache", FAIL, problem.message, problem.next, environment=True)
        return
    refs = {
        f"{source} {tag}": caches.reference(source, tag) for tag in project.series.targets for source in caches.SOURCES
    }
    found = cache.find(*refs.values())
    there = [name for name, ref in refs.items() if ref in found]
    yield Finding("cache", OK, f"{cache.path} is sound and holds {', '.join(there) or 'no target'}")


def _index(project: Project | None, online: bool) -> Iterator[Finding]:
    settings = pipconfig.read()
    urls = (
        *settings.find_links,
        *(() if settings.no_index else (settings.index_url or "", *settings.extra_index_urls)),
    )
    named = ", ".join(redact(url) if url else "pip's default index" for url in urls) or "none: pip's no-index is set"
    if not online or project is None or project.series.upstream.pypi is None:
        yield Finding("index", OK, f"{named} (not asked; --online asks)")
        return
    from patchctl.series import versions
    from patchctl.upstream.index import Indexes

    tag = project.target(None)[0]
    version = versions.version_of(tag, project.series.upstream.tag)
    assert version is not None, "a series with another tag does not load"
    with Indexes(settings) as indexes:
        offer = indexes.offer(project.series.upstream.pypi, version)
    if offer.archives:
        names = ", ".join(sorted(archive.filename for archive in offer.archives))
        yield Finding("index", OK, f"{named} has {names}")
    else:
        why = "; ".join(offer.failures) or f"{named} has nothing of {project.series.upstream.pypi} {version}"
        yield Finding("index", WARN, f"{why}.", "PIP_INDEX_URL, pip.conf, or patchctl fetch --source PATH")


def _upstream(project: Project) -> Iterator[Finding]:
    url = project.series.upstream.git
    if url is None:
        return
    tag, target = project.target(None)
    try:
        commit = gitsource.commit_of(gits.Git(project.root), git_address(url, project.root), tag)
    except EnvironmentFailed as fault:
        # The package index, or what the cache has, may do instead.
        yield Finding("upstream", WARN, fault.problems[0].message, "patchctl fetch --source pypi")
        return
    if commit is None:
        yield Finding("upstream", WARN, f"{redact(url)} has no tag {tag}.")
    elif target.pin.commit not in (None, commit):
        why = f"{tag} at {redact(url)} is commit {commit} now, not the pinned {target.pin.commit}."
        yield Finding("upstream", FAIL, why)
    else:
        yield Finding("upstream", OK, f"{redact(url)} has {tag}: commit {commit}")


def _requires(project: Project, python: Path | None) -> Iterator[Finding]:
    upstream = project.series.upstream
    name = upstream.pypi or upstream.name
    found = requires.compare(project, project.target(None)[1].patches, python)
    if not found:
        return
    try:
        there = environment.find(name, python)
    except EnvironmentFailed as fault:
        yield Finding(
            "requires", OK, f"{fault.problems[0].message} What patches need was not compared; --python EXE does."
        )
        return
    except PatchctlError as fault:
        yield Finding("requires", WARN, fault.problems[0].message, fault.problems[0].next)
        return
    for requirement in found:
        if requirement.met:
            yield Finding("requires", OK, f"{requirement}")
        else:
            wanted = f'pip install "{requirement.package}{requirement.specifier}"'
            yield Finding("requires", FAIL, f"{requirement} ({there.name} {there.version} in {there.site})", wanted)
