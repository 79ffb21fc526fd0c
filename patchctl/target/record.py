"""RECORD, the list of an installed distribution's files with their hashes, edited so that it can be restored.

Format: the "Recording installed projects" specification, lines of CSV (path, ``sha256=`` and the digest in URL-safe
base64 without padding, size). Lines that are not concerned keep every byte, and their order.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Receipt

KEY = "record"  # what undoes our edits, in a receipt's extra


def undo_of(receipt: Receipt | None) -> Mapping[str, Any] | None:
    """What :func:`edit` gave when ``receipt`` was written; None for no receipt, or one that somebody broke."""
    found = receipt.extra.get(KEY) if receipt is not None else None
    try:
        [(int(index), _name(line)) for index, line in found["lines"]]  # type: ignore[index]
        names = [str(name) for name in found["added"]]  # type: ignore[index]
        return {"lines": found["lines"], "added": names, "ended": str(found["ended"])}  # type: ignore[index]
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def original(now: bytes, undo: Mapping[str, Any] | None) -> bytes:
    """What RECORD was before :func:`edit`, which gave ``undo``; edits that others made since stay."""
    if not undo:
        return now
    added = set(undo["added"])
    named = [(_name(line), line) for line in _lines(now)]
    lines = [line for name, line in named if name not in added]
    at: dict[str, list[int]] = {}  # a name may stand in it twice
    for index, name in enumerate(name for name, _ in named if name not in added):
        at.setdefault(name, []).append(index)
    missing = []
    for index, line in undo["lines"]:
        name = _name(line)
        if at.get(name):
            lines[at[name].pop(0)] = line
        else:
            missing.append((index, line))
    for index, line in sorted(missing):
        lines.insert(index, line)
    text = "".join(lines)
    return _encode(text[: -len(undo["ended"])] if undo["ended"] and text.endswith(undo["ended"]) else text)


def edit(
    before: bytes,
    changed: Mapping[str, bytes],
    gone: Iterable[str],
    new: Mapping[str, bytes],
    later: Iterable[str] = (),
) -> tuple[bytes, dict[str, Any]]:
    """RECORD with the contents of ``changed`` files, without those ``gone``, with ``new`` ones at its end.

    Returns it with what :func:`original` needs to restore it. ``later`` are files that :func:`append` will add. A
    changed or gone file that RECORD doesn't list stays unlisted. Raises Refused for a RECORD that can't be read.
    """
    lines = _lines(before)
    end = _end(lines)
    removed = set(gone)
    undo: list[tuple[int, str]] = []
    kept: list[str] = []
    for index, line in enumerate(lines):
        name = _name(line)
        if name in removed or name in changed:
            undo.append((index, line))
        if name in changed:
            line = _render(name, changed[name]) + line[len(line.rstrip("\r\n")) :]
        if name not in removed:
            kept.append(line)
    added = [*new, *later]
    ended = ""
    if added and kept and not kept[-1].endswith("\n"):
        kept[-1] += end
        ended = end
    kept += [_render(name, data) + end for name, data in new.items()]
    return _encode("".join(kept)), {"lines": undo, "added": added, "ended": ended}


def append(record: bytes, name: str, data: bytes) -> bytes:
    """RECORD with the file ``name`` that :func:`edit` was told of; its content could hold what that returned."""
    end = b"\r\n" if record[: record.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    return record + _encode(_render(name, data)) + end


def names(data: bytes) -> list[str]:
    """The files that RECORD lists. Raises Refused if it can't be read."""
    return [_name(line) for line in _lines(data)]


def _lines(data: bytes) -> list[str]:
    lines = list(io.StringIO(data.decode("utf-8", "surrogateescape"), newline="\n"))
    if b'"' not in data:
        return lines
    whole: list[str] = []
    open_quote = False
    for line in lines:
        if open_quote:  # a name in quotes may hold line ends
            whole[-1] += line
        else:
            whole.append(line)
        if '"' in line and line.count('"') % 2:
            open_quote = not open_quote
    if open_quote:
        raise Refused(Problem("record", "RECORD can't be read: a quotation mark is left open in it."))
    return whole


def _end(lines: Sequence[str]) -> str:
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def _name(line: str) -> str:
    if line.startswith('"'):
        quoted = re.match(r'"((?:[^"]|"")*)"', line)
        return quoted[1].replace('""', '"') if quoted else line
    return line[:comma] if (comma := line.find(",")) >= 0 else line.rstrip("\r\n")


def _render(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    if any(mark in name for mark in '",\r\n'):
        name = '"' + name.replace('"', '""') + '"'
    return f"{name},sha256={digest},{len(data)}"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
