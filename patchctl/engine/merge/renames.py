"""Names that upstream changed in a file, told from the lines that it edited.

A name counts as renamed if it is gone from the new file, if the other one is new there, if every edited place that
had the one has the other, if the two are alike, and if each is a name of the whole file: defined at its top, or
imported.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from patchctl.engine.merge.align import Alignment, likeness
from patchctl.engine.merge.text import has_word

_NAME = re.compile(rb"[A-Za-z_]\w{2,120}")  # nobody writes longer ones
_MOST_NAMES = 400  # of a replaced block; a larger one was rewritten, and tells nothing
_MOST_WANTED = 1000  # names of one patch in one file
_SHORTEST = 8  # letters of a name that is a part of another by more than chance
_ALIKE = 0.8
_TOKEN = re.compile(rb"\w+|[^\w\s(),]")


def renamed(align: Alignment, wanted: Iterable[bytes]) -> dict[bytes, bytes]:
    """What the names of ``wanted`` are called in the new file, as far as they were renamed."""
    here, there = align.onto.data, align.base.data
    gone = align.base.having(sorted(wanted)[:_MOST_WANTED])
    gone -= align.onto.having(gone)
    if not gone:
        return {}
    votes = _votes(align, gone)
    found = {}
    for old, counts in votes.items():
        if len(counts) != 1:
            continue
        ((new, count),) = counts.items()
        known = has_word(here, new) and not has_word(there, new) and count > 0 and _related(old, new)
        if known and _made(old, align.base.data) and _made(new, align.onto.data):
            found[old] = new
    taken = Counter(found.values())
    return {old: new for old, new in found.items() if taken[new] == 1}


def _votes(align: Alignment, gone: set[bytes]) -> dict[bytes, Counter[bytes]]:
    from difflib import SequenceMatcher  # only where a name is gone

    votes: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    for edit in align.script:
        old = _names(align.base.lines[edit.start : edit.end])
        new = _names(align.onto.lines[edit.new_start : edit.new_end])
        if not gone.intersection(old) or max(len(old), len(new)) > _MOST_NAMES or not new:
            continue
        for tag, i, k, j, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "replace" and k - i == m - j:
                for one, two in zip(old[i:k], new[j:m], strict=True):
                    if one in gone:
                        votes[one][two] += 1
    return votes


def _related(one: bytes, two: bytes) -> bool:
    """Whether two names are one with a part added or taken off, or nearly the same."""
    short, long = sorted((one, two), key=len)
    return (len(short) >= _SHORTEST and short in long) or likeness(one, two) >= _ALIKE


def _made(name: bytes, data: bytes) -> bool:
    """Whether ``data`` defines or imports ``name`` for all of the file."""
    pattern = (
        rb"(?m)^(?:(?:def|class|func|type|const|var|let)\s+%b\b|%b\b[^=\n]*=|[^\n]*\bimport\b[^\n]*\b%b\b|\s+%b,?\s*$)"
    )
    return re.search(pattern % (name, name, name, name), data) is not None


def _names(lines: Iterable[bytes]) -> list[bytes]:
    return [name for line in lines for name in _NAME.findall(line)]


def translate(data: bytes, names: dict[bytes, bytes]) -> bytes:
    """``data`` with whole names replaced."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), data) if names else data


def same_words(old: Sequence[bytes], new: Sequence[bytes], names: dict[bytes, bytes]) -> bool:
    """Whether ``new`` is ``old`` but for names, line breaks, brackets around it and commas."""
    one = [names.get(token, token) for token in _TOKEN.findall(b"".join(old))]
    return bool(one) and one == _TOKEN.findall(b"".join(new))


def names_in(lines: Iterable[bytes]) -> set[bytes]:
    """Every word of ``lines`` that could be a name."""
    return set(_names(lines))
