"""Lines that are only added: each rule, and the nearest thing to it of which it says nothing."""

from __future__ import annotations

from patchctl.engine.merge.merge import How
from tests.engine.merge.texts import kinds, merged, reviews, rules, text

STEPS = "def f(path):\n    check(path)\n    old_one(path)\n    old_two(path)\n    return load(path)\n"


def put(base: str, behind: str, line: str) -> str:
    """``base`` with ``line`` behind the line ``behind``."""
    assert behind in base
    return base.replace(behind, behind + line)


def test_between_neighbours_that_touch_nothing_can_be_wrong() -> None:
    found = merged(STEPS, "import os\n\n\n" + STEPS, put(STEPS, "    check(path)\n", "    log(path)\n"))
    assert text(found) == "import os\n\n\n" + put(STEPS, "    check(path)\n", "    log(path)\n")
    assert (rules(found), reviews(found)) == (["transport"], [])
    assert found.hunks[0].method == "offset"
    assert found.hunks[0].scope == "f"


def test_a_scope_that_was_left_is_no_place() -> None:
    base = "class A:\n    def f(self):\n        one()\n        two()\n"
    onto = "class A:\n    def f(self):\n        one()\n\n    def other(self):\n        zero()\n        two()\n"
    assert merged(base, onto, put(base, "        two()\n", "        mine()\n")).result is None


def test_an_edited_neighbour_is_one_still() -> None:
    onto = STEPS.replace("check(path)", "check(path, 1)")
    found = merged(STEPS, onto, put(STEPS, "    check(path)\n", "    log(path)\n"))
    assert text(found) == put(onto, "    check(path, 1)\n", "    log(path)\n")
    assert (rules(found), reviews(found)) == (["edited-neighbours"], ["edited-neighbours"])
    assert "'check(path, 1)'" in found.review[0].text
    assert "'check(path)'" in found.review[0].text


def test_of_two_edited_neighbours_none_is_left() -> None:
    onto = STEPS.replace("check(path)", "check(path, 1)").replace("old_one(path)", "old_one(path, 2)")
    found = merged(STEPS, onto, put(STEPS, "    check(path)\n", "    log(path)\n"))
    assert kinds(found) == ["context"]
    assert "in f" in found.objections[0].text


def test_past_blank_lines_to_the_next_real_one() -> None:
    base = "alpha()\n\n\n\nbeta()\n"
    found = merged(base, "alpha()\nbeta()\n", "alpha()\n\nmine()\n\n\nbeta()\n")
    assert text(found) == "alpha()\nmine()\nbeta()\n"
    assert (rules(found), reviews(found)) == (["past-blanks"], [])
    edited = merged(base, "alpha()\nbeta(1)\n", "alpha()\n\nmine()\n\n\nbeta()\n")
    assert (rules(edited), reviews(edited)) == (["edited-neighbours"], ["edited-neighbours"])
    assert merged(base, "alpha(1)\nbeta(1)\n", "alpha()\n\nmine()\n\n\nbeta()\n").result is None


def test_a_gap_that_was_closed() -> None:
    onto = STEPS.replace("    old_one(path)\n    old_two(path)\n", "")
    patched = put(STEPS, "    old_two(path)\n", "    log(path)\n")
    found = merged(STEPS, onto, patched)
    assert text(found) == put(onto, "    check(path)\n", "    log(path)\n")
    assert reviews(found) == ["closed-gap"]


def test_imports_of_javascript_are_sorted_by_rules_of_their_own() -> None:
    base = "import a from 'a';\nimport b from '@b';\nimport z from 'z';\n\nf(a, b, z);\n"
    patched = put(base, "import b from '@b';\n", "import c from '@c';\n")
    assert merged(base, base.replace("import b from '@b';\n", ""), patched, "m.js").result is None


def test_a_gap_whose_code_was_moved_is_not_closed() -> None:
    onto = STEPS.replace("    old_one(path)\n    old_two(path)\n", "")
    patched = put(STEPS, "    old_two(path)\n", "    log(path)\n")
    moved = How(elsewhere=lambda lines: b"    old_two(path)\n" in lines)
    assert kinds(merged(STEPS, onto, patched, how=moved)) == ["context"]
    within = onto + "\n\ndef g(path):\n    old_one(path)\n    old_two(path)\n"
    assert merged(STEPS, within, patched).result is None


def test_one_neighbour_is_left() -> None:
    onto = "def f(path):\n    check(path)\n    everything_else(1, 2)\n    and_more(3)\n"
    found = merged(STEPS, onto, put(STEPS, "    check(path)\n", "    log(path)\n"))
    assert text(found) == put(onto, "    check(path)\n", "    log(path)\n")
    assert reviews(found) == ["one-neighbour"]


