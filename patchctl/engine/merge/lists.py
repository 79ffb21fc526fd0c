"""Lines that have a sorted place: imports, and lists that are kept in order.

The order is not assumed. A list has one only if its lines stand in it in the patch's own result, with the new line
among them, and in the new file; then the place of the new line there is a matter of counting.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from patchctl.engine.merge.align import NONE
from patchctl.engine.merge.model import Change, Context, Placed, Put
from patchctl.engine.merge.text import Text
from patchctl.engine.scopes import indent_of

_PYTHON = re.compile(
    rb"(?:import\s+(?P<plain>[\w.]+)(?:\s+as\s+\w+)?"
    rb"|from\s+(?P<module>[\w.]+)\s+import\s+(?P<names>[\w*][\w ,*]*?))\s*(?:#.*)?\Z"
)
_GO = re.compile(rb"(?:[\w.]+\s+)?\"(?P<path>[^\"]+)\"\s*\Z")
_SHORTEST = 3  # a list of fewer lines is in order by chance
_LONGEST = 500  # lines on either side
_LONGEST_ITEM = 500  # bytes
# What ends with a comma, a lone word or text in quotes, an import or include of another language, a case or a label.
_ELEMENT = re.compile(
    rb"\s*(?:.*,\s*(?:(?:#|//|/\*).*)?|[\w./:@$-]+(?:\s*\\)?|\"[^\"]*\"|'[^']*'"
    rb"|#\s*include\b.*|(?:import|export|use|require(?:_relative)?|load|source|from)\b.*|@import.*)\s*\Z"
)
_ITEM = re.compile(rb"[^\w]*([\w][\w.\-/@+:]*)")

Key = Callable[[bytes], Any]
Member = Callable[[bytes], bool]


def import_of(line: bytes) -> bytes | None:
    """The dotted name that a one-line Python import brings, with what it is imported from; None if it is none."""
    found = _PYTHON.match(line.strip())
    if not found:
        return None
    return found["plain"] or found["module"] + b"." + found["names"].strip()


def _dotted(line: bytes) -> Any:
    return (import_of(line) or b"").lower()


def _dotted_cased(line: bytes) -> Any:
    return import_of(line) or b""


def _kind_first(line: bytes) -> Any:
    return (line.lstrip().startswith(b"from"), (import_of(line) or b"").lower())


def _module_first(line: bytes) -> Any:
    found = _PYTHON.match(line.strip())
    return (found["plain"] or found["module"]).lower() if found else b""


def _kind_module(line: bytes) -> Any:
    return (line.lstrip().startswith(b"from"), _module_first(line))


def _text(line: bytes) -> Any:
    return line.strip()


def _folded(line: bytes) -> Any:
    return line.strip().lower()


def _path(line: bytes) -> Any:
    found = _GO.match(line.strip())
    return found["path"] if found else b""


def _item(line: bytes) -> Any:
    found = _ITEM.match(line)
    return found[1].lower() if found else b""


IMPORT_KEYS: tuple[Key, ...] = (_dotted, _dotted_cased, _kind_first, _kind_module, _module_first, _text)
LIST_KEYS: tuple[Key, ...] = (_text, _folded, _item)


def _is_import(line: bytes) -> bool:
    return import_of(line) is not None


def _is_path(line: bytes) -> bool:
    return _GO.match(line.strip()) is not None and line[:1] in b"\t "


def _is_line(line: bytes) -> bool:
    return bool(line.strip())


def _is_item(line: bytes) -> bool:
    """Whether ``line`` of a program is an element of something, and no statement: the order of statements counts."""
    return len(line) < _LONGEST_ITEM and _ELEMENT.match(line) is not None


def family(path: str, kind: str, lines: Sequence[bytes]) -> tuple[Member, tuple[Key, ...]]:
    """What kind of list ``lines`` belong to: a test for its lines, and the orders that it may have."""
    if path.endswith((".py", ".pyx", ".pyi")) and all(map(_is_import, lines)):
        return _is_import, IMPORT_KEYS
    if path.endswith(".go") and all(map(_is_path, lines)):
        return _is_path, (_path,)
    return _is_item if kind in ("python", "code", "c") else _is_line, LIST_KEYS


def run_around(text: Text, at: int, member: Member) -> tuple[int, int] | None:
    """The lines around ``at`` that are members and equally indented, without a gap: start and end. None if they are
    too many to be a list that somebody keeps in order."""
    indent = text.indents[at]
    start = end = at
    while start > 0 and text.indents[start - 1] == indent and member(text.lines[start - 1]):
        start -= 1
        if at - start > _LONGEST:
            return None
    while end < len(text) and text.indents[end] == indent and member(text.lines[end]):
        end += 1
        if end - at > _LONGEST:
            return None
    return start, end


def in_order(ctx: Context, change: Change) -> Placed | None:
    """Lines of a sorted list: each to its sorted place in that list, which has a neighbour of theirs, edited or not."""
    lines = [line for line in change.new if line.strip()]
    if not change.inserts or not lines or (len(lines) > 1 and not all(map(_is_import, lines))):
        return None
    member, keys = family(ctx.path, ctx.kind, lines)
    if not all(map(member, lines)):
        return None
    if any(indent_of(line) != indent_of(lines[0]) for line in lines):
        return None
    runs = {run for near in (change.start - 1, change.start) if (run := _run(ctx, near, lines[0], member))}
    at = change.new_start + next(k for k, line in enumerate(change.new) if line.strip())
    around = run_around(ctx.patched, at, member)
    if around is None:
        return None
    mine = ctx.patched.lines[slice(*around)]
    places = [_place(ctx, line, mine, runs, keys, member in (_is_line, _is_item)) for line in lines]
    puts = tuple(Put(place, place, (line,)) for place, line in zip(places, lines, strict=True) if place is not None)
    if len(puts) != len(lines) or not all(ctx.fits(change.start, put.start, put.new) for put in puts):
        return None
    rule = "sorted-list" if member in (_is_line, _is_item) else "sorted-import"
    return Placed(rule, puts, puts[0].start, 0.9)


def _run(ctx: Context, near: int, line: bytes, member: Member) -> tuple[int, int] | None:
    """The list of the new file in which base line ``near`` stands now, if it is one of a list with ``line``."""
    if not 0 <= near < len(ctx.base) or not member(ctx.base.lines[near]):
        return None
    there = ctx.align.at(near)
    if there == NONE or not member(ctx.onto.lines[there]):
        return None
    if not ctx.base.indents[near] == ctx.onto.indents[there] == indent_of(line):
        return None
    return run_around(ctx.onto, there, member)


def _place(
    ctx: Context, line: bytes, mine: Sequence[bytes], runs: set[tuple[int, int]], keys: Sequence[Key], strict: bool
) -> int | None:
    """The one index in one of ``runs`` at which all orders that hold would put ``line``."""
    found: set[int] = set()
    for start, end in runs:
        theirs = ctx.onto.lines[start:end]
        if strict and min(len(mine) - 1, len(theirs)) < _SHORTEST:
            continue
        low, high = 0, len(theirs)
        held = False
        for key in keys:
            if is_sorted(key, mine, strict) and is_sorted(key, theirs, strict):
                known = [key(other) for other in theirs]
                held = True
                low = max(low, bisect_left(known, key(line)))
                high = min(high, bisect_right(known, key(line)))
        if held:
            if low > high:
                return None  # two orders hold, and they do not agree
            found.add(start + low)
    return found.pop() if len(found) == 1 else None


def is_sorted(key: Key, lines: Sequence[bytes], strict: bool = False) -> bool:
    """Whether ``lines`` stand in the order of ``key``; with ``strict`` no two may be equal."""
    keys = [key(line) for line in lines]
    return all(one < two or (not strict and one == two) for one, two in pairwise(keys))


def by_prefix(ctx: Context, change: Change) -> Placed | None:
    """Python imports whose neighbours are lost: into the sorted run that shares the longest dotted prefix with them."""
    lines = [line for line in change.new if line.strip()]
    if not change.inserts or not lines or not ctx.path.endswith((".py", ".pyx")) or not all(map(_is_import, lines)):
        return None
    runs = _runs(ctx.onto, indent_of(lines[0]))
    puts = []
    for line in lines:
        shared = [(max(_prefix(line, other) for other in ctx.onto.lines[start:end]), start, end) for start, end in runs]
        best = max(shared, default=(0, 0, 0))
        if not best[0] or sum(item[0] == best[0] for item in shared) > 1:
            return None
        theirs = ctx.onto.lines[best[1] : best[2]]
        key = next((key for key in IMPORT_KEYS if is_sorted(key, theirs)), None)
        if key is None:
            return None
        place = best[1] + bisect_right([key(other) for other in theirs], key(line))
        if not ctx.fits(change.start, place, [line]):
            return None
        puts.append(Put(place, place, (line,)))
    return Placed("import-by-prefix", tuple(puts), puts[0].start, 0.7, "the imports around it have changed")


def _runs(text: Text, indent: int) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for at, line in enumerate(text.lines):
        if text.indents[at] == indent and (not out or at >= out[-1][1]) and _is_import(line):
            run = run_around(text, at, _is_import)
            if run is None:
                return []
            out.append(run)
    return out


def _prefix(one: bytes, two: bytes) -> int:
    """How many dotted components two imports have in common at the beginning."""
    first, second = (import_of(line) or b"" for line in (one, two))
    count = 0
    for a, b in zip(first.split(b"."), second.split(b"."), strict=False):
        if a != b:
            break
        count += 1
    return count
