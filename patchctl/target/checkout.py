"""A git checkout as a place: one commit per patch on its base, and worktree, index and HEAD moved as one."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from patchctl.engine.state import FileState
from patchctl.errors import Problem, Refused
from patchctl.series import receipt as receipts
from patchctl.series.receipt import Receipt, Stamp
from patchctl.target import commits, transaction
from patchctl.target.faults import Faults
from patchctl.target.folder import load_receipt, open_root
from patchctl.target.gitmove import GitMove
from patchctl.target.locking import FolderLock
from patchctl.target.place import WritePlan
from patchctl.target.safeio import Root, failed
from patchctl.target.transaction import Change, stamp
from patchctl.target.worktree import Head, Worktree

STATE = "patchctl"
RECEIPT = "receipt.json"


@dataclass(frozen=True)
class Checkout:
    """The worktree ``tree``; its state stands in the folder ``patchctl`` of its own git folder."""

    tree: Worktree
    faults: Faults = field(default_factory=Faults.from_environment)

    @classmethod
    def open(cls, root: Path) -> Checkout:
        """The checkout whose top folder is ``root``. Raises as :meth:`Worktree.open`."""
        return cls(Worktree.open(root))

    @property
    def kind(self) -> str:
        return "checkout"

    @property
    def root(self) -> Path:
        return self.tree.root

    @property
    def state_dir(self) -> Path:
        return self.tree.git_dir / STATE

    @cached_property
    def carries_modes(self) -> bool:
        return self.tree.trusts_modes()

    def local(self, path: str) -> str | None:
        return path

    def read(self, path: str) -> FileState | None:
        return self._files.read(path)

    def receipt(self) -> Receipt | None:
        """What was recorded here last, unless the person has gone on to another line of history since."""
        return self._current(None)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        try:
            with self._lock.held():
                yield
        except OSError as error:
            raise failed(error, f"working in {self.root}") from error

    def interrupted(self) -> bool:
        if not transaction.interrupted(self.state_dir):
            return False
        self._lock.wait()  # it may be the journal of a run that still lives
        return transaction.interrupted(self.state_dir)

    def recover(self) -> None:
        with self.locked():
            transaction.recover(self._files, self.state_dir, undo=self._move.undo)
            self._clear()

    def in_the_way(self, paths: Mapping[str, FileState | None]) -> tuple[Problem, ...]:
        self._move.check_free()
        status = self.tree.status()
        found = self._current(status.head)
        problems: list[Problem] = [job] if (job := self.tree.job()) else []
        problems += self._foreign(found, status.head)
        if problems:
            return tuple(problems)  # what they did to the files is part of them, and would only drown the cause
        ours = _uncommitted(found, paths)
        problems += _dirty([dirt.path for dirt in status.dirt if dirt.staged or dirt.path not in ours])
        problems += self._untracked(paths, ours)
        problems += self.tree.converted(paths)
        return tuple(problems)

    def draft(self) -> commits.Draft:
        head = self.tree.head()
        return commits.Draft(self.tree.git, self.tree.git_dir, _base(self._current(head), head))

    def write(self, plan: WritePlan) -> Receipt | None:
        head = self.tree.head()
        old = self._current(head)
        base = _base(old, head)
        receipt, new, files = self._commit(plan, head, old, base)
        changes = [Change(path, move.before, move.after) for path, move in plan.moves.items()]
        changes.append(self._receipt_change(receipt))
        moves_git = plan.commit and (new != head.commit or _has_commits(receipt) or _has_commits(old))
        message = f"patchctl: {'unapply' if receipt is None else 'apply ' + receipt.target}"
        with self.locked():
            try:
                transaction.run(
                    self._files,
                    self.state_dir,
                    changes,
                    note=self._move.note(head, new, files) if moves_git else {},
                    then=(lambda: self._move.go(head, new, files, message)) if moves_git else None,
                    undo=self._move.undo,
                    # The commits are on the disk; git itself does not wait for a worktree's files either.
                    durable=False,
                )
            finally:
                self._clear()
        return receipt

    # Looking

    def _stored(self) -> Receipt | None:
        return load_receipt(self.state_dir / RECEIPT, self._stored_bytes())

    def _current(self, head: Head | None) -> Receipt | None:
        found = self._stored()
        return None if found is None or self._left_behind(found, head or self.tree.head()) else found

    def _stored_bytes(self) -> FileState | None:
        path = self.state_dir / RECEIPT
        try:
            return FileState(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failed(error, f"reading {path}") from error

    def _left_behind(self, found: Receipt, head: Head) -> bool:
        """Whether the person has checked out something else since, which has nothing to do with what we did.

        The receipt speaks of a state that is gone then. As long as HEAD has a commit of ours below it, or is the
        same branch and stands on the same base, its own commits are a person's work upon ours.
        """
        if head.commit in (_tip(found), found.base):
            return False
        first = next((patch.commit for patch in found.patches if patch.commit), None)
        if first is not None and self.tree.descends(head.commit, first):
            return False
        elsewhere = head.ref == "HEAD" or head.ref != found.extra.get("ref")
        return elsewhere or found.base is None or not self.tree.descends(head.commit, found.base)

    def _foreign(self, found: Receipt | None, head: Head) -> list[Problem]:
        """HEAD where neither patchctl left it nor the series begins: those commits are a person's."""
        if found is None or head.commit in (_tip(found), found.base):
            return []
        tip, base = _tip(found), found.base or ""
        others = self.tree.commits(tip, head.commit)
        there = f"is at {head.commit[:12]}, with commits that are not patchctl's" if others else "was moved"
        listed = f": {'; '.join(others)}" if others else f" to {head.commit[:12]}"
        keep = f"Keep those commits on a branch of their own, and git reset --hard {tip[:12]}."
        why = (
            f"HEAD {there}{listed}. patchctl left it at {tip[:12]}, on the base {base[:12]}. "
            f"{keep if others else f'git reset --hard {tip[:12]} takes it back there.'}"
        )
        return [Problem("foreign-commits", why, next=f"git log --oneline {base[:12]}..HEAD")]

    def _untracked(self, paths: Mapping[str, FileState | None], ours: set[str]) -> Iterator[Problem]:
        entries, submodules = self.tree.index(paths)
        for path, state in paths.items():
            entry = entries.get(path)
            above = next((name for name in _above(path) if name in submodules), None)
            if above or path in submodules:
                why = f"{path} is in the submodule {above or path}; patchctl changes no submodules."
                yield Problem("submodule", why, file=path)
            elif entry is None:
                if path not in ours and (blocker := self._blocker(path, state, paths)):
                    why = f"{blocker} is not tracked by git and is in the way of the series."
                    yield Problem("untracked", why, file=blocker, next="move it elsewhere")
            elif entry.flag.upper() == "S":
                why = f"{path} is outside of the sparse checkout, or marked skip-worktree."
                yield Problem("skip-worktree", why, file=path, next=f"git update-index --no-skip-worktree -- {path}")
            elif entry.flag.islower():
                why = f"{path} is marked assume-unchanged: git would not see what patchctl does to it."
                undo = f"git update-index --no-assume-unchanged -- {path}"
                yield Problem("assume-unchanged", why, file=path, next=undo)

    def _blocker(self, path: str, state: FileState | None, paths: Mapping[str, FileState | None]) -> str | None:
        """What stands, untracked, where the untracked ``path`` would have to; ``path`` itself or a folder above."""
        if state is not None:
            return path
        for above in _above(path):
            found = self._files.lstat(above)
            if found is None:
                return None
            if not stat.S_ISDIR(found.st_mode):
                # A tracked file, or one of ours, that gives way to a folder is no obstacle.
                return None if above in paths else above
        found = self._files.lstat(path)
        if found is None or not stat.S_ISDIR(found.st_mode):
            return None
        return self._foreign_below(path, paths)

    def _foreign_below(self, folder: str, paths: Mapping[str, FileState | None]) -> str | None:
        """What is in ``folder`` (or the empty folder itself) and would keep a file from taking its name."""
        names = self._files.names(folder)
        for name in names:
            path = f"{folder}/{name}"
            found = self._files.lstat(path)
            if found is not None and stat.S_ISDIR(found.st_mode):
                if foreign := self._foreign_below(path, paths):
                    return foreign
            elif paths.get(path) is None:
                return path
        return None if names else folder

    # Writing

    def _commit(
        self, plan: WritePlan, head: Head, old: Receipt | None, base: str
    ) -> tuple[Receipt | None, str, Mapping[str, Stamp | None]]:
        """Make the commits.

        Returns the receipt to store, the commit that HEAD shall be, and every file that the series touches, before
        or after, as that commit has it.
        """
        files = {path: stamp(state) for path, state in plan.pristine.items()}
        if plan.receipt is None:
            return None, base, files
        receipt = replace(plan.receipt, base=base, extra={"ref": head.ref})
        if not plan.commit:
            if head.commit != base:
                why = "The series stands here as commits; --no-commit can't change them and leave HEAD alone."
                raise Refused(Problem("committed", why, next="patchctl unapply"))
            return receipt, base, files
        if plan.draft is not None and plan.draft.base == base:
            made = plan.draft.finish()
        else:
            made = commits.make(self.tree.git, self.tree.git_dir, base, plan.steps)
        patches = tuple(replace(patch, commit=id) for patch, id in zip(receipt.patches, made.ids, strict=True))
        tip = made.ids[-1] if made.ids else base
        return replace(receipt, patches=patches), tip, {**files, **made.files}

    def _receipt_change(self, receipt: Receipt | None) -> Change:
        after = None if receipt is None else FileState(receipts.dump(receipt))
        return Change(RECEIPT, self._stored_bytes(), after, of_state=True)

    def _clear(self) -> None:
        """Remove our working files, unless a journal still needs them, and the state folder once it is empty."""
        if not transaction.interrupted(self.state_dir):
            self._move.clear()
            with contextlib.suppress(OSError):  # a receipt is in it, or it never was made
                self.state_dir.rmdir()

    @cached_property
    def _files(self) -> Root:
        return open_root(self.root, self.faults)

    @cached_property
    def _lock(self) -> FolderLock:
        return FolderLock(self.tree.git_dir)

    @cached_property
    def _move(self) -> GitMove:
        return GitMove(self.tree, self.state_dir, self.faults)


