"""Which class or function a line belongs to, told from the text alone.

Indentation and the lines that open a definition are enough to compare two places: the same reading is used
for the file that a patch was made for and for the one that it goes onto. Nothing is parsed, so it works for
files that do not parse and for other languages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_DEFINITION = re.compile(
    rb"(?:(?:export|default|public|private|protected|internal|static|final|abstract|virtual|override|inline|pub"
    rb"(?:\([^)]*\))?|unsafe|const|async|extern)\s+)*"
    rb"(?P<keyword>def|class|function\*?|func|fn|struct|enum|union|interface|trait|impl|module|namespace|sub|proc|macro)"
    rb"\s+(?P<receiver>\([^)]*\)\s*)?(?P<name>[\w$.:~?!]+)"
)
_CALLABLE = re.compile(rb"[A-Za-z_$][\w\s*&:<>,~\[\]$]*?(?P<name>[\w$:~]+)\s*\(")
_OPENS = re.compile(rb"(?P<name>[A-Za-z_$][\w$.\-]*)\s*(?:[:+]?=\s*[\[({]*\s*|:\s*[\[{|>]?\s*)$")
_NOT_A_NAME = frozenset((b"if", b"for", b"while", b"switch", b"return", b"else", b"try", b"with", b"except"))
_HEADING = re.compile(rb"[A-Za-z_$]")
# git cuts the text behind the second @@ at this length.
_CUT = 80
# Places to ask about before all of a file is read.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Node:
    """An open definition: how far its line is indented, its name, and what it stands in."""

    indent: int
    name: str
    parent: Node | None


def indent_of(line: bytes) -> int:
    """Columns of leading white space; a tab reaches the next multiple of eight."""
    rest = line.lstrip(b" ")
    if rest[:1] != b"\t":
        return len(line) - len(rest)
    width = 0
    for byte in line:
        if byte == 0x20:
            width += 1
        elif byte == 0x09:
            width += 8 - width % 8
        else:
            break
    return width


def name_of(heading: bytes) -> str | None:
    """What the line ``heading`` opens (a class, a function, a table), or None if it is no such line.

    ``heading`` may be the text behind the second ``@@`` of a hunk. A name that git may have cut off is None.
    """
    text = heading[: 4 * _CUT].strip()[:_CUT]
    found = _DEFINITION.match(text)
    if found:
        name = (found["receiver"] or b"") + found["name"].rstrip(b":")
    else:
        found = _OPENS.match(text) or (None if text.endswith(b";") else _CALLABLE.match(text))
        if not found or found["name"] in _NOT_A_NAME:
            return None
        name = found["name"]
    if found.end("name") >= _CUT - 1:
        return None
    return b" ".join(name.split()).decode("utf-8", "surrogateescape")


def _defined(text: bytes) -> str | None:
    """The name of the definition that a line, without the white space around it, begins with."""
    found = _DEFINITION.match(text)
    if not found:
        return None
    receiver = found["receiver"] or b""
    return b" ".join((receiver + found["name"].rstrip(b":")).split()).decode("utf-8", "surrogateescape")


class Scopes:
    """The scopes of one file."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._asked = 0

    @cached_property
    def _open(self) -> list[Node | None]:
        """For each line, the innermost definition that is open behind it."""
        out: list[Node | None] = []
        node: Node | None = None
        for line in self._lines:
            text = line.strip()
            if text and text[:1] not in b"#)]}":
                indent = indent_of(line)
                while node is not None and node.indent >= indent:
                    node = node.parent
                name = _defined(text)
                if name is not None:
                    node = Node(indent, name, node)
            out.append(node)
        return out

    @cached_property
    def _headings(self) -> list[int]:
        """For each line, the index of the last unindented line that begins with a letter, itself included; -1: none."""
        out = []
        last = -1
        for index, line in enumerate(self._lines):
            if _HEADING.match(line):
                last = index
            out.append(last)
        return out

    def chain(self, at: int, indent: int) -> tuple[str, ...]:
        """The names of the definitions around a line at ``at`` that is indented by ``indent``, outermost first."""
        self._asked += 1
        if self._asked <= _FEW:
            return self._climbed(at if at <= len(self._lines) else 0, indent)
        node = self._open[at - 1] if 0 < at <= len(self._lines) else None
        names: list[str] = []
        while node is not None:
            if node.indent < indent:
                names.append(node.name)
            node = node.parent
        return tuple(reversed(names))

    def _climbed(self, at: int, indent: int) -> tuple[str, ...]:
        """The same, for one place: the lines above it are read as far as one that is not indented."""
        names: list[str] = []
        lowest = sys.maxsize
        while at > 0 and lowest > 0:
            at -= 1
            line = self._lines[at]
            text = line.strip()
            if not text or text[:1] in b"#)]}" or indent_of(line) >= lowest:
                continue
            lowest = indent_of(line)
            name = _defined(text)
            if name is not None and lowest < indent:
                names.append(name)
        return tuple(reversed(names))

    def heading(self, at: int) -> bytes | None:
        """The unindented line above index ``at`` that git would show behind the ``@@`` of a hunk there, or None."""
        index = self._headings[at - 1] if 0 < at <= len(self._lines) else -1
        return self._lines[index] if index >= 0 else None
