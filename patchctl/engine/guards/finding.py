"""A fault that a guard found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault in a result: ``kind`` as the table in :mod:`patchctl.engine.guards` has it, ``text`` a sentence.

    ``line`` counts from 1 in the result (for ``superseded``: in the new tree's file).
    """

    kind: str
    text: str
    line: int | None = None
    file: str | None = None
