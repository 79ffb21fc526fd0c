"""Index and HEAD on their way from one commit to another, as the last part of a transaction over the files.

The new index is made beside the old one and renamed over it while ``index.lock`` is held, as git itself
does. The old one is kept by a second name until the transaction counts, so that the way back takes no room
on the disk. Everything here may be cut short by a kill: :meth:`GitMove.undo` looks at what stands.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git
from patchctl.series.receipt import Stamp
from patchctl.target.faults import Faults
from patchctl.target.worktree import Head, Worktree

# In the state folder: the lock as we make it, the index before, the index as we make it, and as we made it.
_CLAIM, _OLD, _NEW, _MADE = "index.claim", "index.old", "index.new", "index.made"
_LITTER = (_CLAIM, _OLD, _NEW, f"{_NEW}.lock", _MADE)
_MARK = b"This lock is held by patchctl.\n"

# The reflog wants somebody's name; that must not depend on whether the user has told git theirs.
_REFLOG = {"GIT_COMMITTER_NAME": "patchctl", "GIT_COMMITTER_EMAIL": "patchctl@invalid"}
_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


@dataclass(frozen=True, slots=True)
class GitMove:
    """Moves index and HEAD of ``tree``, with its working files in the folder ``state``."""

    tree: Worktree
    state: Path
    faults: Faults

    @property
    def _index(self) -> Path:
        return self.tree.git_dir / "index"

    @property
    def _lock(self) -> Path:
        return self.tree.git_dir / "index.lock"

    def check_free(self) -> None:
        """Raise EnvironmentFailed when another git process holds the index, or left its lock behind."""
        if os.path.lexists(self._lock) and not self._lock_is_ours():
            raise self._taken()

    def go(self, head: Head, new: str, files: Mapping[str, Stamp | None], message: str) -> None:
        """Let the index hold ``files`` and HEAD stand on the commit ``new``; the files are in place already.

        ``head`` is where HEAD must be until now. Raises Refused when index, worktree and commit would not agree, or
        HEAD was moved meanwhile, EnvironmentFailed when git or the disk fails; then :meth:`undo` is due.
        """
        self._claim()
        self._keep_index()
        git = self._make_index(files)
        self._prove(git, head, files)
        self._point("link", _MADE)
        _link_or_copy(self.state / _NEW, self.state / _MADE)
        self._point("rename", "index")
        os.replace(self.state / _NEW, self._index)  # noqa: PTH105
        if new != head.commit:
            self._point("ref", head.ref)
            self._set_ref(head.ref, new, head.commit, message)
        self._point("unlink", "index.lock")
        self._lock.unlink()

    def note(self, head: Head, new: str, files: Iterable[str]) -> dict[str, Any]:
        """What :meth:`undo` has to know, for the journal."""
        return {"ref": head.ref, "old": head.commit, "new": new, "paths": list(files)}

    def undo(self, note: Mapping[str, Any]) -> None:
        """Put ref and index back to what they were before the run that wrote ``note``, as far as it came.

        Raises Refused when the ref is at neither of the two commits.
        """
        if not note:
            return
        self._ref_back(note)
        if os.path.lexists(self._lock) and self._lock_is_ours():
            self._lock.unlink()
        old, made = self.state / _OLD, self.state / _MADE
        if not old.exists() or _same(self._index, old):
            return
        if _same(self._index, made):
            os.replace(old, self._index)  # noqa: PTH105
            return
        # A git command has written the index since. What the person put into it stays, our files go back.
        paths = b"".join(os.fsencode(path) + b"\0" for path in note["paths"])
        self.tree.git.run("reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", data=paths, env=_LITERAL)
        old.unlink()

    def clear(self) -> None:
        """Remove the working files, once the transaction counts or is taken back."""
        for name in _LITTER:
            (self.state / name).unlink(missing_ok=True)

    def _claim(self) -> None:
        """Take git's lock on the index. It appears with its content, so that one left by a kill is known as ours."""
        self.clear()
        self._point("write", _CLAIM)
        (self.state / _CLAIM).write_bytes(_MARK)
        self._point("link", "index.lock")
        try:
            os.link(self.state / _CLAIM, self._lock)
        except FileExistsError:
            raise self._taken() from None
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            with self._lock.open("xb") as stream:
                stream.write(_MARK)

    def _lock_is_ours(self) -> bool:
        try:
            with self._lock.open("rb") as stream:
                return stream.read(len(_MARK) + 1) == _MARK
        except FileNotFoundError:
            return False

    def _taken(self) -> EnvironmentFailed:
        why = (
            f"Another git process works in {self.tree.root}, or a killed one left its lock {self._lock} behind. "
            "Wait for it, or remove the lock if no git runs there."
        )
        return EnvironmentFailed(Problem("index-locked", why, file=str(self._lock), next=f"rm {self._lock}"))

    def _keep_index(self) -> None:
        for name in (_OLD, _NEW):
            self._point("link", name)
            _link_or_copy(self._index, self.state / name)

    def _make_index(self, files: Mapping[str, Stamp | None]) -> Git:
        """Enter ``files`` into the new index; returns git working with it."""
        # With optional locks, git status also notes what the disk says of the files it has compared.
        git = Git(self.tree.root, env={"GIT_INDEX_FILE": str(self.state / _NEW), "GIT_OPTIONAL_LOCKS": "1"})
        self._point("write", _NEW)
        # Nothing but names that go away first: a folder may have become a file.
        lines = [b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path)) for path, after in files.items() if after is None]
        lines += [
            b"%s %s\t%s\0" % (after.mode.encode(), after.blob.encode(), os.fsencode(path))
            for path, after in files.items()
            if after is not None
        ]
        git.run("update-index", "--add", "--replace", "-z", "--index-info", data=b"".join(lines))
        return git

    def _prove(self, git: Git, head: Head, files: Mapping[str, Stamp | None]) -> None:
        """The read-back: git must find the worktree to be as the new index has it, and only ``files`` changed by it.

        That the new commit has ``files`` was proved when it was made; for all others it has what HEAD had.
        """
        status = self.tree.status(git)
        if status.head != head:
            why = f"HEAD was moved to {status.head.commit} while the series was being applied."
            raise Refused(Problem("foreign-commits", why, next="patchctl apply"))
        wrong = [dirt.path for dirt in status.dirt if dirt.edited or dirt.path not in files]
        if wrong:
            why = "git sees another content here than was committed; somebody changed it meanwhile, or attributes do."
            raise Refused([Problem("read-back", why, file=name, next="git status") for name in wrong])

    def _set_ref(self, ref: str, new: str, old: str, message: str) -> None:
        # A detached HEAD is a ref of its own; through a branch, HEAD's reflog is kept as well.
        command = f"update HEAD {new} {old}\n" if ref != "HEAD" else f"option no-deref\nupdate HEAD {new} {old}\n"
        self.tree.git.run("update-ref", "-m", message, "--stdin", data=command.encode(), env=_REFLOG)

    def _ref_back(self, note: Mapping[str, Any]) -> None:
        ref, old, new = note["ref"], note["old"], note["new"]
        if old == new:
            return
        now = self.tree.git.resolve(ref)
        if now == new:
            message = "patchctl: take back an interrupted run"
            self.tree.git.run("update-ref", "--no-deref", "-m", message, ref, old, new, env=_REFLOG)
        elif now != old:
            why = f"{ref} was moved by somebody since patchctl was interrupted; before that it was {old}."
            raise Refused(Problem("foreign-commits", why, next=f"git log --oneline {old}..{ref}"))

    def _point(self, operation: str, name: str) -> None:
        self.faults.point(operation, name)


_NO_LINK = frozenset({errno.EPERM, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS})


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        import shutil

        shutil.copy2(source, target)


def _same(one: Path, other: Path) -> bool:
    """Whether both names are one file, or (where no links could be made) files with one content."""
    try:
        return one.samefile(other) or one.read_bytes() == other.read_bytes()
    except FileNotFoundError:
        return False
