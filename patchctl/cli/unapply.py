"""``patchctl unapply``."""

from __future__ import annotations

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.cli.places import place_options, target, where


@click.command()
@target
@place_options
@reports("unapply")
def command(app: App, target: str | None, into: str | None, installed: bool, python: str | None) -> Result:
    """Take the series out of a place again, byte for byte.

    Without a place: out of the checkout in build/. Works without the project too: the receipt carries the patches.
    """
    from patchctl.workflows import unapply as workflow
    from patchctl.workflows.places import find

    found = find(app.cwd, where(app, into, installed, python), target)
    report = workflow.unapply(found.place, found.project, found.target)
    document = {
        "target": report.target,
        "into": str(found.place.root),
        "kind": found.place.kind,
        "recovered": report.recovered,
        "removed": list(report.removed),
        "files": list(report.files),
    }

    def text(printer: Printer) -> None:
        if report.recovered:
            printer.line("An earlier run had been killed on the way; it was taken back first.", "yellow")
        if not report.removed:
            known = "no patch is live in" if report.target else "no receipt tells of a patch in"
            printer.line(f"Nothing to do: {known} {found.place.root}.", "green")
            return
        for id in report.removed:
            printer.line(f"removed  {id}")
        printer.line(f"Pristine again: {found.place.root}.", "bold green")
        printer.line(f"Proof: {len(report.files)} files read back, each has the blob id from before the series.")

    return Result(document, text)
