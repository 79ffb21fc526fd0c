"""The attributes that a class's own methods give its objects, as its constructor really runs.

A base class's constructor counts only where it is reached: by ``super().__init__``, or by name. A subclass that
calls ``nn.Module.__init__`` instead has none of what its parent's constructor sets.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patchctl.contract.lineage import Lineages
from patchctl.contract.members import Bodies, pattern
from patchctl.contract.program import ClassRef, Program, Scope
from patchctl.contract.syntax import (
    Function,
    assignments,
    called,
    constant,
    defaults,
    own_name,
    parameters,
    walk_method,
)

_REGISTERING = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


@dataclass(frozen=True, eq=False)
class Frame:
    """A function as it runs: for an object of class ``cls``, defined in ``owner``.

    ``given`` are the arguments that are known, each with the frame that it was written in.
    """

    scope: Scope
    function: Function | None = None
    cls: ClassRef | None = None
    owner: ClassRef | None = None
    given: Mapping[str, tuple[ast.expr, Frame]] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """Equal for two frames in which every expression means the same."""
        return id(self.scope.module), id(self.function), self.cls, id(self.given) if self.given else 0

    @property
    def self_name(self) -> str | None:
        return own_name(self.function) if self.function is not None and self.owner is not None else None

    def at(self, scope: Scope) -> Frame:
        return replace(self, scope=scope)


@dataclass(frozen=True, eq=False)
class Assignment:
    """One place where an object gets an attribute; ``value`` is None where that is no expression at hand.

    ``later`` says that the constructor does not come by: another method does it.
    """

    name: str
    value: ast.expr | None
    frame: Frame
    line: int
    later: bool

    @property
    def owner(self) -> ClassRef:
        assert self.frame.owner is not None
        return self.frame.owner


@dataclass(frozen=True, eq=False)
class Attributes:
    """What the methods of a class set on its objects, and patterns of names that they set by computed names."""

    assigned: Mapping[str, Sequence[Assignment]]
    dynamic: tuple[str, ...]


@dataclass
class Instances:
    """The attributes of the objects of a program's classes, each class worked out once."""

    program: Program
    lineages: Lineages
    bodies: Bodies
    _known: dict[ClassRef, Attributes] = field(default_factory=dict)

    def of(self, cls: ClassRef) -> Attributes:
        if cls not in self._known:
            self._known[cls] = Attributes({}, ())  # asked for again while it is worked out: nothing yet
            self._known[cls] = _Walk(self, cls).attributes()
        return self._known[cls]

    def effective(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> tuple[ClassRef, Function] | None:
        """The method ``name`` that an object of ``cls`` has, or has after the class ``after`` in the order."""
        order = self.lineages.of(cls).classes
        start = order.index(after) + 1 if after in order else 0
        for owner in order[start:]:
            member = self.bodies.of(owner).members.get(name)
            if member is not None and member.function is not None:
                return owner, member.function
        return None


class _Walk:
    """The methods of one class: those that its constructor reaches first, then the others."""

    def __init__(self, instances: Instances, cls: ClassRef) -> None:
        self._all = instances
        self._cls = cls
        self._seen: set[tuple[tuple[str, int], int]] = set()
        self._assigned: dict[str, list[Assignment]] = {}
        self._dynamic: list[str] = []

    def attributes(self) -> Attributes:
        self._enter(self._all.effective(self._cls, "__init__"), {}, later=False)
        for owner in self._all.lineages.of(self._cls).classes:
            for name in self._all.bodies.of(owner).members:
                self._enter(self._all.effective(self._cls, name), {}, later=True)
        return Attributes(self._assigned, tuple(dict.fromkeys(self._dynamic)))

    def _enter(
        self,
        found: tuple[ClassRef, Function] | None,
        given: Mapping[str, tuple[ast.expr, Frame]],
        *,
        later: bool,
    ) -> None:
        if found is None or (found[0].key, found[1].lineno) in self._seen:
            return
        owner, function = found
        self._seen.add((owner.key, function.lineno))
        frame = Frame(owner.scope.inside(function), function, self._cls, owner, given)
        if frame.self_name is None:
            return
        for node in walk_method(function):
            if isinstance(node, ast.stmt):
                self._assignments(node, frame, later)
            if isinstance(node, ast.Call):
                self._call(node, frame, later)

    def _assignments(self, statement: ast.stmt, frame: Frame, later: bool) -> None:
        for target, value in assignments(statement):
            if isinstance(target, ast.Attribute) and _named(target.value, frame.self_name):
                self._add(target.attr, value, frame, statement.lineno, later)
            elif isinstance(target, ast.Subscript) and ast.unparse(target.value) == f"{frame.self_name}.__dict__":
                self._set(target.slice, value, frame, statement.lineno, later)

    def _add(self, name: str, value: ast.expr | None, frame: Frame, line: int, later: bool) -> None:
        self._assigned.setdefault(name, []).append(Assignment(name, value, frame, line, later))

    def _set(self, name: ast.expr, value: ast.expr | None, frame: Frame, line: int, later: bool) -> None:
        names = _literal_names(name, frame)
        for each in names:
            self._add(each, value, frame, line, later)
        if not names:
            self._dynamic.append(pattern(name))

    def _call(self, node: ast.Call, frame: Frame, later: bool) -> None:
        args, func = node.args, node.func
        if called(node) == "setattr" and len(args) == 3 and _named(args[0], frame.self_name):
            self._set(args[1], args[2], frame, node.lineno, later)
        if not isinstance(func, ast.Attribute):
            return
        if func.attr in _REGISTERING and _named(func.value, frame.self_name) and args:
            self._set(args[0], args[1] if len(args) > 1 else None, frame, node.lineno, later)
        elif func.attr == "__setattr__" and len(args) == 3 and _named(args[0], frame.self_name):
            self._set(args[1], args[2], frame, node.lineno, later)
        elif func.attr == "update" and ast.unparse(func.value) in (
            f"{frame.self_name}.__dict__",
            f"vars({frame.self_name})",
        ):
            self._dynamic.append(".*")
        else:
            for found, skip in self._callees(func, frame):
                self._enter(found, bind(found[1], node, frame, skip), later=later)

    def _callees(self, func: ast.Attribute, frame: Frame) -> Iterator[tuple[tuple[ClassRef, Function], int]]:
        """The methods of the same object that ``func`` calls, and how many arguments stand for that object."""
        found: tuple[ClassRef, Function] | None = None
        skip = 0
        if _named(func.value, frame.self_name):
            found = self._all.effective(self._cls, func.attr)
        elif called(func.value) == "super" and isinstance(func.value, ast.Call):
            after = frame.owner
            if func.value.args:
                meant = self._all.program.resolve(frame.scope, func.value.args[0])
                after = next((each for each in meant if isinstance(each, ClassRef)), after)
            found = self._all.effective(self._cls, func.attr, after)
        else:
            meant = self._all.program.resolve(frame.scope, func.value)
            base = next((each for each in meant if isinstance(each, ClassRef)), None)
            if base is not None and base in self._all.lineages.of(self._cls).classes:
                found, skip = self._all.effective(base, func.attr), 1
        if found is not None:
            yield found, skip


def bind(function: Function, call: ast.Call, frame: Frame, skip: int = 0) -> dict[str, tuple[ast.expr, Frame]]:
    """The arguments of ``call``, written in ``frame``, by the names that a method gives them.

    ``skip`` counts the leading arguments that stand for the object itself.
    """
    names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    if own_name(function) is not None:
        names = names[1:]
    return bind_names(names, [arg.arg for arg in parameters(function)], call, frame, skip)


def bind_names(
    positional: Sequence[str], every: Sequence[str], call: ast.Call, frame: Frame, skip: int = 0
) -> dict[str, tuple[ast.expr, Frame]]:
    """The arguments of ``call`` by the names of the parameters; what follows a ``*`` or comes by ``**`` is left out."""
    given: dict[str, tuple[ast.expr, Frame]] = {}
    for name, value in zip(positional, call.args[skip:], strict=False):
        if isinstance(value, ast.Starred):
            break
        given[name] = (value, frame)
    given.update((word.arg, (word.value, frame)) for word in call.keywords if word.arg in every and word.arg)
    return given


def positional(frame: Frame) -> list[str]:
    """The parameters of the frame's function that take arguments by position, without the object itself."""
    function = frame.function
    assert function is not None
    names = [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]]
    return names[1:] if frame.self_name is not None else names


def fits(frame: Frame, call: ast.Call) -> bool:
    """Whether ``call`` gives every parameter of the frame's function that has no default, as far as it can be told."""
    if any(isinstance(value, ast.Starred) for value in call.args) or any(not word.arg for word in call.keywords):
        return True
    function, names = frame.function, positional(frame)
    assert function is not None
    given = {*names[: len(call.args)], *(word.arg for word in call.keywords)}
    needed = {*names, *(arg.arg for arg in function.args.kwonlyargs)} - defaults(function).keys()
    return needed <= given


def _named(node: ast.AST, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _literal_names(node: ast.expr, frame: Frame) -> list[str]:
    """The names that ``node`` stands for: a literal, or the variable of a loop over literals."""
    text = constant(node)
    if text is not None:
        return [text]
    if isinstance(node, ast.Name) and frame.function is not None:
        for loop in ast.walk(frame.function):
            if (
                isinstance(loop, ast.For)
                and _named(loop.target, node.id)
                and isinstance(loop.iter, (ast.Tuple, ast.List))
            ):
                found = [constant(item) for item in loop.iter.elts]
                return [name for name in found if name is not None] if None not in found else []
    return []
