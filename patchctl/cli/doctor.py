"""``patchctl doctor``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.errors import Problem

if TYPE_CHECKING:
    from patchctl.workflows.doctor import DoctorReport

_STYLE = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command()
@click.option("--online", is_flag=True, help="Also ask the package index and the upstream repository.")
@click.option("--python", metavar="EXE", type=click.Path(), help="Look at what is installed in EXE's environment.")
@reports("doctor")
def command(app: App, online: bool, python: str | None) -> Result:
    """Check that this machine can do the work, and that the project is in order."""
    from patchctl.workflows.doctor import doctor

    exe = None if python is None else app.path(python) if "/" in python else Path(python)
    with app.progress() as progress:
        report = doctor(app.cwd, online=online, python=exe, progress=progress)
    return Result(
        _document(report), lambda printer: _text(printer, report), _problems(report), exit_code=report.exit_code
    )


def _problems(report: DoctorReport) -> tuple[Problem, ...]:
    # Warnings stand in the list of checks; said twice they would read like two.
    failed = (finding for finding in report.findings if finding.state == "fail")
    return tuple(Problem(finding.name, finding.message, next=finding.next) for finding in failed)


def _document(report: DoctorReport) -> dict[str, Any]:
    return {"checks": [asdict(finding) for finding in report.findings]}


def _text(printer: Printer, report: DoctorReport) -> None:
    for finding in report.findings:
        printer.line(f"{finding.state:4}  {finding.name}: {finding.message}", _STYLE[finding.state])
        if finding.state == "warn" and finding.next:
            printer.line(f"      next: {finding.next}")
