"""series.lock: what each target and each patch was when it was last proved.

A JSON document that patchctl writes and people review. Every file that a patch touches stands on a line of
its own, so that two branches that lock different patches merge. Reading needs the standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from patchctl.engine import names
from patchctl.errors import Problem, Refused
from patchctl.series.files import replace_file
from patchctl.series.receipt import Stamp, TouchedFile

FILE_NAME = "series.lock"
SCHEMA = "patchctl.lock/1"
_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pin:
    """What was fetched, per source: hashes as ``sha256:<hex>``, the commit as its id."""

    sdist: str | None = None
    wheels: tuple[str, ...] = ()
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """A finding that a person accepted: what was found (``kind``, ``text``, ``file``), who, when, and why."""

    kind: str
    text: str
    file: str
    by: str
    reason: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a patch file came from: the target that it was moved from, and what became of it on the way."""

    from_target: str
    outcome: str


@dataclass(frozen=True, slots=True)
class LockedPatch:
    """A patch: the sha256 (hex) of its file, and what each file it touches is before and after it.

    ``reviews`` and ``provenance`` hold for the text that has this hash, and for no other.
    """

    id: str
    sha256: str
    files: tuple[TouchedFile, ...]
    reviews: tuple[Review, ...] = ()
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class LockedTarget:
    """A target: its pins, and its patches in order of application."""

    pin: Pin = field(default_factory=Pin)
    patches: tuple[LockedPatch, ...] = ()

    def digest(self) -> str:
        """The sha256 (hex) over this entry's canonical JSON (sorted keys, no blanks, ASCII)."""
        text = json.dumps(_target_document(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def patch(self, patch_id: str) -> LockedPatch | None:
        return next((patch for patch in self.patches if patch.id == patch_id), None)


@dataclass(frozen=True, slots=True)
class Lock:
    """The whole of series.lock."""

    targets: Mapping[str, LockedTarget] = field(default_factory=dict)


def read(path: Path) -> Lock | None:
    """The lock at ``path``, None if there is none. Raises Refused for one that can't be read or is inconsistent."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            _broken(path.name, "it is no regular file")
        return loads(file.read(_MAX_BYTES + 1), path.name)


def loads(data: bytes, name: str = FILE_NAME) -> Lock:
    """The lock that ``data`` holds. Raises Refused as :func:`read` does."""
    if len(data) > _MAX_BYTES:
        _broken(name, "it is larger than any lock that patchctl writes")
    try:
        document = json.loads(data, object_pairs_hook=_unique)
    except RecursionError:
        _broken(name, "it is nested too deeply")
    except ValueError as error:
        marks = re.search(rb"^(<{7}|={7}|>{7})", data, re.MULTILINE)
        _broken(name, "it holds a merge conflict" if marks else f"it is not JSON ({error})")
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        if isinstance(schema, str) and re.fullmatch(r"patchctl\.lock/[0-9]+", schema):
            _broken(name, f"it was written by a newer patchctl ({schema}; this one reads {SCHEMA})", "upgrade patchctl")
        _broken(name, f"it is no {SCHEMA} document")
    try:
        return Lock({tag: _target(entry) for tag, entry in _object(document["targets"]).items()})
    except KeyError as error:
        _broken(name, f"{error} is missing in it")
    except (TypeError, ValueError) as error:
        _broken(name, str(error))


def dumps(lock: Lock) -> bytes:
    """``lock`` as text, the same bytes for the same value: tags by name, patches in order, files by path."""
    parts = [f'{{\n "schema": "{SCHEMA}",\n "targets": {{']
    parts.append(",".join(_target_text(tag, lock.targets[tag]) for tag in sorted(lock.targets)))
    parts.append("\n }\n}\n" if lock.targets else "}\n}\n")
    return "".join(parts).encode("ascii")


def write(path: Path, lock: Lock) -> bool:
    """Write ``lock`` by rename; a file that says so already is left alone. Returns whether anything was written."""
    return replace_file(path, dumps(lock))


def _broken(name: str, why: str, next_step: str = f"git checkout -- {FILE_NAME}") -> NoReturn:
    raise Refused(Problem("integrity", f"{name} can't be relied on: {why}.", file=name, next=next_step))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


# -- reading -------------------------------------------------------------------------------------------------

_HEX64 = re.compile(r"[0-9a-f]{64}")
_BLOB = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MODES = frozenset({"100644", "100755", "120000"})


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"an object is expected where {_short(value)} stands")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list is expected where {_short(value)} stands")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected where {_short(value)} stands")
    return value


def _short(value: Any) -> str:
    return json.dumps(value)[:60]


def _target(value: Any) -> LockedTarget:
    entry = _object(value)
    pin = _object(entry["pin"])
    patches = tuple(_patch(patch) for patch in _list(entry["patches"]))
    _no_twins((patch.id for patch in patches), "the patch")
    return LockedTarget(
        Pin(
            sdist=None if pin.get("sdist") is None else _text(pin["sdist"]),
            wheels=tuple(_text(wheel) for wheel in _list(pin.get("wheels", []))),
            commit=None if pin.get("commit") is None else _text(pin["commit"]),
        ),
        patches,
    )


def _patch(value: Any) -> LockedPatch:
    entry = _object(value)
    name = _text(entry["id"])
    if not _HEX64.fullmatch(_text(entry["sha256"])):
        raise ValueError(f"the sha256 of {name} is not 64 hex digits")
    files = tuple(_file(file) for file in _list(entry["files"]))
    if not files:
        raise ValueError(f"{name} has no files, and a patch that touches none can't be proved to be anywhere")
    _no_twins((file.path for file in files), f"in {name}, the file")
    reviews = tuple(_review(review) for review in _list(entry.get("reviews", [])))
    return LockedPatch(name, entry["sha256"], files, reviews, _provenance(entry.get("provenance")))


def _file(value: Any) -> TouchedFile:
    entry = _object(value)
    unsafe = names.check(_text(entry["path"]))
    if unsafe:
        raise ValueError(unsafe)
    return TouchedFile(entry["path"], _stamp(entry["before"]), _stamp(entry["after"]))


def _stamp(value: Any) -> Stamp | None:
    if value is None:
        return None
    blob, mode = _text(_object(value)["blob"]), _text(value["mode"])
    if not _BLOB.fullmatch(blob):
        raise ValueError(f"{_short(blob)} is no blob id")
    if mode not in _MODES:
        raise ValueError(f"{_short(mode)} is no mode of a file")
    return Stamp(blob, mode)


def _review(value: Any) -> Review:
    entry = {name: _text(text) for name, text in _object(value).items()}
    return Review(entry["kind"], entry["text"], entry["file"], entry["by"], entry["reason"], entry.get("date", ""))


def _provenance(value: Any) -> Provenance | None:
    if value is None:
        return None
    entry = _object(value)
    return Provenance(_text(entry["from"]), _text(entry["outcome"]))


def _no_twins(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name} stands twice in it")
        seen.add(name)


# -- writing -------------------------------------------------------------------------------------------------


def _target_document(target: LockedTarget) -> dict[str, Any]:
    return {"pin": _pin_document(target.pin), "patches": [_patch_document(patch) for patch in target.patches]}


def _pin_document(pin: Pin) -> dict[str, Any]:
    return {"sdist": pin.sdist, "wheels": sorted(pin.wheels), "commit": pin.commit}


def _patch_document(patch: LockedPatch) -> dict[str, Any]:
    return {
        "id": patch.id,
        "sha256": patch.sha256,
        "files": [_file_document(file) for file in sorted(patch.files, key=lambda file: file.path)],
        "reviews": [_review_document(review) for review in patch.reviews],
        # Only where there is one: a patch that was never moved keeps the digest that it always had.
        **({"provenance": _provenance_document(patch.provenance)} if patch.provenance is not None else {}),
    }


def _file_document(file: TouchedFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "before": None if file.before is None else {"blob": file.before.blob, "mode": file.before.mode},
        "after": None if file.after is None else {"blob": file.after.blob, "mode": file.after.mode},
    }


def _review_document(review: Review) -> dict[str, str]:
    return {name: getattr(review, name) for name in Review.__slots__}


def _provenance_document(provenance: Provenance) -> dict[str, str]:
    return {"from": provenance.from_target, "outcome": provenance.outcome}


def _target_text(tag: str, target: LockedTarget) -> str:
    head = f'\n  {_line(tag)}: {{\n   "pin": {_line(_pin_document(target.pin))},\n   "patches": ['
    patches = ",".join(_patch_text(patch) for patch in target.patches)
    return head + patches + ("\n   ]\n  }" if target.patches else "]\n  }")


def _patch_text(patch: LockedPatch) -> str:
    document = _patch_document(patch)
    parts = [f'\n    {{\n     "id": {_line(patch.id)},\n     "sha256": {_line(patch.sha256)},\n     "files": [']
    parts.append(",".join(f"\n      {_line(file)}" for file in document["files"]))
    parts.append("\n     ]" if patch.files else "]")
    if patch.reviews:
        parts.append(',\n     "reviews": [')
        parts.append(",".join(f"\n      {_line(review)}" for review in document["reviews"]))
        parts.append("\n     ]")
    if patch.provenance is not None:
        parts.append(f',\n     "provenance": {_line(document["provenance"])}')
    parts.append("\n    }")
    return "".join(parts)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
