"""lint's findings for machines that show them beside the code: SARIF 2.1.0, and GitHub's workflow commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from patchctl import __version__

if TYPE_CHECKING:
    from patchctl.workflows.lint import LintReport


def sarif(report: LintReport) -> dict[str, Any]:
    """The report as a SARIF log."""
    from patchctl.workflows.lint import RULES

    rules = [{"id": rule.id, "shortDescription": {"text": rule.about}} for rule in RULES]
    results = [
        {
            "ruleId": finding.rule,
            "level": finding.severity.value,
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(finding.path, errors="surrogateescape")},
                        "region": {"startLine": finding.line, "startColumn": finding.column},
                    }
                }
            ],
        }
        for finding in report.findings
    ]
    driver = {"name": "patchctl", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def github(report: LintReport) -> Iterator[str]:
    """A workflow command per finding."""
    levels = {"error": "error", "warning": "warning", "note": "notice"}
    for finding in report.findings:
        place = f"file={_property(finding.path)},line={finding.line},col={finding.column}"
        level = levels[finding.severity.value]
        yield f"::{level} {place},title={_property(finding.rule)}::{_escaped(finding.message)}"


def _escaped(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
