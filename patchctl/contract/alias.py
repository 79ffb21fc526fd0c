"""Which objects an expression may hold, told by the path on which they are reached from where they came in.

``self.draft_runner.model`` and ``self.draft_worker.model_runner.model`` are one object where the code says so: an
attribute is followed to what is assigned to it, a property and a method to what they return, a parameter to the
argument where the call is known. What can't be followed any further keeps the path as its name; two expressions
hold the same object if they can end at the same path.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from patchctl.contract.instance import Frame, bind_names, positional
from patchctl.contract.program import ClassRef, FunctionRef
from patchctl.contract.syntax import Function, called, constant, own_name, parameters
from patchctl.contract.typer import Typer

Path: TypeAlias = "tuple[str, ...]"
Paths: TypeAlias = "frozenset[Path]"

NOWHERE: Paths = frozenset()
ITEM = "[]"
# An object is followed through what a call returns, and what that calls to find it.
_CALLS = 2
# Far more than any class of a real engine takes.
_PATIENCE = 100_000
_SAME = frozenset({"list", "tuple", "reversed", "iter", "next", "sorted", "cast", "copy"})


@dataclass(frozen=True, eq=False)
class Place:
    """A function at work: where names are looked up, what its object and its parameters are.

    ``frame.cls`` is the class of ``self``; ``itself`` its path; ``held`` the paths of parameters that are known;
    ``calls`` counts the calls between here and the expression that was asked about. In a function inside a method
    ``method`` is the method, whose ``self`` it sees.
    """

    frame: Frame
    itself: Path = ("self",)
    held: Mapping[str, Paths] = field(default_factory=dict)
    calls: int = 0
    method: Function | None = None

    def nested(self, function: Function) -> Place:
        """The place of a function that is defined in this one."""
        method = self.method or (self.frame.function if self.frame.owner is not None else None)
        frame = Frame(self.frame.scope.inside(function), function, self.frame.cls)
        return Place(frame, self.itself, {}, self.calls, method)

    @cached_property
    def key(self) -> Hashable:
        """Equal for two places in which every expression means the same."""
        frame = self.frame
        held = tuple(sorted((name, tuple(sorted(found))) for name, found in self.held.items()))
        return id(frame.function), frame.cls, id(frame.given) if frame.given else 0, self.itself, held, self.calls

    def root(self, name: str) -> Paths:
        """What only this function knows, as a path: the same name in another object's method is another thing."""
        return frozenset({(name,) if self.itself == ("self",) else (*self.itself, name)})

    @property
    def name(self) -> str:
        """``Class.method`` or ``function``, for people and as the root of paths."""
        function = self.frame.function.name if self.frame.function is not None else "<module>"
        return f"{self.frame.owner.name}.{function}" if self.frame.owner is not None else function


