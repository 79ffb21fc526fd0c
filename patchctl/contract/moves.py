"""How a contract moves over releases: what consumers begin or cease to ask, what the provider gains or loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from patchctl.contract.model import Provided, Requirement, Verdict


@dataclass(frozen=True, slots=True)
class Move:
    """One difference between two releases.

    ``change`` is ``added``, ``removed`` (the requirement), ``moved`` (to other files), ``guard`` (it is guarded now,
    or is no more), ``gained``, ``lost`` or ``provided`` (the provider: otherwise than before).
    """

    name: str
    change: str
    before: str | None
    after: str | None


def moves(old: Verdict, new: Verdict) -> list[Move]:
    """What is different in ``new``, sorted by name."""
    before, after = _by_name(old), _by_name(new)
    found: list[Move] = []
    for name in sorted({*before, *after}):
        found += _moves(name, before.get(name), after.get(name))
    return found


def _by_name(verdict: Verdict) -> dict[str, Requirement]:
    # Signature uses of an attribute stand apart from the others; the others say more.
    return {each.name: each for each in sorted(verdict.requirements, key=lambda each: each.kind != "signature")}


def _moves(name: str, old: Requirement | None, new: Requirement | None) -> Iterator[Move]:
    if old is None or new is None:
        if new is not None:
            yield Move(name, "added", None, ", ".join(files(new)))
        elif old is not None:
            yield Move(name, "removed", ", ".join(files(old)), None)
        return
    if files(old) != files(new):
        yield Move(name, "moved", ", ".join(files(old)), ", ".join(files(new)))
    if (old.guard == "none") != (new.guard == "none"):
        yield Move(name, "guard", old.guard, new.guard)
    was, now = old.provided, new.provided
    if was.holds != now.holds:
        change = "gained" if now.holds else "lost" if was.holds else "provided"
        yield Move(name, change, told(was), told(now))
    elif (was.how, was.via) != (now.how, now.via):
        yield Move(name, "provided", told(was), told(now))


def files(requirement: Requirement) -> list[str]:
    """The files that use the attribute."""
    return list(dict.fromkeys(site.path for site in requirement.sites))


def told(provided: Provided) -> str:
    """An answer in a few words: ``delegated to self.language_model``."""
    how = provided.how.value
    if provided.via is None:
        return how
    link = {"inherited": "from", "delegated": "to", "getattr": "to"}.get(how, "by")
    return f"{how} {link} {provided.via}"
