"""The comparison: what consumers use, held against what a class offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from patchctl.contract.consume import Found
from patchctl.contract.model import How, Provided, Requirement, Site, Verdict
from patchctl.contract.roles import ANY

_KINDS = ("call", "read", "signature", "write")


def compare(
    found: Found, role: str, lineage: Sequence[str], answer: Callable[[str], Provided], ignore: Mapping[str, str]
) -> Verdict:
    """Hold the uses that concern ``role`` against ``answer``.

    It speaks for the class whose name comes first in ``lineage``, before those that it inherits from.

    ``ignore`` gives the reason for each attribute that a person set aside; it is shown, and no failure.
    """
    groups: dict[tuple[str, bool], list[Site]] = {}
    for name, site in found.uses:
        if _concerns(site, role) and _reached(site, lineage, answer):
            groups.setdefault((name, site.kind == "signature"), []).append(site)
    requirements = [_requirement(name, sites, answer(name), ignore) for (name, _), sites in sorted(groups.items())]
    unresolved = [each for each in found.unresolved if role == ANY or each.role in (ANY, role)]
    return Verdict(tuple(requirements), tuple(dict.fromkeys(unresolved)), first_crash(requirements))


def asked(names: Sequence[str], answer: Callable[[str], Provided]) -> Verdict:
    """The answers to a question about names alone, with no consumer."""
    requirements = [Requirement(name, "read", "none", None, ANY, (), answer(name)) for name in names]
    return Verdict(tuple(requirements), (), None)


def _reached(site: Site, lineage: Sequence[str], answer: Callable[[str], Provided]) -> bool:
    """Whether code that asks for the object's class, or for other attributes of it, comes to ``site`` with this one."""
    if any(answer(name).how is How.MISSING for name in site.needs):
        return False
    if site.only is not None and lineage[0] not in site.only:
        return False
    return site.kinds is None or any(name in lineage for name in site.kinds)


def _concerns(site: Site, role: str) -> bool:
    return ANY in (role, site.role) or site.role == role


def _requirement(name: str, sites: list[Site], provided: Provided, ignore: Mapping[str, str]) -> Requirement:
    # What asks most stands for all: a write alone asks for nothing, a guard lives with nothing.
    hardest = min(
        sites, key=lambda site: (site.kind == "write", site.guard != "none", _KINDS.index(site.kind), site.order)
    )
    roles = {site.role for site in sites}
    return Requirement(
        name=name,
        kind=hardest.kind,
        guard=hardest.guard,
        condition=hardest.condition,
        role=roles.pop() if len(roles) == 1 else ANY,
        sites=tuple(sorted(sites, key=lambda site: (site.path, site.line))),
        provided=provided,
        ignored=ignore.get(name),
    )


def first_crash(requirements: Sequence[Requirement]) -> tuple[Requirement, Site] | None:
    """The requirement that crashes first, and where; an estimate from what is built before what."""
    crashes = [
        (site.order, requirement.name, requirement, site)
        for requirement in requirements
        if requirement.fails
        for site in requirement.sites
        if site.guard == "none" and site.kind != "write"
    ]
    if not crashes:
        return None
    _, _, requirement, site = min(crashes, key=lambda crash: crash[:2])
    return requirement, site
