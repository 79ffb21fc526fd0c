"""``patchctl list``."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli.console import Printer
from patchctl.cli.output import App, Result, reports

if TYPE_CHECKING:
    from patchctl.workflows.listing import ListedPatch, Listing


@click.command()
@click.argument("target", required=False, metavar="[TARGET]")
@click.option("--target", "target_option", metavar="TAG", help="The same, as an option.")
@reports("list")
def command(app: App, target: str | None, target_option: str | None) -> Result:
    """List the patches of TARGET (default: series.yaml's) in order, with what is known of them."""
    return listing(app, target_option or target)


def listing(app: App, target: str | None) -> Result:
    """The series at a glance; ``status`` without a place shows it too."""
    from patchctl.series import project
    from patchctl.workflows import listing as workflow

    found = workflow.listing(project.load(app.cwd), target, date.today())
    return Result(_document(found), lambda printer: _text(printer, found, app.verbose))


def patch_document(patch: ListedPatch) -> dict[str, Any]:
    """A patch for JSON."""
    from patchctl.workflows.listing import info_document

    return {
        "id": patch.id,
        "order": patch.order,
        **info_document(patch.info),
        "expired": patch.expired,
        "path": patch.path,
        "files": list(patch.files),
        "locked": patch.locked,
        "note": patch.note or None,
    }


def _document(found: Listing) -> dict[str, Any]:
    return {
        "target": found.target,
        "targets": list(found.targets),
        "patches": [patch_document(patch) for patch in found.patches],
        "dropped": {
            name: {"reason": entry.reason, "evidence": entry.evidence} for name, entry in found.dropped.items()
        },
        "unlisted": list(found.unlisted),
    }


def _text(printer: Printer, found: Listing, verbose: bool) -> None:
    common = _common_folder([path for patch in found.patches for path in patch.files])
    rows = [
        (
            str(patch.order),
            patch.id,
            patch.info.title,
            patch.info.owner,
            patch.info.upstream.status,
            (patch.info.expires or "", "red" if patch.expired else ""),
            patch.note or "\n".join(_short([path.removeprefix(common) for path in patch.files], verbose)),
        )
        for patch in found.patches
    ]
    title = f"{found.target}: {len(rows)} patches" if len(rows) != 1 else f"{found.target}: 1 patch"
    files = f"files below {common}" if common else "files"
    printer.table(("#", "patch", "title", "owner", "upstream", "expires", files), rows, title)
    for name, entry in found.dropped.items():
        printer.line(f"dropped: {name} ({entry.reason})")
    for path in found.unlisted:
        printer.line(f"not in the series: {path}", "yellow")


def _common_folder(paths: list[str]) -> str:
    """The folder (ending in ``/``) that all of ``paths`` lie in, empty if there is none."""
    first, last = (min(paths), max(paths)) if paths else ("", "")
    same = next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), min(len(first), len(last))
    )
    return first[: first.rfind("/", 0, same) + 1]


def _short(files: list[str], verbose: bool) -> list[str]:
    if verbose or len(files) <= 3:
        return files
    return [*files[:2], f"and {len(files) - 2} more"]
