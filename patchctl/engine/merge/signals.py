"""Signs that the words fit and the meaning may not: nothing that stops a merge, but something to look at."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence

from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.model import Context
from patchctl.engine.merge.report import Hint

_NAME = re.compile(rb"[A-Za-z_]\w{2,120}")  # nobody writes longer ones
_ASIDE = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`|(?:^|\s)(?:#|//|\*\s).*|/\*.*?\*/")
_OTHERS = ("null", "undefined", "constructor", "func", "function", "const", "let", "var", "struct")
_MANY = 100
_KEYWORDS = frozenset(word.encode() for word in {*keyword.kwlist, *dir(builtins), *_OTHERS})


def hints(ctx: Context, edits: Sequence[Edit]) -> Iterator[Hint]:
    """Names that the patch begins to use somewhere, and that the base has and the new file has not any more."""
    for name, line in lost_names(ctx, edits):
        text = f"The patch uses {name} (line {line + 1} of its result), which the base has and the new file has not."
        yield Hint("name", text)


def lost_names(ctx: Context, edits: Sequence[Edit]) -> Iterator[tuple[str, int]]:
    """Those names, each with the line (index) of the patched text that uses it first."""
    if ctx.kind in ("prose", "table"):
        return
    found: dict[bytes, int] = {}
    for edit in edits:
        old = names(ctx.base.lines[edit[0] : edit[1]])
        for at in range(edit[2], edit[3]):
            for name in names([ctx.patched.lines[at]]) - old:
                found.setdefault(name, at)
    # One look at all words takes less time than many looks through the whole text.
    words = names(ctx.base.lines) if len(found) > _MANY else None
    known = {name: at for name, at in found.items() if (name in ctx.base.data if words is None else name in words)}
    there = ctx.onto.having(known)
    gone = {name: at for name, at in known.items() if name not in there}
    there = names(line for line in ctx.base.lines if any(name in line for name in gone)) if words is None else words
    for name, at in sorted(gone.items(), key=lambda item: (item[1], item[0])):
        if name in there and _bound(name, ctx.base.data):
            yield name.decode(), at


def _bound(name: bytes, data: bytes) -> bool:
    """Whether ``data`` itself makes ``name``: defines, imports or assigns it, or takes it as a parameter."""
    pattern = rb"(?:\b(?:def|class|func|function|var|let|const|import|as|for)\b[^\n=(]*\b%b\b|\b%b\s*:?=[^=])"
    return re.search(pattern % (name, name), data) is not None


def names(lines: Iterable[bytes]) -> set[bytes]:
    """The words of ``lines`` that could be names, comments and texts in quotes left out as far as one line shows."""
    return {name for line in lines for name in _NAME.findall(_ASIDE.sub(b"", line))} - _KEYWORDS
