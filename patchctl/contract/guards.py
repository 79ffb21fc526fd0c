"""What a test tells of an object: ``hasattr(x, "a")`` and its relatives, and what follows where it holds or not."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from patchctl.contract.syntax import called, constant

# An attribute of an object, by whatever the caller tells objects apart.
Fact: TypeAlias = "tuple[Hashable, str]"
Identify: TypeAlias = "Callable[[ast.expr], Hashable | None]"

NONE, HASATTR, DEFAULT, TRY = "none", "hasattr", "getattr-default", "try"
_CAUGHT = frozenset({"AttributeError", "Exception", "BaseException"})


@dataclass(frozen=True)
class Tells:
    """Which attributes are there when a test holds, and which when it does not; each with the guard that says so."""

    holds: Mapping[Fact, str] = field(default_factory=dict)
    fails: Mapping[Fact, str] = field(default_factory=dict)

    def turned(self) -> Tells:
        return Tells(self.fails, self.holds)


NOTHING = Tells()


def nothing_more(call: ast.Call) -> Tells:
    """What a call of something else than ``hasattr`` and its kind tells."""
    return NOTHING


def tells(
    test: ast.expr,
    identify: Identify,
    flags: Mapping[str, Tells],
    helper: Callable[[ast.Call], Tells] = nothing_more,
) -> Tells:
    """What ``test`` tells of the objects that ``identify`` knows.

    ``flags`` are variables that hold such tests, ``helper`` looks into functions that make one.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return tells(test.operand, identify, flags, helper).turned()
    if isinstance(test, ast.NamedExpr):
        return tells(test.value, identify, flags, helper)
    if isinstance(test, ast.BoolOp):
        found = [tells(value, identify, flags, helper) for value in test.values]
        if isinstance(test.op, ast.And):
            return Tells(_all(each.holds for each in found), _common([each.fails for each in found]))
        return Tells(_common([each.holds for each in found]), _all(each.fails for each in found))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_none(test.comparators[0]):
        inner = tells(test.left, identify, flags, helper)
        if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
            return inner
        return inner.turned() if isinstance(test.ops[0], (ast.Is, ast.Eq)) else NOTHING
    if isinstance(test, ast.Name):
        return flags.get(test.id, NOTHING)
    if isinstance(test, ast.Call):
        if called(test) in ("callable", "bool") and len(test.args) == 1:
            return tells(test.args[0], identify, flags, helper)
        return _of_call(test, identify) if called(test) in ("hasattr", "getattr") else helper(test)
    return NOTHING


def _of_call(test: ast.Call, identify: Identify) -> Tells:
    name = called(test)
    if len(test.args) < 2:
        return NOTHING
    key, attr = identify(test.args[0]), constant(test.args[1])
    if key is None or attr is None:
        return NOTHING
    if name == "hasattr":
        return Tells({(key, attr): HASATTR})
    falsy = len(test.args) == 3 and isinstance(test.args[2], ast.Constant) and not test.args[2].value
    return Tells({(key, attr): DEFAULT}) if falsy else NOTHING


def _all(facts: Iterable[Mapping[Fact, str]]) -> dict[Fact, str]:
    return {fact: guard for each in facts for fact, guard in each.items()}


def _common(facts: list[Mapping[Fact, str]]) -> dict[Fact, str]:
    return {fact: guard for fact, guard in facts[0].items() if all(fact in each for each in facts)}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def swallows(statement: ast.Try) -> bool:
    """Whether an AttributeError in the body of ``statement`` goes no further: caught, and not raised again."""
    for handler in statement.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is None or _last(kind) in _CAUGHT for kind in kinds):
            return not any(isinstance(node, ast.Raise) for part in handler.body for node in ast.walk(part))
    return False


def suppresses(statement: ast.With | ast.AsyncWith) -> bool:
    """Whether ``statement`` is ``with suppress(AttributeError)``."""
    for item in statement.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and _last(call.func) == "suppress":
            return any(_last(kind) in _CAUGHT for kind in call.args)
    return False


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def leaves(body: list[ast.stmt]) -> str:
    """How a block ends that never runs into the line after it: ``raise``, ``return``; empty if it may."""
    if not body:
        return ""
    last = body[-1]
    if isinstance(last, ast.Raise):
        return "raise"
    if isinstance(last, (ast.Return, ast.Continue, ast.Break)):
        return "return"
    if isinstance(last, ast.If):
        ends = {leaves(last.body), leaves(last.orelse)}
        return "" if "" in ends else "return" if "return" in ends else "raise"
    return leaves(last.body) if isinstance(last, (ast.With, ast.AsyncWith)) else ""
