"""``patchctl completion``."""

from __future__ import annotations

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@reports("completion")
def command(app: App, shell: str) -> Result:
    """Print a completion script for SHELL; source it from the shell's start-up file."""
    from click.shell_completion import get_completion_class

    from patchctl.cli.main import group

    kind = get_completion_class(shell)
    assert kind is not None, "click.Choice admits only shells that click knows"
    script = kind(group, {}, "patchctl", "_PATCHCTL_COMPLETE").source()

    def text(printer: Printer) -> None:
        printer.raw(script.encode())

    return Result({"shell": shell, "script": script}, text)
