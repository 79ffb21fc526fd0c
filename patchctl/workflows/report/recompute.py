"""An upgrade after the fact: what the engine makes of the old series today, next to what the new target carries.

The engine's word counts only where nobody decided. So that a patch is judged on what really lies below it, a patch
that was settled by a person counts as settled when the ones above it are tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from patchctl.engine import port as engine
from patchctl.engine import reader
from patchctl.engine.model import FileState, Patch
from patchctl.engine.options import Decision, Names, Options
from patchctl.engine.outcome import PatchReport
from patchctl.errors import InvalidInput, Problem, Refused
from patchctl.series import versions
from patchctl.series.project import Project
from patchctl.workflows.rebase.trees import Release, Scripts, recorded_modes
from patchctl.workflows.report import stack
from patchctl.workflows.report.build import Moved
from patchctl.workflows.report.words import OUTCOMES

# Each round settles at least one patch; a series that needs more was not moved by this program.
_MOST_ROUNDS = 50


def tags(project: Project, from_tag: str | None, to_tag: str | None) -> tuple[str, str]:
    """The two targets that are meant: by default the newest, and the one that it was made from.

    That is the one which series.lock names, else the release before it. Raises InvalidInput.
    """
    template = project.series.upstream.tag
    ordered = versions.sort_tags(project.series.targets, template)
    to = project.target(to_tag)[0] if to_tag else ordered[-1]
    if from_tag:
        start = project.target(from_tag)[0]
        if start == to:
            raise InvalidInput(Problem("same-target", f"--from and --to are both {to}; there is no move to report on."))
        return start, to
    known = _origin(project, to)
    before = ordered[: ordered.index(to)]
    if known is not None:
        return known, to
    if not before:
        text = f"series.yaml has no target before {to}, so there is no move to report on. Name one with --from."
        raise InvalidInput(Problem("no-target", text, next="patchctl list"))
    return before[-1], to


def recompute(project: Project, from_tag: str, to_tag: str, base: Release, onto: Release) -> Moved:
    """The move of the series from ``from_tag`` (on ``base``) to ``to_tag`` (on ``onto``).

    Raises Refused for patch files that can't be read.
    """
    target = project.series.targets[to_tag]
    old = {id: project.patch_bytes(from_tag, id) for id in project.series.targets[from_tag].patches}
    new = {id: project.patch_bytes(to_tag, id) for id in target.patches}
    patches = _read(old)
    scripts = Scripts(base, onto, _paths(patches))
    run = _Rounds(base, onto, scripts, patches, stack.layers(onto, new), frozenset(target.dropped), (from_tag, to_tag))
    run.all()
    locked = project.locked(to_tag)
    accepted = {patch.id: patch.reviews for patch in locked.patches} if locked else {}
    return Moved(
        from_tag,
        to_tag,
        base,
        onto,
        tuple(run.reports[id] for id in old),
        old,
        new,
        {id: entry for id, entry in target.dropped.items() if id in old},
        accepted,
        _recorded(project, from_tag, to_tag),
        frozenset(run.differing),
        frozenset(id for id, layer in run.carried.items() if not layer.exact),
        scripts,
    )


@dataclass
class _Rounds:
    base: Release
    onto: Release
    scripts: Scripts
    patches: Sequence[Patch]
    carried: Mapping[str, stack.Layer]
    dropped: frozenset[str]
    tags: tuple[str, str]
    reports: dict[str, PatchReport] = field(default_factory=dict)
    decided: dict[str, Decision] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)

    def all(self) -> None:
        """Try the patches until each was tried on what the ones below it really left."""
        for _ in range(_MOST_ROUNDS):
            options = Options(
                scripts=self.scripts, decided=self.decided, labels=Names(onto=self.tags[1], base=self.tags[0])
            )
            found = engine.port(self.patches, self.onto, self.base, options=options)
            self.reports.update((report.name, report) for report in found if report.name not in self.decided)
            settled = self._settled(found)
            if not settled:
                return
            self.decided.update(settled)

    def _settled(self, reports: Sequence[PatchReport]) -> dict[str, Decision]:
        """What a person must have settled: all that the engine leaves open, else the first where it is not followed."""
        stuck = {}
        for report in reports:
            decision = self._decision(report.name) if report.name not in self.decided else None
            if decision is None:
                continue
            if report.stuck and report.outcome != "waiting":
                stuck[report.name] = decision
            elif not stuck and report.outcome != "waiting" and not self._follows(report, decision):
                self.differing |= {report.name} if decision.changes else set()
                return {report.name: decision}
        return stuck

    def _decision(self, id: str) -> Decision | None:
        if id in self.dropped:
            return Decision("dropped")
        layer = self.carried.get(id)
        return Decision("resolved", layer.after) if layer is not None and layer.exact else None

    def _follows(self, report: PatchReport, decision: Decision) -> bool:
        """Whether the engine's result is what is carried."""
        states: dict[str, FileState | None] = {path: entry.state for path, entry in report.changes.items()}
        return states == dict(decision.changes)


def modes(project: Project, tag: str) -> dict[str, int]:
    """The modes of files before the patches of ``tag``, by the lock: for releases that carry none."""
    locked = project.locked(tag)
    files = (file for patch in locked.patches for file in patch.files) if locked else ()
    return recorded_modes((file.path, file.before.mode) for file in files if file.before is not None)


def _paths(patches: Sequence[Patch]) -> list[str]:
    """The files that patches touch, without the a/ and b/ before their names."""
    names = (name for patch in patches for section in patch.files for name in section.paths)
    return [name.partition("/")[2] for name in names]


def _read(old: Mapping[str, bytes]) -> list[Patch]:
    patches: list[Patch] = []
    problems: list[Problem] = []
    for id, data in old.items():
        try:
            found = reader.read(data, id)
        except Refused as error:
            problems += error.problems
            continue
        patches += (replace(patch, name=id) for patch in found[:1])
    if problems:
        raise Refused(problems)
    return patches


def _origin(project: Project, to_tag: str) -> str | None:
    """The target that most patches of ``to_tag`` were moved from, by the lock."""
    locked = project.locked(to_tag)
    found = [patch.provenance.from_target for patch in locked.patches if patch.provenance] if locked else []
    found = [tag for tag in found if tag in project.series.targets and tag != to_tag]
    return max(sorted(set(found)), key=found.count) if found else None


def _recorded(project: Project, from_tag: str, to_tag: str) -> dict[str, str]:
    """What became of the patches when they were moved, by the lock."""
    locked = project.locked(to_tag)
    known = {patch.id: patch.provenance for patch in locked.patches if patch.provenance} if locked else {}
    return {
        id: entry.outcome for id, entry in known.items() if entry.from_target == from_tag and entry.outcome in OUTCOMES
    }
