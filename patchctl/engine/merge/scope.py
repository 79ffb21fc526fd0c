"""What a place of a file stands in, told from indentation, headings and preprocessor conditions.

A scope is the chain of lines that are open at a place, outermost first: the nearest line above that is indented
less, the nearest above that one, and so on. Two places, one in the base and one in the new file, are in the same
scope if their chains are the same lines: counterparts by the alignment, or equal texts. That reads Python, YAML,
and every language that people indent, without parsing any of them; prose and tables have headings instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from patchctl.engine.merge.align import Alignment
from patchctl.engine.merge.outline import definition_name
from patchctl.engine.merge.text import Text, indent_of, strings

_PROSE = (".md", ".rst", ".txt", ".adoc", ".markdown", ".html")
_TABLES = (".ini", ".cfg", ".toml", ".conf", ".options", ".lint")
_C = (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".m", ".cs", ".pyx", ".in")
_UNDERLINE = re.compile(rb"([=\-~^*+#\"'`])\1{2,}\s*\Z")
_SECTION = re.compile(rb"\[+[^\]]+\]+\s*\Z|FROM\s[^=]*\Z")  # FROM: a stage of a Dockerfile
_CALL = re.compile(rb"\s*[\w.]+[ (]\s*(['\"`])(?:(?!\1).)+\1")
_KEY = re.compile(rb"\s*(?:- )?([\"']?[\w.:/$@-]+[\"']?)\s*:(?:\s+(.*\S))?\s*\Z")
_TARGET = re.compile(rb"([\w./%$()-]+)\s*:(?![:=])")  # of a Makefile; a key of JavaScript
_NEGATIONS = re.compile(rb"\s*!==?\s*|!|\bnot\b|(?<=#if)n(?=def\b)")
_WORDS = re.compile(rb"[^\s()=]+|=+")
# What goes on with a statement that stands above it, and is for what that one leaves.
_GOES_ON = re.compile(rb"(?:\}?\s*|#\s*)(?:else\s+if|else|elif|elsif|except|catch|finally|rescue|ensure)\b")
_HASHES = re.compile(rb"#{1,6}\s")
_OPENER = re.compile(rb"^[@\w].*[:({\[=,\\>]\s*(?:(?:#|//).*)?\Z")
_FARTHEST = 3000  # lines above a place that are looked through
_REOPENS = re.compile(rb"[)\]}]+\s*(?:->.*)?[:{(\[]\s*\Z")


def kind_of(path: str) -> str:
    """What shows structure in a file of that name: headings, sections, braces (with a preprocessor) or indentation."""
    name = path.rpartition("/")[2].lower()
    if name.startswith("dockerfile") or name.endswith(".dockerfile"):
        return "table"
    if name in ("makefile", "gnumakefile"):
        return "code"
    if name.endswith(_PROSE) or "changelog" in name or "changes" in name or "news" in name or "." not in name:
        return "prose"
    if name.endswith(_TABLES):
        return "table"
    if name.endswith((".py", ".pyi")):
        return "python"
    return "c" if name.endswith(_C) else "yaml" if name.endswith((".yaml", ".yml", ".j2")) else "code"


def is_heading(lines: Sequence[bytes]) -> bool:
    """Whether prose ``lines`` begin with a heading."""
    told = [line for line in lines if line.strip()][:2]
    return bool(told) and (bool(_HASHES.match(told[0])) or (len(told) > 1 and bool(_UNDERLINE.match(told[1]))))


def has_heading(lines: Sequence[bytes], kind: str) -> bool:
    """Whether a heading of prose, or the name of a table's section, stands among ``lines``."""
    if kind == "table":
        return any(_SECTION.match(line.strip()) for line in lines)
    return kind == "prose" and any(_HASHES.match(line) or _UNDERLINE.match(line) for line in lines)


