"""One contract held against one tree: the whole of it, from texts to a judgement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from patchctl.contract.compare import asked, compare
from patchctl.contract.consume import Consumers
from patchctl.contract.model import Declaration, Fault, How, Judgement, Provided, Requirement, Root, Site, Verdict
from patchctl.contract.moves import told
from patchctl.contract.program import ClassRef, Program
from patchctl.contract.provide import Providers
from patchctl.contract.successor import Successor, successors
from patchctl.contract.syntax import Source

_DEEP = "the code is nested, or inherits, too deeply to be read"


def judge(source: Source, declared: Declaration, program: Program | None = None) -> Judgement:
    """Hold a contract against the texts of ``source``; never raises for what they hold.

    ``program`` may hold files of ``source`` that were parsed before.
    """
    try:
        return _judged(source, declared, program or Program(source))
    except RecursionError:
        return _too_deep(declared)


def _judged(source: Source, declared: Declaration, program: Program) -> Judgement:
    answer, lineage, faults, providers = _provider(program, declared)
    provider = lineage[0]
    found = Consumers(program, providers.typer).find(declared.roots)
    verdict = compare(found, declared.role, lineage, answer, declared.ignore)
    names = [requirement.name for requirement in verdict.requirements]
    for root, kind, why in found.absent:
        faults.append(_absent(root, kind, why, source, names))
    if not verdict.requirements:
        faults.append(_empty(declared))
    if not any(fault.kind == "no-provider" for fault in faults):  # else that is all there is to say of them
        faults += [_failure(each, provider, verdict.first) for each in _in_order(verdict)]
    return Judgement(declared.name, declared.provider, verdict, tuple(faults), tuple(_notes(verdict, declared)))


def ask(source: Source, provider: str, names: Sequence[str], assume: Mapping[str, str] | None = None) -> Judgement:
    """Whether the class ``provider`` (FILE:CLASS) offers the attributes ``names``; nobody's uses are looked at."""
    declared = Declaration("", "any", provider, assume=assume or {})
    try:
        answer, (cls, *_), faults, _ = _provider(Program(source), declared)
        verdict = asked(names, answer)
    except RecursionError:
        unknown = asked(names, lambda _: Provided(How.UNKNOWN, note=_DEEP))
        return replace(_too_deep(declared), verdict=unknown)
    if not any(fault.kind == "no-provider" for fault in faults):
        faults += [_failure(each, cls, None) for each in verdict.failed]
    return Judgement("", provider, verdict, tuple(faults), tuple(_notes(verdict, declared)))


def _too_deep(declared: Declaration) -> Judgement:
    name, _, cls = declared.provider.partition(":")
    fault = Fault("unknown", f"What {cls} offers, or is asked for, is not known: {_DEEP}.", name)
    return Judgement(declared.name, declared.provider, Verdict((), (), None), (fault,))


def answers(program: Program, declared: Declaration) -> Callable[[str], Provided]:
    """What the provider of ``declared`` says to any attribute."""
    return _provider(program, declared)[0]


# -- the provider


def _provider(
    program: Program, declared: Declaration
) -> tuple[Callable[[str], Provided], list[str], list[Fault], Providers]:
    """How to ask the provider, its name and those it inherits from, what is wrong, and the classes of the program."""
    path, _, name = declared.provider.partition(":")
    faults: list[Fault] = []
    classes = program.find_classes(path, name)
    if not classes:
        module = program.module(path)
        if module is None:
            there = program.source.exists(path)
            why = f"{path} can't be read, or is too large" if there else f"there is no file {path}"
        elif module.fault is not None:
            why = f"{path} can't be judged: {module.fault}"
        else:
            why = f"{path} defines no class {name}"
        faults.append(Fault("no-provider", f"The provider can't be asked: {why}.", path))
        return lambda name: Provided(How.UNKNOWN, note=why), [name], faults, Providers.of(program)
    assumed: dict[tuple[ClassRef, tuple[str, ...]], ClassRef] = {}
    for chain, where in declared.assume.items():
        inner_path, _, inner_name = where.partition(":")
        inner = program.find_class(inner_path, inner_name)
        if inner is None:
            why = f"assume says that {chain} is a {inner_name}, and {inner_path} defines no such class."
            faults.append(Fault("no-provider", why, inner_path))
        else:
            assumed.update(((cls, tuple(chain.removeprefix("self.").split("."))), inner) for cls in classes)
    providers = Providers.of(program, assumed)
    lineage = [each.name.rpartition(".")[2] for each in providers.instances.lineages.of(classes[0]).order]
    return lambda name: _of_all([providers.answer(cls, name) for cls in classes]), lineage, faults, providers


