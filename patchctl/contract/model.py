"""What is declared and what is found, as values. Nothing here reads code, so that a kept answer is quick to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Root:
    """A consumer as declared: ``where`` is FILE, FILE:CLASS, FILE:FUNCTION or FOLDER/; ``object`` an expression."""

    where: str
    object: str
    role: str

    @property
    def path(self) -> str:
        return self.where.partition(":")[0]

    @property
    def name(self) -> str:
        return self.where.partition(":")[2]


@dataclass(frozen=True)
class Declaration:
    """A contract as declared, for one release: ``provider`` and the values of ``assume`` are FILE:CLASS.

    ``roots`` are the consumers of this release. The keys of ``assume`` are attributes of the provider
    (``self.language_model``).
    """

    name: str
    role: str
    provider: str
    roots: tuple[Root, ...] = ()
    assume: Mapping[str, str] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)


class How(Enum):
    """How a class comes by an attribute."""

    OWN = "own"
    INHERITED = "inherited"
    DELEGATED = "delegated"
    GETATTR = "getattr"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Inner:
    """What stands behind a delegation: ``cls`` is the class of the object asked, None if that can't be told."""

    cls: str | None
    path: str | None
    provided: Provided | None


@dataclass(frozen=True, slots=True)
class Provided:
    """Whether and how a class offers an attribute.

    ``via`` names the base class, or the attribute that is delegated to (``self.language_model``); ``path`` and
    ``line`` are where the definition stands. ``guarded`` says that a delegation lives with an inner object that
    lacks the attribute; ``note`` is what a person should know, and for ``unknown`` the reason.
    """

    how: How
    via: str | None = None
    path: str | None = None
    line: int | None = None
    inner: Inner | None = None
    guarded: bool = False
    note: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the attribute can be used; None if that is not known."""
        if self.how is How.MISSING:
            return False
        if self.how is How.UNKNOWN:
            return None
        behind = self.inner.provided.holds if self.inner and self.inner.provided else True
        return True if behind is not False else self.guarded


@dataclass(frozen=True, slots=True)
class Site:
    """One use in a consumer. ``function`` is where it stands (``EAGLEWorker.__init__``).

    ``only`` are the names of the classes for whose objects the code is reached, where it asks for the name; None: all.
    ``kinds`` are classes of which the object must be one, or inherit from it, where the code asks ``isinstance``.
    ``needs`` are other attributes that it must have, where the code asks ``hasattr`` for them first.
    """

    path: str
    line: int
    kind: str
    guard: str
    role: str
    condition: str | None
    function: str
    only: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ()
    # What makes one site come before another: built with the object, how many objects lie between, the way there.
    order: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A place where the object may be used in a way that could not be followed."""

    path: str
    line: int
    expression: str
    reason: str
    role: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """An attribute that consumers use, and what the provider says to it.

    ``kind``, ``guard`` and ``condition`` are of the use that asks most: a call without a guard before a read with
    one. ``ignored`` is the reason why a person set it aside.
    """

    name: str
    kind: str
    guard: str
    condition: str | None
    role: str
    sites: tuple[Site, ...]
    provided: Provided
    ignored: str | None = None

    @property
    def fails(self) -> bool:
        """Whether using it can crash."""
        if self.ignored is not None or self.guard != "none" or self.kind == "write":
            return False
        return self.provided.holds is not True


@dataclass(frozen=True, slots=True)
class Verdict:
    """A contract held against one tree. ``first`` is the site of the requirement that would crash first."""

    requirements: tuple[Requirement, ...]
    unresolved: tuple[Unresolved, ...]
    first: tuple[Requirement, Site] | None

    @property
    def failed(self) -> tuple[Requirement, ...]:
        return tuple(requirement for requirement in self.requirements if requirement.fails)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a contract does not hold. ``kind`` is a stable word, ``name`` the attribute where there is one."""

    kind: str
    message: str
    path: str | None = None
    line: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a contract on a tree; it holds if there is no fault. ``notes`` are for people."""

    name: str
    provider: str
    verdict: Verdict
    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
