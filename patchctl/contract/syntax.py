"""A source file as a syntax tree, and the names that a block of statements binds."""

from __future__ import annotations

import ast
import codecs
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source(Protocol):
    """Where texts come from: repository-relative names with ``/``, contents as bytes."""

    def read(self, path: str) -> bytes | None:
        """The file at ``path``; None where there is none."""

    def exists(self, path: str) -> bool:
        """Whether there is a file at ``path``."""

    def names(self) -> Sequence[str]:
        """The names of all files."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One way in which a name comes to mean something.

    ``kind`` is ``class``, ``function``, ``import``, ``value`` (``node`` is the expression) or ``other`` (a loop's
    variable, the name of an exception, part of an unpacked value). An import carries the ``module`` as written,
    ``level`` dots, and the imported ``attr`` (None: the module itself). ``conditional`` says that it stands under an
    ``if``, ``try`` or loop; ``typing`` that only type checkers see it.
    """

    name: str
    kind: str
    node: ast.AST | None = None
    module: str = ""
    attr: str | None = None
    level: int = 0
    conditional: bool = False
    typing: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a block binds, in order, and the modules that it imports everything from."""

    bound: Mapping[str, Sequence[Binding]] = field(default_factory=dict)
    stars: Sequence[Binding] = ()


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed file. ``fault`` says why it could not be read, and then it is empty."""

    path: str
    tree: ast.Module
    names: Names
    fault: str | None = None


def parse(path: str, data: bytes) -> Module:
    """The module in ``data``; never raises for what the text holds."""
    empty = ast.Module(body=[], type_ignores=[])
    try:
        # A byte order mark is legal before the first line and is no part of the text.
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what upstream's string escapes deserve is not ours to say
            tree = ast.parse(text)
    except SyntaxError as error:
        return Module(path, empty, Names(), f"it does not parse on this Python (line {error.lineno}: {error.msg})")
    except UnicodeDecodeError:
        return Module(path, empty, Names(), "it is not UTF-8")
    except (ValueError, RecursionError, MemoryError) as error:
        return Module(path, empty, Names(), f"it can't be parsed ({error})")
    return Module(path, tree, names_of(tree.body))


def names_of(body: Iterable[ast.stmt]) -> Names:
    """What the statements of ``body`` bind; functions and classes in it are not entered."""
    bound: dict[str, list[Binding]] = {}
    stars: list[Binding] = []
    for binding in _bindings(body, conditional=False, typing=False):
        if binding.attr == "*":
            stars.append(binding)
        else:
            bound.setdefault(binding.name, []).append(binding)
    return Names(bound, stars)


def _bindings(body: Iterable[ast.stmt], *, conditional: bool, typing: bool) -> Iterator[Binding]:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield Binding(statement.name, "class", statement, conditional=conditional, typing=typing)
        elif isinstance(statement, FUNCTIONS):
            yield Binding(statement.name, "function", statement, conditional=conditional, typing=typing)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from _imports(statement, conditional=conditional, typing=typing)
        else:
            for target, value in assignments(statement):
                if isinstance(target, ast.Name):
                    kind = "value" if value is not None else "other"
                    yield Binding(target.id, kind, value, conditional=conditional, typing=typing)
            for block, checked_only in blocks(statement):
                # A with statement runs its body once, like the lines around it.
                inner = conditional or not isinstance(statement, (ast.With, ast.AsyncWith))
                yield from _bindings(block, conditional=inner, typing=typing or checked_only)


def _imports(statement: ast.Import | ast.ImportFrom, *, conditional: bool, typing: bool) -> Iterator[Binding]:
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            name, module, attr, level = alias.asname or alias.name, statement.module or "", alias.name, statement.level
        else:
            # ``import a.b`` binds a, ``import a.b as c`` binds a.b.
            module = alias.name if alias.asname else alias.name.partition(".")[0]
            name, attr, level = alias.asname or module, None, 0
        yield Binding(name, "import", statement, module, attr, level or 0, conditional, typing)


def blocks(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The blocks below a compound statement, and whether only type checkers enter them."""
    if isinstance(statement, ast.If):
        yield statement.body, is_type_checking(statement.test)
        yield statement.orelse, False
        return
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, []), False
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body, False


def is_type_checking(test: ast.expr) -> bool:
    """Whether ``test`` is ``TYPE_CHECKING``, which is false whenever code runs."""
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", None)) == "TYPE_CHECKING"


def assignments(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets that ``statement`` itself binds, each with its value; None where that is no expression at hand."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _unpacked(target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _unpacked(statement.target, None)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield from _unpacked(item.optional_vars, None)


def _unpacked(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield (target.value if isinstance(target, ast.Starred) else target), value
        return
    parts: Sequence[ast.expr | None] = [None] * len(target.elts)
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
        starred = any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts))
        parts = parts if starred else value.elts
    for inner, part in zip(target.elts, parts, strict=True):
        yield from _unpacked(inner, part)


def walk_own(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node below ``body`` in the order of the text, without those of functions and classes defined in it."""
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def walk_method(function: Function) -> Iterator[ast.AST]:
    """Every node of a method in which its first parameter still means the object: not other classes in it."""
    name = own_name(function)
    waiting: list[ast.AST] = [*reversed(function.body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef):
            continue
        if isinstance(node, (*FUNCTIONS, ast.Lambda)) and any(arg.arg == name for arg in parameters(node)):
            continue
        yield node
        waiting += list(ast.iter_child_nodes(node))[::-1]


def parameters(function: Function | ast.Lambda) -> list[ast.arg]:
    """The named parameters, those without a default and by position first."""
    args = function.args
    return [*args.posonlyargs, *args.args, *args.kwonlyargs]


def defaults(function: Function | ast.Lambda) -> dict[str, ast.expr]:
    """The default of each parameter that has one."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    found = dict(
        zip([arg.arg for arg in positional][len(positional) - len(args.defaults) :], args.defaults, strict=True)
    )
    found.update((arg.arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value)
    return found


def decorators(node: Function | ast.ClassDef) -> list[str]:
    """The decorators as they are written, without their arguments."""
    return [ast.unparse(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list]


def is_property(function: Function) -> bool:
    """Whether reading the attribute calls ``function``."""
    last = [name.rpartition(".")[2] for name in decorators(function)]
    return any(name in ("getter", "abstractproperty") or name.endswith("property") for name in last)


def is_static(function: Function) -> bool:
    return "staticmethod" in decorators(function)


def own_name(function: Function) -> str | None:
    """What ``function``, defined in a class, calls the object that it is called on; None for a static method."""
    args = [*function.args.posonlyargs, *function.args.args]
    return args[0].arg if args and not is_static(function) else None


def constant(node: ast.AST | None) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """``("a", "b", "c")`` for ``a.b.c``, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def called(node: ast.AST) -> str | None:
    """The plain name that ``node`` calls (``hasattr``), None if it is no such call."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
