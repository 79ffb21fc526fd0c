"""A tree of source files as a program: what a name means where it stands, over files and import aliases."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from patchctl.contract.syntax import FUNCTIONS, Binding, Function, Module, Names, Source, names_of, parse


@dataclass(frozen=True, eq=False)
class Scope:
    """Where an expression stands: the file and, innermost first, the functions around it."""

    module: Module
    functions: tuple[Function, ...] = ()

    def inside(self, function: Function) -> Scope:
        return Scope(self.module, (function, *self.functions))


@dataclass(frozen=True, eq=False)
class ClassRef:
    """A class of the tree. Two are the same if they are the same text."""

    scope: Scope
    node: ast.ClassDef
    name: str

    @property
    def path(self) -> str:
        return self.scope.module.path

    @property
    def key(self) -> tuple[str, int]:
        return self.path, self.node.lineno

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassRef) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class FunctionRef:
    """A function of the tree that is no method."""

    scope: Scope
    node: Function


@dataclass(frozen=True)
class External:
    """Something that the tree does not hold, by its full name (``torch.nn.Module``)."""

    name: str


@dataclass(frozen=True, eq=False)
class Value:
    """Something computed: the expression, and where it stands."""

    scope: Scope
    node: ast.expr


Meaning: TypeAlias = "ClassRef | FunctionRef | Module | External | Value"


@dataclass
class Program:
    """Reads and parses files as they are needed, each once."""

    source: Source
    modules: dict[str, Module | None] = field(default_factory=dict)
    _names: dict[int, Names] = field(default_factory=dict)
    _meant: dict[Hashable, list[Meaning]] = field(default_factory=dict)
    _found: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def module(self, path: str) -> Module | None:
        """The file at ``path``, None if there is none; one that can't be parsed says so in ``fault``."""
        if path not in self.modules:
            data = self.source.read(path)
            self.modules[path] = None if data is None else parse(path, data)
        return self.modules[path]

    def find_class(self, path: str, name: str) -> ClassRef | None:
        """The class ``name`` (``Outer.Inner`` for one inside another) that the file at ``path`` defines."""
        return next(iter(self.find_classes(path, name)), None)

    def find_classes(self, path: str, name: str) -> list[ClassRef]:
        """All classes that may be called so there: several where that depends on a condition."""
        module = self.module(path)
        if module is None:
            return []
        first, *inner = name.split(".")
        found = self.lookup(Scope(module), first)
        for part in inner:
            found = [meaning for each in found for meaning in self._member(each, part)]
        return [each for each in dict.fromkeys(found) if isinstance(each, ClassRef)]

    def lookup(self, scope: Scope, name: str, *, typing: bool = False, before: int | None = None) -> list[Meaning]:
        """What ``name`` may mean in ``scope``: several things where that depends on a condition.

        ``typing`` also takes what only type checkers see, as annotations do. ``before`` is the line of a statement
        that runs as it is read (``class A(A)``): only what is bound above it counts.
        """
        return self._lookup(scope, name, typing, before)

    def resolve(self, scope: Scope, node: ast.AST, *, typing: bool = False, before: int | None = None) -> list[Meaning]:
        """What a name, possibly dotted, may mean in ``scope``. Anything else is a :class:`Value`."""
        if isinstance(node, ast.Name):
            return self.lookup(scope, node.id, typing=typing, before=before) or [External(node.id)]
        if isinstance(node, ast.Attribute):
            found = self.resolve(scope, node.value, typing=typing, before=before)
            return [meaning for each in found for meaning in self._member(each, node.attr, typing)]
        return [Value(scope, node)] if isinstance(node, ast.expr) else []

    def names(self, function: Function) -> Names:
        """The names that the body of ``function`` binds."""
        if id(function) not in self._names:
            self._names[id(function)] = names_of(function.body)
        return self._names[id(function)]

    def find_module(self, name: str, near: str) -> str | None:
        """The path of the module ``name`` (absolute, dotted) as a file at ``near`` imports it."""
        where = (near.rpartition("/")[0], name)
        if where not in self._found:
            self._found[where] = self._find_module(name, near)
        return self._found[where]

    def _find_module(self, name: str, near: str) -> str | None:
        below = name.replace(".", "/")
        parts = near.split("/")[:-1]
        # The root of the imports is one of the folders above; the outermost that fits, as packages nest.
        for depth in range(len(parts) + 1):
            root = "".join(f"{part}/" for part in parts[:depth])
            for path in (f"{root}{below}/__init__.py", f"{root}{below}.py"):
                if self.source.exists(path):
                    return path
        return None

    def _lookup(self, scope: Scope, name: str, typing: bool, before: int | None = None) -> list[Meaning]:
        key = (id(scope.module), tuple(map(id, scope.functions)), name, typing, before)
        if key not in self._meant:
            self._meant[key] = []  # what refers to itself, by names or by imports, means nothing the second time
            self._meant[key] = list(self._look_up(scope, name, typing, before))
        return self._meant[key]

    def _look_up(self, scope: Scope, name: str, typing: bool, before: int | None) -> Iterator[Meaning]:
        for at, function in enumerate(scope.functions):
            local = _above(self.names(function).bound.get(name), before)
            if local:
                inner = Scope(scope.module, scope.functions[at:])
                yield from self._meanings(inner, _standing(local, typing), typing)
                return
            if any(arg.arg == name for arg in ast.walk(function.args) if isinstance(arg, ast.arg)):
                return  # a parameter hides what the module calls so
        top = Scope(scope.module)
        bound = _above(scope.module.names.bound.get(name), before)
        if bound:
            yield from self._meanings(top, _standing(bound, typing), typing)
            return
        for star in scope.module.names.stars:
            module = self._imported(star, scope.module.path)
            if module is not None and not name.startswith("_"):
                yield from self._lookup(Scope(module), name, typing)

    def _meanings(self, scope: Scope, found: Iterable[Binding], typing: bool) -> Iterator[Meaning]:
        for binding in found:
            node = binding.node
            if isinstance(node, ast.ClassDef):
                yield ClassRef(scope, node, node.name)
            elif isinstance(node, FUNCTIONS):
                yield FunctionRef(scope, node)
            elif binding.kind == "import":
                yield from self._through_import(binding, scope.module.path, typing)
            elif isinstance(node, (ast.Name, ast.Attribute)) and not _is_itself(node, binding.name):
                found_here = self._alias(scope, node, typing)
                yield from found_here or [Value(scope, node)]
            elif isinstance(node, ast.expr):
                yield Value(scope, node)

    def _alias(self, scope: Scope, node: ast.expr, typing: bool) -> list[Meaning]:
        if isinstance(node, ast.Name):
            return self._lookup(scope, node.id, typing)
        if isinstance(node, ast.Attribute):
            return [
                meaning
                for each in self._alias(scope, node.value, typing)
                for meaning in self._member(each, node.attr, typing)
            ]
        return []

    def _through_import(self, binding: Binding, near: str, typing: bool) -> Iterator[Meaning]:
        module = self._imported(binding, near)
        full = ".".join(part for part in ("." * binding.level + binding.module, binding.attr) if part)
        if binding.attr is None:
            yield module if module is not None else External(full)
            return
        if module is not None:
            found = self._lookup(Scope(module), binding.attr, typing)
            if found:
                yield from found
                return
            if module.fault is not None:
                yield External(full)
                return
        # What a package does not define may be a module in it.
        name = f"{binding.module}.{binding.attr}" if binding.module else binding.attr
        path = self.find_module(self._absolute(name, binding.level, near), near)
        below = self.module(path) if path else None
        yield below if below is not None else External(full)

    def _imported(self, binding: Binding, near: str) -> Module | None:
        path = self.find_module(self._absolute(binding.module, binding.level, near), near)
        return self.module(path) if path is not None else None

    @staticmethod
    def _absolute(name: str, level: int, near: str) -> str:
        if level == 0:
            return name
        folder = near.split("/")[:-1]
        above = folder[: len(folder) - (level - 1)]
        return ".".join([*above, *([name] if name else [])])

    def _member(self, owner: Meaning, name: str, typing: bool = False) -> list[Meaning]:
        """What ``owner.name`` means."""
        if isinstance(owner, External):
            return [External(f"{owner.name}.{name}")]
        if isinstance(owner, Module):
            found = self._lookup(Scope(owner), name, typing)
            if not found and owner.path.endswith("__init__.py"):
                folder = owner.path.removesuffix("__init__.py")
                for path in (f"{folder}{name}/__init__.py", f"{folder}{name}.py"):
                    module = self.module(path) if self.source.exists(path) else None
                    found = [module] if module is not None else found
            return found
        if isinstance(owner, ClassRef):
            inner = names_of(owner.node.body).bound.get(name, ())
            return list(self._meanings(owner.scope, _standing(inner, typing), typing))
        return []


def _above(found: Sequence[Binding] | None, line: int | None) -> Sequence[Binding]:
    """The bindings that stand above ``line``, if one is named."""
    if not found or line is None:
        return found or ()
    return [binding for binding in found if getattr(binding.node, "lineno", 0) < line]


def _is_itself(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _standing(found: Iterable[Binding], typing: bool) -> list[Binding]:
    """Those of the bindings of one name that may hold at the end: all since the last that always happens."""
    seen = list(found)
    running = [binding for binding in seen if not binding.typing]
    held: list[Binding] = []
    for binding in seen if typing or not running else running:
        held = [*held, binding] if binding.conditional else [binding]
    return held
