"""``lint``: hygiene and safety of the series and its patches, one rule per function."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from patchctl.engine import reader
from patchctl.errors import PatchctlError, Refused
from patchctl.series import lock as locking
from patchctl.series import patchfile
from patchctl.series.files import replace_file
from patchctl.series.project import Project
from patchctl.workflows.lint import entries, exact, files, heads, safety, text
from patchctl.workflows.lint.findings import Carried, Context, Finding, Rule, Severity

RULES = (
    Rule("missing-file", "A patch that series.yaml lists has no readable file.", files.missing, firm=True),
    Rule("unlisted-file", "A patch file lies below patches/ and no target lists it.", files.unlisted, firm=True),
    Rule("duplicate", "Two patches of a target hold the same change.", files.duplicate),
    Rule("unused-entry", "series.yaml describes a patch that no target carries.", entries.unused),
    Rule("expired", "A patch is past the day it had to be looked at again.", entries.expired),
    Rule("drop-when", "A target carries a patch that was to be dropped at its version.", entries.drop_when),
    Rule("header", "A patch's head lacks subject, author, date or reason.", heads.header),
    Rule("upstream-status", "A patch's head and series.yaml differ on upstream.", heads.upstream_status),
    Rule("portable-head", "git am or quilt would misread a patch's head.", heads.portable_head),
    Rule("whitespace", "A patch adds damaged white space.", text.whitespace),
    Rule("hidden-text", "A patch adds characters that hide what is there.", text.hidden),
    Rule("unsafe", "A patch touches what patchctl refuses to write.", safety.unsafe, firm=True),
    Rule("unreadable", "A patch file can't be understood or taken back.", safety.unreadable, firm=True),
    Rule("not-in-wheel", "An installed distribution can't take a patch.", safety.wheel),
    Rule("lock", "series.lock does not describe the series as it is.", exact.stale_lock, firm=True),
    Rule("inexact", "A patch's text is not exact for its target.", exact.exact, firm=True),
)


@dataclass(frozen=True, slots=True)
class LintReport:
    """``findings`` stand in the order of the rules; ``allowed`` counts those that patches set aside."""

    targets: tuple[str, ...]
    patches: int
    findings: tuple[Finding, ...]
    allowed: int
    fixed: tuple[str, ...] = ()

    @property
    def grave(self) -> tuple[Finding, ...]:
        """The findings that make lint fail: all but notes."""
        return tuple(finding for finding in self.findings if finding.severity is not Severity.NOTE)

    @property
    def failed(self) -> bool:
        return bool(self.grave)


def lint(project: Project, today: datetime.date, *, fix: bool = False) -> LintReport:
    """Check the whole project; with ``fix``, mend first what can be mended without a decision.

    A project is best loaded without its lock: a broken one is a finding here. Raises OSError when ``fix`` can't
    write.
    """
    context = _context(project, today)
    fixed = tuple(_fix(context)) if fix else ()
    if fixed:
        context = _context(project, today)
    findings: list[Finding] = []
    allowed = 0
    for rule in RULES:
        for finding in rule.check(context):
            if not rule.firm and _is_allowed(context, finding):
                allowed += 1
            else:
                findings.append(finding)
    return LintReport(tuple(project.series.targets), len(context.carried), tuple(findings), allowed, fixed)


def _context(project: Project, today: datetime.date) -> Context:
    carried = tuple(
        _read(project, tag, patch_id) for tag, target in project.series.targets.items() for patch_id in target.patches
    )
    try:
        return Context(project, today, carried, locking.read(project.lock_path), None)
    except Refused as fault:
        return Context(project, today, carried, None, fault)


def _read(project: Project, tag: str, patch_id: str) -> Carried:
    path = project.patch_path(tag, patch_id).relative_to(project.root).as_posix()
    try:
        data = project.patch_bytes(tag, patch_id)
    except Refused as refused:
        return Carried(tag, patch_id, path, None, None, (), refused)
    head = None
    try:
        head = patchfile.parse(data, patch_id)
        return Carried(tag, patch_id, path, data, head, tuple(reader.read(data, patch_id, strip=1)), None)
    except Refused as refused:
        return Carried(tag, patch_id, path, data, head, (), refused)


def _is_allowed(context: Context, finding: Finding) -> bool:
    if finding.target is None or finding.patch is None:
        return False
    return any(finding.rule in carried.allowed for carried in context.of(finding.target) if carried.id == finding.patch)


def _fix(context: Context) -> Iterable[str]:
    for carried in context.carried:
        data = heads.mended(carried, context)
        if data is None or not _same_change(carried, data):
            continue
        if replace_file(context.project.patch_path(carried.target, carried.id), data):
            yield carried.path


def _same_change(carried: Carried, data: bytes) -> bool:
    """Whether ``data`` changes the same files in the same way as the patch does now."""
    try:
        again = reader.read(data, carried.id, strip=1)
    except PatchctlError:
        return False
    return len(again) == 1 and _sections(again[0].files) == _sections(carried.patches[0].files)


def _sections(sections: Iterable[object]) -> list[object]:
    from dataclasses import replace

    return [replace(section, line=0) for section in sections]  # type: ignore[type-var]
