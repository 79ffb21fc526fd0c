"""What a rebase stands on: two releases, the patches of the one, and what the other carries already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property

from patchctl.engine import reader, strict
from patchctl.engine.model import Change, FileState, Patch
from patchctl.engine.outcome import Note
from patchctl.engine.references import linked
from patchctl.errors import DecisionNeeded, EnvironmentFailed, InvalidInput, Problem, Refused
from patchctl.series.lock import Pin
from patchctl.series.model import Dropped
from patchctl.series.model import Pin as PinModel
from patchctl.series.project import Project
from patchctl.upstream import pristine, release
from patchctl.upstream.cache import SOURCES, Progress
from patchctl.upstream.pristine import PristineTree
from patchctl.workflows.layers import locked_layers, locked_target
from patchctl.workflows.rebase.trees import Blobs, Patched, Release, Scripts, recorded_modes

States = Mapping[str, "FileState | None"]


@dataclass(frozen=True)
class Carried:
    """A patch of the series: its file, and how it reads with the names of the repository and as written."""

    id: str
    data: bytes
    patch: Patch
    raw: Patch


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the series goes. ``pin`` is None for a target that is there already."""

    tag: str
    pin: Pin | None
    notes: tuple[str, ...] = ()


class Ground:
    """Two releases and the series on the first. ``existing`` are the patches that the goal lists, in its order."""

    def __init__(self, project: Project, start: str, goal: Goal, base: Release, onto: Release) -> None:
        self.project = project
        self.start = start
        self.goal = goal
        self.base = base
        self.onto = onto
        self.notes = goal.notes
        self.kept: dict[object, object] = {}  # answers about these trees that are slow to find
        self.patches = _carried(project, start)
        there = project.series.targets.get(goal.tag)
        self.existing = _carried(project, goal.tag) if there is not None and there.patches else ()
        self.dropped: Mapping[str, Dropped] = there.dropped if there is not None else {}
        names = [name for one in self.patches for name in _names(one.patch)]
        self.scripts = Scripts(base, onto, names)
        self.scripts.begin()
        for tree in (base, onto):
            tree.prefetch(names)

    @property
    def is_target(self) -> bool:
        """Whether series.yaml has the goal already."""
        return self.goal.pin is None

    def carried(self, id: str) -> Carried:
        """The patch ``id``. Raises InvalidInput for one that the series does not carry."""
        for one in self.patches:
            if one.id == id:
                return one
        known = ", ".join(one.id for one in self.patches) or "none"
        why = f"{self.start} carries no patch '{id}'; it carries {known}."
        raise InvalidInput(Problem("unknown-patch", why, id, next=f"patchctl list {self.start}"))

    @cached_property
    def base_sides(self) -> dict[str, tuple[States, States]]:
        """For each patch its files before and after it, on the release that it comes from.

        Raises DecisionNeeded for a patch that does not fit there.
        """
        return _sides(self.patches, self.base)

    def base_now(self, id: str) -> States:
        """All files that the patches before ``id`` have changed on the release that the series comes from."""
        now: dict[str, FileState | None] = {}
        for one, (_, after) in self.base_sides.items():
            if one == id:
                break
            now.update(after)
        return now

    @cached_property
    def links(self) -> Mapping[str, tuple[Note, ...]]:
        """By patch, the commits of upstream's that its head or its link leads to, where the cache has history."""
        from patchctl.workflows.report import commits  # reports need it, and few rebases have history

        log, _ = commits.open_log(self.project, self.start, self.goal.tag)
        if log is None:
            return {}
        infos = self.project.series.patches
        found = {one.id: linked(one.patch.mail, log.messages, infos[one.id].upstream.url) for one in self.patches}
        return {id: tuple(Note("link", text) for text in texts) for id, texts in found.items()}

    @cached_property
    def existing_sides(self) -> dict[str, tuple[States, States]]:
        """The same for the patches that the goal lists already."""
        return _sides(self.existing, self.onto)

    @cached_property
    def standing(self) -> Patched:
        """The goal with the patches that it lists already."""
        return Patched(
            self.onto, {path: state for _, after in self.existing_sides.values() for path, state in after.items()}
        )


def _carried(project: Project, tag: str) -> tuple[Carried, ...]:
    layers = locked_layers(project, tag, locked_target(project, tag).patches)
    listed = project.series.targets[tag].patches
    if [layer.id for layer in layers] != listed:
        why = f"series.lock does not hold the patches of {tag} in the order of series.yaml."
        raise DecisionNeeded(Problem("stale-lock", why, next=f"patchctl lock {tag}"))
    found = []
    for layer in layers:
        raw = reader.read(layer.data, layer.id, known=True)
        if len(raw) != 1:
            raise Refused(Problem("mailbox", f"A series takes one patch per file; here are {len(raw)}.", layer.id))
        # In a series the prefix is one component, always; the engine need not find that out.
        told = replace(raw[0], files=tuple(replace(section, prefix=1) for section in raw[0].files))
        found.append(Carried(layer.id, layer.data, reader.stripped(raw[0], 1), told))
    return tuple(found)


