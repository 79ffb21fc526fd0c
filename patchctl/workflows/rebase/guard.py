"""The guards over what a person, a tool or a memory made of a conflict: the same that the engine holds to itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from patchctl.engine import judge, links
from patchctl.engine.guards.facts import facts
from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.model import LINK, FileState
from patchctl.engine.overlay import Entry, Overlay
from patchctl.errors import Problem, Refused
from patchctl.series.lock import Review
from patchctl.workflows.motion import check_folders
from patchctl.workflows.rebase.ground import Ground, States
from patchctl.workflows.rebase.trees import Patched

# What a person may overrule with --accept. Everything else has to be put right, or decided otherwise.
KINDS = frozenset({"syntax", "defined-twice", "name-gone", "scope", "folder-moved", "superseded", "lost"})
_LINE = re.compile(r" \(line \d+\)$")


def covered(problem: Problem, accepted: Iterable[Review]) -> bool:
    """Whether somebody has accepted this very finding, wherever in the file it stands by now."""
    said = (problem.kind, problem.file or "", _LINE.sub("", problem.message))
    return any((one.kind, one.file, _LINE.sub("", one.text)) == said for one in accepted)


def check(
    ground: Ground, id: str, before: States, after: States, now: States, was: Mapping[str, str]
) -> tuple[list[Problem], list[Problem]]:
    """What speaks against ``after`` as the files of patch ``id``, which were ``before``; and what is for a reviewer.

    ``now`` are all files that patches before it have changed, ``was`` the old names of files that upstream moved.
    Raises Refused for what must not be written at all.
    """
    _safe(ground, id, after, now)
    base_before, base_after = ground.base_sides[id]
    sides = judge.resolutions(before, after, base_before, base_after, was)
    onto = Patched(ground.onto, now)
    base = Patched(ground.base, ground.base_now(id))
    problems: list[Problem] = []
    review: list[Problem] = []
    for found in judge.check(sides, onto=onto, base=base):
        where = f" (line {found.line})" if found.line else ""
        problem = Problem(found.kind, f"{found.text}{where}", id, found.file)
        (review if found.kind in judge.REVIEWED else problems).append(problem)
    return problems, review


def lost(ground: Ground, id: str, before: States, after: States, was: Mapping[str, str]) -> list[Problem]:
    """The definitions that the new release has and ``after`` has not, though the patch takes none of them away."""
    base_before, base_after = ground.base_sides[id]
    problems = []
    for path, state in after.items():
        old = was.get(path, path)
        gone = _defined(path, before.get(path)) - _defined(path, state)
        gone -= _defined(path, base_before.get(old)) - _defined(path, base_after.get(old))
        if gone:
            shown = ", ".join(sorted(".".join(filter(None, key)) for key in gone)[:5])
            why = f"{ground.goal.tag} has {shown} in {path}, and the result has not."
            problems.append(Problem("lost", why, id, path))
    return problems


def reverted(ground: Ground, id: str, before: States, after: States, was: Mapping[str, str]) -> list[Problem]:
    """Changes of upstream's that ``after`` takes back, although the patch has nothing to do with their lines.

    That is what becomes of a file that was taken from the patch's side as a whole.
    """
    base_before, base_after = ground.base_sides[id]
    problems = []
    for path, state in after.items():
        old = was.get(path, path)
        sides = (base_before.get(old), base_after.get(old), before.get(path), state)
        texts = [split(side.data) for side in sides if side is not None and side.mode != LINK]
        taken_back = _taken_back(*texts) if len(texts) == len(sides) else []
        if taken_back:
            count = len(taken_back)
            what = "a change" if count == 1 else f"{count} changes"
            why = f"The result takes back {what} of {ground.goal.tag} in {path} that the patch does not touch"
            problems.append(Problem("reverted", f"{why} (line {taken_back[0] + 1} there).", id, path))
    return problems


def _taken_back(base: list[bytes], patched: list[bytes], onto: list[bytes], result: list[bytes]) -> list[int]:
    """The lines of ``onto`` (from 0) at which upstream's edits of ``base`` begin that ``result`` has not any more."""
    own = [(start, end) for start, end, _, _ in script(base, patched)]
    undone = {(start, end): result[new:new_end] for start, end, new, new_end in script(onto, result)}
    return [
        new
        for start, end, new, new_end in script(base, onto)
        if undone.get((new, new_end)) == base[start:end]
        and not any(first <= end and start <= last for first, last in own)
    ]


def _defined(path: str, state: FileState | None) -> set[tuple[str, str]]:
    if state is None or state.mode == LINK or not path.endswith((".py", ".pyi")):
        return set()
    found = facts(state.data)
    return {key for key in found.defined if found.kinds[key] not in ("import", "key")} if found is not None else set()


def _safe(ground: Ground, id: str, after: States, now: States) -> None:
    over = Overlay(ground.onto, {path: Entry(state) for path, state in {**now, **after}.items()})
    made = [path for path, state in after.items() if state is not None]
    folders = over.folders()
    blocked = [
        Problem("in-the-way", f"{path} can't be written: {other} is in the way.", id, path)
        for path in made
        if (other := over.in_the_way(path, folders)) is not None
    ]
    if blocked:
        raise Refused(blocked)
    check_folders(made, {**now, **after}, id)
    try:
        links.check([path for path in made if _is_link(after[path])], over.get, id)
    except Refused as error:
        raise Refused([replace(problem, patch=id) for problem in error.problems]) from None


def _is_link(state: FileState | None) -> bool:
    return state is not None and state.mode == LINK
