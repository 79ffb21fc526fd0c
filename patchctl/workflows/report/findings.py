"""What a person has to look at or to decide, with the place then and now, and the open regions of a conflict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patchctl.engine.lines import split
from patchctl.engine.model import FileState
from patchctl.engine.outcome import HunkRecord, Note, PatchReport
from patchctl.errors import Problem
from patchctl.series.lock import Review
from patchctl.workflows.report.interdiff import shown
from patchctl.workflows.report.model import Block, Excerpt, Finding, Row
from patchctl.workflows.report.stack import Layer

_AROUND = 4
_CONTEXT = 3
MOST_REGIONS = 12
MOST_ROWS = 120
_OPEN = re.compile(rb"<{7,}(?: |\r?\n|$)")


@dataclass(frozen=True)
class Places:
    """Where a patch's files are looked at: under the patch on the old release (``layer``) and on the new one
    (``now``); ``then_label`` and ``now_label`` name both."""

    report: PatchReport
    layer: Layer
    now: Mapping[str, FileState | None]
    then_label: str
    now_label: str

    def finding(self, note: Note) -> Finding:
        """``note`` with the lines around its place on both sides, as far as they are known."""
        plain = Finding(note.kind, note.text, note.file, note.line)
        if note.file is None or note.line is None:
            return plain
        now = self._excerpt(self.now_label, note.file, self.now.get(note.file), note.line)
        return replace(plain, now=now, then=self._then(note.file, note.line) if now else None)

    def _then(self, file: str, line: int) -> Excerpt | None:
        for record in self.report.files:
            if file not in (record.onto, record.path):
                continue
            at = self._line_then(record.path, record.hunks, line)
            if at is not None:
                return self._excerpt(self.then_label, record.path, self.layer.after.get(record.path), at)
        return None

    def _line_then(self, path: str, records: Sequence[HunkRecord], line: int) -> int | None:
        """The line of the old release's patched file that corresponds to ``line`` of the new one's."""
        sections = self.layer.patch.files if self.layer.patch else ()
        hunks = [hunk for section in sections if section.path == path for hunk in section.hunks]
        best: int | None = None
        if len(hunks) == len(records):
            for record, hunk in zip(records, hunks, strict=True):
                if record.new_start is not None and record.new_start <= line + _CONTEXT:
                    best = hunk.new_start + min(max(line - record.new_start, 0), max(hunk.new_count - 1, 0))
        return best

    def _excerpt(self, label: str, file: str, state: FileState | None, line: int) -> Excerpt | None:
        if state is None:
            return None
        lines = split(state.data)
        if not 0 < line <= len(lines):
            return None
        added = self._added()
        start, end = max(line - 1 - _AROUND, 0), min(line + _AROUND, len(lines))
        rows = (Row("+" if lines[k].strip() in added else " ", shown(lines[k]), None, k + 1) for k in range(start, end))
        return Excerpt(label, file, tuple(rows))

    def _added(self) -> frozenset[bytes]:
        sections = self.layer.patch.files if self.layer.patch else ()
        signed = (line for section in sections for hunk in section.hunks for line in hunk.lines)
        return frozenset(line.data.strip() for line in signed if line.op.value == "+" and line.data.strip())


def of_problem(problem: Problem) -> Finding:
    return Finding(problem.kind, problem.message, problem.file, None, problem.hunk, problem.next)


def with_accepted(findings: Iterable[Finding], accepted: Iterable[Review]) -> Iterator[Finding]:
    """``findings``, those that a person accepted with who and why; then what was accepted and is not found any more."""
    left = list(accepted)
    for finding in findings:
        match = next((review for review in left if _same(review, finding)), None)
        if match is None:
            yield finding
            continue
        left.remove(match)
        yield replace(finding, accepted=True, by=match.by, reason=match.reason, date=match.date)
    for review in left:
        text, file = review.text, review.file or None
        yield Finding(
            review.kind, text, file, accepted=True, by=review.by, reason=review.reason, date=review.date
        )  # fmt: skip


def _same(review: Review, finding: Finding) -> bool:
    return review.kind == finding.kind and (review.file or None) in (None, finding.file)


def conflicts(proposals: Mapping[str, FileState | None]) -> tuple[Block, ...]:
    """The regions with conflict markers of the files that are proposed."""
    out: list[Block] = []
    for path, state in proposals.items():
        lines = split(state.data) if state is not None else []
        for start, end in _regions(lines):
            first, last = max(start - _CONTEXT, 0), min(end + _CONTEXT, len(lines))
            rows = tuple(Row(" ", shown(lines[k]), None, k + 1) for k in range(first, last))
            out.append(Block(f"{path}:{start + 1}", rows[:MOST_ROWS], max(len(rows) - MOST_ROWS, 0)))
    kept = out[:MOST_REGIONS]
    if len(out) > len(kept):
        kept.append(Block(f"{len(out) - len(kept)} more regions", ()))
    return tuple(kept)


def _regions(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Where marker blocks begin and end (indices, end excluded)."""
    at = 0
    while at < len(lines):
        if _OPEN.match(lines[at]):
            size = len(lines[at]) - len(lines[at].lstrip(b"<"))
            close = re.compile(rb">{%d}(?: |\r?\n|$)" % size)
            end = next((k for k in range(at + 1, len(lines)) if close.match(lines[k])), None)
            if end is not None:
                yield at, end + 1
                at = end
        at += 1
