"""series.yaml as types. :mod:`patchctl.series.load` reads it, :mod:`patchctl.series.schema` prints its schema."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

# In Python $ also matches before a last line end, in the schema's dialect it does not; (?!\n) makes them one.
PATCH_ID = r"^[a-z0-9][a-z0-9.-]*$(?!\n)"
SHA256 = r"^sha256:[0-9a-f]{64}$(?!\n)"
COMMIT_ID = r"^[0-9a-f]{40}([0-9a-f]{24})?$(?!\n)"
ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$(?!\n)"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)"
TAG_FORM = r"\{version\}"

PatchId = Annotated[str, Meta(pattern=PATCH_ID)]
Sha256 = Annotated[str, Meta(pattern=SHA256)]
CommitId = Annotated[str, Meta(pattern=COMMIT_ID)]
IsoDate = Annotated[str, Meta(pattern=ISO_DATE)]
Text = Annotated[str, Meta(min_length=1)]

UpstreamState = Literal["pending", "submitted", "accepted", "backport", "denied", "inappropriate"]
Role = Literal["target", "draft", "any"]
Level = Literal["static", "build", "smoke"]


class _Strict(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Unknown keys are errors: a misspelt one would silently do nothing."""


class Sdist(_Strict, frozen=True):
    """Where a source archive lies in the repository, and what in it is generated."""

    root: str = ""
    drop: list[str] = field(default_factory=lambda: ["PKG-INFO", "setup.cfg", "*.egg-info/**"])


class Upstream(_Strict, frozen=True):
    """Where the pristine releases come from; at least one of ``git`` and ``pypi``."""

    name: Annotated[str, Meta(pattern=NAME)]
    git: Text | None = None
    pypi: Text | None = None
    tag: Annotated[str, Meta(pattern=TAG_FORM)] = "v{version}"
    sdist: Sdist = field(default_factory=Sdist)
    layout: dict[str, str] = field(default_factory=dict)


class Pin(_Strict, frozen=True):
    """What a release must be, per source: the sdist's hash, the hashes of its wheels, the commit of its tag."""

    sdist: Sha256 | None = None
    wheels: list[Sha256] = field(default_factory=list)
    commit: CommitId | None = None


class Dropped(_Strict, frozen=True):
    """Why a patch that an earlier target had is not carried here."""

    reason: Text
    evidence: str = ""
    by: str = ""
    from_: str = field(name="from", default="")


class Target(_Strict, frozen=True):
    """One upstream release and the patches on it, in order of application."""

    pin: Pin
    patches: list[PatchId]
    dropped: dict[PatchId, Dropped] = field(default_factory=dict)


class UpstreamStatus(_Strict, frozen=True):
    """Where a patch stands upstream; ``url`` is needed unless pending or inappropriate."""

    status: UpstreamState
    url: Text | None = None


class PatchInfo(_Strict, frozen=True):
    """What people must know of a patch."""

    title: Text
    why: Text
    owner: Text
    upstream: UpstreamStatus
    drop_when: Text | None = None
    expires: IsoDate | None = None
    requires: dict[str, str] = field(default_factory=dict)
    contracts: list[str] = field(default_factory=list)
    smoke: list[str] = field(default_factory=list)


class Consumer(_Strict, frozen=True):
    """Code that calls something on the object: where it is, and which expression holds the object there."""

    in_: Text = field(name="in")
    object: Text
    role: Role | None = None
    when: Text | None = None


class Contract(_Strict, frozen=True):
    """What consumers silently expect of a provider class."""

    role: Role
    provider: Text
    assume: dict[str, str] = field(default_factory=dict)
    consumers: list[Consumer] = field(default_factory=list)
    ignore: dict[str, str] = field(default_factory=dict)


class Needs(_Strict, frozen=True):
    """What a check needs of its host."""

    gpus: int | None = None
    capability: str | None = None
    memory_gib: int | float | None = None
    packages: list[str] = field(default_factory=list)
    weights: bool | None = None


class Limits(_Strict, frozen=True):
    """The bounds of a check; bands are [low, high]."""

    seconds: int | float
    accept_length: tuple[float, float] | None = None


class Teeth(_Strict, frozen=True):
    """What a check must fail on: the tree without these patches, these mutants; or why it has none."""

    without: list[str] = field(default_factory=list)
    mutants: list[str] = field(default_factory=list)
    none: str | None = None


class Check(_Strict, frozen=True):
    """A named verification."""

    level: Level
    run: Text
    proves: Text
    limits: Limits
    needs: Needs = field(default_factory=Needs)
    required: bool = True
    teeth: Teeth = field(default_factory=Teeth)


class Mutant(_Strict, frozen=True):
    """A deliberate fault that a check must notice."""

    patch: Text
    on: list[str] = field(default_factory=list)


class WheelBuild(_Strict, frozen=True):
    root: str = ""


class ImageBuild(_Strict, frozen=True):
    file: Text


class Build(_Strict, frozen=True):
    wheel: WheelBuild | None = None
    image: ImageBuild | None = None


class Verify(_Strict, frozen=True):
    """The stack a target is verified on, reference figures, and the checks."""

    pins: dict[str, str] = field(default_factory=dict)
    references: dict[str, float] = field(default_factory=dict)
    build: Build = field(default_factory=Build)
    checks: dict[str, Check] = field(default_factory=dict)
    mutants: dict[str, Mutant] = field(default_factory=dict)


class Host(_Strict, frozen=True):
    """A host by its name in the user's ssh configuration."""

    ssh: Text
    gpus: int | None = None
    capability: str | None = None


class Series(_Strict, frozen=True):
    """The whole of series.yaml."""

    version: Literal[1]
    upstream: Upstream
    targets: dict[str, Target]
    patches: dict[PatchId, PatchInfo] = field(default_factory=dict)
    default: str | None = None
    contracts: dict[str, Contract] = field(default_factory=dict)
    verify: Verify = field(default_factory=Verify)
    hosts: dict[str, Host] = field(default_factory=dict)
