"""``patchctl contract``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from patchctl.cli import contract_text as text
from patchctl.cli.output import App, Result, reports
from patchctl.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from patchctl.contract.model import Provided, Requirement
    from patchctl.contract.moves import Move
    from patchctl.series.project import Project
    from patchctl.workflows.contract import Held, Step


@click.command()
@click.argument("name", required=False)
@click.option("--target", metavar="TAG", help="The upstream release; default: series.yaml's.")
@click.option("--targets", metavar="A..B", help="Tell how the contract moved over the releases of a range or list.")
@click.option("--tree", metavar="DIR", type=click.Path(), help="Read what lies in DIR, as it lies there.")
@click.option("--pristine", is_flag=True, help="Read the release without the series, and tell what the series adds.")
@click.option("--provider", metavar="FILE:CLASS", help="Ask this class instead of the declared one.")
@click.option("--attr", metavar="NAME,…", help="Ask the provider for these attributes alone.")
@click.option("--explain", metavar="ATTR", help="Tell who asks for ATTR, who answers, and what happens without.")
@reports("contract")
def command(
    app: App,
    name: str | None,
    target: str | None,
    targets: str | None,
    tree: str | None,
    pristine: bool,
    provider: str | None,
    attr: str | None,
    explain: str | None,
) -> Result:
    """Check what code silently expects of a class: the contract NAME of series.yaml, or all.

    Static: nothing is imported or run. Exits 1 where something that is used without a guard is missing or can't be
    judged, and for a contract that is empty.
    """
    from patchctl.workflows.contract import places

    _check(target=target, targets=targets, tree=tree, attr=attr, explain=explain, provider=provider, name=name)
    if provider is not None:
        places.checked([provider])
    root = app.path(tree) if tree is not None else None
    with app.progress() as progress:
        if attr is not None:
            return _asked(app, name, target, root, pristine, provider, attr, progress)
        project = _project(app)
        if targets is not None:
            return _over(project, name, targets, pristine, provider, progress)
        held = _held(project, name, target, root, pristine, provider, progress)
    return _explained(held, explain) if explain is not None else _result(held)


def _check(**given: str | None) -> None:
    """Raise InvalidInput for options that contradict each other."""
    for one, other in (("target", "targets"), ("targets", "tree"), ("attr", "explain"), ("attr", "targets")):
        if given[one] is not None and given[other] is not None:
            raise InvalidInput(Problem("usage", f"--{one} and --{other} don't go together; say one."))
    if given["explain"] is not None and given["targets"] is not None:
        raise InvalidInput(Problem("usage", "--explain speaks of one tree; say --target TAG."))
    if given["attr"] is not None and given["provider"] is None and given["name"] is None:
        raise InvalidInput(Problem("usage", "--attr needs a class to ask: --provider FILE:CLASS."))


def _project(app: App) -> Project:
    from patchctl.series import project

    return project.load(app.cwd)


def _held(
    project: Project,
    name: str | None,
    target: str | None,
    root: Path | None,
    pristine: bool,
    provider: str | None,
    progress: Any,
) -> list[Held]:
    from patchctl.workflows import contract

    names = contract.chosen(project, name)
    if root is not None:
        return contract.on_folder(root, project, names, target, provider)
    return contract.on_target(project, names, target, pristine=pristine, provider=provider, progress=progress)


def _asked(
    app: App,
    name: str | None,
    target: str | None,
    root: Path | None,
    pristine: bool,
    provider: str | None,
    attr: str,
    progress: Any,
) -> Result:
    from patchctl.workflows import contract

    names = list(dict.fromkeys(part.strip() for part in attr.split(",") if part.strip()))
    if not all(part.isidentifier() for part in names) or not names:
        raise InvalidInput(
            Problem("usage", f"--attr takes names of attributes with commas between them, not '{attr}'.")
        )
    project: Project | None = None
    try:
        project = _project(app)
    except InvalidInput:
        if root is None or name is not None:
            raise
    assume: dict[str, str] = {}
    if name is not None and project is not None:
        declared = project.series.contracts[contract.chosen(project, name)[0]]
        assume = declared.assume if provider in (None, declared.provider) else {}
        provider = provider or declared.provider
    assert provider is not None
    held = contract.ask(
        provider, names, project, root=root, target=target, pristine=pristine, assume=assume, progress=progress
    )
    return _result([held])


def _over(
    project: Project, name: str | None, targets: str, pristine: bool, provider: str | None, progress: Any
) -> Result:
    from patchctl.workflows import contract
    from patchctl.workflows.contract import places

    names = contract.chosen(project, name)
    if len(names) > 1:
        raise InvalidInput(Problem("usage", f"--targets follows one contract: say which of {', '.join(names)}."))
    tags = places.chosen(project, targets, progress)
    steps = contract.over_releases(project, names[0], tags, pristine=pristine, provider=provider, progress=progress)
    problems = tuple(each for step in steps for each in _step_problems(step))
    failed = [step.failure for step in steps if step.failure is not None]
    code = 4 if failed else 1 if problems else 0
    document = {
        "contract": names[0],
        "target": None,
        "provider": provider or project.series.contracts[names[0]].provider,
        "requirements": [],
        "unresolved": [],
        "targets": [_step_document(step) for step in steps],
    }
    return Result(document, lambda printer: text.steps(printer, steps), (*failed, *problems), exit_code=code)


def _step_problems(step: Step) -> list[Problem]:
    from dataclasses import replace

    found = step.held.problems if step.held is not None else ()
    return [replace(each, message=f"{step.target}: {each.message}") for each in found]


def _result(held: list[Held]) -> Result:
    problems = tuple(problem for each in held for problem in each.problems)
    notes = tuple(Problem("contract", note) for each in held for note in each.judgement.notes)
    return Result(
        _document(held),
        lambda printer: text.held(printer, held),
        problems or notes,
        exit_code=1 if problems else 0,
    )


def _explained(held: list[Held], attribute: str) -> Result:
    from patchctl.contract.story import story
    from patchctl.workflows.contract import requirement

    told: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for each in held:
        wanted = requirement(each, attribute)
        name = each.judgement.name
        if wanted is None:
            told[name] = [f"No consumer of {name} uses {attribute}."]
            continue
        told[name] = story(wanted, each.judgement.provider.rpartition(":")[2].rpartition(".")[2])
        problems += [
            problem
            for problem, fault in zip(each.problems, each.judgement.faults, strict=True)
            if fault.name == attribute
        ]
    if all(requirement(each, attribute) is None for each in held):
        why = f"No consumer uses {attribute}, so there is nothing to explain."
        raise InvalidInput(Problem("unknown-attribute", why, next="patchctl contract"))
    document = {**_document(held), "explained": told}
    return Result(document, lambda printer: text.told(printer, told), tuple(problems), exit_code=1 if problems else 0)


# -- documents


def _document(held: list[Held]) -> dict[str, Any]:
    if len(held) == 1:
        return _one(held[0])
    return {
        "contract": None,
        "target": held[0].target if held else None,
        "provider": None,
        "requirements": [],
        "unresolved": [],
        "contracts": [_one(each) for each in held],
    }


def _one(held: Held) -> dict[str, Any]:
    judgement = held.judgement
    first = judgement.verdict.first
    return {
        "contract": held.name,
        "target": held.target,
        "provider": judgement.provider,
        "source": held.source,
        "patches": list(held.patches),
        "holds": not judgement.faults,
        "requirements": [_requirement(each) for each in judgement.verdict.requirements],
        "unresolved": [
            {
                "path": each.path,
                "line": each.line,
                "expression": each.expression,
                "reason": each.reason,
                "role": each.role,
            }
            for each in judgement.verdict.unresolved
        ],
        "first": {"name": first[0].name, "path": first[1].path, "line": first[1].line} if first else None,
        "adds": [_move(move) for move in held.adds],
    }


def _requirement(each: Requirement) -> dict[str, Any]:
    return {
        "name": each.name,
        "kind": each.kind,
        "guard": each.guard,
        "condition": each.condition,
        "role": each.role,
        "sites": [
            {
                "path": site.path,
                "line": site.line,
                "kind": site.kind,
                "guard": site.guard,
                "condition": site.condition,
                "role": site.role,
                "function": site.function,
            }
            for site in each.sites
        ],
        "provided": _provided(each.provided),
        "ok": not each.fails,
        "ignored": each.ignored,
    }


def _provided(provided: Provided) -> dict[str, Any]:
    inner = provided.inner
    return {
        "how": provided.how.value,
        "via": provided.via,
        "path": provided.path,
        "line": provided.line,
        "inner": {
            "class": inner.cls,
            "path": inner.path,
            "provided": _provided(inner.provided) if inner.provided is not None else None,
        }
        if inner is not None
        else None,
        "guarded": provided.guarded,
        "holds": provided.holds,
        "note": provided.note,
    }


def _move(move: Move) -> dict[str, Any]:
    return {"name": move.name, "change": move.change, "before": move.before, "after": move.after}


def _step_document(step: Step) -> dict[str, Any]:
    one = _one(step.held) if step.held is not None else {}
    failure = {"kind": step.failure.kind, "message": step.failure.message} if step.failure is not None else None
    faults = [
        {"kind": fault.kind, "message": fault.message, "path": fault.path, "line": fault.line, "name": fault.name}
        for fault in (step.held.judgement.faults if step.held is not None else ())
    ]
    return {
        **one,
        "target": step.target,
        "moves": [_move(move) for move in step.moves],
        "faults": faults,
        "failure": failure,
    }
