"""Pristine releases from this machine: a git repository, an unpacked release, or an archive file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR
from patchctl.errors import InvalidInput, Problem, Refused
from patchctl.git import Git
from patchctl.series.model import Upstream
from patchctl.upstream.importer import SourceFile, import_commit
from patchctl.upstream.mapping import Mapping, Way, archive_kind

# What people and tools leave in a tree, and no release holds.
_LEFTOVERS = frozenset({".git", ".hg", ".svn", ".patchctl", "__pycache__"})
_CHUNK = 1 << 20
_TOP_OF_SDIST = ("PKG-INFO", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Shape:
    """How an unpacked tree lies: ``repository``, ``sdist`` or ``site`` (a wheel, or site-packages).

    ``below`` are the folders that hold the release; ``modes`` says whether executable bits mean anything there.
    """

    name: str
    below: tuple[str, ...]
    way: Way
    modes: bool


def kind(path: Path) -> str:
    """``git``, ``archive`` or ``tree``. Raises InvalidInput when there is nothing of the sort at ``path``."""
    if path.is_file() and archive_kind(path.name):
        return "archive"
    if not path.is_dir():
        what = "is no archive (.tar.gz, .zip, .whl)" if path.exists() else "does not exist"
        why = f"{path} {what}. A source is auto, git, pypi, or a git repository, an unpacked release or an archive."
        raise InvalidInput(Problem("no-such-path", why, file=str(path)))
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return "git" if bare or (path / ".git").exists() else "tree"


def shape(path: Path, upstream: Upstream) -> Shape:
    """How the tree at ``path`` lies, by the folders that series.yaml names. Raises InvalidInput when it is no such."""
    mapping = Mapping.of(upstream)
    root, layout = upstream.sdist.root, upstream.layout
    if (root and (path / root).is_dir()) or any((path / repo).is_dir() for repo in layout if repo != layout[repo]):
        return Shape("repository", ("",), mapping.repository, True)
    sites = tuple(site for site in layout.values() if (path / site).is_dir())
    if any((path / name).is_file() for name in _TOP_OF_SDIST):
        if sites or not layout:
            return Shape("sdist", ("",), mapping.sdist, True)
    elif sites:
        return Shape("site", sites, mapping.wheel, False)
    if not root and not layout:
        return Shape("repository", ("",), mapping.repository, True)
    looked = sorted({root, *layout, *layout.values()} - {""})
    why = f"{path} is no unpacked release of {upstream.name}: none of {', '.join(looked)} is in it."
    raise InvalidInput(Problem("no-release", why, file=str(path)))


def import_tree(git: Git, ref: str, upstream: Upstream, tag: str, path: Path) -> str:
    """Import the unpacked release at ``path``; returns the commit's id.

    Raises InvalidInput when it lies in no known way, Refused when it is patched already or holds what no release may.
    """
    _unpatched(path)
    found = shape(path, upstream)
    modes = "kept" if found.modes else "unknown"
    message = f"{upstream.name} {tag}, an unpacked tree\n\nShape: {found.name}\nModes: {modes}\n"
    return import_commit(git, ref, message, _files(path, found), str(path))


def _unpatched(path: Path) -> None:
    """Refuse a tree that patchctl has patched: it would pass for pristine."""
    receipts = [path / ".patchctl" / "receipt.json", *path.glob("*.dist-info/*patchctl*")]
    if any(receipt.exists() for receipt in receipts):
        why = f"A series is applied in {path}, so it is not the pristine release."
        raise Refused(Problem("patched-source", why, file=str(path), next=f"patchctl unapply --into {path}"))


def _files(path: Path, found: Shape) -> Iterator[SourceFile]:
    for top in found.below:
        for name, entry in _walk(path, top.rstrip("/")):
            placed = found.way(name)
            if placed is None:
                continue
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                data = os.fsencode(Path(entry.path).readlink())
                yield SourceFile(placed, LINK, len(data), lambda data=data: (data,))  # type: ignore[misc]
            elif stat.S_ISREG(info.st_mode):
                mode = EXECUTABLE if found.modes and info.st_mode & 0o100 else REGULAR
                # Not read before its size was looked at.
                yield SourceFile(placed, mode, info.st_size, lambda path=entry.path: _chunks(path))  # type: ignore[misc]
            else:
                raise Refused(Problem("unsafe-archive", f"{path} holds a device, a pipe or a socket.", file=name))


def _chunks(path: str) -> Iterator[bytes]:
    # Should a link or a pipe have taken the file's place, neither is followed nor waited for.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _walk(root: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file and link below ``root/below``, by its path from ``root``; links to folders are not entered."""
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name in _LEFTOVERS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                else:
                    yield name, entry
