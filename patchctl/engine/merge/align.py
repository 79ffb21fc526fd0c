"""Which line of the base became which line of the new file.

Exact pairs come from the edit script (git's histogram or myers). Inside the blocks that it replaces, lines are
paired *softly* too: in order, each pair at least :data:`ENOUGH` alike, so that the sum of the likenesses is the
greatest (Needleman and Wunsch's alignment without a price for gaps). Soft pairs are anchors, never equalities.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from patchctl.engine.merge.text import Text, is_weak

ENOUGH = 0.6
# Bytes of two lines together: longer ones are data, and comparing them costs the square.
_LONGEST = 8000
NONE = -2
# Pairs of lines that one replaced block may cost; larger blocks were rewritten, and nothing in them is an anchor.
_MOST_PAIRS = 40_000
_MOST_PAIRS_OF_ALL = 400_000


class Edit(NamedTuple):
    """Lines ``start`` to ``end`` (indices, end excluded) of one text became ``new_start`` to ``new_end`` of another."""

    start: int
    end: int
    new_start: int
    new_end: int


def likeness(one: bytes, two: bytes) -> float:
    """How alike two lines are, from 0 to 1, white space at both ends aside (rapidfuzz: indel similarity)."""
    if len(one) + len(two) > _LONGEST:
        return 0.0
    from rapidfuzz.distance import Indel  # a large import, for the few runs that meet replaced lines

    return Indel.normalized_similarity(one.strip(), two.strip(), score_cutoff=ENOUGH)


def pair(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int, float]]:
    """Indices of lines that belong together, in order, with their likeness; [] for blocks that are too large."""
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return []
    width = len(new) + 1
    best = [[0.0] * width for _ in range(len(old) + 1)]
    weak = [is_weak(two) for two in new]
    like = [
        [_pairable(one, two, faint or dim) for two, faint in zip(new, weak, strict=True)]
        for one, dim in zip(old, map(is_weak, old), strict=True)
    ]
    for i in range(len(old) - 1, -1, -1):
        row, below, scores = best[i], best[i + 1], like[i]
        for j in range(len(new) - 1, -1, -1):
            top = below[j] if below[j] >= row[j + 1] else row[j + 1]
            if scores[j] and scores[j] + below[j + 1] > top:
                top = scores[j] + below[j + 1]
            row[j] = top
    out = []
    i = j = 0
    while i < len(old) and j < len(new):
        if like[i][j] and best[i][j] == like[i][j] + best[i + 1][j + 1]:
            out.append((i, j, like[i][j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return out


def _pairable(one: bytes, two: bytes, weak: bool) -> float:
    if weak:
        return 0.05 if one == two else 0.0  # joins what stands around it, and never leads
    return 1.0 if one == two else likeness(one, two)


class Alignment:
    """Base lines and their counterparts in the new file."""

    def __init__(self, base: Text, onto: Text, script: Sequence[Edit]) -> None:
        self.base = base
        self.onto = onto
        self.script = [Edit(*edit) for edit in script]

    @cached_property
    def exact(self) -> list[int]:
        """For each base line the index of the same line in the new file, -1 where upstream took it away."""
        out = [-1] * len(self.base)
        start = shift = 0
        for edit in [*self.script, Edit(len(self.base), len(self.base), len(self.onto), len(self.onto))]:
            for at in range(start, edit.start):
                out[at] = at + shift
            start, shift = edit.end, edit.new_end - edit.end
        return out

    @cached_property
    def soft(self) -> dict[int, int]:
        """Lines that upstream edited: base index to index in the new file."""
        out = {}
        left = _MOST_PAIRS_OF_ALL
        for edit in self.script:
            cost = (edit.end - edit.start) * (edit.new_end - edit.new_start)
            if cost > min(left, _MOST_PAIRS):
                continue
            left -= cost
            old, new = self.base.lines[edit.start : edit.end], self.onto.lines[edit.new_start : edit.new_end]
            for i, j, _ in pair(old, new):
                out[edit.start + i] = edit.new_start + j
        return out

    @cached_property
    def back(self) -> dict[int, int]:
        """Index in the new file to base index, over exact and soft pairs."""
        out = {there: here for here, there in self.soft.items()}
        out.update((there, here) for here, there in enumerate(self.exact) if there >= 0)
        return out

    def at(self, line: int) -> int:
        """The counterpart of base line ``line``, exact or soft; NONE: it has none. The ends of the file are lines."""
        if line < 0:
            return -1
        if line >= len(self.base):
            return len(self.onto)
        there = self.exact[line]
        return there if there >= 0 else self.soft.get(line, NONE)

    def sure(self, line: int) -> int:
        """As :meth:`at`, without the soft ones."""
        if 0 <= line < len(self.base):
            there = self.exact[line]
            return there if there >= 0 else NONE
        return -1 if line < 0 else len(self.onto)

    def rewritten(self, line: int, there: int) -> bool:
        """Whether base line ``line`` and line ``there`` of the new file lie in one replaced block."""
        edit = self.around(line)
        return edit is not None and edit.new_start <= there < edit.new_end

    def deleted(self, line: int) -> bool:
        """Whether upstream took base line ``line`` away and put nothing in its place."""
        edit = self.around(line)
        return edit is not None and edit.new_start == edit.new_end

    def between(self, start: int, end: int) -> Sequence[Edit]:
        """The edits that touch base lines ``start`` to ``end``, or put something before, between or behind them."""
        first = bisect_left(self._ends, start)
        return self.script[first : bisect_right(self._starts, end)]

    @cached_property
    def _starts(self) -> list[int]:
        return [edit.start for edit in self.script]

    @cached_property
    def _ends(self) -> list[int]:
        return [edit.end for edit in self.script]

    def around(self, line: int) -> Edit | None:
        """The edit that took base line ``line`` away, if one did."""
        at = bisect_right(self._ends, line)
        return self.script[at] if at < len(self.script) and self.script[at].start <= line else None
