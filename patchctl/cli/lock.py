"""``patchctl lock``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.errors import Problem

if TYPE_CHECKING:
    from patchctl.workflows.lock import LockReport


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--check", is_flag=True, help="Only compare; exit 1 when series.lock is stale.")
@click.option("--source", default="auto", metavar="auto|git|pypi|PATH", help="Where the pristine tree comes from.")
@reports("lock")
def command(app: App, targets: tuple[str, ...], check: bool, source: str) -> Result:
    """Recompute series.lock from the patch files and the pristine release.

    Without TARGET: the default one, and those whose patch files, order or pins have changed.
    """
    from patchctl.series.project import load
    from patchctl.workflows.lock import lock

    project = load(app.cwd)
    if source not in ("auto", "git", "pypi"):
        source = str(app.path(source))
    with app.progress() as progress:
        report = lock(project, targets, source=source, check=check, progress=progress)
    stale = check and bool(report.differences)
    problems = report.differences if stale else _notes(report)
    return Result(
        _document(report, check), lambda printer: _text(printer, report, check), problems, exit_code=1 if stale else 0
    )


def _notes(report: LockReport) -> tuple[Problem, ...]:
    return tuple(
        Problem("other-source", f"{target.target} comes from {target.source}: {note}")
        for target in report.targets
        for note in target.notes
    )


def _document(report: LockReport, check: bool) -> dict[str, Any]:
    return {
        "check": check,
        "written": report.written,
        "targets": [
            {
                "target": target.target,
                "source": target.source,
                "commit": target.commit,
                "patches": target.patches,
                "current": not target.differences,
                "differences": [asdict(problem) for problem in target.differences],
            }
            for target in report.targets
        ],
    }


def _text(printer: Printer, report: LockReport, check: bool) -> None:
    for target in report.targets:
        where = f" ({target.patches} patches, on the release from {target.source})" if target.source else ""
        if not target.differences:
            printer.line(f"{target.target} is locked as it stands{where}.", "green")
            continue
        printer.line(f"{target.target} {'is stale' if check else 'was locked anew'}{where}:", "yellow")
        for problem in target.differences if not check else ():
            printer.line("  " + " ".join(filter(None, (problem.patch, problem.file, problem.message))))
