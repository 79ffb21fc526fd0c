"""Carrying patches from the tree that they were made for to another one.

:func:`port` takes patches in order; each sees what the ones before it left. Nothing is written: the reports hold
what the files should be. A conflict in one patch never hides the others: they are tried on what is certain, and
those that touch a file in conflict are ``waiting``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from patchctl.engine import links, prefix
from patchctl.engine.following import Following, Task
from patchctl.engine.lines import split
from patchctl.engine.markers import Labels
from patchctl.engine.model import LINK, Change, FilePatch, FileState, Op, Patch
from patchctl.engine.options import Decision as Decision
from patchctl.engine.options import Names as Names
from patchctl.engine.options import Options as Options
from patchctl.engine.outcome import FileRecord, Note, PatchReport
from patchctl.engine.overlay import Entry, Overlay, Tree
from patchctl.engine.patchrun import PatchRun
from patchctl.engine.verdict import Asked, Result, Sides, in_doubt, outcome_of, questioned
from patchctl.errors import Problem, Refused


def port(
    patches: Iterable[Patch],
    onto: Tree,
    base: Tree | None = None,
    rules: str = "all",
    layout: Callable[[], Mapping[str, str]] = dict,
    *,
    options: Options = Options(),  # noqa: B008 - a frozen value
) -> list[PatchReport]:
    """Carry ``patches``, as read (prefixes included), onto ``onto``.

    ``base`` is the tree that the first of them was made for; ``rules`` is "all", or "transport" to accept only
    what moves by arithmetic where a base is given; ``layout`` gives prefixes of repository names
    and what they are in the trees (see :mod:`patchctl.engine.prefix`).

    A patch that ``options`` calls decided is not tried: the base goes on with it, and the files of its decision are
    laid over ``onto``. Nothing waits for it; what builds on a patch that was left out is tried without it.
    """
    ahead = Overlay(onto)
    behind = Overlay(base) if base is not None else None
    following = Following(base, onto, rules) if base is not None else None
    pending: set[str] = set()
    reports = []
    for patch in patches:
        try:
            settled = _settled(patch, ahead, behind, layout)
        except Refused as error:
            reports.append(PatchReport(patch.name, "refused", problems=error.problems))
            continue
        carrier = _Carrier(settled, ahead, behind, following, rules, options)
        decision = options.decided.get(patch.name)
        report = carrier.decided(decision) if decision else carrier.waiting(pending) or carrier.report()
        if report.outcome in ("conflict", "superseded", "waiting"):
            pending |= carrier.unsettled(report)
        ahead = Overlay(onto, {**ahead.changes, **report.changes})
        behind = carrier.behind_after
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


class _Carrier:
    """One patch on its way: first on its base, where every section must fit as it stands, then on the new tree."""

    def __init__(
        self,
        patch: Patch,
        ahead: Overlay,
        behind: Overlay | None,
        following: Following | None,
        rules: str,
        options: Options,
    ) -> None:
        self.patch = patch
        self.ahead = ahead
        self.behind = behind
        self.following = following
        self.rules = rules
        self.options = options
        self.accepted = options.accepted.get(patch.name, frozenset())
        subject = f": {patch.mail.subject}" if patch.mail.subject else ""
        expected = options.labels.base if behind is not None else f"what {patch.name} expects"
        self.labels = Labels(options.labels.onto, expected, f"{patch.name}{subject}")
        self.behind_after = behind
        self.sides: list[Sides | None] = [None] * len(patch.files)
        self.misfits: list[Result | None] = [None] * len(patch.files)
        if behind is not None:
            self._advance_base(behind)
        self.done: list[tuple[Task, Result]] = []

    def decided(self, decision: Decision) -> PatchReport:
        """The report of a patch that a person has settled already."""
        changes = {path: Entry(state) for path, state in decision.changes.items()}
        files = tuple(FileRecord(section.path, section.path, decision.outcome) for section in self.patch.files)
        return PatchReport(self.patch.name, decision.outcome, files, changes=changes)

    def waiting(self, pending: set[str]) -> PatchReport | None:
        """The report of a patch that touches files which are in conflict; None if it touches none."""
        mine = {name for section in self.patch.files for name in (section.old_path, section.new_path) if name}
        held = sorted(mine & pending)
        if not held:
            return None
        text = f"It builds on {', '.join(held)}, where an earlier patch is in conflict."
        problem = Problem("waiting", text, self.patch.name, held[0])
        return PatchReport(self.patch.name, "waiting", problems=(problem,))

    def unsettled(self, report: PatchReport) -> set[str]:
        """The files, as the patch names them, of which it is not known how they will be after it."""
        landed = {
            name
            for section in self.patch.files
            for name in section.paths
            if name in report.changes
            or (
                all(task.section.path in report.changes for task, _ in self.done if task.given is section)
                and any(task.given is section for task, _ in self.done)
            )
        }
        return {name for section in self.patch.files for name in section.paths} - landed

    # The base

    def _advance_base(self, behind: Overlay) -> None:
        run = PatchRun(self.patch.files, behind)
        for at, section in enumerate(self.patch.files):
            try:
                before = run.source(section)
                result = run.section(section, Asked(section, self.labels, trusted=True))
            except Refused:
                continue  # the tree that counts will say it too, or has no such link
            if result.problems:
                self.misfits[at] = self._misfit(section, result)
            if result.entry is None or result.problems or result.present:
                continue
            run.put(section, result)
            self.sides[at] = _sides(section, before, result)
        self.behind_after = run.after

    @staticmethod
    def _misfit(section: FilePatch, result: Result) -> Result | None:
        """The conflict of a section that does not fit the base."""
        if section.change is Change.CREATE:
            return None
        why = result.problems[0]
        text = f"The patch does not fit the base that was given for it: {why.message}"
        return Result("conflict", problems=[Problem("base", text, file=section.path, hunk=why.hunk)])

    # The new tree

    def report(self) -> PatchReport:
        """Do all sections and sum up."""
        tasks = [(task, misfit) for each, misfit in self._tasks() for task in each]
        run = PatchRun([task.section for task, _ in tasks], self.ahead)
        refused: list[Problem] = []
        proposals: dict[str, Entry] = {}
        for task, misfit in tasks:
            try:
                made = [(task, misfit)] if misfit else self._do(task, run)
            except Refused as error:
                refused += error.problems
                continue
            self.done += made
            for done, result in made:
                if result.proposal is not None:
                    proposals[done.section.path] = result.proposal
        problems = [*refused, *(p for _, result in self.done for p in result.problems)]
        if not refused:
            try:
                problems += run.blocked()
                links.check([path for path, entry in run.changed.items() if _is_link(entry)], run.after.get)
                problems += self._names_gone(run, proposals)
            except Refused as error:
                refused += error.problems
                problems += error.problems
        return self._sum_up(bool(refused), problems, run.changed, proposals)

    def _tasks(self) -> Iterable[tuple[list[Task], Result | None]]:
        for section, sides, misfit in zip(self.patch.files, self.sides, self.misfits, strict=True):
            if self.following is None or misfit is not None:
                yield [Task(section, section, sides)], misfit
            else:
                yield self.following.tasks(section, sides, self.ahead, self.accepted), None

    def _do(self, task: Task, run: PatchRun) -> list[tuple[Task, Result]]:
        result = run.section(task.section, self._asked(task))
        if task.doubt is not None:
            result = _doubted(task, result, self.labels)
        elsewhere = self._elsewhere(task, result, run)
        if elsewhere:
            return elsewhere
        result.review[:0] = task.review
        result.evidence[:0] = task.evidence
        if result.entry is not None:
            run.put(task.section, result)
        return [(task, result)]

    def _elsewhere(self, task: Task, result: Result, run: PatchRun) -> list[tuple[Task, Result]]:
        """What comes of a section in conflict if its hunks go where their code went; nothing unless all of it fits."""
        lost = sorted({problem.hunk for problem in result.problems if problem.kind == "context" and problem.hunk})
        entry = run.after.entry(task.section.old_path) if task.section.old_path else None
        if self.following is None or not lost or entry is None or entry.state is None:
            return []
        done = []
        for part in self.following.departed(task, entry.state, lost):
            made = run.section(part.section, self._asked(part))
            if made.problems or made.entry is None:
                return []
            made.review[:0] = part.review
            made.evidence[:0] = part.evidence
            done.append((part, made))
        for part, made in done:
            run.put(part.section, made)
        return done

    def _asked(self, task: Task) -> Asked:
        sides = task.sides
        elsewhere = None
        if self.following is not None and sides is not None:
            touched = tuple(section.path for section in self.patch.files)
            elsewhere = self.following.gained(task.section.path, touched)
        return Asked(
            replace(task.section, crlf=sides is None and task.section.crlf),
            self.labels,
            self.rules,
            sides=sides,
            base_given=self.behind is not None,
            options=self.options,
            accepted=self.accepted,
            elsewhere=elsewhere,
        )

    def _names_gone(self, run: PatchRun, proposals: dict[str, Entry]) -> list[Problem]:
        """Names that the patch imports from other files of the tree, which have them no longer; what imports them
        becomes a proposal."""
        if self.behind_after is None or "name-gone" in self.accepted:
            return []
        problems = []
        for task, result in self.done:
            path, state = task.section.path, result.entry.state if result.entry is not None else None
            if state is None or result.present or state.mode == LINK or not path.endswith((".py", ".pyi")):
                continue
            added = [line.data for hunk in task.section.hunks for line in hunk.lines if line.op is Op.ADD]
            found = self._lost_imports(task, state, added, run)
            if found:
                before = self.ahead.entry(task.section.old_path).state if task.section.old_path else None
                proposals[path] = Entry(in_doubt(before.data if before else b"", state, self.labels))
                result.method = "conflict"
                problems += found
        return problems

    def _lost_imports(self, task: Task, state: FileState, added: Sequence[bytes], run: PatchRun) -> list[Problem]:
        from patchctl.engine.guards import imports

        assert self.behind_after is not None
        sides, path = task.sides, task.section.path
        before = self.ahead.entry(task.section.old_path).state if task.section.old_path else None
        texts = (
            sides.before.data if sides else b"",
            sides.after.data if sides else state.data,
            before.data if before else b"",
            state.data,
        )
        there, here = imports.Modules(self.behind_after), imports.Modules(run.after)
        found = imports.gone(path, texts, added, there, here, task.given.old_path)
        return [Problem(item.kind, item.text, file=path) for item in found]

    def _sum_up(
        self, refused: bool, problems: list[Problem], changed: dict[str, Entry], proposals: dict[str, Entry]
    ) -> PatchReport:
        results = [result for _, result in self.done]
        review = [note for result in results for note in result.review]
        evidence = [note for result in results for note in result.evidence]
        followed = any(task.followed for task, _ in self.done)
        outcome = "refused" if refused else _outcome(results, problems, followed)
        if outcome == "partial":
            held = [task.section.path for task, result in self.done if result.present or result.partial]
            text = f"Part of the patch is in already ({', '.join(held)}); the rest was applied."
            review.insert(0, Note("partial", text, held[0] if held else None))
        if outcome == "upstreamed":
            evidence.insert(0, Note("already", f"{self.patch.name} is already in the tree; nothing is left to do."))
        clean = {} if refused else {name: e for name, e in changed.items() if name not in proposals}
        return PatchReport(
            self.patch.name,
            outcome,
            tuple(_file_record(task, result) for task, result in self.done),
            tuple(review),
            tuple(evidence),
            tuple(replace(problem, patch=problem.patch or self.patch.name) for problem in problems),
            clean,
            {} if refused else proposals,
        )


def _doubted(task: Task, result: Result, labels: Labels) -> Result:
    """``result`` as the conflict that the doubt of ``task`` makes of it."""
    assert task.doubt is not None
    proposal = result.proposal
    made = result.entry.state if result.entry is not None else None
    if proposal is None and made is not None and made.mode != LINK and b"\0" not in made.data:
        proposal = questioned((), (), split(made.data), labels, made.mode)
    return replace(result, method="conflict", entry=None, proposal=proposal, present=False, problems=[task.doubt])


def _is_link(entry: Entry) -> bool:
    return entry.state is not None and entry.state.mode == LINK


def _outcome(results: Sequence[Result], problems: Sequence[Problem], followed: bool) -> str:
    if problems:
        rival = any(problem.kind in ("defined-twice", "superseded") for problem in problems)
        return "superseded" if rival else "conflict"
    present = [result.present for result in results]
    if present and all(present):
        return "upstreamed"
    if any(present) or any(result.partial for result in results):
        return "partial"
    methods = {hunk.method for result in results for hunk in result.hunks} | {result.method for result in results}
    return "relocated" if followed else outcome_of(methods)


def _file_record(task: Task, result: Result) -> FileRecord:
    return FileRecord(task.given.path, task.section.path, result.method, result.hunks)


def _sides(section: FilePatch, before: Entry, result: Result) -> Sides | None:
    if before.state is None or result.entry is None:
        return None
    after = result.entry.state or FileState(b"")
    fits = len(result.starts) == len(section.hunks)
    return Sides(result.section or section, before.state, after, result.starts if fits and section.hunks else None)
