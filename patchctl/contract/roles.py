"""Which of several objects a use is about, where one expression holds either.

A guard such as ``is_draft_worker`` decides the role; a comparison of the class's name decides the class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from patchctl.contract.alias import Aliases, Place
from patchctl.contract.program import ClassRef
from patchctl.contract.syntax import FUNCTIONS, Function, assignments, called, constant

ANY, TARGET, DRAFT = "any", "target", "draft"
_FLAG = re.compile(r"_?is_(?:\w+_)?(draft|target)(?:_\w+)?")


def narrowed(role: str, conditions: Sequence[ast.expr | str], place: Place, aliases: Aliases) -> str:
    """The role that is left of ``any`` under ``conditions``; another role stays what it is.

    A condition counts that names a role itself (``not self.is_draft_worker``), or a flag that is only ever raised
    under such a condition.
    """
    if role != ANY:
        return role
    for condition in conditions:
        for atom, positive in _atoms(condition):
            found = _named(atom, positive)
            if found is None and positive:
                found = _through_flag(atom, place, aliases)
            if found is not None:
                return found
    return role


def only_for(conditions: Sequence[ast.expr | str], function: Function | None) -> tuple[str, ...] | None:
    """The class names that ``conditions`` ask for (``x.__class__.__name__ == "A"``); None where they ask for none."""
    for condition in conditions:
        for atom, positive in _atoms(condition):
            if not positive or not isinstance(atom, ast.Compare) or len(atom.ops) != 1:
                continue
            if isinstance(atom.ops[0], (ast.Eq, ast.In)) and _asks_name(atom.left, function):
                names = [constant(node) for node in ast.walk(atom.comparators[0])]
                return tuple(name for name in names if name is not None) or None
    return None


def classes_asked(conditions: Sequence[ast.expr | str], held: Callable[[ast.expr], bool]) -> list[ast.expr]:
    """The classes that the object must be of for ``conditions`` to hold (``isinstance(x, A)``)."""
    found: list[ast.expr] = []
    for condition in conditions:
        for atom, positive in _atoms(condition):
            if positive and called(atom) == "isinstance" and isinstance(atom, ast.Call) and len(atom.args) == 2:
                kinds = atom.args[1].elts if isinstance(atom.args[1], ast.Tuple) else [atom.args[1]]
                if held(atom.args[0]):
                    found += kinds
    return found


def _asks_name(node: ast.expr, function: Function | None) -> bool:
    """Whether ``node`` is the name of an object's class, or a variable that holds it."""
    if isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
        inner = node.value
        return called(inner) == "type" or (isinstance(inner, ast.Attribute) and inner.attr == "__class__")
    if isinstance(node, ast.Name) and function is not None:
        bound = [value for each in ast.walk(function) if isinstance(each, ast.stmt) for value in _given(each, node.id)]
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and _asks_name(bound[0], function)
    return False


def _given(statement: ast.stmt, name: str) -> Iterator[ast.expr]:
    for target, value in assignments(statement):
        if isinstance(target, ast.Name) and target.id == name and value is not None:
            yield value


def _atoms(condition: ast.expr | str) -> Iterator[tuple[ast.expr, bool]]:
    """What must hold, or must not, for ``condition`` to hold."""
    waiting: list[tuple[ast.expr, bool]] = [] if isinstance(condition, str) else [(condition, True)]
    while waiting:
        node, positive = waiting.pop()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            waiting.append((node.operand, not positive))
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) is positive:
            waiting += [(value, positive) for value in node.values]
        else:
            yield node, positive


def _named(atom: ast.expr, positive: bool) -> str | None:
    name = atom.attr if isinstance(atom, ast.Attribute) else getattr(atom, "id", "")
    found = _FLAG.fullmatch(name)
    if found is None:
        return None
    other = {DRAFT: TARGET, TARGET: DRAFT}
    return found[1] if positive else other[found[1]]


def _through_flag(atom: ast.expr, place: Place, aliases: Aliases) -> str | None:
    if not isinstance(atom, ast.Attribute):
        return None
    for path in aliases.paths(atom.value, place):
        cls = aliases.kind(path, place)
        if cls is not None:
            roles = set(_raised(cls, atom.attr, aliases))
            return next(iter(roles)) if len(roles) == 1 else None
    return None


def _raised(cls: ClassRef, flag: str, aliases: Aliases) -> Iterator[str | None]:
    """For each place where ``flag`` may become true: the role that it is about, None for either."""
    for owner in aliases.typer.instances.lineages.of(cls).classes:
        for function in owner.node.body:
            if isinstance(function, FUNCTIONS):
                yield from _raised_in(function.body, flag, None)


def _raised_in(body: Sequence[ast.AST], flag: str, role: str | None) -> Iterator[str | None]:
    for node in body:
        for target, value in assignments(node) if isinstance(node, ast.stmt) else ():
            lowered = isinstance(value, ast.Constant) and not value.value
            if isinstance(target, ast.Attribute) and target.attr == flag and not lowered:
                yield role
        if isinstance(node, ast.If):
            told = next((found for atom in _atoms(node.test) if (found := _named(*atom))), role)
            opposite = {DRAFT: TARGET, TARGET: DRAFT}.get(_named(*_sole(node.test)) or "", role)
            yield from _raised_in(node.body, flag, told)
            yield from _raised_in(node.orelse, flag, opposite)
        elif not isinstance(node, ast.expr):
            yield from _raised_in(list(ast.iter_child_nodes(node)), flag, role)


def _sole(test: ast.expr) -> tuple[ast.expr, bool]:
    atoms = list(_atoms(test))
    return atoms[0] if len(atoms) == 1 else (test, True)
