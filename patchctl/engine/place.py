"""Where the hunks of one file go when only the patch's own context is known.

The rule, for each hunk in order; whatever it does not accept is a :class:`Miss` for a person to decide:

1. If the file is the very one that the hunks were made for (its blob id is the one on the ``index`` line), the
   hunks go to their stated lines, however often their text occurs elsewhere.
2. Else the hunk's old lines must occur at exactly one place of the file, byte for byte, behind the hunk before.
   - A hunk with leading but no trailing context was cut at the end of its file, so it must end at the end here;
     one that starts at line 1 with less leading than trailing context must start at the beginning.
   - A place contradicts the hunk's section heading if the changed lines are indented, nothing unindented in the
     hunk leads up to them, and they would land in another class, function or table than the heading names. Such
     places do not count.
   - A hunk without any old line has no place: its line number alone is a guess.
   - Away from the stated line, the old lines must hold a letter or digit, and lines that are only added must
     stand between two context lines or at the file's edge.
3. If the old lines occur several times, the stated line decides only where nothing speaks against it: the patch
   carries no blob id for the file, and *every* hunk of it matches at its stated line. That is said in a note.

Several places, or none, are never settled by distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from patchctl.engine.lines import Lines
from patchctl.engine.model import Hunk, Line, Op
from patchctl.engine.scopes import Scopes, indent_of, name_of

# More places than this are as good as any number: they are neither compared by scope nor listed.
_MANY = 64


class Known(Enum):
    """What the blob id on a patch's ``index`` line says about the file at hand."""

    SAME = "same"
    OTHER = "other"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Spot:
    """A hunk that has its place: its old lines stand at index ``at``. ``notes`` are for a reviewer."""

    at: int
    method: str
    scope: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Miss:
    """A hunk that has no certain place, why, and around which index a person should look.

    ``kind``: context, ambiguous, scope, end-of-file, start-of-file, no-context, order, line-endings, whitespace.
    """

    kind: str
    message: str
    near: int


class Target:
    """A file to place hunks in, with all that is indexed about it once."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.exact = Lines(lines)
        self.scopes = Scopes(lines)
        self._folded: dict[str, Lines] = {}

    def folded(self, kind: str) -> Lines:
        """The file under one of the foldings of :data:`FOLDS`."""
        if kind not in self._folded:
            self._folded[kind] = Lines(self.exact.lines, FOLDS[kind])
        return self._folded[kind]


def _without_end(line: bytes) -> bytes:
    return line.rstrip(b"\r\n")


def _without_tail(line: bytes) -> bytes:
    return line.rstrip()


def _without_space(line: bytes) -> bytes:
    return b"".join(line.split())


FOLDS = {"line-endings": _without_end, "trailing": _without_tail, "whitespace": _without_space}


def place(target: Target, hunks: Sequence[Hunk], known: Known) -> list[Spot | Miss]:
    """The place of each hunk in ``target`` by the rule above, in order."""
    stated = all(target.exact.stands(hunk.old, start_of(hunk)) for hunk in hunks)
    if stated and known is Known.SAME:
        return [Spot(start_of(hunk), "exact", scope_of(target, hunk, start_of(hunk))) for hunk in hunks]
    out: list[Spot | Miss] = []
    floor = offset = 0
    for hunk in hunks:
        found = _place_one(target, hunk, floor, offset, stated and known is Known.NOTHING)
        if isinstance(found, Spot):
            floor = found.at + len(hunk.old)
            offset = found.at - start_of(hunk)
        out.append(found)
    return out


def start_of(hunk: Hunk) -> int:
    """The index of the first old line as the header states it (where lines go in, if there is none)."""
    return hunk.old_start - 1 if hunk.old else hunk.old_start


def stands_at(lines: Sequence[bytes], block: Sequence[bytes], at: int) -> bool:
    """Whether ``block`` stands in ``lines`` at index ``at``."""
    return 0 <= at <= len(lines) - len(block) and list(lines[at : at + len(block)]) == list(block)


def reverse(hunk: Hunk) -> Hunk:
    """The hunk that takes ``hunk`` back."""
    turned = {Op.ADD: Op.REMOVE, Op.REMOVE: Op.ADD, Op.CONTEXT: Op.CONTEXT}
    lines = tuple(Line(turned[line.op], line.data) for line in hunk.lines)
    return Hunk(hunk.new_start, hunk.new_count, hunk.old_start, hunk.old_count, hunk.section, lines)


def leading(hunk: Hunk) -> int:
    """How many context lines stand before the first change."""
    return next((index for index, line in enumerate(hunk.lines) if line.op is not Op.CONTEXT), len(hunk.lines))


def trailing(hunk: Hunk) -> int:
    """How many context lines stand behind the last change."""
    backwards = enumerate(reversed(hunk.lines))
    return next((index for index, line in backwards if line.op is not Op.CONTEXT), len(hunk.lines))


def scope_of(target: Target, hunk: Hunk, at: int) -> str | None:
    """The dotted name of the definition that the hunk's first change stands in, placed at ``at``; None: in none."""
    return ".".join(target.scopes.chain(at + leading(hunk), change_indent(hunk))) or None


