"""Which class the value of an expression has, as far as constructors, annotations and returns tell."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from patchctl.contract.functions import Functions
from patchctl.contract.instance import Frame, Instances, bind, bind_names
from patchctl.contract.program import ClassRef, FunctionRef, Program, Value
from patchctl.contract.syntax import Function, called, constant, defaults, dotted, parameters

_DEPTH = 40


@dataclass(frozen=True)
class Kinds:
    """The classes that a value may have; ``complete`` is False where it may have others."""

    classes: frozenset[ClassRef] = frozenset()
    complete: bool = True

    def __or__(self, other: Kinds) -> Kinds:
        return Kinds(self.classes | other.classes, self.complete and other.complete)


UNKNOWN = Kinds(complete=False)
NOTHING = Kinds()


@dataclass
class Typer:
    """Answers for one program.

    ``assumed`` is what a person declared: for an object of a class, the class of an attribute of it
    (``{(cls, ("language_model",)): inner}``).
    """

    program: Program
    instances: Instances
    assumed: Mapping[tuple[ClassRef, tuple[str, ...]], ClassRef] = field(default_factory=dict)
    functions: Functions = field(init=False)
    _attributes: dict[tuple[ClassRef, str], Kinds] = field(default_factory=dict)
    _annotations: dict[ClassRef, dict[str, ast.expr]] = field(default_factory=dict)
    _known: dict[Hashable, Kinds] = field(default_factory=dict)
    _named: list[tuple[ast.AST, Frame]] = field(default_factory=list)
    _depth: int = 0

    def __post_init__(self) -> None:
        self.functions = Functions(self.program)

    def chain(self, cls: ClassRef, chain: tuple[str, ...]) -> Kinds:
        """The classes of ``self.a.b`` for the chain ``("a", "b")`` on an object of ``cls``."""
        found = Kinds(frozenset({cls}))
        for at in range(len(chain)):
            assumed = self.assumed.get((cls, chain[: at + 1]))
            found = (
                Kinds(frozenset({assumed}))
                if assumed
                else self._union((self.attribute(each, chain[at]) for each in found.classes), found.complete)
            )
        return found

    def attribute(self, cls: ClassRef, name: str) -> Kinds:
        """The classes of the attribute ``name`` of objects of ``cls``."""
        assumed = self.assumed.get((cls, (name,)))
        if assumed is not None:
            return Kinds(frozenset({assumed}))
        key = (cls, name)
        if key not in self._attributes:
            self._attributes[key] = NOTHING  # what refers to itself adds nothing
            self._attributes[key] = self._attribute(cls, name)
        return self._attributes[key]

    def _attribute(self, cls: ClassRef, name: str) -> Kinds:
        assigned = self.instances.of(cls).assigned.get(name, ())
        found = self._union(self.of(each.value, each.frame) if each.value else UNKNOWN for each in assigned)
        for owner in self.instances.lineages.of(cls).classes:
            member = self.instances.bodies.of(owner).members.get(name)
            if member is None:
                continue
            if member.kind == "property" and member.function is not None:
                frame = Frame(owner.scope.inside(member.function), member.function, cls, owner)
                return self._result(member.function, frame)
            if member.value is not None and not assigned:
                return self.of(member.value, Frame(owner.scope, None, cls, owner))
            break
        if assigned and (found.classes or found.complete):
            return found
        annotated = self._annotated(cls, name)
        return annotated if annotated.classes else UNKNOWN

    def _annotated(self, cls: ClassRef, name: str) -> Kinds:
        for owner in self.instances.lineages.of(cls).classes:
            if owner not in self._annotations:
                self._annotations[owner] = _annotations(owner.node)
            annotation = self._annotations[owner].get(name)
            if annotation is not None:
                return self.annotation(annotation, Frame(owner.scope, None, cls, owner))
        return UNKNOWN

    def of(self, node: ast.expr, frame: Frame) -> Kinds:
        """The classes of the value of ``node``."""
        return self._once((id(node), frame.key), (node, frame), lambda: self._of(node, frame))

    def _once(self, key: Hashable, named: tuple[ast.AST, Frame], work: Callable[[], Kinds]) -> Kinds:
        """What ``work`` finds, kept; what asks for itself on the way is not known."""
        if key not in self._known:
            if self._depth >= _DEPTH:
                return UNKNOWN
            self._named.append(named)  # the key names them by their ids: they must stay
            self._known[key] = UNKNOWN
            self._depth += 1
            try:
                self._known[key] = work()
            finally:
                self._depth -= 1
        return self._known[key]

    def _of(self, node: ast.expr, frame: Frame) -> Kinds:
        if isinstance(node, ast.Constant) and node.value is None:
            return NOTHING
        if isinstance(node, ast.Name):
            return self._name(node, frame)
        if isinstance(node, ast.Attribute):
            owners = self.of(node.value, frame)
            if owners.classes:
                return self._union((self.attribute(each, node.attr) for each in owners.classes), owners.complete)
            found = [each for each in self.program.resolve(frame.scope, node) if isinstance(each, Value)]
            own = [each for each in found if each.node is not node]
            return self._union(self.of(each.node, frame.at(each.scope)) for each in own) if own else UNKNOWN
        if isinstance(node, ast.Call):
            return self._call(node, frame)
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return self.of(node.value, frame)
        return self._branches(node, frame, self.of)

    def _branches(self, node: ast.expr, frame: Frame, ask: Callable[[ast.expr, Frame], Kinds]) -> Kinds:
        """What ``ask`` says of the parts that ``node`` chooses from."""
        if isinstance(node, ast.IfExp):
            return ask(node.body, frame) | ask(node.orelse, frame)
        if isinstance(node, ast.BoolOp):
            return self._union(ask(value, frame) for value in node.values)
        table: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            table = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            table = node.func.value
        if table is not None:
            for each in self.program.resolve(frame.scope, table):
                if isinstance(each, Value) and isinstance(each.node, ast.Dict):
                    return self._union(ask(value, frame.at(each.scope)) for value in each.node.values)
        return UNKNOWN

    def _name(self, node: ast.Name, frame: Frame) -> Kinds:
        if node.id == frame.self_name and frame.cls is not None:
            return Kinds(frozenset({frame.cls}))
        parameter = self._parameter(node.id, frame)
        found = [each for each in self.program.lookup(frame.scope, node.id) if isinstance(each, Value)]
        kinds = self._union(self.of(each.node, frame.at(each.scope)) for each in found)
        if parameter is None:
            return kinds if found else UNKNOWN
        if node.id in frame.given:
            value, written = frame.given[node.id]
            kinds |= self.of(value, written)
            if kinds.classes:
                return kinds
        if parameter.annotation is not None:
            return kinds | self.annotation(parameter.annotation, frame)
        return kinds | UNKNOWN

    def _parameter(self, name: str, frame: Frame) -> ast.arg | None:
        if frame.function is None:
            return None
        return next((arg for arg in parameters(frame.function) if arg.arg == name), None)

    def _call(self, node: ast.Call, frame: Frame) -> Kinds:
        name = called(node)
        if name == "getattr" and len(node.args) >= 2 and constant(node.args[1]) is not None:
            owners = self.of(node.args[0], frame)
            return self._union(
                (self.attribute(each, constant(node.args[1]) or "") for each in owners.classes),
                owners.complete and bool(owners.classes),
            )
        if name == "cast" and len(node.args) == 2:
            return self.annotation(node.args[0], frame)
        made = self.classes_named(node.func, frame)
        if made.classes:
            return made
        results = [self._result_of_call(each, node, frame) for each in self._functions(node.func, frame)]
        return self._union(results) if results else UNKNOWN

    def _functions(self, func: ast.expr, frame: Frame) -> Iterator[tuple[Function, Frame]]:
        """The functions that ``func`` may be, each with the frame of a call without arguments."""
        for each in self.program.resolve(frame.scope, func):
            if isinstance(each, FunctionRef):
                yield each.node, Frame(each.scope.inside(each.node), each.node)
        if isinstance(func, ast.Attribute):
            owners = self.of(func.value, frame).classes or self.classes_named(func.value, frame).classes
            for cls in owners:
                found = self.instances.effective(cls, func.attr)
                if found is not None:
                    owner, function = found
                    yield function, Frame(owner.scope.inside(function), function, cls, owner)

    def _result_of_call(self, found: tuple[Function, Frame], call: ast.Call, frame: Frame) -> Kinds:
        function, inner = found
        if inner.owner is not None:
            given = bind(function, call, frame)
        else:
            names = [arg.arg for arg in parameters(function)]
            given = bind_names(names, names, call, frame)
        return self._result(function, Frame(inner.scope, function, inner.cls, inner.owner, given))

    def _result(self, function: Function, frame: Frame) -> Kinds:
        """The classes of what ``function`` returns."""
        returned = self.functions.returned(function)
        found = self._union(self.of(value, frame) for value in returned) if returned else UNKNOWN
        if not found.classes and function.returns is not None:
            return self.annotation(function.returns, frame)
        return found

    def annotation(self, node: ast.expr, frame: Frame) -> Kinds:
        """The class that an annotation names; ``Optional``, ``X | None`` and texts are looked into."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return UNKNOWN
        if isinstance(node, ast.Constant) and node.value is None:
            return NOTHING
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.annotation(node.left, frame) | self.annotation(node.right, frame)
        if isinstance(node, ast.Subscript):
            name = (dotted(node.value) or ("",))[-1]
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if name in ("Optional", "Union", "Final", "Annotated", "ClassVar"):
                wanted = parts[:1] if name == "Annotated" else parts
                return self._union(self.annotation(part, frame) for part in wanted)
            return UNKNOWN
        found = self.program.resolve(frame.scope, node, typing=True)
        classes = frozenset(each for each in found if isinstance(each, ClassRef))
        return Kinds(classes) if classes else UNKNOWN

    def classes_named(self, node: ast.expr, frame: Frame) -> Kinds:
        """The classes that ``node`` stands for, as what is called to make an object."""
        return self._once((id(node), frame.key, "class"), (node, frame), lambda: self._classes_named(node, frame))

    def _classes_named(self, node: ast.expr, frame: Frame) -> Kinds:
        if isinstance(node, ast.Name):
            if frame.function is not None and self._parameter(node.id, frame) is not None:
                return self._class_parameter(node.id, frame)
            return self._classes_meant(node, frame)
        if isinstance(node, ast.Attribute):
            if node.attr == "__class__":
                return self.of(node.value, frame)
            for cls in self.of(node.value, frame).classes:
                return self._class_attribute(cls, node.attr)
            return self._classes_meant(node, frame)
        if called(node) == "type" and isinstance(node, ast.Call) and len(node.args) == 1:
            return self.of(node.args[0], frame)
        return self._branches(node, frame, self.classes_named)

    def _classes_meant(self, node: ast.expr, frame: Frame) -> Kinds:
        found = NOTHING
        for each in self.program.resolve(frame.scope, node):
            if isinstance(each, ClassRef):
                found |= Kinds(frozenset({each}))
            elif isinstance(each, Value) and each.node is not node:
                found |= self.classes_named(each.node, frame.at(each.scope))
            else:
                found |= UNKNOWN
        return found

    def _class_parameter(self, name: str, frame: Frame) -> Kinds:
        function = frame.function
        assert function is not None
        if name == frame.self_name and frame.cls is not None:
            return Kinds(frozenset({frame.cls}))  # cls(...) in a class method
        if name in frame.given:
            value, written = frame.given[name]
            return self.classes_named(value, written)
        default = defaults(function).get(name)
        outer = frame.owner.scope if frame.owner is not None else frame.scope
        return self.classes_named(default, Frame(outer)) if default is not None else UNKNOWN

    def _class_attribute(self, cls: ClassRef, name: str) -> Kinds:
        assigned = [each for each in self.instances.of(cls).assigned.get(name, ()) if each.value is not None]
        if assigned:
            return self._union(self.classes_named(each.value, each.frame) for each in assigned if each.value)
        for owner in self.instances.lineages.of(cls).classes:
            member = self.instances.bodies.of(owner).members.get(name)
            if member is not None and member.value is not None:
                return self.classes_named(member.value, Frame(owner.scope, None, cls, owner))
        return UNKNOWN

    @staticmethod
    def _union(kinds: Iterable[Kinds], complete: bool = True) -> Kinds:
        found = Kinds(complete=complete)
        for each in kinds:
            found |= each
        return found


def _annotations(cls: ast.ClassDef) -> dict[str, ast.expr]:
    """The annotations of a class's attributes, in its body or on ``self.x``; the first of each name."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(cls):
        if isinstance(node, ast.AnnAssign):
            target = node.target
            if isinstance(target, ast.Name):
                found.setdefault(target.id, node.annotation)
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                found.setdefault(target.attr, node.annotation)
    return found
