"""The definitions of a file, told from the lines that open them and from indentation.

Nothing is parsed, so that two releases of one file are read alike whatever Python runs here, and other languages
that people indent are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from patchctl.engine.merge.text import Text

_PYTHON = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")
_BRACES = re.compile(
    rb"\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\([^)]*\))?|unsafe|const)\s+)*"
    rb"(?:function|func|fn|class|struct|interface|trait|impl|def|module|type)\b\*?\s*(?P<name>(?:\([^)]*\)\s*)?[\w$.:?!]+)"
)
_GOES_ON = (b")", b"}", b"]", b"{")


def definition_name(line: bytes) -> str | None:
    """What ``line`` defines, in Python or a language with braces; None if it defines nothing."""
    found = _PYTHON.match(line) or _BRACES.match(line)
    return found["name"].decode("utf-8", "surrogateescape") if found else None


@dataclass(frozen=True, slots=True)
class Definition:
    """Lines ``start`` to ``end`` of a text, decorators and comments that touch it included; ``head`` has the name.

    ``scope``: the names of the definitions around it, outermost first.
    """

    name: str
    scope: tuple[str, ...]
    start: int
    head: int
    end: int
    indent: int


class Outline:
    """The definitions of ``text``, in order."""

    def __init__(self, text: Text, path: str) -> None:
        self.text = text
        self.python = path.endswith((".py", ".pyi", ".pyx"))

    @cached_property
    def all(self) -> list[Definition]:
        out: list[Definition] = []
        around: list[Definition] = []
        for at in range(len(self.text)):
            if self.text.indents[at] < 0:
                continue
            name = self._name(self.text.lines[at])
            if name is None:
                continue
            indent = self.text.indents[at]
            while around and (around[-1].indent >= indent or at >= around[-1].end):
                around.pop()
            scope = tuple(item.name for item in around)
            found = Definition(name, scope, self._start(at, indent), at, self._end(at, indent), indent)
            out.append(found)
            around.append(found)
        return out

    @cached_property
    def by_scope(self) -> dict[tuple[str, ...], list[Definition]]:
        """The definitions of each scope, in order."""
        out: dict[tuple[str, ...], list[Definition]] = {}
        for item in self.all:
            out.setdefault(item.scope, []).append(item)
        return out

    def within(self, start: int, end: int) -> list[Definition]:
        """The outermost definitions that lie wholly in lines ``start`` to ``end``."""
        out: list[Definition] = []
        for item in self.all:
            if start <= item.start and item.end <= end and not (out and item.head < out[-1].end):
                out.append(item)
        return out

    def _name(self, line: bytes) -> str | None:
        found = (_PYTHON if self.python else _BRACES).match(line)
        return found["name"].decode("utf-8", "surrogateescape") if found else None

    def _start(self, head: int, indent: int) -> int:
        """Decorators (several lines each, perhaps) and comments above ``head``."""
        lines, indents = self.text.lines, self.text.indents
        start = at = head
        while at > 0 and indents[at - 1] >= indent:
            at -= 1
            mark = lines[at].lstrip()[:2]
            if indents[at] == indent:
                if mark[:1] in (b"@", b"#") or mark in (b"//", b"/*"):
                    start = at
                elif not mark.startswith((b")", b"*")):
                    break
        return start

    def _end(self, head: int, indent: int) -> int:
        lines, indents = self.text.lines, self.text.indents
        end = at = head + 1
        while at < len(lines):
            start = lines[at].lstrip()[:1]
            if indents[at] > indent or (indents[at] == indent and self._closes(lines[at])):
                end = at + 1
            elif indents[at] >= 0 and not (self.python and start == b"#" and self._goes_on(at, indent)):
                break
            at += 1
        return end

    @staticmethod
    def _closes(line: bytes) -> bool:
        return line.lstrip()[:1] in _GOES_ON or line.strip() == b"end"

    def _goes_on(self, at: int, indent: int) -> bool:
        """Whether a comment at ``at`` that is indented too little stands inside a body."""
        behind = next((k for k in self.text.indents[at + 1 : at + 40] if k >= 0 and k != self.text.indents[at]), -1)
        return behind > indent


def names_at(outline: Outline, at: int) -> Iterator[str]:
    """The names of the definitions that line ``at`` stands in, outermost first."""
    for item in outline.all:
        if item.head < at < item.end:
            yield item.name
