"""Consumers: how an object is reached, what is done with it, and under which guard."""

from __future__ import annotations

import pytest

from tests.contract.texts import found, uses

CLASS = "class A:\n    def __init__(self, model): self.model = model\n"


def in_method(*lines: str) -> str:
    return CLASS + "    def run(self, x=None):\n" + "".join(f"        {line}\n" for line in lines)


# Ways to reach it


@pytest.mark.parametrize(
    "line",
    [
        "self.model.go()",
        "m = self.model; m.go()",
        "a = b = self.model; b.go()",
        "(m := self.model).go()",
        "m, n = self.model, 1; m.go()",
        "m = self.model if x else None; m.go()",
        "m = x and self.model; m.go()",
        "[m.go() for m in [self.model]]",
        "models = [self.model]\n        for m in models: m.go()",
        "models = [1, self.model]; models[1].go()",
        "for i, m in enumerate([1]): self.model.go()",
        "cast(T, self.model).go()",
        "def inner(): self.model.go()",
        "f = lambda: self.model.go()",
        "with x: self.model.go()",
        "while x: self.model.go()",
    ],
)
def test_locals(line: str) -> None:
    assert "go call none" in uses(in_method(*line.split("; ")))


def test_a_parameter_of_an_inner_function_hides_the_outer_variable() -> None:
    assert uses(in_method("model = self.model", "def inner(model): model.go()", "model.stop()")) == ["stop call none"]


@pytest.mark.parametrize(
    "more",
    [
        "    @property\n    def m(self): return self.model\n",
        "    def m2(self): return self.model\n    @property\n    def m(self): return self.m2()\n",
        "    def set(self): self.m = self.model\n",
        "    def set(self): self.x = self.m = self.model\n",
        "    def set(self):\n        if x: self.m = self.model\n        else: self.m = None\n",
    ],
)
def test_attributes_and_properties(more: str) -> None:
    assert uses(CLASS + more + "    def run(self): self.m.go()\n") == ["go call none"]


def test_a_property_of_the_base_in_another_file() -> None:
    base = """
    class Base:
        def __init__(self): self._model = make()
        @property
        def model(self): return self._model
    """
    text = (
        "from b import Base\nclass A(Base):\n    def run(self): self._model.go()\n    def x(self): self.model.stop()\n"
    )
    assert uses(text, b=base) == ["go call none", "stop call none"]


RUNNER = """
class Runner:
    def __init__(self): self.model = load()
class Worker:
    def __init__(self):
        self._runner = Runner()
        self.runner_list = []
        self.runner_list.append(Runner())
    @property
    def runner(self): return self._runner
    def nth(self, i): return self.runner_list[i]
"""


def test_through_objects_of_known_classes() -> None:
    text = RUNNER + (
        "class A:\n"
        "    def __init__(self, target: Worker):\n"
        "        self.target = target\n"
        "        self.draft = Worker()\n"
        "        self.draft_runner = self.draft.runner\n"
        "        target.runner.model.one()\n"
        "        self.target._runner.model.two()\n"
        "        self.draft_runner.model.three()\n"
        "        self.draft.nth(0).model.four()\n"
    )
    assert uses(text, object="self.target.runner.model") == ["one call none", "two call none"]
    assert uses(text, object="self.draft.runner.model") == ["three call none"]
    assert uses(text, object="self.draft.runner_list[i].model") == ["four call none"]


def test_slices_keep_and_subscripts_take() -> None:
    text = (
        "class A:\n    def __init__(self, ms): self.ms = ms\n    def run(self):\n        for m in self.ms[1:]: m.go()\n"
    )
    assert uses(text, object="self.ms[0]") == ["go call none"]


def test_a_list_that_is_written_out() -> None:
    text = CLASS + "    def set(self): self.all = [self.model, 1]\n    def run(self): self.all[0].go()\n"
    assert uses(text) == ["go call none"]


def test_an_argument_of_the_base_class() -> None:
    text = """
    class Base:
        def __init__(self, m): self.model = m
    class A(Base):
        def __init__(self, given):
            super().__init__(given)
            given.go()
    """
    assert uses(text) == ["go call none"]


# One call deeper


@pytest.mark.parametrize(
    "call", ["help(self.model)", "help(1, model=self.model)", "help(1, self.model)", "help(*x, model=self.model)"]
)
def test_into_a_function_of_another_file(call: str) -> None:
    b = "def help(a, model=None):\n    (model or a).go()\n"
    assert uses("from b import help\n" + in_method(call), b=b) == ["go call none"]