def _of_all(answers: Sequence[Provided]) -> Provided:
    """One answer for a class that is defined in several ways, of which a condition chooses."""
    first = answers[0]
    if all((each.how, each.via, each.holds) == (first.how, first.via, first.holds) for each in answers):
        return first
    told_apart = ", or ".join(dict.fromkeys(told(each) for each in answers))
    return Provided(How.UNKNOWN, path=first.path, line=first.line, note=f"a condition decides: {told_apart}")


# -- in words


def _absent(root: Root, kind: str, why: str, source: Source, names: Sequence[str]) -> Fault:
    if kind == "gone":
        likely = successors(root, source, names)
        return Fault("consumer-gone", f"A declared consumer is gone: {why}.{_likely(likely)}", root.path)
    words = {"unused": "A declared consumer does not consume", "object": "A declared object can't be read"}
    return Fault(f"consumer-{kind}", f"{words.get(kind, 'A declared consumer can not be judged')}: {why}.", root.path)


def _likely(found: Sequence[Successor]) -> str:
    if not found:
        return " No file looks like its successor."
    first, *others = found
    more = f" Or: {', '.join(each.path for each in others)}." if others else ""
    return f" Its likely successor is {first.path} ({first.reason}).{more}"


def _empty(declared: Declaration) -> Fault:
    if not declared.roots:
        why = "no consumer is declared for this release"
    elif declared.role not in ("any", *(root.role for root in declared.roots)) and not any(
        root.role == "any" for root in declared.roots
    ):
        why = f"no consumer holds the role {declared.role}"
    else:
        why = f"no consumer uses anything of the {declared.role}"
    return Fault("empty", f"The contract {declared.name} is empty: {why}. An empty contract proves nothing.")


def _in_order(verdict: Verdict) -> list[Requirement]:
    """The failed requirements, the one that crashes first in front."""
    first = verdict.first[0] if verdict.first else None
    return sorted(verdict.failed, key=lambda each: (each is not first, each.name))


def _failure(requirement: Requirement, provider: str, first: tuple[Requirement, Site] | None) -> Fault:
    name, provided = requirement.name, requirement.provided
    kind = "unknown" if provided.holds is None else "missing"
    if provided.how is How.UNKNOWN:
        what = f"Whether {provider} offers {name} is not known ({provided.note})"
    elif provided.how is How.MISSING:
        what = f"{provider} lacks {name}"
    else:
        behind = provided.inner.cls if provided.inner else None
        what = f"{provider} has {name} {told(provided)} ({behind}), which lacks it"
    if not requirement.sites:
        return Fault(kind, f"{what}.", provided.path, provided.line, name)
    hard = [site for site in requirement.sites if site.guard == "none" and site.kind != "write"]
    site = min(hard, key=lambda site: site.order)
    crash = " This is the first crash." if first is not None and first[0] is requirement else ""
    condition = f", if {site.condition}" if site.condition else ""
    use = f"{site.function} {'calls' if site.kind == 'call' else 'reads'} it at {site.path}:{site.line}{condition}"
    return Fault(kind, f"{what}, and {use}.{crash}", site.path, site.line, name)


def _notes(verdict: Verdict, declared: Declaration) -> list[str]:
    names = {requirement.name for requirement in verdict.requirements}
    notes = [f"ignore names {name}, which no consumer uses." for name in declared.ignore if name not in names]
    for requirement in verdict.requirements:
        provided = requirement.provided
        if requirement.fails or requirement.guard != "none" or provided.inner is None or provided.note is None:
            continue
        notes.append(f"{requirement.name} is {told(provided)}, and {provided.note}.")
    return notes
