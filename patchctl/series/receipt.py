"""The receipt: what is live in a place, with the hashes that prove it.

A versioned JSON document that stands where the series was applied. It carries the patches themselves,
so that they can be proved and taken back without the project they came from. Reading it costs little
(only the standard library), since a container's entrypoint asks at every start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from patchctl.engine import names

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
    try:
        document = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} document")
    try:
        return Receipt(
            upstream=_text(document["upstream"]),
            target=_text(document["target"]),
            source=_text(document["source"]),
            base=_id(document["base"]),
            lock_digest=_text(document["lock_digest"]),
            tool=_text(document["tool"]),
            python=_text(document["python"]),
            layout={_text(old): _text(new) for old, new in _kind(document["layout"], dict).items()},
            patches=_unlike(tuple(_patch(patch) for patch in _kind(document["patches"], list)), "id"),
            extra=_kind(document["extra"], dict),
        )
    except KeyError as error:
        raise ValueError(f"a {SCHEMA} document that lacks {error}") from None


def _file_document(file: TouchedFile) -> dict[str, Any]:
    return {"path": file.path, "before": _stamp_document(file.before), "after": _stamp_document(file.after)}


def _stamp_document(stamp: Stamp | None) -> dict[str, str] | None:
    return None if stamp is None else {"blob": stamp.blob, "mode": stamp.mode}


# What somebody else may have written is believed no further than it is looked at.

_HEX = {40: re.compile(r"[0-9a-f]{40}"), 64: re.compile(r"[0-9a-f]{64}")}
_MODES = frozenset({"100644", "100755", "120000"})
_T = TypeVar("_T")


def _patch(document: Any) -> AppliedPatch:
    files = tuple(_file(file) for file in _kind(_kind(document, dict)["files"], list))
    if not files:
        raise ValueError("a patch that touches no file")
    return AppliedPatch(
        id=_text(document["id"]),
        sha256=_hex(document["sha256"], 64),
        commit=_id(document["commit"]),
        files=_unlike(files, "path"),
        text=_text(document["text"]),
    )


def _file(document: Any) -> TouchedFile:
    path = _text(_kind(document, dict)["path"])
    unsafe = names.check(path)
    if unsafe:
        raise ValueError(unsafe)
    return TouchedFile(path, _stamp(document["before"]), _stamp(document["after"]))


def _stamp(document: Any) -> Stamp | None:
    if document is None:
        return None
    mode = _text(_kind(document, dict)["mode"])
    if mode not in _MODES:
        raise ValueError(f"{mode!a} is no mode of a file")
    return Stamp(_hex(document["blob"], 40), mode)


def _id(value: Any) -> str | None:
    return None if value is None else _hex(value, 40)


def _hex(value: Any, digits: int) -> str:
    if not _HEX[digits].fullmatch(_text(value)):
        raise ValueError(f"{value[:80]!a} is no id of {digits} hex digits")
    return str(value)


def _text(value: Any) -> str:
    text = _kind(value, str)
    text.encode("utf-8", "surrogateescape")  # raises for what no file and no name can hold
    return text


def _kind(value: Any, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise ValueError(f"a {type(value).__name__} where a {kind.__name__} is expected")
    return value


def _unlike(values: tuple[_T, ...], name: str) -> tuple[_T, ...]:
    if len({getattr(value, name) for value in values}) < len(values):
        raise ValueError(f"the same {name} twice")
    return values
