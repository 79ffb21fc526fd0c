"""The strict half: exact or not at all, with reasons a person can act on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchctl.engine import reader, strict
from patchctl.engine.model import EXECUTABLE, LINK, Change, FilePatch, FileState, Patch, blob_id
from patchctl.errors import DecisionNeeded, Refused
from tests.engine.trees import applied, misfits, result, states

FILE = b"".join(b"line %d\n" % number for number in range(1, 21))


def hunk(start: int, *lines: str, new: int | None = None) -> bytes:
    old_count = sum(line[0] in " -" for line in lines)
    new_count = sum(line[0] in " +" for line in lines)
    head = b"@@ -%d,%d +%d,%d @@\n" % (start, old_count, start if new is None else new, new_count)
    return head + "".join(f"{line}\n" for line in lines).encode()


def plain(*hunks: bytes, name: str = "x") -> bytes:
    return f"--- a/{name}\n+++ b/{name}\n".encode() + b"".join(hunks)


def section(data: bytes) -> FilePatch:
    (patch,) = reader.read(data, "p", 1)
    return patch.files[0]


CHANGE = hunk(4, " line 4", "-line 5", "+LINE 5", " line 6")


def test_exact() -> None:
    assert result(plain(CHANGE), {"x": FILE})["x"].data == FILE.replace(b"line 5\n", b"LINE 5\n")


def test_several_hunks_count_from_the_file_before() -> None:
    second = hunk(10, " line 10", "-line 11", " line 12", new=11)
    first = hunk(2, " line 2", "+new", " line 3")
    expected = FILE.replace(b"line 2\n", b"line 2\nnew\n").replace(b"line 11\n", b"")
    assert result(plain(first, second), {"x": FILE})["x"].data == expected


def test_no_offset() -> None:
    problem = misfits(plain(CHANGE), {"x": b"above\n" + FILE})[0]
    assert "1 line lower" in problem.message
    assert (problem.hunk, problem.file, problem.patch) == (1, "x", "p.patch")
    assert "3 lines higher" in misfits(plain(CHANGE), {"x": FILE[21:]})[0].message


def test_no_fuzz() -> None:
    for line in (b"line 4\n", b"line 5\n", b"line 6\n"):
        problem = misfits(plain(CHANGE), {"x": FILE.replace(line, b"other\n")})[0]
        assert "found 'other'" in problem.message


def test_hints() -> None:
    assert "line endings differ" in misfits(plain(CHANGE), {"x": FILE.replace(b"\n", b"\r\n")})[0].message
    assert "only whitespace differs" in misfits(plain(CHANGE), {"x": FILE.replace(b"line 5", b"line 5 ")})[0].message
    assert "the file ends before line 4" in misfits(plain(CHANGE), {"x": b"line 1\n"})[0].message
    assert "no file x" in misfits(plain(CHANGE), {})[0].message


def test_all_misfits_are_listed() -> None:
    data = plain(CHANGE, hunk(9, " line 9", "-line ten", " line 11"), hunk(13, " line 13", "-14", " line 15"))
    data += plain(CHANGE, name="y") + plain(CHANGE, name="z")
    found = misfits(data, {"x": FILE, "z": b""})
    assert [(problem.file, problem.hunk) for problem in found] == [("x", 2), ("x", 3), ("y", None), ("z", 1)]


def test_a_wrong_new_line_number_is_a_misfit() -> None:
    assert "header" in misfits(plain(hunk(4, " line 4", "-line 5", " line 6", new=5)), {"x": FILE})[0].message


@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        (b"x\ny", b"@@ -1,2 +1,2 @@\n x\n-y\n\\ No\n+y\n", b"x\ny\n"),
        (b"x\ny\n", b"@@ -1,2 +1,2 @@\n x\n-y\n+y\n\\ No\n", b"x\ny"),
        (b"x\ny", b"@@ -1,2 +1,2 @@\n x\n-y\n\\ No\n+z\n\\ No\n", b"x\nz"),
        (b"x\ny", b"@@ -1,2 +1,3 @@\n x\n-y\n\\ No\n+y\n+z\n\\ No\n", b"x\ny\nz"),
        (b"m\ny", b"@@ -1,2 +1,2 @@\n-m\n+n\n y\n\\ No\n", b"n\ny"),
        (b"x\n\n\n", b"@@ -1,3 +1,4 @@\n x\n \n \n+\n", b"x\n\n\n\n"),
        (b"", b"@@ -0,0 +1,2 @@\n+a\n+b\n\\ No\n", b"a\nb"),
        (b"a\n", b"@@ -1 +0,0 @@\n-a\n", b""),
    ],
)
def test_the_newline_at_the_end(before: bytes, body: bytes, after: bytes) -> None:
    data = b"--- a/x\n+++ b/x\n" + body
    assert result(data, {"x": before})["x"].data == after
    (patch,) = reader.read(data, "p", 1)
    assert applied(strict.reverse_patch(patch), states({"x": after})) == states({"x": before})


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (b"x\ny\n", b"@@ -1,2 +1,2 @@\n x\n-y\n\\ No\n+z\n"),
        (b"x\ny", b"@@ -1,2 +1,2 @@\n x\n-y\n+z\n"),
        (b"x\ny\nz\n", b"@@ -1,2 +1,2 @@\n x\n-y\n+q\n\\ No\n"),
        (b"x\ny", b"@@ -2,0 +3 @@\n+z\n"),
    ],
)
def test_the_newline_at_the_end_does_not_fit(before: bytes, body: bytes) -> None:
    assert misfits(b"--- a/x\n+++ b/x\n" + body, {"x": before})[0].hunk == 1


def test_a_hunk_without_context_below_ends_the_file() -> None:
    data = plain(hunk(3, " c", "+d"))
    assert result(data, {"x": b"a\nb\nc\n"})["x"].data == b"a\nb\nc\nd\n"
    assert "goes on" in misfits(data, {"x": b"a\nb\nc\nmore\n"})[0].message


def test_added_lines_without_context_need_a_proof() -> None:
    body = plain(b"@@ -3,0 +4 @@\n+between\n")
    assert "without any context" in misfits(body, {"x": FILE})[0].message
    proof = b"diff --git a/x b/x\nindex %b..1234567 100644\n" % blob_id(FILE)[:7].encode()
    assert result(proof + body, {"x": FILE})["x"].data == FILE.replace(b"line 3\n", b"line 3\nbetween\n")
    assert misfits(proof + body, {"x": FILE + b"x\n"})


# --- line ends that a patch lost


def test_the_file_decides_where_the_patch_lost_its_line_ends() -> None:
    data = plain(CHANGE).replace(b"\n", b"\r\n")
    after = FILE.replace(b"line 5\n", b"LINE 5\n")
    assert result(data, {"x": FILE})["x"].data == after
    assert result(data, {"x": FILE.replace(b"\n", b"\r\n")})["x"].data == after.replace(b"\n", b"\r\n")
    mixed = FILE.replace(b"line 5\n", b"line 5\r\n")
    assert "line endings differ" in misfits(data, {"x": mixed})[0].message


def test_the_id_decides_about_a_new_file() -> None:
    for content in (b"a\nb\n", b"a\r\nb\r\n"):
        head = b"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..%b\n" % blob_id(content)[:7].encode()
        data = head + b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        assert result(data.replace(b"\n", b"\r\n"), {})["x"].data == content


# --- whole files


CREATE = b"diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
DELETE = b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
RENAME = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
COPY = RENAME.replace(b"rename", b"copy")
MODE = b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"


def test_creation() -> None:
    assert result(CREATE, {}) == {"x": FileState(b"a\n", EXECUTABLE)}
    assert result(CREATE.split(b"\n", 2)[2], {}) == states({"x": b"a\n"})
    assert "exists already" in misfits(CREATE, {"x": b"a\n"})[0].message


def test_deletion() -> None:
    assert result(DELETE, {"x": b"a\n", "y": b""}) == states({"y": b""})
    assert "does not delete" in misfits(DELETE, {"x": b"a\nb\n"})[0].message
    assert "no file x" in misfits(DELETE, {})[0].message
    empty = b"diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n"
    assert result(empty, {"x": b""}) == {}
    assert "not empty" in misfits(empty, {"x": b"a\n"})[0].message


def test_rename_and_copy() -> None:
    script = FileState(b"a\n", EXECUTABLE)
    assert result(RENAME, {"x": script}) == {"y": script}
    assert result(COPY, {"x": script}) == {"x": script, "y": script}
    for data in (RENAME, COPY):
        assert "exists already" in misfits(data, {"x": script, "y": b""})[0].message
        assert "no file x" in misfits(data, {})[0].message


def test_modes_must_be_as_stated() -> None:
    assert result(MODE, {"x": b"a\n"}) == {"x": FileState(b"a\n", EXECUTABLE)}
    assert "expects mode 100644" in misfits(MODE, {"x": FileState(b"a\n", EXECUTABLE)})[0].message
    assert result(plain(CHANGE), {"x": FileState(FILE, EXECUTABLE)})["x"].mode == EXECUTABLE


def test_links() -> None:
    target = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n\\ No\n+%b\n\\ No\n"
    data = b"diff --git a/x b/x\nindex 1234567..89abcde 120000\n" + target
    link = FileState(b"one", LINK)
    assert result(data % b"two", {"x": link}) == {"x": FileState(b"two", LINK)}
    assert misfits(data % b"two", {"x": FileState(b"one")})
    assert "is a link" in misfits(target % b"two", {"x": link})[0].message
    assert result(RENAME, {"x": link}) == {"y": link}
    with pytest.raises(Refused) as caught:
        result(data % b"../../out", {"x": link})
    assert (caught.value.problems[0].kind, caught.value.problems[0].patch) == ("unsafe-link", "p.patch")


def test_full_ids_are_enforced_and_short_ones_are_not() -> None:
    after = FILE.replace(b"line 5\n", b"LINE 5\n")
    head = b"diff --git a/x b/x\nindex %b..%b 100644\n"
    good = blob_id(FILE).encode(), blob_id(after).encode()
    assert result(head % good + plain(CHANGE), {"x": FILE})["x"].data == after
    assert "not the one" in misfits(head % good + plain(CHANGE), {"x": FILE + b"more\n"})[0].message
    assert "promises" in misfits(head % (good[0], good[0]) + plain(CHANGE), {"x": FILE})[0].message
    assert "found 'other'" in misfits(head % good + plain(CHANGE), {"x": FILE.replace(b"line 5", b"other")})[0].message
    assert result(head % (b"1234567", b"89abcde") + plain(CHANGE), {"x": FILE})["x"].data == after


# --- several sections about the same names


SHIM = b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+shim\n"


@pytest.mark.parametrize("data", [RENAME + SHIM, SHIM + RENAME])
def test_a_name_is_used_again_after_a_rename(data: bytes) -> None:
    before = states({"x": b"a\n"})
    after = states({"x": b"shim\n", "y": b"a\n"})
    assert result(data, before) == after
    (patch,) = reader.read(data, "p", 1)
    assert applied(strict.reverse_patch(patch), after) == before


def test_two_files_swap_names() -> None:
    back = RENAME.replace(b"a/x b/y", b"a/y b/x").replace(b"from x", b"from y").replace(b"to y", b"to x")
    assert result(RENAME + back, {"x": b"1\n", "y": b"2\n"}) == states({"x": b"2\n", "y": b"1\n"})


def test_a_file_becomes_a_link() -> None:
    link = b"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+real\n\\ No\n"
    after = {"x": FileState(b"real", LINK)}
    assert result(DELETE + link, {"x": b"a\n"}) == after
    (patch,) = reader.read(DELETE + link, "p", 1)
    assert applied(strict.reverse_patch(patch), after) == states({"x": b"a\n"})


def test_a_copy_takes_the_file_as_it_was_before() -> None:
    change = plain(hunk(1, "-a", "+b"))
    assert result(change + COPY, {"x": b"a\n"}) == states({"x": b"b\n", "y": b"a\n"})


def test_sections_of_one_file_build_on_each_other() -> None:
    data = plain(hunk(1, "-a", "+b")) + plain(hunk(1, "-b", "+c"))
    assert result(data, {"x": b"a\n"}) == states({"x": b"c\n"})
    (patch,) = reader.read(data, "p", 1)
    assert applied(strict.reverse_patch(patch), states({"x": b"c\n"})) == states({"x": b"a\n"})
    assert result(SHIM + plain(hunk(1, "-shim", "+c")), {}) == states({"x": b"c\n"})
    assert result(SHIM + DELETE.replace(b"-a", b"-shim"), {"y": b""}) == states({"y": b""})


def test_changed_and_then_renamed_is_ambiguous() -> None:
    assert "open which" in misfits(plain(hunk(1, "-a", "+b")) + RENAME, {"x": b"a\n"})[0].message


def test_renamed_away_is_gone() -> None:
    change = b"diff --git a/x b/x\n" + plain(hunk(1, "-a", "+b"))
    assert "no file x" in misfits(RENAME + change, {"x": b"a\n"})[0].message


def test_what_depends_on_a_misfit_is_not_reported() -> None:
    data = plain(hunk(1, "-zzz", "+b")) + plain(hunk(1, "-b", "+c"))
    assert len(misfits(data, {"x": b"a\n"})) == 1


# --- one section, and back


def test_apply_gives_states_for_the_paths_of_the_section() -> None:
    assert strict.apply(section(RENAME), states({"x": b"a\n"})) == {"x": None, "y": FileState(b"a\n")}
    assert strict.apply(section(DELETE), states({"x": b"a\n"})) == {"x": None}
    assert strict.apply(section(CREATE), {}) == {"x": FileState(b"a\n", EXECUTABLE)}
    assert strict.apply(section(COPY), states({"x": b"a\n"})) == {"y": FileState(b"a\n")}


@pytest.mark.parametrize(
    ("data", "before", "kind"),
    [
        (CREATE, {"x": b""}, "exists"),
        (RENAME, {"x": b"", "y": b""}, "exists"),
        (DELETE, {}, "missing"),
        (MODE, {"x": FileState(b"", EXECUTABLE)}, "mode"),
        (plain(CHANGE), {"x": FileState(b"x", LINK)}, "link"),
        (plain(CHANGE), {"x": FILE.replace(b"\n", b"\r\n")}, "line-endings"),
        (plain(CHANGE), {"x": FILE.replace(b" ", b"  ")}, "whitespace"),
        (DELETE, {"x": b"a\nb\n"}, "leftover"),
    ],
)
def test_kinds_of_misfits(data: bytes, before: dict[str, bytes | FileState], kind: str) -> None:
    with pytest.raises(strict.Misfit) as caught:
        strict.apply(section(data), states(before))
    assert caught.value.kind == kind
    assert caught.value.section == section(data)


def test_reversing_twice_changes_nothing() -> None:
    for data in (plain(CHANGE), CREATE, DELETE, RENAME, MODE):
        assert strict.reverse(strict.reverse(section(data))) == section(data)


def test_removed_lines_come_first_in_a_reversed_hunk() -> None:
    back = strict.reverse(section(plain(hunk(1, "-a", "-b", "+c", " d", "+e"))))
    assert "".join(line.op.value for line in back.hunks[0].lines) == "-++ -"


def test_a_copy_goes_back_only_by_a_full_id() -> None:
    copied = section(COPY)
    with pytest.raises(strict.Irreversible):
        strict.reverse(copied)
    back = strict.reverse(replace(copied, new_blob=blob_id(b"a\n")))
    assert back.change is Change.DELETE
    assert strict.apply(back, states({"x": b"q\n", "y": b"a\n"})) == {"y": None}
    with pytest.raises(strict.Misfit):
        strict.apply(back, states({"x": b"a\n", "y": b"b\n"}))


def test_problems_carry_the_patch() -> None:
    with pytest.raises(DecisionNeeded) as caught:
        strict.apply_patch(Patch("0002-q", reader.read(MODE, "p", 1)[0].mail, (section(MODE),)), {}.get)
    assert [(problem.kind, problem.patch, problem.file) for problem in caught.value.problems] == [
        ("misfit", "0002-q", "x")
    ]
