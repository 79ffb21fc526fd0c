"""Lines that the patch takes away or replaces: each rule, and the nearest thing that it leaves alone."""

from __future__ import annotations

import pytest

from patchctl.engine.merge.tokens import merge_line
from tests.engine.merge.texts import kinds, merged, reviews, rules, text

STEPS = "def f():\n    one_call()\n    two_call()\n    three_call()\n    return 1\n"


def test_what_nobody_else_touched() -> None:
    onto = "import os\n\n\n" + STEPS
    found = merged(STEPS, onto, STEPS.replace("three_call()", "three_call(3)"))
    assert text(found) == onto.replace("three_call()", "three_call(3)")
    assert (rules(found), found.hunks[0].method) == (["transport"], "offset")


def test_a_changed_neighbour_is_no_conflict() -> None:
    onto = STEPS.replace("two_call()", "two_call(2)")
    found = merged(STEPS, onto, STEPS.replace("three_call()", "three_call(3)"))
    assert text(found) == onto.replace("three_call()", "three_call(3)")
    assert (rules(found), found.hunks[0].method, reviews(found)) == (["adjacent"], "exact", [])


def test_a_neighbour_that_grew_at_the_very_place_is_one() -> None:
    onto = STEPS.replace("    two_call()\n", "    two_call()\n    theirs()\n")
    patched = STEPS.replace("    two_call()\n", "    two_call(2)\n    mine()\n")
    assert merged(STEPS, onto, patched).result is None


def test_the_same_change_on_both_sides() -> None:
    patched = STEPS.replace("two_call()", "two_call(2)")
    found = merged(STEPS, patched, patched)
    assert found.present
    assert found.hunks[0].method == "present"


def test_a_part_that_is_there_already() -> None:
    onto = STEPS.replace("one_call()", "one_call(1)")
    found = merged(STEPS, onto, onto.replace("return 1", "return 2"))
    assert text(found) == onto.replace("return 1", "return 2")
    assert found.partial
    assert not found.present


def test_two_ways_to_change_one_line() -> None:
    found = merged(STEPS, STEPS.replace("two_call()", "two_call(7)"), STEPS.replace("two_call()", "two_call(8)"))
    assert kinds(found) == ["context"]
    assert found.proposal is not None
    shown = found.proposal.data.decode()
    assert "    two_call(7)\n||||||| base\n    two_call()\n=======\n    two_call(8)\n" in shown


def test_different_words_of_one_line() -> None:
    base = "def f(alpha, beta):\n    pass\n"
    found = merged(base, base.replace("alpha", "omega"), base.replace("beta)", "beta, gamma)"))
    assert text(found) == "def f(omega, beta, gamma):\n    pass\n"
    assert reviews(found) == ["edited-line"]


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        (b"f(2, b)", b"f(1, c)", b"f(2, c)"),
        (b"f(2, b)", b"f(2, b)", b"f(2, b)"),
        (b"f(2, b)", b"f(3, b)", None),
        (b"f(1, b, x)", b"f(1, b, y)", None),
        (b"g(1, b)", b"f2(1, b)", None),
    ],
)
def test_words(ours: bytes, theirs: bytes, both: bytes | None) -> None:
    assert merge_line(b"f(1, b)", ours, theirs) == both


def test_a_deletion_around_lines_of_upstream() -> None:
    onto = STEPS.replace("    one_call()\n", "    one_call()\n    theirs()\n")
    found = merged(STEPS, onto, STEPS.replace("    one_call()\n    two_call()\n", ""))
    assert text(found) == "def f():\n    theirs()\n    three_call()\n    return 1\n"
    assert reviews(found) == ["deleted-lines"]


def test_a_deletion_of_what_upstream_edited() -> None:
    onto = STEPS.replace("two_call()", "two_call(now=True)")
    assert kinds(merged(STEPS, onto, STEPS.replace("    two_call()\n", ""))) == ["context"]


