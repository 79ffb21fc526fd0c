"""What is asked about a Python module: what its scopes define, which names it binds, and which nothing binds.

The values are small; the syntax tree, a hundred times larger, does not live on. They depend on nothing but the text
and the grammar of the Python that runs here.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

# Larger files are tables and generated code; parsing them costs seconds and hundreds of megabytes.
LARGEST = 1024 * 1024
_DEEPEST = 60
# Decorators under which a name is defined again on purpose, and those whose definitions are told apart by them.
_OVERLOADS = frozenset({"overload", "register", "dispatch"})
_ACCESSORS = frozenset({"setter", "getter", "deleter"})
# Without this no name is taken by a star: to look for one in every node of the tree costs as much as to parse it.
_STAR = re.compile(rb"\bimport[\s\\]*\*")
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.alias, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
_DYNAMIC = (b"globals()", b"sys.modules", b"exec(", b"vars()")
_MODULE_NAMES = frozenset({"__file__", "__name__", "__doc__", "__path__", "__spec__", "__loader__", "__package__"})

# Scope and name of a definition; the key of a dictionary has the dictionary as its scope.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """The definitions of a module: how often each, of which kind, and on which line last (from 1).

    A branch (``if``, ``else``, ``try`` …) is a scope of its own, for a name may well be defined in each.
    """

    defined: Counter[Key]
    kinds: dict[Key, str]
    lines: dict[Key, int]


@dataclass(frozen=True, slots=True)
class Names:
    """``top``: what a module binds for all of itself. ``free``: what it uses and nothing in it, nor Python, binds.

    ``stars``: the modules (dots of a relative import included) whose names it takes all; ``open``: it makes names
    in ways that the text does not show; ``listed``: its ``__all__``, if that is a plain list.
    """

    top: frozenset[str]
    free: frozenset[str]
    stars: tuple[str, ...] = ()
    open: bool = False
    listed: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class _Module:
    """What one parse of a module tells."""

    facts: Facts
    stars: tuple[str, ...]
    listed: frozenset[str] | None


def facts(data: bytes) -> Facts | None:
    """The definitions of the module ``data``; None if it is too large or does not parse."""
    told = _module(data)
    return told.facts if told is not None else None


@lru_cache(maxsize=64)
def _module(data: bytes) -> _Module | None:
    tree = parse(data)
    if tree is None:
        return None
    found = list(_walk(tree, "", 0))
    counts = Counter(key for key, _, _ in found)
    for (key, _, line), times in _keys(tree, data).items() if b"{" in data else ():
        counts[key] = max(counts[key], times)
        found.append((key, "key", line))
    known = Facts(counts, {key: kind for key, kind, _ in found}, {key: line for key, _, line in found})
    return _Module(known, tuple(_stars(tree)) if _STAR.search(data) else (), _listed(tree))


def _stars(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield "." * node.level + (node.module or "")


@lru_cache(maxsize=64)
def names(data: bytes) -> Names | None:
    """The names of the module ``data``; None if it is too large or does not parse."""
    told = _module(data)
    if told is None:
        return None
    try:
        table = symtable.symtable(data.decode("utf-8-sig", "replace"), "module", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    top = {each.get_name() for each in table.get_symbols() if _binds(each)}
    used = {each.get_name() for each in table.get_symbols() if each.is_referenced() and not _binds(each)}
    stack = list(table.get_children())
    while stack:
        inner = stack.pop()
        stack += inner.get_children()
        for each in inner.get_symbols():
            if each.is_global() and each.is_referenced():
                used.add(each.get_name())
            if each.is_declared_global() and _binds(each):
                top.add(each.get_name())
    free = {name for name in used - top if not hasattr(builtins, name)} - _MODULE_NAMES
    is_open = "__getattr__" in top or any(word in data for word in _DYNAMIC)
    return Names(frozenset(top), frozenset(free), told.stars, is_open, told.listed)


def parse(data: bytes) -> ast.Module | None:
    """The syntax tree of ``data``; None if it has none, or is too large to ask."""
    if len(data) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def line_of(data: bytes, name: str) -> int | None:
    """The first line (from 1) on which ``data`` uses ``name``."""
    tree = parse(data)
    uses = (node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name) if tree else ()
    return min(uses, default=None)


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace() or symbol.is_parameter()


def _listed(tree: ast.Module) -> frozenset[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError):
                return None
            return (
                frozenset(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else None
            )
    return None


def _walk(node: ast.AST, scope: str, depth: int) -> Iterator[tuple[Key, str, int]]:
    """What each scope defines in its own statements: key, kind, line."""
    body = getattr(node, "body", [])
    if depth > _DEEPEST or not isinstance(body, list):
        return
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = _told_name(statement)
            if name:
                yield (scope, name), _kind(statement, node), statement.lineno
            yield from _walk(statement, _inside(scope, statement.name), depth + 1)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                bound = alias.asname or alias.name
                if bound != "*":
                    yield (scope, bound), "import", statement.lineno
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            if isinstance(node, ast.Module | ast.ClassDef):
                yield from _assigned(statement, scope, node)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            yield from _branches(statement, scope, depth)


def _branches(statement: ast.stmt, scope: str, depth: int) -> Iterator[tuple[Key, str, int]]:
    """The definitions in the branches of a compound statement, each branch a scope that is named by its condition."""
    head = ast.unparse(statement.test) if isinstance(statement, ast.If | ast.While) else type(statement).__name__
    for part in ("body", "orelse", "finalbody"):
        inner = getattr(statement, part, [])
        if inner:
            branch = ast.Module(inner, [])
            yield from _in_branch(branch, f"{scope}{{{part} {head}}}", depth + 1)
    for handler in getattr(statement, "handlers", []):
        name = ast.unparse(handler.type) if handler.type else ""
        yield from _in_branch(ast.Module(handler.body, []), f"{scope}{{except {name}}}", depth + 1)


def _in_branch(branch: ast.Module, scope: str, depth: int) -> Iterator[tuple[Key, str, int]]:
    for key, kind, line in _walk(branch, scope, depth):
        if kind != "constant":  # a branch may set a name step by step
            yield key, kind, line


def _assigned(statement: ast.Assign | ast.AnnAssign, scope: str, node: ast.AST) -> Iterator[tuple[Key, str, int]]:
    """The names that a module or class gives a value, unless the value builds on the name itself."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if statement.value is None:
        return
    used = {part.id for part in ast.walk(statement.value) if isinstance(part, ast.Name)}
    for target in targets:
        if isinstance(target, ast.Name) and target.id != "_" and target.id not in used:
            yield (scope, target.id), "constant", statement.lineno