@dataclass
class Aliases:
    """Answers for one program and one class of ``self``.

    With ``goals`` only what may lead to one of these paths is followed; the paths of other objects stay as they are
    first met. ``undefined`` collects attributes of ``self`` that no class of a fully known lineage defines.
    ``exhausted`` says that the code is so entangled that not everything was followed.
    """

    typer: Typer
    goals: Paths | None = None
    undefined: set[Path] = field(default_factory=set)
    exhausted: bool = False
    _known: dict[Hashable, Paths] = field(default_factory=dict)
    _places: dict[Hashable, Place] = field(default_factory=dict)
    _kinds: dict[tuple[Path, ClassRef | None, int], ClassRef | None] = field(default_factory=dict)
    _ways: frozenset[Path] | None = None
    _busy: set[Hashable] = field(default_factory=set)
    _circles: set[Hashable] = field(default_factory=set)
    _parts: list[Hashable] = field(default_factory=list)
    _steps: int = 0

    def paths(self, node: ast.expr, place: Place) -> Paths:
        """The paths of what ``node`` may hold; nothing for what is made on the spot, or is no object of interest."""
        self._places.setdefault(place.key, place)  # keys name objects by their ids: those must stay
        return self._once((place.key, id(node)), lambda: self._paths(node, place))

    def _once(self, key: Hashable, work: Callable[[], Paths]) -> Paths:
        """What ``work`` finds, kept; what asks for itself finds nothing the second time.

        Inside such a circle an answer may be a part of the whole: it is kept only until the circle is closed, unless
        there are so many circles that to go around each again would never end.
        """
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            self._circles.add(key)
            return NOWHERE
        self._steps += 1
        self._busy.add(key)
        try:
            found = work()
        finally:
            self._busy.discard(key)
            self._circles.discard(key)
        self._known[key] = found
        if self._circles:
            self._parts.append(key)
        elif self._parts:
            for part in self._parts if self._steps < _PATIENCE else ():
                self._known.pop(part, None)
            self.exhausted |= self._steps >= _PATIENCE
            self._parts.clear()
            self._known[key] = found
        return found

    def _paths(self, node: ast.expr, place: Place) -> Paths:
        if isinstance(node, ast.Name):
            return self._name(node.id, place)
        if isinstance(node, ast.Attribute):
            return self._step(self.paths(node.value, place), node.attr, place)
        if isinstance(node, ast.Subscript):
            return (
                self.paths(node.value, place) if isinstance(node.slice, ast.Slice) else self._items(node.value, place)
            )
        if isinstance(node, ast.Call):
            return self._call(node, place)
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Starred)):
            return self.paths(node.value, place)
        if isinstance(node, ast.IfExp):
            return self.paths(node.body, place) | self.paths(node.orelse, place)
        if isinstance(node, ast.BoolOp):
            return self._any(self.paths(value, place) for value in node.values)
        return NOWHERE

    # -- names

    def _name(self, name: str, place: Place) -> Paths:
        function = place.frame.function
        if function is not None and name == place.frame.self_name:
            return frozenset({place.itself})
        if name in place.held:
            return place.held[name]
        for at, around in enumerate(place.frame.scope.functions):
            if around is place.method and name == own_name(around):
                return frozenset({place.itself})
            found, is_local = self._local(name, around, place)
            if any(arg.arg == name for arg in parameters(around)):
                return found | (self._parameter(name, place) if at == 0 else place.root(f"{around.name}:{name}"))
            if is_local:
                return found or place.root(f"{around.name}:{name}")
        return frozenset({(f"{place.frame.scope.module.path}:{name}",)})

    def _local(self, name: str, around: Function, place: Place) -> tuple[Paths, bool]:
        """What the local variable ``name`` of the function ``around`` may hold, and whether it is one."""
        bound = self.typer.functions.bound(around).get(name)
        if bound is None:
            return NOWHERE, False
        found = NOWHERE
        for value, loop in bound:
            if loop is not None:
                found |= self._elements(value, loop, name, place)
            else:
                found |= self.paths(value, place)
        return found, True

    def _elements(self, iterated: ast.expr, target: ast.expr, name: str, place: Place) -> Paths:
        """What a loop's variable holds: the items of what it runs over."""
        wrapped = called(iterated)
        if isinstance(iterated, ast.Call) and wrapped in ("enumerate", "zip") and isinstance(target, ast.Tuple):
            names = [getattr(part, "id", None) for part in target.elts]
            at = names.index(name) if name in names else 0
            if wrapped == "zip" and at < len(iterated.args):
                return self._items(iterated.args[at], place)
            return self._items(iterated.args[0], place) if wrapped == "enumerate" and at == 1 else NOWHERE
        if (
            isinstance(iterated, ast.Call)
            and isinstance(iterated.func, ast.Attribute)
            and iterated.func.attr == "values"
        ):
            iterated = iterated.func.value
        return self._items(iterated, place) if isinstance(target, ast.Name) else NOWHERE

    def _items(self, node: ast.expr, place: Place) -> Paths:
        """What an item of ``node`` may be: of a list that is written out, or of one that keeps its name."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._any(self.paths(item, place) for item in node.elts)
        found = self._step(self.paths(node, place), ITEM, place)
        if isinstance(node, ast.Name) and place.frame.function is not None:
            for value, loop in self.typer.functions.bound(place.frame.function).get(node.id, ()):
                if loop is None and isinstance(value, (ast.List, ast.Tuple)):
                    found |= self._items(value, place)
        elif isinstance(node, ast.Attribute) and self.paths(node.value, place) == {("self",)}:
            cls = place.frame.cls
            for each in self.typer.instances.of(cls).assigned.get(node.attr, ()) if cls is not None else ():
                if isinstance(each.value, (ast.List, ast.Tuple)):
                    found |= self._items(each.value, Place(each.frame))
        return found

    def _parameter(self, name: str, place: Place) -> Paths:
        given = place.frame.given.get(name)
        if given is not None:
            value, written = given
            found = self.paths(value, Place(written, place.itself))
            if found:
                return found
        return place.root(f"{place.name}:{name}")

    # -- attributes

    def _step(self, base: Paths, name: str, place: Place) -> Paths:
        return self._any(self._field(path, name, place) for path in base)

    def _field(self, path: Path, name: str, place: Place) -> Paths:
        cls = self.kind(path, place) if self._leads(path) else None
        if cls is None:
            return frozenset({(*path, name)})
        return self._once((cls, path, name), lambda: self._assigned(cls, path, name))

    def _leads(self, path: Path) -> bool:
        """Whether a goal may lie on ``path`` or below it, or be what an attribute of ``self`` was given."""
        if self.goals is None or path == ("self",):
            return True
        if self._ways is None:
            self._ways = frozenset(goal[:at] for goal in self.goals for at in range(1, len(goal) + 1))
        return path in self._ways

    def _assigned(self, cls: ClassRef, path: Path, name: str) -> Paths:
        instances = self.typer.instances
        plain = frozenset({(*path, name)})
        for owner in instances.lineages.of(cls).classes:
            member = instances.bodies.of(owner).members.get(name)
            if member is not None and member.kind == "property" and member.function is not None:
                frame = Frame(owner.scope.inside(member.function), member.function, cls, owner)
                return self._returned(member.function, Place(frame, path)) or plain
            if member is not None:
                break
        found, opaque = NOWHERE, False
        values = instances.of(cls).assigned.get(name, ())
        for assignment in values:
            if assignment.value is None or _is_nothing(assignment.value):
                continue
            held = self.paths(assignment.value, Place(assignment.frame, path))
            opaque |= not held
            found |= held
        if not values and path == ("self",) and self._lacks(cls, name):
            self.undefined.add((*path, name))
        return found | plain if opaque or not found else found

    def _lacks(self, cls: ClassRef, name: str) -> bool:
        instances = self.typer.instances
        lineage = instances.lineages.of(cls)
        known = any(name in instances.bodies.of(owner).members for owner in lineage.classes)
        return not (known or lineage.doubts or instances.effective(cls, "__getattr__") or instances.of(cls).dynamic)

    def kind(self, path: Path, place: Place) -> ClassRef | None:
        """The class of the object at ``path``, where there is one answer."""
        if path == ("self",):
            return place.frame.cls
        key = (path, place.frame.cls, id(place.frame.function) if len(path) == 1 else 0)
        if key not in self._kinds:
            self._kinds[key] = self._kind(path, place)
        return self._kinds[key]

    def _kind(self, path: Path, place: Place) -> ClassRef | None:
        if len(path) == 1:
            return self._kind_of_root(path[0], place)
        owner = self.kind(path[:-1], place)
        kinds = self.typer.attribute(owner, path[-1]) if owner is not None else None
        return next(iter(kinds.classes)) if kinds is not None and len(kinds.classes) == 1 else None

    def _kind_of_root(self, root: str, place: Place) -> ClassRef | None:
        """The class that the annotation of a parameter names; ``root`` is ``Class.method:parameter``."""
        where, _, name = root.rpartition(":")
        frames = [place.frame]
        cls = place.frame.cls
        for owner in self.typer.instances.lineages.of(cls).classes if cls is not None else ():
            member = self.typer.instances.bodies.of(owner).members.get(where.rpartition(".")[2])
            if member is not None and member.function is not None:
                frames.append(Frame(owner.scope.inside(member.function), member.function, cls, owner))
        for frame in frames:
            for arg in parameters(frame.function) if frame.function is not None else ():
                if arg.arg == name and arg.annotation is not None and Place(frame).name == where:
                    kinds = self.typer.annotation(arg.annotation, frame)
                    return next(iter(kinds.classes)) if len(kinds.classes) == 1 else None
        return None

    # -- calls

    def _call(self, node: ast.Call, place: Place) -> Paths:
        name = called(node)
        if name == "getattr" and len(node.args) >= 2:
            attr = constant(node.args[1])
            found = self._step(self.paths(node.args[0], place), attr, place) if attr else NOWHERE
            return found | (self.paths(node.args[2], place) if len(node.args) > 2 else NOWHERE)
        if name in _SAME and node.args:
            found = self.paths(node.args[-1 if name == "cast" else 0], place)
            return self._step(found, ITEM, place) if name == "next" else found
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "popleft"):
            base = self.paths(node.func.value, place)
            if base and not any(self.kind(path, place) for path in base):
                return self._step(base, ITEM, place)
        found = NOWHERE
        if place.calls < _CALLS and self._may_return(node, place):
            for function, inner in self.callees(node, place):
                found |= self._returned(function, inner)
        return found

    def _may_return(self, node: ast.Call, place: Place) -> bool:
        """Whether a call is given anything that leads to a goal: else what it returns is something else."""
        given = [*node.args, *(word.value for word in node.keywords)]
        given += [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if self.goals is None or called(getattr(node.func, "value", node)) == "super":
            return True
        inner = self.typer.program.lookup(place.frame.scope, node.func.id) if isinstance(node.func, ast.Name) else ()
        near = any(isinstance(each, FunctionRef) and each.scope.functions for each in inner)
        return near or any(self._leads(path) for value in given for path in self.paths(value, place))

    def callees(self, node: ast.Call, place: Place) -> Iterator[tuple[Function, Place]]:
        """The functions of the tree that ``node`` may call, each as a place with its arguments held.

        A class is called by its constructor, on an object that is nobody's yet.
        """
        instances, program = self.typer.instances, self.typer.program
        func = node.func
        if isinstance(func, ast.Attribute):
            yield from self._methods(node, func, place)
        for each in program.resolve(place.frame.scope, func):
            if isinstance(each, FunctionRef):
                if isinstance(func, ast.Attribute) and own_name(each.node) and self._is_method(func, place):
                    continue  # found as a method, with its object
                near = place.nested(each.node) if place.frame.function in each.scope.functions else None
                frame = near.frame if near else Frame(each.scope.inside(each.node), each.node)
                names = [arg.arg for arg in parameters(each.node)]
                inner = self._given(frame, node, place, names, place.itself)
                yield each.node, replace(inner, method=near.method) if near else inner
            elif isinstance(each, ClassRef):
                made = instances.effective(each, "__init__")
                if made is not None:
                    owner, function = made
                    frame = Frame(owner.scope.inside(function), function, each, owner)
                    inner = self._given(frame, node, place, positional(frame), (f"{each.name}()",))
                    yield function, inner

    def _methods(self, node: ast.Call, func: ast.Attribute, place: Place) -> Iterator[tuple[Function, Place]]:
        instances = self.typer.instances
        if called(func.value) == "super" and place.frame.cls is not None:
            targets = [(place.frame.cls, place.itself, place.frame.owner)]
        else:
            found = self.paths(func.value, place)
            kinds = ((self.kind(path, place), path) for path in sorted(found))
            targets = [(cls, path, None) for cls, path in kinds if cls is not None]
            if not targets:
                made = self.typer.of(func.value, place.frame).classes
                targets = [(each, (f"{each.name}()",), None) for each in made]
            if not targets:
                named = self.typer.program.resolve(place.frame.scope, func.value)
                targets = [(each, (f"{each.name}()",), None) for each in named if isinstance(each, ClassRef)]
        for cls, path, after in targets:
            method = instances.effective(cls, func.attr, after)
            if method is not None:
                owner, function = method
                frame = Frame(owner.scope.inside(function), function, cls, owner)
                yield function, self._given(frame, node, place, positional(frame), path)

    def _is_method(self, func: ast.Attribute, place: Place) -> bool:
        owner = self.typer.program.resolve(place.frame.scope, func.value)
        return any(isinstance(each, ClassRef) for each in owner)

    def _given(self, frame: Frame, node: ast.Call, place: Place, names: list[str], itself: Path) -> Place:
        function = frame.function
        assert function is not None
        every = [arg.arg for arg in parameters(function)]
        given = bind_names(names, every, node, place.frame)
        held = {name: self.paths(value, place) for name, (value, _) in given.items()}
        return Place(frame, itself, {name: found for name, found in held.items() if found}, place.calls + 1)

    def _returned(self, function: Function, place: Place) -> Paths:
        found = self._any(self.paths(value, place) for value in self.typer.functions.returned(function))
        # What only the function itself could name says nothing to whoever called it.
        inner = (f"{function.name}:", f"{place.name}:")
        return frozenset(path for path in found if not any(part.startswith(inner) for part in path))

    @staticmethod
    def _any(found: Iterable[Paths]) -> Paths:
        return frozenset(path for each in found for path in each)


def _is_nothing(node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or (isinstance(node, ast.List) and not node.elts)
