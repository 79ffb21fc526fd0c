"""What a function returns and what its variables are given, each function read once."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from patchctl.contract.program import Program
from patchctl.contract.syntax import Function, walk_own

# A value, and for what a loop runs over the loop's target.
Bound: TypeAlias = "tuple[ast.expr, ast.expr | None]"


@dataclass
class Functions:
    """The functions of one program, told apart as the nodes of its syntax trees."""

    program: Program
    _returned: dict[int, Sequence[ast.expr]] = field(default_factory=dict)
    _bound: dict[int, Mapping[str, Sequence[Bound]]] = field(default_factory=dict)

    def returned(self, function: Function) -> Sequence[ast.expr]:
        """The values of its return statements."""
        if id(function) not in self._returned:
            self._read(function)
        return self._returned[id(function)]

    def bound(self, function: Function) -> Mapping[str, Sequence[Bound]]:
        """Its variables: the values that they are given, loops and ``:=`` included."""
        if id(function) not in self._bound:
            self._read(function)
        return self._bound[id(function)]

    def _read(self, function: Function) -> None:
        bound: dict[str, list[Bound]] = {}
        returned: list[ast.expr] = []
        for name, bindings in self.program.names(function).bound.items():
            values = [each.node for each in bindings if each.kind == "value" and isinstance(each.node, ast.expr)]
            if values:
                bound[name] = [(value, None) for value in values]
        for node in walk_own(function.body):
            if isinstance(node, ast.Return) and node.value is not None:
                returned.append(node.value)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                for part in ast.walk(node.target):
                    if isinstance(part, ast.Name):
                        bound.setdefault(part.id, []).append((node.iter, node.target))
            elif isinstance(node, ast.NamedExpr):
                bound.setdefault(node.target.id, []).append((node.value, None))
        self._returned[id(function)] = returned
        self._bound[id(function)] = bound