class Scopes:
    """The scopes of one text; ``kind`` as :func:`kind_of` tells it."""

    def __init__(self, text: Text, kind: str) -> None:
        self.text = text
        self.kind = kind

    @cached_property
    def _depth(self) -> list[int]:
        """How deep each line stands; -1 for lines that open and close nothing (blank, comments, directives)."""
        lines, indents = self.text.lines, self.text.indents
        if self.kind != "python":
            return [self._deep(at) for at in range(len(lines))]
        return [
            -1 if aside or indent < 0 or line.lstrip()[:1] == b"#" else 2 * indent
            for line, indent, aside in zip(lines, indents, strings(lines), strict=True)
        ]

    def _deep(self, at: int) -> int:
        start = self.text.lines[at].lstrip()
        if not start or start[:1] == b"#" or start[:2] == b"{%":
            return -1
        if self.kind == "c" and start[:2] in (b"//", b"/*", b"* "):
            return -1
        return 2 * self.text.indents[at] + (self.kind == "yaml" and start[:2] == b"- ")

    @cached_property
    def _up(self) -> list[int]:
        """For each line the nearest one above that is less deep; -1: none."""
        out: list[int] = []
        stack: list[int] = []
        depth = self._depth
        for at, deep in enumerate(depth):
            if deep >= 0:
                while stack and depth[stack[-1]] >= deep:
                    stack.pop()
            out.append(stack[-1] if stack else -1)
            if deep >= 0:
                stack.append(at)
        return out

    @cached_property
    def _last(self) -> list[int]:
        """For each place the nearest line above it that has a depth; -1: none."""
        out = [-1]
        for at, deep in enumerate(self._depth):
            out.append(at if deep >= 0 else out[-1])
        return out

    @cached_property
    def _headings(self) -> list[tuple[int, ...]]:
        """For each place the headings, sections or conditions that are open there."""
        lines = self.text.lines
        if self.kind not in ("prose", "table", "c"):
            return [()] * (len(lines) + 1)
        out: list[tuple[int, ...]] = [()]
        now: tuple[int, ...] = ()
        for at, line in enumerate(lines):
            now = self._after(now, at, line)
            out.append(now)
        return out

    def _after(self, now: tuple[int, ...], at: int, line: bytes) -> tuple[int, ...]:
        lines = self.text.lines
        if self.kind == "prose":
            if _HASHES.match(line):
                return (at,)
            if at and _UNDERLINE.match(line) and lines[at - 1].strip() and len(line.strip()) >= 3:
                return (at - 1,)
        elif self.kind == "table":
            if _SECTION.match(line.strip()):
                return (at,)
        elif self.kind == "c":
            word = line.lstrip()
            if word.startswith(b"#"):
                word = word[1:].lstrip()
                if word.startswith(b"if"):
                    return (*now, at)
                if word.startswith((b"else", b"elif")):
                    return (*now[:-1], at)
                if word.startswith(b"endif"):
                    return now[:-1]
        return now

    def chain(self, place: int, indent: int) -> tuple[int, ...]:
        """The lines that are open around a line put in before line ``place`` and indented by ``indent``."""
        deep = 2 * indent
        out = []
        at = self._last[place]
        while at >= 0:
            if self._depth[at] >= deep:
                at = self._up[at]
            elif _REOPENS.match(self.text.lines[at].strip()):
                deep = self._depth[at] + 1  # the end of a long head: its beginning has the name
                at = self._last[at]
            else:
                out.append(at)
                deep = self._depth[at]
                at = self._up[at]
        return (*self._headings[place], *reversed(out))

    @cached_property
    def labels(self) -> dict[bytes | None, list[int]]:
        """The labels of all lines, and which lines have them."""
        out: dict[bytes | None, list[int]] = {}
        for at, line in enumerate(self.text.lines):
            out.setdefault(label(line, self.kind), []).append(at)
        out.pop(None, None)
        return out

    def named(self, name: bytes | None, around: tuple[int, ...]) -> list[int]:
        """The lines of that label in the scope ``around``."""
        found = self.labels.get(name, [])
        if self.kind in ("prose", "table"):
            return found
        return [at for at in found if self.chain(at, self.text.indents[at]) == around]

    def equal(self, line: bytes, around: tuple[int, ...]) -> list[int]:
        """The lines in the scope ``around`` that are ``line``, wherever they are indented."""
        first, last = (around[-1] + 1, self.end(around[-1])) if around else (0, len(self.text))
        told = _GOES_ON.sub(b"if", line.strip())
        found = (at for at in range(first, last) if _GOES_ON.sub(b"if", self.text.lines[at].strip()) == told)
        return [at for at in found if self.chain(at, self.text.indents[at]) == around]

    def beginning(self, at: int) -> int:
        """The line that begins the statement of which line ``at`` begins a branch: ``if`` for ``else``."""
        here = at
        if self._is_directive(at):
            return self._condition(at)
        while here > 0 and _GOES_ON.match(self.text.lines[here].strip()):
            above = here - 1
            while above > 0 and not -1 < self._depth[above] <= self._depth[here]:
                above -= 1
            here = above
        return here

    def _condition(self, at: int) -> int:
        """The line with the ``#if`` for the ``#else`` at line ``at``."""
        closed = 0
        for above in range(at - 1, -1, -1):
            word = self.text.lines[above].lstrip().removeprefix(b"#").lstrip() if self._is_directive(above) else b""
            if word.startswith(b"if"):
                if not closed:
                    return above
                closed -= 1
            closed += word.startswith(b"endif")
        return at

    def _is_directive(self, at: int) -> bool:
        return self.text.lines[at].lstrip()[:1] == b"#"

    def end(self, at: int) -> int:
        """Where the scope ends that line ``at`` opens; by indentation alone."""
        for below in range(at + 1, len(self.text)):
            if -1 < self._depth[below] <= self._depth[at] and not _REOPENS.match(self.text.lines[below].strip()):
                return below
        return len(self.text)

    def body(self, at: int) -> Counter[bytes]:
        """What stands in the scope that line ``at`` opens, as a bag of lines; by indentation alone."""
        out = Counter(line.strip() for line in self.text.lines[at + 1 : self.end(at)])
        del out[b""]
        return out


