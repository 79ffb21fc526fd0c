"""One attribute of a contract, told as a person would: who asks, when, who answers, what happens without."""

from __future__ import annotations

from patchctl.contract.model import How, Provided, Requirement, Site
from patchctl.contract.roles import ANY

_VERBS = {"call": "calls", "read": "reads", "write": "sets", "signature": "asks for the parameters of"}
_GUARDS = {
    "hasattr": "asking with hasattr first",
    "getattr-default": "with a default for when it is missing",
    "try": "catching the AttributeError",
}


def story(requirement: Requirement, provider: str) -> list[str]:
    """The lines of the story; ``provider`` is the class's name."""
    name, role = requirement.name, requirement.role
    whose = "the model" if role == ANY else f"the {role}"
    lines = [f"{name} is asked of {whose}, and nothing declares it:"]
    lines += [f"  {_site(site, name)}" for site in requirement.sites]
    lines += answer(requirement.provided, name, provider)
    lines.append(_without(requirement))
    return lines


def _site(site: Site, name: str) -> str:
    words = f"{site.path}:{site.line} {site.function} {_VERBS[site.kind]} it"
    if site.guard != "none":
        words += f", {_GUARDS[site.guard]}"
    return words + (f", if {site.condition}" if site.condition else ", always")


def answer(provided: Provided, name: str, provider: str) -> list[str]:
    """Who would answer."""
    where = f" ({provided.path}:{provided.line})" if provided.path and provided.line else ""
    note = [f"  {provided.note}."] if provided.note else []
    if provided.how is How.MISSING:
        return [f"{provider} does not offer it, nor do the classes it inherits from."]
    if provided.how is How.UNKNOWN:
        return [f"Whether {provider} offers it can't be told from its text: {provided.note}.{where}"]
    if provided.how is How.OWN:
        return [f"{provider} defines it itself{where}.", *note]
    if provided.how is How.INHERITED and provided.inner is None:
        return [f"{provider} inherits it from {provided.via}{where}.", *note]
    lines = [
        {
            How.DELEGATED: f"{provider} passes it on to {provided.via}{where}.",
            How.GETATTR: f"{provider} lacks it, and its __getattr__ asks {provided.via}{where}.",
        }.get(provided.how, f"{provider} inherits it from {provided.via}{where}, which passes it on.")
    ]
    inner = provided.inner
    if inner is not None and inner.cls is not None and inner.provided is not None:
        lines += [f"  {line.strip()}" for line in answer(inner.provided, name, inner.cls)]
        if inner.provided.holds is False and provided.guarded:
            lines.append("  It asks first, so that nothing crashes: it silently does nothing.")
    return [*lines, *note]


def _without(requirement: Requirement) -> str:
    if requirement.ignored is not None:
        return f"It is set aside: {requirement.ignored}."
    if requirement.kind == "write":
        return "Without it nothing happens: it is only set."
    if requirement.guard != "none":
        return "Without it nothing crashes: every use is guarded."
    hard = [site for site in requirement.sites if site.guard == "none" and site.kind != "write"]
    first = min(hard, key=lambda site: site.order)
    crash = f"AttributeError: no attribute '{requirement.name}' at {first.path}:{first.line}"
    return f"It fails: {crash}." if requirement.fails else f"Without it: {crash}."
