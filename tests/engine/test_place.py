"""Placing hunks by their own context: the rule of patchctl.engine.place, clause by clause."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.engine.lines import Lines, split
from patchctl.engine.model import Hunk, Line, Op
from patchctl.engine.place import Known, Miss, Spot, Target, place, reverse

OPS = {" ": Op.CONTEXT, "-": Op.REMOVE, "+": Op.ADD}


def hunk(text: str, start: int, section: str = "") -> Hunk:
    """A hunk from its body; ``start`` is the old start that its header would state."""
    lines = tuple(Line(OPS[line[0]], line[1:].encode() + b"\n") for line in text.splitlines())
    old = sum(line.op is not Op.ADD for line in lines)
    new = sum(line.op is not Op.REMOVE for line in lines)
    return Hunk(start, old, start, new, section.encode(), lines)


def target(text: str) -> Target:
    return Target(split(text.encode()))


def one(text: str, body: str, start: int, known: Known = Known.OTHER, section: str = "") -> Spot | Miss:
    return place(target(text), [hunk(body, start, section)], known)[0]


TEN = "".join(f"l{number}\n" for number in range(1, 11))
BODY = " l4\n-l5\n+five\n l6"


def test_the_stated_line() -> None:
    assert one(TEN, BODY, 4) == Spot(3, "exact")


@pytest.mark.parametrize("stated", [1, 2, 3, 5, 9, 4000])
def test_the_only_place_at_another_line_is_an_offset(stated: int) -> None:
    assert one(TEN, BODY, stated) == Spot(3, "offset")


def test_two_places_are_no_place() -> None:
    found = one(TEN + TEN, BODY, 4)
    assert isinstance(found, Miss)
    assert found.kind == "ambiguous"
    assert "lines 4, 14" in found.message


def test_a_blob_id_proves_the_stated_line() -> None:
    assert one(TEN + TEN, BODY, 14, Known.SAME) == Spot(13, "exact")


def test_a_blob_id_does_not_excuse_a_wrong_line_number() -> None:
    assert one("x\n" + TEN, BODY, 4, Known.SAME) == Spot(4, "offset")


def test_without_blob_id_the_stated_line_decides_and_is_noted() -> None:
    found = one(TEN + TEN, BODY, 14, Known.NOTHING)
    assert isinstance(found, Spot)
    assert found.at == 13
    assert "several places" in found.notes[0]


def test_without_blob_id_one_moved_hunk_makes_all_doubtful() -> None:
    hunks = [hunk(" a\n-b\n+B\n c", 1), hunk(BODY, 4 + 3)]
    found = place(target("x\na\nb\nc\n" + TEN + TEN), hunks, Known.NOTHING)
    assert found[0] == Spot(1, "offset")
    assert isinstance(found[1], Miss)


@pytest.mark.parametrize("known", [Known.OTHER, Known.NOTHING])
def test_a_line_number_alone_is_a_guess(known: Known) -> None:
    found = one(TEN, "+new", 3, known)
    assert isinstance(found, Miss)
    assert found.kind == "no-context"
    assert one(TEN, "+new", 3, Known.SAME) == Spot(3, "exact")


def test_an_empty_file_has_one_place() -> None:
    assert one("", "+new", 0) == Spot(0, "exact")


def test_no_trailing_context_means_the_end_of_the_file() -> None:
    body = " l9\n l10\n+l11"
    assert one(TEN, body, 9) == Spot(8, "exact")
    assert one("x\n" + TEN, body, 9) == Spot(9, "offset")
    found = one(TEN + "more\n", body, 9)
    assert isinstance(found, Miss)
    assert found.kind == "end-of-file"


def test_no_leading_context_at_line_one_means_the_start_of_the_file() -> None:
    body = "+l0\n l1\n l2"
    assert one(TEN, body, 1) == Spot(0, "exact")
    found = one("x\n" + TEN, body, 1)
    assert isinstance(found, Miss)
    assert found.kind == "start-of-file"


def test_full_context_at_line_one_may_move() -> None:
    assert one("x\n" + TEN, " l1\n l2\n-l3\n+three\n l4\n l5", 1) == Spot(1, "offset")


def test_text_that_says_nothing_does_not_move() -> None:
    found = one("a\nb\n}\n\n}\nc\nd\n", " }\n+\n \n }", 2)
    assert isinstance(found, Miss)
    assert found.kind == "context"


def test_added_lines_with_one_neighbour_do_not_move() -> None:
    found = one("x\n" + TEN, "+new\n l4\n l5", 4)
    assert isinstance(found, Miss)
    assert "one side" in found.message
    assert one(TEN, "+new\n l4\n l5", 4) == Spot(3, "exact")


def test_a_heading_rules_out_another_function() -> None:
    text = "class A:\n    def f(self):\n        x = 1\n        y = 2\n        z = 3\n"
    body = "         x = 1\n-        y = 2\n+        y = 3\n         z = 3"
    assert one(text, body, 3, section="class A:") == Spot(2, "exact", "A.f")
    assert one(text, body, 3, section="def f(self):") == Spot(2, "exact", "A.f")
    found = one(text, body, 3, section="class B:")
    assert isinstance(found, Miss)
    assert found.kind == "scope"
    assert "class B:" in found.message
    assert "A.f" in found.message


@pytest.mark.parametrize("heading", ["import os", "X = 1", "# a comment", "if TYPE_CHECKING:", "return x"])
def test_a_heading_that_opens_nothing_rules_out_nothing(heading: str) -> None:
    text = "class A:\n    x = 1\n    y = 2\n    z = 3\n"
    body = "     x = 1\n-    y = 2\n+    y = 3\n     z = 3"
    assert isinstance(one(text, body, 9, section=heading), Spot)


def test_a_heading_does_not_speak_of_what_the_hunk_itself_opens() -> None:
    text = "def other():\n    pass\n\n\ndef g():\n    x = 1\n    return x\n"
    body = " \n \n def g():\n-    x = 1\n+    x = 2\n     return x"
    assert one(text, body, 40, section="def f():") == Spot(2, "offset", "g")


@pytest.mark.parametrize(
    ("heading", "other"),
    [
        ("int save(struct buf *b)", "int load(struct buf *b)"),
        ("func (s *Saver) Open(path string) error {", "func (l *Loader) Open(path string) error {"),
        ("export function save(a) {", "export function load(a) {"),
        ("impl Saver {", "impl Loader {"),
        ("SAVERS = {", "LOADERS = {"),
        ("savers:", "loaders:"),
    ],
)
def test_headings_of_other_languages(heading: str, other: str) -> None:
    text = "\n".join([other, "    a", "    b", "    c", "    d", ""])
    body = "     b\n-    c\n+    C\n     d"
    assert isinstance(one(text, body, 30, section=other), Spot)
    found = one(text, body, 30, section=heading)
    assert isinstance(found, Miss)
    assert found.kind == "scope"


def test_hunks_stay_in_order() -> None:
    hunks = [hunk(" l7\n-l8\n+eight\n l9", 2), hunk(" l2\n-l3\n+three\n l4", 7)]
    found = place(target(TEN), hunks, Known.OTHER)
    assert found[0] == Spot(6, "offset")
    assert isinstance(found[1], Miss)
    assert found[1].kind == "order"


@pytest.mark.parametrize(
    ("old", "kind", "word"),
    [
        ("l4\r\nl5\r\nl6\r\n", "line-endings", "line endings"),
        ("l4 \nl5\nl6\n", "whitespace", "trailing whitespace"),
        ("l4\n  l5\nl6\n", "whitespace", "whitespace"),
        ("l4\nl5\nl6", "line-endings", "newline at the end of the file"),
        ("l4\nl 6\nl7\n", "context", "'l5'"),
    ],
)
def test_it_says_why_not(old: str, kind: str, word: str) -> None:
    found = one("x\n" + old, BODY, 2)
    assert isinstance(found, Miss)
    assert found.kind == kind
    assert word in found.message


def test_reverse_twice_is_the_hunk() -> None:
    there = hunk(BODY, 4)
    assert reverse(reverse(there)) == there
    assert reverse(there).old == there.new


def test_lines_are_split_on_lf_alone() -> None:
    data = b"a\r\nb\x0cc\x85d\xe2\x80\xa8e\x00\n\nlast"
    assert split(data) == [b"a\r\n", b"b\x0cc\x85d\xe2\x80\xa8e\x00\n", b"\n", b"last"]
    assert split(b"") == []


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=40), st.data())
def test_find_finds_every_place(lines: list[bytes], data: st.DataObject) -> None:
    block = data.draw(st.lists(st.sampled_from([b"a\n", b"b\n", b"d\n"]), max_size=4))
    places = [at for at in range(len(lines)) if block and lines[at : at + len(block)] == block]
    assert Lines(lines).find(block, 1000) == places
    assert all(Lines(lines).stands(block, at) for at in places)


def test_lines_that_are_all_alike_do_not_run_away() -> None:
    begin = time.perf_counter()
    text = target("x\n" * 50_000)
    body = " x\n x\n x\n-x\n+y\n x\n x\n x"
    found = place(text, [hunk(body, 10 + 20 * number) for number in range(2_000)], Known.OTHER)
    assert {miss.kind for miss in found if isinstance(miss, Miss)} == {"ambiguous"}
    assert time.perf_counter() - begin < 10


def test_the_end_of_the_file_is_one_place_however_common_its_text() -> None:
    text = "}\n\n" * 100
    assert one("x\n" + text, " }\n \n+new", 200) == Spot(199, "exact")


def test_a_hundred_places_of_which_the_heading_leaves_one_are_still_too_many() -> None:
    text = "".join(f"class K{number}:\n    a = 1\n    b = 2\n    c = 3\n" for number in range(100))
    found = one(text, "     a = 1\n-    b = 2\n+    b = 0\n     c = 3", 2, section="class K50:")
    assert isinstance(found, Miss)
    assert found.kind == "ambiguous"
    assert isinstance(
        one(text[: 4 * 45 * 10], "     a = 1\n-    b = 2\n+    b = 0\n     c = 3", 2, section="class K20:"), Spot
    )


def test_the_stated_line_does_not_overrule_the_heading() -> None:
    text = "class A:\n    a = 1\n    b = 2\n    c = 3\nclass B:\n    a = 1\n    b = 2\n    c = 3\n"
    body = "     a = 1\n-    b = 2\n+    b = 0\n     c = 3"
    assert one(text, body, 2, Known.NOTHING, "class B:") == Spot(5, "offset", "B")