def change_indent(hunk: Hunk) -> int:
    """How far the first changed line that is not blank is indented."""
    changed = (line.data for line in hunk.lines if line.op is not Op.CONTEXT and line.data.strip())
    return indent_of(next(changed, b""))


def _place_one(target: Target, hunk: Hunk, floor: int, offset: int, stated: bool) -> Spot | Miss:
    near = min(max(start_of(hunk) + offset, floor), len(target.exact))
    if not hunk.old:
        if len(target.exact) == 0 and hunk.old_start == 0:
            return Spot(0, "exact")
        return Miss("no-context", "The hunk has no context at all, so that its place would be a guess.", near)
    found = _candidates(target, hunk)
    if not found:
        return _explain(target, hunk, floor, near)
    there = start_of(hunk)
    if stated and len(found) > 1 and not _ruled_out(target, hunk, there):
        note = f"The hunk's old lines stand at several places ({_numbers(found)}); it went to its stated line."
        return Spot(there, "exact", scope_of(target, hunk, there), (note,))
    reasons = {at: _ruled_out(target, hunk, at) for at in found} if len(found) < _MANY else dict.fromkeys(found)
    fits = [at for at, reason in reasons.items() if reason is None]
    if len(fits) == 1:
        return _judge(target, hunk, fits[0], floor)
    if fits:
        text = f"The hunk's old lines stand at several places ({_numbers(fits)}): only distance would tell them apart."
        return Miss("ambiguous", text, near)
    return next(reason for reason in reasons.values() if reason is not None)


def _candidates(target: Target, hunk: Hunk) -> list[int]:
    """Where the old lines stand: at the edge of the file if they were cut there, else anywhere."""
    end = len(target.exact) - len(hunk.old)
    for at, bound in ((end, trailing(hunk) == 0), (0, _from_start(hunk))):
        if bound and target.exact.stands(hunk.old, at):
            return [at]
    return target.exact.find(hunk.old, _MANY)


def _from_start(hunk: Hunk) -> bool:
    before = leading(hunk)
    return hunk.old_start <= 1 and (before == 0 or before < trailing(hunk))


def _ruled_out(target: Target, hunk: Hunk, at: int) -> Miss | None:
    """Why the file's edges or the section heading speak against index ``at``, if they do."""
    return _edge(target, hunk, at) or _other_scope(target, hunk, at)


def _judge(target: Target, hunk: Hunk, at: int, floor: int) -> Spot | Miss:
    """The only place that fits: is it good enough?"""
    if at < floor:
        text = f"The lines of the hunk stand at line {at + 1} only, before or inside the hunk that precedes it."
        return Miss("order", text, floor)
    if at == start_of(hunk):
        return Spot(at, "exact", scope_of(target, hunk, at))
    if not any(line.strip(b" \t\r\n(){}[];,:#*/\\\"'`|<>=+-_") for line in hunk.old):
        text = f"The hunk's old lines hold nothing to know a place by, and line {at + 1} is not the stated line."
        return Miss("context", text, at)
    if _one_sided(target, hunk, at):
        text = f"The added lines have context on one side only, and it stands at line {at + 1}, not at the stated line."
        return Miss("context", text, at)
    return Spot(at, "offset", scope_of(target, hunk, at))


def _one_sided(target: Target, hunk: Hunk, at: int) -> bool:
    if any(line.op is Op.REMOVE for line in hunk.lines):
        return False
    free_start = leading(hunk) == 0 and at > 0
    free_end = trailing(hunk) == 0 and at + len(hunk.old) < len(target.exact)
    return free_start or free_end


