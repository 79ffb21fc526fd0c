"""Answering a conflict from memory: all of its regions, or none; guarded, and always shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchctl.engine.model import FileState
from patchctl.engine.options import Decision
from patchctl.engine.outcome import FileRecord, Note
from patchctl.errors import Problem, Refused
from patchctl.series import resolutions
from patchctl.series.receipt import Stamp
from patchctl.series.resolutions import Question, Resolution
from patchctl.workflows.rebase import guard, regions
from patchctl.workflows.rebase.ground import Ground, States

if TYPE_CHECKING:
    from patchctl.workflows.rebase.plan import Step


@dataclass(frozen=True, slots=True)
class Replayed:
    """A conflict answered from memory, which holds as long as the files are those of ``ground``."""

    decision: Decision
    ground: Mapping[str, Stamp | None]
    files: tuple[FileRecord, ...]
    review: tuple[Note, ...]


def find(ground: Ground, step: Step, now: States) -> tuple[Replayed | None, list[Problem]]:
    """The remembered answer to the whole conflict of ``step``, and what is wrong with what is remembered."""
    proposals = {path: entry.state for path, entry in step.report.proposals.items() if entry.state is not None}
    asked = {path: regions.questions(state.data) for path, state in proposals.items()}
    open_files = {problem.file for problem in step.report.problems if problem.file is not None}
    if not proposals or not all(asked.values()) or not open_files <= asked.keys():
        return None, []
    flat = [question for questions in asked.values() for question in questions]
    found, problems = resolutions.find(ground.project.root, step.id, flat)
    known = {one.question: one for one in found if one is not None}
    if len(known) < len(set(flat)):
        return None, problems
    files: dict[str, FileState | None] = dict(step.after)
    files |= {path: _answered(state, known) for path, state in proposals.items()}
    try:
        against, review = guard.check(ground, step.id, step.before, files, now, step.moved)
    except Refused as error:
        against, review = list(error.problems), []
    if all(state == step.before.get(path) for path, state in files.items()):
        against = [Problem("empty", "It leaves nothing of the patch.", step.id)]
    if against:
        name = resolutions.path_of(next(iter(known.values())).name)
        return None, [*problems, replace(unused(step.id, against[0]), next=f"rm {name}")]
    notes = [_note(path, question, known[question]) for path, questions in asked.items() for question in questions]
    notes += [Note(problem.kind, problem.message, problem.file) for problem in review]
    records = tuple(
        replace(file, method="replayed") if (file.onto or file.path) in proposals else file
        for file in step.report.files
    )
    return Replayed(Decision("replayed", files), step.stamps, records, tuple(notes)), problems


def unused(id: str, why: Problem) -> Problem:
    """What to say of a remembered answer to the conflict of patch ``id`` that a guard speaks against."""
    text = f"The remembered resolution is not used: {why.message}"
    return Problem("resolution", text, id, why.file, next="ls patches/resolutions")


def _answered(state: FileState, known: Mapping[Question, Resolution]) -> FileState:
    return FileState(regions.answered(state.data, lambda question: known[question].resolved), state.mode)


def _note(path: str, question: Question, used: Resolution) -> Note:
    made = f", made for {used.made}" if used.made else ""
    text = f"A conflict in {path} was answered from memory: {resolutions.path_of(used.name)}{made}."
    return Note("replayed", text, path)


def remembered(
    id: str, made: str, proposals: Mapping[str, bytes], files: States, known: Sequence[str] = ()
) -> list[Resolution]:
    """What is worth remembering of the answer ``files`` to ``proposals``: a region with one answer, and nothing else.

    ``known`` are the names of resolution files that are not to be written again.
    """
    found: dict[Question, set[tuple[bytes, ...]]] = {}
    where: dict[Question, str] = {}
    for path, proposal in proposals.items():
        result = files.get(path)
        for question, answer in regions.answers(proposal, result.data) if result is not None else ():
            found.setdefault(question, set()).add(answer)
            where.setdefault(question, path)
    made_of = [
        Resolution(id, question, next(iter(one)), where[question], made)
        for question, one in found.items()
        if len(one) == 1
    ]
    return [resolution for resolution in made_of if resolution.name not in known]
