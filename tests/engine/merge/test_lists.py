"""Sorted lists and imports, whole definitions, and names that upstream changed."""

from __future__ import annotations

import pytest

from patchctl.engine.merge.lists import import_of
from tests.engine.merge.texts import kinds, merged, reviews, rules, text

IMPORTS = "import os\nimport re\nimport sys\n\nx = 1\n"
CLASS = (
    "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\n"
    "    def three(self):\n        return 3\n"
)


def test_an_import_goes_to_its_sorted_place() -> None:
    onto = "import io\nimport os\nimport random\nimport re\nimport sys\n\nx = 1\n"
    found = merged(IMPORTS, onto, IMPORTS.replace("import re\n", "import queue\nimport re\n"))
    assert text(found) == onto.replace("import random\n", "import queue\nimport random\n")
    assert (rules(found), reviews(found)) == (["sorted-import"], [])


def test_an_import_has_no_place_among_unsorted_ones() -> None:
    base = "import sys\nimport os\nimport re\n\nx = 1\n"
    onto = base.replace("import os\n", "import os\nimport abc\n")
    assert kinds(merged(base, onto, base.replace("import os\n", "import os\nimport queue\n"))) == ["context"]


def test_an_import_that_both_sides_added_in_one_block() -> None:
    onto = "import json\n" + IMPORTS
    found = merged(IMPORTS, onto, IMPORTS.replace("import sys\n", "import sys\nimport json\n"))
    assert "defined-twice" in kinds(found)


def test_an_import_that_both_sides_added_in_blocks_of_their_own() -> None:
    base = "import os\n\nfrom tool import thing\n\n\nx = os, thing\n"
    onto = "import json\n" + base
    found = merged(base, onto, base.replace("thing\n\n\n", "thing\nimport json\n\n\n"))
    assert text(found) == onto.replace("thing\n\n\n", "thing\nimport json\n\n\n")
    assert reviews(found) == ["import-twice"]


def test_an_import_without_neighbours_goes_by_its_prefix() -> None:
    base = "import logging\n\nfrom tool.old import one\nfrom tool.old import two\n\nx = 1\n"
    mine = "from app.core import base\nfrom app.core import config\nfrom app.core import models\n"
    onto = f"import logging\n\n{mine}\nx = 1\n"
    found = merged(base, onto, base.replace("one\n", "one\nfrom app.core import helpers\n"))
    assert text(found) == onto.replace("config\n", "config\nfrom app.core import helpers\n")
    alone = base.replace("one\n", "one\nfrom lib.other import helpers\n")
    assert merged(base, onto, alone).result is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"import a.b as c\n", b"a.b"),
        (b"    from a.b import c, d  # why\n", b"a.b.c, d"),
        (b"from . import c\n", b"..c"),
        (b"imports = 1\n", None),
        (b"from a import (\n", None),
    ],
)
def test_what_a_line_imports(line: bytes, name: bytes | None) -> None:
    assert import_of(line) == name


LIST = "alpha==1\nbeta==2\ndelta==4\nomega==9\n"


def test_a_sorted_list_stays_sorted() -> None:
    onto = LIST.replace("beta==2\n", "beta==2\ncharlie==3\n")
    found = merged(LIST, onto, LIST.replace("beta==2\n", "beta==2\nbravo==7\n"), "names.txt")
    assert text(found) == onto.replace("charlie", "bravo==7\ncharlie")
    assert reviews(found) == ["sorted-list"]


def test_a_list_that_is_in_no_order_has_no_places() -> None:
    base = "omega\nbeta\nalpha\ndelta\n"
    onto = base.replace("beta\n", "beta\nxi\n")
    assert merged(base, onto, base.replace("beta\n", "beta\nrho\n"), "names.txt").result is None


def test_statements_are_no_list() -> None:
    base = "A = 1\nB = 2\nC = 3\n"
    assert kinds(merged(base, base + "X = 9\n", base + "D = 4\n")) == ["context"]


def put(base: str, behind: str, name: str, value: int) -> str:
    return base.replace(behind, f"{behind}    def {name}(self):\n        return {value}\n\n")


def test_definitions_have_no_order_among_siblings() -> None:
    onto = put(CLASS, "        return 2\n\n", "theirs", 9)
    found = merged(CLASS, onto, put(CLASS, "        return 2\n\n", "mine", 7))
    assert text(found) == put(onto, "        return 9\n\n", "mine", 7)
    assert reviews(found) == ["beside-sibling"]


def test_a_definition_of_the_same_name_is_upstreams_own() -> None:
    onto = put(CLASS, "        return 2\n\n", "mine", 9)
    found = merged(CLASS, onto, put(CLASS, "        return 2\n\n", "mine", 7))
    assert "superseded" in kinds(found)
    assert "A.mine" in found.evidence[0]


def test_a_definition_whose_class_is_gone_has_no_place() -> None:
    onto = "class B:\n    def other(self):\n        return 8\n"
    assert merged(CLASS, onto, put(CLASS, "        return 2\n\n", "mine", 7)).result is None


def test_go_functions_have_an_order_for_their_readers() -> None:
    base = "package x\n\nfunc A() {\n\ta()\n}\n\nfunc B() {\n\tb()\n}\n"
    onto = base.replace("func B", "func N() {\n\tn()\n}\n\nfunc B")
    assert merged(base, onto, base.replace("func B", "func M() {\n\tm()\n}\n\nfunc B"), "m.go").result is None


TABLE = (
    "from tool import load_the_table\n\n\ndef f():\n    a = load_the_table(1)\n    return a\n\n\ndef g():\n    b = 2\n"
)


def test_a_name_that_upstream_changed_is_used_as_it_is_now() -> None:
    onto = TABLE.replace("load_the_table", "load_the_tables")
    found = merged(TABLE, onto, TABLE.replace("b = 2", "b = load_the_table(2)"))
    assert text(found) == onto.replace("b = 2", "b = load_the_tables(2)")
    assert reviews(found) == ["renamed"]
    assert found.hunks[0].method == "renamed"


def test_a_name_that_stands_yet_was_not_changed() -> None:
    onto = TABLE.replace("load_the_table", "load_the_tables") + "\n\nload_the_table = None\n"
    found = merged(TABLE, onto, TABLE.replace("b = 2", "b = load_the_table(2)"))
    assert text(found) == onto.replace("b = 2", "b = load_the_table(2)")
