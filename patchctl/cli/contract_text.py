"""Contracts for people: what is asked, who answers, how it moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from patchctl.cli.console import Printer

if TYPE_CHECKING:
    from patchctl.contract.model import Provided, Requirement
    from patchctl.contract.moves import Move
    from patchctl.workflows.contract import Held, Step

_CHANGES = {
    "added": "is asked for now, in {after}",
    "removed": "is asked for no more (was in {before})",
    "moved": "is asked for elsewhere: {before} -> {after}",
    "guard": "was guarded by {before}, now by {after}",
    "gained": "is offered now: {before} -> {after}",
    "lost": "is offered no more: {before} -> {after}",
    "provided": "is offered otherwise: {before} -> {after}",
}


def held(printer: Printer, found: Sequence[Held]) -> None:
    """Contracts on one tree, each as a table."""
    for each in found:
        _one(printer, each)


def _one(printer: Printer, each: Held) -> None:
    judgement = each.judgement
    requirements = judgement.verdict.requirements
    where = each.target or "the folder"
    series = f", {len(each.patches)} patches on it" if each.patches else ""
    title = f"{judgement.name}: {judgement.provider} on {where}{series}" if judgement.name else judgement.provider
    printer.line(title, "bold")
    if requirements and requirements[0].sites:
        rows = [_row(requirement) for requirement in requirements]
        printer.table(["attribute", "use", "guard", "role", "used at", "provided"], rows)
    else:
        printer.table(["attribute", "provided"], [[each.name, _verdict(each)] for each in requirements])
    for lost in judgement.verdict.unresolved:
        printer.line(f"unresolved: {lost.path}:{lost.line} {lost.expression}: {lost.reason}", "yellow")
    for move in each.adds:
        printer.line(f"the series changes {_move(move)}")
    failed = len(judgement.verdict.failed)
    count = f"{len(requirements)} attribute{'' if len(requirements) == 1 else 's'}"
    if judgement.faults:
        printer.line(f"{count} asked for, {failed} of them can crash.", "red")
    else:
        printer.line(f"{count} asked for: the contract holds.", "green")


def _row(requirement: Requirement) -> list[str | tuple[str, str]]:
    first = requirement.sites[0] if requirement.sites else None
    more = len(requirement.sites) - 1
    used = f"{first.path}:{first.line}" + (f" and {more} more" if more else "") if first else ""
    guard = "" if requirement.guard == "none" else requirement.guard
    return [requirement.name, requirement.kind, guard, requirement.role, used, _verdict(requirement)]


def _verdict(requirement: Requirement) -> tuple[str, str]:
    told = answer(requirement.provided)
    if requirement.ignored is not None:
        return f"{told}; set aside: {requirement.ignored}", ""
    return told, "red" if requirement.fails else "green" if requirement.provided.holds else ""


def answer(provided: Provided) -> str:
    """An answer in one line."""
    from patchctl.contract.moves import told

    words = told(provided)
    inner = provided.inner
    if inner is not None and inner.cls is not None and inner.provided is not None:
        words += f" ({inner.cls}: {told(inner.provided)})"
    if provided.note and provided.how.value == "unknown":
        words += f": {provided.note}"
    return words


def told(printer: Printer, stories: Mapping[str, Sequence[str]]) -> None:
    """What --explain tells."""
    for name, lines in stories.items():
        printer.line(name, "bold")
        for line in lines:
            printer.line(line)


def steps(printer: Printer, found: Sequence[Step]) -> None:
    """How a contract moved over releases."""
    for step in found:
        if step.held is None:
            printer.line(
                f"{step.target}: not read ({step.failure.message if step.failure else 'no reason known'})", "red"
            )
            continue
        judgement = step.held.judgement
        failed = [fault.name for fault in judgement.faults if fault.name]
        series = f", {len(step.held.patches)} patches on it" if step.held.patches else ""
        other = next((fault.message for fault in judgement.faults if not fault.name), "holds")
        state = f"lacks {', '.join(dict.fromkeys(failed))}" if failed else other
        printer.line(f"{step.target}{series}: {state}", "red" if judgement.faults else "green")
        for move in step.moves:
            printer.line(f"  {_move(move)}")


def _move(move: Move) -> str:
    return f"{move.name}: {_CHANGES[move.change].format(before=move.before, after=move.after)}"
