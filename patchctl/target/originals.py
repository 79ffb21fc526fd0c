"""What content and mode alone don't tell of a file, kept in the receipt so that unapply can restore it."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from typing import Any

from patchctl.engine.state import FileState
from patchctl.series.receipt import Receipt, Stamp
from patchctl.target.safeio import Root
from patchctl.target.transaction import Change, stamp

KEY = "originals"


def of(receipt: Receipt | None) -> Mapping[str, Mapping[str, Any]]:
    """The facts that ``receipt`` holds, by the file's name in its place; without any that somebody broke."""
    found = receipt.extra.get(KEY) if receipt is not None else None
    return {name: facts for name, facts in found.items() if _sound(facts)} if isinstance(found, dict) else {}


def carried(root: Root, old: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The facts for ``names``: those already known, else what stands there now; none for a file that isn't there."""
    facts: dict[str, Mapping[str, Any]] = {}
    for name in sorted(names):
        known = old.get(name) or _facts(root, name)
        if known is not None:
            facts[name] = known
    return facts


def restoring(change: Change, old: Mapping[str, Mapping[str, Any]], *, times: bool) -> Change:
    """``change``, with permissions (and, if ``times``, the modification time) if it brings the original back."""
    facts = old.get(change.path)
    if facts is None or not is_original(change.after, facts) or stamp(change.before) == stamp(change.after):
        return change
    mtime = int(facts["mtime_ns"]) if times else None
    return Change(change.path, change.before, change.after, mtime, int(facts["permissions"]), change.of_state)


def is_original(state: FileState | Stamp | None, facts: Mapping[str, Any] | None) -> bool:
    """Whether ``state`` is the file that ``facts`` were taken of."""
    return facts is not None and stamp(state) == Stamp(facts["blob"], facts["mode"])


def _facts(root: Root, name: str) -> dict[str, Any] | None:
    state: FileState | None = root.read(name)
    found = root.lstat(name)
    identity = stamp(state)
    if identity is None or found is None:
        return None
    return {
        "blob": identity.blob,
        "mode": identity.mode,
        "permissions": stat.S_IMODE(found.st_mode),
        "mtime_ns": found.st_mtime_ns,
    }


def _sound(facts: object) -> bool:
    if not isinstance(facts, dict) or not all(isinstance(facts.get(key), kind) for key, kind in _KINDS.items()):
        return False
    return possible(facts)


def possible(facts: Mapping[str, Any]) -> bool:
    """Whether a file can have the permissions and the time that ``facts`` tell of."""
    return bool(0 <= facts["permissions"] <= 0o7777 and abs(facts["mtime_ns"]) < 1 << 63)


_KINDS = {"blob": str, "mode": str, "permissions": int, "mtime_ns": int}
