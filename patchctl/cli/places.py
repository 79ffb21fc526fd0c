"""The options that name a place, and how a place is spoken of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from patchctl.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from patchctl.cli.output import App
    from patchctl.series.receipt import Stamp
    from patchctl.workflows.places import Where

into = click.option(
    "--into", metavar="DIR", type=click.Path(), help="A git checkout, an unpacked tree or site-packages."
)
installed = click.option("--installed", is_flag=True, help="The distribution installed in this environment.")
python = click.option("--python", metavar="EXE", type=click.Path(), help="With --installed: in EXE's environment.")
target = click.option("--target", metavar="TAG", help="The upstream release; default: series.yaml's.")


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--into``, ``--installed`` and ``--python``."""
    return into(installed(python(function)))


def where(app: App, into: str | None, installed: bool, python: str | None) -> Where:
    """The place that the options name. Raises InvalidInput when they contradict each other."""
    from patchctl.workflows.places import Where

    if into and (installed or python):
        raise InvalidInput(Problem("usage", "--into and --installed name two places; say one."))
    if python and not installed:
        raise InvalidInput(Problem("usage", "--python goes with --installed."))
    # A bare command name is looked up on PATH; what has a folder in it is meant from where the user stands.
    exe = None if python is None else app.path(python) if "/" in python else Path(python)
    return Where(app.path(into) if into else None, installed, exe)


def blob(stamp: Stamp | None) -> str | None:
    return None if stamp is None else stamp.blob
