"""From what the engine and the series say to the :class:`~patchctl.workflows.report.model.Upgrade` that is shown."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from patchctl.engine import port as engine
from patchctl.engine import reader
from patchctl.engine.model import Patch
from patchctl.engine.options import Names, Options
from patchctl.engine.outcome import FileRecord, Note, PatchReport
from patchctl.engine.overlay import Tree
from patchctl.engine.references import linked
from patchctl.errors import PatchctlError
from patchctl.series import maildate, patchfile, versions
from patchctl.series.lock import Review
from patchctl.series.model import Dropped, PatchInfo, UpstreamStatus
from patchctl.series.project import Project
from patchctl.workflows.rebase.trees import Patched
from patchctl.workflows.report import commits, interdiff, requires, stack, touching
from patchctl.workflows.report.findings import Places, conflicts, of_problem, with_accepted
from patchctl.workflows.report.model import (
    GONE,
    Decided,
    Finding,
    PatchStory,
    Upgrade,
    UpstreamFile,
)

# Outcomes that the engine does not come to by itself.
_DECIDED = frozenset({"resolved", "kept", "dropped", "replayed"})


@dataclass(frozen=True)
class Moved:
    """A series on its way from one release to another, done or not.

    ``reports`` are the engine's, one for each patch of ``old``, named by its id. ``old`` and ``new`` hold the patch
    files by id, in order: of the old release, and those that the new one carries. ``dropped`` and ``accepted`` are
    what series.yaml and series.lock record for the new release (or are about to); ``outcomes`` what the lock records
    where a person decided, over what the engine says. ``differing`` are patches that are carried with another text
    than the engine's, ``inexact`` those that do not fit the new release as they are carried. ``scripts`` is what the
    engine was given (see :class:`patchctl.engine.options.Options`), so that nothing is compared twice; ``known`` are
    patches of ``old`` that were read already.
    """

    from_tag: str
    to_tag: str
    base: Tree
    onto: Tree
    reports: Sequence[PatchReport]
    old: Mapping[str, bytes]
    new: Mapping[str, bytes]
    dropped: Mapping[str, Dropped] = field(default_factory=dict)
    accepted: Mapping[str, Sequence[Review]] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    differing: frozenset[str] = frozenset()
    inexact: frozenset[str] = frozenset()
    scripts: touching.Scripts | None = None
    known: Mapping[str, Patch] = field(default_factory=dict)


def tell(project: Project, moved: Moved, today: datetime.date | None = None) -> Upgrade:
    """The story of ``moved``. ``today`` is the day by which expiry is judged; without it, nothing expires.

    Raises EnvironmentFailed when the cache of upstream's commits is damaged.
    """
    return _Teller(project, moved, today).upgrade()


class _Teller:
    def __init__(self, project: Project, moved: Moved, today: datetime.date | None) -> None:
        self.project = project
        self.moved = moved
        self.today = today
        self.releases = touching.Releases(moved.base, moved.onto, moved.scripts)
        self.layers = stack.layers(moved.base, moved.old, moved.known)
        self.log, self.history = commits.open_log(project, moved.from_tag, moved.to_tag)
        self.reports = {report.name: report for report in moved.reports}

    def upgrade(self) -> Upgrade:
        moved = self.moved
        ids = [*moved.old, *(id for id in moved.new if id not in moved.old)]
        if self.log is not None:
            self.log.read(file for files in self.upstream.values() for file in files)
        stories = tuple(self.story(order, id) for order, id in enumerate(ids, 1))
        series = self.project.series
        needs = requires.requirements(
            series.upstream, series.patches, list(moved.old), list(moved.new), moved.base, moved.onto
        )
        today = self.today.isoformat() if self.today else None
        return Upgrade(
            series.upstream.name, moved.from_tag, moved.to_tag, stories, needs, self.history, today
        )  # fmt: skip

    def story(self, order: int, id: str) -> PatchStory:
        """All there is to say of one patch."""
        moved = self.moved
        old, new = moved.old.get(id), moved.new.get(id)
        text = new if new is not None else old or b""
        info = self.project.series.patches.get(id) or _unknown(id, text)
        report = self.reports.get(id)
        outcome = self._outcome(id, report)
        told = report or PatchReport(id, outcome)
        alone = self._alone(id, outcome, told)
        return PatchStory(
            id=id,
            order=order,
            outcome=outcome,
            interdiff=interdiff.compare(old, new),
            title=info.title,
            why=info.why,
            owner=info.owner,
            upstream_status=info.upstream.status,
            upstream_url=info.upstream.url,
            drop_when=info.drop_when,
            expires=info.expires,
            since=_day(text),
            requires=tuple(sorted(info.requires.items())),
            engine=alone.outcome if report and alone.outcome != outcome else None,
            differs=id in moved.differing,
            path=self._path(id),
            text=interdiff.whole(text),
            decided=self._decided(id, outcome),
            files=() if outcome in GONE else tuple(_files(told)),
            upstream=self._upstream(id),
            problems=tuple(_problems(alone)),
            review=tuple(with_accepted(self._review(id, told, info), moved.accepted.get(id, ()))),
            evidence=tuple(self._evidence(id, told, alone, info)),
            conflicts=conflicts({path: entry.state for path, entry in alone.proposals.items()}),
        )

    def _outcome(self, id: str, report: PatchReport | None) -> str:
        if report is None:
            return "added"
        if id in self.moved.dropped:
            return "upstreamed" if self.moved.dropped[id].reason == "upstreamed" else "dropped"
        if id in self.moved.outcomes:
            return self.moved.outcomes[id]
        carried = id in self.moved.new
        if carried and report.stuck:
            return "resolved"
        return report.outcome if carried or report.stuck or report.outcome in ("upstreamed", "dropped") else "missing"

    def _alone(self, id: str, outcome: str, told: PatchReport) -> PatchReport:
        """What the engine says of a patch that was decided elsewhere; ``told`` where it was asked anyway."""
        layer = self.layers.get(id)
        by_engine = told.outcome not in _DECIDED or told.problems
        if by_engine or layer is None or not layer.exact or layer.patch is None:
            return told
        moved = self.moved
        onto = Patched(moved.onto, stack.below(self.carried, id, list(moved.old)))
        base = Patched(moved.base, stack.below(self.layers, id, list(moved.old)))
        raw = replace(reader.read(moved.old[id], id)[0], name=id)
        options = Options(scripts=moved.scripts, labels=Names(onto=moved.to_tag, base=moved.from_tag))
        return engine.port([raw], onto, base, options=options)[0]

    @cached_property
    def carried(self) -> dict[str, stack.Layer]:
        return stack.layers(self.moved.onto, self.moved.new)

    def _decided(self, id: str, outcome: str) -> Decided | None:
        entry = self.moved.dropped.get(id)
        if entry is not None:
            return Decided(outcome, entry.by, entry.reason, entry.evidence)
        return Decided(outcome) if outcome in _DECIDED else None

    def _path(self, id: str) -> str | None:
        tag = self.moved.to_tag if id in self.moved.new else self.moved.from_tag
        return self.project.patch_path(tag, id).relative_to(self.project.root).as_posix()

    @cached_property
    def upstream(self) -> dict[str, tuple[UpstreamFile, ...]]:
        """What upstream did to the files of each patch, without commits."""
        found = {}
        for id, layer in self.layers.items():
            report = self.reports.get(id)
            followed = {record.path: record.onto for record in report.files} if report else {}
            found[id] = touching.upstream(layer, followed, self.releases)
        return found

    def _upstream(self, id: str) -> tuple[UpstreamFile, ...]:
        files = self.upstream.get(id, ())
        return tuple(self.log.fill(file) for file in files) if self.log else files

    # -- what to look at

    def _review(self, id: str, report: PatchReport, info: PatchInfo) -> Iterator[Finding]:
        layer = self.layers.get(id)
        if layer is not None:
            now = {path: entry.state for path, entry in report.changes.items()}
            labels = (f"{self.moved.from_tag} + {id}", f"{self.moved.to_tag} + {id}")
            places = Places(report, layer, now, *labels)
            yield from (places.finding(note) for note in report.review)
        if id in self.moved.inexact:
            tag = self.moved.to_tag
            text = f"The patch as it is carried does not fit {tag}; nothing here is proved of it."
            yield Finding("inexact", text, self._path(id), next=f"patchctl lock {tag}")
        if id in self.moved.new:
            yield from self._overdue(info)

    def _overdue(self, info: PatchInfo) -> Iterator[Finding]:
        """Why a patch that is carried should perhaps not be any more."""
        version = versions.version_of(self.moved.to_tag, self.project.series.upstream.tag)
        wanted = info.drop_when
        if wanted and version and versions.is_specifier(wanted) and versions.satisfies(version, wanted):
            text = f"drop_when says {wanted}, and {self.moved.to_tag} is that; the patch is carried all the same."
            yield Finding("drop-when", text)
        if info.expires and self.today and datetime.date.fromisoformat(info.expires) < self.today:
            yield Finding("expired", f"The day that the patch was to be looked at again is over: {info.expires}.")

    def _evidence(self, id: str, told: PatchReport, alone: PatchReport, info: PatchInfo) -> Iterator[Finding]:
        said = {(problem.kind, problem.message) for problem in alone.problems}
        known = dict.fromkeys((*told.evidence, *alone.evidence))
        notes = (note for note in known if (note.kind, note.text) not in said)
        yield from (Finding(note.kind, note.text, note.file, note.line) for note in notes)
        if self.log is not None and id in self.moved.old:
            mail = patchfile.parse(self.moved.old[id], id).mail
            texts = linked(mail, self.log.messages, info.upstream.url)
            yield from (Finding("link", text) for text in texts if Note("link", text) not in known)


def _problems(report: PatchReport) -> Iterator[Finding]:
    """The problems, with the lines that the evidence knows for them."""
    lines = {(note.kind, note.text): note.line for note in report.evidence}
    for problem in report.problems:
        yield replace(of_problem(problem), line=lines.get((problem.kind, problem.message)))


def _files(report: PatchReport) -> Iterator[FileRecord]:
    for record in report.files:
        yield replace(record, hunks=tuple(replace(hunk, score=round(hunk.score, 3)) for hunk in record.hunks))


def _day(text: bytes) -> str | None:
    """The day of a patch's mail, in its own time zone."""
    try:
        raw = maildate.raw(patchfile.parse(text).mail.date)
    except PatchctlError:
        return None
    if not raw:
        return None
    seconds, zone = raw.split(" ")
    shift = (int(zone[1:3]) * 60 + int(zone[3:5])) * (-60 if zone[0] == "-" else 60)
    try:
        return datetime.datetime.fromtimestamp(int(seconds) + shift, datetime.timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _unknown(id: str, text: bytes) -> PatchInfo:
    """What to say of a patch that series.yaml has no entry for."""
    try:
        subject = patchfile.parse(text).mail.subject
    except PatchctlError:
        subject = ""
    return PatchInfo(title=subject or id, why="", owner="", upstream=UpstreamStatus("pending"))
