"""The consumer's side: every use of the object that a root of a contract holds."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from patchctl.contract import guards, roles
from patchctl.contract.alias import Aliases, Paths, Place
from patchctl.contract.declared import built_by, first_name, head, knows, names_along, stand_in
from patchctl.contract.guards import Tells
from patchctl.contract.instance import Frame, fits
from patchctl.contract.model import Root, Site, Unresolved
from patchctl.contract.program import ClassRef, External, FunctionRef, Program, Scope
from patchctl.contract.roles import classes_asked, only_for
from patchctl.contract.syntax import FUNCTIONS, Function, Module
from patchctl.contract.typer import Typer
from patchctl.contract.uses import Handed, State, Use, Walker, condition_text

# The object is followed into what a consumer calls, and from helper to helper among plain functions: which method
# an object of a loader's or a backend's making runs is too often a guess.
_DEPTH = 3
_HELD, _LOST = "held", "lost"

# Tells what an expression holds where it stands: ``held``, ("lost", its text), or nothing of interest.
Known: TypeAlias = "Callable[[ast.expr, Place], Hashable | None]"


@dataclass(frozen=True)
class Found:
    """What the consumers do with the object; ``absent`` are roots that are not there, with the reason."""

    uses: tuple[tuple[str, Site], ...]
    unresolved: tuple[Unresolved, ...]
    absent: tuple[tuple[Root, str, str], ...]


@dataclass(frozen=True)
class Context:
    """How the walk came to a function: the way there for people, and what holds on it."""

    root: Root
    held: Paths
    depth: int = 0
    order: tuple[int, ...] = ()


@dataclass
class Consumers:
    """Looks for uses in one program."""

    program: Program
    typer: Typer
    _sites: dict[tuple[str, Site], None] = field(default_factory=dict)
    _unresolved: dict[Unresolved, None] = field(default_factory=dict)
    _seen: set[Hashable] = field(default_factory=set)
    _trail: list[ast.expr | str] = field(default_factory=list)
    # What is made here and asked about: answers are kept by the ids of nodes, so these must stay.
    _made: list[ast.AST] = field(default_factory=list)
    _built: dict[ClassRef, frozenset[int]] = field(default_factory=dict)
    _words: dict[ClassRef, frozenset[str]] = field(default_factory=dict)
    _counter: int = 0
    _met: int = 0

    def find(self, roots: Iterable[Root]) -> Found:
        """Every use of the objects that ``roots`` hold."""
        absent: list[tuple[Root, str, str]] = []
        for root in roots:
            self._met = 0
            why = self._root(root)
            if why is None and not self._met:
                why = ("unused", f"nothing in {root.where} uses {root.object}")
            if why is not None:
                absent.append((root, *why))
        return Found(tuple(self._sites), tuple(self._unresolved), tuple(absent))

    # -- roots

    def _root(self, root: Root) -> tuple[str, str] | None:
        """Look through one root; returns kind and reason where it is not there."""
        try:
            expression = ast.parse(root.object, mode="eval").body
        except (SyntaxError, ValueError):
            return "object", f"{root.object!r} is no expression"
        self._made.append(expression)
        files = [root.path]
        if root.path.endswith("/"):
            files = [
                name for name in self.program.source.names() if name.startswith(root.path) and name.endswith(".py")
            ]
            if not files:
                return "gone", f"there is no folder {root.path}"
        word = first_name(expression)
        for path in files:
            if len(files) > 1 and word.encode() not in (self.program.source.read(path) or b""):
                continue  # it can't speak of the object, and parsing a whole tree takes a while
            module = self.program.module(path)
            if module is None:
                folder = any(name.startswith(f"{path}/") for name in self.program.source.names())
                return "gone", f"{path} is a folder, which is written {path}/" if folder else f"there is no file {path}"
            if module.fault is not None:
                if len(files) == 1:
                    return "unreadable", f"{path} can't be judged: {module.fault}"
                self._lost(root, path, 1, "", f"the file can't be judged: {module.fault}")
            elif not self._file(root, module, expression):
                return "gone", f"{path} does not define {root.name}"
        return None

    def _file(self, root: Root, module: Module, expression: ast.expr) -> bool:
        if not root.name:
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef):
                    defined = ClassRef(Scope(module), node, node.name)
                    if self._speaks(defined, first_name(expression)):
                        self._class(root, defined, expression, whole=False)
                elif isinstance(node, FUNCTIONS):
                    self._function(root, node, Frame(Scope(module).inside(node), node), expression)
            return True
        cls = self.program.find_class(module.path, root.name)
        if cls is not None:
            self._class(root, cls, expression, whole=True)
            return True
        outer, _, method = root.name.rpartition(".")
        owner = self.program.find_class(module.path, outer) if outer else None
        if owner is not None:
            found = self.typer.instances.effective(owner, method)
            if found is not None:
                self._methods(root, owner, [found], expression)
            return found is not None
        functions = [each for each in self.program.lookup(Scope(module), root.name) if isinstance(each, FunctionRef)]
        for each in functions:
            self._function(root, each.node, Frame(each.scope.inside(each.node), each.node), expression)
        return bool(functions)

    def _speaks(self, cls: ClassRef, word: str) -> bool:
        """Whether ``cls``, or what it inherits from, has ``word`` in it: the rest can't reach what starts so."""
        return any(word in self._words_of(each) for each in (cls, *self.typer.instances.lineages.of(cls).classes))

    def _words_of(self, cls: ClassRef) -> frozenset[str]:
        if cls not in self._words:
            found: set[str] = set()
            for node in ast.walk(cls.node):
                if isinstance(node, ast.Attribute):
                    found.add(node.attr)
                elif isinstance(node, ast.Name):
                    found.add(node.id)
                elif isinstance(node, ast.arg):
                    found.add(node.arg)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
                elif isinstance(node, (ast.ClassDef, *FUNCTIONS)):
                    found.add(node.name)
            self._words[cls] = frozenset(found)
        return self._words[cls]

    def _class(self, root: Root, cls: ClassRef, expression: ast.expr, *, whole: bool) -> None:
        """``whole`` looks at inherited methods too: they run on the same object."""
        instances = self.typer.instances
        found: dict[tuple[tuple[str, int], int], tuple[ClassRef, Function]] = {}
        for owner in instances.lineages.of(cls).classes if whole else (cls,):
            for name, member in instances.bodies.of(owner).members.items():
                if member.function is not None:
                    effective = instances.effective(cls, name) or (owner, member.function)
                    found.setdefault((effective[0].key, effective[1].lineno), effective)
                    if owner == cls or name == "__init__":
                        found.setdefault((owner.key, member.function.lineno), (owner, member.function))
        chosen = [each for each in found.values() if whole or each[0] == cls]
        self._methods(root, cls, chosen, expression)

    def _methods(
        self, root: Root, cls: ClassRef, methods: list[tuple[ClassRef, Function]], expression: ast.expr
    ) -> None:
        aliases = Aliases(self.typer)
        start = head(expression)
        if start == "self":
            place = stand_in(cls, start)
            self._made += place.frame.scope.functions[:1]
            held = aliases.paths(expression, place)
            mixin = self.typer.instances.effective(cls, "__init__") is None
            lost = frozenset(path for path in held if not mixin and path[:2] in aliases.undefined)
            aliases = Aliases(self.typer, held)
            for owner, function in methods:
                place = Place(self._frame(cls, owner, function))
                self._walk(place, aliases, Context(root, held), lost, expression)
            return
        for owner, function in methods:
            place = Place(self._frame(cls, owner, function))
            if knows(function, start):
                held = aliases.paths(expression, place)
                self._walk(place, Aliases(self.typer, held), Context(root, held), frozenset(), expression)

    def _frame(self, cls: ClassRef, owner: ClassRef, function: Function) -> Frame:
        for assigned in self.typer.instances.of(cls).assigned.values():
            for each in assigned:
                if each.frame.function is function:
                    return each.frame  # it knows what its callers give
        return Frame(owner.scope.inside(function), function, cls, owner)

    def _function(self, root: Root, function: Function, frame: Frame, expression: ast.expr) -> None:
        if knows(function, head(expression)):
            aliases, place = Aliases(self.typer), Place(frame)
            held = aliases.paths(expression, place)
            self._walk(place, Aliases(self.typer, held), Context(root, held), frozenset(), expression)

    # -- walking

    def _walk(self, place: Place, aliases: Aliases, context: Context, lost: Paths, expression: ast.expr) -> None:
        last = expression.attr if isinstance(expression, ast.Attribute) else None
        held = context.held - lost

        def known(node: ast.expr, place: Place) -> Hashable | None:
            found = aliases.paths(node, place)
            if found & held:
                return _HELD
            astray = [path for path in found if path in lost or (path[:2] in aliases.undefined and path[-1] == last)]
            return (_LOST, ast.unparse(node)) if astray and len(astray[0]) > 1 else None

        self._run(place, aliases, known, context, State())
        if aliases.exhausted:
            function = place.frame.function
            line = function.lineno if function is not None else 1
            why = "the code is too entangled to follow everything"
            self._lost(context.root, place.frame.scope.module.path, line, context.root.object, why)

    def _run(self, place: Place, aliases: Aliases, known: Known, context: Context, state: State) -> None:
        function = place.frame.function
        assert function is not None
        inner: list[tuple[Function, State]] = []
        walker = Walker(
            lambda node: known(node, place),
            lambda node, state: inner.append((node, state)),
            lambda call: self._test_made_by(call, place, aliases, known),
        )
        try:
            walker.block(function.body, state)
        except RecursionError:
            path = place.frame.scope.module.path
            self._lost(
                context.root, path, function.lineno, context.root.object, "the code is nested too deeply to be read"
            )
        for use in walker.uses:
            self._use(use, place, aliases, context)
        for handed in walker.handed:
            self._handed(handed, place, aliases, context)
        for node, met in inner:
            self._run(place.nested(node), aliases, known, context, met)

    def _test_made_by(self, call: ast.Call, place: Place, aliases: Aliases, known: Known) -> Tells:
        """What a function such as ``supports_x(model)`` tests, if testing is all that it does."""
        given = [*call.args, *(word.value for word in call.keywords)]
        if any(known(value, place) == _HELD for value in given):
            for function, inner in aliases.callees(call, place):
                returned = self.typer.functions.returned(function)
                if len(returned) == 1:
                    return guards.tells(returned[0], lambda node, at=inner: known(node, at), {})  # type: ignore[misc]
        return guards.NOTHING

    def _use(self, use: Use, place: Place, aliases: Aliases, context: Context) -> None:
        path = place.frame.scope.module.path
        if isinstance(use.key, tuple):
            missing = ".".join(use.key[1].split(".")[:2])
            owner = place.frame.cls.name if place.frame.cls is not None else place.name
            reason = f"{owner} never defines {missing}, so which object this is can't be told"
            self._lost(context.root, path, use.line, f"{use.key[1]}.{use.name}", reason)
            return
        if use.name in ("__class__", "__dict__"):
            return
        conditions = [*self._trail, *use.conditions]
        role = roles.narrowed(context.root.role, conditions, place, aliases)
        text = " and ".join(dict.fromkeys(condition_text(each) for each in conditions)) or None
        kinds, structural = self._kinds(conditions, place, aliases, context)
        self._met += 1
        self._counter += 1
        site = Site(
            path=path,
            line=use.line,
            kind=use.kind,
            guard="hasattr" if structural and use.guard == "none" else use.guard,
            role=role,
            condition=text,
            function=place.name,
            only=only_for(conditions, place.frame.function),
            kinds=kinds,
            needs=use.needs,
            order=(*self._rank(place, context), self._counter),
        )
        key = (path, use.line, use.name, use.kind)
        if (key, role) not in self._seen:
            self._seen.add((key, role))
            self._sites[(use.name, site)] = None

    def _kinds(
        self, conditions: Sequence[ast.expr | str], place: Place, aliases: Aliases, context: Context
    ) -> tuple[tuple[str, ...] | None, bool]:
        """The classes that the object is asked to be of, and whether that asks for its methods instead (a protocol)."""
        asked = classes_asked(conditions, lambda node: bool(aliases.paths(node, place) & context.held))
        names: list[str] = []
        for node in asked:
            for each in self.program.resolve(place.frame.scope, node):
                if isinstance(each, ClassRef):
                    order = self.typer.instances.lineages.of(each).order
                    if any(isinstance(base, External) and base.name.endswith(".Protocol") for base in order):
                        return None, True
                    names.append(each.name)
                elif isinstance(each, External):
                    names.append(each.name.rpartition(".")[2])
                else:
                    return None, False
        return tuple(dict.fromkeys(names)) or None, False

    def _rank(self, place: Place, context: Context) -> tuple[int, ...]:
        """What runs first: whoever stands nearer to the object is built earlier, and constructors run before all."""
        chain = names_along(ast.parse(context.root.object, mode="eval").body)
        distance = len(chain) - (chain[:1] == ["self"])
        built = place.frame.function is not None and self._constructs(place)
        return (0 if built else 1, distance)

    def _constructs(self, place: Place) -> bool:
        cls, function = place.frame.cls, place.frame.function
        if cls is None or function is None:
            return True  # a helper is as early as whoever calls it
        if cls not in self._built:
            self._built[cls] = built_by(self.typer, cls)
        return function.lineno in self._built[cls]

    def _lost(self, root: Root, path: str, line: int, expression: str, reason: str) -> None:
        self._met += 1
        self._unresolved[Unresolved(path, line, expression, reason, root.role)] = None

    # -- one call deeper

    def _handed(self, handed: Handed, place: Place, aliases: Aliases, context: Context) -> None:
        if handed.key != _HELD:
            return
        path = place.frame.scope.module.path
        text = ast.unparse(handed.call.func) if handed.call is not None else ""
        reason = handed.how
        if handed.call is not None:
            found = list(aliases.callees(handed.call, place))
            if not found and hasattr(builtins, text):
                return
            if any(not fits(each.frame, handed.call) for _, each in found):
                found, reason = [], f"{reason}, whose parameters the call does not fit"
            near = [each for each in found if context.depth == 0 or each[1].frame.cls is None]
            if near and context.depth < _DEPTH:
                for function, inner in near:
                    self._enter(function, inner, handed, place, aliases, context)
                return
            if "fit" not in reason:
                reason += ", more than one call away" if found else ", whose code was not found"
        self._lost(context.root, path, handed.line, context.root.object, reason)

    def _enter(
        self, function: Function, inner: Place, handed: Handed, place: Place, aliases: Aliases, context: Context
    ) -> None:
        given = [name for name, paths in inner.held.items() if paths & context.held]
        key = (id(function), tuple(given), context.root.role, context.root.object, id(handed.call))
        if not given or key in self._seen:
            return
        self._met += 1
        self._seen.add(key)
        deeper = replace(context, depth=context.depth + 1)
        added = [*handed.state.conditions]
        self._trail += added

        def known(node: ast.expr, place: Place) -> Hashable | None:
            return _HELD if aliases.paths(node, place) & context.held else None

        facts = {fact: guard for fact, guard in handed.state.facts.items() if fact[0] == _HELD}
        self._run(inner, aliases, known, deeper, State(facts=facts, tried=handed.state.tried))
        if added:
            del self._trail[-len(added) :]
