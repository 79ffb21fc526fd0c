"""A fresh checkout of a pristine release, made from the cache: what ``apply`` works in when no place is named."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git, upload_pack
from patchctl.target.safeio import failed

_BASE, _ORIGIN = "patchctl.base", "patchctl.origin"


@dataclass(frozen=True, slots=True)
class Made:
    """What a checkout was made from: the release's commit, and its source (``git``, ``pypi`` or ``path``)."""

    commit: str
    origin: str


def made(folder: Path) -> Made | None:
    """What the checkout ``folder`` was made from, None if patchctl did not make it."""
    found = Git(folder).ask("config", "--local", "-z", "--get-regexp", r"^patchctl\.").stdout
    said = dict(line.split("\n", 1) for line in os.fsdecode(found).split("\0") if "\n" in line)
    return Made(said[_BASE], said[_ORIGIN]) if {_BASE, _ORIGIN} <= said.keys() else None


def prepare(source: Path, commit: str, folder: Path, branch: str, origin: str = "path") -> None:
    """Make ``folder`` a checkout of ``commit`` on the new branch ``branch``, without history.

    ``source`` is the repository that has the commit; nothing of it is needed afterwards. The checkout's own git
    configuration notes what it was made from (see :func:`made`), ``origin`` included. It appears
    whole or not at all. ``folder`` must not be there, or be empty. Raises Refused when something is in it,
    EnvironmentFailed when git or the disk fails.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise failed(error, f"making {folder}") from error
    try:
        draft.chmod(0o777 & ~_umask())  # mkdtemp's are private; git's are what the umask lets them be
        git = Git(draft)
        _fill(git, source, commit, branch)
        git.run("config", "--local", _BASE, commit)
        git.run("config", "--local", _ORIGIN, origin)
        _publish(draft, folder)
    except OSError as error:
        raise failed(error, f"making {folder}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(git: Git, source: Path, commit: str, branch: str) -> None:
    # A template would bring the user's hooks and excludes with it.
    git.run("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={branch}")
    alone = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
    serving = ("--upload-pack", upload_pack())
    git.run("fetch", "--quiet", "--depth=1", *alone, *serving, "--", f"file://{source.absolute()}", commit)
    git.run("reset", "--quiet", "--hard", commit, "--")
    differing = git.run("status", "--porcelain", "-z", "--ignored", "--untracked-files=all")
    if differing:
        first = os.fsdecode(differing.split(b"\0")[0])
        why = f"A fresh checkout is not clean ({first.strip()}): this file system changes names, modes or contents."
        raise EnvironmentFailed(Problem("checkout", why))


def _publish(draft: Path, folder: Path) -> None:
    try:
        os.rename(draft, folder)  # noqa: PTH104
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _occupied(folder) from error
    except OSError:
        if folder.is_dir() and any(folder.iterdir()):
            raise _occupied(folder) from None
        raise


def _occupied(folder: Path) -> Refused:
    why = f"{folder} is there already and is no checkout that patchctl made; it would be overwritten."
    return Refused(Problem("occupied", why, file=str(folder), next=f"mv {folder} elsewhere"))


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
