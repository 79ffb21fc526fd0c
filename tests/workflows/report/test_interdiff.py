"""The old patch against the new one."""

from __future__ import annotations

from patchctl.series import patchfile
from patchctl.workflows.report.interdiff import LONGEST_ROW, MOST_ROWS, compare, whole
from patchctl.workflows.report.model import Interdiff

DIFF = b"""diff --git a/a.py b/a.py
index 1111111..2222222 100644
--- a/a.py
+++ b/a.py
@@ -%d,3 +%d,3 @@%s
 one
-two
+%s
 three
"""


def patch(diff: bytes, subject: str = "Count", why: str = "Words are slow.", stat: bytes = b"\n") -> bytes:
    made = patchfile.compose("Ada <ada@example.org>", "Tue, 6 Jan 2026 10:00:00 +0100", subject, why, [], diff, stat)
    return patchfile.render(made)


def rows(told: Interdiff) -> list[str]:
    return [row.sign + row.text for block in told.blocks for row in block.rows]


def test_what_moves_with_every_release_is_no_difference() -> None:
    old = patch(DIFF % (5, 5, b" def f():", b"2"))
    assert compare(old, old).kind == "same"
    new = patch(DIFF.replace(b"1111111", b"3333333") % (9, 9, b"", b"2"), stat=b" a.py | 2 +-\n\n")
    assert compare(old, new) == Interdiff("numbers")


def test_a_difference_stands_between_its_neighbours() -> None:
    told = compare(patch(DIFF % (5, 5, b"", b"2")), patch(DIFF % (5, 5, b"", b"II")))
    assert told.kind == "changed"
    assert rows(told) == ["  one", " -two", "-+2", "++II", "  three"] or rows(told)[-4:] == [
        " -two",
        "-+2",
        "++II",
        "  three",
    ]
    assert told.blocks[0].heading == "a.py"


def test_a_changed_message_counts() -> None:
    diff = DIFF % (5, 5, b"", b"2")
    told = compare(patch(diff), patch(diff, why="Words are long."))
    assert told.blocks[0].heading == "the message"
    assert "-Words are slow." in rows(told) and "+Words are long." in rows(told)


def test_one_side_alone() -> None:
    assert compare(None, b"x").kind == "new-only" and compare(b"x", None).kind == "old-only"


def test_headers_in_content_are_content() -> None:
    """A hunk may change lines that look like a patch's own."""
    diff = b"--- a/p\n+++ b/p\n@@ -1,2 +1,2 @@\n-index 1111111..2222222\n+index 1111111..%s\n --- a/x\n"
    told = compare(diff % b"3333333", diff % b"4444444")
    assert "-+index 1111111..3333333" in rows(told) and "++index 1111111..4444444" in rows(told)


def test_whole_marks_lines_of_hunks_alone() -> None:
    signs = {row.text: row.sign for row in whole(patch(DIFF % (5, 5, b"", b"2"))).rows}
    assert signs["+2"] == "+" and signs["-two"] == "-" and signs["--- a/a.py"] == " " and signs["---"] == " "


def test_limits_say_what_they_cut() -> None:
    body = b"".join(b"+%d\n" % n for n in range(5000))
    diff = b"--- /dev/null\n+++ b/p\n@@ -0,0 +1,5000 @@\n" + body
    assert whole(diff).cut == 5003 - MOST_ROWS
    told = compare(diff, diff.replace(b"+", b"+x").replace(b"+x1,", b"+1,"))
    assert told.cut > 0 and sum(len(block.rows) for block in told.blocks) == MOST_ROWS
    long = whole(b"+" + b"x" * 10_000).rows[0].text
    assert len(long) < LONGEST_ROW + 50 and long.endswith("bytes more)")


def test_bytes_survive() -> None:
    told = compare(b"--- a/p\n+++ b/p\n@@ -1 +1 @@\n-\xff\n+a\n", b"--- a/p\n+++ b/p\n@@ -1 +1 @@\n-\xfe\n+a\n")
    assert "--\udcff" in rows(told) and "+-\udcfe" in rows(told)
