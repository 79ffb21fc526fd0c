"""``patchctl lint``."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports

if TYPE_CHECKING:
    from patchctl.workflows.lint import LintReport
    from patchctl.workflows.lint.findings import Finding


@click.command()
@click.option("--fix", is_flag=True, help="Complete heads from series.yaml where that needs no decision.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text", help="How to print."
)
@reports("lint")
def command(app: App, fix: bool, form: str) -> Result:
    """Check the series and its patch files: files, heads, dates, text, safety, exactness.

    Exits 1 for errors and warnings, not for notes. A patch sets a rule aside by a trailer of its own:
    Lint-Allow: RULE reason.
    """
    from patchctl.cli import lint_formats
    from patchctl.series import project
    from patchctl.workflows import lint as workflow

    app.json = app.json or form == "json"
    report = workflow.lint(project.load(app.cwd, with_lock=False), date.today(), fix=fix)

    def text(printer: Printer) -> None:
        if form == "sarif":
            printer.raw((json.dumps(lint_formats.sarif(report), indent=2) + "\n").encode())
        elif form == "github":
            printer.raw("".join(f"{line}\n" for line in lint_formats.github(report)).encode())
        else:
            _text(printer, report)

    problems = tuple(finding.problem for finding in report.grave)
    return Result(_document(report), text, problems, exit_code=1 if report.failed else 0)


def _document(report: LintReport) -> dict[str, Any]:
    return {
        "targets": list(report.targets),
        "patches": report.patches,
        "findings": [_finding(finding) for finding in report.findings],
        "allowed": report.allowed,
        "fixed": list(report.fixed),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "target": finding.target,
        "patch": finding.patch,
        "file": finding.file,
        "hunk": finding.hunk,
        "next": finding.next,
        "fixable": finding.fixable,
    }


def _text(printer: Printer, report: LintReport) -> None:
    for path in report.fixed:
        printer.line(f"fixed: {path}")
    if report.fixed:
        printer.line("Review the changes, then: patchctl lock")
    for finding in report.findings:
        if finding not in report.grave:
            printer.line(f"note: {finding.problem.message}")
    grave = len(report.grave)
    aside = f", {report.allowed} set aside by the patches" if report.allowed else ""
    checked = f"{_count(report.patches, 'patch', 'patches')} on {_count(len(report.targets), 'target', 'targets')}"
    verdict = _count(grave, "problem", "problems")
    printer.line(f"{checked} checked: {verdict}{aside}.", "red" if grave else "green")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
