"""What must not be wrong with a Python file after a patch went into a text that it was not made for.

A finding turns a success into a decision. Only what a patch brought about counts: what was already so in the
file before, or is so in the patch's own result, is not this module's business.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Larger files are tables and generated code; parsing them costs seconds and hundreds of megabytes.
_LARGEST = 1024 * 1024
_DEEPEST = 60
_OVERLOADS = frozenset({"overload", "setter", "getter", "deleter", "register", "dispatch"})


# What a patch adds, where there is no base to compare with.
_ADDED = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)")

# Scope, kind and name of a definition.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault in the result: ``kind`` is syntax, defined-twice or name-gone; ``line`` counts from 1."""

    kind: str
    text: str
    line: int | None = None


def check(
    path: str, before: bytes, after: bytes, base: bytes | None = None, patched: bytes | None = None
) -> list[Finding]:
    """Findings in ``after``, which a patch made from ``before``; with ``base`` it made ``patched`` from that."""
    if not path.endswith((".py", ".pyi")) or max(len(before), len(after)) > _LARGEST:
        return []
    old, new = _facts(before), _facts(after)
    made = _facts(patched) if patched is not None else None
    if new is None:
        broken = old is not None and (patched is None or made is not None)
        return [Finding("syntax", f"{path} is no valid Python any more.")] if broken else []
    if old is None:
        return []
    found = list(_twice(old, new, made))
    original = _facts(base) if base is not None else None
    if original is not None and made is not None:
        found += _gone(original, made, new)
    return found


def rivals(path: str, onto: bytes, base: bytes, patched: bytes) -> list[Finding]:
    """Definitions that the patch makes of ``base`` and that ``onto`` has got by itself, in the same scope."""
    if not path.endswith((".py", ".pyi")) or max(len(onto), len(base), len(patched)) > _LARGEST:
        return []
    here, there, made = _facts(onto), _facts(base), _facts(patched)
    if here is None or there is None or made is None:
        return []
    found = []
    for key in made.defined:
        scope, kind, name = key
        if kind != "import" and key in here.defined and key not in there.defined:
            where = f" of {scope}" if scope else ""
            text = (
                f"The tree has its own {kind} {name}{where}, which the patch adds: "
                "upstream seems to have taken it, with changes."
            )
            found.append(Finding("superseded", text, here.lines[key]))
    return found


def namesakes(path: str, onto: bytes, added: Iterable[bytes], removed: Iterable[bytes]) -> list[Finding]:
    """Functions and classes that are new on the lines ``added`` and stand somewhere in ``onto`` already."""
    if not path.endswith((".py", ".pyi")) or len(onto) > _LARGEST:
        return []
    names = {found[1] for found in map(_ADDED.match, added) if found}
    names -= {found[1] for found in map(_ADDED.match, removed) if found}
    facts = _facts(onto) if names else None
    if facts is None:
        return []
    return [
        Finding(
            "defined-already", f"{kind} {name}, which the patch adds, is there already.", facts.lines[scope, kind, name]
        )
        for scope, kind, name in facts.defined
        if kind not in ("import", "key") and name.encode() in names
    ]


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is asked about a module; its syntax tree, a hundred times larger, need not live on."""

    defined: Counter[Key]
    lines: dict[Key, int]
    bound: set[str]
    used: dict[str, int]


def _facts(data: bytes) -> _Facts | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = list(_walk(tree, "", 0))
    bound: set[str] = set()
    used: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] = node.lineno
        else:
            bound.update(_bound(node))
    return _Facts(Counter(key for key, _ in found), dict(found), bound, used)


def _twice(old: _Facts, new: _Facts, made: _Facts | None) -> Iterator[Finding]:
    for key, count in new.defined.items():
        if count > 1 and count > max(old.defined[key], made.defined[key] if made is not None else 0):
            scope, kind, name = key
            where = f" of {scope}" if scope else ""
            yield Finding("defined-twice", f"{kind} {name}{where} would be defined {count} times.", new.lines[key])


def _walk(node: ast.AST, scope: str, depth: int) -> Iterator[tuple[Key, int]]:
    """What each scope defines in its own statements; branches of an ``if`` may well define a name twice."""
    body = getattr(node, "body", [])
    if depth > _DEEPEST or not isinstance(body, list):
        return
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "class" if isinstance(statement, ast.ClassDef) else "method" if _is_class(node) else "function"
            if statement.name != "_" and not any(_overloads(item) for item in statement.decorator_list):
                yield (scope, kind, statement.name), statement.lineno
            yield from _walk(statement, f"{scope}.{statement.name}" if scope else statement.name, depth + 1)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            module = "." * statement.level + (statement.module or "") if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                bound = alias.asname or alias.name
                yield (scope, "import", f"{module}:{bound}" if module else bound), statement.lineno
        else:
            yield from _keys(statement, scope)


def _keys(statement: ast.stmt, scope: str) -> Iterator[tuple[Key, int]]:
    """The constant keys of the dictionaries that are assigned to a name."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Dict):
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    table = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    for key in statement.value.keys:
        if isinstance(key, ast.Constant):
            yield (f"{scope}.{table}" if scope else table, "key", repr(key.value)), key.lineno


def _is_class(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef)


def _overloads(decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in _OVERLOADS


def _gone(base: _Facts, patched: _Facts, after: _Facts) -> Iterator[Finding]:
    """Names that the patch uses, that its own file bound, and that nothing in the result binds."""
    if "*" in after.bound:
        return  # who knows what a star import brings
    for name in sorted(patched.used.keys() & after.used.keys() & ((base.bound | patched.bound) - after.bound)):
        if not hasattr(builtins, name):
            text = f"{name} is used, but nothing in the file defines or imports it any more."
            yield Finding("name-gone", text, after.used[name])


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that ``node`` itself binds, in whatever scope."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