def _base(old: Receipt | None, head: Head) -> str:
    """The commit that the series stands on, or shall."""
    return old.base if old is not None and old.base else head.commit


def _tip(found: Receipt) -> str:
    """Where patchctl left HEAD."""
    tips = [patch.commit for patch in found.patches if patch.commit]
    return tips[-1] if tips else found.base or ""


def _has_commits(found: Receipt | None) -> bool:
    return found is not None and any(patch.commit for patch in found.patches)


def _uncommitted(found: Receipt | None, paths: Mapping[str, FileState | None]) -> set[str]:
    """The files that an ``apply --no-commit`` left changed and nobody has touched since.

    In the worktree alone, so that neither HEAD nor the index knows them.
    """
    if found is None or _has_commits(found):
        return set()
    last: dict[str, Stamp | None] = {}
    for patch in found.patches:
        last.update((file.path, file.after) for file in patch.files)
    return {path for path, after in last.items() if path in paths and stamp(paths[path]) == after}


def _dirty(changed: Sequence[str], most: int = 20) -> list[Problem]:
    """What to say of changed files; thousands (another line end convention, say) are counted, not listed."""
    keep = "git stash, or commit"
    problems = [
        Problem("dirty", f"{name} has changes that are not committed.", file=name, next=keep) for name in changed[:most]
    ]
    if len(changed) > most:
        problems.append(Problem("dirty", f"So have {len(changed) - most:,} more files.", next="git status"))
    return problems


def _above(path: str) -> Sequence[str]:
    """The folders that ``path`` stands in, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]