def test_a_blank_line_does_not_go_with_one_neighbour() -> None:
    base, onto = "alpha_one()\nbeta_two()\n", "something(9, 8)\nelse_(7)\nbeta_two()\n"
    assert merged(base, onto, put(base, "alpha_one()\n", "\n")).result is None


def test_a_bracket_is_no_neighbour() -> None:
    base = "f({\n  one: 1,\n})\n"
    onto = "f({\n  something_else: 77,\n})\n"
    assert merged(base, onto, put(base, "  one: 1,\n", "  two: 2,\n"), "m.js").result is None


def test_yaml_a_key_stays_in_its_mapping() -> None:
    base = "a:\n  one: 1\n  two: 2\nb:\n  three: 3\n"
    gone = "a:\n  one: 1\nb:\n  three: 3\n"
    found = merged(base, gone, put(base, "  two: 2\n", "  new: 9\n"), "m.yaml")
    assert text(found) == put(gone, "  one: 1\n", "  new: 9\n")
    whole = "b:\n  three: 3\n"
    assert merged(base, whole, put(base, "  two: 2\n", "  new: 9\n"), "m.yaml").result is None


def test_a_log_entry_stays_below_its_heading() -> None:
    base = "# Log\n\n## 2.0\n\n- one\n\n## 1.0\n\n- zero\n"
    onto = "# Log\n\n## 2.0\n\n## 1.1\n\n- one\n\n## 1.0\n\n- zero\n"
    assert merged(base, onto, put(base, "- one\n", "- two\n"), "CHANGES.md").result is None
    newer = "# Log\n\n## 2.1\n\n- three\n\n" + base[len("# Log\n\n") :]
    assert text(merged(base, newer, put(base, "- one\n", "- two\n"), "CHANGES.md")) == put(newer, "- one\n", "- two\n")


def test_a_block_stays_on_its_side_of_an_endif() -> None:
    base = "int a;\n#ifdef X\nint b;\n#endif\nint c;\n"
    onto = base.replace("int b;\n", "int b;\nint q;\n")
    assert merged(base, onto, put(base, "int b;\n", "int n;\n"), "m.c").result is None
    assert text(merged(base, onto, put(base, "#endif\n", "int n;\n"), "m.c")) == put(onto, "#endif\n", "int n;\n")


def test_both_sides_added_here_and_nothing_tells_the_order() -> None:
    found = merged(
        STEPS, put(STEPS, "    check(path)\n", "    theirs()\n"), put(STEPS, "    check(path)\n", "    mine()\n")
    )
    assert kinds(found) == ["context"]


def test_both_sides_added_here_and_the_scope_tells_the_order() -> None:
    base = "class A:\n    def f(self):\n        one()\n        two()\n\n    def g(self):\n        three()\n"
    onto = put(base, "        two()\n", "        theirs()\n")
    patched = put(base, "        two()\n", "\n    x = 1\n")
    found = merged(base, onto, patched)
    assert text(found) == put(onto, "        theirs()\n", "\n    x = 1\n")


def test_a_comment_stays_above_its_line() -> None:
    onto = put(STEPS, "    check(path)\n", "    theirs()\n")
    found = merged(STEPS, onto, put(STEPS, "    check(path)\n", "    # why\n"))
    assert text(found) == put(onto, "    theirs()\n", "    # why\n")
    assert reviews(found) == ["above-its-line"]


def test_the_same_lines_are_there_already() -> None:
    patched = put(STEPS, "    old_one(path)\n", "    log(path)\n")
    found = merged(STEPS, put(patched, "    check(path)\n", "    theirs()\n"), patched)
    assert found.present
    assert found.review == ()


def test_the_same_lines_elsewhere_would_be_there_twice() -> None:
    onto = put(STEPS, "    old_two(path)\n", "    guard(path)\n")
    found = merged(STEPS, onto, put(STEPS, "    check(path)\n", "    guard(path)\n"))
    assert kinds(found) == ["defined-twice"]


def test_rules_can_be_switched_off() -> None:
    onto = STEPS.replace("check(path)", "check(path, 1)")
    patched = put(STEPS, "    check(path)\n", "    log(path)\n")
    assert merged(STEPS, onto, patched, how=How(off=frozenset({"edited-neighbours"}))).result is None
    only = merged(STEPS, onto, patched, how=How("transport"))
    assert kinds(only) == ["rules"]
    assert "edited-neighbours" in only.objections[0].text
