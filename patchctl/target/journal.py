"""The journal of a transaction: what a killed run leaves behind for the next one to put right.

It stands as ``journal.json`` in the state folder from before the first change to after the last. Its phases:
``staging``: new contents are being laid out, nothing else is touched; ``ready``: files may have moved, take
them back. Renamed to ``journal.done`` it says that the transaction is complete, only litter is left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Stamp
from patchctl.target.safeio import Root, rename
from patchctl.target.traces import DONE, DRAFT, STAGE, STANDING

SCHEMA = "patchctl.journal/1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file's move. ``soft`` ones are discarded files whose content does not matter (bytecode)."""

    path: str
    before: Stamp | None
    after: Stamp | None
    of_state: bool = False
    soft: bool = False


@dataclass(frozen=True, slots=True)
class Journal:
    """``made`` are the folders that the transaction makes, outermost first; ``folders`` the permissions of those
    that it may empty and remove; ``token`` makes the names of temporary files beside a destination its own;
    ``note`` belongs to the caller."""

    phase: str
    token: str = ""
    entries: tuple[Entry, ...] = ()
    made: tuple[str, ...] = ()
    folders: Mapping[str, int] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)

    def beside(self, number: int) -> str:
        """A temporary name in the folder of entry ``number``, for a destination on another file system."""
        folder, slash, _ = self.entries[number].path.rpartition("/")
        return f"{folder}{slash}.patchctl-{self.token}-{number}"


def kept(number: int) -> str:
    """Where the file that entry ``number`` replaces is kept, below the state folder."""
    return f"{STAGE}/old-{number}"


def staged(number: int) -> str:
    """Where the new content of entry ``number`` waits."""
    return f"{STAGE}/new-{number}"


def write(state: Root, journal: Journal, *, sync: bool) -> None:
    """Put ``journal`` in place of the one that stands, in one step; on the disk, not only in memory, if ``sync``."""
    document = {"schema": SCHEMA, **asdict(journal)}
    state.unlink(DRAFT)
    state.write(DRAFT, json.dumps(document).encode())
    if sync:
        state.sync_file(DRAFT)
    rename(state, DRAFT, state, STANDING)
    if sync:
        state.sync()


def read(state: Root) -> Journal | None:
    """The journal that stands, None if there is none (or one that had not begun, or is done).

    Raises Refused for a document that this version can't read.
    """
    found = state.read(STANDING)
    if found is None:
        return None
    try:
        document = json.loads(found.data)
        if document["schema"] != SCHEMA:
            raise ValueError(document["schema"])
        if document["phase"] not in ("staging", "ready"):
            raise ValueError(document["phase"])  # to clear it up would throw the way back away
        return Journal(
            phase=document["phase"],
            token=_name(document["token"]),
            entries=tuple(_entry(entry) for entry in document["entries"]),
            made=tuple(map(_name, document["made"])),
            folders={_name(path): int(bits) & 0o7777 for path, bits in document["folders"].items()},
            note=dict(document["note"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        where = state.path / STANDING
        message = f"{where} is not a journal that this version of patchctl can read."
        raise Refused(Problem("journal", message, file=str(where))) from None


def _entry(document: Mapping[str, Any]) -> Entry:
    before, after = (document[side] and Stamp(**document[side]) for side in ("before", "after"))
    return Entry(_name(document["path"]), before, after, bool(document["of_state"]), bool(document["soft"]))


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode("utf-8", "surrogateescape")  # raises for what no name can hold
    return value


def mark_done(state: Root) -> None:
    """The moment from which the transaction counts."""
    rename(state, STANDING, state, DONE)
    state.sync()
