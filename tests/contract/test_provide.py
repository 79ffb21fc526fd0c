"""Providers: every way in which a class comes by an attribute, and the ways in which it seems to."""

from __future__ import annotations

import pytest

from patchctl.contract.model import How
from tests.contract.texts import how, provided

NN = "import torch.nn as nn\n"


@pytest.mark.parametrize(
    "body",
    [
        "def go(self): pass",
        "async def go(self): pass",
        "@property\n    def go(self): return 1",
        "@classmethod\n    def go(cls): pass",
        "@staticmethod\n    def go(): pass",
        "go = 1",
        "go: int = 1",
        "one, go = 1, 2",
        "go = property(lambda self: 1)",
        "from os import go",
        "def __init__(self): self.go = 1",
        "def __init__(self): self.go: int = 1",
        "def __init__(self): self.one, (self.go, *self.rest) = f()",
        "def __init__(self): self.one = self.go = None",
        "def __init__(this): this.go = 1",
        "def __init__(self):\n        for self.go in range(3): pass",
        "def __init__(self):\n        with open('x') as self.go: pass",
        "def __init__(self):\n        if x:\n            self.go = 1",
        "def __init__(self): setattr(self, 'go', 1)",
        "def __init__(self): self.register_buffer('go', None)",
        "def __init__(self): self.__dict__['go'] = 1",
        "def __init__(self): object.__setattr__(self, 'go', 1)",
        "def __init__(self):\n        for name in ('one', 'go'): setattr(self, name, 1)",
        "def __init__(self): self.setup()\n    def setup(self): self.go = 1",
        "def later(self): self.go = 1",
        "if x:\n        def go(self): pass\n    else:\n        def go(self): return 1",
        "try:\n        go = 1\n    except E: pass",
    ],
)
def test_own(body: str) -> None:
    assert how("go", f"class A:\n    {body}\n") == "own"


@pytest.mark.parametrize(
    "body",
    [
        "go: int",
        "def __init__(self): self.go: int",
        "def __init__(self, go): other.go = go",
        "def __init__(self): self.x.go = 1",
        "def __init__(self): self.go += 1",
        "@staticmethod\n    def make(self): self.go = 1",
        "def f(self): go = 1",
        "from typing import TYPE_CHECKING\n    if TYPE_CHECKING:\n        go = 1",
        "class B:\n        go = 1",
        "def f(self):\n        class B:\n            def g(self): self.go = 1",
        "def f(self):\n        def g(self): self.go = 1",
    ],
)
def test_missing(body: str) -> None:
    assert how("go", f"class A:\n    {body}\n") == "missing"


def test_what_another_method_sets_says_so() -> None:
    answer = provided("go", a="class A:\n    def load(self): self.go = 1\n")
    assert (answer.how, answer.note) == (How.OWN, "set by load()")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class A:\n    if gpu:\n        def go(self): pass\n", "defined only if gpu"),
        ("class A:\n    def __init__(self):\n        for n in names: setattr(self, n, 1)\n", "computed names"),
        ("from lib import Base\nclass A(Base): pass\n", "inherits from Base"),
        ("@register('a')\nclass A: pass\n", "decorated with register"),
        ("class A(metaclass=Meta): pass\n", "metaclass"),
        ("class A:\n    def __getattr__(self, name): return compute(name)\n", "__getattr__ decides"),
        ("class A:\n    def __getattribute__(self, name): return compute(name)\n", "__getattribute__ decides"),
        ("class A: pass\nfor n in names: setattr(A, n, 1)\n", "computed names"),
    ],
)
def test_unknown_with_the_reason(text: str, says: str) -> None:
    answer = provided("go", a=text)
    assert answer.how is How.UNKNOWN and answer.holds is None
    assert says in (answer.note or "")


def test_names_that_a_pattern_does_not_fit_are_missing() -> None:
    text = "class A:\n    def __init__(self, n): setattr(self, f'layer_{n}', 1)\n"
    assert how("go", text) == "missing"
    assert how("layer_3", text) == "unknown"


def test_set_on_the_class_from_outside() -> None:
    assert how("go", "class A: pass\nA.go = 1\n") == "own"
    assert how("go", "class A: pass\nsetattr(A, 'go', 1)\n") == "own"


def test_a_decorator_that_hands_the_class_back_adds_nothing() -> None:
    assert (
        how("go", "def register(cls):\n    known.append(cls)\n    return cls\n@register\nclass A: pass\n") == "missing"
    )
    assert how("go", "def extend(cls):\n    cls.go = 1\n    return cls\n@extend\nclass A: pass\n") == "unknown"


def test_fields_of_a_dataclass() -> None:
    assert how("go", "from dataclasses import dataclass\n@dataclass\nclass A:\n    go: int\n") == "own"
    assert how("go", "import msgspec\nclass A(msgspec.Struct):\n    go: int\n") == "own"


# Inheritance


