"""A file as lines, with a search for blocks of lines that no input can slow down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property


def split(data: bytes) -> list[bytes]:
    """The lines of ``data``, line ends kept. Only LF ends a line; the last one may lack it."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)  # for bytes, nothing but CR and LF ends a line
    lines = [part + b"\n" for part in data.split(b"\n")]
    last = lines.pop()[:-1]
    if last:
        lines.append(last)
    return lines


class Lines:
    """The lines of one file and where blocks of lines stand in it.

    Each distinct line becomes one character, so that a block is found by ``str.find``, which is linear
    also where all lines are alike. A file has fewer distinct lines than there are code points: the size
    caps of the readers see to that.
    """

    def __init__(self, lines: Sequence[bytes], fold: Callable[[bytes], bytes] | None = None) -> None:
        """``fold`` maps each line to what it is compared by; default: itself."""
        self.lines = lines
        self._fold = fold

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def _codes(self) -> dict[bytes, str]:
        codes: dict[bytes, str] = {}
        for line in map(self._fold, self.lines) if self._fold else self.lines:
            if line not in codes:
                codes[line] = chr(len(codes))
        return codes

    @cached_property
    def _text(self) -> str:
        codes = self._codes
        return "".join([codes[line] for line in (map(self._fold, self.lines) if self._fold else self.lines)])

    def find(self, block: Sequence[bytes], limit: int, start: int = 0) -> list[int]:
        """The first ``limit`` places (indices of lines, ascending) at or after ``start`` where ``block`` stands.

        An empty block stands nowhere: it says nothing about its place.
        """
        needle = self._encode(block)
        found: list[int] = []
        at = start - 1
        while needle and len(found) < limit:
            at = self._text.find(needle, at + 1)
            if at < 0:
                break
            found.append(at)
        return found

    def stands(self, block: Sequence[bytes], at: int) -> bool:
        """Whether ``block`` stands at index ``at``."""
        if at < 0 or at + len(block) > len(self.lines):
            return False
        here: Iterable[bytes] = self.lines[at : at + len(block)]
        if self._fold:
            return [self._fold(line) for line in here] == [self._fold(line) for line in block]
        return list(here) == list(block)

    def _encode(self, block: Sequence[bytes]) -> str:
        codes = self._codes
        out = []
        for line in map(self._fold, block) if self._fold else block:
            code = codes.get(line)
            if code is None:
                return ""
            out.append(code)
        return "".join(out)
