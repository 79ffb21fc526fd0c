"""Compiled modules beside their sources: which of them a changed source makes stale, and their safe-keeping.

Python takes bytecode for current by the source's time and size, by its hash, or (``unchecked-hash``) on faith. So what
was compiled from a source that changes has to go, for every interpreter and optimisation level. It is kept, byte for
byte, in the dist-info folder, and comes back with the source it was made from, whose time comes back as well. Bytecode
under ``PYTHONPYCACHEPREFIX`` is out of reach; the new source's later time makes Python compile it anew.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from patchctl.engine.state import LINK
from patchctl.series.receipt import Receipt
from patchctl.target import originals
from patchctl.target.safeio import Root
from patchctl.target.transaction import Change

FOLDER = "patchctl-bytecode"
KEY = "bytecode"  # what is kept, in a receipt's extra
_KINDS = {"source": str, "kept": str, "permissions": int, "mtime_ns": int}


@dataclass(frozen=True, slots=True)
class Care:
    """What becomes of bytecode in a transaction: changes to make, files to discard, and what is kept afterwards
    (by the bytecode's name: where it is kept, its permissions and time)."""

    changes: tuple[Change, ...] = ()
    discard: tuple[str, ...] = ()
    kept: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def kept_by(receipt: Receipt | None) -> Mapping[str, Mapping[str, Any]]:
    """What ``receipt`` says is kept, by the bytecode's name; without what somebody broke."""
    found = receipt.extra.get(KEY) if receipt is not None else None
    if not isinstance(found, dict):
        return {}
    compiled = (name for name in found if name.endswith((".pyc", ".pyo")))
    return {path: found[path] for path in compiled if isinstance(found[path], dict) and _sound(found[path])}


def _sound(told: Mapping[str, Any]) -> bool:
    known = all(isinstance(told.get(key), kind) for key, kind in _KINDS.items())
    return known and originals.possible(told) and f"/{FOLDER}/" in told["kept"]


def of(root: Root, source: str) -> list[str]:
    """The bytecode files of the module ``source`` that stand below ``root``; none if it is no module."""
    if not source.endswith(".py"):
        return []
    folder, slash, name = source.rpartition("/")
    stem = name.removesuffix(".py")
    cache = f"{folder}{slash}__pycache__"
    pattern = re.compile(re.escape(stem) + r"\.[^.]+(?:\.opt-[^.]+)?\.pyc")
    found = [f"{cache}/{entry}" for entry in root.names(cache) if pattern.fullmatch(entry)]
    beside = [f"{folder}{slash}{stem}{suffix}" for suffix in (".pyc", ".pyo")]
    return found + [path for path in beside if root.lstat(path) is not None]


def put_by(root: Root, source: str, dist_info: str) -> Care:
    """Take the bytecode of a source that is about to lose its original content into safe-keeping."""
    changes: list[Change] = []
    discard: list[str] = []
    kept: dict[str, Mapping[str, Any]] = {}
    for path in of(root, source):
        state = root.read(path)
        found = root.lstat(path)
        if state is None or found is None or state.mode == LINK:
            discard.append(path)
            continue
        place = f"{dist_info}/{FOLDER}/{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:20]}"
        kept[path] = {
            "source": source,
            "kept": place,
            "permissions": stat.S_IMODE(found.st_mode),
            "mtime_ns": found.st_mtime_ns,
        }
        changes += [Change(path, state, None), Change(place, root.read(place), state)]
    return Care(tuple(changes), tuple(discard), kept)


def bring_back(root: Root, source: str, kept: Mapping[str, Mapping[str, Any]]) -> Care:
    """Put the bytecode of a source that has its original content again where it was; what was compiled since goes."""
    changes: list[Change] = []
    mine = {path: facts for path, facts in kept.items() if facts["source"] == source}
    restored = set()
    for path, facts in mine.items():
        state = root.read(facts["kept"])
        if state is None:
            continue
        now = root.read(path)
        if now is not None and now.mode == LINK:
            continue
        restored.add(path)
        changes += [
            Change(path, now, state, int(facts["mtime_ns"]), int(facts["permissions"])),
            Change(facts["kept"], state, None),
        ]
    return Care(tuple(changes), tuple(path for path in of(root, source) if path not in restored))
