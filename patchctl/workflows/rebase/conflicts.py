"""Conflicts as folders for a person: the files with markers, in a small git repository that knows the three sides.

``.patchctl/conflicts/<id>/`` holds every file that the patch is about. What a person does there, with an editor or
with git, is read back from the files alone.
"""

from __future__ import annotations

import fnmatch
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patchctl.engine import names
from patchctl.engine.model import EXECUTABLE, LINK, FileState
from patchctl.errors import Problem, Refused
from patchctl.git import Git
from patchctl.series.receipt import Stamp
from patchctl.target.safeio import Root, rename
from patchctl.workflows.rebase import repository
from patchctl.workflows.rebase.ground import Ground, States
from patchctl.workflows.rebase.plan import Step
from patchctl.workflows.rebase.repository import Sides
from patchctl.workflows.rebase.state import CONFLICTS, FOLDER, Open, remove
from patchctl.workflows.stack import stamp

# Not a name that a patch can have.
_NEW, BEFORE = "~new", "~before"
# What editors and merge tools leave beside a file.
_LEFTOVERS = ("*.orig", "*.rej", "*~", ".*.sw?", "#*#", "*_BACKUP_*", "*_BASE_*", "*_LOCAL_*", "*_REMOTE_*")


@dataclass(frozen=True, slots=True)
class Laid:
    """How a conflict is laid out: the three sides of each file, and what stands in the folder to begin with."""

    sides: Mapping[str, Sides]
    proposed: States

    @property
    def stamps(self) -> dict[str, Stamp | None]:
        return {path: stamp(state) for path, state in self.proposed.items()}

    @property
    def unsettled(self) -> tuple[str, ...]:
        return tuple(path for path, sides in self.sides.items() if not sides.is_settled)


def folder(id: str) -> str:
    """Where the conflict of a patch lies in the project."""
    return f"{FOLDER}/{CONFLICTS}/{id}"


def layout(ground: Ground, step: Step) -> Laid:
    """The conflict of ``step`` as it is laid out."""
    base_before, base_after = ground.base_sides[step.id]
    sides: dict[str, Sides] = {}
    proposed: dict[str, FileState | None] = {}
    for path in step.before:
        old = step.moved.get(path, path)
        onto = step.before[path]
        if path in step.report.proposals:
            state = step.report.proposals[path].state
            proposed[path] = state
            sides[path] = Sides(base_before.get(old), onto, base_after.get(old))
        elif path in step.after:
            proposed[path] = step.after[path]
            sides[path] = Sides(None, onto, None, step.after[path], is_settled=True)
        else:
            base, made = base_before.get(old), base_after.get(old)
            open_here = _is_open(step, path)
            proposed[path] = (onto if onto is not None else made) if open_here else onto
            sides[path] = Sides(base, onto, made, onto, is_settled=not open_here)
    if not any(not one.is_settled for one in sides.values()):
        sides = {path: Sides(base_before.get(path), one.onto, base_after.get(path)) for path, one in sides.items()}
    return Laid(sides, proposed)


def _is_open(step: Step, path: str) -> bool:
    return any(problem.file in (path, step.moved.get(path)) for problem in step.report.problems)


def lay_out(root: Root, step: Step, laid: Laid, was: Open | None) -> Open:
    """Make the folder of a conflict, or leave the one that stands there as it is if it is about the same.

    A person's work on a conflict that has changed meanwhile is kept beside it. ``root`` is the state folder.
    """
    fresh = Open(laid.stamps, step.stamps)
    home = f"{CONFLICTS}/{step.id}"
    there = root.lstat(home)
    if there is not None and was is not None and (was.proposed, was.ground) == (fresh.proposed, fresh.ground):
        return was
    if root.lstat(CONFLICTS) is None:
        root.mkdir(CONFLICTS)
    remove(root, home + _NEW)
    root.mkdir(home + _NEW)
    for path, state in laid.proposed.items():
        _put(root, f"{home}{_NEW}/{path}", state)
    repository.write(root, home + _NEW, laid.sides, f"The files that {step.id} changes, without it")
    if there is not None:
        if was is not None and _edited(root, home, was):
            remove(root, home + BEFORE)
            rename(root, home, root, home + BEFORE)
        else:
            remove(root, home)
    rename(root, home + _NEW, root, home)
    return fresh


