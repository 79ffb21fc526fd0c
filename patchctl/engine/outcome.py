"""What became of a patch, as values that text, JSON and HTML are renderings of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patchctl.engine.overlay import Entry
from patchctl.errors import Problem


@dataclass(frozen=True, slots=True)
class HunkRecord:
    """How one hunk landed. ``old_start`` is its header's; ``new_start`` the line (from 1) at which it begins in the
    result, None where it has no place. ``method``: exact, offset, transport (by arithmetic, its context has changed),
    present, conflict, or the name of the merge rule that placed it. ``score`` says how certain that is, 1 at most;
    ``scope`` is the dotted definition around its first change."""

    old_start: int
    new_start: int | None
    method: str
    score: float
    scope: str | None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """How one file of a patch fared. ``path`` is the patch's name for it, ``onto`` its name in the tree."""

    path: str
    onto: str | None
    method: str
    hunks: tuple[HunkRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A thing to look at (review) or a reason (evidence)."""

    kind: str
    text: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PatchReport:
    """The outcome of one patch: unchanged (its text fits as it is), offset (only its lines moved), merged (three-way),
    structural (by a rule about syntax), relocated (its file or code has moved), upstreamed, partial, superseded,
    conflict, waiting or refused; or what a person has decided.

    ``changes`` are the files as they should be after it; ``proposals``, after a conflict, the files with
    markers in them.
    """

    name: str
    outcome: str
    files: tuple[FileRecord, ...] = ()
    review: tuple[Note, ...] = ()
    evidence: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    changes: Mapping[str, Entry] = field(default_factory=dict)
    proposals: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def stuck(self) -> bool:
        """Whether a person has to decide something before anything may build on it."""
        return self.outcome in ("conflict", "superseded", "waiting", "refused")