def same_scope(align: Alignment, old: Scopes, new: Scopes, here: tuple[int, ...], there: tuple[int, ...]) -> bool:
    """Whether the chain ``here`` of the base and ``there`` of the new file are the same scope.

    The lines are equal, or define the same name, or are counterparts, or the one was rewritten as part of a block
    that holds the other. Where a name was changed, the old one must be gone and the new one new: else they are two
    scopes.
    """
    if len(here) != len(there):
        return False
    for depth, (a, b) in enumerate(zip(here, there, strict=True)):
        one, two = old.text.lines[a], new.text.lines[b]
        if _GOES_ON.match(one.strip()) and not _goes_on_alike(align, old, new, a, b):
            return False
        if one.strip() == two.strip():
            continue
        names = label(one, old.kind), label(two, new.kind)
        if _turned(one, two):
            return False
        if names == (None, None):
            if _is_another(old, new, a, b, old.equal(two, here[:depth])):
                return False
        elif names[0] != names[1]:
            if names[0] in new.labels or _is_another(old, new, a, b, old.named(names[1], here[:depth])):
                return False
        else:
            continue
        if align.at(a) != b and not align.rewritten(a, b):
            return False
    return True


def _goes_on_alike(align: Alignment, old: Scopes, new: Scopes, a: int, b: int) -> bool:
    """Whether two branches belong to what begins alike: ``else`` says the opposite if its ``if`` was turned."""
    here, there = old.beginning(a), new.beginning(b)
    one, two = old.text.lines[here], new.text.lines[there]
    if (a == here) != (b == there) or _turned(one, two):
        return False
    return one.strip() == two.strip() or align.at(here) == there or align.rewritten(here, there)


def _turned(one: bytes, two: bytes) -> bool:
    """Whether one of two lines asks for the opposite of the other."""
    return len(_NEGATIONS.findall(one)) != len(_NEGATIONS.findall(two)) and _plain(one) == _plain(two)


def _plain(line: bytes) -> list[bytes]:
    return _WORDS.findall(_NEGATIONS.sub(_without, line))


def _without(found: re.Match[bytes]) -> bytes:
    return b" == " if b"=" in found[0] else b"" if found[0] == b"n" else b" "


def _is_another(old: Scopes, new: Scopes, was: int, now: int, namesakes: Sequence[int]) -> bool:
    """Whether line ``now`` opens what one of ``namesakes`` opened in the base, rather than what ``was`` did."""
    if not namesakes or old.kind in ("prose", "table"):
        return bool(namesakes)
    body = new.body(now)
    mine = (body & old.body(was)).total()
    return any((body & old.body(other)).total() >= mine for other in namesakes)


def calm(align: Alignment, old_place: int, new_place: int, indent: int) -> bool:
    """Whether two places are in one scope for sure: all that is open around the one in the base stands in the new
    file as it was, and nothing that upstream put in between could open or close anything.

    That is what most places are, and told without reading the rest of either file. For text that has no scopes but
    by indentation.
    """
    if align.sure(old_place - 1) + 1 != new_place and align.sure(old_place) != new_place:
        return False
    lines = align.base.lines
    at, deep = old_place - 1, indent
    while deep > 0:
        at = align.base.opener(at, old_place - _FARTHEST - 1, deep, b"#")
        if at < 0 or old_place - at > _FARTHEST or align.exact[at] < 0:
            return False
        deep = indent_of(lines[at])
        if _REOPENS.match(lines[at].lstrip()):
            deep += 1  # the end of a long head: its beginning has the name
        elif deep == 0 and (not _OPENER.search(lines[at]) or _GOES_ON.match(lines[at].lstrip())):
            return False  # text inside a string, perhaps, or a branch of what stands above
        at -= 1
    top = at + 1
    for edit in align.between(top, old_place):
        if any(line.strip() and indent_of(line) < indent for line in align.onto.lines[edit.new_start : edit.new_end]):
            return False
    return True


def label(line: bytes, kind: str) -> bytes | None:
    """The name by which people know what ``line`` opens: a definition, a key, a heading, a test; None: it has none."""
    if kind in ("prose", "table"):
        return line.strip()
    if kind == "yaml":
        found = _KEY.match(line)
        return found[1] + (found[2] or b"" if line.lstrip().startswith(b"- ") else b"") if found else None
    name = definition_name(line)
    if name is not None:
        return name.encode("utf-8", "surrogateescape")
    called = _CALL.match(line)
    if called:
        return called[0].strip()
    found = _TARGET.match(line) if kind == "code" else None
    return found[1] if found else None
