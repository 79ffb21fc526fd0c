"""What the body of a class defines: methods, properties, class attributes, also those set from outside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from patchctl.contract import external
from patchctl.contract.program import ClassRef, External, Program
from patchctl.contract.syntax import (
    FUNCTIONS,
    Function,
    assignments,
    called,
    constant,
    decorators,
    is_property,
    is_type_checking,
)


@dataclass(frozen=True, eq=False)
class Member:
    """An attribute that the class itself has.

    ``kind`` is ``method``, ``property`` or ``attribute``; ``function`` the method's or getter's text, ``value`` the
    attribute's expression. ``condition`` tells under which condition it is there at all (empty: always).
    """

    name: str
    kind: str
    line: int
    function: Function | None = None
    value: ast.expr | None = None
    condition: str = ""


@dataclass(frozen=True, eq=False)
class Body:
    """The members of a class by name, and patterns of names that it sets but that can't be told in full."""

    members: Mapping[str, Member]
    dynamic: tuple[str, ...] = ()


@dataclass
class Bodies:
    """The bodies of a program's classes, each read once."""

    program: Program
    _known: dict[ClassRef, Body] = field(default_factory=dict)

    def of(self, cls: ClassRef) -> Body:
        if cls not in self._known:
            self._known[cls] = _read(cls, self._has_fields(cls))
        return self._known[cls]

    def _has_fields(self, cls: ClassRef) -> bool:
        if any(external.makes_fields(name) for name in decorators(cls.node)):
            return True
        found = [each for node in cls.node.bases for each in self.program.resolve(cls.scope, node)]
        return any(isinstance(each, External) and external.makes_fields(each.name) for each in found)


def _read(cls: ClassRef, fields: bool) -> Body:
    members: dict[str, list[Member]] = {}
    dynamic: list[str] = []
    for member in _members(cls.node.body, (), fields):
        members.setdefault(member.name, []).append(member)
    for statement in cls.scope.module.tree.body if not cls.scope.functions else ():
        _from_outside(cls, statement, members, dynamic)
    return Body({name: _standing(found) for name, found in members.items()}, tuple(dynamic))


def _members(body: Iterable[ast.stmt], under: tuple[str, ...], fields: bool) -> Iterator[Member]:
    for statement in body:
        condition = " and ".join(under)
        if isinstance(statement, FUNCTIONS):
            kind = "property" if is_property(statement) else "method"
            yield Member(statement.name, kind, statement.lineno, statement, None, condition)
        elif isinstance(statement, ast.ClassDef):
            yield Member(statement.name, "attribute", statement.lineno, None, None, condition)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                name = alias.asname or alias.name.partition(".")[0]
                yield Member(name, "attribute", statement.lineno, None, None, condition)
        elif isinstance(statement, ast.If):
            if not is_type_checking(statement.test):
                test = ast.unparse(statement.test)
                yield from _members(statement.body, (*under, test), fields)
                yield from _members(statement.orelse, (*under, f"not ({test})"), fields)
        elif isinstance(statement, ast.Try):
            yield from _members([*statement.body, *statement.orelse, *statement.finalbody], under, fields)
        else:
            yield from _plain(statement, condition, fields)


def _plain(statement: ast.stmt, condition: str, fields: bool) -> Iterator[Member]:
    for target, value in assignments(statement):
        if isinstance(target, ast.Name):
            kind = "property" if _makes_property(value) else "attribute"
            yield Member(target.id, kind, statement.lineno, None, value, condition)
    if fields and isinstance(statement, ast.AnnAssign) and statement.value is None:
        target = statement.target
        if isinstance(target, ast.Name) and "ClassVar" not in ast.unparse(statement.annotation):
            yield Member(target.id, "attribute", statement.lineno, None, None, condition)
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from _members(statement.body, (condition,) if condition else (), fields)


def _makes_property(value: ast.expr | None) -> bool:
    return (called(value) or "").endswith("property") if value is not None else False


def _standing(found: list[Member]) -> Member:
    """The member that stays of several definitions of one name.

    One that always happens replaces those before it; two under a condition and its opposite are always there.
    """
    held = found[0]
    for member in found[1:]:
        if member.function is not None and _is_accessor(member.function):
            continue  # a setter belongs to the property before it
        if not member.condition:
            held = member
        elif not held.condition:
            continue
        elif _opposite(held.condition, member.condition):
            held = Member(held.name, held.kind, held.line, held.function, held.value)
    return held


def _is_accessor(function: Function) -> bool:
    return any(name.endswith((".setter", ".deleter", ".getter")) for name in decorators(function))


def _opposite(one: str, other: str) -> bool:
    return other == f"not ({one})" or one == f"not ({other})"


def _from_outside(cls: ClassRef, statement: ast.stmt, members: dict[str, list[Member]], dynamic: list[str]) -> None:
    """Add what a statement of the module does to the class after its definition."""
    if statement.lineno <= cls.node.lineno or isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return
    top = not isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With))
    condition = "" if top else ast.unparse(statement).partition("\n")[0].rstrip(":")
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt):
            for target, value in assignments(node):
                if isinstance(target, ast.Attribute) and _is_name(target.value, cls.name):
                    member = Member(target.attr, "attribute", node.lineno, None, value, condition)
                    members.setdefault(target.attr, []).append(member)
        if called(node) == "setattr" and isinstance(node, ast.Call) and len(node.args) == 3:
            if not _is_name(node.args[0], cls.name):
                continue
            name = constant(node.args[1])
            if name is None:
                dynamic.append(pattern(node.args[1]))
            else:
                member = Member(name, "attribute", node.lineno, None, node.args[2], condition)
                members.setdefault(name, []).append(member)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def pattern(node: ast.expr) -> str:
    """A regular expression for the names that ``node``, computed when it runs, may stand for."""
    if not isinstance(node, ast.JoinedStr):
        return ".*"
    texts = [constant(part) for part in node.values]
    return "".join(".*" if text is None else re.escape(text) for text in texts)
