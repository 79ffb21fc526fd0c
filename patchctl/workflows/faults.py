"""Going on past a fault, so that a person sees all misfits of a run at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from patchctl.errors import SEVERITY, PatchctlError, Problem


class Faults:
    """The faults met so far."""

    def __init__(self) -> None:
        self._met: list[PatchctlError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A context that a fault ends, and that keeps the fault for :meth:`settle`."""
        try:
            yield
        except PatchctlError as fault:
            self._met.append(fault)

    def settle(self) -> None:
        """Raise what was met as one fault of the gravest kind among it, the gravest problems first."""
        if not self._met:
            return
        self._met.sort(key=lambda fault: SEVERITY.index(type(fault)))
        problems: dict[Problem, None] = dict.fromkeys(problem for fault in self._met for problem in fault.problems)
        raise type(self._met[0])(problems)
