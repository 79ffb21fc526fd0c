"""What has to be kept right around an installed distribution's sources when they change: RECORD, bytecode, receipt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from patchctl.engine.state import FileState
from patchctl.series import receipt as receipts
from patchctl.series.receipt import Receipt
from patchctl.target import bytecode, originals, record
from patchctl.target.safeio import Root
from patchctl.target.transaction import Change, stamp


@dataclass(frozen=True, slots=True)
class Books:
    """The books of a distribution as they stand: where its receipt and its RECORD are, and what they hold."""

    dist_info: str
    receipt_name: str
    receipt_state: FileState | None
    receipt: Receipt | None
    touched: frozenset[str]  # the files that the receipt's patches touch
    record_name: str
    record_state: FileState


@dataclass(frozen=True, slots=True)
class Entries:
    """What one transaction enters: the changes beside the sources' own, bytecode to discard, the receipt as stored."""

    changes: tuple[Change, ...]
    discard: tuple[str, ...]
    receipt: Receipt | None


def enter(root: Root, books: Books, moves: Sequence[Change], new: Receipt | None, touched: Iterable[str]) -> Entries:
    """What goes with the changes ``moves`` of sources. ``new`` is the receipt as it shall be, without what concerns the
    books; ``touched`` are the files that its patches touch."""
    care = _bytecode(root, books, moves)
    text = record.original(books.record_state.data, record.undo_of(books.receipt))
    stored, data = new, None
    if new is not None:
        stored, data, text = _close(root, books, moves, care, new, touched, text)
    line = Change(books.record_name, books.record_state, FileState(text, books.record_state.mode))
    changes = (
        *care.changes,
        originals.restoring(line, originals.of(books.receipt), times=True),
        Change(books.receipt_name, books.receipt_state, None if data is None else FileState(data)),
    )
    return Entries(changes, care.discard, stored)


def _close(
    root: Root,
    books: Books,
    moves: Sequence[Change],
    care: bytecode.Care,
    new: Receipt,
    touched: Iterable[str],
    text: bytes,
) -> tuple[Receipt, bytes, bytes]:
    """The receipt with all that taking it back needs, its bytes, and RECORD; ``text`` is the original RECORD."""
    facts = {**originals.of(new), **originals.carried(root, originals.of(books.receipt), [books.record_name])}
    after = {change.path: change.after for change in moves}
    changed: dict[str, bytes] = {}
    added: dict[str, bytes] = {}
    gone: list[str] = list(care.kept)
    for name in touched:
        state = after[name] if name in after else root.read(name)
        known = facts.get(name)
        if state is None:
            gone.append(name)
        elif known is None:
            added[name] = state.data
        elif state.blob != known["blob"]:
            changed[name] = state.data
    laid_down = {change.path: change.after for change in care.changes if change.after is not None}
    for told in care.kept.values():
        state = laid_down.get(told["kept"]) or root.read(told["kept"])
        if state is not None:
            added[told["kept"]] = state.data
    # The receipt tells how to undo what is done to RECORD, its own line included; that line has its hash.
    text, undo = record.edit(text, changed, gone, added, later=[books.receipt_name])
    extra = {**new.extra, originals.KEY: facts, bytecode.KEY: dict(care.kept), record.KEY: undo}
    stored = replace(new, extra=extra)
    data = receipts.dump(stored)
    return stored, data, record.append(text, books.receipt_name, data)


def _bytecode(root: Root, books: Books, moves: Iterable[Change]) -> bytecode.Care:
    """What to do with the bytecode of all that ``moves`` change."""
    facts = originals.of(books.receipt)
    kept: dict[str, Mapping[str, Any]] = dict(bytecode.kept_by(books.receipt))
    todo: list[Change] = []
    discard: list[str] = []
    for change in moves:
        if stamp(change.before) == stamp(change.after):
            continue
        if originals.is_original(change.after, facts.get(change.path)):
            care = bytecode.bring_back(root, change.path, kept)
            kept = {path: told for path, told in kept.items() if told["source"] != change.path}
        elif change.path not in books.touched or originals.is_original(change.before, facts.get(change.path)):
            care = bytecode.put_by(root, change.path, books.dist_info)
            kept.update(care.kept)
        else:
            care = bytecode.Care(discard=tuple(bytecode.of(root, change.path)))
        todo += care.changes
        discard += care.discard
    return bytecode.Care(tuple(todo), tuple(discard), kept)
