"""Hunks: where each ends, whether its header is true, and what stands in it.

The extent and the legality of a hunk are found here, on bytes. The bodies are then read by unidiff, from
text that was split on LF alone, and compared line by line with the bytes they came from: unidiff drops
lines beyond the counts, and a line it lost or added must not pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from patchctl.engine.model import Hunk, Line, Op
from patchctl.engine.source import Source

# A hunk of a million lines is a data dump, and every line costs some 300 bytes while it is read.
MOST_LINES = 1_000_000

# Ten digits number every line of the largest file anyone has; more would only feed a slow int().
HEADER = re.compile(rb"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@(?: (.*)|(.*))", re.DOTALL)

_VERSION = rb"\d+(?:\.[\w-]+)+(?: \(.*\))?"


@dataclass(frozen=True, slots=True)
class Extent:
    """A hunk's header numbers and the half-open range of its body in the source's lines."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: bytes
    start: int
    end: int


def find(source: Source, at: int, file: str, git: bool) -> list[Extent]:
    """The hunks that begin at line index ``at``, which holds the first header; ``git``: in a git section.

    Raises Refused (``hunk-counts``, ``hunk-order``, ``truncated``, ``too-large``) where a header and its
    body, or two hunks, contradict each other.
    """
    found: list[Extent] = []
    lines = source.lines
    while at < len(lines) and lines[at].startswith(b"@@"):
        extent = _extent(source, at, file, len(found) + 1, git)
        if found:
            _check_order(source, found[-1], extent, file, len(found) + 1)
        found.append(extent)
        at = extent.end
    _check_tail(source, at, file, len(found))
    return found


def read(source: Source, extents: list[Extent], file: str, crlf: bool) -> tuple[Hunk, ...]:
    """The hunks at ``extents``; ``crlf`` takes one CR off the end of every line.

    Raises Refused when unidiff and the bytes disagree, or when an end-of-file marker stands in the middle.
    """
    fed = [_text(source, extent, crlf) for extent in extents]
    if not source.known:
        _verify(source, extents, fed, file)
    return tuple(
        _hunk(source, extent, body, file, number)
        for number, (extent, body) in enumerate(zip(extents, fed, strict=True), 1)
    )


def _extent(source: Source, at: int, file: str, number: int, git: bool) -> Extent:
    lines = source.lines
    header = HEADER.fullmatch(lines[at])
    if header is None:
        raise source.refused(
            "hunk-header", f"line {source.number(at)} is no valid hunk header: {_shown(lines[at])}", file, number
        )
    old_start, old_count, new_start, new_count = (1 if n is None else int(n) for n in header.group(1, 2, 3, 4))
    heading = (header.group(5) or header.group(6) or b"").rstrip(b"\r")
    if (old_count and not old_start) or (new_count and not new_start) or not (old_count or new_count):
        raise source.refused(
            "hunk-header", f"the header of hunk {number} names lines that can't be: {_shown(lines[at])}", file, number
        )
    if old_count + new_count > MOST_LINES:
        raise source.refused("too-large", f"hunk {number} has more than {MOST_LINES} lines", file, number)
    end = _end(source, at + 1, old_count, new_count, file, number)
    _check_swallowed(source, at + 1, end, file, number, git)
    return Extent(old_start, old_count, new_start, new_count, heading, at + 1, end)


def _end(source: Source, at: int, old: int, new: int, file: str, number: int) -> int:
    """The index behind the body that begins at ``at`` and has ``old`` and ``new`` lines."""
    lines, start = source.lines, at
    while old or new:
        if at == len(lines):
            raise source.refused(
                "truncated",
                f"the patch ends inside hunk {number} of {file}: its header promises {_open(old, new)} more",
                file,
                number,
            )
        line = lines[at]
        mark = line[:1]
        if mark == b"+":
            new -= 1
        elif mark == b"-":
            old -= 1
        elif mark == b" " or line in (b"", b"\r"):  # blank context that lost its space in a mailer or editor
            old -= 1
            new -= 1
        elif mark != b"\\" or at == start:
            raise source.refused(
                "hunk-counts",
                f"hunk {number} of {file} ends at line {source.number(at)}, but its header promises {_open(old, new)}"
                " more",
                file,
                number,
            )
        if old < 0 or new < 0:
            raise source.refused(
                "hunk-counts", f"hunk {number} of {file} has more lines than its header says", file, number
            )
        at += 1
    while at < len(lines) and lines[at].startswith(b"\\"):
        at += 1
    if at == len(lines) and source.unterminated and not lines[-1].startswith(b"\\"):
        raise source.refused(
            "truncated",
            f"the patch ends inside the last line of hunk {number} of {file}: there is no line end. If nothing is"
            " missing, add one",
            file,
            number,
        )
    return at


def _check_swallowed(source: Source, start: int, end: int, file: str, number: int, git: bool) -> None:
    """Refuse a hunk whose counts are so large that it took a mail signature or a plain file header for its own."""
    lines = source.lines
    if end - start < 1:
        return
    following = lines[end] if end < len(lines) else b""
    signature = lines[end - 1].rstrip(b"\r") == b"-- " and re.fullmatch(_VERSION, following.rstrip())
    header = (
        not git
        and end - start >= 2
        and lines[end - 2].startswith(b"--- ")
        and lines[end - 1].startswith(b"+++ ")
        and following.startswith(b"@@ -")
    )
    if signature or header:
        what = "the mail's signature" if signature else "the next file's header"
        raise source.refused(
            "hunk-counts", f"the header of hunk {number} of {file} promises too much: {what} would be part of it",
            file, number,
        )  # fmt: skip


def _check_order(source: Source, before: Extent, extent: Extent, file: str, number: int) -> None:
    if _first(extent.old_start, extent.old_count) < _first(before.old_start, before.old_count) + before.old_count:
        later = extent.old_start >= before.old_start
        raise source.refused(
            "hunk-order",
            f"hunk {number} of {file} {'overlaps' if later else 'stands above'} the hunk before it",
            file,
            number,
        )


def _check_tail(source: Source, at: int, file: str, number: int) -> None:
    """Refuse when what follows a complete hunk looks like more of it: counts too small drop lines in silence."""
    lines = source.lines
    behind = at
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at == len(lines):
        return
    line = lines[at]
    if line[:1] not in (b"+", b"-", b"\\") and not (line[:1] == b" " and at == behind):
        return
    if line.rstrip() == b"--" or line.startswith((b"-----BEGIN ", b"-----END ")):
        return
    if line.rstrip() == b"---" and at > behind:
        return
    if line.startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ "):
        return
    raise source.refused(
        "hunk-counts",
        f"line {source.number(at)} looks like part of hunk {number} of {file}, but the hunk's header does not count it",
        file,
        number,
    )


def _first(start: int, count: int) -> int:
    """The index (from 0) of a side's first line; an empty side starts behind the line it names."""
    return start - 1 if count else start


def _open(old: int, new: int) -> str:
    return f"{old} old and {new} new lines"


def _text(source: Source, extent: Extent, crlf: bool) -> list[bytes]:
    """The body's lines with the marks that unidiff knows: blank context with its space, git's end-of-file marker."""
    raw = source.lines[extent.start : extent.end]
    if crlf:
        raw = [line[:-1] if line.endswith(b"\r") else line for line in raw]
    return [line if line[:1] in (b" ", b"+", b"-") else _mended(line) for line in raw]


def _mended(line: bytes) -> bytes:
    return b"\\ No newline at end of file" if line[:1] == b"\\" else b" " + line


def _verify(source: Source, extents: list[Extent], fed: list[list[bytes]], file: str) -> None:
    """Have unidiff read the hunks, and make sure that it saw the same numbers and lines."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text: list[str] = ["--- a\n", "+++ a\n"]
    for extent, body in zip(extents, fed, strict=True):
        text.append(f"@@ -{extent.old_start},{extent.old_count} +{extent.new_start},{extent.new_count} @@\n")
        text += [line + "\n" for line in b"\n".join(body).decode("utf-8", "surrogateescape").split("\n")]
    try:
        files = PatchSet(text)
    except (UnidiffParseError, AssertionError) as error:
        raise source.refused("unreadable", f"the hunks of {file} can't be read: {error}", file) from None
    if len(files) != 1 or len(files[0]) != len(extents):
        raise source.refused("unreadable", f"the hunks of {file} were read as another number of files or hunks", file)
    at = 2
    for number, (extent, body, hunk) in enumerate(zip(extents, fed, files[0], strict=True), 1):
        numbers = (hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length)
        end = at + 1 + len(body)
        same = numbers == (extent.old_start, extent.old_count, extent.new_start, extent.new_count)
        same = same and len(hunk) == len(body)
        if not same or any(line.line_type + line.value != text[at + 1 + n] for n, line in enumerate(hunk)):
            raise source.refused("unreadable", f"hunk {number} of {file} was not read as it stands", file, number)
        at = end


def _hunk(source: Source, extent: Extent, body: list[bytes], file: str, number: int) -> Hunk:
    lines: list[Line] = []
    ended: set[Op] = set()  # the marks that may not come any more: their side has had its unterminated last line
    for raw in body:
        op = _OPS.get(raw[:1])
        if (ended and op in ended) or (op is None and not (lines and lines[-1].data.endswith(b"\n"))):
            raise source.refused(
                "eof-marker", f"an end-of-file marker stands in the middle of hunk {number} of {file}", file, number
            )
        if op is None:
            last = lines.pop()
            lines.append(Line(last.op, last.data[:-1]))
            ended |= _ENDED_BY[last.op]
        else:
            lines.append(Line(op, raw[1:] + b"\n"))
    return Hunk(extent.old_start, extent.old_count, extent.new_start, extent.new_count, extent.heading, tuple(lines))


_OPS = {op.value.encode(): op for op in Op}
_ENDED_BY = {
    Op.CONTEXT: {Op.CONTEXT, Op.REMOVE, Op.ADD},
    Op.REMOVE: {Op.CONTEXT, Op.REMOVE},
    Op.ADD: {Op.CONTEXT, Op.ADD},
}


def _shown(line: bytes) -> str:
    return repr(line[:80])[2:-1]
