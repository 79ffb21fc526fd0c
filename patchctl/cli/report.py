"""``patchctl report``."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.errors import Problem


@click.command()
@click.option("--from", "from_tag", metavar="TAG", help="The old target (default: what the new one was made from).")
@click.option("--to", "to_tag", metavar="TAG", help="The new target (default: the newest).")
@click.option(
    "--format", "form", type=click.Choice(["md", "html", "json"]), default="md", show_default=True,
    help="What to print; all three are written below build/reports/.",
)  # fmt: skip
@reports("report")
def command(app: App, from_tag: str | None, to_tag: str | None, form: str) -> Result:
    """Tell a reviewer what became of every patch between two targets.

    Per patch: the outcome, the old text against the new, what upstream changed near to it, why it exists, what waits
    for a review. Upstream's commits are shown where `patchctl fetch --history A..B` has fetched them.
    """
    from patchctl.series.project import load
    from patchctl.workflows import report
    from patchctl.workflows.report import document

    project = load(app.cwd)
    app.json = app.json or form == "json"
    with app.progress() as progress:
        upgrade = report.report(project, from_tag, to_tag, date.today(), progress)
    files = report.render(upgrade)
    printed = next(data for name, data in files.items() if name.endswith(f".{form}"))
    result = Result({**document.payload(upgrade), "written": list(files)}, lambda printer: _text(printer, printed))
    try:
        report.save(project, files)
    except OSError as error:
        why = f"The report could not be written below {project.root}: {error.strerror or error}."
        unwritten = Problem("not-written", why, file=str(error.filename or ""))
        return replace(result, payload={**result.payload, "written": []}, problems=(unwritten,))
    return result


def _text(printer: Printer, data: bytes) -> None:
    printer.raw(data)
