"""A Python file as clauses: under which conditions it does what, in which function.

Two texts that do the same in other words have equal clauses: the order of conditions, line breaks, comments, log
messages, where a name is imported, and whether a condition has a name of its own or stands where it is asked do not
count. The order of statements does not show in clauses; who compares them must ask for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log"})
_DEEPEST = 50
_LEAVES = (ast.Constant, ast.expr_context, ast.alias, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)


@dataclass(frozen=True, slots=True)
class Clause:
    """``effect`` (a statement in normal form) happens in ``scope`` if all of ``guards`` hold.

    ``target`` is what it assigns, if anything. ``span``: its lines, from 1, end included; ``branch``: for each
    ``if`` around it the line of the ``if`` and the number of the branch. ``order`` counts the statements of the file.
    """

    scope: str
    guards: frozenset[str]
    effect: str
    target: str | None = field(compare=False, default=None)
    span: tuple[int, int] = field(compare=False, default=(0, 0))
    branch: tuple[tuple[int, int], ...] = field(compare=False, default=())
    order: int = field(compare=False, default=0)


class Clauses:
    """The clauses of a syntax tree, which is changed on the way."""

    def __init__(self, tree: ast.Module) -> None:
        _normalise(tree, _imported(tree.body))
        self._constants = _constants(tree)
        self.silent: list[tuple[int, int]] = []  # lines of imports and log messages, which are no clauses
        self.all: list[Clause] = []
        self._block(tree.body, "", (), (), 0)
        self.by_scope: dict[str, list[Clause]] = {}
        for each in self.all:
            self.by_scope.setdefault(each.scope, []).append(each)

    def _block(
        self,
        body: Iterable[ast.stmt],
        scope: str,
        guards: tuple[str, ...],
        branch: tuple[tuple[int, int], ...],
        depth: int,
    ) -> None:
        if depth > _DEEPEST:
            raise RecursionError
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._definition(node, scope, guards, branch, depth)
            elif isinstance(node, ast.If):
                yes = (*guards, *_atoms(node.test, self._constants, False))
                no = (*guards, *_negated(node.test, self._constants))
                self._block(node.body, scope, yes, (*branch, (node.lineno, 0)), depth + 1)
                self._block(node.orelse, scope, no, (*branch, (node.lineno, 1)), depth + 1)
            elif isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith):
                inner = (*guards, _head(node))
                self._block(node.body, scope, inner, branch, depth + 1)
                self._block(getattr(node, "orelse", []), scope, (*inner, "else"), branch, depth + 1)
            elif isinstance(node, ast.Try):
                self._try(node, scope, guards, branch, depth)
            elif isinstance(node, ast.Import | ast.ImportFrom) or _is_silent(node):
                self.silent.append(_span(node))
            else:
                for effect, target in _effects(node):
                    span = _span(node)
                    self.all.append(Clause(scope, frozenset(guards), effect, target, span, branch, len(self.all)))

    def _definition(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        scope: str,
        guards: tuple[str, ...],
        branch: tuple[tuple[int, int], ...],
        depth: int,
    ) -> None:
        """A definition is an effect where it stands, by its head; its body has a scope of its own."""
        decorators = [ast.unparse(item) for item in node.decorator_list]
        if isinstance(node, ast.ClassDef):
            head = f"class {node.name}({', '.join(ast.unparse(base) for base in node.bases)})"
        else:
            head = f"def {node.name}({ast.unparse(node.args)})"
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        span = (first, max(first, node.body[0].lineno - 1))
        effect = " ".join([*decorators, head])
        self.all.append(Clause(scope, frozenset(guards), effect, None, span, branch, len(self.all)))
        if own := _imported(_statements(node)):
            _normalise(node, own)
        self._block(node.body, f"{scope}.{node.name}" if scope else node.name, (), (), depth + 1)

    def _try(
        self,
        node: ast.Try,
        scope: str,
        guards: tuple[str, ...],
        branch: tuple[tuple[int, int], ...],
        depth: int,
    ) -> None:
        caught = ", ".join(ast.unparse(item.type) if item.type else "" for item in node.handlers)
        self._block(node.body, scope, (*guards, f"try, but {caught}"), branch, depth + 1)
        for item in node.handlers:
            kind = ast.unparse(item.type) if item.type else ""
            self._block(item.body, scope, (*guards, f"except {kind}"), branch, depth + 1)
        self._block(node.orelse, scope, (*guards, "no exception"), branch, depth + 1)
        self._block(node.finalbody, scope, (*guards, "finally"), branch, depth + 1)


def _normalise(tree: ast.AST, names: Mapping[str, str]) -> None:
    """Give names the module that they are imported from, so that the way of importing them does not matter, and the
    parts of a condition one order."""
    joined: list[ast.BoolOp] = []
    nodes = [tree]
    for node in nodes:  # which grows on the way
        if isinstance(node, ast.BoolOp):
            joined.append(node)
        for value in vars(node).values():
            for each in value if type(value) is list else (value,):
                if isinstance(each, ast.Name):
                    each.id = names.get(each.id, each.id)
                elif isinstance(each, ast.AST) and not isinstance(each, _LEAVES):
                    nodes.append(each)
    for inner in reversed(joined):  # what lies in another comes behind it
        inner.values.sort(key=ast.unparse)


def _atoms(test: ast.expr, constants: Mapping[str, ast.expr], negated: bool) -> Iterator[str]:
    """The conditions that all hold if ``test`` does (or does not); the names of conditions are looked up."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _atoms(test.operand, constants, not negated)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if negated else ast.And):
        for part in test.values:
            yield from _atoms(part, constants, negated)
    elif isinstance(test, ast.Name) and test.id in constants and not negated:
        rest = {name: value for name, value in constants.items() if name != test.id}
        yield from _atoms(constants[test.id], rest, negated)
    else:
        told = ast.unparse(test)
        yield told if not negated else f"not ({told})" if isinstance(test, ast.BoolOp) else f"not {told}"


