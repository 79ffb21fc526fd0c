"""The old patch against the new one, as ``git range-diff`` shows it: a diff of two patches.

What moves with every release and says nothing of the patch (line numbers, the text that git puts behind them, blob
ids, the diffstat) is left out of the comparison. The head counts: a message that was changed is a change of the patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchctl.engine.lines import split
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.diff import script
from patchctl.errors import Refused
from patchctl.series import patchfile
from patchctl.workflows.report.model import Block, Interdiff, Row

_CONTEXT = 3
MOST_ROWS = 800
LONGEST_ROW = 2000
_INDEX = re.compile(rb"index [0-9a-f]+\.\.[0-9a-f]+( [0-7]+)?\s*$")
_COUNTS = re.compile(rb"@@ -[0-9]+(?:,([0-9]+))? \+[0-9]+(?:,([0-9]+))? @@")


def compare(old: bytes | None, new: bytes | None) -> Interdiff:
    """Old patch text against new; either may be missing."""
    if old is None or new is None:
        return Interdiff("new-only" if new is not None else "old-only")
    if old == new:
        return Interdiff("same")
    if _evident(old, new):
        return Interdiff("numbers")
    ours, theirs = _shown(old), _shown(new)
    if _keys(ours) == _keys(theirs):
        return Interdiff("numbers")
    return _limited(list(_blocks(ours, theirs)))


def _evident(old: bytes, new: bytes) -> bool:
    """Whether a look at the lines shows that only numbers differ: most patches need not be read to tell."""
    ours, theirs = split(old), split(new)
    if len(ours) != len(theirs):
        return False
    begun = False
    for one, two in zip(ours, theirs, strict=True):
        begun = begun or one.startswith(b"diff --git ")
        if one != two and not (begun and _same_place(one, two)):
            return False
    return True


def _same_place(one: bytes, two: bytes) -> bool:
    """Whether two lines are heads of hunks of one size, or both name blobs."""
    ours, theirs = _COUNTS.match(one), _COUNTS.match(two)
    if ours and theirs:
        return ours.groups() == theirs.groups()
    return bool(_INDEX.match(one) and _INDEX.match(two))


def shown(line: bytes) -> str:
    """A line as text, without its line end; what is longer than anybody reads is cut, and says so."""
    text = line.removesuffix(b"\n")
    if len(text) > LONGEST_ROW:
        return text[:LONGEST_ROW].decode("utf-8", "surrogateescape") + f" … ({len(text) - LONGEST_ROW} bytes more)"
    return text.decode("utf-8", "surrogateescape")


def _keys(lines: Sequence[bytes]) -> list[bytes]:
    """What ``lines`` of two patches are compared by."""
    return [b"@@" if line.startswith(b"@@") else line for line in lines]


def _shown(data: bytes) -> list[bytes]:
    """The lines that count."""
    head, diff = _parts(data)
    lines = split(diff)
    out = head
    at = 0
    while at < len(lines):
        line = lines[at]
        counts = _COUNTS.match(line)
        if counts:
            # Lines of a hunk are content, whatever they look like.
            end = _hunk_end(lines, at + 1, *(int(count) if count else 1 for count in counts.groups()))
            out += [b"@@" + line[counts.end() :], *lines[at + 1 : end]]
            at = end
            continue
        if not _INDEX.match(line):
            out.append(line)
        at += 1
    return out


def _parts(data: bytes) -> tuple[list[bytes], bytes]:
    """The head of a patch as lines, and its diff."""
    try:
        file = patchfile.parse(data)
    except Refused:
        return [], data
    mail = file.mail
    fields = (("From", mail.author), ("Date", mail.date), ("Subject", mail.subject))
    text = [f"{name}: {value}" for name, value in fields if value] + ["", *mail.body.split("\n"), ""]
    return [line.encode("utf-8", "surrogateescape") + b"\n" for line in text], file.diff


def _hunk_end(lines: Sequence[bytes], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith(b"\\")):
        sign = lines[at][:1]
        if sign not in b" -+\\\n":
            break
        old -= sign in b" -\n"
        new -= sign in b" +\n"
        at += 1
    return at


def _blocks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Block]:
    groups: list[list[Edit]] = []
    for edit in script(_keys(old), _keys(new)):
        if groups and edit.start - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    for group in groups:
        start, end = max(group[0][0] - _CONTEXT, 0), min(group[-1][1] + _CONTEXT, len(old))
        rows: list[Row] = []
        at = start
        for first, last, new_first, new_last in group:
            rows += (Row(" ", shown(line)) for line in old[at:first])
            rows += (Row("-", shown(line)) for line in old[first:last])
            rows += (Row("+", shown(line)) for line in new[new_first:new_last])
            at = last
        rows += (Row(" ", shown(line)) for line in old[at:end])
        yield Block(_heading(old, start), tuple(rows))


def _heading(lines: Sequence[bytes], at: int) -> str:
    """What part of the patch ``at`` lies in: its message, or a file."""
    for line in reversed(lines[: at + 1]):
        names = re.match(rb"(?:\+\+\+|---|diff --git) \"?(?:[ab]/)?(.*?)(?:\"? \"?b/.*)?\"?\s*$", line)
        if names and names[1] != b"/dev/null":
            return shown(names[1])
    return "the message"


def whole(data: bytes) -> Block:
    """A patch as it stands; the sign of a row says what that line of a hunk does, and is in its text as well."""
    lines = split(data)
    rows: list[Row] = []
    end = 0
    for at, line in enumerate(lines[:MOST_ROWS]):
        counts = _COUNTS.match(line) if at >= end else None
        if counts:
            end = _hunk_end(lines, at + 1, *(int(count) if count else 1 for count in counts.groups()))
        sign = line[:1].decode("ascii", "replace") if at < end and counts is None else " "
        rows.append(Row(sign if sign in ("+", "-") else " ", shown(line)))
    return Block("", tuple(rows), len(lines) - len(rows))


def _limited(blocks: Sequence[Block]) -> Interdiff:
    left, out, cut = MOST_ROWS, [], 0
    for block in blocks:
        kept = block.rows[:left]
        left -= len(kept)
        cut += len(block.rows) - len(kept)
        if kept:
            out.append(Block(block.heading, kept, len(block.rows) - len(kept)))
    return Interdiff("changed", tuple(out), cut)
