"""Proposals with diff3 markers."""

from __future__ import annotations

from patchctl.engine.lines import split
from patchctl.engine.markers import Edit, Labels, question, render

LABELS = Labels("onto", "base", "fix.patch: a subject\nof two lines")


def test_a_question_shows_all_three_sides_and_the_edits_are_made() -> None:
    lines = split(b"a\nb\nc\nd\n")
    made = render(lines, [Edit(0, 1, [b"A\n"]), Edit(2, 3, [b"new\n"], [b"old\n"])], LABELS)
    assert made == (
        b"A\nb\n<<<<<<< onto\nc\n||||||| base\nold\n=======\nnew\n>>>>>>> fix.patch: a subject of two lines\nd\n"
    )


def test_what_all_sides_share_stays_outside() -> None:
    lines = split(b"a\nb\nc\nd\n")
    asked = question(lines, 0, 4, split(b"a\nx\nd\n"), split(b"a\ny\nd\n"))
    assert (asked.start, asked.end, list(asked.base or ()), list(asked.new)) == (1, 3, [b"x\n"], [b"y\n"])


def test_a_last_line_without_line_end_does_not_swallow_a_marker() -> None:
    made = render(split(b"a"), [question(split(b"a"), 0, 1, split(b"b"), split(b"c"))], LABELS)
    assert made.startswith(b"<<<<<<< onto\na\n||||||| base\nb\n=======\nc\n>>>>>>> ")


def test_markers_have_the_line_ends_of_the_file() -> None:
    lines = split(b"a\r\nb\r\n")
    made = render(lines, [question(lines, 0, 1, [b"x\r\n"], [b"y\r\n"])], LABELS)
    assert all(line.endswith(b"\r\n") for line in split(made))


def test_text_that_looks_like_a_marker_gets_longer_markers() -> None:
    lines = split(b"<<<<<<<< HEAD\n")
    made = render(lines, [question(lines, 0, 1, [b"x\n"], [b"y\n"])], LABELS)
    assert made.startswith(b"<" * 9 + b" onto\n<<<<<<<< HEAD\n" + b"|" * 9 + b" base\n")


def test_names_that_are_not_utf8_are_written_as_they_are() -> None:
    made = render([], [Edit(0, 0, [b"y\n"], [])], Labels("onto", "base", "caf\udce9.patch"))
    assert b">>>>>>> caf\xe9.patch\n" in made
