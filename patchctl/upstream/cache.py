"""The cache: one bare repository per upstream, which all projects and processes of a user share.

Whoever writes holds the lock. A reference is written last, so what a reference names is complete; objects
are never thrown away, so a reader needs no lock. Nothing here talks to a network.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.errors import EnvironmentFailed, InvalidInput, Problem
from patchctl.git import Git
from patchctl.series.model import Upstream

if TYPE_CHECKING:
    from filelock import BaseFileLock

Progress = Callable[[str, int, "int | None"], None]

SOURCES = ("git", "pypi")
_WORKSPACE = "fetching"
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})

# What git init and _create write into a repository's configuration.
_OWN_SETTINGS = re.compile(
    r"\s*(?:[#;].*|\[(?:core|gc|maintenance)\]"
    r"|(?:repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|logallrefupdates|auto)\s*=\s*\w+)?\s*",
    re.IGNORECASE,
)

# What git forbids in a reference's name (git help check-ref-format).
_BAD_REF = re.compile(r"^[-/.]|\.\.|//|/\.|@\{|[\x00-\x20\x7f~^:?*\[\\]|\.lock(/|$)|[/.]$|^@$|^$")


@dataclass(frozen=True, slots=True)
class Cached:
    """A reference of the cache: the commit it names, and that commit's message."""

    ref: str
    commit: str
    message: str


def root() -> Path:
    """Where caches lie: the folder that PATCHCTL_CACHE names, else the user's cache folder.

    Raises EnvironmentFailed for a user without a home.
    """
    chosen = os.environ.get("PATCHCTL_CACHE")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))  # noqa: PTH100, PTH111 - an unknown ~user stays
    import platformdirs

    # Absolute, whatever HOME and XDG_CACHE_HOME are: git is run from within the cache.
    try:
        return platformdirs.user_cache_path("patchctl", appauthor=False).absolute()
    except RuntimeError as error:
        why = f"There is no cache folder: {error}. Set PATCHCTL_CACHE to a folder that can be written."
        raise EnvironmentFailed(Problem("cache-unwritable", why)) from None


