"""Sections of a patch whose file, or whose code, is no longer where the patch looks for it.

The tree may have the file under another name, in several files, or its definitions in files that there were before.
:class:`Following` turns a section into the tasks that do it in the new tree, one for each file; what is open is
said to a person. Whole trees are looked at only where a path is missing: see :mod:`patchctl.engine.merge.moved`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from patchctl.engine.landing import edits_of
from patchctl.engine.lines import split
from patchctl.engine.markers import Edit
from patchctl.engine.merge.follow import Moved, new_name
from patchctl.engine.merge.outline import Outline
from patchctl.engine.merge.text import Text
from patchctl.engine.model import LINK, Change, FilePatch, FileState, Hunk
from patchctl.engine.outcome import Note
from patchctl.engine.overlay import Overlay, Tree
from patchctl.engine.verdict import Sides
from patchctl.errors import Problem, Refused

if TYPE_CHECKING:
    from patchctl.engine.merge.moved import Moves

_CLEAR = 0.75  # of a file must be found again for nobody to look at it
_MOST_READ = 400  # files in which code is looked for that was moved away
_PROBES = 3


@dataclass(frozen=True, slots=True)
class Task:
    """A section to do, as the new tree names it, and ``given``: as the patch does.

    ``doubt`` says why it must end in a conflict, whatever it would do; ``notes`` are for a reviewer.
    """

    given: FilePatch
    section: FilePatch
    sides: Sides | None
    followed: bool = False
    doubt: Problem | None = None
    review: tuple[Note, ...] = ()
    evidence: tuple[Note, ...] = ()


class Following:
    """Where the files of one base are in one new tree; kept for a whole run of patches."""

    def __init__(self, base: Tree, onto: Tree, rules: str = "all") -> None:
        """``rules``: "transport" follows whole files only."""
        self._rules = rules
        self._base = base
        self._onto = onto
        self._names: dict[str, str] = {}  # files that earlier patches were followed to

    @cached_property
    def _moves(self) -> Moves:
        from patchctl.engine.merge.moved import Moves  # only where something is missing

        return Moves(self._base, self._onto)

    def tasks(self, section: FilePatch, sides: Sides | None, ahead: Overlay, accepted: frozenset[str]) -> list[Task]:
        """What is to be done for ``section``; ``ahead`` is the new tree with the patches before it."""
        plain = [Task(section, sides.section if sides else section, sides)]
        if section.change is Change.CREATE:
            return [self._created(section, sides, ahead, accepted)]
        old = section.old_path
        if old is None or sides is None or sides.before.mode == LINK or _stands(ahead, old):
            return plain
        known = self._names.get(old)
        if known is not None and _stands(ahead, known):
            return [self._followed(section, sides, Moved(known, 1.0))]
        if old in ahead.changes or (section.change is Change.RENAME and _stands(ahead, section.path)):
            return plain
        return self._look(section, sides) or plain

    def _look(self, section: FilePatch, sides: Sides) -> list[Task]:
        assert section.old_path is not None
        found = self._moves.file(section.old_path, sides.before.data)
        whole = len(found) == 1 and not found[0].into
        if whole:
            return [self._followed(section, sides, found[0])]
        numbers = range(len(sides.section.hunks))
        apart = section.change is Change.MODIFY and sides.starts and self._rules != "transport"
        spread = self._spread(section, sides, numbers) if apart else None
        if spread:
            return spread
        if len(found) == 1:
            return [self._followed(section, sides, found[0])]
        if not found:
            return []
        names = ", ".join(f"{item.path} ({item.score:.0%} alike)" for item in found[:5])
        text = f"{section.old_path} is gone, and it is open what it has become: {names}."
        return [Task(section, sides.section, sides, doubt=Problem("moved", text, file=section.old_path))]

    def _followed(self, section: FilePatch, sides: Sides, found: Moved) -> Task:
        """``section`` on the file ``found`` that its file has become."""
        old = section.old_path
        assert old is not None
        new: str | None = found.path
        if section.change is Change.RENAME:
            new = new_name(old, section.path, found.path)
        elif section.change is Change.COPY:
            new = section.new_path
        elif section.change is Change.DELETE:
            new = None
        text = f"{old} stands at {found.path} now; {found.score:.0%} of its text is there."
        note = Note("moved", text, found.path)
        if section.change is Change.RENAME and new is None:
            text = f"Upstream has moved {old} to {found.path}, and the patch moves it to {section.path}."
            return Task(section, sides.section, sides, doubt=Problem("moved", text, file=old), evidence=(note,))
        self._names[old] = found.path
        if section.change is Change.RENAME and new is not None and new != section.path:
            self._names[section.path] = new
        done = replace(sides.section, old_path=found.path, new_path=new)
        sure = found.score >= _CLEAR and not found.into
        doubt = None
        if section.change is Change.DELETE and not sure:
            doubt = Problem("moved", f"The patch deletes {old}. {text}", file=found.path)
        return Task(
            section, done, replace(sides, section=done), True, doubt, () if sure else (note,), (note,) if sure else ()
        )

    def _created(self, section: FilePatch, sides: Sides | None, ahead: Overlay, accepted: frozenset[str]) -> Task:
        path = section.path
        folder = path.rpartition("/")[0]
        twin = _other_module(path)
        if twin and _stands(ahead, twin) and _get(self._base, twin) is None:
            text = f"{twin} is there by now, and Python would read only one of the two."
            return Task(section, section, sides, doubt=Problem("exists", text, file=path))
        ours = any(name.rpartition("/")[0] == folder for name, entry in ahead.changes.items() if entry.state)
        moved = None if ours or not folder else self._moves.folder(path)
        if moved is None:
            return Task(section, sides.section if sides else section, sides)
        text = f"All files of {folder} have moved to {moved}; nothing may read what is put there."
        doubt = None if "folder-moved" in accepted else Problem("folder-moved", text, file=path)
        return Task(section, section, sides, doubt=doubt, review=(Note("folder-moved", text, path),))

    # Code that left its file

    def departed(self, task: Task, onto: FileState, lost: Sequence[int]) -> list[Task]:
        """The tasks of a section whose hunks ``lost`` (from 1) have no place in their file ``onto``, if what they are
        for is defined in other files by now, and no longer there; else none."""
        sides = task.sides
        if sides is None or sides.starts is None or task.section.change is not Change.MODIFY or not lost:
            return []
        if self._rules == "transport":
            return []
        here = {(*item.scope, item.name) for item in Outline(Text(onto.data), task.section.path).all}
        outline = Outline(Text(sides.before.data), task.section.path)
        for number in lost:
            start, end = _span(sides, number - 1)
            around = [item for item in outline.all if item.start <= start and end <= item.end]
            if not around or (*around[-1].scope, around[-1].name) in here:
                return []
        return self._spread(task.given, sides, [number - 1 for number in lost], task) or []

    def _spread(
        self, section: FilePatch, sides: Sides, numbers: Sequence[int], rest: Task | None = None
    ) -> list[Task] | None:
        """``section`` as tasks for the files that the definitions around its hunks ``numbers`` (from 0) are in now,
        and, as ``rest`` has it, for the hunks that are left; None where that is open for one of them."""
        old = section.old_path
        assert old is not None
        homes = self._moves.homes(old, sides.before.data, [_span(sides, number) for number in numbers])
        groups: dict[Moved | None, list[int]] = {}
        for number, home in zip(numbers, homes, strict=True):
            if home is None:
                return None
            groups.setdefault(next((each for each in groups if each and each.path == home.path), home), []).append(
                number
            )
        left = [number for number in range(len(sides.section.hunks)) if number not in numbers]
        tasks = []
        if left and rest is not None:
            part = _part(sides, rest.section.path, left)
            tasks.append(replace(rest, section=part.section, sides=part))
        for home, mine in groups.items():
            assert home is not None
            part = _part(sides, home.path, mine)
            hunks = ", ".join(str(number + 1) for number in mine)
            text = f"What hunk {hunks} of {old} is for is defined in {home.path} now."
            tasks.append(Task(section, part.section, part, True, review=(Note("moved-definition", text, home.path),)))
        return tasks

    def gained(self, path: str, touched: Sequence[str]) -> Callable[[Sequence[bytes]], bool]:
        """A test whether most of some lines stand, by now, in another file of the tree that had not got them:
        one that is new, one in the folder of ``path``, or one of those that the patch touches."""

        def stand(lines: Sequence[bytes]) -> bool:
            probes = sorted(lines, key=len)[-_PROBES:]
            for other in islice(self._near(path, touched), _MOST_READ):
                if other == path:
                    continue
                state = _get(self._onto, other)
                if state is None or not any(line in state.data for line in probes) or not _most(lines, state.data):
                    continue
                before = _get(self._base, other)
                if before is None or not _most(lines, before.data):
                    return True
            return False

        return stand

    def _near(self, path: str, touched: Sequence[str]) -> Iterator[str]:
        yield from touched
        ending = path.rpartition(".")[2]
        yield from (other for other in self._fresh if other.rpartition(".")[2] == ending)
        folder = path.rpartition("/")[0]
        yield from (other for other in self._folders.get(folder, ()) if other.rpartition(".")[2] == ending)

    @cached_property
    def _fresh(self) -> list[str]:
        return sorted({*self._onto.names()} - {*self._base.names()})

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The files of each folder that there were before."""
        out: dict[str, list[str]] = {}
        for name in sorted({*self._onto.names()} & {*self._base.names()}):
            out.setdefault(name.rpartition("/")[0], []).append(name)
        return out


