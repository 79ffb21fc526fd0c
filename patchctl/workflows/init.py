"""``init``: a new patch repository."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import EnvironmentFailed, InvalidInput, Problem, Refused
from patchctl.git import Git
from patchctl.series import load, template, versions
from patchctl.series.lock import Pin
from patchctl.series.template import Start
from patchctl.upstream import gitsource
from patchctl.upstream.urls import git_address, redact

# git keeps no empty folder, so patches/ gets a file.
_FILES = (load.FILE_NAME, "patches/.gitkeep", ".gitignore", ".github/workflows/patchctl.yml")


@dataclass(frozen=True, slots=True)
class InitReport:
    """What was written (relative to ``root``), and what stayed open."""

    root: Path
    target: str
    pin: Pin
    files: tuple[str, ...]
    warnings: tuple[Problem, ...]


def init(root: Path, upstream_git: str, upstream_pypi: str | None, target: str) -> InitReport:
    """Write a new patch repository to ``root``, which may exist as long as nothing there is overwritten.

    The target is pinned to what the upstream says it is now; where it can't be asked the pin stays open, with a
    warning. Raises InvalidInput for a tag or a name that can't be, also when the upstream has no such tag, Refused
    when a file is in the way or the address is unsafe.
    """
    if load.unsafe_url(upstream_git):
        raise Refused(Problem("unsafe-url", f"--upstream-git {load.unsafe_url(upstream_git)}."))
    form = template.tag_template(target)
    if load.unsafe_tag(target) or form is None:
        why = load.unsafe_tag(target) or "holds no version (PEP 440)"
        raise InvalidInput(Problem("usage", f"--target: the tag '{target}' {why}."))
    name = upstream_pypi or _name(upstream_git)
    _nothing_there(root)
    pin, warnings = _pin(root, upstream_git, upstream_pypi, target, form)
    note = "" if pin != Pin() else f"Nothing answered yet: run patchctl fetch {target}, which prints what to put here."
    text = template.series_text(Start(name, upstream_git, upstream_pypi, target, form, pin, note))
    load.load(text.encode())
    _write(root, dict(zip(_FILES, (text, "", template.GITIGNORE, template.WORKFLOW), strict=True)))
    return InitReport(root, target, pin, _FILES, tuple(warnings))


def _name(url: str) -> str:
    """The upstream's name by its address: the last part, without ``.git``."""
    last = re.split(r"[/:]", url.rstrip("/"))[-1].removesuffix(".git")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-._")
    if not name:
        raise InvalidInput(Problem("usage", f"--upstream-git: {redact(url)} does not end in a name."))
    return name


def _pin(root: Path, url: str, package: str | None, target: str, form: str) -> tuple[Pin, list[Problem]]:
    """What the upstream says the target is; a warning for each source that does not answer."""
    warnings: list[Problem] = []
    commit = None
    try:
        here = next(folder for folder in (root, *root.parents) if folder.is_dir())
        commit = gitsource.commit_of(Git(here), git_address(url, root), target)
        if commit is None:
            why = f"{redact(url)} has no tag '{target}'."
            raise InvalidInput(Problem("no-tag", why, next=f"git ls-remote --tags {redact(url)}"))
    except EnvironmentFailed as error:
        warnings += error.problems
    sdist, wheels = (None, ()) if package is None else _hashes(package, target, form, warnings)
    return Pin(sdist, wheels, commit), warnings


def _hashes(package: str, target: str, form: str, warnings: list[Problem]) -> tuple[str | None, tuple[str, ...]]:
    """The hashes that the package index states: of the source archive, and of the wheels."""
    from patchctl.upstream import pipconfig
    from patchctl.upstream.index import Indexes

    version = versions.version_of(target, form)
    assert version is not None, "the template was made from this tag"
    with Indexes(pipconfig.read()) as indexes:
        offer = indexes.offer(package, version)
    found = [(archive.kind, f"sha256:{archive.sha256}") for archive in offer.archives if archive.sha256]
    if not found:
        why = "; ".join(offer.failures) or f"no index has {package} {version}"
        warnings.append(Problem("network", f"The release is not pinned for the package index: {why}."))
    sdists = [value for kind, value in found if kind == "sdist"]
    wheels = sorted({value for kind, value in found if kind == "wheel"})
    return (sdists[0] if sdists else None), tuple(wheels)


def _nothing_there(root: Path) -> None:
    there = [name for name in _FILES if os.path.lexists(root / name)]
    if there:
        raise Refused(
            Problem("exists", f"{root / name} is there already; init overwrites nothing.", file=name) for name in there
        )


def _write(root: Path, files: Mapping[str, str]) -> None:
    """Write all of ``files`` or none."""
    written: list[Path] = []
    folders: list[Path] = []
    try:
        for name, text in files.items():
            path = root / name
            missing = [folder for folder in path.parents if not folder.exists()]
            for folder in reversed(missing):
                folder.mkdir()
                folders.append(folder)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                written.append(path)
                file.write(text)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
