"""Expressions as a contract declares them, and the places where they mean something."""

from __future__ import annotations

import ast

from patchctl.contract.alias import Place
from patchctl.contract.instance import Frame
from patchctl.contract.program import ClassRef
from patchctl.contract.syntax import Function, parameters
from patchctl.contract.typer import Typer


def built_by(typer: Typer, cls: ClassRef) -> frozenset[int]:
    """The lines of the methods that building an object of ``cls`` runs."""
    instances = typer.instances
    waiting = [instances.effective(cls, "__init__")]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if found is None or found[1].lineno in seen:
            continue
        seen.add(found[1].lineno)
        for node in ast.walk(found[1]):
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self":
                waiting.append(instances.effective(cls, func.attr))
    return frozenset(seen)


def names_along(node: ast.expr) -> list[str]:
    """The names along an expression from its start: ``["self", "runners", "model"]`` of ``self.runners[i].model``."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*names_along(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        return names_along(node.value)
    return names_along(node.func) if isinstance(node, ast.Call) else []


def head(node: ast.expr) -> str:
    """The name that an expression starts with."""
    return next(iter(names_along(node)), "")


def first_name(node: ast.expr) -> str:
    """The first name of an expression that says something: ``worker`` of ``self.worker.model``."""
    chain = names_along(node)
    return chain[1] if len(chain) > 1 and chain[0] == "self" else chain[0] if chain else ""


def knows(function: Function, name: str) -> bool:
    """Whether ``function`` has a parameter or a variable called ``name``."""
    args = function.args
    given = [*parameters(function), *filter(None, (args.vararg, args.kwarg))]
    if any(arg.arg == name for arg in given):
        return True
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )


def stand_in(cls: ClassRef, self_name: str) -> Place:
    """A place in ``cls`` that knows nothing but ``self``."""
    function = ast.parse(f"def declared({self_name}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    return Place(Frame(cls.scope.inside(function), function, cls, cls))
