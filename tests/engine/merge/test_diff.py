"""Edit scripts: what they make of a text, where runs are slid to, and that they are git's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"  c\n", b"\n", b"d\n", b"    e\n"]), max_size=40)


def applied(old: Sequence[bytes], new: Sequence[bytes]) -> list[bytes]:
    out: list[bytes] = []
    at = 0
    for edit in script(old, new):
        assert at <= edit.start, "edits are in order and do not overlap"
        assert edit.start < edit.end or edit.new_start < edit.new_end, "no edit is empty"
        out += [*old[at : edit.start], *new[edit.new_start : edit.new_end]]
        at = edit.end
    return [*out, *old[at:]]


@given(LINES, LINES)
@settings(max_examples=400)
def test_it_makes_the_new_text(old: list[bytes], new: list[bytes]) -> None:
    assert applied(old, new) == new


@pytest.mark.parametrize("count", [70, 500])
def test_lines_that_are_all_alike(count: int) -> None:
    old = [b"x\n"] * count
    assert applied(old, [*old[:5], b"y\n", *old]) == [*old[:5], b"y\n", *old]


def test_a_run_is_slid_to_where_people_see_it() -> None:
    old = split(b"def a():\n    return 1\n\n\ndef c():\n    return 1\n")
    new = split(b"def a():\n    return 1\n\n\ndef b():\n    return 1\n\n\ndef c():\n    return 1\n")
    assert [tuple(edit) for edit in script(old, new)] == [(4, 4, 4, 8)]


TEXTS = [
    ("a\nb\nc\n", "a\nx\nc\n"),
    ("class A:\n    x = 1\n\n    y = 2\n\n    z = 3\n", "class A:\n    x = 1\n\n    y = 2\n\n    y = 2\n\n    z = 3\n"),
    ("f(\n  a,\n)\ng(\n  b,\n)\n", "f(\n  a,\n)\nh(\n  c,\n)\ng(\n  b,\n)\n"),
    ("# one\n\ntext\n\n# two\n\ntext\n", "# one\n\ntext\n\n# and\n\ntext\n\n# two\n\ntext\n"),
    ("a\nb\na\nb\nc\n", "b\na\nc\na\n"),
    ("if x:\n    a()\nelse:\n    b()\n", "if x:\n    a()\nelif y:\n    c()\nelse:\n    b()\n"),
]


@pytest.mark.parametrize(("old", "new"), TEXTS)
def test_it_is_what_git_finds(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_text(old)
    (tmp_path / "new").write_text(new)
    command = ["git", "diff", "--no-index", "--histogram", "--indent-heuristic", "-U0", "--no-ext-diff", "old", "new"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert [tuple(edit) for edit in script(split(old.encode()), split(new.encode()))] == [
        _edit(*found) for found in re.findall(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", out, re.MULTILINE)
    ]


def _edit(start: str, size: str, new_start: str, new_size: str) -> tuple[int, int, int, int]:
    old, new = int(size or 1), int(new_size or 1)
    first, second = int(start) - (old > 0), int(new_start) - (new > 0)
    return first, first + old, second, second + new
