"""What git knows of a worktree: where HEAD is, what a person has under way there, what the index holds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from patchctl.engine.state import FileState
from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git
from patchctl.series.receipt import Stamp

GITLINK = "160000"

# What git leaves in its folder while one of its longer jobs waits for a person.
_JOBS = {
    "MERGE_HEAD": ("A merge", "git merge --abort"),
    "rebase-merge": ("A rebase", "git rebase --abort"),
    "rebase-apply": ("A rebase or git am", "git am --abort"),
    "CHERRY_PICK_HEAD": ("A cherry-pick", "git cherry-pick --abort"),
    "REVERT_HEAD": ("A revert", "git revert --abort"),
    "sequencer": ("A cherry-pick or revert of several commits", "git cherry-pick --abort"),
}

_ATTRIBUTES = ("filter", "working-tree-encoding", "eol", "text", "ident")


@dataclass(frozen=True, slots=True)
class Head:
    """The commit that is checked out, and the ref that moves with it: a branch, or ``HEAD`` itself if detached."""

    commit: str
    ref: str


@dataclass(frozen=True, slots=True)
class Dirt:
    """A tracked file that is not as in HEAD.

    ``staged`` if the index differs from HEAD, or is unmerged; ``edited`` if the worktree differs from the index.
    ``indexed`` is what the index has, None for nothing.
    """

    path: str
    staged: bool
    edited: bool
    indexed: Stamp | None


@dataclass(frozen=True, slots=True)
class Status:
    """Where HEAD is, and the tracked files that differ from it, in the order of their names."""

    head: Head
    dirt: tuple[Dirt, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in the index. ``flag`` is ``ls-files -v``'s: ``S`` is skip-worktree, a small letter assume-unchanged."""

    mode: str
    flag: str


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree with ``root`` as its top folder.

    ``git_dir`` is its own git folder, also when it is a linked one; ``common_dir`` is what all worktrees share.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    git: Git

    @classmethod
    def open(cls, root: Path) -> Worktree:
        """The worktree whose top folder is ``root``.

        Raises Refused for a bare repository, a folder that is not the top, and object ids other than SHA-1,
        EnvironmentFailed where git finds no repository.
        """
        git = Git(root)
        asked = git.ask(
            "rev-parse", "--show-object-format", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"
        )
        answer = os.fsdecode(asked.stdout).split("\n")
        if asked.returncode:
            said = asked.stderr.decode(errors="replace").strip()
            if "must be run in a work tree" in said:
                why = f"{root} is a bare repository: there are no files to patch in it."
                raise Refused(Problem("bare", why, next="git worktree add DIR TAG"))
            raise EnvironmentFailed(Problem("git", f"git can't work in {root}: {said}"))
        object_format, git_dir, common_dir, top = answer[:4]
        if object_format != "sha1":
            why = f"{root} has {object_format} object ids; patchctl proves files by their SHA-1 ids."
            raise Refused(Problem("object-format", why))
        if not _same_folder(root, Path(top)):
            raise Refused(Problem("not-toplevel", f"{root} is not the top of its checkout; that is {top}."))
        return cls(root, Path(git_dir), root / common_dir, git)

    def head(self) -> Head:
        """Where HEAD is. Raises Refused when it has no commit yet."""
        found = self.git.ask("rev-parse", "HEAD", "--symbolic-full-name", "HEAD")
        if found.returncode:
            raise self._unborn()
        commit, ref = os.fsdecode(found.stdout).split("\n")[:2]
        return Head(commit, ref)

    def job(self) -> Problem | None:
        """The merge, rebase or the like that waits here for a person to end it."""
        for name, (what, abort) in _JOBS.items():
            if os.path.lexists(self.git_dir / name):
                why = f"{what} is in progress in {self.root}. Finish it or abort it first."
                return Problem("in-progress", why, next=abort)
        return None

    def status(self, git: Git | None = None, *options: str) -> Status:
        """What ``git status`` says; ``git`` may bring another index. Raises Refused when there is no commit yet."""
        # What stands in a submodule is its own repository's business; that another commit is checked out is ours.
        kept = ("--untracked-files=no", "--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty")
        out = (git or self.git).run("status", "--porcelain=v2", "-z", "--branch", *kept, *options)
        facts: dict[str, str] = {}
        dirt = []
        for record in os.fsdecode(out).split("\0"):
            if record[:2] == "# ":
                name, _, value = record[2:].partition(" ")
                facts[name] = value
            elif record[:2] == "1 ":
                _, marks, _, _, mode, _, _, blob, path = record.split(" ", 8)
                indexed = None if marks[0] == "D" else Stamp(blob, mode)
                dirt.append(Dirt(path, marks[0] != ".", marks[1] != ".", indexed))
            elif record[:2] == "u ":
                dirt.append(Dirt(record.split(" ", 10)[10], True, True, None))
        if facts["branch.oid"] == "(initial)":
            raise self._unborn()
        name = facts["branch.head"]
        ref = "HEAD" if name == "(detached)" else f"refs/heads/{name}"
        return Status(Head(facts["branch.oid"], ref), tuple(dirt))

    def index(self, paths: Iterable[str]) -> tuple[dict[str, Entry], set[str]]:
        """The index entries of ``paths`` (those that have one), and the paths of all submodules."""
        wanted = set(paths)
        entries: dict[str, Entry] = {}
        submodules: set[str] = set()
        # Listing all costs less than having git match each entry against each of thousands of names.
        for record in self.git.run("ls-files", "-s", "-v", "-z").split(b"\0")[:-1]:
            facts, _, raw = record.partition(b"\t")
            path = os.fsdecode(raw)
            flag, mode = facts[:1].decode(), facts[2:8].decode()
            if mode == GITLINK:
                submodules.add(path)
            if path in wanted:
                entries[path] = Entry(mode, flag)
        return entries, submodules

    def converted(self, states: Mapping[str, FileState | None]) -> Iterator[Problem]:
        """The files whose bytes here differ from their blobs' by the repository's own attributes.

        ``states`` are what stands there now.
        """
        if not self._has_attributes(states):
            return
        asked = b"".join(os.fsencode(path) + b"\0" for path in states)
        out = os.fsdecode(self.git.run("check-attr", "-z", "--stdin", *_ATTRIBUTES, data=asked)).split("\0")
        attributes: dict[str, dict[str, str]] = {}
        for path, name, value in zip(out[0::3], out[1::3], out[2::3], strict=False):
            attributes.setdefault(path, {})[name] = value
        for path, values in attributes.items():
            state = states[path]
            culprit = _conversion(values, b"" if state is None else state.data)
            if culprit:
                why = (
                    f".gitattributes gives {path} the attribute {culprit}: the bytes in the worktree are not those in "
                    "the repository. patchctl writes exact bytes only."
                )
                yield Problem("attributes", why, file=path, next=f"git check-attr -a -- {path}")

    def trusts_modes(self) -> bool:
        """Whether executable bits in this worktree mean something (``core.fileMode``)."""
        # Nearly everybody's configuration says yes in so many words; asking git costs a process.
        text = b"".join(_text(path) for path in (self.common_dir / "config", self.git_dir / "config.worktree")).lower()
        if b"[include" not in text and set(_FILE_MODE.findall(text)) <= {b"true"}:
            return True
        asked = self.git.ask("config", "--type=bool", "--get", "core.fileMode")
        return asked.stdout.strip() != b"false"

    def commits(self, known: str, head: str, most: int = 10) -> list[str]:
        """The newest commits of ``head`` that ``known`` lacks, each as abbreviated id and subject."""
        log = self.git.ask("log", "--format=%h %s", f"--max-count={most}", f"{known}..{head}", "--")
        return [] if log.returncode else log.stdout.decode(errors="replace").splitlines()

    def descends(self, commit: str, ancestor: str) -> bool:
        """Whether ``ancestor`` is in the history of ``commit``; no if either is not in this repository."""
        return self.git.ask("merge-base", "--is-ancestor", ancestor, commit).returncode == 0

    def _has_attributes(self, paths: Iterable[str]) -> bool:
        """Whether any attributes could apply to ``paths`` at all."""
        folders = {""}
        for path in paths:
            folder = path.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        files = [self.root / folder / ".gitattributes" for folder in folders]
        return any(os.path.lexists(file) for file in (self.common_dir / "info/attributes", *files))

    def _unborn(self) -> Refused:
        why = f"{self.root} has no commit checked out: there is nothing that the series could stand on."
        return Refused(Problem("unborn-head", why, next="git checkout TAG"))


_FILE_MODE = re.compile(rb"filemode[ \t]*=?[ \t]*([^\r\n]*)")


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _conversion(attributes: Mapping[str, str], data: bytes) -> str | None:
    """The attribute, as ``name=value``, by which git would change ``data`` on its way in or out."""
    off = ("unspecified", "unset")
    if attributes["filter"] not in off:
        return f"filter={attributes['filter']}"
    encoding = attributes["working-tree-encoding"]
    if encoding not in (*off, "set") and encoding.upper() not in ("UTF-8", "UTF8"):
        return f"working-tree-encoding={encoding}"
    if attributes["ident"] == "set" and b"$Id" in data:
        return "ident"
    if attributes["text"] != "unset":
        if attributes["eol"] == "crlf":
            return "eol=crlf"
        if b"\r\n" in data and (attributes["text"] == "set" or attributes["eol"] == "lf"):
            return "eol=lf" if attributes["eol"] == "lf" else "text"
    return None
