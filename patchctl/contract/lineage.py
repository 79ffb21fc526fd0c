"""Inheritance: the classes in which Python looks an attribute up, in order, as far as the tree tells."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from patchctl.contract import external
from patchctl.contract.program import ClassRef, External, FunctionRef, Program
from patchctl.contract.syntax import decorators

Base: TypeAlias = "ClassRef | External"


@dataclass(frozen=True, eq=False)
class Lineage:
    """A class and its bases in Python's method resolution order.

    ``doubts`` say why it may have attributes that its text does not tell: a base from elsewhere, a base that
    depends on a condition, a decorator, a metaclass.
    """

    order: tuple[Base, ...]
    doubts: tuple[str, ...]

    @property
    def classes(self) -> tuple[ClassRef, ...]:
        return tuple(each for each in self.order if isinstance(each, ClassRef))


@dataclass
class Lineages:
    """The lineages of a program, each worked out once."""

    program: Program
    _known: dict[ClassRef, Lineage] = field(default_factory=dict)

    def of(self, cls: ClassRef) -> Lineage:
        if cls not in self._known:
            self._known[cls] = self._of(cls, frozenset())
        return self._known[cls]

    def _of(self, cls: ClassRef, above: frozenset[ClassRef]) -> Lineage:
        doubts = [*self._decorated(cls)]
        bases: list[Base] = []
        for node in cls.node.bases:
            base, doubt = self._base(cls, node, above | {cls})
            doubts += [doubt] if doubt else []
            if base is not None and base not in bases:
                bases.append(base)
        for keyword in cls.node.keywords:
            if keyword.arg == "metaclass" and ast.unparse(keyword.value).rpartition(".")[2] not in (
                "ABCMeta",
                "EnumMeta",
            ):
                doubts.append(f"{cls.name} has the metaclass {ast.unparse(keyword.value)}")
        tails = []
        for base in bases:
            lineage = self._of(base, above | {cls}) if isinstance(base, ClassRef) else Lineage((base,), ())
            doubts += lineage.doubts
            tails.append(lineage.order)
        merged = _merge([*tails, bases])
        if merged is None:
            doubts.append(f"the bases of {cls.name} have no common order")
            merged = list(dict.fromkeys(each for tail in tails for each in tail))
        return Lineage((cls, *merged), tuple(dict.fromkeys(doubts)))

    def _base(self, cls: ClassRef, node: ast.expr, above: frozenset[ClassRef]) -> tuple[Base | None, str | None]:
        while isinstance(node, ast.Subscript):  # Generic[T]
            node = node.value
        text = ast.unparse(node)
        found = self.program.resolve(cls.scope, node, before=cls.node.lineno)
        classes = [each for each in dict.fromkeys(found) if isinstance(each, ClassRef)]
        if classes:
            looped = classes[0] in above
            if looped:
                return None, f"{cls.name} inherits from itself"
            return classes[0], f"which {text} is meant depends on a condition" if len(classes) > 1 else None
        outside = next((each for each in found if isinstance(each, External)), External(text))
        if external.known(outside):
            return outside, None
        return outside, f"{cls.name} inherits from {text}, whose code is not in the tree"

    def _decorated(self, cls: ClassRef) -> list[str]:
        doubts = []
        for node, name in zip(cls.node.decorator_list, decorators(cls.node), strict=True):
            target = node.func if isinstance(node, ast.Call) else node
            found = self.program.resolve(cls.scope, target)
            full = next((each.name for each in found if isinstance(each, External)), name)
            if external.harmless(name) or external.harmless(full):
                continue
            function = next((each for each in found if isinstance(each, FunctionRef)), None)
            if function is None or not _returns_its_class(function):
                doubts.append(f"{cls.name} is decorated with {name}")
        return doubts


def _returns_its_class(function: FunctionRef) -> bool:
    """Whether a class decorator only registers the class and hands it back."""
    args = function.node.args
    given = [*args.posonlyargs, *args.args]
    if len(given) != 1 or args.vararg or args.kwarg:
        return False
    name = given[0].arg
    for node in ast.walk(function.node):
        if isinstance(node, ast.Return) and not (isinstance(node.value, ast.Name) and node.value.id == name):
            return False
        touched = node.value if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            touched = node.args[0] if node.args else None
        if isinstance(touched, ast.Name) and touched.id == name:
            return False
    return True


def _merge(tails: Sequence[Sequence[Base]]) -> list[Base] | None:
    """The C3 linearisation of the tails (Python's "method resolution order"), None where there is none."""
    waiting = [list(tail) for tail in tails]
    merged: list[Base] = []
    while True:
        waiting = [tail for tail in waiting if tail]
        if not waiting:
            return merged
        head = next(
            (tail[0] for tail in waiting if not any(tail[0] in other[1:] for other in waiting)),
            None,
        )
        if head is None:
            return None
        merged.append(head)
        waiting = [tail[1:] if tail[0] == head else tail for tail in waiting]
