"""Finding an installed distribution in a Python environment, this one or another interpreter's.

It is found as Python would find it, by looking for dist-info folders along ``sys.path``, but without importing
:mod:`importlib.metadata`: a container's entrypoint asks at every start, and most of its time would go into that import.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import EnvironmentFailed, Problem, Refused

# Runs in any Python from 2.7 on. The mark keeps apart what a sitecustomize may print.
_ASK = "import sys, json; print('\\npatchctl ' + json.dumps([p for p in sys.path if p]))"
_PATIENCE = 60  # seconds for an interpreter to start


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution: ``site`` is the folder on sys.path, ``dist_info`` its metadata folder in there.

    ``notes`` are sentences that the user should read (a second installation that is hidden behind this one).
    """

    name: str
    version: str
    site: Path
    dist_info: str
    notes: tuple[str, ...] = ()

    @property
    def public_version(self) -> str:
        """The version without its local part: what ``+cu130`` marks is a build, not another release."""
        return self.version.partition("+")[0]


def normalized(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def search_path(python: Path | None) -> list[Path]:
    """The folders of ``sys.path`` of the interpreter ``python``, or of the running one.

    Raises EnvironmentFailed when there is no such interpreter or it does not start.
    """
    return [path for path in _path_entries(python) if path.is_dir()]


def ahead(site: Path, python: Path | None) -> tuple[Path, ...]:
    """The folders and zip files that ``import`` looks into before ``site`` in the environment of ``python``.

    Raises as :func:`search_path`.
    """
    entries = _path_entries(python)
    if python is None:
        # Where this program, or whoever runs it with -m, happens to stand says nothing about the engine's imports.
        own = {Path(sys.argv[0]).parent, Path.cwd()} if sys.argv else set()
        entries = [entry for entry in entries if entry not in own]
    return tuple(entries[: entries.index(site)]) if site in entries else ()


def _path_entries(python: Path | None) -> list[Path]:
    entries = [entry for entry in sys.path if entry] if python is None else _ask(python)
    return [path for path in map(Path, dict.fromkeys(entries)) if path.exists()]


def find(name: str, python: Path | None = None) -> Distribution:
    """The distribution ``name`` that ``import`` would get in the environment of ``python`` (None: this one).

    Raises EnvironmentFailed if it is not installed, Refused if it is installed in a way that can't be patched:
    editable, two versions in one folder, or without a dist-info folder.
    """
    found = list(_all(name, search_path(python)))
    where = "this environment" if python is None else f"the environment of {python}"
    if not found:
        why = f"{name} is not installed in {where}."
        raise EnvironmentFailed(
            Problem("not-installed", why, next=f"pip install {name}, or --python EXE, or --into DIR")
        )
    site, folder = found[0]
    _one_of_a_kind(name, site, [entry for there, entry in found if there == site])
    _not_editable(name, site, folder)
    if not folder.endswith(".dist-info"):
        why = f"{name} in {site} has no dist-info folder ({folder}): pip can't say which files are its own."
        raise Refused(Problem("no-record", why, file=str(site / folder), next=f"pip install --force-reinstall {name}"))
    others = dict.fromkeys(str(there) for there, _ in found if there != site)
    notes = tuple(f"{name} is also installed in {there}; Python takes the one in {site}." for there in others)
    shown, version = _identity(site / folder)
    return Distribution(shown, version, site, folder, notes)


def in_folder(name: str, site: Path) -> Distribution | None:
    """The distribution ``name`` whose dist-info folder stands in ``site``, None if there is none. Raises as find."""
    found = [folder for _, folder in _all(name, [site]) if folder.endswith(".dist-info")]
    if not found:
        return None
    _one_of_a_kind(name, site, found)
    _not_editable(name, site, found[0])
    shown, version = _identity(site / found[0])
    return Distribution(shown, version, site, found[0])


def with_file(file: str, path: Iterable[Path]) -> list[Distribution]:
    """All distributions along ``path`` that have ``file`` in their dist-info folder."""
    found = []
    for site in path:
        for entry in _entries(site):
            if entry.endswith(".dist-info") and (site / entry / file).is_file():
                shown, version = _identity(site / entry)
                found.append(Distribution(shown, version, site, entry))
    return found


def check_version(distribution: Distribution, wanted: str) -> None:
    """That ``distribution`` is the release ``wanted``, whatever its local part; a post-release is another one.

    Raises Refused showing both versions.
    """
    from packaging.version import InvalidVersion, Version

    try:
        same = Version(distribution.public_version) == Version(wanted)
    except InvalidVersion:
        same = distribution.public_version == wanted
    if not same:
        why = f"{distribution.name} {distribution.version} is installed in {distribution.site}, not {wanted}."
        raise Refused(Problem("wrong-version", why, next=f"pip install {distribution.name}=={wanted}"))


@functools.lru_cache(maxsize=4)
def _ask(python: Path) -> tuple[str, ...]:
    import subprocess  # as all that only some environments need, not worth its time to the others

    try:
        # Not isolated (-I): what its users set by PYTHONPATH or install for themselves is part of its environment.
        done = subprocess.run(
            [str(python), "-c", _ASK], capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE, check=False
        )
    except (FileNotFoundError, NotADirectoryError):
        why = f"There is no Python interpreter {python}."
        raise EnvironmentFailed(Problem("no-python", why, file=str(python))) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        why = f"{python} could not be run: {error}."
        raise EnvironmentFailed(Problem("no-python", why, file=str(python))) from None
    for line in reversed(os.fsdecode(done.stdout).splitlines()):
        mark, _, answer = line.partition(" ")
        if mark == "patchctl" and done.returncode == 0:
            with contextlib.suppress(ValueError, TypeError, RecursionError):  # some other program's line, then
                return tuple(entry for entry in json.loads(answer) if isinstance(entry, str) and "\0" not in entry)
    said = os.fsdecode(done.stderr).strip().splitlines()
    why = f"{python} is no working Python interpreter: {said[-1] if said else f'exit status {done.returncode}'}"
    raise EnvironmentFailed(Problem("no-python", why, file=str(python)))


def _all(name: str, path: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Every trace of the distribution along ``path``: dist-info, egg-info, egg-link."""
    wanted = normalized(name)
    for site in path:
        entries = _entries(site)
        # What pip writes comes before what setuptools' old ways leave beside it.
        for suffix in (".dist-info", ".egg-link", ".egg-info"):
            for entry in entries:
                if entry.endswith(suffix) and _named(entry.removesuffix(suffix), suffix) == wanted:
                    yield site, entry


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []


def _named(stem: str, suffix: str) -> str:
    if suffix == ".dist-info":
        stem = stem.rpartition("-")[0]
    elif suffix == ".egg-info":
        stem = stem.partition("-")[0]
    return normalized(stem)


def _one_of_a_kind(name: str, site: Path, entries: Sequence[str]) -> None:
    folders = [entry for entry in entries if entry.endswith(".dist-info")]
    if len(folders) > 1:
        why = f"{site} holds {' and '.join(folders)}: an upgrade went wrong, nobody can tell whose files these are."
        raise Refused(Problem("two-versions", why, file=str(site), next=f"pip install --force-reinstall {name}"))


def _identity(folder: Path) -> tuple[str, str]:
    """Name and version, from METADATA; from the folder's name where that is missing."""
    name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
    try:
        with (folder / "METADATA").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if not line.strip():
                    break
                if key.lower() == "name":
                    name = value.strip()
                elif key.lower() == "version":
                    version = value.strip()
    except OSError:
        pass
    return name, version


def _not_editable(name: str, site: Path, entry: str) -> None:
    source = _egg_link(site / entry) if entry.endswith(".egg-link") else _direct_url(site / entry)
    if source is None and entry.endswith(".dist-info"):
        source = _path_file(site, site / entry)
    if source is None:
        return
    folder = _checkout(source)
    why = f"{name} is installed in editable mode from {source}: its sources are there, not in {site}."
    raise Refused(Problem("editable", why, file=str(folder), next=f"patchctl apply --into {folder}"))


def _egg_link(path: Path) -> Path:
    lines = path.read_text(errors="surrogateescape").splitlines()
    return Path(lines[0].strip()) if lines else path.parent


def _direct_url(folder: Path) -> Path | None:
    """The source folder that PEP 610's direct_url.json names for an editable installation."""
    try:
        document = json.loads((folder / "direct_url.json").read_bytes())
    except (OSError, ValueError):
        return None
    from urllib.parse import unquote, urlsplit

    if not isinstance(document, dict) or not (document.get("dir_info") or {}).get("editable"):
        return None
    parts = urlsplit(str(document.get("url", "")))
    return Path(unquote(parts.path)) if parts.scheme == "file" else folder


def _path_file(site: Path, folder: Path) -> Path | None:
    """The source folder of an editable installation without direct_url.json: its RECORD lists a file that sends
    Python there."""
    try:
        listed = (folder / "RECORD").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    match = re.search(r"^(__editable__[^,\n]*\.(?:pth|py)),", listed, re.MULTILINE)
    if match is None:
        return None
    text = (site / match[1]).read_text(errors="surrogateescape") if (site / match[1]).is_file() else ""
    named = re.search(r"^(/[^\n]*)$", text, re.MULTILINE) or re.search(r"['\"](/[^'\"\n]+)['\"]", text)
    return Path(named[1]) if named else site / match[1]


def _checkout(source: Path) -> Path:
    """The repository that ``source`` is in, for there commits can be made; itself if in none."""
    for folder in (source, *source.parents):
        if (folder / ".git").exists():
            return folder
    return source