def _names(patch: Patch) -> Iterator[str]:
    for section in patch.files:
        yield from section.paths
        if section.change is Change.COPY and section.old_path is not None:
            yield section.old_path


def _sides(patches: Sequence[Carried], tree: Release) -> dict[str, tuple[States, States]]:
    now: dict[str, FileState | None] = {}

    def get(path: str) -> FileState | None:
        return now[path] if path in now else tree.get(path)

    sides: dict[str, tuple[States, States]] = {}
    for one in patches:
        after = strict.apply_patch(one.patch, get)
        sides[one.id] = ({path: get(path) for path in after}, after)
        now.update(after)
    return sides


@contextmanager
def opened(
    project: Project,
    start: str,
    goal: Goal,
    progress: Progress | None,
    trees: tuple[str, str] | None = None,
) -> Iterator[Ground]:
    """The ground for moving the series of ``start`` to ``goal``.

    ``trees`` are the sources to read the two from, as an earlier call found them. Raises DecisionNeeded for a series
    that is not locked, Refused for patch files that are not as locked, and what opening a pristine tree raises.
    """
    base, onto = _open(project, start, goal, progress, trees)
    with Blobs(base) as blobs:
        sides = (
            Release(base, blobs, _modes(project, start)),
            Release(onto, blobs, {**_modes(project, start), **_modes(project, goal.tag)}),
        )
        if base.source != onto.source:
            goal = replace(goal, notes=(*goal.notes, _unlike(start, base.source, goal.tag, onto.source)))
        yield Ground(project, start, goal, *sides)


def _unlike(start: str, base: str, goal: str, onto: str) -> str:
    return (
        f"{start} comes from {base}, {goal} from {onto}: files that only one kind of source has look made or deleted."
    )


def goal_of(project: Project, name: str, progress: Progress | None) -> Goal:
    """The goal that ``name`` means: a target, any release of the upstream, or ``latest``.

    Raises InvalidInput for a tag that there is not, EnvironmentFailed when nobody can be asked.
    """
    tag = release.newest(project) if name == "latest" else name
    try:
        return Goal(project.target(tag)[0], None)
    except InvalidInput:
        tag = release.tag_for(project, tag)
    if tag in project.series.targets:
        return Goal(tag, None)
    found = release.find(project, tag, progress)
    return Goal(tag, Pin(found.pin.sdist, tuple(found.pin.wheels), found.pin.commit), found.notes)


def _modes(project: Project, tag: str) -> dict[str, int]:
    locked = project.locked(tag)
    patches = locked.patches if locked is not None else ()
    return recorded_modes((file.path, file.before.mode) for patch in patches for file in patch.files if file.before)


def _open(
    project: Project, start: str, goal: Goal, progress: Progress | None, trees: tuple[str, str] | None
) -> tuple[PristineTree, PristineTree]:
    pins = _pin(project, start), _pin(project, goal.tag) if goal.pin is None else _model(goal.pin)
    if trees is not None:
        base, onto = (
            pristine.kept_release(project, tag, pin).get(source)
            or pristine.open_release(project, tag, pin, "auto", progress)
            for tag, pin, source in zip((start, goal.tag), pins, trees, strict=True)
        )
        return base, onto
    kept = [pristine.kept_release(project, tag, pin) for tag, pin in zip((start, goal.tag), pins, strict=True)]
    # An archive holds a part of what the repository does: two releases compare well if they come the same way.
    source = release.common(kept[0], kept[1])
    if source is not None:
        return kept[0][source], kept[1][source]
    base = pristine.open_release(project, start, pins[0], "auto", progress)
    try:
        return base, pristine.open_release(project, goal.tag, pins[1], _fetchable(base.source), progress)
    except (EnvironmentFailed, InvalidInput):
        onto = pristine.open_release(project, goal.tag, pins[1], "auto", progress)
    with suppress(EnvironmentFailed, InvalidInput):
        base = pristine.open_release(project, start, pins[0], _fetchable(onto.source), progress)
    return base, onto


def _fetchable(source: str) -> str:
    return source if source in SOURCES else "auto"


def _pin(project: Project, tag: str) -> PinModel:
    return project.series.targets[tag].pin


def _model(pin: Pin) -> PinModel:
    return PinModel(pin.sdist, list(pin.wheels), pin.commit)