def _keys(tree: ast.Module, data: bytes) -> dict[tuple[Key, str, int], int]:
    """The keys that one dictionary has more than once, as constants or names, and how often; tables are named by
    their target."""
    out: dict[tuple[Key, str, int], int] = {}
    owners: dict[int, ast.expr] = {}
    for node in _bracing(tree, data):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            owners[id(node.value)] = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(node, ast.Dict):
            told = [key for key in node.keys if isinstance(key, ast.Constant | ast.Name | ast.Attribute)]
            if len(set(map(_likeness, told))) == len(told):
                continue
            owner = owners.get(id(node))
            table = ast.unparse(owner) if owner is not None else "a dictionary"
            shown = [ast.unparse(key) for key in told]
            counts = Counter(shown)
            for key, text in zip(told, shown, strict=True):
                if counts[text] > 1:
                    out[(table, text), "key", key.lineno] = counts[text]
    return out


def _likeness(key: ast.Constant | ast.Name | ast.Attribute) -> tuple[type, object]:
    """What is the same of all keys that are written alike; cheaper than to write them."""
    if isinstance(key, ast.Constant):
        return type(key.value), key.value
    return type(key), key.id if isinstance(key, ast.Name) else key.attr


def _bracing(tree: ast.Module, data: bytes) -> Iterator[ast.AST]:
    """The nodes of ``tree`` that may hold a dictionary, in the order of ``ast.walk``, in a fraction of its time:
    without a brace on its lines a statement has none."""
    braces = [0, *accumulate(line.count(b"{") for line in data.splitlines()), 0]
    braces[-1] = braces[-2]
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # which grows on the way
        if isinstance(node, ast.stmt) and not _braced(node, braces):
            continue
        yield node
        for value in vars(node).values():
            if type(value) is list:
                nodes += [each for each in value if isinstance(each, ast.AST) and not isinstance(each, _LEAVES)]
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                nodes.append(value)


def _braced(node: ast.stmt, braces: list[int]) -> bool:
    first: int = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return braces[node.end_lineno or -1] > braces[first - 1]


def _told_name(statement: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The name under which a definition counts; None if to define it again is no fault."""
    for decorator in statement.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if word in _OVERLOADS:
            return None
        if word in _ACCESSORS:
            return f"{statement.name}.{word}"
    return statement.name if statement.name != "_" else None


def _kind(statement: ast.stmt, around: ast.AST) -> str:
    if isinstance(statement, ast.ClassDef):
        return "class"
    return "method" if isinstance(around, ast.ClassDef) else "function"


def _inside(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name