def test_keyword_only_and_on_from_helper_to_helper() -> None:
    b = "def first(*, target_model): second(target_model)\ndef second(m): m.go()\n"
    assert uses("import b\n" + in_method("b.first(target_model=self.model)"), b=b) == ["go call none"]


def test_into_a_method_and_a_constructor() -> None:
    text = "class B:\n    def __init__(self, m): m.built()\n" + in_method("B(self.model)", "self.own(self.model)")
    assert uses(text + "    def own(self, m): m.go()\n") == ["built call none", "go call none"]


def test_the_callers_guard_and_condition_go_along() -> None:
    lines = ("if hasattr(self.model, 'go'):", "    help(self.model)")
    text = "def help(m): m.go()\n" + in_method(*lines)
    _, site = max(found(text).uses, key=lambda each: each[1].kind == "call")
    assert (site.guard, site.condition, site.function) == ("hasattr", "hasattr(self.model, 'go')", "help")
    sites = {name: site.guard for name, site in found(text).uses}
    assert sites == {"go": "hasattr"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("outside(self.model)", "handed to outside(), whose code was not found"),
        ("register(lambda: self.model)", "handed out by a lambda"),
        ("getattr(self.model, x)", "getattr() with the computed name x"),
        ("help(self.model)", "whose parameters the call does not fit"),
    ],
)
def test_what_is_not_followed_is_told(line: str, reason: str) -> None:
    text = "def help(a, b): b.go()\n" + in_method(line)
    assert any(reason in each.reason for each in found(text).unresolved)
    assert found(text).uses == ()


@pytest.mark.parametrize("line", ["print(self.model)", "logger.info('x', self.model)", "isinstance(self.model, X)"])
def test_what_asks_nothing_of_it(line: str) -> None:
    assert found(in_method(line)).unresolved == ()


def test_an_attribute_that_the_class_never_defines_is_no_object() -> None:
    text = (
        RUNNER
        + "class A(Worker):\n    def run(self):\n        self.runner.model.go()\n        self.other.model.stop()\n"
    )
    result = found(text, object="self.runner.model")
    assert [name for name, _ in result.uses] == ["go"]
    assert [each.expression for each in result.unresolved] == ["self.other.model.stop"]
    assert "A never defines self.other" in result.unresolved[0].reason


def test_a_mixin_need_not_define_it() -> None:
    assert uses("class A:\n    def run(self): self.model.go()\n") == ["go call none"]


# Kinds and guards


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("self.model.go()", "go call none"),
        ("x = self.model.go", "go read none"),
        ("self.model.go = 1", "go write none"),
        ("setattr(self.model, 'go', 1)", "go write none"),
        ("inspect.signature(self.model.go)", "go signature none"),
        ("hasattr(self.model, 'go')", "go read hasattr"),
        ("getattr(self.model, 'go')", "go read none"),
        ("getattr(self.model, 'go', None)", "go read getattr-default"),
        ("callable(getattr(self.model, 'go', None))", "go read getattr-default"),
        ("self.model(1)", "__call__ call none"),
    ],
)
def test_kinds(line: str, expected: str) -> None:
    assert uses(in_method(line)) == [expected]


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("if hasattr(self.model, 'go'):\n    self.model.go()", "hasattr"),
        ("if x and hasattr(self.model, 'go'):\n    self.model.go()", "hasattr"),
        ("x = hasattr(self.model, 'go') and self.model.go()", "hasattr"),
        ("x = not hasattr(self.model, 'go') or self.model.go()", "hasattr"),
        ("x = self.model.go() if hasattr(self.model, 'go') else 1", "hasattr"),
        ("if not hasattr(self.model, 'go'):\n    return\nself.model.go()", "hasattr"),
        ("if not hasattr(self.model, 'go'):\n    pass\nelse:\n    self.model.go()", "hasattr"),
        ("has = hasattr(self.model, 'go')\nif has:\n    self.model.go()", "hasattr"),
        ("if callable(getattr(self.model, 'go', None)):\n    self.model.go()", "getattr-default"),
        ("if getattr(self.model, 'go', None) is not None:\n    self.model.go()", "getattr-default"),
        ("try:\n    self.model.go()\nexcept AttributeError:\n    pass", "try"),
        ("try:\n    self.model.go()\nexcept (KeyError, Exception) as e:\n    log(e)", "try"),
        ("with suppress(AttributeError):\n    self.model.go()", "try"),
        ("if hasattr(self.model, 'go'):\n    m = self.model\nelse:\n    return\nm.go()", "hasattr"),
        ("if isinstance(self.model, Goes):\n    self.model.go()", "hasattr"),
        # What looks like a guard, and is none.
        ("if hasattr(self.model, 'other'):\n    self.model.go()", "none"),
        ("if hasattr(self.model, 'go'):\n    pass\nself.model.go()", "none"),
        ("if hasattr(self.model, 'go') or x:\n    self.model.go()", "none"),
        ("if not hasattr(self.model, 'go'):\n    raise E\nself.model.go()", "none"),
        ("try:\n    self.model.go()\nexcept AttributeError:\n    raise", "none"),
        ("try:\n    self.model.go()\nexcept AttributeError:\n    if x:\n        raise", "none"),
        ("try:\n    pass\nexcept AttributeError:\n    self.model.go()", "none"),
        ("try:\n    self.model.go()\nexcept KeyError:\n    pass", "none"),
    ],
)
def test_guards(text: str, guard: str) -> None:
    protocol = "from typing import Protocol\nclass Goes(Protocol):\n    def go(self): ...\n"
    calls = [use for use in uses(protocol + in_method(*text.split("\n"))) if use.startswith("go call")]
    assert calls == [f"go call {guard}"]


