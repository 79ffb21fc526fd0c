"""``patchctl show``."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.list import patch_document
from patchctl.cli.output import App, Result, reports
from patchctl.cli.places import blob
from patchctl.cli.places import target as target_option

if TYPE_CHECKING:
    from patchctl.workflows.listing import Shown


@click.command()
@click.argument("patch_id", metavar="ID")
@target_option
@reports("show")
def command(app: App, patch_id: str, target: str | None) -> Result:
    """Show what is known of the patch ID, and its text."""
    from patchctl.series import project
    from patchctl.workflows import listing

    found = listing.show(project.load(app.cwd), patch_id, target, date.today())
    return Result(_document(found), lambda printer: _text(printer, found))


def _document(found: Shown) -> dict[str, Any]:
    return {
        "target": found.target,
        "targets": list(found.targets),
        **patch_document(found.listed),
        "sha256": found.sha256,
        "footprint": [
            {"path": file.path, "before": blob(file.before), "after": blob(file.after)} for file in found.footprint
        ],
        "patch": found.data.decode("utf-8", "surrogateescape"),
    }


def _text(printer: Printer, found: Shown) -> None:
    patch = found.listed
    info = patch.info
    lines = [
        ("title", info.title),
        ("why", info.why),
        ("owner", info.owner),
        ("upstream", " ".join(part for part in (info.upstream.status, info.upstream.url) if part)),
        ("drop when", info.drop_when or ""),
        ("expires", (info.expires or "") + (" (past)" if patch.expired else "")),
        ("requires", ", ".join(f"{name}{specifier}" for name, specifier in info.requires.items())),
        ("contracts", ", ".join(info.contracts)),
        ("checks", ", ".join(info.smoke)),
        ("on", ", ".join(found.targets)),
        ("file", patch.path),
        ("sha256", found.sha256),
    ]
    printer.line(f"{patch.id} ({found.target}, {patch.order}.)", "bold")
    for label, value in lines:
        if value:
            indented = value.strip().replace("\n", "\n" + " " * 11)
            printer.line(f"{label + ':':<11}{indented}")
    printer.line()
    for line in found.data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"):
        printer.line(line, _style(line))


def _style(line: str) -> str | None:
    if line.startswith(("diff --git", "--- ", "+++ ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
