"""Delegation: what a method, a property or ``__getattr__`` passes on to an object that ``self`` holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from patchctl.contract import guards
from patchctl.contract.guards import leaves
from patchctl.contract.syntax import Function, assignments, called, constant, own_name, walk_own
from patchctl.contract.uses import WRITE, State, Walker


@dataclass(frozen=True)
class Forward:
    """``self.<chain>.<name>`` is asked for; ``guarded`` if a missing one is lived with."""

    chain: tuple[str, ...]
    name: str
    guarded: bool
    line: int


def forwards(function: Function, name: str) -> list[Forward]:
    """What ``function``, the method or getter called ``name``, asks of the same name of what ``self`` holds."""
    chains = _Chains(function)
    walker = Walker(chains.key)
    walker.block(function.body, State())
    found = [
        Forward(use.key, use.name, use.guard != guards.NONE, use.line)
        for use in walker.uses
        if use.name == name and use.kind != WRITE and isinstance(use.key, tuple)
        # self.x.x inside x asks x itself, and would never end.
        if use.key and name not in use.key
    ]
    return list(dict.fromkeys(found))


def forwards_any(function: Function, name: str) -> list[Forward] | None:
    """What ``__getattr__`` passes ``name`` on to; None if it does something else with it.

    Asking ``super()`` first changes nothing: that is what ``object`` would say. Names that it compares with literals
    are cases of their own.
    """
    args = [*function.args.posonlyargs, *function.args.args]
    if len(args) != 2:
        return None
    chains, wanted = _Chains(function), args[1].arg
    found: list[Forward] = []
    for node in _met(function.body, wanted, name):
        if not isinstance(node, (ast.Return, ast.Expr)) or node.value is None:
            continue
        value = node.value
        if called(value) == "getattr" and isinstance(value, ast.Call) and len(value.args) == 2:
            chain = chains.chain(value.args[0])
            if chain and _is_name(value.args[1], wanted):
                found.append(Forward(chain, "", False, node.lineno))
                continue
        if isinstance(node, ast.Return) and not _asks_super(value):
            return None
    return found


def _met(body: list[ast.stmt], parameter: str, name: str) -> Iterator[ast.AST]:
    """The statements that run for ``name``: not those under ``if parameter == "another name"``."""
    for statement in body:
        if isinstance(statement, ast.If):
            literals = _compared(statement.test, parameter)
            if literals is None or name in literals:
                yield from _met(statement.body, parameter, name)
            if literals is None or name not in literals:
                yield from _met(statement.orelse, parameter, name)
            if literals is not None and name in literals and leaves(statement.body):
                return
        elif isinstance(statement, (ast.Try, ast.With)):
            yield from _met(statement.body, parameter, name)
            for handler in getattr(statement, "handlers", ()):
                yield from _met(handler.body, parameter, name)
        else:
            yield from walk_own([statement])


def _compared(test: ast.expr, parameter: str) -> list[str] | None:
    """The literals that ``test`` compares the parameter with; None if it is another test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_name(test.left, parameter):
        return None
    if not isinstance(test.ops[0], (ast.Eq, ast.In)):
        return None
    texts = [constant(node) for node in ast.walk(test.comparators[0]) if isinstance(node, ast.Constant)]
    return [text for text in texts if text is not None] if None not in texts else None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def only_refuses(function: Function) -> bool:
    """Whether ``__getattr__`` never finds anything: it asks ``super()``, or raises."""
    return all(
        node.value is not None and _asks_super(node.value)
        for node in walk_own(function.body)
        if isinstance(node, ast.Return)
    )


def _asks_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("__getattr__", "__getattribute__")
    )


@dataclass
class _Chains:
    """Tells expressions that start at ``self`` by their attributes: ``("model", "layers")``."""

    function: Function
    _locals: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for node in walk_own(self.function.body):
            if isinstance(node, ast.stmt):
                for target, value in assignments(node):
                    if isinstance(target, ast.Name):
                        self._locals.setdefault(target.id, []).append(value)

    def key(self, node: ast.expr) -> tuple[str, ...] | None:
        """The chain of ``node``, None for ``self`` alone: what is asked of that is no delegation."""
        return self.chain(node) or None

    def chain(self, node: ast.expr) -> tuple[str, ...] | None:
        if isinstance(node, ast.Name):
            return () if node.id == own_name(self.function) else self._local(node.id)
        if isinstance(node, ast.Attribute):
            return self._longer(node.value, node.attr)
        if called(node) == "getattr" and isinstance(node, ast.Call) and len(node.args) >= 2:
            name = constant(node.args[1])
            return self._longer(node.args[0], name) if name else None
        if isinstance(node, ast.NamedExpr):
            return self.chain(node.value)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            return next((chain for chain in map(self.chain, parts) if chain), None)
        return None

    def _longer(self, node: ast.expr, name: str) -> tuple[str, ...] | None:
        chain = self.chain(node)
        return None if chain is None else (*chain, name)

    def _local(self, name: str) -> tuple[str, ...] | None:
        values = self._locals.get(name, [])
        if len(values) != 1 or values[0] is None or name in self._busy:
            return None
        self._busy.add(name)
        try:
            return self.chain(values[0])
        finally:
            self._busy.discard(name)


def chains_of(forwards: list[Forward]) -> Iterator[tuple[str, ...]]:
    """The different chains, in order."""
    yield from dict.fromkeys(forward.chain for forward in forwards)
