"""What a merged text must not do, in any language: the vetoes over a result that the rules made.

What each language forbids is told by :mod:`patchctl.engine.guards`, for Python only where the two edits could meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchctl.engine import guards
from patchctl.engine.lines import split
from patchctl.engine.merge import python
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.lists import import_of
from patchctl.engine.merge.model import Change, Context, Placed
from patchctl.engine.merge.placing import Part
from patchctl.engine.merge.report import only_imports, scope_name
from patchctl.engine.merge.text import first_indent, is_weak

# An import that both sides have added, each in a block of its own: to bind a name to one module twice changes nothing.
TWICE = "import-twice"
# Kinds that a reviewer must see and that stop nothing: also a file that the Python that runs here can't parse.
REVIEWED = frozenset({TWICE, "unparsed"})
_CLOSE = 25  # lines


@dataclass(frozen=True, slots=True)
class Veto:
    """``kind``: syntax, defined-twice, name-gone, superseded, or one of :data:`REVIEWED`; ``line`` of the result, from
    1, where there is one."""

    kind: str
    text: str
    line: int | None = None


def check(ctx: Context, edits: Sequence[Edit], parts: Sequence[Part], result: bytes) -> list[Veto]:
    """Why ``result`` must not be called clean."""
    if ctx.kind == "python":
        return list(_python(ctx, edits, parts, result))
    found = guards.check(ctx.path, ctx.onto.data, result, ctx.base.data, ctx.patched.data)
    return [Veto(item.kind, item.text, item.line) for item in found]


def _python(ctx: Context, edits: Sequence[Edit], parts: Sequence[Part], result: bytes) -> Iterator[Veto]:
    puts = [put for _, placed in parts if placed for put in placed.puts]
    broken = python.broken(ctx, result, puts)
    if broken:
        yield Veto("syntax", f"{ctx.path} would be no valid Python any more.")
        return
    suspect = python.suspects(ctx, edits)
    doubt = guards.unparsed(ctx.path, ctx.onto.data, ctx.patched.data) if suspect or broken is None else None
    if doubt is not None:
        yield Veto(doubt.kind, doubt.text)
    if suspect:
        found = guards.check(ctx.path, ctx.onto.data, result, ctx.base.data, ctx.patched.data)
        found += guards.rivals(ctx.path, ctx.onto.data, ctx.base.data, ctx.patched.data)
        lines = split(result)
        for item in found:
            harmless = item.kind == "defined-twice" and item.line and _bound_again(lines, item.line - 1)
            yield Veto(TWICE if harmless else item.kind, item.text, item.line)


def _bound_again(lines: Sequence[bytes], at: int) -> bool:
    """Whether the import on line ``at`` stands word for word in another block of imports: it binds the same again."""
    if import_of(lines[at]) is None:
        return False
    twins = [other for other, line in enumerate(lines) if line == lines[at] and other != at]
    return len(twins) == 1 and _apart(lines, at, twins[0])


def _apart(lines: Sequence[bytes], one: int, two: int) -> bool:
    """Whether something else than imports stands between two lines: a blank line, most often."""
    return any(import_of(line) is None for line in lines[min(one, two) : max(one, two)])


def doubled(ctx: Context, parts: Sequence[Part]) -> Iterator[Veto]:
    """Added lines that upstream has added by itself, in another place: to add them again would double them.

    A block counts wherever it stands, a single line only close by; neither in another function that the base has too,
    for one change is often made in several.
    """
    for change, placed in parts:
        told = [line for line in change.new if not is_weak(line)]
        if placed is None or not placed.puts or not told or not change.inserts:
            continue
        if any(line in ctx.base.counts for line in told):
            continue
        at = _stands(ctx, change, placed.at if len(told) < 2 else None)
        if at is not None and only_imports(ctx, change) and _apart(ctx.onto.lines, at, placed.at):
            continue
        if at is not None and not _elsewhere(ctx, change, placed, at):
            text = f"What the patch adds stands at line {at + 1} already, where upstream put it."
            yield Veto("defined-twice", text, at + 1)


def _elsewhere(ctx: Context, change: Change, placed: Placed, at: int) -> bool:
    """Whether line ``at`` of the new file stands in another function than ``change`` goes into, and is none that
    upstream has made of that one: the base has it too."""
    indent = first_indent(change.new)
    there, here = scope_name(ctx.onto, at, indent), scope_name(ctx.onto, placed.at, indent)
    return (
        there is not None
        and there != here
        and there in {".".join((*item.scope, item.name)) for item in ctx.old_outline.all}
    )


def _stands(ctx: Context, change: Change, near: int | None) -> int | None:
    """Where the added lines stand in the new file, blank lines aside; only close to line ``near`` if that is given."""
    block = [line for line in change.new if line.strip()]
    numbers = ctx.onto_numbers
    for at in ctx.onto_lines.find(block, 8):
        if near is None or abs(numbers[at] - near) <= _CLOSE:
            return numbers[at]
    return None
