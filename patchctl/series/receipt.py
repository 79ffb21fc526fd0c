"""The receipt: what is live in a place, with the hashes that prove it.

A versioned JSON document that stands where the series was applied. It carries the patches themselves,
so that they can be proved and taken back without the project they came from. Reading it costs little
(only the standard library), since a container's entrypoint asks at every start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "patchctl.receipt/1"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's identity: its git blob id (40 hex digits) and its mode (``100644`` …)."""

    blob: str
    mode: str


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A file that a patch changes, before and after it; None is no file. Paths are the repository's."""

    path: str
    before: Stamp | None
    after: Stamp | None


@dataclass(frozen=True, slots=True)
class AppliedPatch:
    """A patch that is live: the sha256 of its file, its footprint, and its text (surrogate-escaped)."""

    id: str
    sha256: str
    files: tuple[TouchedFile, ...]
    text: str
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a place says of itself.

    ``source`` names where the pristine tree came from, ``base`` the commit below the series in a checkout;
    ``layout`` is the prefix mapping (repository to place) that was used; ``extra`` is what the kind of place
    needs to restore itself (removed RECORD lines, modification times).
    """

    upstream: str
    target: str
    source: str
    lock_digest: str
    tool: str
    python: str
    patches: tuple[AppliedPatch, ...]
    base: str | None = None
    layout: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def dump(receipt: Receipt) -> bytes:
    """``receipt`` as JSON text, the same bytes for the same value."""
    document = {
        "schema": SCHEMA,
        "upstream": receipt.upstream,
        "target": receipt.target,
        "source": receipt.source,
        "base": receipt.base,
        "lock_digest": receipt.lock_digest,
        "tool": receipt.tool,
        "python": receipt.python,
        "layout": dict(receipt.layout),
        "patches": [
            {
                "id": patch.id,
                "sha256": patch.sha256,
                "commit": patch.commit,
                "files": [_file_document(file) for file in patch.files],
                "text": patch.text,
            }
            for patch in receipt.patches
        ],
        "extra": dict(receipt.extra),
    }
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def load(data: bytes) -> Receipt:
    """The receipt that ``data`` holds. Raises ValueError for anything else, also for a later version."""
    document = json.loads(data)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} document")
    try:
        return Receipt(
            upstream=document["upstream"],
            target=document["target"],
            source=document["source"],
            base=document["base"],
            lock_digest=document["lock_digest"],
            tool=document["tool"],
            python=document["python"],
            layout=document["layout"],
            patches=tuple(
                AppliedPatch(
                    id=patch["id"],
                    sha256=patch["sha256"],
                    commit=patch["commit"],
                    files=tuple(_file(file) for file in patch["files"]),
                    text=patch["text"],
                )
                for patch in document["patches"]
            ),
            extra=document["extra"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"a {SCHEMA} document that lacks {error}") from None


def _file_document(file: TouchedFile) -> dict[str, Any]:
    return {"path": file.path, "before": _stamp_document(file.before), "after": _stamp_document(file.after)}


def _stamp_document(stamp: Stamp | None) -> dict[str, str] | None:
    return None if stamp is None else {"blob": stamp.blob, "mode": stamp.mode}


def _file(document: Mapping[str, Any]) -> TouchedFile:
    return TouchedFile(document["path"], _stamp(document["before"]), _stamp(document["after"]))


def _stamp(document: Mapping[str, str] | None) -> Stamp | None:
    return None if document is None else Stamp(document["blob"], document["mode"])
