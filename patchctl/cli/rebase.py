"""``patchctl rebase``"""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from patchctl.engine.outcome import FileRecord
    from patchctl.workflows.rebase.plan import Step
    from patchctl.workflows.rebase.work import RebaseReport

_STYLES = {
    "conflict": "bold red",
    "superseded": "bold red",
    "refused": "bold red",
    "waiting": "yellow",
    "upstreamed": "cyan",
    "dropped": "cyan",
    "partial": "yellow",
    "replayed": "yellow",
}
_ON_EVIDENCE = ("upstreamed", "dropped", "resolved", "kept")
_MOST = 2
_STATE = ".patchctl"
_VERBS = ("continue", "skip", "drop", "keep", "accept", "abort")
_LONGEST = 110


@click.command()
@click.option("--to", "goal", metavar="TAG|latest", help="The release to move the series to.")
@click.option("--from", "start", metavar="TAG", help="The target whose patches are moved (default: series.yaml's).")
@click.option("--into-existing", is_flag=True, help="Add what a target that is there already does not list.")
@click.option("--dry-run", is_flag=True, help="Say what would become of every patch, and write nothing.")
@click.option(
    "--rules",
    type=click.Choice(["transport", "all"]),
    help="Accept only what moves by arithmetic, or also what a merge rule decides (the default).",
)
@click.option("--resolver", metavar="CMD", help="Run CMD once per conflict; it gets JSON, and edits the files.")
@click.option("--continue", "verb_continue", is_flag=True, help="Take the conflicts that were resolved, and go on.")
@click.option("--skip", "verb_skip", is_flag=True, help="Leave the first patch that needs a decision behind.")
@click.option("--drop", "verb_drop", metavar="ID", help="Do not carry this patch any more; needs --reason.")
@click.option("--keep", "verb_keep", metavar="ID", help="Carry this patch with its own version of what it changes.")
@click.option("--accept", "verb_accept", metavar="ID", help="Overrule what was found in this patch; needs --reason.")
@click.option("--reason", metavar="TEXT", help="Why, for --drop and --accept; it is recorded.")
@click.option("--abort", "verb_abort", is_flag=True, help="End the rebase; everything is as it was before it.")
@reports("rebase")
def command(
    app: App,
    /,
    goal: str | None,
    start: str | None,
    into_existing: bool,
    dry_run: bool,
    rules: str | None,
    resolver: str | None,
    reason: str | None,
    **verbs: Any,
) -> Result:
    """Move the series to another release of its upstream.

    Every patch is tried; a conflict in one does not hide the others. Until the last decision nothing but .patchctl/
    changes; then the new patch files, the new target, the lock and a report are written at once. Exit code 3: a
    person must decide, 5: refused.
    """
    chosen = [verb for verb in _VERBS if verbs[f"verb_{verb}"] not in (None, False)]
    begins = {"--from": start, "--into-existing": into_existing, "--dry-run": dry_run, "--rules": rules}
    begins |= {"--resolver": resolver}
    _check(goal, chosen, [name for name, value in begins.items() if value not in (None, False)], reason)
    if resolver is not None and not resolver.strip():
        raise InvalidInput(Problem("usage", "--resolver needs a command.", next="patchctl rebase --help"))
    from patchctl.series.finding import find
    from patchctl.workflows.rebase import run

    root = find(app.cwd)
    if chosen == ["abort"]:
        state = run.abort(root)
        moved = {"from": state.start if state else None, "to": state.goal if state else None}
        return Result(
            {**moved, "aborted": True, "patches": [], "decisions_needed": [], "written": []},
            lambda printer: printer.line("The rebase is ended; everything is as it was before it.", "green"),
        )
    with app.progress() as progress:
        if not chosen:
            assert goal is not None, "checked above"
            request = run.Request(goal, start, into_existing, dry_run, rules or "all", resolver)
            report = run.begin(root, request, progress)
        else:
            value = verbs[f"verb_{chosen[0]}"]
            report = _verb(chosen[0], value, reason or "")(root, progress)
    problems = tuple(_from_here(problem, root, app.cwd) for problem in report.problems)
    return Result(_document(report), lambda printer: _text(printer, report, app.verbose), problems, report.exit_code)


def _from_here(problem: Problem, root: Path, cwd: Path) -> Problem:
    """``problem`` with a next step that works where the user stands."""
    below = os.path.relpath(root, cwd)
    if below == os.curdir or problem.next is None:
        return problem
    return replace(problem, next=problem.next.replace(f"{_STATE}/", f"{shlex.quote(below)}/{_STATE}/"))


def _verb(name: str, value: Any, reason: str) -> Any:
    from patchctl.workflows.rebase import run

    return {
        "continue": run.proceed,
        "skip": run.skip,
        "drop": lambda root, progress: run.drop(root, value, reason, progress),
        "keep": lambda root, progress: run.keep(root, value, progress),
        "accept": lambda root, progress: run.accept(root, value, reason, progress),
    }[name]


def _check(goal: str | None, verbs: list[str], begins: list[str], reason: str | None) -> None:
    """Raise InvalidInput for options that do not go together."""
    why = None
    if len(verbs) > 1:
        why = f"--{verbs[0]} and --{verbs[1]} are two commands; give one."
    elif verbs and (goal is not None or begins):
        option = "--to" if goal is not None else begins[0]
        why = f"{option} begins a rebase, --{verbs[0]} is about one that is under way; give one."
    elif not verbs and goal is None:
        why = "Name the release to move to (--to TAG, or --to latest), or what to do with a rebase under way."
    elif reason is not None and not set(verbs) & {"drop", "accept"}:
        why = "--reason belongs to --drop and --accept."
    elif set(verbs) & {"drop", "accept"} and not (reason or "").strip():
        why = f"--{verbs[0]} needs a --reason: it is recorded, and read by whoever asks later."
    if why is not None:
        raise InvalidInput(Problem("usage", why, next="patchctl rebase --help"))