def test_inherited_over_files_and_aliases() -> None:
    files = {
        "pkg__INIT": "from pkg.base import Base as Exported\n",
        "pkg__base": "class Base:\n    def go(self): pass\n",
        "pkg__mid": "from . import Exported\nclass Mid(Exported): pass\n",
    }
    for text in (
        "from pkg.mid import Mid\nclass A(Mid): pass\n",
        "import pkg.mid\nclass A(pkg.mid.Mid): pass\n",
        "import pkg.mid as m\nclass A(m.Mid): pass\n",
        "from pkg import *\nfrom pkg import Exported\nclass A(Exported): pass\n",
        "from pkg import mid\nMine = mid.Mid\nclass A(Mine): pass\n",
    ):
        answer = provided("go", a=text, **files)
        assert (answer.how, answer.via, answer.path, answer.line) == (How.INHERITED, "Base", "pkg/base.py", 2), text


def test_mixins_in_the_order_of_the_bases() -> None:
    text = "class M:\n    go = 1\nclass B:\n    go = 2\nclass A(M, B): pass\n"
    assert provided("go", a=text).via == "M"
    diamond = "class R:\n    go = 1\nclass X(R): pass\nclass Y(R):\n    go = 2\nclass A(X, Y): pass\n"
    assert provided("go", a=diamond).via == "Y"


def test_a_class_may_take_the_name_of_its_base() -> None:
    answer = provided("go", a="from b import A\nclass A(A): pass\n", b="class A:\n    go = 1\n")
    assert (answer.how, answer.path) == (How.INHERITED, "b.py")


def test_known_classes_of_libraries() -> None:
    assert provided("named_parameters", a=NN + "class A(nn.Module): pass\n").via == "torch.nn.Module"
    assert how("go", NN + "class A(nn.Module): pass\n") == "missing"
    assert (
        how("tie_weights", "from transformers import PreTrainedModel\nclass A(PreTrainedModel): pass\n") == "inherited"
    )


def test_a_parent_that_is_wrapped_is_not_inherited_from() -> None:
    text = "class Inner:\n    def go(self): pass\nclass A:\n    def __init__(self): self.inner = Inner()\n"
    assert how("go", text) == "missing"


def test_attributes_of_a_constructor_that_is_never_reached() -> None:
    text = """
    class Base(nn.Module):
        def __init__(self): self.go = 1
        def set(self): self.later = 1
    class A(Base):
        def __init__(self): {call}
    """
    text = NN + text.replace("\n    ", "\n")
    assert how("go", text.format(call="super().__init__()")) == "inherited"
    assert how("go", text.format(call="Base.__init__(self)")) == "inherited"
    assert how("go", text.format(call="nn.Module.__init__(self)")) == "missing"
    assert how("go", text.format(call="super(Base, self).__init__()")) == "missing"
    assert how("later", text.format(call="nn.Module.__init__(self)")) == "inherited"


def test_an_attribute_of_the_class_itself_comes_before_inherited_ones() -> None:
    text = "class B:\n    def go(self): pass\nclass A(B):\n    def __init__(self): self.go = 1\n"
    assert how("go", text) == "own"


# Delegation

WRAP = """
class Inner:
    {inner}
class A:
    def __init__(self): self.inner = Inner()
    {method}
"""


@pytest.mark.parametrize(
    "method",
    [
        "def go(self): return self.inner.go()",
        "def go(self, *a, **k): self.inner.go(*a, **k)",
        "@property\n    def go(self): return self.inner.go",
        "def go(self):\n        inner = self.inner\n        return inner.go()",
        "def go(self): return getattr(self.inner, 'go')()",
        "def go(self):\n        self.flag = True\n        self.inner.go(1)",
    ],
)
@pytest.mark.parametrize("inner", ["def go(self): pass", "x = 1"])
def test_delegated(method: str, inner: str) -> None:
    answer = provided("go", a=WRAP.format(inner=inner, method=method))
    assert (answer.how, answer.via, answer.guarded) == (How.DELEGATED, "self.inner", False)
    assert answer.inner is not None and answer.inner.cls == "Inner"
    assert answer.holds is (inner != "x = 1")


@pytest.mark.parametrize(
    "method",
    [
        "def go(self):\n        if hasattr(self.inner, 'go'):\n            return self.inner.go()",
        "def go(self):\n        if not hasattr(self.inner, 'go'):\n            return\n        self.inner.go()",
        "def go(self): return getattr(self.inner, 'go', None)",
        "def go(self):\n        try:\n            self.inner.go()\n        except AttributeError:\n            pass",
        "def go(self): return self.inner.go() if hasattr(self.inner, 'go') else None",
    ],
)
def test_a_guarded_delegation_silently_does_nothing(method: str) -> None:
    answer = provided("go", a=WRAP.format(inner="x = 1", method=method))
    assert (answer.how, answer.guarded, answer.holds, answer.note) == (How.DELEGATED, True, True, "Inner lacks it")


def test_a_guard_that_raises_is_none() -> None:
    method = "def go(self):\n        if not hasattr(self.inner, 'go'):\n            raise E\n        self.inner.go()"
    answer = provided("go", a=WRAP.format(inner="x = 1", method=method))
    assert (answer.guarded, answer.holds) == (False, False)