def put(root: Root, id: str, files: States) -> None:
    """Put ``files`` into the folder of a conflict, in place of what stands there."""
    for path, state in files.items():
        name = f"{CONFLICTS}/{id}/{path}"
        remove(root, name)
        _put(root, name, state)


def set_aside(root: Root, id: str, files: States) -> None:
    """Keep ``files``, an answer that does not hold any more, beside the conflict of ``id``."""
    if root.lstat(CONFLICTS) is None:
        root.mkdir(CONFLICTS)
    home = f"{CONFLICTS}/{id}{BEFORE}"
    remove(root, home)
    root.mkdir(home)
    for path, state in files.items():
        _put(root, f"{home}/{path}", state)


def sweep(root: Root, keep: frozenset[str], stuck: frozenset[str]) -> None:
    """Remove the folders of all conflicts but ``keep``, and what was put beside others than ``stuck``."""
    if root.lstat(CONFLICTS) is None:
        return
    for name in root.names(CONFLICTS):
        if name not in keep and not (name.endswith(BEFORE) and name.removesuffix(BEFORE) in stuck):
            remove(root, f"{CONFLICTS}/{name}")
    if not root.names(CONFLICTS):
        root.rmdir(CONFLICTS)


def read(root: Root, id: str, files: Mapping[str, object]) -> tuple[dict[str, FileState | None], list[Problem]]:
    """What stands in the folder of a conflict: ``files``, and others that a person has told git to add.

    The problems name files that nobody asked for. Raises Refused for a folder that is gone, or holds a link on the
    way to a file, or what is no file.
    """
    home = f"{CONFLICTS}/{id}"
    found = root.lstat(home)
    if found is None or not stat.S_ISDIR(found.st_mode):
        why = f"{folder(id)} is not there any more, so nothing says how the conflict was resolved."
        raise Refused(Problem("no-conflict-folder", why, id, next="patchctl rebase --abort"))
    states = {path: root.read(f"{home}/{path}") for path in files}
    others = [name for name in _walk(root, home) if name not in states and not _is_leftover(name)]
    if not others:
        return states, []
    added = _added(root, home)
    problems = []
    for name in others:
        unsafe = names.check(name)
        if name in added and unsafe is None:
            states[name] = root.read(f"{home}/{name}")
        else:
            why = (
                f"{name} is none of the files of the patch: remove it, or add it with git if it belongs to the answer."
            )
            path = f"{folder(id)}/{name}"
            add, remove_it = f"git -C {folder(id)} add -- {shlex.quote(name)}", f"rm {shlex.quote(path)}"
            problems.append(Problem("stray", unsafe or why, id, path, next=remove_it if unsafe else add))
    return states, problems


def _walk(root: Root, home: str) -> Iterator[str]:
    waiting = [""]
    while waiting:
        below = waiting.pop()
        for name in root.names(f"{home}/{below}".rstrip("/")):
            inner = f"{below}/{name}".lstrip("/")
            if inner == ".git":
                continue
            found = root.lstat(f"{home}/{inner}")
            if found is not None and stat.S_ISDIR(found.st_mode):
                waiting.append(inner)
            else:
                yield inner


def _is_leftover(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name.rpartition("/")[2], pattern) for pattern in _LEFTOVERS)


def _added(root: Root, home: str) -> frozenset[str]:
    """The files that the folder's own git knows."""
    where = root.path / home
    said = Git(where, where / ".git").ask("--work-tree", str(where), "ls-files", "-z", "--cached")
    if said.returncode:
        return frozenset()
    return frozenset(name.decode("utf-8", "surrogateescape") for name in said.stdout.split(b"\0")[:-1])


def _edited(root: Root, home: str, was: Open) -> bool:
    return any(stamp(root.read(f"{home}/{path}")) != old for path, old in was.proposed.items())


def _put(root: Root, name: str, state: FileState | None) -> None:
    if state is None:
        return
    parts = name.split("/")
    for end in range(1, len(parts)):
        above = "/".join(parts[:end])
        if root.lstat(above) is None:
            root.mkdir(above)
    if state.mode == LINK:
        root.symlink(name, state.data)
    else:
        root.write(name, state.data, 0o777 if state.mode == EXECUTABLE else 0o666)
