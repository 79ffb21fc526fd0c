"""From what a person names to a place, and to the release and the patches that belong there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.errors import CheckFailed, InvalidInput, PatchctlError, Problem, Refused
from patchctl.target import detect, environment
from patchctl.target.layout import Shape
from patchctl.target.place import Place
from patchctl.workflows.stack import Stack

if TYPE_CHECKING:
    from patchctl.series.project import Project
    from patchctl.target.environment import Distribution
    from patchctl.workflows.apply import Selection

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Where:
    """A place as it was named: a folder, or the installed distribution (of the interpreter ``python``); else build/."""

    into: Path | None = None
    installed: bool = False
    python: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A place, the target that belongs there (None: not known), and the project, if there is one.

    ``source`` says where the pristine tree came from; ``warnings`` are what a person should know.
    """

    place: Place
    target: str | None
    project: Project | None
    source: str
    warnings: tuple[Problem, ...] = ()

    @property
    def tag(self) -> str:
        """The target where a project was at hand, and so one is known."""
        assert self.target is not None, "with a project there is always a target"
        return self.target


def locate(
    project: Project,
    where: Where,
    target: str | None,
    source: str,
    selection: Selection,
    *,
    check: bool,
    progress: Progress | None,
) -> Found:
    """The place to apply to; without a name, the checkout in build/, made from the pristine release if need be.

    Under ``check`` nothing is made: what would be a fresh checkout is then a look into the cache. Raises InvalidInput,
    Refused (another release, an editable install, not ours) and EnvironmentFailed (no network, not installed); before
    a checkout is made also what speaks against applying the ``selection`` anywhere.
    """
    if where.into is not None or where.installed:
        return _named(project, where, target)
    from patchctl.workflows import apply

    tag = project.target(target)[0]
    folder = build_folder(project, tag)
    if not folder.exists():
        apply.ready(project, tag, selection)
        return _fresh(project, tag, folder, source, check, progress)
    place = detect.open_place(folder, shape(project), _footprint(project, tag))
    if place.kind != "checkout":
        raise Refused(Problem("not-a-checkout", f"{folder} is not a checkout that patchctl made.", file=str(folder)))
    return Found(place, tag, project, _origin(place, folder, source))


def _origin(place: Place, folder: Path, source: str) -> str:
    """Where the checkout in build/ came from. Raises Refused for one that is not ours, or is not what was asked for."""
    from patchctl.git import Git
    from patchctl.target.prepare import made

    found = made(folder)
    if found is None:
        why = f"{folder} was not made by patchctl."
        raise Refused(Problem("not-ours", why, file=str(folder), next=f"patchctl apply --into {folder}"))
    if source != "auto" and found.origin != (source if source in ("git", "pypi") else "path"):
        why = f"{folder} was made from {found.origin}, not from {source}."
        raise Refused(Problem("other-source", why, file=str(folder), next=f"rm -r {folder}"))
    if place.receipt() is None and Git(folder).resolve("HEAD") != found.commit:
        why = (
            f"HEAD in {folder} is not at the release that it was made from ({found.commit[:12]}). "
            "What a person committed there is not patchctl's to build upon."
        )
        log = f"git -C {folder} log --oneline {found.commit[:12]}..HEAD"
        raise Refused(Problem("foreign-commits", why, file=str(folder), next=log))
    return found.origin


def find(start: Path, where: Where, target: str | None) -> Found:
    """The place for a command that works without a project too, from the receipt alone."""
    project = _project(start)
    if project is not None:
        if where.into is None and not where.installed:
            tag = project.target(target)[0]
            folder = build_folder(project, tag)
            if not folder.exists():
                raise InvalidInput(
                    Problem("no-place", f"There is no {folder}; name a place.", next="patchctl apply, or --into DIR")
                )
            where = Where(into=folder)
        found = _named(project, where, target)
        return found if target is not None else replace(found, target=_recorded(found) or found.target)
    if where.into is not None:
        return Found(detect.open_place(where.into, None, ()), target, None, "")
    if where.installed:
        return Found(detect.open_installed(None, where.python, None)[0], target, None, "installed")
    raise InvalidInput(Problem("no-place", "There is no series.yaml here, and no place was named.", next="--into DIR"))


def _recorded(found: Found) -> str | None:
    """The target that the place itself says it is patched for, if the project knows it.

    A person who asks what is live somewhere need not know which release stands there.
    """
    try:
        receipt = found.place.receipt()
    except Refused:
        return None  # who compares will meet it again, and tell
    if receipt is None or found.project is None:
        return None
    series = found.project.series
    return receipt.target if receipt.upstream == series.upstream.name and receipt.target in series.targets else None