def test_a_guard_in_a_function_of_its_own() -> None:
    helper = "def can_go(m): return getattr(m, 'go', False)\n"
    assert "go call getattr-default" in uses(helper + in_method("if can_go(self.model):", "    self.model.go()"))
    assert "go call none" in uses(helper + in_method("if can_go(x):", "    self.model.go()"))


def test_what_the_consumer_set_itself_it_does_not_ask_for() -> None:
    assert uses(in_method("self.model.go = 1", "x = self.model.go")) == ["go write none"]
    assert uses(in_method("if x:", "    self.model.go = 1", "y = self.model.go")) == ["go write none", "go read none"]


def test_conditions_from_the_outside_in() -> None:
    lines = ("if self.draft or not x:", "    return", "if x == 1:", "    self.model.go()")
    ((_, site),) = found(in_method(*lines)).uses
    assert site.condition == "not self.draft and x and x == 1" or site.condition == "not self.draft and x and (x == 1)"


# Roles


def test_a_guard_that_names_the_role() -> None:
    text = in_method(
        "if self.is_draft_worker:", "    self.model.one()", "else:", "    self.model.two()", "self.model.three()"
    )
    assert {name: site.role for name, site in found(text).uses} == {"one": "draft", "two": "target", "three": "any"}


def test_a_flag_that_is_only_raised_for_one_role() -> None:
    text = CLASS + (
        "    def start(self):\n        self.flag = False\n        if x and not self.is_draft_worker:\n"
        "            self.flag = True\n"
        "    def run(self):\n        if self.flag: self.model.go()\n"
    )
    assert [site.role for _, site in found(text).uses] == ["target"]


def test_a_declared_role_is_not_changed() -> None:
    text = in_method("if self.is_draft_worker:", "    self.model.go()")
    assert [site.role for _, site in found(text, role="target").uses] == ["target"]


# Where it may be declared


def test_roots() -> None:
    a = CLASS + "    def run(self): self.model.go()\n    def stop(self): self.model.stop()\n"
    assert uses(a, where="a.py") == ["go call none", "stop call none"]
    assert uses(a, where="a.py:A.run") == ["go call none"]
    function = "def f(model): model.go()\ndef g(x): x.go()\n"
    assert uses(function, where="a.py:f", object="model") == ["go call none"]
    assert uses(function, where="a.py", object="model") == ["go call none"]
    assert uses("", where="d/", d__b=a, d__c="x = 1\n", e=a) == ["go call none", "stop call none"]


@pytest.mark.parametrize(
    ("where", "kind"),
    [("no.py:A", "gone"), ("a.py:B", "gone"), ("no/", "gone"), ("a.py:A.x", "gone"), ("a.py:A", "unused")],
)
def test_a_root_that_is_not_there(where: str, kind: str) -> None:
    result = found(CLASS, where=where)
    assert [each[1] for each in result.absent] == [kind]


def test_objects_and_files_that_can_not_be_read() -> None:
    assert found(CLASS, object="self.").absent[0][1] == "object"
    assert found("class A(:\n").absent[0][1] == "unreadable"


def test_entangled_variables_end() -> None:
    names = [f"v{n}" for n in range(60)]
    lines = [f"{name} = f({', '.join(names)})" for name in names]
    text = "def f(*a): return a[0]\n" + in_method(*lines, "v0.go()", "self.model.go()")
    assert uses(text) == ["go call none"]


def test_code_that_is_nested_too_deeply_is_told() -> None:
    result = found(
        in_method("self.model.go()") + "    def deep(self): return " + " + ".join(["self.model.x"] * 800) + "\n"
    )
    assert {name for name, _ in result.uses} >= {"go"}
    assert any("nested too deeply" in each.reason for each in result.unresolved)
