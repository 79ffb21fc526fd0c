"""``apply``: move a place to the state that the lock records, and prove it.

Strict throughout. The patches must be those of the lock, each file must be in a state that lock or receipt
recorded, each patch must fit its pre-image exactly, and what comes out must have the recorded blob ids.
Everything is computed before the first byte is written; the place then writes all of it or nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchctl import __version__
from patchctl.engine import links
from patchctl.engine.model import LINK, FileState
from patchctl.errors import DecisionNeeded, InvalidInput, Problem, Refused
from patchctl.series.lock import LockedPatch, LockedTarget
from patchctl.series.project import Project
from patchctl.series.receipt import Receipt, TouchedFile
from patchctl.target.place import Move, Place, WritePlan
from patchctl.workflows.faults import Faults
from patchctl.workflows.layers import locked_layers, locked_target, outline
from patchctl.workflows.motion import irreversible, put_on, take_back
from patchctl.workflows.stack import Layer, Stack, States, read_states, stamp

if TYPE_CHECKING:
    from patchctl.target.commits import Draft


@dataclass(frozen=True, slots=True)
class Selection:
    """Which patches of the target shall be live: all, those up to one, or only some (None: not restricted so)."""

    up_to: str | None = None
    only: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one patch: ``applied``, ``already``, ``updated`` or ``removed``."""

    id: str
    outcome: str
    files: tuple[TouchedFile, ...]
    commit: str | None = None

    @property
    def live(self) -> bool:
        return self.outcome != "removed"


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What an apply did, or under ``check`` would do."""

    target: str
    source: str
    place: Place
    lock_digest: str
    patches: tuple[Applied, ...]
    recovered: bool
    checked_only: bool

    @property
    def changed(self) -> bool:
        return any(patch.outcome != "already" for patch in self.patches)


def apply(
    project: Project,
    tag: str,
    place: Place,
    source: str,
    selection: Selection = Selection(),
    *,
    check: bool = False,
    commit: bool = True,
) -> ApplyReport:
    """Make ``place`` hold exactly the selected patches of target ``tag``.

    ``source`` says where the pristine tree came from, for the receipt. Raises Refused (tampered patch, unknown
    state of a file, dirty place), DecisionNeeded (no lock entry, a patch that does not fit), EnvironmentFailed
    (the disk); after each of them the place is as it was.
    """
    locked = locked_target(project, tag)
    faults = Faults()
    chosen = select(project.target(tag)[1].patches, locked, selection, faults)
    layers = _layers(project, tag, chosen, faults)
    if selection.only is not None:
        faults.settle()  # what a wrong choice would do to the files says nothing about them
    with place.locked():
        recovered = put_right(place, check)
        old = place.receipt()
        with faults.noted():
            standing = _look(place, outline(chosen), old, (project.series.upstream.name, tag))
        faults.settle()
        stack = Stack(layers)
        new = _receipt(project, tag, source, locked, stack)
        draft = place.draft() if commit and not check and _differs(place, stack, standing, new) else None
        try:
            plan = _plan(place, stack, standing, new, commit, draft)
            outcomes = _outcomes(stack, old, plan)
            if plan is not None and not check:
                stored = place.write(plan)
                outcomes = _with_commits(outcomes, stored)
        finally:
            if draft is not None:
                draft.close()
    return ApplyReport(tag, source, place, locked.digest(), outcomes, recovered, check)


def ready(project: Project, tag: str, selection: Selection) -> None:
    """Raise what :func:`apply` would without having looked at a place: it spares the way to one."""
    faults = Faults()
    chosen = select(project.target(tag)[1].patches, locked_target(project, tag), selection, faults)
    _layers(project, tag, chosen, faults)
    faults.settle()


def _layers(project: Project, tag: str, chosen: Sequence[LockedPatch], faults: Faults) -> list[Layer]:
    """The chosen patches as read and proved; ``faults`` is told of those that are not there, or not as locked."""
    layers: list[Layer] = []
    with faults.noted():
        layers = locked_layers(project, tag, chosen)
    entry = locked_target(project, tag)
    for id in set(project.target(tag)[1].patches) - {patch.id for patch in entry.patches}:
        with faults.noted():
            project.patch_bytes(tag, id)  # what nobody has locked may be a name without a file
    return layers


def select(order: Sequence[str], locked: LockedTarget, selection: Selection, faults: Faults) -> list[LockedPatch]:
    """The lock's entries of the chosen patches, in the series' order.

    ``faults`` is told of patches that the lock does not know or has in another order, and of an ``only`` that shares
    files with a skipped patch (all DecisionNeeded). Raises InvalidInput for an id the target does not list, and for a
    choice that contradicts itself or is none: an empty variable in a script must not take the whole series out.
    """
    known = {patch.id: patch for patch in locked.patches}
    chosen = list(order)
    if selection.up_to is not None:
        chosen = chosen[: _at(selection.up_to, order) + 1]
    if selection.only is not None:
        if not selection.only:
            raise InvalidInput(Problem("usage", "--only names no patch.", next="patchctl list"))
        late = [id for id in selection.only if _at(id, order) >= len(chosen)]
        if late:
            why = f"--only wants {', '.join(late)}, which --up-to {selection.up_to} leaves out."
            raise InvalidInput(Problem("usage", why, late[0]))
        chosen = [id for id in chosen if id in selection.only]
    unknown = [id for id in order if id not in known]
    with faults.noted():
        if unknown:
            why = "series.lock does not know this patch."
            raise DecisionNeeded([Problem("no-lock", why, id, next="patchctl lock") for id in unknown])
        if selection.only is not None:
            _independent(chosen, order, known)
    with faults.noted():
        if [id for id in known if id in order] != [id for id in order if id in known]:
            why = "The patches stand in another order in series.yaml than in series.lock."
            raise DecisionNeeded(Problem("stale-lock", why, next="patchctl lock"))
    return [known[id] for id in chosen if id in known]


def _at(id: str, order: Sequence[str]) -> int:
    if id not in order:
        raise InvalidInput(
            Problem("unknown-patch", f"The target does not list a patch {id!r}.", id, next="patchctl list")
        )
    return order.index(id)


def put_right(place: Place, check: bool) -> bool:
    """Take an interrupted run back, if there was one; says whether there was."""
    if not place.interrupted():
        return False
    if check:
        why = "An earlier run was killed on the way here; apply without --check puts it right first."
        raise Refused(Problem("interrupted", why, next="patchctl apply"))
    place.recover()
    return True


def _independent(chosen: Sequence[str], order: Sequence[str], known: Mapping[str, LockedPatch]) -> None:
    touched = {file.path: id for id in chosen for file in known[id].files}
    problems = [
        Problem(
            "dependent",
            f"{touched[file.path]} can't be taken alone: the skipped patch {id} touches the same file.",
            touched[file.path],
            file.path,
            next=f"patchctl apply --up-to {max(touched[file.path], id, key=list(order).index)}",
        )
        for id in order
        if id not in chosen
        for file in known[id].files
        if file.path in touched
    ]
    if problems:
        raise DecisionNeeded(problems)


@dataclass(frozen=True, slots=True)
class _Standing:
    """What a place holds: the receipt, its stack, and the files, as they are and with their modes as recorded."""

    old: Receipt | None
    before: Stack
    there: States
    found: States


def _look(place: Place, stack: Stack, old: Receipt | None, wanted: tuple[str, str]) -> _Standing:
    """What stands in ``place``. Raises Refused for another target's series, and naming all files in a state that
    neither lock nor receipt knows."""
    if old is not None and (old.upstream, old.target) != wanted:
        why = f"{old.upstream} {old.target} is applied here, not {wanted[1]}."
        raise Refused(Problem("other-target", why, next="patchctl unapply"))
    before = Stack.of_receipt(old) if old else Stack(())
    there, problems = read_states(_paths(stack, before), place.read)
    found = there if place.carries_modes else as_recorded(there, stack, before)
    for path, state in found.items():
        chains = [side.chains[path] for side in (stack, before) if path in side.chains]
        if all(chain.locate(stamp(state)) is None for chain in chains):
            problems.append(unknown_state(path, stack if path in stack.chains else before, state))
    if problems:
        raise Refused(problems)
    return _Standing(old, before, there, found)


def _differs(place: Place, stack: Stack, standing: _Standing, new: Receipt) -> bool:
    """Whether there will be something to commit, as far as hashes tell."""
    moved = any(
        stamp(state) != (stack.final(path) if path in stack.chains else standing.before.pristine(path))
        for path, state in standing.found.items()
    )
    return place.kind == "checkout" and (moved or (standing.old is not None and not _same(standing.old, new, True)))


def _plan(
    place: Place, stack: Stack, standing: _Standing, new: Receipt, commit: bool, draft: Draft | None
) -> WritePlan | None:
    """What has to be written, or None when the place holds the series already."""
    there, found, old = standing.there, standing.found, standing.old
    faults = Faults()
    pristine: dict[str, FileState | None] = {}
    final: dict[str, FileState | None] = {}
    with faults.noted():
        pristine = _pristine(stack, standing.before, found)
        final = put_on(stack, pristine, draft.add) if draft is not None else put_on(stack, pristine)
        made = [path for path, state in final.items() if state is not None and state.mode == LINK]
        links.check(made, lambda path: final[path] if path in final else place.read(path))
    with faults.noted():
        if blocked := place.in_the_way(there):
            raise Refused(blocked)
    with faults.noted():
        if place.kind != "checkout" and (problems := irreversible(stack)):
            raise Refused(problems)
    faults.settle()
    changed = {path for path in found if stamp(found[path]) != stamp(final[path])}
    if not changed and _same(old, new, commit and place.kind == "checkout"):
        return None
    if place.kind == "checkout" and old is None:
        if not changed:
            return None
        _all_pristine(stack, found)
    return WritePlan(
        # Without a receipt nobody recorded what stands there, so all of it is written down anew.
        moves={
            path: Move(there[path], kept_mode(path, there[path], final[path], stack, place))
            for path in found
            if path in changed or old is None
        },
        receipt=new,
        commit=commit,
        pristine=pristine,
        draft=draft,
    )


def as_recorded(there: States, stack: Stack, before: Stack) -> dict[str, FileState | None]:
    """``there`` with executable bits as recorded, for a place that doesn't carry them."""
    return {
        path: (stack if path in stack.chains else before).chains[path].as_recorded(state)
        for path, state in there.items()
    }


