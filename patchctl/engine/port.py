"""Carrying patches from the tree that they were made for to another one.

:func:`port` takes patches in order; each sees what the ones before it left. Nothing is written: the reports hold
what the files should be. A conflict in one patch never hides the others: they are tried on what is certain, and
those that touch a file in conflict are ``waiting``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from patchctl.engine import fileport, links, prefix
from patchctl.engine.landing import Base
from patchctl.engine.lines import split
from patchctl.engine.markers import Labels
from patchctl.engine.model import LINK, Change, FilePatch, FileState, Patch
from patchctl.engine.outcome import FileRecord, Note, PatchReport
from patchctl.engine.overlay import Entry, Overlay, Tree
from patchctl.engine.place import Target
from patchctl.engine.verdict import Asked, Result, Sides, known
from patchctl.errors import Problem, Refused


def port(
    patches: Iterable[Patch],
    onto: Tree,
    base: Tree | None = None,
    rules: str = "all",
    layout: Callable[[], Mapping[str, str]] = dict,
) -> list[PatchReport]:
    """Carry ``patches``, as read (prefixes included), onto ``onto``.

    ``base`` is the tree that the first of them was made for; ``rules`` is "all", or "transport" to accept only
    what moves by arithmetic where a base is given; ``layout`` gives prefixes of repository names
    and what they are in the trees (see :mod:`patchctl.engine.prefix`).
    """
    ahead = Overlay(onto)
    behind = Overlay(base) if base is not None else None
    pending: set[str] = set()
    reports = []
    for patch in patches:
        try:
            settled = _settled(patch, ahead, behind, layout)
        except Refused as error:
            reports.append(PatchReport(patch.name, "refused", problems=error.problems))
            continue
        run = _Run(settled, ahead, behind, rules)
        report = run.waiting(pending) or run.report()
        if report.outcome in ("conflict", "superseded", "waiting"):
            pending |= {name for section in settled.files for name in section.paths} - set(report.changes)
        ahead = Overlay(onto, {**ahead.changes, **report.changes})
        behind = run.behind_after
        reports.append(report)
    return reports


def _settled(patch: Patch, ahead: Overlay, behind: Overlay | None, layout: Callable[[], Mapping[str, str]]) -> Patch:
    trees = [ahead] if behind is None else [ahead, behind]

    def exists(name: str) -> bool:
        return any(_stands(tree, name) for tree in trees)

    def folder(name: str) -> bool:
        return any(tree.tree.below(name) for tree in trees)

    return prefix.settle(patch, exists, folder, layout)


def _stands(tree: Overlay, name: str) -> bool:
    try:
        return tree.get(name) is not None
    except Refused:
        return True  # something is there; what must not be touched is refused where it would be


class _Run:
    """One patch on its way."""

    def __init__(self, patch: Patch, ahead: Overlay, behind: Overlay | None, rules: str) -> None:
        self.patch = patch
        self.before = ahead
        self.after = ahead.on_top()
        self.behind = behind
        self.behind_after = behind.on_top() if behind is not None else None
        self.rules = rules
        subject = f": {patch.mail.subject}" if patch.mail.subject else ""
        known = "base" if behind is not None else f"what {patch.name} expects"
        self.labels = Labels("onto", known, f"{patch.name}{subject}")
        self.makers: dict[str, list[FilePatch]] = {}
        for section in patch.files:
            if section.new_path is not None:
                self.makers.setdefault(section.new_path, []).append(section)
        self.leaving = {section.old_path for section in patch.files if section.change in (Change.RENAME, Change.DELETE)}

    def waiting(self, pending: set[str]) -> PatchReport | None:
        """The report of a patch that touches files which are in conflict; None if it touches none."""
        mine = {name for section in self.patch.files for name in (section.old_path, section.new_path) if name}
        held = sorted(mine & pending)
        if not held:
            return None
        if self.behind_after is not None:
            self._advance_base()
        text = f"It builds on {', '.join(held)}, where an earlier patch is in conflict."
        problem = Problem("waiting", text, self.patch.name, held[0])
        return PatchReport(self.patch.name, "waiting", problems=(problem,))

    def report(self) -> PatchReport:
        """Do all sections and sum up."""
        results: list[tuple[FilePatch, Result]] = []
        refused: list[Problem] = []
        sides = self._advance_base() if self.behind_after is not None else [None] * len(self.patch.files)
        changed: dict[str, Entry] = {}
        proposals: dict[str, Entry] = {}
        for section, side in zip(self.patch.files, sides, strict=True):
            try:
                result = self._section(section, side)
            except Refused as error:
                refused += error.problems
                continue
            results.append((section, result))
            if result.proposal is not None:
                proposals[section.path] = result.proposal
            if result.entry is not None:
                self._put(section, result, changed)
        problems = [*refused, *(p for _, result in results for p in result.problems)]
        if not refused:
            try:
                problems += self._blocked(changed)
                links.check([path for path, entry in changed.items() if _is_link(entry)], self.after.get)
            except Refused as error:
                refused += error.problems
                problems += error.problems
        return self._sum_up(results, bool(refused), problems, changed, proposals)

    def _sum_up(
        self,
        results: Sequence[tuple[FilePatch, Result]],
        refused: bool,
        problems: list[Problem],
        changed: dict[str, Entry],
        proposals: dict[str, Entry],
    ) -> PatchReport:
        review = [note for _, result in results for note in result.review]
        evidence = [note for _, result in results for note in result.evidence]
        outcome = "refused" if refused else _outcome([result for _, result in results], problems)
        if outcome == "partial":
            held = [section.path for section, result in results if result.present or result.partial]
            text = f"Part of the patch is in already ({', '.join(held)}); the rest was applied."
            review.insert(0, Note("partial", text, held[0] if held else None))
        if outcome == "upstreamed":
            evidence.insert(0, Note("already", f"{self.patch.name} is already in the tree; nothing is left to do."))
        clean = {} if refused else {name: e for name, e in changed.items() if name not in proposals}
        return PatchReport(
            self.patch.name,
            outcome,
            tuple(_file_record(section, result) for section, result in results),
            tuple(review),
            tuple(evidence),
            tuple(replace(problem, patch=problem.patch or self.patch.name) for problem in problems),
            clean,
            {} if refused else proposals,
        )

    # The base: every section must fit there as it stands

    def _advance_base(self) -> list[Sides | None]:
        assert self.behind is not None and self.behind_after is not None
        run = _Run(self.patch, self.behind, None, "all")
        sides: list[Sides | None] = []
        changed: dict[str, Entry] = {}
        for section in self.patch.files:
            try:
                before = run.source(section)
                result = run.section(section, Asked(section, self.labels, trusted=True))
            except Refused:
                sides.append(None)  # the tree that counts will say it too, or has no such link
                continue
            if result.entry is None or result.problems or result.present:
                sides.append(None)
                continue
            run._put(section, result, changed)
            sides.append(_sides(section, before, result))
        self.behind_after = run.after
        return sides

    # Sections

    def _section(self, section: FilePatch, side: Sides | None) -> Result:
        given = self.behind is not None
        if given and side is None and section.change is not Change.CREATE:
            misfit = self._base_misfit(section)
            if misfit is not None:
                return misfit
        taken = side.section if side is not None else section
        return self.section(
            taken, Asked(replace(taken, crlf=side is None and taken.crlf), self.labels, self.rules, False, side, given)
        )

    def _base_misfit(self, section: FilePatch) -> Result | None:
        """The conflict of a section that does not fit the base; None if it is in there already or deletes nothing."""
        assert self.behind is not None
        run = _Run(self.patch, self.behind, None, "all")
        try:
            result = run.section(section, Asked(section, self.labels, trusted=True))
        except Refused:
            return None
        if not result.problems:
            return None
        why = result.problems[0]
        text = f"The patch does not fit the base that was given for it: {why.message}"
        return Result("conflict", problems=[Problem("base", text, file=section.path, hunk=why.hunk)])

    def section(self, section: FilePatch, asked: Asked) -> Result:
        """What ``section`` does to the tree as it is now."""
        path = section.path
        if section.change is Change.CREATE:
            existing = None if path in self.leaving else self.after.get(path)
            return fileport.create(asked, existing, path)
        entry = self.source(section)
        if section.change is Change.DELETE:
            return fileport.delete(asked, entry, path)
        if section.change is Change.MODIFY:
            return fileport.modify(asked, entry, path)
        return self._moved(section, asked, entry)

    def _moved(self, section: FilePatch, asked: Asked, entry: Entry) -> Result:
        path = section.path
        existing = None if path in self.leaving and path not in self.after.changes else self.after.get(path)
        if path in self.leaving and self.after.get(path) == self.before.get(path):
            existing = None
        if entry.state is None and existing is not None:
            done = fileport.moved_already(asked, existing, path)
            if done is not None:
                return done
            edited = fileport.modify(asked, Entry(existing, None, path), path)
            if section.change is Change.RENAME and not edited.problems:
                note = Note("moved", f"{section.old_path} is gone and {path} is there already.", path)
                return replace(edited, partial=True, evidence=[*edited.evidence, note])
        result = fileport.modify(asked, entry, path)
        if existing is not None and not _only_case(section) and entry.state is not None:
            return fileport.taken(asked, existing, result, path)
        return result

    def source(self, section: FilePatch) -> Entry:
        """The file that ``section`` starts from.

        A rename or copy starts from the file as it was before the patch, also where a section above it put
        something else in its place; but from the running result where sections above it edited that very file.
        """
        name = section.old_path
        if name is None:
            return Entry(None)
        if section.change in (Change.RENAME, Change.COPY):
            above = [other for other in self.makers.get(name, ()) if other.line < section.line]
            edited = section.change is Change.RENAME and all(o.change is Change.MODIFY for o in above)
            now = self.after.entry(name)
            if above and edited and known(section.old_blob, now.state or FileState(b"")).value != "other":
                return now
            return self.before.entry(name)
        now = self.after.entry(name)
        if now.state is None and name not in self.after.changes:
            return self.before.entry(name)  # a section above put a file where its folder is
        return now

    def _put(self, section: FilePatch, result: Result, changed: dict[str, Entry]) -> None:
        """Let the sections that follow see ``result``."""
        assert result.entry is not None
        old = section.old_path
        if section.change is Change.RENAME and old is not None and old != section.path and not result.present:
            put_there = any(other.change is not Change.MODIFY for other in self.makers.get(old, ()))
            if not put_there:
                self.after.put(old, Entry(None))
                changed[old] = Entry(None)
        if not result.present or section.path in changed:
            self.after.put(section.path, result.entry)
            changed[section.path] = result.entry

    def _blocked(self, changed: dict[str, Entry]) -> list[Problem]:
        """Files that can't be written since another file stands where a folder must be, or the other way round."""
        problems = []
        folders = self.after.folders()
        for name, entry in list(changed.items()):
            if entry.state is None:
                continue
            other = self.after.in_the_way(name, folders)
            if other is not None:
                del changed[name]
                text = f"{name} can't be written: {other} is in the way."
                problems.append(Problem("in-the-way", text, file=name))
        return problems