def find_stack(start: Path, where: Where, target: str | None) -> tuple[Found, Stack]:
    """The place, and what shall be live there: by the project's lock, without a project by the receipt.

    Raises CheckFailed when nothing says what should be live.
    """
    if target is None and where.installed and where.python is None and (known := _as_locked(start)):
        return known
    found = find(start, where, target)
    if found.project is not None and found.target is not None:
        from patchctl.workflows.layers import locked_target, outline

        return found, outline(locked_target(found.project, found.target).patches)
    receipt = found.place.receipt()
    if receipt is None:
        why = f"{found.place.root} has no receipt, and there is no series.yaml here: nothing says what should be live."
        raise CheckFailed(Problem("no-receipt", why, next="patchctl -C PROJECT status --into DIR"))
    return Found(found.place, receipt.target, None, receipt.source), Stack.of_receipt(receipt)


def _as_locked(start: Path) -> tuple[Found, Stack] | None:
    """What is installed in this environment, where its receipt was made from the very lock that stands in the project.

    Then series.yaml has nothing to add, and a gate saves the larger half of its time. None where it has.
    """
    from patchctl.series import finding, lock
    from patchctl.workflows.layers import outline

    try:
        root = finding.find(start)
        locked = lock.read(root / lock.FILE_NAME)
        place, patched = detect.open_installed(None, None, None)
        receipt = place.receipt()
        first = environment.find(patched.name)
    except PatchctlError:
        return None  # the long way meets it again, and says it better
    entry = locked.targets.get(receipt.target) if locked is not None and receipt is not None else None
    hidden = (first.site, first.dist_info) != (patched.site, patched.dist_info)
    if receipt is None or entry is None or hidden or entry.digest() != receipt.lock_digest:
        return None
    if finding.listed(root, receipt.target) != tuple(patch.id for patch in entry.patches):
        return None  # a patch that nobody has locked yet, perhaps
    return Found(place, receipt.target, None, receipt.source), outline(entry.patches)


def shape(project: Project) -> Shape:
    """How the project's upstream is packed."""
    upstream = project.series.upstream
    return Shape(upstream.name, upstream.pypi, upstream.sdist.root, upstream.layout)


def build_folder(project: Project, tag: str) -> Path:
    """Where the checkout of a target stands when no place is named."""
    from patchctl.series.load import folder_name

    return project.root / "build" / f"{project.series.upstream.name}-{folder_name(tag)}"


def _project(start: Path) -> Project | None:
    from patchctl.series.finding import find

    try:
        find(start)
    except InvalidInput:
        return None
    from patchctl.series.project import load

    return load(start)


def _named(project: Project, where: Where, target: str | None) -> Found:
    if where.installed:
        upstream = project.series.upstream
        name = upstream.pypi or upstream.name
        installed, distribution = detect.open_installed(name, where.python, shape(project))
        tag = _release(project, target, distribution)
        notes = tuple(Problem("hidden", note) for note in distribution.notes)
        return Found(installed, tag, project, "installed", notes)
    assert where.into is not None, "the caller asked for a named place"
    wanted = project.target(target)[0]
    place = detect.open_place(where.into, shape(project), _footprint(project, wanted))
    if place.kind == "installed":
        upstream = project.series.upstream
        there = environment.in_folder(upstream.pypi or upstream.name, where.into)
        assert there is not None, "open_place found it there"
        return Found(place, _release(project, target, there), project, "installed")
    return Found(place, wanted, project, place.kind)


def _release(project: Project, target: str | None, distribution: Distribution) -> str:
    """The target that an installed distribution's version belongs to."""
    from patchctl.series import versions

    template = project.series.upstream.tag
    if target is not None:
        tag = project.target(target)[0]
        environment.check_version(distribution, str(versions.version_of(tag, template) or tag))
        return tag
    installed = versions.version_of(versions.tag_of(distribution.public_version, template), template)
    for tag in project.series.targets:
        if installed is not None and versions.version_of(tag, template) == installed:
            return tag
    known = ", ".join(versions.sort_tags(project.series.targets, template))
    why = (
        f"{distribution.name} {distribution.version} is installed in {distribution.site}, "
        f"and the series has no target for it (it has {known})."
    )
    raise Refused(Problem("wrong-version", why, next=f"pip install {distribution.name}==VERSION"))


def _fresh(project: Project, tag: str, folder: Path, source: str, check: bool, progress: Progress | None) -> Found:
    from patchctl.target.checkout import Checkout
    from patchctl.target.prepare import prepare
    from patchctl.upstream import pristine
    from patchctl.workflows.preview import Preview

    tree = pristine.open_tree(project, tag, source, progress)
    notes = tuple(Problem("note", note) for note in tree.notes)
    if check:
        return Found(Preview(folder, tree, _footprint(project, tag)), tag, project, tree.source, notes)
    branch = f"patchctl/{folder.name.removeprefix(project.series.upstream.name + '-')}"
    prepare(tree.git_dir, tree.commit, folder, branch, tree.source)
    return Found(Checkout.open(folder), tag, project, tree.source, notes)


def _footprint(project: Project, tag: str) -> Iterable[str]:
    entry = project.locked(tag)
    return [file.path for patch in entry.patches for file in patch.files] if entry else []
