"""Two edits of one line, merged word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
_LONGEST = 400  # tokens


def merge_line(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """``base`` with the edits of both sides, or None if they touch each other.

    Between two edits at least one token must stand that is not white space.
    """
    if theirs == base:
        return ours
    if ours in (base, theirs):
        return theirs
    old, one, two = (_TOKEN.findall(line) for line in (base, ours, theirs))
    if max(len(old), len(one), len(two)) > _LONGEST:
        return None
    out: list[bytes] = []
    at = 0
    edits = sorted([(*e, 0) for e in _edits(old, one)] + [(*e, 1) for e in _edits(old, two)])
    for before, behind in pairwise(edits):
        if before[4] != behind[4] and not any(token.strip() for token in old[before[1] : behind[0]]):
            return None
    for start, end, new_start, new_end, side in edits:
        out += old[at:start]
        out += (one, two)[side][new_start:new_end]
        at = end
    return b"".join(out + old[at:])


def _edits(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int, int, int]]:
    from difflib import SequenceMatcher  # only where both sides edited one line

    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(i, k, j, m) for tag, i, k, j, m in codes if tag != "equal"]