def _is_link(entry: Entry) -> bool:
    return entry.state is not None and entry.state.mode == LINK


def _outcome(results: Sequence[Result], problems: Sequence[Problem]) -> str:
    if problems:
        rival = any(problem.kind in ("defined-twice", "superseded") for problem in problems)
        return "superseded" if rival else "conflict"
    present = [result.present for result in results]
    if present and all(present):
        return "upstreamed"
    if any(present) or any(result.partial for result in results):
        return "partial"
    methods = {result.method for result in results}
    return "merged" if "transport" in methods else "offset" if "offset" in methods else "unchanged"


def _file_record(section: FilePatch, result: Result) -> FileRecord:
    return FileRecord(section.path, section.path, result.method, result.hunks)


def _sides(section: FilePatch, before: Entry, result: Result) -> Sides | None:
    if before.state is None or result.entry is None:
        return None
    after = result.entry.state or FileState(b"")
    fits = len(result.starts) == len(section.hunks)
    base = Base(Target(split(before.state.data)), result.starts) if fits and section.hunks else None
    return Sides(result.section or section, before.state, after, base)


def _only_case(section: FilePatch) -> bool:
    """A rename that changes nothing but case meets its own file on some disks."""
    old = section.old_path or ""
    return section.change is Change.RENAME and old != section.path and old.casefold() == section.path.casefold()
