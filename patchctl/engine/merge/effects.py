"""Whether upstream does by itself, in its own words, what a patch does to a Python file.

Both are read as clauses (:mod:`patchctl.engine.merge.clauses`): in which function, under which conditions, what
happens. What the patch brings is proved if upstream has brought a clause of the same effect in the same function,
under no more conditions than the patch sets and not without those that it adds, in the same order with what stands
around it. All of the patch must be proved so; a twin that was there before, or that stands in another function,
proves nothing. Nothing is read but texts that parse; where one does not, nothing is proved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from patchctl.engine.merge import syntax
from patchctl.engine.merge.clauses import Clause, Clauses
from patchctl.engine.merge.model import Change, Context
from patchctl.engine.merge.signals import names

_MOST = 4000  # clauses of a file
_LONGEST = 12_000  # lines of a file; a longer one takes seconds to read
_MOST_CHANGES = 300
_SHOWN = 90
# The package of an imported name, which a reader needs no more than the last part of.
_MODULES = re.compile(r"\b(?!self\.|cls\.)(?:[a-z_]\w*\.){2,}(?=\w)")


@dataclass(frozen=True, slots=True)
class Effect:
    """``proved``: upstream has all of the patch, as ``evidence`` says. ``own``: cases that the patch takes out of
    something, and for which upstream has something of its own: nothing that could be called the same. ``again``: the
    lines of the patched text (from 1) whose effect upstream has, though not that of all others."""

    proved: bool
    evidence: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    again: frozenset[int] = frozenset()


def same_effect(ctx: Context, changes: Sequence[Change]) -> Effect:
    """Compare what the patch did to the base with what upstream did to it."""
    if not ctx.path.endswith((".py", ".pyi")) or not _worth_a_look(ctx, changes):
        return Effect(False)
    texts = [_read(data) for data in (ctx.base.data, ctx.patched.data, ctx.onto.data)]
    if any(each is None or len(each.all) > _MOST for each in texts):
        return Effect(False)
    base, patched, onto = (each for each in texts if each is not None)
    return _Comparison(base, patched, onto, ctx, changes).verdict()


def _worth_a_look(ctx: Context, changes: Sequence[Change]) -> bool:
    """Whether upstream has added most of the names that the patch adds: else it has not done the same."""
    if max(len(ctx.base), len(ctx.patched), len(ctx.onto)) > _LONGEST or len(changes) > _MOST_CHANGES:
        return False
    mine = names(line for change in changes for line in change.new)
    mine -= names(line for change in changes for line in ctx.base.lines[change.start : change.end])
    theirs = names(line for edit in ctx.align.script for line in ctx.onto.lines[edit.new_start : edit.new_end])
    return bool(theirs) and 2 * len(mine & theirs) >= len(mine)


@lru_cache(maxsize=4)  # the patched text is the base of the next patch of a series
def _read(data: bytes) -> Clauses | None:
    tree = syntax.parse(data)
    try:
        return Clauses(tree) if tree is not None else None
    except RecursionError:
        return None


class _Comparison:
    def __init__(self, base: Clauses, patched: Clauses, onto: Clauses, ctx: Context, changes: Sequence[Change]) -> None:
        self.patched = patched
        self.onto = onto
        before = Counter(base.all)
        self.gained = _beyond(patched.all, before)
        self.lost = _beyond(base.all, Counter(patched.all))
        self.theirs = _beyond(onto.all, before)
        self._ctx = ctx
        self._changes = changes
        self._base = base

    def verdict(self) -> Effect:
        helpers = {each for each in self.gained if self._is_helper(each)}
        asked = [each for each in self.gained if each not in helpers and not self._follows(each)]
        proofs = [(each, self._proof(each)) for each in asked]
        told = list(_sentences((each, there) for each, there in proofs if there is not None))
        open_ = [each for each, there in proofs if there is None]
        own = [sentence for each in open_ for sentence in self._own_case(each)]
        explained = {each for each in self.gained if each not in open_}
        proved = bool(told) and not open_ and self._all_lines(explained) and all(map(self._is_gone, self.lost))
        again = frozenset(each.span[0] for each, there in proofs if there is not None)
        return Effect(proved, tuple(told), tuple(own) if len(own) == len(open_) else (), again)

    def _proof(self, mine: Clause) -> Clause | None:
        """The clause of upstream that does what ``mine`` does."""
        new = mine.guards - self._guards_before(mine)
        for there in self.theirs:
            if (
                there.scope == mine.scope
                and there.effect == mine.effect
                and there.guards <= mine.guards
                and (not new or not _positive(new) or there.guards & new)
                and self._in_order(mine, there)
            ):
                return there
        return None

    def _guards_before(self, mine: Clause) -> frozenset[str]:
        """Conditions that the base asks in that function already."""
        return frozenset(guard for each in self._base.by_scope.get(mine.scope, ()) for guard in each.guards)

    def _in_order(self, mine: Clause, there: Clause) -> bool:
        """Whether ``there`` stands between the same effects as ``mine``, as far as they are on its way."""
        ours, theirs = self.patched.by_scope[mine.scope], self.onto.by_scope[mine.scope]
        known = Counter(each.effect for each in ours), Counter(each.effect for each in theirs)
        places = {each.effect: each for each in theirs if known[0][each.effect] == known[1][each.effect] == 1}
        for each in ours:
            other = places.get(each.effect)
            if other is None or each.effect == mine.effect or _apart(each, mine) or _apart(other, there):
                continue
            if (each.order < mine.order) != (other.order < there.order):
                return False
        return True

    def _follows(self, mine: Clause) -> bool:
        """Whether ``mine`` was there before but for conditions that its ``elif`` or ``else`` takes over from above."""
        return any(
            each.scope == mine.scope and each.effect == mine.effect and _positive(each.guards) == _positive(mine.guards)
            for each in self.lost
        ) and not any(guard.startswith("not ") for guard in mine.guards & self._own_tests(mine))

    def _own_tests(self, mine: Clause) -> frozenset[str]:
        """The conditions on the very branch that ``mine`` stands in, as opposed to those of the branches above it."""
        inner = max((line for line, number in mine.branch if number == 0), default=0)
        same = [each for each in self.patched.by_scope[mine.scope] if (inner, 0) in each.branch]
        above = [each for each in self.patched.by_scope[mine.scope] if (inner, 1) in each.branch]
        if not above:
            return frozenset()
        shared = frozenset.intersection(*(each.guards for each in above))
        return frozenset.intersection(*(each.guards for each in same)) - shared if same else frozenset()

    def _is_gone(self, lost: Clause) -> bool:
        """Whether upstream does not have any more what the patch takes away."""
        kept = any(each.effect == lost.effect and each.scope == lost.scope for each in self.gained)
        return kept or not any(each.scope == lost.scope and each.effect == lost.effect for each in self.onto.all)

    def _is_helper(self, mine: Clause) -> bool:
        """Whether ``mine`` only names a condition, which the patch asks by that name and which was looked up."""
        if mine.scope or mine.target is None or not mine.target.isidentifier():
            return False
        others = [each for each in self.patched.all if each is not mine]
        return not any(_mentions(text, mine.target) for each in others for text in (each.effect, *each.guards))

    def _all_lines(self, explained: Iterable[Clause]) -> bool:
        """Whether every statement that the patch adds or takes away is one that was compared."""
        mine = _covered(self._changes, new=True)
        theirs = _covered(self._changes, new=False)
        known = [each.span for each in explained] + self.patched.silent
        lost = [each.span for each in self.lost] + self._base.silent
        return _all_known(self.patched.all, mine, known) and _all_known(self._base.all, theirs, lost)

    def _own_case(self, mine: Clause) -> Iterator[str]:
        """A sentence if the patch takes a case out of an effect, and upstream has another effect for that case."""
        before = [each for each in self.lost if each.scope == mine.scope and each.effect == mine.effect]
        for each in before:
            cases = mine.guards - each.guards
            if not cases or not each.guards < mine.guards or not all(case.startswith("not ") for case in cases):
                continue
            for there in self.theirs:
                case = next((case for case in cases if case.removeprefix("not ") in there.guards), None)
                if case and there.scope == mine.scope and there.target == mine.target and there.effect != mine.effect:
                    yield (
                        f"The patch keeps {_short(case.removeprefix('not '))} out of {_short(mine.effect)}; upstream "
                        f"has a branch of its own for it at line {there.span[0]}: {_short(there.effect)}."
                    )
                    return


def _beyond(clauses: Sequence[Clause], known: Counter[Clause]) -> list[Clause]:
    left = Counter(known)
    out = []
    for each in clauses:
        if left[each] > 0:
            left[each] -= 1
        else:
            out.append(each)
    return out


def _positive(guards: Iterable[str]) -> frozenset[str]:
    return frozenset(guard for guard in guards if not guard.startswith("not "))


def _apart(one: Clause, two: Clause) -> bool:
    """Whether two clauses stand in different branches of one ``if``, so that they have no order."""
    other = dict(two.branch)
    return any(other.get(line, number) != number for line, number in one.branch)


def _mentions(text: str, name: str) -> bool:
    return name in text and name in text.replace(".", " ").replace("(", " ").replace(")", " ").replace(",", " ").split()


def _covered(changes: Sequence[Change], new: bool) -> set[int]:
    """The numbers of the lines that the patch adds, or takes away."""
    spans = [(c.new_start, c.new_start + len(c.new)) if new else (c.start, c.end) for c in changes]
    return {line + 1 for start, end in spans for line in range(start, end)}


def _all_known(clauses: Iterable[Clause], lines: set[int], known: Sequence[tuple[int, int]]) -> bool:
    """Whether each clause on one of ``lines`` is known by its place."""
    spans = set(known)
    return all(each.span in spans or not lines.intersection(range(each.span[0], each.span[1] + 1)) for each in clauses)


def _sentences(proofs: Iterable[tuple[Clause, Clause]]) -> Iterator[str]:
    """What is proved by which lines of the new file, a sentence for each function and condition."""
    groups: dict[tuple[str, frozenset[str]], list[Clause]] = {}
    for mine, there in proofs:
        groups.setdefault((mine.scope, there.guards), []).append(there)
    for (scope, guards), found in groups.items():
        where = f"in {scope}" if scope else "at the top of the file"
        lines = f"line {found[0].span[0]}" if len(found) == 1 else f"lines {found[0].span[0]} to {found[-1].span[1]}"
        when = f", if {_short(' and '.join(sorted(guards)))}" if guards else ""
        yield f"Upstream does {where}, {lines}, what the patch does there: {_short(found[0].effect)}{when}."


def _short(text: str) -> str:
    text = _MODULES.sub("", text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