def test_a_deletion_that_upstream_made_too() -> None:
    onto = STEPS.replace("    one_call()\n    two_call()\n", "")
    found = merged(STEPS, onto, STEPS.replace("    two_call()\n", "").replace("return 1", "return 2"))
    assert text(found) == onto.replace("return 1", "return 2")


def test_lines_that_were_only_broken_otherwise() -> None:
    base = "def f():\n    return merge(alpha, beta, gamma)\n\n\nx = 1\n"
    onto = base.replace("(alpha, beta, gamma)", "(\n        alpha,\n        beta,\n        gamma,\n    )")
    found = merged(base, onto, base.replace("gamma", "delta"))
    assert text(found) == base.replace("gamma", "delta")
    assert reviews(found) == ["reflowed"]
    assert merged(base, onto.replace("beta", "omega"), base.replace("gamma", "delta")).result is None


def test_lines_that_are_another_functions_by_now() -> None:
    onto = (
        "def f():\n    everything_anew()\n    return 7\n\n\ndef f_as_it_was():\n"
        "    one_call()\n    two_call()\n    three_call()\n    return 1\n"
    )
    assert merged(STEPS, onto, STEPS.replace("two_call()", "two_call(2)")).result is None


def test_the_same_change_in_another_function_proves_nothing() -> None:
    patched = STEPS.replace("two_call()", "two_call(2)")
    onto = "def f():\n    everything_anew()\n    return 7\n\n\n" + patched.replace("def f", "def f_as_it_was")
    found = merged(STEPS, onto, patched)
    assert found.result is None
    assert not found.present


def test_lines_whose_function_was_renamed() -> None:
    onto = STEPS.replace("def f", "def new_name")
    found = merged(STEPS, onto, STEPS.replace("three_call()", "three_call(3)"))
    assert text(found) == onto.replace("three_call()", "three_call(3)")
    assert (found.hunks[0].method, found.hunks[0].scope) == ("renamed-scope", "new_name")


def test_lines_that_upstream_indented_are_not_the_same() -> None:
    onto = "def f():\n    one_call()\n    if x:\n        two_call()\n        three_call()\n    return 1\n"
    found = merged(STEPS, onto, STEPS.replace("    two_call()\n", "    two_call()\n    mine()\n"))
    assert found.result is None


def test_what_upstream_put_in_between_opens_a_scope() -> None:
    base = "class A:\n    x = 1\n    y = 2\n    z = 3\n"
    onto = "class A:\n    x = 1\n\n\nclass B:\n    y = 2\n    z = 3\n"
    assert merged(base, onto, base.replace("y = 2", "y = 22")).result is None
    assert merged(base, onto, base.replace("    y = 2\n", "")).result is None


BLOCK = "    block_one(1)\n    block_two(2)\n    block_three(3)\n"
REST = "    rest_one()\n    rest_two()\n    rest_three()\n    rest_four()\n    rest_five()\n"


def test_a_block_that_moved_in_its_function() -> None:
    head = "def f():\n"
    found = merged(head + BLOCK + REST, head + REST + BLOCK, head + BLOCK.replace("two(2)", "two(22)") + REST)
    assert text(found) == head + REST + BLOCK.replace("two(2)", "two(22)")
    assert reviews(found) == ["moved-lines"]


def test_a_single_line_that_moved_means_something_else() -> None:
    head, line = "def f():\n", "    block_one(1)\n"
    assert merged(head + line + REST, head + REST + line, head + "    block_one(11)\n" + REST).result is None


def test_a_block_that_moved_to_another_function() -> None:
    base = "def f():\n" + BLOCK + REST + "\n\ndef g():\n    pass\n"
    onto = "def f():\n" + REST + "\n\ndef g():\n" + BLOCK + "    pass\n"
    assert merged(base, onto, base.replace("two(2)", "two(22)")).result is None


def test_the_last_line_keeps_its_missing_newline() -> None:
    found = merged("a\nb\nc", "x\na\nb\nc", "a\nB\nc", "m.txt")
    assert text(found) == "x\na\nB\nc"
    assert merged("a\nb", "a\nb\nc\n", "a\nb\nd", "m.txt").result is None
