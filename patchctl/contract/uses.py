"""Every use of an object's attributes in a function, with the guard and the condition that it stands under."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from patchctl.contract import guards
from patchctl.contract.guards import Fact, Identify, Tells
from patchctl.contract.syntax import FUNCTIONS, Function, assignments, called, constant, dotted

CALL, READ, WRITE, SIGNATURE = "call", "read", "write", "signature"
_LOOKING = frozenset({"hasattr", "getattr", "setattr", "delattr"})
# They take an object without asking it for anything that it might lack.
_SAFE = frozenset(
    {"isinstance", "type", "id", "print", "repr", "str", "bool", "callable", "issubclass", "super", "vars", "cast"}
)
_LOGGERS = frozenset({"logger", "logging", "log", "LOG", "_logger"})
_LONG = 160


@dataclass(frozen=True, eq=False)
class Use:
    """An attribute of the object ``key`` that is used at ``line``; ``conditions`` stand from the outside in.

    ``needs`` are other attributes of it that must be there for the code to be reached.
    """

    key: Hashable
    name: str
    kind: str
    guard: str
    conditions: tuple[ast.expr | str, ...]
    line: int
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Handed:
    """The object ``key`` goes where its uses must be followed, or can't be.

    ``call`` is the call that gets it as ``argument`` (a position or a name); None where a lambda holds it.
    ``how`` says in words what happens to it.
    """

    key: Hashable
    call: ast.Call | None
    argument: int | str
    how: str
    state: State
    line: int


@dataclass(frozen=True)
class State:
    """What is known where a statement stands."""

    facts: Mapping[Fact, str] = field(default_factory=dict)
    conditions: tuple[ast.expr | str, ...] = ()
    tried: bool = False
    flags: Mapping[str, Tells] = field(default_factory=dict)
    written: frozenset[Fact] = frozenset()

    def under(self, test: ast.expr, told: Tells, holds: bool) -> State:
        """The state where ``test`` holds, or does not."""
        facts = told.holds if holds else told.fails
        condition = test if holds else opposite(test)
        return replace(self, facts={**self.facts, **facts}, conditions=(*self.conditions, condition))


@dataclass
class Walker:
    """Walks a function for the objects that ``identify`` tells from others; fills ``uses`` and ``handed``.

    A function in it is given to ``nested`` with what is known there; without that it is walked as if it stood open.
    ``helper`` says what a test tells that is made by calling a function.
    """

    identify: Identify
    nested: Callable[[Function, State], None] | None = None
    helper: Callable[[ast.Call], Tells] = guards.nothing_more
    uses: list[Use] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    # What was known of an object whenever a variable got it: it still is where the variable is used.
    _granted: dict[str, list[Mapping[Fact, str]]] = field(default_factory=dict)

    def block(self, body: Iterable[ast.stmt], state: State) -> State:
        """Walk statements in order; returns what is known after the last."""
        for statement in body:
            state = self._statement(statement, state)
        return state

    # -- statements

    def _statement(self, node: ast.stmt, state: State) -> State:
        if isinstance(node, ast.If):
            return self._if(node, state)
        if isinstance(node, FUNCTIONS):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                self._maybe(default, state)
            inner = replace(state, tried=False, written=frozenset())
            if self.nested is not None:
                self.nested(node, inner)
            else:
                self.block(node.body, inner)
        elif isinstance(node, ast.While):
            self.expression(node.test, state)
            told = self._told(node.test, state)
            self.block(node.body, state.under(node.test, told, True))
            self.block(node.orelse, state)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter, state)
            self.block([*node.body, *node.orelse], state)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node, state)  # type: ignore[arg-type]
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self.expression(item.context_expr, state)
            inner = self.block(node.body, replace(state, tried=True) if guards.suppresses(node) else state)
            return replace(inner, tried=state.tried)
        elif isinstance(node, ast.Match):
            self.expression(node.subject, state)
            for case in node.cases:
                self._maybe(case.guard, state)
                self.block(case.body, state)
        elif not isinstance(node, ast.ClassDef):
            return self._plain(node, state)
        return state

    def _if(self, node: ast.If, state: State) -> State:
        self.expression(node.test, state)
        told = self._told(node.test, state)
        after_body = self.block(node.body, state.under(node.test, told, True))
        after_else = self.block(node.orelse, state.under(node.test, told, False))
        written = state.written
        if node.orelse:
            written |= after_body.written & after_else.written
        after = replace(state, written=written)
        # Past a branch that leaves, the rest runs under the opposite. One that raises guards nothing: it crashes too.
        for body, holds in ((node.body, False), (node.orelse, True)):
            way = guards.leaves(body)
            if way:
                after = after.under(node.test, told if way == "return" else guards.NOTHING, holds)
        return after

    def _try(self, node: ast.Try, state: State) -> State:
        after = self.block(node.body, replace(state, tried=state.tried or guards.swallows(node)))
        after = replace(after, tried=state.tried)
        for handler in node.handlers:
            self.block(handler.body, state)
        after = self.block(node.orelse, after)
        self.block(node.finalbody, state)
        return after if not node.handlers else state

    def _plain(self, node: ast.stmt, state: State) -> State:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr) and not (isinstance(node, ast.AnnAssign) and child is node.annotation):
                self.expression(child, state)
        flags, written = dict(state.flags), set(state.written)
        for target, value in assignments(node):
            if isinstance(target, ast.Name):
                flags.pop(target.id, None)
                told = self._told(value, state) if value is not None else guards.NOTHING
                if told.holds or told.fails:
                    flags[target.id] = told
                if value is not None and self.identify(value) is not None:
                    self._granted.setdefault(target.id, []).append(state.facts)
            elif isinstance(target, ast.Attribute):
                key = self.identify(target.value)
                if key is not None:
                    written.add((key, target.attr))
        return replace(state, flags=flags, written=frozenset(written))

    def _told(self, test: ast.expr, state: State) -> Tells:
        return guards.tells(test, self.identify, state.flags, self.helper)

    # -- expressions

    def _maybe(self, node: ast.expr | None, state: State) -> None:
        if node is not None:
            self.expression(node, state)

    def expression(self, node: ast.expr, state: State) -> None:
        """Walk an expression."""
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self.expression(value, state)
                told = self._told(value, state)
                facts = told.holds if isinstance(node.op, ast.And) else told.fails
                state = replace(state, facts={**state.facts, **facts})
        elif isinstance(node, ast.IfExp):
            told = self._told(node.test, state)
            self.expression(node.test, state)
            self.expression(node.body, state.under(node.test, told, True))
            self.expression(node.orelse, state.under(node.test, told, False))
        elif isinstance(node, ast.Call):
            self._call(node, state)
        elif isinstance(node, ast.Attribute):
            self._attribute(node, state)
        elif isinstance(node, ast.Lambda):
            key = self.identify(node.body)
            if key is not None:
                self._hand(key, None, "", "handed out by a lambda", state, node.lineno)
            self.expression(node.body, replace(state, tried=False))
        else:
            for child in ast.iter_child_nodes(node):
                self._part(child, state)

    def _part(self, node: ast.AST, state: State) -> None:
        if isinstance(node, ast.expr):
            self.expression(node, state)
        elif isinstance(node, (ast.comprehension, ast.keyword, ast.FormattedValue)):
            for child in ast.iter_child_nodes(node):
                self._part(child, state)

    def _attribute(self, node: ast.Attribute, state: State) -> None:
        key = self.identify(node.value)
        if key is not None:
            kind = WRITE if isinstance(node.ctx, ast.Store) else READ
            line, guard = node.end_lineno or node.lineno, self._known_before(node.value, (key, node.attr))
            self._use(key, node.attr, kind, line, state, guard)
        self.expression(node.value, state)

    def _known_before(self, node: ast.expr, fact: Fact) -> str | None:
        """The guard under which a variable got the object each time; None if there was none once."""
        granted = self._granted.get(node.id, []) if isinstance(node, ast.Name) else []
        return granted[0].get(fact) if granted and all(fact in each for each in granted) else None

    def _use(self, key: Hashable, name: str, kind: str, line: int, state: State, guard: str | None = None) -> None:
        if (key, name) in state.written and kind != WRITE:
            return  # it was put there a moment ago
        if guard is None:
            guard = state.facts.get((key, name)) or (guards.TRY if state.tried else guards.NONE)
        needs = tuple(sorted(each for of, each in state.facts if of == key and each != name))
        self.uses.append(Use(key, name, kind, guard, state.conditions, line, needs))

    def _call(self, node: ast.Call, state: State) -> None:
        if called(node) in _LOOKING and len(node.args) >= 2:
            self._look(node, called(node) or "", state)
        elif not self._signature(node, state):
            func = node.func
            key = self.identify(func.value) if isinstance(func, ast.Attribute) else None
            if isinstance(func, ast.Attribute) and key is not None:
                guard = self._known_before(func.value, (key, func.attr))
                self._use(key, func.attr, CALL, func.end_lineno or func.lineno, state, guard)
                self.expression(func.value, state)
            else:
                if (itself := self.identify(func)) is not None:
                    self._use(itself, "__call__", CALL, func.end_lineno or func.lineno, state)
                self.expression(func, state)
            self._arguments(node, state)

    def _arguments(self, node: ast.Call, state: State) -> None:
        for at, value in enumerate(node.args):
            self._argument(node, at, value, state)
        for word in node.keywords:
            self._argument(node, word.arg or "**", word.value, state)

    def _argument(self, node: ast.Call, at: int | str, value: ast.expr, state: State) -> None:
        key = self.identify(value)
        harmless = called(node) in _SAFE or (dotted(node.func) or ("",))[0] in _LOGGERS
        if key is not None and not harmless:
            self._hand(key, node, at, f"handed to {_short(node.func)}()", state, value.lineno)
        self.expression(value, state)

    def _look(self, node: ast.Call, how: str, state: State) -> None:
        key, name = self.identify(node.args[0]), constant(node.args[1])
        for value in (*node.args, *(word.value for word in node.keywords)):
            self.expression(value, state)
        if key is None:
            return
        if name is None:
            what = f"{how}() with the computed name {_short(node.args[1])}"
            self._hand(key, None, "", what, state, node.lineno)
            return
        line = node.args[1].lineno
        if how == "hasattr":
            self._use(key, name, READ, line, state, guards.HASATTR)
        elif how == "setattr":
            self._use(key, name, WRITE, line, state)
        else:
            guard = guards.DEFAULT if how == "getattr" and len(node.args) > 2 else None
            self._use(key, name, READ, line, state, guard)

    def _signature(self, node: ast.Call, state: State) -> bool:
        """Note ``inspect.signature(x.forward)``: what is asked is which parameters the method takes."""
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else called(node)
        if name not in ("signature", "getfullargspec") or len(node.args) != 1:
            return False
        method = node.args[0]
        key = self.identify(method.value) if isinstance(method, ast.Attribute) else None
        if not isinstance(method, ast.Attribute) or key is None:
            return False
        self._use(key, method.attr, SIGNATURE, method.end_lineno or method.lineno, state)
        self.expression(method.value, state)
        return True

    def _hand(
        self, key: Hashable, call: ast.Call | None, argument: int | str, how: str, state: State, line: int
    ) -> None:
        self.handed.append(Handed(key, call, argument, how, state, line))


_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    one: other
    for pair in ((ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.Eq, ast.NotEq))
    for one, other in (pair, pair[::-1])
}


def opposite(test: ast.expr) -> ast.expr:
    """The expression that holds where ``test`` does not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _OPPOSITES:
        return ast.Compare(test.left, [_OPPOSITES[type(test.ops[0])]()], test.comparators)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return ast.BoolOp(ast.And(), [opposite(value) for value in test.values])
    return ast.UnaryOp(ast.Not(), test)


def condition_text(condition: ast.expr | str) -> str:
    """A condition as it is written, cut where it is long."""
    return condition if isinstance(condition, str) else _short(condition)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