def kept_mode(
    path: str, there: FileState | None, final: FileState | None, stack: Stack, place: Place
) -> FileState | None:
    """``final`` with the mode that the file has in a place that doesn't carry modes, unless the series changes it."""
    if place.carries_modes or there is None or final is None or LINK in (there.mode, final.mode):
        return final
    if path in stack.chains and stack.chains[path].changes_mode():
        return final
    return replace(final, mode=there.mode)


def _pristine(stack: Stack, before: Stack, found: States) -> dict[str, FileState | None]:
    """The pristine states of all files, by taking back what is on them."""
    stamps = {path: stamp(state) for path, state in found.items()}
    by_old = {path: chain.locate(stamps[path]) for path, chain in before.chains.items()}
    by_new = {path: chain.locate(stamps[path]) for path, chain in stack.chains.items()}
    old_at = {path: at if at is not None else 0 for path, at in by_old.items()}
    states = take_back(before, found, old_at) if old_at else dict(found)
    new_at = {path: at if at is not None and by_old.get(path) is None else 0 for path, at in by_new.items()}
    states = take_back(stack, states, new_at)
    wrong = [path for path in stack.chains if stamp(states[path]) != stack.pristine(path)]
    if wrong:
        raise Refused([unknown_state(path, stack if path in stack.chains else before, states[path]) for path in wrong])
    return states