class Cache:
    """The repository that holds the pristine releases of one upstream."""

    def __init__(self, upstream: Upstream, folder: Path | None = None) -> None:
        urls = "\n".join((upstream.git or "", upstream.pypi or ""))
        name = f"{upstream.name}-{hashlib.sha256(urls.encode()).hexdigest()[:10]}"
        self.folder = folder or root()
        self.path = self.folder / f"{name}.git"
        self.git = Git(self.path, self.path)
        self._lock = self.folder / f"{name}.lock"

    def exists(self) -> bool:
        """Whether there is a cache. Raises EnvironmentFailed for one that would have git do more than read it.

        Settings of a repository can name programs to run, and a cache may lie where others can write.
        """
        if not (self.path / "HEAD").is_file():
            return False
        try:
            lines = (self.path / "config").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return True
        foreign = next((line.strip() for line in lines if not _OWN_SETTINGS.fullmatch(line)), None)
        if foreign is not None:
            raise self.broken(f"its configuration says {foreign!r}, which patchctl did not write")
        return True

    def find(self, *refs: str) -> dict[str, Cached]:
        """Those of ``refs`` that exist, by one call of git. Raises EnvironmentFailed when the cache is broken."""
        if not self.exists():
            return {}
        form = "%(refname)%00%(objectname)%00%(contents)%00"
        said = self.git.ask("for-each-ref", f"--format={form}", *refs)
        if said.returncode or b"broken ref" in said.stderr:
            raise self.broken(said.stderr.decode(errors="replace").strip())
        fields = said.stdout.decode(errors="surrogateescape").split("\0")[:-1]
        records = (fields[at : at + 3] for at in range(0, len(fields), 3))
        found = [Cached(ref.lstrip("\n"), commit, message) for ref, commit, message in records]
        return {entry.ref: entry for entry in found}

    def publish(self, ref: str, commit: str) -> None:
        """Let ``ref`` name ``commit``, whose objects are all here."""
        self.git.run("update-ref", ref, commit)

    def has(self, commit: str) -> bool:
        """Whether ``commit`` is here with every tree and blob of its own. Reads names, not contents."""
        if not self.exists():
            return False
        said = self.git.ask("rev-list", "--objects", "--no-walk", "--quiet", "--end-of-options", commit)
        return said.returncode == 0

    def check(self) -> list[str]:
        """Read every object; returns what git finds wrong (nothing for a sound cache)."""
        said = self.git.ask("fsck", "--no-dangling", "--no-progress", "--no-reflogs")
        if not said.returncode:
            return []
        lines = (said.stderr + said.stdout).decode(errors="replace").splitlines()
        # Odd but harmless objects of an upstream's history are reported as well, and are not the cache's fault.
        return [line for line in lines if line.startswith(("error: ", "fatal: ", "missing ", "broken "))]

    def broken(self, what: str) -> EnvironmentFailed:
        """What to raise when the cache lacks objects that it should have."""
        return EnvironmentFailed(
            Problem(
                "cache-broken",
                f"The cache of pristine releases in {self.path} is damaged ({what}). Everything in it can be fetched "
                "again: remove that folder, then fetch.",
                next=f"rm -r {self.path} && patchctl fetch",
            )
        )

    @contextmanager
    def writing(self, progress: Progress | None = None) -> Iterator[Git]:
        """Keep other writers out, and make the repository if there is none; yields git on it.

        Raises EnvironmentFailed when the folder can't be written.
        """
        lock = self._acquire(progress)
        try:
            try:
                self._sweep() if self.exists() else self._create()
            except OSError as error:
                raise _unwritable(self.folder, error) from None
            yield self.git
        except BaseException as fault:
            # Half a pack would keep a full disk full.
            with suppress(OSError):
                self._sweep()
            if isinstance(fault, OSError) and fault.errno in _DISK:
                raise _unwritable(self.folder, fault) from None
            raise
        finally:
            lock.release()

    def _acquire(self, progress: Progress | None) -> BaseFileLock:
        import filelock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self._lock)
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                if progress is not None:
                    progress("waiting for another patchctl", 0, None)
                lock.acquire()
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        return lock

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A folder for a download, for whoever holds the lock; gone afterwards."""
        import shutil

        folder = self.path / _WORKSPACE
        try:
            folder.mkdir()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _create(self) -> None:
        # Made aside and renamed: a process that is killed here leaves no half a repository.
        import shutil

        if os.path.lexists(self.path):
            raise self.broken("it is no git repository")
        new = self.path.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        git = Git(new, new)
        git.run("init", "--quiet", "--bare", "--template=", "--", str(new))
        for name, value in (("gc.auto", "0"), ("maintenance.auto", "false"), ("core.logAllRefUpdates", "false")):
            git.run("config", name, value)
        new.rename(self.path)

    def _sweep(self) -> None:
        """Remove what writers left that were killed on the way; under the lock there are no others."""
        if (self.path / _WORKSPACE).exists():
            import shutil

            shutil.rmtree(self.path / _WORKSPACE)
        for leftover in (*self.path.glob("objects/pack/tmp_*"), *self.path.glob("fast_import_crash_*")):
            leftover.unlink(missing_ok=True)


def reference(source: str, tag: str) -> str:
    """The name of the reference that holds ``tag`` as ``source`` gave it. Raises InvalidInput for an odd tag."""
    if _BAD_REF.search(tag):
        raise InvalidInput(Problem("bad-tag", f"{tag!r} can't be the name of a git tag."))
    return f"refs/upstream/{source}/{tag}"


def _unwritable(folder: Path, error: OSError) -> EnvironmentFailed:
    what = error.strerror or str(error)
    return EnvironmentFailed(
        Problem(
            "cache-unwritable",
            f"The cache folder {folder} can't be written ({what}). Set PATCHCTL_CACHE to a folder that can.",
            file=error.filename if isinstance(error.filename, str) else None,
        )
    )
