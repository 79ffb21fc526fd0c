"""An upgrade as a JSON document: the values as they are, bytes that are no UTF-8 as surrogate escapes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

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
    """``value`` with objects for dataclasses, as they are without being asked to be anything else."""
    return msgspec.to_builtins(value, builtin_types=(bytes,))
