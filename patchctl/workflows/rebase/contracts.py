"""The contracts that patches name, held against the new release: is a patch needed still, and is it enough?

Loaded only for a series with a patch that names a contract.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from patchctl.contract.model import Declaration, Fault, Judgement, Provided
from patchctl.contract.moves import told
from patchctl.engine.lines import split
from patchctl.engine.markers import Labels
from patchctl.engine.merge.diff import script
from patchctl.engine.model import LINK, FileState
from patchctl.engine.outcome import FileRecord, Note, PatchReport
from patchctl.engine.overlay import Entry
from patchctl.engine.verdict import in_doubt
from patchctl.errors import Problem
from patchctl.series import versions
from patchctl.workflows import contract as contracts
from patchctl.workflows.contract.trees import CommitTree, Overlay
from patchctl.workflows.rebase.ground import Ground, States
from patchctl.workflows.rebase.plan import ANSWERED, GONE, STUCK, Step
from patchctl.workflows.rebase.trees import Release

KIND = "contract"
# A person, or what one has said before, has decided about these.
_DECIDED = frozenset({*ANSWERED, "replayed"})
_MOST = 4
_DEFINED = re.compile(rb"^\s*(?:async\s+)?def\s+([A-Za-z_]\w*)", re.MULTILINE)
_WORD = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Offer:
    """The attributes that a patch gives to a contract's provider on the old release, and who has them on the new one
    without any patch. ``unclear`` are those of which the text of the old release does not tell it."""

    gained: Mapping[str, Provided]
    unclear: Mapping[str, Provided] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        return bool(self.gained) and all(now.holds is True for now in self.gained.values())


def rivals(ground: Ground, steps: Sequence[Step]) -> dict[str, PatchReport]:
    """The patches that fit on the new release, and are for nothing there but what it offers by itself."""
    checks = _Checks(ground, steps)
    found = {}
    for step in steps:
        if step.outcome in STUCK | GONE | _DECIDED or step.existing is not None:
            continue
        for name in checks.named(step):
            offer = checks.offer(step, name)
            if offer.is_met and checks.is_all(step, offer.gained):
                found[step.id] = _rival(ground, step, name, offer)
                break
    return found


def judged(ground: Ground, steps: Sequence[Step]) -> tuple[Step, ...]:
    """``steps`` with what the contracts that they name have to say to them."""
    checks = _Checks(ground, steps)
    return tuple(_told(checks, step) for step in steps)


def _told(checks: _Checks, step: Step) -> Step:
    evidence: list[Note] = []
    review: list[Note] = []
    for name in checks.named(step):
        offer = checks.offer(step, name)
        evidence += _evidence(checks.ground, name, offer)
        if step.outcome in STUCK | GONE:
            evidence += [*_unknown(checks.ground, name, offer), *checks.unjudged(name)]
            continue
        if offer.is_met and step.outcome not in _DECIDED:
            review.append(Note(KIND, f"{_met(checks.ground, name, offer)} The patch does more than that."))
        review += _unknown(checks.ground, name, offer)
        review += checks.broken(name)
    if not evidence and not review:
        return step
    report = step.report
    return replace(
        step, report=replace(report, evidence=(*report.evidence, *evidence), review=(*report.review, *review))
    )


def _evidence(ground: Ground, name: str, offer: Offer) -> Iterator[Note]:
    if offer.is_met:
        yield Note(KIND, _met(ground, name, offer))
        return
    here = {attribute: now for attribute, now in offer.gained.items() if now.holds is True}
    if here:
        lacking = ", ".join(attribute for attribute in offer.gained if attribute not in here)
        what = _listed(here)
        yield Note(KIND, f"{name}: {ground.goal.tag} by itself offers {what}, and not {lacking}.")


def _met(ground: Ground, name: str, offer: Offer) -> str:
    return f"{name}: {ground.goal.tag} by itself offers all that the patch provides: {_listed(offer.gained)}."


def _listed(offered: Mapping[str, Provided]) -> str:
    return ", ".join(f"{attribute} ({_place(now)})" for attribute, now in offered.items())


def _place(provided: Provided) -> str:
    where = f", {provided.path}:{provided.line}" if provided.path and provided.line else ""
    return f"{told(provided)}{where}"


def _unknown(ground: Ground, name: str, offer: Offer) -> Iterator[Note]:
    for attribute, now in offer.gained.items():
        if now.holds is None:
            why = f"{name}: whether {ground.goal.tag} by itself offers {attribute} is not known ({now.note})."
            yield Note(KIND, why, now.path, now.line)
    for attribute, was in offer.unclear.items():
        why = f"{name}: whether {ground.start} offers {attribute} without the patch is not known ({was.note})."
        yield Note(KIND, why, was.path, was.line)


def _rival(ground: Ground, step: Step, name: str, offer: Offer) -> PatchReport:
    labels = Labels(ground.goal.tag, ground.start, step.id)
    proposals = {}
    for path, state in step.after.items():
        before = step.before.get(path)
        if state is not None:
            proposals[path] = Entry(in_doubt(before.data if before else b"", state, labels))
    first = next(iter(proposals), None)
    problem = Problem("superseded", _met(ground, name, offer), step.id, first)
    files = tuple(FileRecord(file.path, file.onto, "conflict", file.hunks) for file in step.report.files)
    return replace(step.report, outcome="superseded", files=files, problems=(problem,), changes={}, proposals=proposals)


@dataclass
class _Checks:
    """Answers about the trees of a rebase; those about one tree and one question are asked once a run."""

    ground: Ground
    steps: Sequence[Step]

    def named(self, step: Step) -> list[str]:
        return named(self.ground, step.id)

    def offer(self, step: Step, name: str) -> Offer:
        """What ``step`` gives to the provider of the contract ``name``; nothing, if nobody asks for any of it."""
        before, after = self.ground.base_sides[step.id]
        defined, words = _added(before, after)
        asked = {each.name for each in self._judgement(name).verdict.requirements}
        if not asked & words:
            return Offer({})
        wanted = sorted(asked & words | defined)
        under = self.ground.base_now(step.id)
        was = self._answers(self.ground.base, under, name, self.ground.start, wanted)
        made = self._answers(self.ground.base, {**under, **after}, name, self.ground.start, wanted)
        # Given by the patch, or not to be told apart from that.
        given = [each for each in wanted if was[each] != made[each] and made[each].holds is not False]
        given = [each for each in given if was[each].holds is not True]
        if not asked.intersection(given):
            return Offer({})
        now = self._answers(self.ground.onto, {}, name, self.ground.goal.tag, given)
        unclear = {each: was[each] for each in given if was[each].holds is None or made[each].holds is None}
        return Offer({each: now[each] for each in given if each not in unclear}, unclear)

    def is_all(self, step: Step, names: Iterable[str]) -> bool:
        """Whether ``step`` does nothing but define methods of these names."""
        before, after = self.ground.base_sides[step.id]
        return all(_only_defines(path, before.get(path), state, frozenset(names)) for path, state in after.items())

    def unjudged(self, name: str) -> list[Note]:
        """Why the contract can't be judged on the new release, where it can't."""
        faults = [fault for fault in self._judgement(name).faults if fault.kind not in ("missing", "unknown")]
        return [_note(name, self.ground.goal.tag, fault, "") for fault in faults[:_MOST]]

    def broken(self, name: str) -> list[Note]:
        """What the contract lacks on the new release with the series on it."""
        faults = self._judgement(name).faults
        if not faults:
            return []
        tag = self.ground.goal.tag
        before = {(fault.kind, fault.name) for fault in self._before(name).faults}
        notes = []
        for fault in faults[:_MOST]:
            since = f" It was so on {self.ground.start}." if (fault.kind, fault.name) in before else ""
            notes.append(_note(name, tag, fault, since))
        if len(faults) > _MOST:
            notes.append(Note(KIND, f"{name}: {len(faults) - _MOST} more; patchctl contract {name} --target {tag}"))
        return notes

    def _judgement(self, name: str) -> Judgement:
        return self._judged(self.ground.onto, self._standing, name, self.ground.goal.tag)

    def _before(self, name: str) -> Judgement:
        ground = self.ground
        states = {path: state for _, after in ground.base_sides.values() for path, state in after.items()}
        return self._judged(ground.base, states, name, ground.start)

    @cached_property
    def _standing(self) -> States:
        """The files that are other than in the new release, as far as that is decided."""
        now: dict[str, FileState | None] = {}
        if self.ground.existing:
            for _, after in self.ground.existing_sides.values():
                now.update(after)
        for step in self.steps:
            now.update(step.after)
        return now

    def _judged(self, release: Release, states: States, name: str, tag: str) -> Judgement:
        with _tree(release, states) as tree:
            key = (tag, name, _state(tree))
            known = self.ground.kept.get(key)
            if known is None:
                label = f"{release.tree.source} {tag} patched"  # as ``patchctl contract`` has it
                known = self.ground.kept[key] = contracts.judge(tree, self._declared(name, tag, tree), label)
        assert isinstance(known, Judgement)
        return known

    def _answers(
        self, release: Release, states: States, name: str, tag: str, wanted: Sequence[str]
    ) -> dict[str, Provided]:
        with _tree(release, states) as tree:
            key = (tag, name, _state(tree), tuple(wanted))
            known = self.ground.kept.get(key)
            if known is None:
                label = f"{release.tree.source} {tag} rebase {'patched' if states else 'pristine'}"
                known = contracts.answers(tree, self._declared(name, tag, tree), wanted, label)
                self.ground.kept[key] = known
        assert isinstance(known, Judgement)
        return {each.name: each.provided for each in known.verdict.requirements}

    def _declared(self, name: str, tag: str, tree: CommitTree) -> Declaration:
        series = self.ground.project.series
        version = versions.version_text(tag, series.upstream.tag)
        return contracts.declare(name, series.contracts[name], version, tree)


def named(ground: Ground, id: str) -> list[str]:
    """The contracts that the patch ``id`` names."""
    known = ground.project.series.contracts
    return [name for name in ground.project.series.patches[id].contracts if name in known]


def _note(name: str, tag: str, fault: Fault, since: str) -> Note:
    return Note(KIND, f"{name} does not hold on {tag}: {fault.message}{since}", fault.path, fault.line)


def _tree(release: Release, states: States) -> CommitTree:
    files = {path: state if state is not None and state.mode != LINK else None for path, state in states.items()}
    return CommitTree(release.tree.git, release.entries, Overlay(None, lambda: files))


def _state(tree: CommitTree) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(tree.overlay.blobs().items()))


def _added(before: States, after: States) -> tuple[set[str], set[str]]:
    """The functions that a patch defines, and the names on its lines."""
    defined: set[str] = set()
    words: set[str] = set()
    for path, state in after.items():
        if state is None or not path.endswith((".py", ".pyi")):
            continue
        old = before.get(path)
        lines = split(state.data)
        for edit in script(split(old.data) if old is not None else [], lines):
            text = b"".join(lines[edit.new_start : edit.new_end])
            defined.update(found.decode() for found in _DEFINED.findall(text))
            words.update(found.decode() for found in _WORD.findall(text))
    return defined, words


def _only_defines(path: str, before: FileState | None, after: FileState | None, names: frozenset[str]) -> bool:
    if before is None or after is None or not path.endswith(".py"):
        return False
    lines = split(after.data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(after.data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    inside: set[int] = set()
    for cls in ast.walk(tree):
        for node in cls.body if isinstance(cls, ast.ClassDef) else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in names:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                inside.update(range(first - 1, node.end_lineno or node.lineno))
    old = split(before.data)
    for edit in script(old, lines):
        if any(line.strip() for line in old[edit.start : edit.end]):
            return False
        for at in range(edit.new_start, edit.new_end):
            text = lines[at].strip()
            if text and not text.startswith(b"#") and at not in inside:
                return False
    return True
