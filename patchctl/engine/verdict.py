"""What is asked of one section of a patch, and the verdict: the words between port and the modules below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from patchctl.engine.lines import split
from patchctl.engine.markers import Labels, question, render
from patchctl.engine.model import FilePatch, FileState
from patchctl.engine.options import Options
from patchctl.engine.outcome import HunkRecord, Note
from patchctl.engine.overlay import Entry
from patchctl.engine.place import Known
from patchctl.errors import Problem

# Fewer hex digits of a blob id than git's own default prove nothing.
_SHORTEST_ID = 7
# Methods from the nearest to the farthest from the patch's own text; the merge rules come behind them.
_AS_IT_IS = frozenset({"present", "exact", "offset"})
# Rules that know where syntax leaves the order free, and those that follow code to another place.
_OUTCOMES = (
    ("relocated", frozenset({"moved-lines", "renamed-scope"})),
    (
        "structural",
        frozenset({"sorted-list", "sorted-import", "beside-sibling", "order-by-scope", "import-by-prefix"}),
    ),
)
_STEPS = {"present": 0, "exact": 1, "offset": 2, "transport": 3}


@dataclass(frozen=True, slots=True)
class Sides:
    """What a section made of its file in the base: before, after, and at which indices its hunks begin there; None
    where that is not known. ``section`` is the section as it was read there (see :mod:`patchctl.engine.fileport`)."""

    section: FilePatch
    before: FileState
    after: FileState
    starts: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A section with the names of those who speak in a conflict, and how far to go."""

    section: FilePatch
    labels: Labels
    rules: str = "all"
    trusted: bool = False  # the tree is said to be the one that the patch was made for
    sides: Sides | None = None
    base_given: bool = False
    options: Options = Options()  # noqa: RUF009 - a frozen value
    accepted: frozenset[str] = frozenset()  # kinds of findings that a person has overruled
    elsewhere: Callable[[Sequence[bytes]], bool] | None = None  # whether other files of the tree have gained lines


@dataclass(slots=True)
class Result:
    """What a section does: ``entry`` is the file after it (None: nothing certain), ``proposal`` one with markers.
    ``section`` is the reading of it that was taken, if there are several."""

    method: str
    entry: Entry | None = None
    proposal: Entry | None = None
    present: bool = False
    partial: bool = False
    section: FilePatch | None = None
    hunks: tuple[HunkRecord, ...] = ()
    starts: tuple[int, ...] = ()
    review: list[Note] = field(default_factory=list)
    evidence: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def known(blob: str | None, state: FileState) -> Known:
    """What the (abbreviated) blob id ``blob`` says about ``state``."""
    if blob is None or len(blob) < _SHORTEST_ID:
        return Known.NOTHING
    return Known.SAME if state.blob.startswith(blob.lower()) else Known.OTHER


def worst_method(hunks: Sequence[HunkRecord]) -> str:
    """The method of the hunk that is farthest from fitting as it stands."""
    return max(hunks, key=lambda hunk: (_STEPS.get(hunk.method, len(_STEPS)), -hunk.score)).method if hunks else "exact"


def outcome_of(methods: Set[str]) -> str:
    """What a patch is called whose hunks landed by ``methods``, none of which is a conflict."""
    for outcome, known in _OUTCOMES:
        if methods & known:
            return outcome
    return "merged" if methods - _AS_IT_IS else "offset" if "offset" in methods else "unchanged"


def present_records(section: FilePatch) -> tuple[HunkRecord, ...]:
    """The records of hunks whose change is there already, as a whole."""
    return tuple(HunkRecord(hunk.old_start, None, "present", 1.0, None) for hunk in section.hunks)


def conflict(asked: Asked, kind: str, text: str, path: str, proposal: Entry | None) -> Result:
    """The verdict that a person must decide: why, and what is proposed, if anything."""
    records = tuple(HunkRecord(hunk.old_start, None, "conflict", 0.0, None) for hunk in asked.section.hunks)
    return Result("conflict", None, proposal, hunks=records, problems=[Problem(kind, text, file=path)])


def in_doubt(before: bytes, after: FileState, labels: Labels) -> FileState:
    """A proposal for a result that must not be taken as it is: every change from ``before`` to it is a question."""
    from patchctl.engine.merge.diff import script

    old, new = split(before), split(after.data)
    edits = [
        question(old, edit.start, edit.end, old[edit.start : edit.end], new[edit.new_start : edit.new_end])
        for edit in script(old, new)
    ]
    return FileState(render(old, edits, labels), after.mode)


def questioned(lines: Sequence[bytes], base: Sequence[bytes], new: Sequence[bytes], labels: Labels, mode: int) -> Entry:
    """A proposal about a whole file: its ``lines``, next to what the patch knew (``base``) and wants (``new``)."""
    return Entry(FileState(render(lines, [question(lines, 0, len(lines), base, new)], labels), mode))
