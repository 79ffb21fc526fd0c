"""What must not be wrong with a Python file after a port."""

from __future__ import annotations

import pytest

from patchctl.engine.guards import check, namesakes, rivals

MODULE = b"import os\n\nclass K:\n    def a(self): ...\n\nT = {1: 2}\n"


def kinds(before: bytes, after: bytes, base: bytes | None = None, patched: bytes | None = None) -> list[str]:
    return [finding.kind for finding in check("m.py", before, after, base, patched)]


@pytest.mark.parametrize(
    ("added", "words"),
    [
        (b"class K: ...\n", "class K"),
        (b"def f(): ...\ndef f(): ...\n", "function f"),
        (b"import os\n", "import os"),
        (b"class L:\n    def a(self): ...\n    def a(self): ...\n", "method a of L"),
    ],
)
def test_defined_twice(added: bytes, words: str) -> None:
    (finding,) = check("m.py", MODULE, MODULE + added)
    assert finding.kind == "defined-twice"
    assert words in finding.text


def test_a_key_twice() -> None:
    (finding,) = check("m.py", MODULE, MODULE.replace(b"1: 2", b"1: 2, 3: 4, 1: 5"))
    assert "key 1 of T" in finding.text


@pytest.mark.parametrize(
    "added",
    [
        b"class P:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n",
        b"from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...\n",
        b"if os:\n    def g(): ...\nelse:\n    def g(): ...\n",
        b"def one():\n    import os\n",
        b"D = {1: 2}\n",
    ],
)
def test_what_is_not_twice(added: bytes) -> None:
    assert kinds(MODULE, MODULE + added) == []


def test_what_was_twice_before_or_is_the_patch_itself() -> None:
    twice = MODULE + b"class K: ...\n"
    assert kinds(twice, twice + b"x = 1\n") == []
    assert kinds(MODULE, twice, MODULE, twice) == []


def test_syntax() -> None:
    assert kinds(MODULE, MODULE + b"(\n") == ["syntax"]
    assert kinds(b"print 1\n", b"print 2\n") == []
    assert kinds(MODULE, MODULE + b"(\n", MODULE, MODULE + b"(\n") == []
    assert check("m.txt", MODULE, b"(\n") == []


def test_a_name_that_is_gone() -> None:
    base, patched = b"from caps import ok\nx = 1\n", b"from caps import ok\nx = ok()\n"
    onto, after = b"from caps import fine\nx = 1\n", b"from caps import fine\nx = ok()\n"
    (finding,) = check("m.py", onto, after, base, patched)
    assert finding.kind == "name-gone"
    assert finding.text.startswith("ok is used")
    assert finding.line == 2
    assert check("m.py", onto, after + b"from caps import *\n", base, patched) == []


def test_rivals_and_namesakes() -> None:
    patched = MODULE.replace(b"    def a", b"    def b(self): ...\n    def a")
    onto = MODULE.replace(b"    def a", b"    def b(self): return 1\n    def a")
    (finding,) = rivals("m.py", onto, MODULE, patched)
    assert "method b of K" in finding.text
    (finding,) = namesakes("m.py", onto, [b"    def b(self): ...\n"], [])
    assert "method b" in finding.text
    assert namesakes("m.py", onto, [b"    def b(self): ...\n"], [b"    def b(self, x): ...\n"]) == []


@pytest.mark.parametrize(
    "hostile", [b"(" * 100_000, b"x = " + b"-" * 100_000 + b"1", b"\0", b"\xff", b"a." * 50_000 + b"a = {}"]
)
def test_no_source_breaks_it(hostile: bytes) -> None:
    assert isinstance(check("m.py", hostile + b"\n", hostile + b"\nx = 1\n"), list)
