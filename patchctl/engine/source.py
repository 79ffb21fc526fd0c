"""The lines of one patch text, and how to refuse it."""

from __future__ import annotations

from dataclasses import dataclass

from patchctl.errors import Problem, Refused

# Two names of the greatest length, every byte quoted, with room to spare: a longer header line is no header.
LONGEST_HEADER = 40_000


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one patch, split on LF alone; ``lines`` come without it.

    ``first`` is the number, in the patch file, of the first of ``lines``; ``unterminated`` says that the
    last one had no LF; ``known`` that this very text has been read before, by both readers of hunks.
    """

    name: str
    lines: list[bytes]
    first: int = 1
    unterminated: bool = False
    known: bool = False

    @classmethod
    def of(cls, data: bytes, name: str, first: int = 1) -> Source:
        lines = data.split(b"\n")
        last = lines.pop()
        if last:
            lines.append(last)
        return cls(name, lines, first, bool(last))

    def refused(self, kind: str, message: str, file: str | None = None, hunk: int | None = None) -> Refused:
        """The fault to raise for something in this text."""
        return Refused(Problem(kind, message, patch=self.name, file=file, hunk=hunk))

    def header(self, index: int) -> bytes:
        """``lines[index]``, a line of a header. Raises Refused (``too-large``) when no header could be so long."""
        if len(self.lines[index]) > LONGEST_HEADER:
            raise self.refused("too-large", f"line {self.number(index)} is too long for a line of a header")
        return self.lines[index]

    def number(self, index: int) -> int:
        """The number in the patch file of ``lines[index]``."""
        return self.first + index
