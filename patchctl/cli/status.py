"""``patchctl status``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.cli.places import blob, place_options, target, where
from patchctl.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from patchctl.workflows.status import StatusReport

_STYLE = {"live": "green", "missing": "yellow", "half-live": "red", "modified": "red", "interrupted": "bold red"}


@click.command()
@target
@place_options
@click.option("--allow-missing", is_flag=True, help="A patch that is not there at all is fine.")
@reports("status")
def command(
    app: App, target: str | None, into: str | None, installed: bool, python: str | None, allow_missing: bool
) -> Result:
    """Say which patches are live in a place, proved file by file by hash.

    Exits 0 only if all of them are; with -q it prints only what is wrong, as a gate for an entrypoint. Without a
    place: the series at a glance.
    """
    place = where(app, into, installed, python)
    if place.into is None and not place.installed:
        if allow_missing:
            raise InvalidInput(Problem("usage", "--allow-missing goes with --into or --installed."))
        from patchctl.cli.list import listing

        return listing(app, target)
    from patchctl.workflows import status as workflow
    from patchctl.workflows.places import find_stack

    found, stack = find_stack(app.cwd, place, target)
    listed = found.project.target(found.target)[1].patches if found.project is not None else None
    report = workflow.status(found.place, found.target or "", stack, listed=listed, allow_missing=allow_missing)
    return Result(
        _document(report),
        lambda printer: _text(printer, report),
        problems=report.problems,
        exit_code=1 if report.problems else 0,
    )


def _document(report: StatusReport) -> dict[str, Any]:
    return {
        "target": report.target,
        "into": str(report.place.root),
        "kind": report.place.kind,
        "receipt": report.receipt is not None,
        "lock_digest": report.receipt.lock_digest if report.receipt else None,
        "patches": [
            {
                "id": patch.id,
                "state": patch.state,
                "files": [
                    {
                        "path": seen.file.path,
                        "before": blob(seen.file.before),
                        "after": blob(seen.file.after),
                        "found": blob(seen.found),
                        "live": seen.live,
                    }
                    for seen in patch.files
                ],
            }
            for patch in report.patches
        ],
    }


def _text(printer: Printer, report: StatusReport) -> None:
    rows = [
        (patch.id, (patch.state, _STYLE[patch.state]), f"{sum(1 for f in patch.files if f.live)}/{len(patch.files)}")
        for patch in report.patches
    ]
    printer.table(("patch", "state", "files"), rows)
    files = len({seen.file.path for patch in report.patches for seen in patch.files})
    if not report.problems:
        printer.line(f"All live in {report.place.root}: {files} files read, each has its recorded blob id.", "green")
