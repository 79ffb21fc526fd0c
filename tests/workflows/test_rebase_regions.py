"""Taking a proposal apart, answering it, and finding markers that were left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.engine.markers import Edit, Labels, render
from patchctl.workflows.rebase import regions

TWO = (
    b"a\n<<<<<<< v2\nours\n||||||| v1\nold\n=======\ntheirs\n>>>>>>> p: S\nb\nc\n"
    b"<<<<<<< v2\n||||||| v1\n=======\nx\n>>>>>>> p: S\n"
)


def test_the_regions_of_a_proposal() -> None:
    one, two = regions.questions(TWO)
    assert (one.onto, one.base, one.patch) == ((b"ours\n",), (b"old\n",), (b"theirs\n",))
    assert (two.onto, two.base, two.patch) == ((), (), (b"x\n",))
    assert regions.answered(TWO, lambda question: question.patch) == b"a\ntheirs\nb\nc\nx\n"
    assert regions.questions(b"a\n<<<<<<< v2\nno end\n") == []


def test_what_became_of_each() -> None:
    found = regions.answers(TWO, b"a\nmine\nmore\nb\nc\n")
    assert [answer for _, answer in found] == [(b"mine\n", b"more\n"), ()]
    assert regions.answers(TWO, b"A\nmine\nb\nc\n") == [], "edited beside the regions"
    assert regions.answers(TWO, b"a\nb\nc\nb\nc\n") == [], "nobody can tell which b c it was"


_line = st.sampled_from([b"a\n", b"b\n", b"\n", b"=======\n", b"<<<<<<< x\n", b"c\r\n"])


@given(st.lists(_line, max_size=6), st.lists(_line, max_size=6), st.lists(_line, max_size=6), st.data())
def test_a_rendered_question_is_read_back(
    onto: list[bytes], base: list[bytes], new: list[bytes], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(onto)))
    end = data.draw(st.integers(start, len(onto)))
    text = render(onto, [Edit(start, end, new, base)], Labels("v2", "v1", "p"))
    found = [one for one in regions.questions(text) if one.patch == tuple(new) and one.base == tuple(base)]
    assert found and found[-1].onto == tuple(onto[start:end])
    assert regions.left(text, [b"".join(onto), b"".join(base), b"".join(new)])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"a\nb\n", []),
        (b"Title\n=======\n", []),
        (b"a\n=======\nb\n", [2]),
        (b"a\n>>>>>>> p: S\n", [2]),
        (b"<<<<<<<< v2\n", [1]),
        (b"||||||| merged\r\n", [1]),
        (b"x <<<<<<< v2\n", []),
    ],
)
def test_markers_that_are_left(text: bytes, lines: list[int]) -> None:
    sides = [b"Title\n=======\n"] if text.startswith(b"Title") else [b"a\n"]
    assert regions.left(text, sides) == lines
