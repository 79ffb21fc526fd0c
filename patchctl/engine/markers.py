"""Proposals for a person: a file with diff3 conflict markers where no result is certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SIZE = 7
_RUN = re.compile(rb"^(<{7,}|\|{7,}|={7,}|>{7,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Labels:
    """What stands behind the markers: whose text each part is."""

    ours: str
    base: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines ``start`` to ``end`` (indices, end excluded) of a file give way to ``new``.

    With ``base`` it is no edit but a question: the lines stay, next to what the patch knew and wants.
    """

    start: int
    end: int
    new: Sequence[bytes]
    base: Sequence[bytes] | None = None


def render(lines: Sequence[bytes], edits: Sequence[Edit], labels: Labels) -> bytes:
    """``lines`` with ``edits`` made, which are in order and do not overlap; questions become marker blocks."""
    return b"".join(text for text, _ in assemble(lines, edits, labels))


def assemble(lines: Sequence[bytes], edits: Sequence[Edit], labels: Labels) -> list[tuple[bytes, int]]:
    """The lines of :func:`render`, each with its index in ``lines``, or -1 if it isn't from there."""
    size = _size(lines, edits)
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    out: list[tuple[bytes, int]] = []
    at = 0
    for edit in edits:
        out += ((lines[index], index) for index in range(at, edit.start))
        if edit.base is None:
            out += ((line, -1) for line in edit.new)
        else:
            out += _block(lines, edit, labels, size, end)
        at = edit.end
    out += ((lines[index], index) for index in range(at, len(lines)))
    return out


def question(lines: Sequence[bytes], start: int, end: int, base: Sequence[bytes], new: Sequence[bytes]) -> Edit:
    """A question about ``lines[start:end]``, without what all three sides have in common at both ends."""
    ours = lines[start:end]
    head = _common(ours, base, new)
    tail = _common(ours[head:][::-1], base[head:][::-1], new[head:][::-1])
    stop = -tail or None
    return Edit(start + head, end - tail, new[head:stop], base[head:stop])


def _common(*sides: Sequence[bytes]) -> int:
    shortest = min(len(side) for side in sides)
    return next((at for at in range(shortest) if len({side[at] for side in sides}) > 1), shortest)


def _block(lines: Sequence[bytes], edit: Edit, labels: Labels, size: int, end: bytes) -> list[tuple[bytes, int]]:
    assert edit.base is not None
    ours = [(_ended(lines[index], end), index) for index in range(edit.start, edit.end)]
    return [
        (_marker(b"<", size, labels.ours, end), -1),
        *ours,
        (_marker(b"|", size, labels.base, end), -1),
        *((_ended(line, end), -1) for line in edit.base),
        (_marker(b"=", size, "", end), -1),
        *((_ended(line, end), -1) for line in edit.new),
        (_marker(b">", size, labels.theirs, end), -1),
    ]


def _ended(line: bytes, end: bytes) -> bytes:
    # A last line without a line end must not swallow the marker behind it.
    return line if line.endswith(b"\n") else line + end


def _marker(sign: bytes, size: int, label: str, end: bytes) -> bytes:
    # A label is a name from outside: one line, whatever it holds.
    text = " ".join(label.split()).encode("utf-8", "surrogateescape")
    return sign * size + (b" " + text if text else b"") + end


def _size(lines: Sequence[bytes], edits: Sequence[Edit]) -> int:
    """Long enough that no line of the texts passes for a marker."""
    longest = _SIZE - 1
    for edit in edits:
        if edit.base is not None:
            for side in (lines[edit.start : edit.end], edit.base, edit.new):
                for run in _RUN.findall(b"".join(_ended(line, b"\n") for line in side)):
                    longest = max(longest, len(run))
    return longest + 1
