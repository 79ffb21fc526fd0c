"""``patchctl schema``."""

from __future__ import annotations

import json

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports


@click.command()
@reports("schema")
def command(app: App) -> Result:
    """Print the JSON schema of series.yaml, for editors.

    Without --json it is the bare schema; with --json it stands under "series".
    """
    from patchctl.series.schema import series_schema

    schema = series_schema()

    def text(printer: Printer) -> None:
        printer.raw((json.dumps(schema, indent=2) + "\n").encode())

    return Result({"series": schema}, text)