def _negated(test: ast.expr, constants: Mapping[str, ast.expr]) -> Iterator[str]:
    yield from _atoms(test, constants, True)


def _head(node: ast.stmt) -> str:
    if isinstance(node, ast.For | ast.AsyncFor):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    if isinstance(node, ast.While):
        return f"while {ast.unparse(node.test)}"
    assert isinstance(node, ast.With | ast.AsyncWith)
    return "with " + ", ".join(ast.unparse(item) for item in node.items)


def _effects(node: ast.stmt) -> Iterator[tuple[str, str | None]]:
    """What a simple statement does, each assignment by itself, and what it assigns."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _assigned(node.target, node.value)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if (
                isinstance(target, ast.Tuple)
                and isinstance(node.value, ast.Tuple)
                and len(target.elts) == len(node.value.elts)
                and not any(isinstance(item, ast.Starred) for item in [*target.elts, *node.value.elts])
            ):
                for one, value in zip(target.elts, node.value.elts, strict=True):
                    yield _assigned(one, value)
            else:
                yield _assigned(target, node.value)
    elif not isinstance(node, ast.Pass):
        yield ast.unparse(node), None


def _assigned(target: ast.expr, value: ast.expr) -> tuple[str, str]:
    told = ast.unparse(target)
    return f"{told} = {ast.unparse(value)}", told


def _is_silent(node: ast.stmt) -> bool:
    """Whether ``node`` is text for people: a docstring, a log message."""
    if not isinstance(node, ast.Expr):
        return False
    call = node.value
    if isinstance(call, ast.Constant):
        return True
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    root = call.func.value
    name = root.id if isinstance(root, ast.Name) else root.attr if isinstance(root, ast.Attribute) else ""
    return call.func.attr.removesuffix("_once") in _LOGS and "log" in name.lower()


def _imported(body: Iterable[ast.AST]) -> dict[str, str]:
    """What imports among ``body`` bind, as dotted names."""
    out = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            out.update({alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            out.update({alias.asname: alias.name for alias in node.names if alias.asname})
    return out


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and the statements in it, in the order of ``ast.walk``, which looks into each expression as well."""
    nodes = [node]
    for each in nodes:  # which grows on the way
        yield each
        for value in vars(each).values():
            if type(value) is list and value and isinstance(value[0], _HOLDERS):
                nodes += value


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Conditions that the module gives a name once, and calls by it."""
    found: dict[str, list[ast.expr]] = {}
    for node in _statements(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                found.setdefault(target.id, []).append(node.value)
    top = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
    return {
        name: values[0]
        for name, values in found.items()
        if len(values) == 1 and id(values[0]) in top and isinstance(values[0], ast.BoolOp | ast.Call)
    }


def _span(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno
