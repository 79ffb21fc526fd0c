"""What is told about a merge: a record for each hunk, and what a reviewer must look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchctl.engine.merge.lists import import_of
from patchctl.engine.merge.model import Change, Context, Placed
from patchctl.engine.merge.outline import definition_name
from patchctl.engine.merge.placing import Part
from patchctl.engine.merge.rules import QUIET, TRANSPORT
from patchctl.engine.merge.siblings import whole_definitions
from patchctl.engine.merge.text import Text, first_indent, has_word, indent_of
from patchctl.engine.outcome import HunkRecord

_SHOWN = 60
_FARTHEST = 10_000  # lines above a place in which the heads around it are looked for


@dataclass(frozen=True, slots=True)
class Hint:
    """Something for a reviewer: ``line`` is one of the new file, from 1."""

    kind: str
    text: str
    line: int | None = None


def records(ctx: Context, parts: Sequence[Part], spans: Sequence[tuple[int, int]], stuck: bool) -> Iterator[HunkRecord]:
    """A record for each hunk of the patch, whose lines in the base are ``spans``."""
    shift = at_part = 0
    for start, end in spans:
        mine = []
        while at_part < len(parts) and parts[at_part][0].start <= end and parts[at_part][0].end <= end:
            mine.append(parts[at_part])
            at_part += 1
        if not mine or any(placed is None for _, placed in mine):
            yield HunkRecord(start + 1, None, "conflict", 0.0, made_for(ctx, mine[0][0]) if mine else None)
            continue
        found = [placed for _, placed in mine if placed]
        method = _method(ctx, mine, found, start, end)
        at = _begin(ctx, mine, start, end)
        indent = first_indent(mine[0][0].new or ctx.base.lines[mine[0][0].start : mine[0][0].end])
        scope = scope_name(ctx.onto, found[0].at, indent)
        new_start = None if method == "present" or stuck else at + shift + 1
        yield HunkRecord(start + 1, new_start, method, min(item.score for item in found), scope)
        shift += sum(len(put.new) - (put.end - put.start) for item in found for put in item.puts)


def made_for(ctx: Context, change: Change) -> str | None:
    """The dotted name of the definitions around ``change`` in the base."""
    lines = change.new or ctx.base.lines[change.start : change.end]
    return scope_name(ctx.base, change.start, first_indent(lines))


def scope_name(text: Text, place: int, indent: int) -> str | None:
    """The dotted name of the definitions around a line indented by ``indent`` before line ``place``; None: in none."""
    names: list[str] = []
    at = place - 1
    while indent:
        at = text.opener(at, place - _FARTHEST, indent, b"#)]}")
        if at < 0 or place - at >= _FARTHEST:
            break
        indent = indent_of(text.lines[at])
        name = definition_name(text.lines[at].strip())
        if name:
            names.append(" ".join(name.split()))
        at -= 1
    return ".".join(reversed(names)) or None


def _method(ctx: Context, mine: Sequence[Part], found: Sequence[Placed], start: int, end: int) -> str:
    if all(not item.puts for item in found):
        return "present"
    beyond = [item for item in found if item.rule not in TRANSPORT]
    if beyond:
        return min(beyond, key=lambda item: item.score).rule
    if any(_speaks_of(line, ctx.renames.values()) for item in found for put in item.puts for line in put.new):
        return "renamed"
    if _scope_renamed(ctx, mine):
        return "renamed-scope"
    first = ctx.align.sure(start)
    if all(ctx.align.sure(at) == first + at - start for at in range(start, end)):
        return "exact" if first == start else "offset"
    return "transport"


def _scope_renamed(ctx: Context, mine: Sequence[Part]) -> bool:
    for change, placed in mine:
        if placed and placed.puts:
            lines = change.new or ctx.base.lines[change.start : change.end]
            if ctx.scope_renamed(change.start, placed.puts[0].start, lines):
                return True
    return False


def _speaks_of(line: bytes, words: Iterable[bytes]) -> bool:
    return any(has_word(line, word) for word in words)


def _begin(ctx: Context, mine: Sequence[tuple[Change, Placed | None]], start: int, end: int) -> int:
    """The index in the new file at which a hunk begins, its context included where that stands."""
    change, placed = mine[0]
    at = placed.puts[0].start if placed and placed.puts else placed.at if placed else 0
    lead = change.start - start
    if all(ctx.align.sure(start + k) == at - lead + k for k in range(lead)):
        return at - lead
    return at


def review(ctx: Context, parts: Sequence[Part]) -> Iterator[Hint]:
    """A hint for each placement that rests on more than arithmetic, with the neighbours then and now."""
    for change, placed in parts:
        if placed is None or placed.rule in QUIET or only_imports(ctx, change):
            continue
        if placed.rule == "closed-gap" and ctx.kind == "python" and whole_definitions(ctx, change):
            continue  # in its scope still, and the order of definitions is free
        place = placed.puts[0] if placed.puts else None
        start, end = (place.start, place.end) if place else (placed.at, placed.at)
        then = _between(ctx.base.lines, change.start, change.end)
        now = _between(ctx.onto.lines, start, end)
        why = f" ({placed.doubt})" if placed.doubt else ""
        text = f"Placed by the rule {placed.rule}{why}: {now}; in the base {then}."
        yield Hint(placed.rule, text, start + 1)


def only_imports(ctx: Context, change: Change) -> bool:
    """Whether ``change`` adds nothing but imports of Python: where they stand among others changes nothing, and that
    upstream has them, too, says little."""
    told = [line for line in change.new if line.strip()]
    return ctx.kind == "python" and change.inserts and bool(told) and all(import_of(line) for line in told)


def _between(lines: Sequence[bytes], start: int, end: int) -> str:
    above = next((line for line in reversed(lines[max(0, start - 20) : start]) if line.strip()), b"the beginning")
    below = next((line for line in lines[end : end + 20] if line.strip()), b"the end")
    return f"between {_shown(above)} and {_shown(below)}"


def _shown(line: bytes) -> str:
    text = line.strip().decode("utf-8", "surrogateescape")
    return f"'{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}'"
