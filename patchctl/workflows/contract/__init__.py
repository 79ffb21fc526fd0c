"""``contract``: what consumers silently expect of a provider, on a target, on a folder, or over releases."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from patchctl.contract import moves as moving
from patchctl.contract.model import Declaration, Judgement, Requirement, Root
from patchctl.contract.moves import Move
from patchctl.errors import InvalidInput, PatchctlError, Problem
from patchctl.series import versions
from patchctl.series.model import Contract
from patchctl.series.project import Project
from patchctl.upstream.cache import Progress
from patchctl.workflows.contract import places
from patchctl.workflows.contract.places import Release
from patchctl.workflows.contract.store import Store
from patchctl.workflows.contract.trees import Recorded, Tree


@dataclass(frozen=True)
class Held:
    """A contract held against one tree.

    ``target`` is the tag, or for a folder the tag that its version stands for, if known; ``source`` is ``git``,
    ``pypi``, ``path`` or ``tree``; ``patches`` are on it. ``adds`` is what the series changes, where asked for;
    ``options`` name the tree on a command line.
    """

    target: str | None
    source: str
    patches: tuple[str, ...]
    judgement: Judgement
    adds: tuple[Move, ...] = ()
    options: str = ""

    @property
    def name(self) -> str | None:
        return self.judgement.name or None

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(problems(self.judgement, self.options))


@dataclass(frozen=True)
class Step:
    """A contract on one release of a range, and what moved since the release before; ``failure`` if it can't be had."""

    target: str
    held: Held | None
    moves: tuple[Move, ...]
    failure: Problem | None = None


def problems(judgement: Judgement, options: str = "") -> Iterator[Problem]:
    """The faults of a judgement as problems, the gravest first; ``options`` name the tree on a command line."""
    explain = " ".join(filter(None, ("patchctl contract", judgement.name, options, "--explain")))
    for fault in judgement.faults:
        step = f"{explain} {fault.name}" if fault.name and judgement.name else None
        yield Problem(fault.kind, fault.message, file=fault.path, next=step)


def chosen(project: Project, name: str | None) -> list[str]:
    """The contracts that ``name`` means: one, or all. Raises InvalidInput for an unknown one, or if there is none."""
    known = project.series.contracts
    if name is None:
        if not known:
            why = "series.yaml declares no contract. docs/contract.md shows how."
            raise InvalidInput(Problem("unknown-contract", why))
        return list(known)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else f" Known are: {', '.join(known) or 'none'}."
        raise InvalidInput(Problem("unknown-contract", f"series.yaml declares no contract '{name}'.{hint}"))
    return [name]


def on_target(
    project: Project,
    names: Sequence[str],
    target: str | None = None,
    *,
    pristine: bool = False,
    provider: str | None = None,
    source: str = "auto",
    progress: Progress | None = None,
) -> list[Held]:
    """Hold contracts against a target, with its series on it unless ``pristine``; then ``adds`` is told too.

    ``provider`` (FILE:CLASS) takes the place of the declared one. Raises what opening the tree raises.
    """
    tag = project.target(target)[0] if target is None else places.release_tag(project, target)
    return _on_release(project, names, tag, pristine, provider, source, progress)


def on_folder(
    root: Path, project: Project, names: Sequence[str], target: str | None = None, provider: str | None = None
) -> list[Held]:
    """Hold contracts against what lies in a folder, as it lies there.

    ``target`` says which release it is; else its own files do. Raises InvalidInput when it is no folder.
    """
    contracts = project.series.contracts
    declared = [provider or contracts[name].provider for name in names]
    declared += [consumer.in_ for name in names for consumer in contracts[name].consumers]
    tree = places.folder(root, project, [text.partition(":")[0] for text in declared])
    template = project.series.upstream.tag
    version = versions.version_text(target, template) or target if target else places.version_in(root, project)
    tag = versions.tag_of(version, template) if version else None
    found = []
    for name in names:
        declaration = declare(name, contracts[name], version, tree, provider)
        judged = judge(tree, declaration, f"folder {root}")
        if version is None:
            judged = replace(judged, notes=(*judged.notes, *_left_out(contracts[name], declaration)))
        options = f"--tree {shlex.quote(str(root))}" + (f" --target {shlex.quote(target)}" if target else "")
        found.append(Held(tag, "tree", (), judged, options=options))
    return found


