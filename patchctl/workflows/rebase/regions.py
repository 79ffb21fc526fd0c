"""The conflicting regions of a proposal: taking them apart, answering them, and seeing whether any is left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from patchctl.engine.lines import split
from patchctl.series.resolutions import Question

_FIRST = re.compile(rb"(<{7,})(?: [^\n]*)?\n")
_MARKER = re.compile(rb"(?:<{7,}|\|{7,}|={7,}|>{7,})(?: [^\n]*)?\r?\n?")
# What whole lines of source and documentation may well be; a heading's underline, for instance.
_RULE = re.compile(rb"={7,}\r?\n?")


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a proposal. ``size`` is the length of its markers."""

    question: Question
    size: int


Part = Region | tuple[bytes, ...]


def parts(proposal: bytes) -> list[Part]:
    """``proposal`` as runs of plain lines and conflicting regions, in order."""
    lines = split(proposal)
    found: list[Part] = []
    plain: list[bytes] = []
    at = 0
    while at < len(lines):
        first = _FIRST.fullmatch(lines[at].replace(b"\r\n", b"\n"))
        region = _region(lines, at, len(first[1])) if first else None
        if region is None:
            plain.append(lines[at])
            at += 1
            continue
        if plain:
            found.append(tuple(plain))
            plain = []
        found.append(region[0])
        at = region[1]
    if plain:
        found.append(tuple(plain))
    return found


def _region(lines: Sequence[bytes], at: int, size: int) -> tuple[Region, int] | None:
    """The region whose first marker is at ``at``, and the index behind it; None if it has no such end."""
    marks = [b"|" * size, b"=" * size, b">" * size]
    sides: list[tuple[bytes, ...]] = []
    begin = at + 1
    for end in range(begin, len(lines)):
        mark = marks[len(sides)]
        line = lines[end].rstrip(b"\r\n")
        if line.startswith(b"<" * size):
            return None  # no side holds such a line, so the region begins there: what stood above is plain text
        if line == mark or line.startswith(mark + b" "):
            sides.append(tuple(lines[begin:end]))
            begin = end + 1
            if len(sides) == len(marks):
                return Region(Question(*sides), size), begin
    return None


def questions(proposal: bytes) -> list[Question]:
    """The conflicting regions of ``proposal``, in order."""
    return [part.question for part in parts(proposal) if isinstance(part, Region)]


def answered(proposal: bytes, answer: Callable[[Question], Sequence[bytes]]) -> bytes:
    """``proposal`` with every region replaced by what ``answer`` says."""
    out: list[bytes] = []
    for part in parts(proposal):
        out += answer(part.question) if isinstance(part, Region) else part
    return b"".join(out)


def answers(proposal: bytes, result: bytes) -> list[tuple[Question, tuple[bytes, ...]]]:
    """What ``result`` made of each region of ``proposal``.

    Nothing where the lines between the regions were edited too: then the regions alone do not say what was meant.
    """
    lines = split(result)
    pieces = parts(proposal)
    found: list[tuple[Question, tuple[bytes, ...]]] = []
    at = 0
    open_question: Question | None = None
    for number, piece in enumerate(pieces):
        if isinstance(piece, Region):
            if open_question is not None:
                return []  # two regions without a line between them: nobody can tell their answers apart
            open_question = piece.question
            continue
        last = number == len(pieces) - 1
        start = _where(lines, piece, at, anywhere=open_question is not None, last=last)
        if start is None:
            return []
        if open_question is not None:
            found.append((open_question, tuple(lines[at:start])))
            open_question = None
        at = start + len(piece)
    if open_question is not None:
        found.append((open_question, tuple(lines[at:])))
    elif at != len(lines):
        return []
    return found


def _where(lines: Sequence[bytes], piece: Sequence[bytes], at: int, *, anywhere: bool, last: bool) -> int | None:
    """Where ``piece`` stands in ``lines``, from ``at`` on; None where it does not, or in several places."""
    size = len(piece)
    if not anywhere:
        return at if tuple(lines[at : at + size]) == tuple(piece) else None
    if last:
        start = len(lines) - size
        return start if start >= at and tuple(lines[start:]) == tuple(piece) else None
    places = [
        start
        for start in range(at, len(lines) - size + 1)
        if lines[start] == piece[0] and tuple(lines[start : start + size]) == tuple(piece)
    ]
    return places[0] if len(places) == 1 else None


def left(result: bytes, sides: Iterable[bytes]) -> list[int]:
    """The lines (from 1) of ``result`` that are conflict markers, and are in none of ``sides`` as often."""
    known: Counter[bytes] = Counter()
    for side in sides:
        for line, count in Counter(_markers(side)).items():
            known[line] = max(known[line], count)
    found = []
    for number, line in enumerate(split(result), 1):
        if not _MARKER.fullmatch(line):
            continue
        bare = line.rstrip(b"\r\n")
        known[bare] -= 1
        if known[bare] < 0 and not _RULE.fullmatch(line):
            found.append(number)
    # A rule of equal signs alone may be a new heading's; it counts beside other markers, or at a marker's length.
    if not found:
        found = [
            number
            for number, line in enumerate(split(result), 1)
            if line.rstrip(b"\r\n") in (b"=" * 7,) and known[b"=" * 7] < 0
        ]
    return found


def _markers(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r\n") for line in split(data) if _MARKER.fullmatch(line)]
