"""Receipts and plans for tests that need no real patches."""

from __future__ import annotations

from collections.abc import Mapping

from patchctl.engine.model import FileState
from patchctl.series.receipt import AppliedPatch, Receipt, TouchedFile
from patchctl.target.place import Move, Place, WritePlan
from patchctl.target.transaction import stamp

States = Mapping[str, FileState | None]


def receipt(before: States, after: States) -> Receipt:
    files = tuple(TouchedFile(path, stamp(before[path]), stamp(after[path])) for path in after)
    patch = AppliedPatch("one", "0" * 64, files, "the text")
    return Receipt("tiny", "v1.0", "test", "1" * 64, "patchctl 0", "3.11", (patch,))


def plan(place: Place, before: States, after: States) -> WritePlan:
    """From what stands there to ``after``; ``before`` is the pristine state of its files."""
    return WritePlan(
        {path: Move(place.read(path), state) for path, state in after.items()}, receipt=receipt(before, after)
    )


def back(place: Place, before: States) -> WritePlan:
    """Back to the pristine state ``before``, without a receipt."""
    return WritePlan({path: Move(place.read(path), state) for path, state in before.items()})