def ask(
    provider: str,
    names: Sequence[str],
    project: Project | None,
    *,
    root: Path | None = None,
    target: str | None = None,
    pristine: bool = False,
    assume: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> Held:
    """Whether the class ``provider`` (FILE:CLASS) offers ``names``, in a folder or on a target."""
    from patchctl.contract import judge as judging

    if root is not None:
        tree: Tree = places.folder(root, project, [provider.partition(":")[0]])
        return Held(None, "tree", (), judging.ask(tree, provider, names, assume))
    assert project is not None, "without a folder there is a project"
    tag = project.target(target)[0] if target is None else places.release_tag(project, target)
    opened = places.release(project, tag, patched=not pristine, progress=progress)
    with opened.tree as files:
        return Held(tag, opened.source, opened.patches, judging.ask(files, provider, names, assume))


def over_releases(
    project: Project,
    name: str,
    tags: Sequence[str],
    *,
    pristine: bool = False,
    provider: str | None = None,
    progress: Progress | None = None,
) -> list[Step]:
    """Hold one contract against releases in order, and tell what moved from each to the next."""
    steps: list[Step] = []
    last: Held | None = None
    for tag in tags:
        try:
            held = _on_release(project, [name], tag, pristine, provider, "auto", progress, adds=False)[0]
        except PatchctlError as error:
            steps.append(Step(tag, None, (), replace(error.problems[0], patch=None)))
            continue
        there = not any(fault.kind == "no-provider" for fault in held.judgement.faults)
        moved = moving.moves(last.judgement.verdict, held.judgement.verdict) if last and there else []
        steps.append(Step(tag, held, tuple(moved)))
        last = held if there else last  # a provider that is not there says nothing that could move
    return steps


def _on_release(
    project: Project,
    names: Sequence[str],
    tag: str,
    pristine: bool,
    provider: str | None,
    source: str,
    progress: Progress | None,
    adds: bool = True,
) -> list[Held]:
    opened = places.release(project, tag, patched=not pristine, source=source, progress=progress)
    version = versions.version_text(tag, project.series.upstream.tag)
    found = []
    with opened.tree as files:
        for name in names:
            declaration = declare(name, project.series.contracts[name], version, files, provider)
            judged = judge(files, declaration, f"{opened.source} {tag} {'pristine' if pristine else 'patched'}")
            added = _added(project, opened, declaration, judged) if pristine and adds else ()
            options = f"--target {shlex.quote(tag)}" + (" --pristine" if pristine else "")
            found.append(Held(tag, opened.source, opened.patches, judged, added, options))
    return found


def declare(name: str, contract: Contract, version: str | None, tree: Tree, provider: str | None = None) -> Declaration:
    """The contract as it is declared for the release ``version``.

    Where the version is not known, a consumer with ``when`` counts if its file is there.
    """
    roots = []
    for consumer in contract.consumers:
        root = Root(consumer.in_, consumer.object, consumer.role or contract.role)
        if consumer.when is not None:
            there = version is None and (root.path.endswith("/") or tree.exists(root.path))
            if not there and (version is None or not versions.satisfies(version, consumer.when)):
                continue
        roots.append(root)
    own = provider is None or provider == contract.provider
    assume = contract.assume if own else {}
    return Declaration(name, contract.role, provider or contract.provider, tuple(roots), assume, contract.ignore)


def _left_out(contract: Contract, declaration: Declaration) -> Iterator[str]:
    """What a person should know of consumers that were not looked at, since nobody knows which release it is."""
    held = {root.where for root in declaration.roots}
    absent = [consumer.in_ for consumer in contract.consumers if consumer.in_ not in held]
    if absent:
        yield (
            "Which release lies in the folder is not known, so consumers of some releases whose files are not there "
            f"were left out: {', '.join(absent)}. Say --target TAG."
        )


def judge(tree: Tree, declaration: Declaration, label: str) -> Judgement:
    """The judgement of a contract on a tree, from the store where nothing that it rests on has changed.

    ``label`` keeps the answers for different trees apart, so that one does not push out the other.
    """
    return _kept([label, asdict(declaration)], tree, lambda judging, read: judging.judge(read, declaration))


def answers(tree: Tree, declaration: Declaration, names: Sequence[str], label: str) -> Judgement:
    """What the provider of ``declaration`` says to ``names``, from the store like :func:`judge`."""
    provider, assume = declaration.provider, declaration.assume
    question = [f"{label} answers", provider, list(names), dict(assume)]
    return _kept(question, tree, lambda judging, read: judging.ask(read, provider, names, assume))


def _kept(question: object, tree: Tree, work: Callable[[Any, Recorded], Judgement]) -> Judgement:
    """The answer to ``question`` from the store, else what ``work`` finds.

    It gets :mod:`patchctl.contract.judge`, which is loaded only where code is read, and the tree.
    """
    store = Store.default()
    known = store.get(question, tree)
    if known is not None:
        return known
    from patchctl.contract import judge as judging

    recorded = Recorded(tree)
    found = work(judging, recorded)
    store.put(question, recorded, found)
    return found


def _added(project: Project, opened: Release, declaration: Declaration, judged: Judgement) -> tuple[Move, ...]:
    """What the provider of the pristine release ``opened`` gains and loses by the series."""
    patched = places.with_series(project, opened)
    if not patched.patches:
        return ()
    names = list(dict.fromkeys(each.name for each in judged.verdict.requirements))
    with patched.tree as files:
        asked = answers(files, declaration, names, f"{opened.source} {opened.tag}")
    new = {each.name: each.provided for each in asked.verdict.requirements}
    changed = [replace(each, provided=new[each.name]) for each in judged.verdict.requirements]
    found = moving.moves(judged.verdict, replace(judged.verdict, requirements=tuple(changed)))
    return tuple(move for move in found if move.change in ("gained", "lost", "provided"))


def requirement(held: Held, attribute: str) -> Requirement | None:
    """The requirement for ``attribute``, None if no consumer asks for it."""
    return next((each for each in held.judgement.verdict.requirements if each.name == attribute), None)
