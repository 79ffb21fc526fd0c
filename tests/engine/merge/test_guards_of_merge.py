"""What a merge of Python must not call clean, and the honest merge next to it."""

from __future__ import annotations

import pytest

from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.merge.merge import Merged, merge


def function(name: str, *lines: str) -> str:
    inner = "".join(f"    {line}\n" for line in (f"a_{name} = prepare_{name}()", *lines, f"return a_{name}"))
    return f"def {name}():\n{inner}\n\n"


BASE = "import os\n\n\n" + function("one") + function("two") + function("three")


def merged(onto: str, patched: str, base: str = BASE) -> Merged:
    one, two, three = (text.encode() for text in (base, onto, patched))
    return merge("m.py", one, two, three, script(split(one), split(two)), script(split(one), split(three)))


def kinds(found: Merged) -> set[str]:
    return {item.kind for item in found.objections}


BLOCK = ("if broken():", "    repair('all of it')")


def test_a_block_that_upstream_has_put_elsewhere_in_the_function() -> None:
    base = BASE.replace("    return a_one", "".join(f"    step_{n}()\n" for n in range(9)) + "    return a_one")
    block = "".join(f"    {line}\n" for line in BLOCK)
    patched = base.replace("    step_1()", f"{block}    step_1()")
    onto = base.replace("    step_7()", f"{block}    step_7()")
    found = merged(onto, patched, base)
    assert found.result is None or found.present


def test_one_change_made_in_two_functions_is_two_changes() -> None:
    patched = BASE.replace(function("one"), function("one", *BLOCK))
    onto = BASE.replace(function("three"), function("three", *BLOCK))
    found = merged(onto, patched)
    assert found.result is not None
    assert found.result.data.count(b"repair") == 2


def test_a_block_in_a_function_that_upstream_has_made_of_this_one() -> None:
    patched = BASE.replace(function("one"), function("one", *BLOCK))
    onto = BASE.replace(function("one"), function("helper", *BLOCK) + function("one"))
    assert kinds(merged(onto, patched)) == {"defined-twice"}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("LIMIT = 1\n", "LIMIT = 2\n"),
        ("import tool\n", "from tools import tool\n"),
        ("def fresh(): return 1\n", "def fresh(): return 2\n"),
        ("class Fresh: x = 1\n", "class Fresh: x = 2\n"),
    ],
)
def test_both_sides_bring_one_name(ours: str, theirs: str) -> None:
    patched = BASE.replace("def two", f"{ours}\n\ndef two")
    onto = BASE + theirs
    assert kinds(merged(onto, patched)) <= {"defined-twice", "superseded"}
    assert kinds(merged(onto, patched))
    other = theirs.replace("LIMIT", "LIMITS").replace("tool\n", "hammer\n").replace("resh", "ish")
    assert merged(BASE + other, patched).result is not None


def test_a_table_of_numbers() -> None:
    table = "SIZES = {\n" + "".join(f"    {n}: {{2: {n} * MiB}},\n" for n in range(8, 20, 2)) + "}\n"
    patched = (BASE + table).replace("    10: {", "    9: {2: 1 * MiB},\n    10: {")
    onto = (BASE + table).replace("    18: {", "    9: {2: 5 * MiB},\n    18: {")
    assert kinds(merged(onto, patched, BASE + table)) == {"defined-twice"}


def test_a_name_that_upstream_takes_away_and_the_patch_uses() -> None:
    base = BASE + function("helper")
    patched = base.replace(function("one"), function("one", "helper()"))
    assert kinds(merged(BASE, patched, base)) == {"name-gone"}
    assert merged(BASE + "from tools import helper\n", patched, base).result is not None


def test_a_name_that_the_patch_takes_away_and_upstream_uses() -> None:
    base = function("helper") + BASE
    onto = base.replace(function("three"), function("three", "helper()"))
    assert kinds(merged(onto, BASE, base)) == {"name-gone"}
    assert merged(onto.replace("    helper()", "    help_out()"), BASE, base).result is not None


def test_a_file_of_another_python() -> None:
    base = BASE.replace("    return a_one", "    print 'one', a_one\n    return a_one")
    patched = base.replace("    print 'one', a_one\n", "    print 'one', a_one\n    check(a_one)\n")
    found = merged(base.replace("def three", "def third"), patched, base)
    assert found.result is not None
    assert [hint.kind for hint in found.review] == ["unparsed"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def one():\n    x = 1\n", "def one():\n"),
        ("def one(\n    x: int,\n    y: int,\n):\n", "def one(\n    y: int,\n):\n"),
        ("def one(y, x=None):\n", "def one(y):\n"),
    ],
)
def test_a_local_name_that_upstream_took_away(old: str, new: str) -> None:
    base = BASE.replace("def one():\n", old)
    patched = base.replace("    return a_one", "    finish(x)\n    return a_one")
    assert kinds(merged(base.replace(old, new), patched, base)) == {"name-gone"}
    assert merged(base.replace("three", "third"), patched, base).result is not None