def _other_module(path: str) -> str | None:
    """The file that has the same name in Python as the one at ``path``: a package for a module."""
    if path.endswith("/__init__.py"):
        return f"{path.removesuffix('/__init__.py')}.py"
    return f"{path.removesuffix('.py')}/__init__.py" if path.endswith(".py") else None


def _most(lines: Sequence[bytes], data: bytes) -> bool:
    return sum(line in data for line in lines) * 2 > len(lines)


def _get(tree: Tree, path: str) -> FileState | None:
    try:
        return tree.get(path)
    except Refused:
        return None


def _stands(tree: Overlay, path: str) -> bool:
    try:
        return tree.get(path) is not None
    except Refused:
        return True  # something is there; what must not be touched is refused where it would be


def _span(sides: Sides, number: int) -> tuple[int, int]:
    """The lines of the base that hunk ``number`` (from 0) changes, its context left out."""
    assert sides.starts is not None
    edits = edits_of(sides.section.hunks[number], sides.starts[number])
    return (edits[0].start, edits[-1].end) if edits else (sides.starts[number], sides.starts[number])


def _part(sides: Sides, path: str, numbers: Sequence[int]) -> Sides:
    """Those of the hunks of ``sides`` that ``numbers`` (from 0) name, as a section for the file at ``path``."""
    assert sides.starts is not None
    hunks = tuple(sides.section.hunks[number] for number in numbers)
    starts = tuple(sides.starts[number] for number in numbers)
    section = replace(sides.section, old_path=path, new_path=path, hunks=hunks, old_blob=None, new_blob=None)
    return Sides(section, sides.before, replace(sides.after, data=_applied(sides.before.data, hunks, starts)), starts)


def _applied(data: bytes, hunks: Sequence[Hunk], starts: Sequence[int]) -> bytes:
    lines = split(data)
    out: list[bytes] = []
    at = 0
    edits: list[Edit] = [edit for hunk, start in zip(hunks, starts, strict=True) for edit in edits_of(hunk, start)]
    for edit in edits:
        out += lines[at : edit.start]
        out += edit.new
        at = edit.end
    return b"".join([*out, *lines[at:]])
