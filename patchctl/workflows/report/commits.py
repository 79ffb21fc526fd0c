"""Upstream's commits between two releases, where the cache has them.

History is fetched on request, and cut off where the older release begins. The commits next to that edge look like
roots to git, which made everything; what they really changed is told by the older release's files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from patchctl.errors import PatchctlError
from patchctl.git import Git, TreeEntry
from patchctl.series.project import Project
from patchctl.upstream.cache import Cache, reference
from patchctl.workflows.report.model import Commit, History, UpstreamFile

MOST_COMMITS = 30
_MOST_RANGES = 12
_MOST_SEARCHES = 60  # following lines through history is what takes time
# NUL is the one character that a message can't hold; an empty field begins a commit.
_FORM = "--format=%x00%H%x00%as%x00%s%x00"


class Log:
    """The commits that ``newest`` has and ``oldest`` (commit ids) has not. ``web`` is where commits can be read."""

    def __init__(self, git: Git, oldest: str, newest: str, web: str | None = None) -> None:
        self._git = git
        self._oldest = oldest
        self._newest = newest
        self._web = web
        self._by_name: dict[str, list[Commit]] = {}
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self._searches = 0

    def read(self, files: Iterable[UpstreamFile]) -> None:
        """Find the commits of all ``files`` at once, before :meth:`fill` is asked for one."""
        names = sorted({name for file in files for name in _names(file)})
        for commit, changed in self._commits("--name-only", "--no-renames", "--", *names) if names else ():
            for name in changed:
                if commit.id not in self._edge or self._made(commit.id, name):
                    self._by_name.setdefault(name, []).append(commit)

    def fill(self, file: UpstreamFile) -> UpstreamFile:
        """``file`` with the commits that changed it; those near to the patch's lines come first."""
        found = {commit.id: commit for name in _names(file) for commit in self._by_name.get(name, ())}
        close = self._close(file) if found else frozenset()
        marked = [replace(commit, near=id in close) for id, commit in found.items()]
        marked.sort(key=lambda commit: not commit.near)
        return replace(file, commits=tuple(marked[:MOST_COMMITS]), commits_cut=max(len(marked) - MOST_COMMITS, 0))

    @cached_property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Ids and whole messages of all commits, the newest first."""
        out = os.fsdecode(self._git.run("log", "-z", "--format=%H%n%B", f"^{self._oldest}", self._newest))
        entries = (entry.partition("\n") for entry in out.split("\0") if entry)
        return tuple((id, message) for id, _, message in entries)

    def _close(self, file: UpstreamFile) -> frozenset[str]:
        """The commits that changed the lines which upstream's changes near to the patch are now."""
        ranges = [f"-L{hunk.start},{hunk.end}:{file.onto}" for hunk in file.hunks[:_MOST_RANGES]]
        if not ranges or self._searches >= _MOST_SEARCHES:
            return frozenset()
        self._searches += 1
        said = self._git.ask("log", "--no-patch", "--format=%H", f"^{self._oldest}", self._newest, *ranges)
        # What git can't follow is no fault: that the file was changed is said all the same.
        return frozenset(said.stdout.decode().split()) if said.returncode == 0 else frozenset()

    def _commits(self, *args: str) -> Iterator[tuple[Commit, list[str]]]:
        """Commits, the newest first, each with the files that it changed if ``args`` ask for them."""
        range_ = (f"^{self._oldest}", self._newest)
        at = next((k for k, arg in enumerate(args) if arg == "--"), len(args))
        out = self._git.run("--literal-pathspecs", "log", "-z", _FORM, *args[:at], *range_, *args[at:])
        fields = os.fsdecode(out).split("\0")
        at = 0
        while at + 4 < len(fields):
            id, date, subject = fields[at + 1 : at + 4]
            at += 5
            names: list[str] = []
            while at < len(fields) and fields[at]:
                names.append(fields[at] if names else fields[at].removeprefix("\n"))
                at += 1
            yield Commit(id, date, subject, url=f"{self._web}/commit/{id}" if self._web else None), names

    @cached_property
    def _edge(self) -> frozenset[str]:
        path = self._git.cwd / self._git.text("rev-parse", "--git-path", "shallow")
        try:
            return frozenset(path.read_text().split())
        except FileNotFoundError:
            return frozenset()

    def _made(self, commit: str, name: str) -> bool:
        """Whether ``name`` is not in ``commit`` what the older release has."""
        return self._tree(self._oldest).get(name) != self._tree(commit).get(name)

    def _tree(self, commit: str) -> dict[str, TreeEntry]:
        if commit not in self._trees:
            self._trees[commit] = self._git.tree(commit)
        return self._trees[commit]


def _names(file: UpstreamFile) -> list[str]:
    same = file.state in ("same", "absent")
    return [] if same else [name for name in dict.fromkeys((file.onto, file.path)) if name]


def open_log(project: Project, from_tag: str, to_tag: str) -> tuple[Log | None, History]:
    """The commits between two releases if the cache has them, and what to say about that."""
    upstream = project.series.upstream
    if upstream.git is None:
        return None, History(False, "series.yaml names no git repository of upstream's, so its commits are not known.")
    cache = Cache(upstream)
    ids = _ids(project, cache, from_tag, to_tag)
    if ids is None:
        text = f"Upstream's commits between {from_tag} and {to_tag} are not in the cache."
        return None, History(False, text, f"patchctl fetch --history {from_tag}..{to_tag}")
    web = upstream.git.removesuffix("/").removesuffix(".git")
    known = re.fullmatch(r"https://(github\.com|gitlab\.com|codeberg\.org)/[\w.-]+/[\w.-]+", web)
    return Log(cache.git, *ids, web if known else None), History(True)


def _ids(project: Project, cache: Cache, from_tag: str, to_tag: str) -> tuple[str, str] | None:
    """The two commits, if what lies between them is here."""
    try:
        mark = f"refs/history/{from_tag.replace('/', '__')}/{to_tag.replace('/', '__')}"
        refs = [reference("git", from_tag), reference("git", to_tag), mark]
        found = cache.find(*refs)
    except PatchctlError:
        return None
    first, last, history = (found.get(ref) for ref in refs)
    if first is None or last is None or history is None or history.commit != last.commit:
        return None
    for tag, entry in ((from_tag, first), (to_tag, last)):
        target = project.series.targets.get(tag)
        if target is not None and target.pin.commit not in (None, entry.commit):
            return None
    return first.commit, last.commit
