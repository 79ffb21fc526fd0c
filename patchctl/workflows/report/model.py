"""An upgrade as a value. Markdown, HTML and JSON are three renderings of it, and of nothing else.

Text is ``str`` with surrogate escapes for bytes that are not UTF-8. Lines count from 1, and stand without
their line ends. What a limit has cut off is counted in a field called ``cut``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from patchctl.engine.outcome import FileRecord

# Somebody has to decide before the upgrade is done.
STUCK = ("refused", "conflict", "superseded", "waiting", "missing")
# The patch is not carried on the new release.
GONE = ("upstreamed", "dropped")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff. ``sign`` is "+", "-" or " "; ``old`` and ``new`` are its numbers on the two sides."""

    sign: str
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that stand together, under a heading; ``cut`` lines of it are left out at its end."""

    heading: str
    rows: tuple[Row, ...]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Interdiff:
    """The old patch against the new one. ``kind`` is

    - ``same``: byte for byte;
    - ``numbers``: only line numbers and blob ids differ;
    - ``changed``: ``blocks`` show where, and the text of their rows begins with the patch's own sign;
    - ``old-only`` or ``new-only``: there is nothing to compare with.

    ``cut`` counts the rows that are left out.
    """

    kind: str
    blocks: tuple[Block, ...] = ()
    cut: int = 0


@dataclass(frozen=True, slots=True)
class UpstreamHunk:
    """A change of upstream's near to what the patch touches. ``distance`` counts the lines in between: 0 is the
    very lines. ``start`` and ``end`` are its first and last line on the new release."""

    block: Block
    distance: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of upstream's. ``near``: it changed the lines that the patch touches, not only their file;
    ``url`` is where to read it, if that is known."""

    id: str
    date: str
    subject: str
    near: bool = False
    url: str | None = None


@dataclass(frozen=True, slots=True)
class UpstreamFile:
    """What upstream did, between the two releases, to a file that the patch touches.

    ``state``: same, changed, moved (to ``onto``), gone, new, absent (on both). ``elsewhere`` counts the changes that
    are not near, ``cut`` the near ones that are left out.
    """

    path: str
    onto: str | None
    state: str
    hunks: tuple[UpstreamHunk, ...] = ()
    elsewhere: int = 0
    cut: int = 0
    commits: tuple[Commit, ...] = ()
    commits_cut: int = 0


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file around a place; rows with the sign "+" are the patch's own."""

    label: str
    file: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at or to decide: what, where, and the place then and now where both are known.
    ``accepted``: a person has said why it is right (``by`` and ``reason``)."""

    kind: str
    text: str
    file: str | None = None
    line: int | None = None
    hunk: int | None = None
    next: str | None = None
    then: Excerpt | None = None
    now: Excerpt | None = None
    accepted: bool = False
    by: str = ""
    reason: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person (or the rebase, with proof) decided about the patch: ``how`` is dropped, resolved, kept …"""

    how: str
    by: str = ""
    reason: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class PatchStory:
    """One patch of the upgrade.

    ``outcome`` is one of ``rebase``'s, or ``added`` (the old release does not carry it) or ``missing`` (the new one
    neither carries nor drops it). ``engine`` is what the engine alone makes of it, None where it was not asked;
    ``differs`` says that what is carried is not what the engine would write. ``text`` is the patch as it is carried,
    in the file ``path`` of the project, else as the old release has it. ``since`` is the day (ISO) of its mail.
    """

    id: str
    order: int
    outcome: str
    interdiff: Interdiff
    title: str = ""
    why: str = ""
    owner: str = ""
    upstream_status: str = ""
    upstream_url: str | None = None
    drop_when: str | None = None
    expires: str | None = None
    since: str | None = None
    requires: tuple[tuple[str, str], ...] = ()
    engine: str | None = None
    differs: bool = False
    path: str | None = None
    text: Block = Block("", ())
    decided: Decided | None = None
    files: tuple[FileRecord, ...] = ()
    upstream: tuple[UpstreamFile, ...] = ()
    problems: tuple[Finding, ...] = ()
    review: tuple[Finding, ...] = ()
    evidence: tuple[Finding, ...] = ()
    conflicts: tuple[Block, ...] = ()

    @property
    def stuck(self) -> bool:
        return self.outcome in STUCK

    @property
    def open(self) -> tuple[Finding, ...]:
        """The reviews that nobody has accepted."""
        return tuple(finding for finding in self.review if not finding.accepted)

    @property
    def accepted(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.review if finding.accepted)

    @property
    def waits(self) -> bool:
        """Whether a person has to look at it or to decide."""
        return self.stuck or bool(self.open)

    @property
    def near(self) -> int:
        """How many of upstream's changes are near to what it touches."""
        return sum(len(file.hunks) + file.cut for file in self.upstream)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that patches need at run time: by which patches on either release (``then``, ``now`` as
    ``id specifier``), and what upstream itself asks of it on both."""

    package: str
    then: tuple[str, ...]
    now: tuple[str, ...]
    upstream_then: str | None = None
    upstream_now: str | None = None

    @property
    def changed(self) -> bool:
        return self.then != self.now or self.upstream_then != self.upstream_now


@dataclass(frozen=True, slots=True)
class History:
    """Whether upstream's commits between the two releases are at hand; else ``next`` is how to get them, if at all."""

    there: bool
    text: str = ""
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The move of a series from one release to another. ``today`` (ISO) is the day that expiry was judged by."""

    name: str
    from_tag: str
    to_tag: str
    patches: tuple[PatchStory, ...]
    requires: tuple[Requirement, ...] = ()
    history: History = field(default_factory=lambda: History(False))
    today: str | None = None

    @property
    def gone(self) -> tuple[PatchStory, ...]:
        """The patches that are not carried any more."""
        return tuple(patch for patch in self.patches if patch.outcome in GONE)

    @property
    def counts(self) -> dict[str, int]:
        """How many patches have each outcome, those that need somebody first."""
        found = [patch.outcome for patch in self.patches]
        return {outcome: found.count(outcome) for outcome in sorted(set(found), key=_rank)}


_ORDER = (
    *STUCK, "partial", "replayed", "resolved", "kept", "structural", "relocated", "merged", "offset", "unchanged",
    "upstreamed", "dropped", "added",
)  # fmt: skip


def _rank(outcome: str) -> tuple[int, str]:
    return _ORDER.index(outcome) if outcome in _ORDER else len(_ORDER), outcome
