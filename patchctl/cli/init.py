"""``patchctl init``."""

from __future__ import annotations

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports


@click.command()
@click.argument("directory", required=False, default=".", metavar="[DIR]", type=click.Path())
@click.option("--upstream-git", required=True, metavar="URL", help="The upstream's git repository.")
@click.option("--upstream-pypi", metavar="NAME", help="The name of its package on the Python index.")
@click.option("--target", required=True, metavar="TAG", help="The release to begin with.")
@reports("init")
def command(app: App, directory: str, upstream_git: str, upstream_pypi: str | None, target: str) -> Result:
    """Start a new patch repository in DIR: series.yaml, patches/, .gitignore and a CI workflow."""
    from patchctl.workflows import init

    report = init.init(app.path(directory), upstream_git, upstream_pypi, target)

    def text(printer: Printer) -> None:
        for name in report.files:
            printer.line(f"wrote {report.root / name}")
        pins = [*([report.pin.commit] if report.pin.commit else []), *([report.pin.sdist] if report.pin.sdist else [])]
        printer.line(
            f"{report.target} is pinned to {', '.join(pins)}." if pins else f"{report.target} is not pinned yet."
        )
        printer.line(f"Next: put patches into {report.root / 'patches' / report.target.replace('/', '__')},")
        printer.line("list them in series.yaml, then: patchctl lock, patchctl apply")

    payload = {
        "root": str(report.root),
        "target": report.target,
        "pin": {"commit": report.pin.commit, "sdist": report.pin.sdist, "wheels": list(report.pin.wheels)},
        "files": list(report.files),
    }
    return Result(payload, text, report.warnings)
