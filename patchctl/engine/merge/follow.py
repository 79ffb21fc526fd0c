"""Where a file went that is no longer at its path: a proposal by content.

Lines are compared as bags, weighted by their length. Two files are one if either keeps most of the other: a file
may have been renamed and then grown, and in a backport, which goes back in time, shrunk. git's rename detection
thinks alike, over chunks instead of lines (diffcore-delta). A file that was split off another, or put into one,
is found by the lines that the other has gained since the base. What a whole tree is asked is in
:mod:`patchctl.engine.merge.moved`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_ENOUGH = 0.5  # of a new file with another name
_ENOUGH_NAMESAKE = 0.4  # of one that has kept its name, in another folder
_ENOUGH_GAINED = 0.6  # of what a file has gained that was there before
_MARGIN = 0.1  # to the second best
_SMALLEST = 200  # bytes in lines that say something: less is alike by chance, except as a whole


@dataclass(frozen=True, slots=True)
class Moved:
    """A candidate: ``score`` is the part of the smaller file (in bytes of lines) that the other holds too.

    ``into``: the file was put into one that there was before, or split off it.
    """

    path: str
    score: float
    into: bool = False


def follow(
    path: str, base: bytes, fresh: Mapping[str, bytes], changed: Mapping[str, tuple[bytes, bytes]] | None = None
) -> list[Moved]:
    """What ``base``, once at ``path``, may have become: the best first, and none but the best if it is clearly so.

    ``fresh`` are files that only the new tree has, ``changed`` those that both have, before and after.
    """
    want = bag(base)
    found = [Moved(other, score) for other, data in fresh.items() if (score := alike(path, want, other, data))]
    for other, (before, after) in ({} if found else changed or {}).items():
        gained = bag(after) - bag(before)
        share = size(want & gained) / max(size(want), 1)
        if share >= _ENOUGH_GAINED and size(want) >= _SMALLEST:
            found.append(Moved(other, share, into=True))
    return best(path, found)


def best(path: str, found: list[Moved]) -> list[Moved]:
    """``found``, the best first; only that if it is clearly the best."""
    name = path.rpartition("/")[2]
    found = sorted(found, key=lambda each: (-each.score, each.path.rpartition("/")[2] != name, each.path))
    return found[:1] if len(found) > 1 and found[0].score >= found[1].score + _MARGIN else found


def alike(path: str, want: Counter[bytes], other: str, data: bytes) -> float:
    """How much of the file at ``path``, whose lines are ``want``, the file ``data`` at ``other`` is; 0: too little."""
    have = bag(data)
    small, large = sorted((size(want), size(have)))
    if not small:
        return 0.0
    common = size(want & have)
    if small < _SMALLEST and common * 2 < large:
        return 0.0
    score = common / small if large < 4 * small else common / large
    namesake = path.rpartition("/")[2] == other.rpartition("/")[2]
    return score if score >= (_ENOUGH_NAMESAKE if namesake else _ENOUGH) else 0.0


def bag(data: bytes) -> Counter[bytes]:
    """The lines of ``data`` that are not blank, white space at both ends aside."""
    return Counter(line for part in data.split(b"\n") if (line := part.strip()))


def size(lines: Counter[bytes]) -> int:
    """The bytes in ``lines``."""
    return sum(len(line) * count for line, count in lines.items())


def folder_moved(path: str, base: Mapping[str, bytes], onto: Mapping[str, bytes]) -> str | None:
    """Where the files that stood beside ``path`` in ``base`` are in ``onto``, if all of them have left its folder.

    None if one of them is left, or if none of those that are gone can be found again: they were deleted.
    """
    folder = path.rpartition("/")[0]
    stood = [name for name in base if name.rpartition("/")[0] == folder]
    if not stood or any(name.rpartition("/")[0] == folder for name in onto):
        return None
    fresh = {name: data for name, data in onto.items() if name not in base}
    for name in stood:
        for found in follow(name, base[name], fresh)[:1]:
            return found.path.rpartition("/")[0]
    return None


def new_name(old: str, new: str, onto: str) -> str | None:
    """What a file is to be called that the patch renames from ``old`` to ``new``, if it stands at ``onto`` by now.

    None where that is open: upstream changed the name, too, or the patch moves it to another folder.
    """
    if old == onto:
        return new
    if old.rpartition("/")[2] != onto.rpartition("/")[2] or old.rpartition("/")[0] != new.rpartition("/")[0]:
        return None
    return "/".join(filter(None, (onto.rpartition("/")[0], new.rpartition("/")[2])))
