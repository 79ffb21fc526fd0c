"""``patchctl fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports

if TYPE_CHECKING:
    from patchctl.workflows.fetch import FetchReport


@click.command()
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--source", default="auto", metavar="auto|git|pypi|PATH", help="Where from; PATH: a clone or a release.")
@click.option("--history", metavar="A..B", help="Also the commits between two tags, from git.")
@reports("fetch")
def command(app: App, targets: tuple[str, ...], source: str, history: str | None) -> Result:
    """Fill the cache with pristine releases, so that everything else works offline.

    Without TARGET: the series' default. Each release is proved by the pins in series.yaml.
    """
    from patchctl.series.project import load
    from patchctl.workflows.fetch import fetch

    project = load(app.cwd)
    if source not in ("auto", "git", "pypi"):
        source = str(app.path(source))
    with app.progress() as progress:
        report = fetch(project, targets, source, history, progress)
    return Result(_document(report), lambda printer: _text(printer, report), problems=report.warnings)


def _document(report: FetchReport) -> dict[str, Any]:
    return {
        "cache": str(report.cache),
        "history": list(report.history) if report.history else None,
        "targets": [
            {
                "target": target.target,
                "source": target.source,
                "commit": target.commit,
                "archive": target.archive,
                "sha256": target.sha256,
                "pinned": target.pinned,
                "fetched": target.fresh,
                "notes": list(target.notes),
            }
            for target in report.targets
        ],
    }


def _text(printer: Printer, report: FetchReport) -> None:
    for target in report.targets:
        what = target.archive or f"commit {target.commit[:12]}"
        proof = "as pinned" if target.pinned else "not pinned"
        done = "Fetched" if target.fresh else "Already there:"
        printer.line(f"{done} {target.target} from {target.source} ({what}, {proof}).", "green")
    if report.history:
        printer.line(f"The commits between {report.history[0]} and {report.history[1]} are there.", "green")
