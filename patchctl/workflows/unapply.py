"""``unapply``: take the series out of a place again, byte for byte, and prove it."""

from __future__ import annotations

from dataclasses import dataclass

from patchctl.errors import Problem, Refused
from patchctl.series.project import Project
from patchctl.target.place import Move, Place, WritePlan
from patchctl.workflows.apply import as_recorded, kept_mode, put_right, unknown_state
from patchctl.workflows.layers import locked_layers, locked_target
from patchctl.workflows.motion import take_back
from patchctl.workflows.stack import Stack, read_states, stamp


@dataclass(frozen=True, slots=True)
class UnapplyReport:
    """What an unapply took out: the ids in the order they came off, and the files it restored."""

    place: Place
    target: str | None
    removed: tuple[str, ...]
    files: tuple[str, ...]
    recovered: bool


def unapply(place: Place, project: Project | None, tag: str | None) -> UnapplyReport:
    """Restore ``place`` to its pristine state.

    What is live is taken from the receipt, whose own patches are reversed; a place without one is compared with
    the lock of ``project`` for ``tag``. Raises Refused when a file is in a state that nobody recorded, or when
    commits that are not patchctl's stand there.
    """
    with place.locked():
        recovered = put_right(place, check=False)
        receipt = place.receipt()
        if receipt is not None:
            tag, stack = receipt.target, Stack.of_receipt(receipt)
        elif project is not None and tag is not None:
            stack = Stack(locked_layers(project, tag, locked_target(project, tag).patches))
        else:
            return UnapplyReport(place, tag, (), (), recovered)
        there, problems = read_states(stack.chains, place.read)
        found = there if place.carries_modes else as_recorded(there, stack, Stack(()))
        at = {path: stack.chains[path].locate(stamp(state)) for path, state in found.items()}
        known = {path: where for path, where in at.items() if where is not None}
        problems += [unknown_state(path, stack, found[path]) for path in at if path not in known]
        if problems:
            raise Refused(problems)
        if receipt is None and not any(known.values()):
            return UnapplyReport(place, tag, (), (), recovered)
        if receipt is None and place.kind == "checkout":
            why = "The series is in this checkout, but patchctl did not commit it; git itself can take it out."
            raise Refused(Problem("foreign-commits", why, next="git reset --hard to the upstream release"))
        pristine = take_back(stack, found, known)
        if blocked := place.in_the_way(there):
            raise Refused(blocked)
        moves = {
            path: Move(there[path], kept_mode(path, there[path], pristine[path], stack, place)) for path in stack.chains
        }
        place.write(WritePlan(moves, pristine=pristine))
        changed = tuple(path for path, move in moves.items() if stamp(move.before) != stamp(move.after))
        removed = tuple(layer.id for index, layer in enumerate(stack.layers) if any(stack.live(known, index).values()))
        return UnapplyReport(place, tag, removed[::-1], changed, recovered)