def test_an_inherited_delegation_is_followed_too() -> None:
    text = """
    class I: pass
    class B:
        def __init__(self): self.i = I()
        def go(self): self.i.go()
    class A(B): pass
    """
    answer = provided("go", a=text)
    assert (answer.how, answer.via, answer.holds) == (How.INHERITED, "B", False)


def test_reading_something_else_of_the_inner_object_is_no_delegation() -> None:
    assert how("go", WRAP.format(inner="x = 1", method="def go(self): return self.inner.weight")) == "own"
    assert how("go", WRAP.format(inner="x = 1", method="def go(self): self.inner.go = 1")) == "own"


@pytest.mark.parametrize(
    "value",
    [
        "Inner()",
        "Inner() if x else Inner(1)",
        "(Inner if x else Inner)()",
        "TABLE[x]()",
        "TABLE.get(x)()",
        "build()",
        "self.make()",
        "cls(1)",
        "make(config)",
    ],
)
def test_the_class_of_the_inner_object(value: str) -> None:
    text = f"""
    class Inner:
        def go(self): pass
    TABLE = {{1: Inner}}
    def build() -> Inner: ...
    def make(config):
        return Inner(config)
    class A:
        def __init__(self, cls=Inner): self.inner = {value}
        def make(self): return Inner()
        def go(self): return self.inner.go()
    """
    answer = provided("go", a=text)
    assert answer.inner is not None and answer.inner.cls == "Inner"


def test_the_inner_class_that_a_subclass_chooses() -> None:
    text = """
    class Bad: pass
    class Good:
        def go(self): pass
    class B:
        def __init__(self, kind=Bad): self.inner = kind()
        def go(self): return self.inner.go()
    class A(B):
        def __init__(self): super().__init__(kind=Good)
    """
    answer = provided("go", a=text)
    assert answer.inner is not None and answer.inner.cls == "Good" and answer.holds


def test_an_inner_class_that_is_not_known_and_one_that_is_assumed() -> None:
    text = "class A:\n    def __init__(self, inner): self.inner = inner\n    def go(self): self.inner.go()\n"
    answer = provided("go", a=text)
    assert answer.holds and answer.note == "the class of self.inner is not known"
    assumed = provided("go", a=text, b="class B: pass\n", assume={"self.inner": "b.py:B"})
    assert assumed.inner is not None and assumed.inner.cls == "B" and assumed.holds is False


def test_delegation_in_a_circle_ends() -> None:
    text = "class A:\n    def __init__(self): self.a = A()\n    def go(self): return self.a.go()\n"
    assert provided("go", a=text).how is How.DELEGATED


# __getattr__

FORWARD = "def __getattr__(self, name): return getattr(self.inner, name)"


def test_getattr_is_resolved_through_the_inner_class() -> None:
    answer = provided("go", a=WRAP.format(inner="def go(self): pass", method=FORWARD))
    assert (answer.how, answer.via, answer.holds) == (How.GETATTR, "self.inner", True)
    lacking = provided("go", a=WRAP.format(inner="x = 1", method=FORWARD))
    assert (lacking.how, lacking.holds, lacking.note) == (How.GETATTR, False, "Inner lacks it")


def test_getattr_of_an_unknown_inner_class_is_unknown() -> None:
    text = f"class A:\n    def __init__(self, inner): self.inner = inner\n    {FORWARD}\n"
    assert how("go", text) == "unknown"


def test_getattr_with_special_cases_and_super() -> None:
    special = """def __getattr__(self, name):
        if name == "inner":
            return None
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)"""
    text = WRAP.format(inner="def go(self): pass", method=special)
    assert how("go", text) == "getattr"
    assert how("stop", text) == "getattr" and provided("stop", a=text).holds is False


def test_getattr_that_only_refuses() -> None:
    refuse = "class A:\n    def __getattr__(self, name): raise AttributeError(name)\n"
    assert how("go", refuse) == "missing"


def test_what_is_found_the_usual_way_does_not_ask_getattr() -> None:
    assert how("inner", WRAP.format(inner="x = 1", method=FORWARD)) == "own"


# Bad input


def test_cyclic_imports_and_inheritance_end() -> None:
    assert how("go", "from b import B\nclass A(B): pass\n", b="from a import A\nclass B(A): pass\n") == "unknown"
    assert how("go", "class A(A): pass\n") == "unknown"
    assert how("go", "from b import x as B\nclass A(B): pass\n", b="from a import B as x\n") == "unknown"


def test_a_base_in_a_file_that_does_not_parse_is_unknown() -> None:
    answer = provided("go", a="from b import B\nclass A(B): pass\n", b="class B(:\n")
    assert answer.how is How.UNKNOWN


def test_a_byte_order_mark() -> None:
    assert provided("go", a="\ufeffclass A:\n    go = 1\n").how is How.OWN


def test_code_that_is_nested_too_deeply_is_unknown() -> None:
    deep = " + ".join(["1"] * 900)
    answer = provided("go", a=f"class A:\n    def go(self): return self.x.go({deep})\n")
    assert answer.how in (How.UNKNOWN, How.DELEGATED)
