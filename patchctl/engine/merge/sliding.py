"""Choosing among edit scripts that say the same.

Where the line above a run of added lines equals the last of them, the run could as well begin one line higher. Of
all such places that one is taken which people mean: where the run meets a change of the other side, it stands
opposite to it; else it begins and ends where the text is indented least, behind a blank line rather than before
one. git's ``diff.indentHeuristic`` weighs the same signs.
"""

from __future__ import annotations

from collections.abc import Sequence

from patchctl.engine.merge.align import Edit
from patchctl.engine.scopes import indent_of

_FARTHEST = 100  # lines that a run is slid at most
_MOST_BLANKS = 20


def slid(old: Sequence[bytes], new: Sequence[bytes], edits: Sequence[Edit]) -> list[Edit]:
    """``edits``, those of them moved that can be slid."""
    gone, come = bytearray(len(old) + 1), bytearray(len(new) + 1)
    for edit in edits:
        gone[edit.start : edit.end] = b"\1" * (edit.end - edit.start)
        come[edit.new_start : edit.new_end] = b"\1" * (edit.new_end - edit.new_start)
    _Side(old, gone, come).settle()
    _Side(new, come, gone).settle()
    return _script(gone, come)


def _script(gone: bytearray, come: bytearray) -> list[Edit]:
    out: list[Edit] = []
    at = there = 0
    while True:
        steps = [found - here for found, here in ((gone.find(1, at), at), (come.find(1, there), there)) if found >= 0]
        if not steps:
            return out
        at, there = at + min(steps), there + min(steps)
        end, new_end = gone.find(0, at), come.find(0, there)
        out.append(Edit(at, end, there, new_end))
        at, there = end, new_end


class _Side:
    """One of two texts: ``mine`` marks its changed lines, ``other`` those of the other text.

    ``start`` to ``end`` is the run at hand, ``across`` where the other side's run (often empty) ends that is opposite.
    """

    def __init__(self, lines: Sequence[bytes], mine: bytearray, other: bytearray) -> None:
        self.lines, self.mine, self.other = lines, mine, other
        self.start = self.end = self.across = -1  # as if an equal line stood before the first

    def settle(self) -> None:
        """Move each run to where it belongs, first to last."""
        while True:
            mine, other = self.mine.find(1, self.end + 1), self.other.find(1, self.across + 1)
            if mine < 0:
                return
            step, opposite = mine - self.end, other - self.across
            if other >= 0 and opposite < step:
                self.end, self.across = self.end + opposite, self.other.find(0, other)
                continue
            self.start, self.end = mine, self.mine.find(0, mine)
            self.across = self.other.find(0, self.across + step)
            self._settle()

    def _settle(self) -> None:
        size = 0
        while size != self.end - self.start:  # runs that meet become one, which may go farther
            size = self.end - self.start
            moved = 0
            while self._up():
                moved += 1
            first = self.end
            opposite = self.end if self._is_opposite() else None
            while self._down():
                if self._is_opposite():
                    opposite = self.end
        if self.end == first:
            return
        best = opposite if opposite is not None else self._best(first)
        while self.end > best:
            self._up()

    def _is_opposite(self) -> bool:
        return self.across > 0 and bool(self.other[self.across - 1])

    def _up(self) -> bool:
        start, end = self.start, self.end
        if start == 0 or self.lines[start - 1] != self.lines[end - 1]:
            return False
        self.mine[start - 1], self.mine[end - 1] = 1, 0
        self.start, self.end = self.mine.rfind(0, 0, start) + 1, end - 1
        self.across = self.other.rfind(0, 0, self.across)
        return True

    def _down(self) -> bool:
        start, end = self.start, self.end
        if end >= len(self.lines) or self.lines[start] != self.lines[end]:
            return False
        self.mine[start], self.mine[end] = 0, 1
        self.start, self.end = start + 1, self.mine.find(0, end)
        self.across = self.other.find(0, self.across + 1)
        return True

    def _best(self, first: int) -> int:
        """The end, from ``first`` to where it is now, with which the run parts the text best; the last of equals."""
        size = self.end - self.start
        ends = range(max(first, self.end - size - 1, self.end - _FARTHEST), self.end + 1)
        costs: dict[int, tuple[int, int]] = {}
        for end in ends:
            for at in (end - size, end):
                if at not in costs:
                    costs[at] = self._cost(at)
        return min(reversed(ends), key=lambda end: tuple(map(sum, zip(costs[end - size], costs[end], strict=True))))

    def _cost(self, at: int) -> tuple[int, int]:
        """How badly the text parts before line ``at``: the indentation of what follows, and blank lines there."""
        below = at
        while below < len(self.lines) and below - at < _MOST_BLANKS and not self.lines[below].strip():
            below += 1
        if below >= len(self.lines):
            return -1, 0
        blanks = 0
        while blanks < _MOST_BLANKS and at - blanks > 0 and not self.lines[at - 1 - blanks].strip():
            blanks += 1
        return indent_of(self.lines[below]), 30 * (below - at) - 30 * blanks
