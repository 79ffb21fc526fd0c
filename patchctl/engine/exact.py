"""The hunks of one file, applied exactly: at their stated lines, every old line equal byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from patchctl.engine.lines import Lines, split
from patchctl.engine.model import FilePatch, Hunk, Line, Op

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Miss:
    """Why hunk ``hunk`` (from 1) does not fit.

    ``kind``: context, whitespace, line-endings, end-of-file, header.
    """

    hunk: int
    kind: str
    reason: str


def apply(hunks: Sequence[Hunk], data: bytes) -> bytes | list[Miss]:
    """``data`` with ``hunks`` applied, or every reason why they do not fit."""
    lines = split(data)
    index = Lines(lines)  # made when the first miss asks for it, once for all of them
    out: list[bytes] = []
    done = 0
    misses: list[Miss] = []
    for number, hunk in enumerate(hunks, 1):
        old = hunk.old
        at = hunk.old_start - 1 if old else hunk.old_start
        miss = _fits(number, hunk, old, index, at)
        if miss is None and not misses:
            out += lines[done:at]
            new = hunk.new
            miss = _numbered(number, hunk, new, len(out)) or _joined(number, new, out)
            out += new
            done = at + len(old)
        if miss is not None:
            misses.append(miss)
    if misses:
        return misses
    rest = lines[done:]
    if rest and out and not out[-1].endswith(b"\n"):
        return [Miss(len(hunks), "end-of-file", "it ends the file without a newline, but the file goes on")]
    out += rest
    return b"".join(out)


def with_crlf(section: FilePatch) -> FilePatch:
    """``section`` read as a change of a CR LF file: every line of its hunks ends with CR LF."""
    return replace(section, crlf=False, hunks=tuple(replace(hunk, lines=_crlf(hunk.lines)) for hunk in section.hunks))


def _crlf(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(Line(line.op, line.data[:-1] + b"\r\n" if line.data.endswith(b"\n") else line.data) for line in lines)


def _fits(number: int, hunk: Hunk, old: tuple[bytes, ...], index: Lines, at: int) -> Miss | None:
    lines = index.lines
    end = at + len(old)
    if at > len(lines) or tuple(lines[at:end]) != old:
        return _explain(number, old, index, at)
    marks = [line.op for line in hunk.lines]
    if marks[0] is Op.CONTEXT and marks[-1] is not Op.CONTEXT and end != len(lines):
        reason = f"it has no context below, so it ends the file, but the file goes on at line {end + 1}"
        return Miss(number, "end-of-file", reason)
    return None


def _numbered(number: int, hunk: Hunk, new: tuple[bytes, ...], here: int) -> Miss | None:
    """The header's new line number must be true as well, else the reverse of the hunk would not be exact."""
    stated = hunk.new_start - 1 if new else hunk.new_start
    if stated == here:
        return None
    reason = f"its header puts the result at line {hunk.new_start}, but it comes out at line {here + bool(new)}"
    return Miss(number, "header", reason)


def _joined(number: int, new: tuple[bytes, ...], out: list[bytes]) -> Miss | None:
    if new and out and not out[-1].endswith(b"\n"):
        return Miss(number, "end-of-file", "it adds lines behind a last line that has no newline")
    return None


def _explain(number: int, old: tuple[bytes, ...], index: Lines, at: int) -> Miss:
    """Say what stands in the file instead: the first line that differs, how it differs, and where the lines are now."""
    lines = index.lines
    offset = next((i for i, line in enumerate(old) if at + i >= len(lines) or lines[at + i] != line), 0)
    expected = old[offset] if old else b""
    where = at + offset + 1
    if at + offset >= len(lines):
        kind, reason = "context", f"the file ends before line {where}, where {_shown(expected)} is expected"
    else:
        found = lines[at + offset]
        kind, reason = _difference(expected, found)
        reason = f"line {where}: expected {_shown(expected)}, found {_shown(found)}{reason}"
    places = index.find(old, 2) if old else []
    if len(places) == 1:
        moved = places[0] - at
        unit = "line" if abs(moved) == 1 else "lines"
        reason += f"; the hunk's lines stand {abs(moved)} {unit} {'lower' if moved > 0 else 'higher'}"
    return Miss(number, kind, reason)


def _difference(expected: bytes, found: bytes) -> tuple[str, str]:
    if expected.rstrip(b"\r\n") == found.rstrip(b"\r\n"):
        if expected.endswith(b"\n") != found.endswith(b"\n"):
            return "end-of-file", " (the newline at the end of the file differs)"
        return "line-endings", " (the line endings differ)"
    if b"".join(expected.split()) == b"".join(found.split()):
        return "whitespace", " (only whitespace differs)"
    return "context", ""


def _shown(line: bytes) -> str:
    text = repr(line.rstrip(b"\n"))[2:-1]
    return f"'{text[:_SHOWN]}…'" if len(text) > _SHOWN else f"'{text}'"
