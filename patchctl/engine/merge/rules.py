"""The named rules, in the order in which they are asked, and what is to be said about each."""

from __future__ import annotations

from collections.abc import Callable

from patchctl.engine.merge import insertions, lists, moves, replacements, siblings
from patchctl.engine.merge.model import Change, Context, Placed

Rule = Callable[[Context, Change], Placed | None]

# Lines that are only added, where upstream added none at the very place; "same-change" is asked before all of them.
INSERTIONS: tuple[tuple[str, Rule], ...] = (
    ("transport", insertions.between),
    ("already", insertions.already),
    ("sorted-list", lists.in_order),
    ("past-blanks", insertions.past_blanks),
    ("edited-neighbours", insertions.soft_between),
    ("closed-gap", insertions.closed_gap),
    ("one-neighbour", insertions.one_neighbour),
    ("beside-sibling", siblings.beside),
    ("import-by-prefix", lists.by_prefix),
)
# Lines that are only added, where upstream did: the order of both must be known to be free, or to be theirs alone.
CONTESTED: tuple[tuple[str, Rule], ...] = (
    ("already", insertions.already),
    ("sorted-list", lists.in_order),
    ("above-its-line", insertions.above_its_line),
    ("order-by-scope", insertions.by_scope),
    ("beside-sibling", siblings.free_order),
    ("import-by-prefix", lists.by_prefix),
)
# Lines that are taken away or replaced.
REPLACEMENTS: tuple[tuple[str, Rule], ...] = (
    ("same-change", replacements.same),
    ("transport", replacements.whole),
    ("deleted-lines", replacements.scattered),
    ("reflowed", replacements.reflowed),
    ("edited-line", replacements.edited),
    ("moved-lines", moves.moved),
)

# By arithmetic along the edit script: exact lines, their exact neighbours at least on the side that counts.
TRANSPORT = frozenset({"transport", "adjacent", "same-change", "past-blanks"})
# Rules whose placements need no second look: the order of imports changes nothing.
QUIET = TRANSPORT | {"sorted-import"}
# Rules that leave the file as it is: upstream has the change.
PRESENT = frozenset({"same-change", "already", "gone-already"})
