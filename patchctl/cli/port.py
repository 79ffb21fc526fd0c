"""``patchctl port``"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports
from patchctl.engine.outcome import FileRecord, PatchReport
from patchctl.errors import Problem
from patchctl.workflows.port import PortReport, Request, port

_STYLES = {"conflict": "bold red", "superseded": "bold red", "refused": "bold red", "waiting": "yellow"}


@click.command(name="port")
@click.argument("patches", metavar="PATCH…", nargs=-1, required=True)
@click.option(
    "--onto", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The tree to carry them to."
)
@click.option("--base", metavar="DIR", type=click.Path(path_type=Path), help="The tree they were made for.")
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Write the changed files there.")
@click.option(
    "--rules",
    type=click.Choice(["transport", "all"]),
    default="all",
    show_default=True,
    help="With --base: accept only what moves by arithmetic, or also what a named merge rule places.",
)
@reports("port")
def command(
    app: App, patches: tuple[str, ...], onto: Path, base: Path | None, output: Path | None, rules: str
) -> Result:
    """Carry patch files over to another tree.

    Several are taken in order, a mailbox counts as several. The trees are never changed: results go to --output,
    or as a unified diff to standard output. Exit code 3: a person must decide, 5: refused.
    """
    request = Request(
        patches, app.path(onto), app.cwd, app.path(base) if base else None, app.path(output) if output else None, rules
    )
    report = port(request)
    return Result(_payload(report), lambda printer: _print(printer, report), _said(report), report.exit_code)


def _payload(report: PortReport) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "patches": [_patch(patch, report.notes.get(patch.name, ())) for patch in report.patches],
        "written": list(report.written),
        "deleted": list(report.deleted),
    }
    if report.diff is not None:
        payload["diff"] = report.diff.decode("utf-8", "surrogateescape")
    return payload


def _patch(patch: PatchReport, notes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "file": patch.name,
        "outcome": patch.outcome,
        "files": [asdict(file) for file in patch.files],
        "review": [asdict(note) for note in patch.review],
        "evidence": [asdict(note) for note in patch.evidence],
        "notes": list(notes),
    }


def _said(report: PortReport) -> tuple[Problem, ...]:
    """The problems; of a success, what somebody should look at."""
    if report.problems:
        return report.problems
    return tuple(
        Problem(note.kind, note.text, patch.name, note.file) for patch in report.patches for note in patch.review
    )


def _print(printer: Printer, report: PortReport) -> None:
    if report.diff is not None:
        printer.raw(report.diff)
        return
    for patch in report.patches:
        printer.line(f"{patch.outcome:<10} {patch.name}", _STYLES.get(patch.outcome))
        for file in patch.files:
            for line in _moves(file):
                printer.line(f"           {line}")
        for note in patch.evidence:
            printer.line(f"           {note.text}")
        for text in report.notes.get(patch.name, ()):
            printer.line(f"           note: {text}")
    for name in report.written:
        printer.line(f"wrote      {name}")
    for name in report.deleted:
        printer.line(f"deleted    {name}")


def _moves(file: FileRecord) -> list[str]:
    """A line for each hunk that did not stay where it was."""
    shown = []
    for number, hunk in enumerate(file.hunks, 1):
        if hunk.method in ("offset", "transport"):
            scope = f" in {hunk.scope}" if hunk.scope else ""
            shown.append(f"{file.path}: hunk {number} ({hunk.method}) starts at line {hunk.new_start}{scope}")
    return shown