def _paths(*stacks: Stack) -> list[str]:
    return list(dict.fromkeys(path for stack in stacks for path in stack.chains))


def unknown_state(path: str, stack: Stack, found: FileState | None) -> Problem:
    """What to say of a file that is neither as recorded before the series nor after it."""
    chain = stack.chains[path]
    patch = stack.layers[chain.layers[0]].id
    seen = "is missing" if found is None else f"is in no recorded state (blob {found.blob[:12]})"
    first, last = (f"blob {known.blob[:12]}" if known else "no file" for known in (chain.stamps[0], chain.stamps[-1]))
    why = (
        f"{path} {seen}: neither the pre-image ({first}) nor the post-image ({last}). "
        "Somebody changed it, or this is another release."
    )
    return Problem("unknown-state", why, patch, path, next="patchctl status")


def _all_pristine(stack: Stack, found: States) -> None:
    foreign = [path for path in stack.chains if stamp(found[path]) != stack.pristine(path)]
    if foreign:
        why = "A part of the series is in this checkout already, and patchctl did not put it there."
        redo = "git reset to the upstream release, then patchctl apply"
        raise Refused([Problem("foreign-commits", why, file=path, next=redo) for path in foreign])


def _same(old: Receipt | None, new: Receipt, needs_commits: bool) -> bool:
    if old is None:
        return False
    if needs_commits and any(patch.commit is None for patch in old.patches):
        return False
    bare = tuple(replace(patch, commit=None) for patch in old.patches)
    return bare == new.patches and old.lock_digest == new.lock_digest


def _receipt(project: Project, tag: str, source: str, locked: LockedTarget, stack: Stack) -> Receipt:
    return Receipt(
        upstream=project.series.upstream.name,
        target=tag,
        source=source,
        lock_digest=locked.digest(),
        tool=f"patchctl {__version__}",
        python=".".join(map(str, sys.version_info[:3])),
        patches=stack.applied(),
    )


def _outcomes(stack: Stack, old: Receipt | None, plan: WritePlan | None) -> tuple[Applied, ...]:
    was = {patch.id: patch for patch in old.patches} if old else {}
    moved = {path for path, move in plan.moves.items() if stamp(move.before) != stamp(move.after)} if plan else set()
    outcomes = []
    for layer in stack.layers:
        known = was.get(layer.id)
        if moved.isdisjoint(file.path for file in layer.files):
            outcome = "already"
        elif known is None:
            outcome = "applied"
        else:
            outcome = "already" if (known.sha256, known.files) == (layer.sha256, layer.files) else "updated"
        outcomes.append(Applied(layer.id, outcome, layer.files, known.commit if known else None))
    ids = {layer.id for layer in stack.layers}
    gone = (patch for patch in was.values() if patch.id not in ids)
    return (*outcomes, *(Applied(patch.id, "removed", patch.files) for patch in gone))


def _with_commits(outcomes: Sequence[Applied], stored: Receipt | None) -> tuple[Applied, ...]:
    commits = {patch.id: patch.commit for patch in stored.patches} if stored else {}
    return tuple(replace(outcome, commit=commits.get(outcome.id)) for outcome in outcomes)
