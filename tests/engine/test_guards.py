"""What must not be wrong with a file after a port: each guard's lie, and its nearest neighbour that is none."""

from __future__ import annotations

import pytest

from patchctl.engine.guards import check, namesakes, rivals, unparsed

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
        (b"class L:\n    x = 1\n    x = 2\n", "constant x of L"),
        (b"from posix import os\n", "import os"),
        (b"def os(): ...\n", "function os"),
        (b"if T:\n    def f(): ...\n    def f(): ...\n", "function f"),
        (
            b"class P:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n"
            b"    @x.setter\n    def x(self, v): ...\n",
            "method x.setter of P",
        ),
    ],
)
def test_defined_twice(added: bytes, words: str) -> None:
    (finding,) = check("m.py", MODULE, MODULE + added)
    assert finding.kind == "defined-twice"
    assert words in finding.text


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"T = {1: 2, 3: 4, 1: 5}\n", "key 1 of T"),
        (b"T = {'a': {'b': 1, 'b': 2}}\n", "key 'b'"),
        (b"f(x, {'b': 1, 'b': 2})\n", "key 'b'"),
    ],
)
def test_a_key_twice(table: bytes, words: str) -> None:
    (finding,) = check("m.py", b"T = {}\n", table)
    assert words in finding.text


@pytest.mark.parametrize(
    "added",
    [
        b"class P:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n",
        b"from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...\n",
        b"if os:\n    def g(): ...\nelse:\n    def g(): ...\n",
        b"try:\n    from fast import load\nexcept ImportError:\n    from slow import load\n",
        b"try:\n    import fast\nexcept ImportError:\n    fast = None\n",
        b"def one():\n    import os\n",
        b"def one():\n    x = 1\n    x = 2\n",
        b"D = {1: 2}\n",
        b"f({'b': 1})\nf({'b': 2})\n",
        b"T = dict(T)\n",
        b"import os.path\n",
        b"for _ in T:\n    _ = 1\n",
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


def test_where_python_cannot_parse_a_side_a_reviewer_is_told_and_lines_are_compared() -> None:
    old, new = b"print 1\n\ndef f(): pass\n", b"print 1\n\ndef f(): pass\n\ndef f(): pass\n"
    assert kinds(old, new, old, old) == ["defined-twice"]
    told = unparsed("m.py", old, None)
    assert told is not None
    assert told.kind == "unparsed"
    assert unparsed("m.py", MODULE) is None
    assert unparsed("m.c", old) is None


CAPS = b"from caps import ok\nx = 1\n"


def test_a_name_that_is_gone() -> None:
    base, patched = CAPS, CAPS.replace(b"1", b"ok()")
    onto, after = CAPS.replace(b"ok", b"fine"), b"from caps import fine\nx = ok()\n"
    (finding,) = check("m.py", onto, after, base, patched)
    assert finding.kind == "name-gone"
    assert finding.text.startswith("ok is used")
    assert finding.line == 2
    assert check("m.py", onto, after + b"from caps import *\n", base, patched) == []


def test_a_name_that_the_patch_takes_away_and_upstream_uses() -> None:
    base, patched, onto = CAPS, b"x = 1\n", CAPS + b"y = ok\n"
    assert kinds(onto, b"x = 1\ny = ok\n", base, patched) == ["name-gone"]


def test_a_name_that_is_left_in_another_scope_only() -> None:
    base = b"def ok(): ...\n\ndef f():\n    return 1\n"
    patched = base.replace(b"return 1", b"return ok()")
    onto = b"def g():\n    ok = 1\n    return ok\n\ndef f():\n    return 1\n"
    assert kinds(onto, onto.replace(b"return 1", b"return ok()"), base, patched) == ["name-gone"]


@pytest.mark.parametrize(
    ("onto", "after"),
    [
        (b"x = 1\n", b"x = 1\nprint(_('hello'), len(x), __file__)\n"),  # of gettext, of Python
        (b"def f():\n    ok = 1\n", b"def f():\n    ok = 1\n    return ok\n"),  # a local one
        (b"def f():\n    global ok\n    ok = 1\n", b"def f():\n    global ok\n    ok = 1\nok\n"),
        (b"class C:\n    ok = 1\n", b"class C:\n    ok = 1\n    no = ok\n"),
    ],
)
def test_names_that_are_not_gone(onto: bytes, after: bytes) -> None:
    base = b"_('hello')\n" + CAPS
    assert kinds(onto, after, base, base + b"_('again'), ok\n") == []


def test_rivals_and_namesakes() -> None:
    patched = MODULE.replace(b"    def a", b"    def b(self): ...\n    def a")
    onto = MODULE.replace(b"    def a", b"    def b(self): return 1\n    def a")
    (finding,) = rivals("m.py", onto, MODULE, patched)
    assert "method b of K" in finding.text
    (finding,) = namesakes("m.py", onto, [b"    def b(self): ...\n"], [])
    assert "method b" in finding.text
    assert namesakes("m.py", onto, [b"    def b(self): ...\n"], [b"    def b(self, x): ...\n"]) == []


JSON = b'{"a": {"x": 1}, "b": {"x": 1}}'
YAML = b"a:\n  x: 1\nb:\n  x: 1\n"
TOML = b"[a]\nx = 1\n\n[[b]]\nx = 1\n\n[[b]]\nx = 2\n"
C = b"static int f(void)\n{\n    return 1;\n}\n"
C += b"#ifdef A\nint g(int a)\n{\n}\n#else\nint g(int a)\n{\n}\n#endif\nint h(int a);\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("m.json", JSON, JSON.replace(b'"x": 1}}', b'"x": 1, "x": 2}}')),
        ("m.yaml", YAML, YAML + b"  y: 1\n  x: 2\n"),
        ("m.yml", YAML, YAML + b"a: 1\n"),
        ("m.toml", TOML, TOML.replace(b"[a]\nx = 1\n", b"[a]\nx = 1\ny = 1\nx = 2\n")),
        ("m.toml", TOML, TOML + b"\n[a]\ny = 1\n"),
        ("m.c", C, C + b"static int f(void)\n{\n    return 2;\n}\n"),
        ("m.h", C, C + b"struct o {\n    int a;\n};\nstruct o\n{\n    int b;\n};\n"),
        ("m.go", b"func f() {\n}\n", b"func f() {\n}\n\nfunc f() {\n}\n"),
        ("m.js", b"import a from 'a'\n", b"import a from 'a'\nimport a from 'a'\n"),
        ("m.rs", b"fn f() {\n}\n", b"fn f() {\n}\n\nfn f() {\n}\n"),
    ],
)
def test_twice_in_other_languages(path: str, before: bytes, after: bytes) -> None:
    (finding,) = check(path, before, after, before, before + b"\n")
    assert finding.kind == "defined-twice"
    assert check(path, before, after, before, after) == []


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("m.json", JSON, JSON.replace(b'"x": 1}}', b'"x": 1, "y": 2}}')),
        ("m.yaml", YAML, YAML + b"c:\n  x: 1\n- x: 1\n- x: 2\n"),
        ("m.toml", TOML, TOML + b'\n[c]\nx = """\nx = 1\nx = 2\n"""\n\n[[b]]\nx = 3\n'),
        ("m.c", C, C + b"struct o;\nint k(struct o *a)\n{\n    struct o *b;\n    struct o *c;\n}\n"),
        ("m.c", C, C + b"int h(int a)\n{\n}\nint k(void);\nint k(void);\n"),
        ("m.go", b"func f() {\n}\n", b"func f() {\n}\n\nfunc (t *T) f() {\n}\n"),
        ("m.rs", b"impl A {\n}\n", b"impl A {\n}\n\nimpl A {\n}\n"),
        ("m.txt", b"a: 1\n", b"a: 1\na: 1\n"),
    ],
)
def test_what_is_not_twice_in_other_languages(path: str, before: bytes, after: bytes) -> None:
    assert check(path, before, after, before, before + b"\n") == []


def test_json_that_does_not_parse_any_more() -> None:
    (finding,) = check("m.json", JSON, JSON[:-1], JSON, JSON + b"\n")
    assert finding.kind == "syntax"
    assert check("m.json", JSON[:-1], JSON[:-2], JSON, JSON) == []


@pytest.mark.parametrize(
    "hostile", [b"(" * 100_000, b"x = " + b"-" * 100_000 + b"1", b"\0", b"\xff", b"a." * 50_000 + b"a = {}"]
)
def test_no_source_breaks_it(hostile: bytes) -> None:
    for path in ("m.py", "m.json", "m.yaml", "m.c", "m.toml"):
        assert isinstance(check(path, hostile + b"\n", hostile + b"\nx = 1\n"), list)
