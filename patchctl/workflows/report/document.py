"""An upgrade as a JSON document: the values as they are, bytes that are no UTF-8 as surrogate escapes."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from patchctl.workflows.report.model import PatchStory, Upgrade

SCHEMA = "patchctl.report/1"


def payload(upgrade: Upgrade) -> dict[str, Any]:
    """The document without its envelope."""
    return {
        "name": upgrade.name,
        "from": upgrade.from_tag,
        "to": upgrade.to_tag,
        "today": upgrade.today,
        "counts": upgrade.counts,
        "decisions_needed": [patch.id for patch in upgrade.patches if patch.stuck],
        "to_review": [patch.id for patch in upgrade.patches if patch.open],
        "history": _plain(upgrade.history),
        "requires": [{**_plain(entry), "changed": entry.changed} for entry in upgrade.requires],
        "patches": [_patch(patch) for patch in upgrade.patches],
    }


def render(upgrade: Upgrade) -> bytes:
    """The document as a file."""
    found = {"schema": SCHEMA, "ok": True, **payload(upgrade), "error": None, "problems": [], "warnings": []}
    return json.dumps(found, ensure_ascii=True).encode("ascii") + b"\n"


def _patch(patch: PatchStory) -> dict[str, Any]:
    found: dict[str, Any] = _plain(patch)
    found["requires"] = dict(patch.requires)
    found["waits"] = patch.waits
    return found


def _plain(value: Any) -> Any:
    """``value`` with objects for dataclasses and lists for tuples: ``asdict`` without its copies."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in _names(type(value))}
    return value


@lru_cache(maxsize=64)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
