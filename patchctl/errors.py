"""The faults a command can end with, sorted by what the user can do about them.

The core raises them, ``cli/`` maps them to exit codes in one place. Each carries every problem of the
run, not only the first: a person who mends one misfit should not meet the next one a minute later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what to do next.

    ``kind`` is a short stable word for machines (``unsafe-path``, ``stale-lock`` …); ``message`` is one
    or more sentences for people; ``hunk`` counts from 1; ``next`` is a command to run. Names that are
    not UTF-8 are surrogate-escaped.
    """

    kind: str
    message: str
    patch: str | None = None
    file: str | None = None
    hunk: int | None = None
    next: str | None = None


class PatchctlError(Exception):
    """Base of the faults below; never raised itself."""

    exit_code: ClassVar[int]

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


class CheckFailed(PatchctlError):
    """A check did its work and found problems."""

    exit_code = 1


class InvalidInput(PatchctlError):
    """Wrong usage, or a series.yaml that does not say what it must."""

    exit_code = 2


class DecisionNeeded(PatchctlError):
    """A person has to decide: a conflict, a stale lock, a patch that does not fit."""

    exit_code = 3


class EnvironmentFailed(PatchctlError):
    """Network, git, disk or host failed; the same command may work later."""

    exit_code = 4


class Refused(PatchctlError):
    """Doing it would be unsafe, or would destroy something that is not ours."""

    exit_code = 5


# Several faults at once: the one that a person must look at first decides the exit code.
SEVERITY: tuple[type[PatchctlError], ...] = (Refused, EnvironmentFailed, DecisionNeeded, InvalidInput, CheckFailed)
