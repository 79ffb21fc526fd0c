"""``patchctl apply``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.cli.places import blob, place_options, target, where

if TYPE_CHECKING:
    from patchctl.workflows.apply import ApplyReport

_STYLE = {"applied": "green", "already": "dim", "updated": "yellow", "removed": "yellow"}


@click.command()
@target
@place_options
@click.option("--check", is_flag=True, help="Say what would be done, write nothing.")
@click.option("--up-to", metavar="ID", help="Have the patches up to ID live, and no others.")
@click.option("--only", metavar="ID,…", help="Have these patches live, and no others.")
@click.option("--no-commit", is_flag=True, help="In a checkout: change the files, leave HEAD alone.")
@click.option("--source", default="auto", metavar="auto|git|pypi|PATH", help="Where a fresh checkout comes from.")
@reports("apply")
def command(app: App, /, target: str | None, check: bool, source: str, **options: Any) -> Result:
    """Apply the series to an upstream release, and prove the result.

    Without a place: to a fresh checkout of the release in build/, one commit per patch.
    """
    from patchctl.series.project import load
    from patchctl.workflows import advice
    from patchctl.workflows import apply as workflow
    from patchctl.workflows.places import locate

    selection = workflow.Selection(options["up_to"], _ids(options["only"]))
    project = load(app.cwd)
    place = where(app, options["into"], options["installed"], options["python"])
    if source not in ("auto", "git", "pypi"):
        source = str(app.path(source))
    with app.progress() as progress:
        found = locate(project, place, target, source, selection, check=check, progress=progress)
        # Asked first: another interpreter may take its time, or fail, and what was applied by then would be denied.
        listed = project.target(found.tag)[1].patches
        unmet = advice.unmet(project, listed, place.python) if place.installed else ()
        report = workflow.apply(
            project, found.tag, found.place, found.source, selection, check=check, commit=not options["no_commit"]
        )
    warnings = [*found.warnings, *advice.unlisted(project, found.tag)]
    standing = {file.path for patch in report.patches if patch.live for file in patch.files if file.after}
    warnings += advice.hidden(report.place, sorted(standing))
    warnings += (problem for problem in unmet if problem.patch in {patch.id for patch in report.patches if patch.live})
    return Result(_document(report), lambda printer: _text(printer, report), problems=tuple(warnings))


def _ids(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _document(report: ApplyReport) -> dict[str, Any]:
    return {
        "target": report.target,
        "source": report.source,
        "into": str(report.place.root),
        "kind": report.place.kind,
        "check": report.checked_only,
        "recovered": report.recovered,
        "lock_digest": report.lock_digest,
        "patches": [
            {
                "id": patch.id,
                "outcome": patch.outcome,
                "commit": patch.commit,
                "files": [
                    {"path": file.path, "before": blob(file.before), "after": blob(file.after)} for file in patch.files
                ],
            }
            for patch in report.patches
        ],
    }


def _text(printer: Printer, report: ApplyReport) -> None:
    if report.recovered:
        printer.line("An earlier run had been killed on the way; it was taken back first.", "yellow")
    rows = [
        (
            patch.id,
            (patch.outcome, _STYLE[patch.outcome]),
            str(len(patch.files)),
            (patch.commit or "")[:12],
        )
        for patch in report.patches
    ]
    printer.table(("patch", "outcome", "files", "commit"), rows)
    files = len({file.path for patch in report.patches for file in patch.files})
    where = f"{report.target} ({report.source}) in {report.place.root}"
    changing = sum(patch.outcome != "already" for patch in report.patches)
    if report.checked_only and changing:
        printer.line(f"{changing} of {len(report.patches)} patches would change, nothing was written: {where}.")
    elif report.changed:
        done = "Patched" if any(patch.live for patch in report.patches) else "Took the whole series out of"
        printer.line(f"{done} {where}.", "bold green")
        printer.line(f"Proof: {files} files read back, each has the blob id that series.lock records")
        printer.line(f"       (lock digest {report.lock_digest[:16]}, receipt written).")
    else:
        printer.line(f"Nothing to do: every patch is live in {where}.", "green")
        printer.line(f"Proof: {files} files read, each has the blob id that series.lock records.")
