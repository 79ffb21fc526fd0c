"""One file as the merge looks at it: lines, which of them say nothing about a place, and what opens around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property

from patchctl.engine.lines import split
from patchctl.engine.scopes import indent_of as indent_of

# Words that stand alone on a line in many places of a file.
_EMPTY_WORDS = frozenset(
    b"begin break continue default do done else end endif ensure esac except fi finally for if in loop not null none"
    b" pass raise return self then true try false void while with".split()
)
_MANY = 100  # names to look for; then to read all words once takes less time
_MOST_LOOKS = 16  # at words that hold another; then a pattern is worth what it costs
_WORD = re.compile(rb"\w+")
# A comment, a string on one line (so that what is in it is passed over), or triple quotes.
_QUOTES = re.compile(rb"#|\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_TRIPLE = (b'"""', b"'''")
_NO_CODE = re.compile(rb"\W*\Z")


class Text:
    """The lines of one file, line ends kept, and what is known about each; computed once, when asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = split(data)
        self._climbed: dict[tuple[int, bytes], tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def counts(self) -> Counter[bytes]:
        """How often each line occurs."""
        return Counter(self.lines)

    @cached_property
    def indents(self) -> list[int]:
        """The indentation of each line in columns; -1 for blank lines."""
        return [indent_of(line) if line.strip() else -1 for line in self.lines]

    def opener(self, at: int, end: int, indent: int, aside: bytes) -> int:
        """The nearest line at or above ``at``, and below ``end``, that is indented by less than ``indent`` and begins
        with none of ``aside``; else the first line beyond.

        Changes are looked at in order, so that most of the way is known from the last one.
        """
        start = at
        known, above = self._climbed.get((indent, aside), (-1, -1))
        while at >= 0 and at > end:
            if at == known:
                at, known = above, -1
                continue
            line = self.lines[at].strip()
            if line and line[:1] not in aside and indent_of(self.lines[at]) < indent:
                break
            at -= 1
        self._climbed[indent, aside] = (start, at)
        return at

    def having(self, names: Collection[bytes]) -> set[bytes]:
        """Those of ``names`` that stand here as words of their own."""
        if len(names) < _MANY or not all(map(_WORD.fullmatch, names)):
            return {name for name in names if has_word(self.data, name)}
        return self._words.intersection(names)

    @cached_property
    def _words(self) -> set[bytes]:
        return set(_WORD.findall(self.data))

    def blank(self, at: int) -> bool:
        """Whether line ``at`` holds white space only."""
        return not self.lines[at].strip()

    def weak(self, at: int) -> bool:
        """Whether line ``at`` says nothing about its place: blank, brackets, a lone keyword, or a line seen thrice."""
        line = self.lines[at]
        return is_weak(line) or self.counts[line] > 2


def strings(lines: Sequence[bytes]) -> list[bool]:
    """For each line of a Python text whether it begins inside a string in triple quotes."""
    out = []
    quote = b""
    for line in lines:
        out.append(bool(quote))
        if (quote not in line) if quote else (b'"""' not in line and b"'''" not in line):
            continue
        at = 0
        while True:
            if quote:
                at = line.find(quote, at)
                if at < 0:
                    break
                at, quote = at + 3, b""
            found = _QUOTES.search(line, at)
            if not found or found[0] == b"#":
                break
            at = found.end()
            if found[0] in _TRIPLE:
                quote = found[0]
    return out


def is_weak(line: bytes) -> bool:
    """Whether ``line``, wherever it stands, is no anchor: no word in it, or none but a common keyword."""
    if _NO_CODE.match(line):
        return True
    words = _WORD.findall(line)
    if len(words) != 1:
        return False
    return words[0].lower() in _EMPTY_WORDS or (line.strip() == words[0] + b":" and len(words[0]) < 3)


def has_word(data: bytes, word: bytes) -> bool:
    """Whether ``word`` stands in ``data`` as a word of its own."""
    at = data.find(word)
    for _ in range(_MOST_LOOKS):
        if at < 0:
            return False
        end = at + len(word)
        if not _WORD.match(data, end) and not _WORD.match(data[at - 1 : at]):
            return True
        at = data.find(word, end)
    return re.search(rb"(?<!\w)%b(?!\w)" % re.escape(word), data) is not None


def first_indent(lines: Sequence[bytes]) -> int:
    """The indentation of the first line that is not blank; 0 if there is none."""
    return next((indent_of(line) for line in lines if line.strip()), 0)


def lowest_indent(lines: Sequence[bytes]) -> int:
    """The least indentation of the lines that are not blank; 0 if there is none."""
    return min((indent_of(line) for line in lines if line.strip()), default=0)
