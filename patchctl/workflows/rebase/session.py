"""One command of a rebase at work: the project locked, what a killed run left put right, and the state at hand."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from patchctl.errors import InvalidInput, Problem, Refused
from patchctl.series.project import Project
from patchctl.target import transaction
from patchctl.target.faults import Faults
from patchctl.target.safeio import Root
from patchctl.workflows.rebase.state import FILE, FOLDER, State, Store, input_of

# Network file systems that can't lock a folder; see patchctl.target.locking.
_CANT = frozenset({errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


@dataclass(frozen=True)
class Session:
    """The project's folder held open and locked."""

    root: Root
    store: Store
    recovered: bool = False  # whether an interrupted one was put right first

    @property
    def stands(self) -> bool:
        """Whether a rebase is under way."""
        return (self.store.path / FILE).exists()


@contextmanager
def session(project_root: os.PathLike[str]) -> Iterator[Session]:
    """Hold the project for one command; what an interrupted one left is put right first.

    Raises Refused while another rebase command is at work there, and for a state folder that is none.
    """
    from pathlib import Path

    with Root.open(Path(project_root), Faults.from_environment()) as root:
        _lock(root)
        store = Store(root)
        interrupted = transaction.interrupted(store.path)
        if interrupted:
            transaction.recover(root, store.path)
        here = Session(root, store, interrupted)
        if not here.stands:
            store.forget()  # what lies there without a state was left by a run that was killed
        yield here


def _lock(root: Root) -> None:
    try:
        fcntl.flock(root.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        why = "Another patchctl rebase is at work in this project."
        raise Refused(Problem("busy", why, next="patchctl status")) from None
    except OSError as error:
        if error.errno not in _CANT:
            raise


def running(here: Session, project: Project) -> State:
    """The state of the rebase under way.

    Raises InvalidInput when there is none, Refused when what it was begun with has changed since.
    """
    state = here.store.read()
    if state is None:
        why = "No rebase is under way here."
        raise InvalidInput(Problem("no-rebase", why, next="patchctl rebase --to TAG"))
    check_inputs(project, state)
    return state


def check_inputs(project: Project, state: State) -> None:
    """Raise Refused when files that the rebase was begun with are not what they were."""
    changed = [name for name, known in state.inputs.items() if input_of(project.root / name) != known]
    if changed:
        why = "{} has changed since the rebase was begun, so its plan and its decisions do not hold any more."
        raise Refused(
            [Problem("changed", why.format(name), file=name, next="patchctl rebase --abort") for name in changed]
        )


def inputs(project: Project, start: str, goal: str) -> dict[str, str]:
    """The hashes of all files that a rebase reads."""
    paths = [project.series_path, project.lock_path]
    for tag in (start, goal):
        if tag in project.series.targets:
            paths += [project.patch_path(tag, id) for id in project.series.targets[tag].patches]
    return {str(path.relative_to(project.root)): input_of(path) for path in paths}


def no_other(here: Session) -> None:
    """Raise Refused when a rebase is under way already."""
    if here.stands:
        state = here.store.read()
        what = f"from {state.start} to {state.goal} " if state is not None else ""
        why = f"A rebase {what}is under way already; its state is in {FOLDER}/."
        raise Refused(Problem("rebase-running", why, next="patchctl rebase --continue"))