def _numbers(places: Sequence[int]) -> str:
    shown = ", ".join(str(at + 1) for at in places[:5])
    return f"lines {shown}" + (", …" if len(places) > 5 else "")


def _edge(target: Target, hunk: Hunk, at: int) -> Miss | None:
    rest = len(target.exact) - at - len(hunk.old)
    if trailing(hunk) == 0 and rest:
        text = f"The hunk says that its file ends behind it; here {rest} more lines follow line {at + len(hunk.old)}."
        return Miss("end-of-file", text, at)
    if at and _from_start(hunk):
        return Miss("start-of-file", f"The hunk says that its file begins with it; here {at} lines stand above.", at)
    return None


def _other_scope(target: Target, hunk: Hunk, at: int) -> Miss | None:
    """Whether the section heading of ``hunk`` speaks against index ``at``."""
    name = name_of(hunk.section)
    indent = change_indent(hunk)
    before = [line.data for line in hunk.lines[: leading(hunk)]]
    if name is None or indent == 0 or any(_unindented(line) for line in before):
        return None
    chain = target.scopes.chain(at + leading(hunk), indent)
    heading = name_of(target.scopes.heading(at) or b"")
    if name in chain or name == heading:
        return None
    here = ".".join(chain) or heading or "no definition"
    said = hunk.section.strip().decode("utf-8", "surrogateescape")
    text = f"The hunk is meant for '{said}'; its lines stand in {here} (line {at + 1}) only."
    return Miss("scope", text, at)


def _unindented(line: bytes) -> bool:
    return bool(line.strip()) and indent_of(line) == 0 and line[:1] not in b"#"


def _explain(target: Target, hunk: Hunk, floor: int, near: int) -> Miss:
    """Why the old lines stand nowhere: bytes that no eye sees, or real differences."""
    for kind, words in (
        ("line-endings", "in line endings"),
        ("trailing", "in trailing whitespace"),
        ("whitespace", "in whitespace"),
    ):
        found = target.folded(kind).find(hunk.old, 2)
        if found:
            at = found[0]
            if kind == "line-endings" and _only_last_newline(target, hunk, at):
                words = "in the newline at the end of the file"
            text = f"At line {at + 1} the file differs from the hunk {words} only; patchctl does not look past that."
            return Miss("line-endings" if kind == "line-endings" else "whitespace", text, at)
    at = _best(target, hunk, floor, near)
    return Miss("context", _first_difference(target, hunk, at), at)


def _only_last_newline(target: Target, hunk: Hunk, at: int) -> bool:
    here = target.exact.lines[at : at + len(hunk.old)]
    return all(a.endswith(b"\r\n") == b.endswith(b"\r\n") for a, b in zip(here[:-1], hunk.old[:-1], strict=True)) and (
        here[-1].endswith(b"\n") != hunk.old[-1].endswith(b"\n")
    )


def _best(target: Target, hunk: Hunk, floor: int, near: int) -> int:
    """The index within reach of ``near`` where most old lines stand: a hint for people, never a place."""
    lines = target.exact.lines
    reach = 80
    low, high = max(floor, near - reach), min(len(lines), near + reach)
    scores: dict[int, float] = {}
    wanted: dict[bytes, list[int]] = {}
    for index, line in enumerate(hunk.old[:reach]):
        if line.strip():
            wanted.setdefault(line, []).append(index)
    for at in range(low, min(len(lines), high + min(len(hunk.old), reach))):
        for index in wanted.get(lines[at], [])[:8]:
            if low <= at - index <= high:
                scores[at - index] = scores.get(at - index, 0) + 1
    return max(scores, key=lambda at: (scores[at], -abs(at - near)), default=near)


def _first_difference(target: Target, hunk: Hunk, at: int) -> str:
    for index, line in enumerate(hunk.old):
        here = target.exact.lines[at + index] if at + index < len(target.exact) else None
        if here == line:
            continue
        wanted = f"The hunk expects {_shown(line)} at line {at + index + 1}"
        return f"{wanted}; the file {'ends before it' if here is None else f'has {_shown(here)}'}."
    return "The hunk's old lines do not stand in the file."


def _shown(line: bytes) -> str:
    text = line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
    return f"'{text if len(text) <= 80 else text[:77] + '…'}'"