# -- JSON


def _document(report: RebaseReport) -> dict[str, Any]:
    return {
        "from": report.start,
        "to": report.goal,
        "dry_run": report.dry_run,
        "done": report.done,
        "patches": [_patch(step) for step in report.steps],
        "decisions_needed": list(report.decisions_needed),
        "written": list(report.written),
        "notes": list(report.notes),
    }


def _patch(step: Step) -> dict[str, Any]:
    found = step.report
    return {
        "id": step.id,
        "outcome": step.outcome,
        "existing": step.existing,
        "files": [asdict(file) for file in found.files],
        "review": [asdict(note) for note in found.review],
        "evidence": [asdict(note) for note in found.evidence],
        "problems": [asdict(problem) for problem in step.problems],
        "conflict": _folder(step),
    }


def _folder(step: Step) -> str | None:
    from patchctl.workflows.rebase.conflicts import folder

    return folder(step.id) if step.outcome in ("conflict", "superseded") else None


# -- text


def _text(printer: Printer, report: RebaseReport, verbose: bool) -> None:
    for note in report.notes:
        printer.line(note)
    if not report.steps:
        if report.start != report.goal:
            printer.line(f"{report.start} carries no patches; {report.goal} carries none either.", "green")
        _wrote(printer, report)
        return
    rows = [
        ((step.outcome, _STYLES.get(step.outcome, "green")), step.id, "\n".join(_told(step, verbose)))
        for step in report.steps
    ]
    title = f"{report.start} → {report.goal}: {_counted(report)}"
    printer.table(("outcome", "patch", "what happened"), rows, title)
    if report.decisions_needed:
        _decisions(printer, report)
    _wrote(printer, report)


def _counted(report: RebaseReport) -> str:
    counts: dict[str, int] = {}
    for step in report.steps:
        counts[step.outcome] = counts.get(step.outcome, 0) + 1
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def _told(step: Step, verbose: bool) -> list[str]:
    """What a person wants to know of a patch: why it is stuck, where it went, or on what evidence it is gone."""
    most = None if verbose else _MOST
    if step.stuck:
        return [_cut(_placed(problem), verbose) for problem in step.problems[:most]] or ["-"]
    lines = [_existing(step)] if step.existing else []
    if step.outcome in _ON_EVIDENCE and not step.existing:
        told = dict.fromkeys(note.text for note in step.report.evidence)
        lines += [_cut(text, verbose) for text in list(told)[:most]]
    if step.outcome not in _ON_EVIDENCE:
        lines += [line for file in step.report.files for line in _moves(file, verbose)]
    count = len(step.report.review)
    lines += [f"{count} {'thing' if count == 1 else 'things'} to look at, see below"] if count else []
    return lines or ["as it was"]


def _existing(step: Step) -> str:
    if step.existing == "equal":
        return "the target has it, with the same change"
    return "the target has its own version of it, which stays"


def _placed(problem: Problem) -> str:
    where = (problem.file or "").rpartition("/")[2]
    where += f", hunk {problem.hunk}" if problem.hunk is not None else ""
    return f"{where}: {problem.message}" if where and where not in problem.message else problem.message


def _moves(file: FileRecord, verbose: bool) -> list[str]:
    """A line for a file that went elsewhere, and one for how its hunks moved."""
    lines = []
    if file.onto is not None and file.onto != file.path:
        lines = [f"{file.path.rpartition('/')[2]} is upstream's {file.onto} now"]
    methods = dict.fromkeys(hunk.method for hunk in file.hunks if hunk.method != "exact")
    if methods and (verbose or set(methods) - {"offset", "transport"}):
        name = (file.onto or file.path).rpartition("/")[2]
        lines += [f"{name}: {', '.join(methods)}"]
    elif methods:
        moved = sum(hunk.method != "exact" for hunk in file.hunks)
        lines += [f"{(file.onto or file.path).rpartition('/')[2]}: {moved} of {len(file.hunks)} hunks moved"]
    return lines


def _cut(text: str, verbose: bool) -> str:
    return text if verbose or len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _decisions(printer: Printer, report: RebaseReport) -> None:
    needed = len(report.decisions_needed)
    word = "patch needs" if needed == 1 else "patches need"
    printer.line(f"{needed} {word} a decision. Nothing but .patchctl/ has changed.", "bold")
    if report.dry_run:
        return
    for step in report.steps:
        folder = _folder(step)
        if folder is not None:
            printer.line(f"  {step.id}: edit the files in {folder}/ (or use git there), then")
            printer.line("      patchctl rebase --continue")
            others = [f"--accept {step.id} --reason WHY"] if step.guarded else [f"--keep {step.id}"]
            printer.line(f"      or {', or '.join([*others, f'--drop {step.id} --reason WHY'])}")
        elif step.outcome == "refused":
            printer.line(f"  {step.id}: patchctl rebase --drop {step.id} --reason WHY")
    printer.line("  To go back to where you were: patchctl rebase --abort")


def _wrote(printer: Printer, report: RebaseReport) -> None:
    if report.dry_run:
        printer.line("A dry run: nothing was written.")
        return
    if not report.done:
        return
    if not report.written:
        printer.line("Nothing was to be written.", "green")
        return
    patches = sum(path.endswith(".patch") for path in report.written)
    others = [path for path in report.written if not path.endswith((".patch", ".html", ".json"))]
    files = [f"{patches} patch {'file' if patches == 1 else 'files'}"] if patches else []
    printer.line(f"Wrote {', '.join([*files, *others])}.", "green")
    printer.line(f"series.yaml's default is as it was. Next: patchctl apply --target {report.goal}")
