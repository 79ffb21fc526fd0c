"""What lint finds, and what its rules look at."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from patchctl.engine.model import Patch
from patchctl.errors import Problem, Refused
from patchctl.series import load
from patchctl.series.lock import Lock
from patchctl.series.patchfile import PatchFile
from patchctl.series.project import Project
from patchctl.series.yamldoc import Path


class Severity(enum.Enum):
    """``error`` and ``warning`` make lint fail; a ``note`` says what could not be checked."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong at a place: ``path`` is relative to the project, lines and columns count from 1.

    ``file`` is the file of the upstream that it is about, ``fixable`` whether ``lint --fix`` mends it.
    """

    rule: str
    message: str
    path: str
    line: int = 1
    column: int = 1
    severity: Severity = Severity.ERROR
    target: str | None = None
    patch: str | None = None
    file: str | None = None
    hunk: int | None = None
    next: str | None = None
    fixable: bool = False

    @property
    def problem(self) -> Problem:
        """The finding as every command speaks of problems."""
        message = f"{self.path}:{self.line}: {self.message} [{self.rule}]"
        step = self.next or ("patchctl lint --fix" if self.fixable else None)
        return Problem(self.rule, message, self.patch, self.file or self.path, self.hunk, step)


@dataclass(frozen=True, slots=True)
class Carried:
    """A patch of a target, as far as it can be read.

    ``data`` is None where there is no file to read, ``patches`` empty where it can't be understood; ``refused``
    says why. ``head`` is None where even the head can't be read.
    """

    target: str
    id: str
    path: str
    data: bytes | None
    head: PatchFile | None
    patches: tuple[Patch, ...]
    refused: Refused | None

    @property
    def allowed(self) -> dict[str, str]:
        """Rules that the patch's own head sets aside (``Lint-Allow: RULE reason``), with the reason."""
        if self.head is None:
            return {}
        values = (value.partition(" ") for value in self.head.values("Lint-Allow"))
        return {rule: reason.strip() for rule, _, reason in values if reason.strip()}

    def finding(self, rule: str, message: str, **more: object) -> Finding:
        """A finding about this patch."""
        return Finding(rule, message, self.path, target=self.target, patch=self.id, **more)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Context:
    """All that rules look at. They read nothing themselves but the names of files, and the cache."""

    project: Project
    today: datetime.date
    carried: tuple[Carried, ...]
    lock: Lock | None
    lock_fault: Refused | None

    def in_series(self, rule: str, message: str, path: Path, *, key: bool = False, **more: object) -> Finding:
        """A finding about the entry of series.yaml at ``path``; ``key`` points at its key instead of its value."""
        document = self.project.document
        assert document is not None, "a loaded project has its document"
        place = document.key_position(path) if key else document.value_position(path)
        return Finding(rule, message, load.FILE_NAME, place.line, place.column, **more)  # type: ignore[arg-type]

    def of(self, target: str) -> Iterator[Carried]:
        return (carried for carried in self.carried if carried.target == target)


Check: TypeAlias = Callable[[Context], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check with its name; ``about`` says in one line what it finds. ``firm`` ones can't be set aside by a patch."""

    id: str
    about: str
    check: Check
    firm: bool = False
