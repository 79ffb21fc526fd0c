"""The pristine tree of a release, wherever it comes from: what jobs read before they patch.

``auto`` takes the cache, else git, else the package index. A source counts only while its pin holds: what lies
in the cache is compared with series.yaml at every use, not only when it is fetched.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchctl.engine.model import MODES, FileState
from patchctl.errors import EnvironmentFailed, InvalidInput, Problem, Refused
from patchctl.git import Git, TreeEntry
from patchctl.series.model import Pin, Upstream
from patchctl.series.project import Project
from patchctl.upstream import gitsource, local, pypi
from patchctl.upstream.cache import SOURCES, Cache, Cached, Progress, reference
from patchctl.upstream.urls import git_address

# Above this many names one listing of the whole tree is the shorter way.
_MANY = 400
_FOLDER = 0o040000
# With these auto goes on to the next source; another fault (a full disk, no git) would only meet it again.
_GO_ON = frozenset({"network", "no-tag", "no-release", "git"})


@dataclass(frozen=True, slots=True)
class PristineTree:
    """A release in the cache.

    ``source`` is ``git``, ``pypi`` or ``path``; ``commit`` its id in ``git``'s repository; ``archive`` and
    ``sha256`` (hex) name the archive it was imported from, if any. ``modes`` is False where the source carries no
    executable bits (a wheel, site-packages): then the modes of existing files say nothing. ``pinned`` says whether
    series.yaml vouches for it; ``fresh`` whether it was fetched just now; ``notes`` what a person should know.
    """

    source: str
    commit: str
    git: Git
    cache: Cache
    archive: str | None = None
    sha256: str | None = None
    modes: bool = True
    pinned: bool = False
    fresh: bool = False
    notes: tuple[str, ...] = ()

    @property
    def git_dir(self) -> Path:
        return self.cache.path

    def read(self, paths: Iterable[str]) -> dict[str, FileState | None]:
        """The files at ``paths``, None where there is none.

        Raises Refused where a folder or a submodule stands, or where the way leads through a file or a link, unless
        ``paths`` name what is in the folder, or that file: then one gives way to the other. EnvironmentFailed when
        the cache is damaged.
        """
        wanted = dict.fromkeys(paths)
        found = self._entries(list(wanted))
        held = [path for path in wanted if path in found and found[path].mode in MODES]
        giving_way = {parent for path in held for parent in _parents(path)}
        problems = [
            _no_file(path)
            for path in wanted
            if path in found and found[path].mode not in MODES
            if found[path].mode != _FOLDER or path not in giving_way
        ]
        problems += self._blocked([path for path in wanted if path not in found], frozenset(held))
        if problems:
            raise Refused(problems)
        try:
            contents = [data for _, data in self.git.blobs(found[path].id for path in held)]
        except EnvironmentFailed as error:
            raise self.cache.broken(str(error)) from None
        states: dict[str, FileState | None] = dict.fromkeys(wanted)
        states.update((path, FileState(data, found[path].mode)) for path, data in zip(held, contents, strict=True))
        return states

    def prove(self) -> None:
        """Read all of the release and compare it with its ids. Raises EnvironmentFailed when the cache is damaged."""
        ids = sorted({entry.id for entry in self._listing(()).values() if entry.mode in MODES})
        try:
            for at in range(0, len(ids), _MANY):
                for _ in self.git.blobs(ids[at : at + _MANY]):
                    pass
        except EnvironmentFailed as error:
            raise self.cache.broken(str(error)) from None

    def names(self) -> list[str]:
        """The paths of all files of the release, sorted."""
        return sorted(path for path, entry in self._listing(()).items() if entry.mode in MODES)

    def _entries(self, paths: Sequence[str]) -> dict[str, TreeEntry]:
        return self._listing(paths if len(paths) <= _MANY else ()) if paths else {}

    def _blocked(self, missing: Sequence[str], giving_way: frozenset[str]) -> list[Problem]:
        """What stands in the way of files that are not there yet, and is not among those ``giving_way``."""
        parents = {path: _parents(path) for path in missing}
        found = self._entries(sorted({parent for chain in parents.values() for parent in chain}))
        return [
            Problem("not-a-folder", f"{parent} is no folder in the release, so nothing can stand below it.", file=path)
            for path, chain in parents.items()
            for parent in chain
            if parent in found and found[parent].mode != _FOLDER and parent not in giving_way
        ]

    def _listing(self, paths: Sequence[str]) -> dict[str, TreeEntry]:
        try:
            entries = self.git.tree(self.commit, paths)
            folders = (entry.id for entry in entries.values() if entry.mode == _FOLDER)
            # The commit's id is what is pinned; it vouches for what hangs on it only where every link is looked at.
            for _ in self.git.objects([self.commit, f"{self.commit}^{{tree}}", *folders]):
                pass
        except EnvironmentFailed as error:
            raise self.cache.broken(str(error)) from None
        return entries


def open_tree(
    project: Project, tag: str | None, source: str = "auto", progress: Progress | None = None, *, fill: bool = False
) -> PristineTree:
    """The pristine tree of a target; without a network when the cache has it.

    ``source`` is ``auto``, ``git``, ``pypi`` or an absolute path. What comes from a path without a pin to prove it
    is used this once; ``fill`` keeps it for later calls with ``auto``. Raises InvalidInput (unknown target, no such
    source), EnvironmentFailed (it can't be had), Refused (it is not what is pinned, or unsafe).
    """
    return _Opener.of(project, tag, progress).open(source, fill)


def open_release(
    project: Project, tag: str, pin: Pin, source: str = "auto", progress: Progress | None = None
) -> PristineTree:
    """The pristine tree of any release of the project's upstream, a target or not, held to ``pin``.

    Raises as :func:`open_tree` does.
    """
    return _Opener(project, tag, pin, Cache(project.series.upstream), progress).open(source, False)


def kept_release(project: Project, tag: str, pin: Pin) -> dict[str, PristineTree]:
    """What the cache has of a release and ``pin`` allows, by source, the preferred first; never fetches."""
    trees = _Opener(project, tag, pin, Cache(project.series.upstream), None).kept()
    return {tree.source: tree for tree in trees}


def kept(project: Project, tag: str) -> PristineTree | None:
    """The pristine tree of a target if the cache has it; never fetches. Raises EnvironmentFailed without git."""
    return next(iter(_Opener.of(project, tag, None).kept()), None)


def fetch_history(
    project: Project, tags: tuple[str, str], source: str = "auto", progress: Progress | None = None
) -> None:
    """Have the commits that the second of two tags has and the first has not in the cache, from git.

    The tags need not be targets. ``source`` is as in :func:`open_tree`; a path must be a git repository. Raises
    what :func:`open_tree` does.
    """
    upstream = project.series.upstream
    if source in ("auto", "git") and upstream.git is not None:
        url = git_address(upstream.git, project.root)
    elif Path(source).is_dir() and local.kind(Path(source)) == "git":
        url = source
    else:
        raise InvalidInput(Problem("no-source", "History comes from git: name upstream.git, or a clone as --source."))
    cache = Cache(upstream)
    with cache.writing(progress) as git:
        for tag in tags:
            target = project.series.targets.get(tag)
            pin, ref = target.pin if target else Pin(), reference("git", tag)
            kept = cache.find(ref).get(ref)
            if kept is None or pin.commit not in (None, kept.commit):
                gitsource.fetch(cache, git, gitsource.Wanted(url, tag, pin, ref), progress)
        gitsource.fetch_history(cache, git, url, *tags, progress)


@dataclass(frozen=True, slots=True)
class _Opener:
    project: Project
    tag: str
    pin: Pin
    cache: Cache
    progress: Progress | None

    @classmethod
    def of(cls, project: Project, name: str | None, progress: Progress | None) -> _Opener:
        tag, target = project.target(name)
        return cls(project, tag, target.pin, Cache(project.series.upstream), progress)

    @property
    def upstream(self) -> Upstream:
        return self.project.series.upstream

    def open(self, source: str, fill: bool) -> PristineTree:
        if source not in ("auto", *SOURCES):
            return self._local(Path(source), fill)
        kept = self._kept()
        if source == "auto":
            return next(iter(self.kept()), None) or self._first_that_answers()
        return kept.get(source) or self._fetched(source)

    # -- the cache

    def kept(self) -> list[PristineTree]:
        """What the cache has of the target, the tree to use first: a proved one, else by source."""
        return sorted(self._kept().values(), key=lambda tree: not tree.pinned)

    def _kept(self) -> dict[str, PristineTree]:
        """What the cache has of the target and its pins still allow, in the order of preference."""
        refs = {source: reference(source, self.tag) for source in SOURCES} | {"path": self._own("path")}
        found = self.cache.find(*refs.values())
        trees = {source: self._tree(source, found[ref]) for source, ref in refs.items() if ref in found}
        return {source: tree for source, tree in trees.items() if tree is not None}

    def _tree(self, source: str, entry: Cached, *, fresh: bool = False) -> PristineTree | None:
        tree = PristineTree(source, entry.commit, self.cache.git, self.cache, fresh=fresh)
        if source == "git":
            pinned = self.pin.commit is not None
            return replace(tree, pinned=pinned) if self.pin.commit in (None, entry.commit) else None
        origin = pypi.Origin.of(entry.message)
        if origin is not None:
            pinned = bool(self.pin.sdist or self.pin.wheels)
            known = replace(tree, archive=origin.archive, sha256=origin.sha256, pinned=pinned)
            known = replace(known, modes=origin.kind == "sdist")
            return known if origin.allowed(self.pin, self.upstream) else None
        return replace(tree, modes="\nModes: unknown\n" not in entry.message) if source == "path" else None

    def _own(self, kind: str, path: Path | None = None) -> str:
        """A reference for what nothing proves: for this project alone, or for the one path that was named."""
        owner = hashlib.sha256(os.fsencode(path or self.project.root)).hexdigest()[:12]
        return reference(f"{kind}/{owner}", self.tag)

    def _stored(self, source: str, ref: str) -> PristineTree:
        tree = self._tree(source, self.cache.find(ref)[ref], fresh=True)
        assert tree is not None, "what was stored a moment ago was proved against the pin"
        return tree

    # -- the network

    def _first_that_answers(self) -> PristineTree:
        problems: list[Problem] = []
        notes: list[str] = []
        for source in SOURCES:
            if getattr(self.upstream, source) is None:
                continue
            try:
                return replace(self._fetched(source), notes=tuple(notes))
            except EnvironmentFailed as error:
                if any(problem.kind not in _GO_ON for problem in error.problems):
                    raise
                problems += error.problems
                notes += (problem.message for problem in error.problems)
        raise EnvironmentFailed(problems)

    def _fetched(self, source: str) -> PristineTree:
        if getattr(self.upstream, source) is None:
            raise InvalidInput(Problem("no-source", f"series.yaml names no upstream.{source} to fetch from."))
        url = git_address(self.upstream.git, self.project.root) if source == "git" and self.upstream.git else ""
        with self.cache.writing(self.progress) as git:
            # Another process may have fetched it while this one waited.
            kept = self._kept().get(source)
            if kept is not None:
                return kept
            ref = reference(source, self.tag)
            if source == "git":
                gitsource.fetch(self.cache, git, gitsource.Wanted(url, self.tag, self.pin, ref), self.progress)
            else:
                pypi.fetch(self.cache, git, self.upstream, self.tag, self.pin, self.progress)
        return self._stored(source, ref)

    # -- a path

    def _local(self, path: Path, fill: bool) -> PristineTree:
        kind = local.kind(path)
        if kind == "archive":
            return self._archive(path, fill)
        with self.cache.writing(self.progress) as git:
            if kind == "git":
                source = "git"
                ref = self._shelf("git", path, fill, proved=self.pin.commit is not None)
                wanted = gitsource.Wanted(str(path), self.tag, self.pin, ref, by_commit=True)
                gitsource.fetch(self.cache, git, wanted, self.progress)
            else:
                source = "path"
                ref = self._shelf("path", path, fill, proved=False)
                local.import_tree(git, ref, self.upstream, self.tag, path)
        return self._stored(source, ref)

    def _shelf(self, source: str, path: Path, fill: bool, *, proved: bool) -> str:
        """The reference for what a path gave: only what a pin proves is for other projects to find."""
        if proved:
            return reference(source, self.tag)
        return self._own("path") if fill else self._own("used", path)

    def _archive(self, path: Path, fill: bool) -> PristineTree:
        sha256 = pypi.sha256_of(path)
        pypi.prove(path.name, sha256, self.pin)
        kept = self._kept().get("pypi")
        if kept is not None and kept.sha256 == sha256:
            return kept
        origin = pypi.Origin.here(self.upstream, path.name, sha256)
        # What auto uses stays what it is: a wheel named once must not take the place of the source archive.
        ref = self._shelf("pypi", path, fill, proved=kept is None and bool(self.pin.sdist or self.pin.wheels))
        with self.cache.writing(self.progress) as git:
            pypi.store(git, ref, self.upstream, self.tag, origin, path, self.progress)
        return self._stored("pypi", ref)


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _no_file(path: str) -> Problem:
    return Problem("not-a-file", f"{path} is a folder or a submodule in the release, not a file.", file=path)
