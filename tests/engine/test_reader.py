"""What the reader takes, what it refuses, and with which words."""

from __future__ import annotations

import pytest

from patchctl.engine import reader
from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, Change, FilePatch, Op
from patchctl.errors import Refused
from tests.engine.trees import refusal, result

HUNK = b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
PLAIN = b"--- a/l.txt\n+++ b/l.txt\n" + HUNK


def only(data: bytes, strip: int | None = None) -> FilePatch:
    (patch,) = reader.read(data, "p.patch", strip)
    (section,) = patch.files
    return section


def git(name: bytes, *lines: bytes, body: bytes = b"") -> bytes:
    return b"\n".join((b"diff --git a/%b b/%b" % (name, name), *lines)) + b"\n" + body


# --- names and prefixes


def test_names_stay_as_written_until_a_strip_level_is_given() -> None:
    section = only(PLAIN)
    assert (section.old_path, section.new_path, section.prefix) == ("a/l.txt", "b/l.txt", None)
    assert only(PLAIN, 1).paths == ("l.txt",)
    (patch,) = reader.read(PLAIN, "p.patch")
    assert reader.stripped(patch, 1).files[0].paths == ("l.txt",)


def test_a_rename_tells_its_prefix() -> None:
    data = (
        b"diff --git a/doc/old name b/doc/new name\nsimilarity index 100%\n"
        b"rename from doc/old name\nrename to doc/new name\n"
    )
    section = only(data)
    assert (section.change, section.old_path, section.new_path) == (Change.RENAME, "a/doc/old name", "b/doc/new name")
    assert section.prefix == 1
    assert only(data, 1).paths == ("doc/old name", "doc/new name")
    assert refusal(data, 0)[0].kind == "strip"
    assert refusal(data, 2)[0].kind == "strip"


def test_a_rename_without_prefix() -> None:
    section = only(b"diff --git x/one x/two\nsimilarity index 100%\nrename from x/one\nrename to x/two\n", 0)
    assert section.paths == ("x/one", "x/two")


def test_a_copy_with_a_deep_prefix_and_a_hunk() -> None:
    data = (
        b"diff --git old/tree/one new/tree/two\nsimilarity index 80%\ncopy from one\ncopy to two\n"
        b"index 1234567..89abcde 100644\n--- old/tree/one\n+++ new/tree/two\n" + HUNK
    )
    section = only(data)
    assert (section.change, section.prefix) == (Change.COPY, 2)
    assert section.paths == ("new/tree/two",)


@pytest.mark.parametrize(
    "lines",
    [
        b"rename from one\n",
        b"rename to two\n",
        b"rename from other\nrename to two\n",
        b"rename from one\ncopy to two\n",
        b"rename from one\nrename to one\n",
        b"new file mode 100644\nrename from one\nrename to two\n",
    ],
)
def test_a_rename_that_contradicts_itself(lines: bytes) -> None:
    assert refusal(b"diff --git a/one b/two\n" + lines)[0].kind in ("junk", "names-differ")


def test_git_quotes_names_that_are_not_ascii() -> None:
    name = rb'"a/pkg/na\303\257ve \"q\"\\.py"'
    data = b"diff --git %b %b\n--- %b\t\n+++ %b\t\n" % (
        name,
        name.replace(b"a/", b"b/"),
        name,
        name.replace(b"a/", b"b/"),
    )
    assert refusal(data + HUNK, 1)[0].kind == "unsafe-path"  # the backslash
    data = data.replace(rb"\\", b"")
    assert only(data + HUNK, 1).path == 'pkg/na\u00efve "q".py'


def test_a_name_that_is_not_utf8() -> None:
    assert (
        only(
            git(rb"x", body=b"").replace(b"a/x b/x", rb'"a/caf\351" "b/caf\351"')
            + b"old mode 100644\nnew mode 100755\n",
            1,
        ).path
        == "caf\udce9"
    )
    assert only(PLAIN.replace(b"l.txt", b"caf\xe9"), 1).path == "caf\udce9"


def test_a_bad_quotation_is_refused() -> None:
    assert refusal(b'diff --git "a/x\\q" "b/x\\q"\n')[0].kind == "junk"
    assert refusal(b'--- "a/x\n+++ "b/x\n' + HUNK)[0].kind == "junk"


def test_blanks_and_b_slash_in_a_name_without_other_lines() -> None:
    assert only(git(b"pkg/run b/tool.py", b"old mode 100644", b"new mode 100755"), 1).path == "pkg/run b/tool.py"


def test_a_time_stamp_ends_the_name() -> None:
    stamp = b"2026-03-01 10:00:00.000000000 +0100"
    for blank in (b"\t", b" "):
        data = b"--- my mod.py%b%b\n+++ my mod.py%b%b\n" % (blank, stamp, blank, stamp)
        assert only(data + HUNK, 0).path == "my mod.py"


def test_svn_headers_and_properties() -> None:
    def section(name: bytes) -> bytes:
        stamps = b"--- %b\t(revision 12)\n+++ %b\t(working copy)\n" % (name, name)
        return b"Index: %b\n%b\n" % (name, b"=" * 67) + stamps + HUNK

    properties = (
        b"\nProperty changes on: pkg/mod.py\n" + b"_" * 67 + b"\nAdded: svn:eol-style\n## -0,0 +1 ##\n+native\n"
        b"\\ No newline at end of property\n"
    )
    (patch,) = reader.read(section(b"pkg/mod.py") + properties + section(b"b.py"), "p.patch", 0)
    assert [file.path for file in patch.files] == ["pkg/mod.py", "b.py"]
    assert "property" in patch.notes[0]


def test_an_index_line_that_names_another_file() -> None:
    assert refusal(b"Index: pkg/mod.py\n--- mod.py\n+++ mod.py\n" + HUNK)[0].kind == "names-differ"
    assert refusal(b"Index: pkg/new.py\n" + b"=" * 67 + b"\n")[0].kind == "no-hunks"


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"a/x.py", b"b/y.py"), (b"x.py.orig", b"x.py"), (b"a/p/x.py", b"b/q/x.py"), (b"x.py", b"b/x.py")],
)
def test_two_sides_that_name_different_files(old: bytes, new: bytes) -> None:
    problem = refusal(b"--- %b\n+++ %b\n" % (old, new) + HUNK)[0]
    assert problem.kind == "names-differ"
    assert problem.file == new.decode()


def test_the_git_line_must_name_the_same_file() -> None:
    assert refusal(git(b"x", body=PLAIN))[0].kind == "names-differ"


def test_names_are_missing() -> None:
    problem = refusal(b"--- \n+++ \n" + HUNK)[0]
    assert "name is missing" in problem.message
    assert "name is missing" in refusal(b"---\n+++\n" + HUNK)[0].message


@pytest.mark.parametrize(
    "name",
    [b"a/../x", b"a/p/../../x", b"a//x", b"a/./x", b"/tmp/x", b"a/.git/config", b"a/.hg/x", b"a/.svn/x", b"a/git~1/x",
     b"a/C:/x", b"a/..\\x", b"a/m.py:x", b"a/.g\xe2\x80\x8cit/x", b'"a/x\\ny"', b"a/.git./x"],
)  # fmt: skip
def test_unsafe_names_are_refused_before_and_after_stripping(name: bytes) -> None:
    data = b"--- /dev/null\n+++ %b\n@@ -0,0 +1 @@\n+x\n" % name
    assert refusal(data)[0].kind == "unsafe-path"
    assert refusal(data, 1)[0].kind in ("unsafe-path", "strip")


def test_every_unsafe_name_is_listed() -> None:
    data = b"".join(b"--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+x\n" % name for name in (b".git/x", b"ok", b"../x"))
    assert [problem.file for problem in refusal(data)] == ["b/.git/x", "b/../x"]


def test_a_rename_from_outside() -> None:
    for verb in (b"rename", b"copy"):
        data = git(b"x", b"similarity index 100%", verb + b" from ../outside", verb + b" to y")
        assert refusal(data)[0].kind == "unsafe-path"


def test_stripping_must_leave_a_name() -> None:
    assert refusal(PLAIN.replace(b"a/", b"").replace(b"b/", b""), 1)[0].kind == "strip"


# --- what a section does


def test_modes() -> None:
    section = only(git(b"x", b"old mode 100644", b"new mode 100755"), 1)
    assert (section.change, section.old_mode, section.new_mode) == (Change.MODIFY, REGULAR, EXECUTABLE)
    section = only(git(b"x", b"index 1234567..89abcde 100755", body=PLAIN.replace(b"l.txt", b"x")), 1)
    assert (section.old_mode, section.new_mode) == (EXECUTABLE, EXECUTABLE)
    assert (section.old_blob, section.new_blob) == ("1234567", "89abcde")
    section = only(PLAIN, 1)
    assert (section.old_mode, section.new_mode, section.old_blob) == (None, None, None)


@pytest.mark.parametrize("mode", [b"104755", b"100600", b"100664", b"040000", b"999999", b"100777"])
def test_other_modes_are_refused(mode: bytes) -> None:
    assert refusal(git(b"x", b"new file mode " + mode))[0].kind == "unsafe-mode"


def test_submodules_are_refused_however_they_are_written() -> None:
    body = b"--- a/third/kern\n+++ b/third/kern\n@@ -1 +1 @@\n-Subproject commit %b\n+Subproject commit %b\n" % (
        b"1" * 40,
        b"2" * 40,
    )
    index = b"index 1111111..2222222"
    for data in (
        git(b"third/kern", index + b" 160000", body=body),
        git(b"third/kern", index, body=body),
        git(b"third/kern", b"new file mode 160000"),
        b"Submodule third/kern 1234567..89abcde:\n  > a commit\n",
    ):
        problem = refusal(data)[0]
        assert problem.kind == "submodule"
        assert "third/kern" in problem.message


def test_new_empty_file_and_deleted_empty_file() -> None:
    created = only(git(b"p/__init__.py", b"new file mode 100644", b"index 0000000..e69de29"), 1)
    assert (created.change, created.new_mode, created.hunks) == (Change.CREATE, REGULAR, ())
    deleted = only(git(b"p/__init__.py", b"deleted file mode 100644", b"index e69de29..0000000"), 1)
    assert (deleted.change, deleted.new_path) == (Change.DELETE, None)


def test_content_that_was_left_out() -> None:
    assert refusal(git(b"x", b"new file mode 100644", b"index 0000000..1234567"))[0].kind == "truncated"
    assert refusal(git(b"x", b"deleted file mode 100644", b"index 1234567..0000000"))[0].kind == "truncated"


@pytest.mark.parametrize(
    "stamp",
    [b"1970-01-01 00:00:00.000000000 +0000", b"1970-01-01 01:00:00.000000000 +0100", b"1969-12-31 19:00:00 -0500",
     b"1970-01-01 05:45:00 +0545", b"Thu Jan 01 00:00:00 1970 +0000", b"(nonexistent)", b"(revision 0)"],
)  # fmt: skip
def test_a_stamp_of_the_epoch_means_no_file(stamp: bytes) -> None:
    assert only(b"--- x\t%b\n+++ x\t2026-01-01 00:00:00 +0000\n@@ -0,0 +1 @@\n+a\n" % stamp, 0).change is Change.CREATE
    assert only(b"--- x\t2026-01-01 00:00:00 +0000\n+++ x\t%b\n@@ -1 +0,0 @@\n-a\n" % stamp, 0).change is Change.DELETE


def test_an_ordinary_stamp_does_not() -> None:
    data = b"--- x\t1970-01-01 01:00:00 +0000\n+++ x\t2026-01-01 00:00:00 +0000\n@@ -0,0 +1 @@\n+a\n"
    assert only(data, 0).change is Change.MODIFY
    data = b"--- x\t1970-01-01 00:00:00 +0000\n+++ x\t2026-01-01 00:00:00 +0000\n" + HUNK
    assert only(data, 0).change is Change.MODIFY


def test_a_creation_has_no_old_lines() -> None:
    assert refusal(b"--- /dev/null\n+++ b/x\n" + HUNK)[0].kind == "hunk-counts"
    assert refusal(b"--- a/x\n+++ /dev/null\n" + HUNK)[0].kind == "hunk-counts"
    assert refusal(b"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n")[0].kind == "junk"


def test_links_that_lead_out_and_paths_behind_links() -> None:
    link = git(
        b"up",
        b"new file mode 120000",
        body=b"--- /dev/null\n+++ b/up\n@@ -0,0 +1 @@\n+%b\n\\ No newline at end of file\n",
    )
    assert only(link % b"real", 1).new_mode == LINK
    assert refusal(link % b"..", 1)[0].kind == "unsafe-link"
    behind = git(b"up/x.py", b"new file mode 100644", body=b"--- /dev/null\n+++ b/up/x.py\n@@ -0,0 +1 @@\n+x\n")
    problem = refusal(link % b"real" + behind)[0]
    assert (problem.kind, problem.file) == ("unsafe-path", "b/up/x.py")
    gone = git(
        b"up",
        b"deleted file mode 120000",
        body=b"--- a/up\n+++ /dev/null\n@@ -1 +0,0 @@\n-real\n\\ No newline at end of file\n",
    )
    assert len(reader.read(gone + behind, "p.patch", 1)[0].files) == 2


def test_a_file_can_not_turn_into_a_link() -> None:
    assert refusal(git(b"x", b"old mode 100644", b"new mode 120000"))[0].kind == "unsafe-mode"


# --- hunks


@pytest.mark.parametrize(
    "odd",
    [
        b"\x0c",
        b"a\x0bb",
        b"\x1c\x1d\x1e",
        b"\xc2\x85",
        b"\x85",
        b"\xe2\x80\xa8--- a/x",
        b"\0",
        b"a\rb",
        b"\xff\xfe",
        b"\r",
    ],
)
def test_only_lf_ends_a_line(odd: bytes) -> None:
    before = b"one\n" + odd + b"\ntwo\n"
    data = b"--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n " + odd + b"\n+" + odd + b"new\n two\n"
    assert result(data, {"x": before})["x"].data == b"one\n" + odd + b"\n" + odd + b"new\ntwo\n"


def test_lines_that_look_like_headers() -> None:
    body = b"@@ -1,3 +1,3 @@ def f():  # @@ -9,9 +9,9 @@\n --- a/x\n--- b/count\n+++ b/count\n @@ -1 +1 @@\n"
    section = only(b"--- a/x\n+++ b/x\n" + body, 1)
    (hunk,) = section.hunks
    assert hunk.section == b"def f():  # @@ -9,9 +9,9 @@"
    assert [(line.op, line.data) for line in hunk.lines] == [
        (Op.CONTEXT, b"--- a/x\n"),
        (Op.REMOVE, b"-- b/count\n"),
        (Op.ADD, b"++ b/count\n"),
        (Op.CONTEXT, b"@@ -1 +1 @@\n"),
    ]


def test_counts_of_one_may_be_left_out() -> None:
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -7 +7 @@\n-a\n+b\n").hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (7, 1, 7, 1)


def test_blank_context_that_lost_its_space() -> None:
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\n\n-b\n+B\n\n").hunks
    assert hunk.new == (b"a\n", b"\n", b"B\n", b"\n")


@pytest.mark.parametrize("marker", [b"\\ No newline at end of file", b"\\ Kein Zeilenumbruch am Dateiende.", b"\\"])
def test_the_end_of_file_marker_in_any_language(marker: bytes) -> None:
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n x\n-y\n" + marker + b"\n+z\n" + marker + b"\n").hunks
    assert (hunk.old, hunk.new) == ((b"x\n", b"y"), (b"x\n", b"z"))


def test_a_marker_in_the_middle() -> None:
    marker = b"\\ No newline at end of file\n"
    for body in (
        b" a\n" + marker + b"-b\n+B\n",
        b"-a\n" + marker + b"-b\n+A\n+B\n",
        b"-a\n-b\n+A\n" + marker + b"+B\n",
    ):
        assert refusal(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n" + body)[0].kind == "eof-marker"
    doubled = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" + marker + marker
    assert refusal(doubled)[0].kind == "eof-marker"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("truncated", b"@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n"),
        ("truncated", b"@@ -1,3 +1,3 @@\n a\n-b\n"),
        ("truncated", b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        ("truncated", b"@@ -1 +1 @@\n-a\n"),
        ("hunk-counts", b"@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\ndiff --git a/y b/y\n"),
        ("hunk-counts", b"@@ -1,3 +1,3 @@\n a\n-b\n+B\n+extra\n c\n"),
        ("hunk-counts", b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n+extra\n"),
        ("hunk-counts", b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n-extra\n"),
        ("hunk-counts", b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n"),
        ("hunk-counts", b"@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
        ("hunk-counts", b"@@ -1,4 +1,3 @@\n a\n-b\n+B\n c\n-- \n2.39.5\n"),
        ("hunk-counts", b"@@ -1,3 +1,3 @@\n\\ No newline\n a\n-b\n+B\n c\n"),
        ("hunk-header", b"@@ -1,3 +0,3 @@\n a\n-b\n+B\n c\n"),
        ("hunk-header", b"@@ -0,0 +0,0 @@\n"),
        ("hunk-header", b"@@ -1,3 1,3 @@\n a\n"),
        ("hunk-header", b"@@ -1,99999999999 +1,3 @@\n a\n"),
        ("hunk-order", b"@@ -6,2 +6,2 @@\n a\n-b\n+B\n@@ -2,2 +2,2 @@\n a\n-b\n+B\n"),
        ("hunk-order", b"@@ -2,2 +2,2 @@\n a\n-b\n+B\n@@ -3,2 +3,2 @@\n a\n-b\n+B\n"),
    ],
)
def test_hunks_that_do_not_add_up(kind: str, body: bytes) -> None:
    problem = refusal(b"--- a/x\n+++ b/x\n" + body)[0]
    assert problem.kind == kind
    assert problem.hunk in (1, 2)
    assert problem.file == "b/x"
    assert "hunk" in problem.message


def test_lines_like_a_file_header_may_end_a_hunk_of_a_git_section() -> None:
    body = b"@@ -1 +1 @@\n--- a\n+++ b\n@@ -5 +5 @@\n-x\n+y\n"
    assert len(only(git(b"x", body=b"--- a/x\n+++ b/x\n" + body)).hunks) == 2
    assert refusal(b"--- a/x\n+++ b/x\n" + body)[0].kind == "hunk-counts"


def test_the_signature_of_a_mail_is_no_removed_line() -> None:
    assert only(PLAIN + b"-- \n2.39.5\n\n").hunks[0].old_count == 3
    removed = b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-- \n-- \n2.39.5\n"
    assert only(removed).hunks[0].old == (b"a\n", b"- \n")


def test_blank_lines_and_prose_between_sections() -> None:
    second = PLAIN.replace(b"l.txt", b"m.txt")
    for between in (b"", b"\n\n", b"\nOnly prose.\n", b"```\n"):
        (patch,) = reader.read(b"Here it is:\n\n```diff\n" + PLAIN + between + second + between, "p.patch", 1)
        assert [section.path for section in patch.files] == ["l.txt", "m.txt"]
        assert patch.files[0].line == 4


def test_two_sections_of_one_file_stay_apart() -> None:
    (patch,) = reader.read(PLAIN + PLAIN, "p.patch", 1)
    assert [section.path for section in patch.files] == ["l.txt", "l.txt"]


# --- carriage returns


def test_crlf_content_under_lf_headers_is_kept() -> None:
    section = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", 1)
    assert not section.crlf
    assert section.hunks[0].new == (b"a\r\n", b"B\r\n")


def test_a_patch_that_was_converted_to_crlf() -> None:
    section = only(git(b"l.txt", b"index 1234567..89abcde 100644", body=PLAIN).replace(b"\n", b"\r\n"), 1)
    assert (section.path, section.old_mode, section.crlf) == ("l.txt", REGULAR, True)
    assert section.hunks[0].new == (b"a\n", b"B\n", b"c\n")


def test_crlf_headers_over_lf_lines_are_no_conversion() -> None:
    section = only(b"--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n a\n-b\r\n+B\n", 1)
    assert not section.crlf
    assert section.hunks[0].old == (b"a\n", b"b\r\n")


# --- what is no unified diff


@pytest.mark.parametrize(
    ("kind", "word", "data"),
    [
        ("empty", "empty", b""),
        ("empty", "empty", b"\n \n"),
        ("empty", "empty", b"\xef\xbb\xbf\n"),
        ("encoding", "UTF-16", "--- a/x\n".encode("utf-16")),
        ("compressed", "gzip", b"\x1f\x8b\x08\0"),
        ("junk", "web page", b"<!DOCTYPE html>\n<html></html>\n"),
        ("junk", "no diff", b"Hello.\n"),
        ("junk", "indented", b"    --- a/x\n    +++ b/x\n    @@ -1 +1 @@\n    -a\n    +b\n"),
        ("junk", "quoted", b"> --- a/x\n> +++ b/x\n> @@ -1 +1 @@\n> -a\n> +b\n"),
        ("junk", "header", b"@@ -1 +1 @@\n-a\n+b\n"),
        ("colours", "colour", b"\x1b[1mdiff --git a/x b/x\x1b[m\n"),
        ("combined", "combined", b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n"),
        ("combined", "combined", b"diff --combined x\nindex 1,2..3\n"),
        ("combined", "combined", b"--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n"),
        ("context-diff", "context diff", b"*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n"),
        ("normal-diff", "normal diff", b"1c1\n< a\n---\n> b\n"),
        ("normal-diff", "normal diff", b"2a3,4\n> b\n> c\n"),
        ("ed-script", "ed script", b"1c\nb\n.\n"),
        ("ed-script", "ed script", b"3,4d\n"),
        ("ed-script", "ed script", PLAIN + b"\n1i\n!touch x\n.\n"),
        ("no-hunks", "no hunk", b"--- a/x\n+++ b/x\n"),
        ("no-hunks", "no hunk", b"--- a/x\n+++ b/x\n" + PLAIN),
        ("binary-omitted", "x.bin", git(b"x.bin", b"index 1234567..89abcde", b"Binary files a/x and b/x differ")),
        ("binary-omitted", "a/x.bin", b"Binary files a/x.bin and b/x.bin differ\n" + PLAIN),
        ("binary-omitted", "x.bin", b"Index: x.bin\n===\nCannot display: file marked as a binary type.\n"),
        ("binary-omitted", "x.bin", git(b"x.bin", b"Binary file x.bin has changed") + PLAIN),
        ("truncated", "ends", git(b"x", b"index 1234567..89abcde 100644")),
        ("junk", "header", git(b"x", b"old mode 100644", b"new mode 100755", b"similarty index 90%") + PLAIN),
        ("junk", "header", git(b"x", b"new file mode 100644", b"old mode 100644", b"new mode 100755")),
        ("junk", "header", git(b"x", b"new file mode 100644", b"deleted file mode 100644")),
        ("junk", "mode", git(b"x", b"new mode 100755")),
        ("junk", "outside", PLAIN + b"\nnew file mode 100644\n"),
        ("junk", "hunks but no", git(b"x", b"index 1234567..89abcde 100644", body=HUNK)),
        ("junk", "index line", git(b"x", b"index zzz..yyy", body=PLAIN)),
    ],
)  # fmt: skip
def test_refused_saying_what_it_is(kind: str, word: str, data: bytes) -> None:
    problem = refusal(data)[0]
    assert problem.kind == kind
    assert word in problem.message
    assert problem.patch == "p.patch"


def test_a_creation_cut_off_behind_its_mode() -> None:
    header = git(b"x", b"new file mode 100644")
    assert only(header, 1).change is Change.CREATE  # as Mercurial writes an empty file
    assert refusal(header.rstrip())[0].kind == "truncated"


def test_a_byte_order_mark_is_skipped_and_noted() -> None:
    (patch,) = reader.read(b"\xef\xbb\xbf" + PLAIN, "p.patch", 1)
    assert patch.files[0].path == "l.txt"
    assert "byte order mark" in patch.notes[0]


def test_a_left_over_git_header_is_noted() -> None:
    (patch,) = reader.read(git(b"x", b"index 1234567..89abcde 100644") + git(b"l.txt", body=PLAIN), "p.patch", 1)
    assert [section.path for section in patch.files] == ["l.txt"]
    assert "header without a body" in patch.notes[0]


def test_files_that_a_recursive_diff_left_out_are_noted() -> None:
    (patch,) = reader.read(b"Only in new: x.py\ndiff -ru old/l.txt new/l.txt\n" + PLAIN, "p.patch")
    assert "Only in new: x.py" in patch.notes[0]


def test_large_but_sane() -> None:
    line = b"x" * 1_000_000
    section = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n " + line + b"\n-a\n+b\n", 1)
    assert section.hunks[0].old[0] == line + b"\n"
    count = 100_000
    data = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,%d @@\n" % count + (b"+" + b"y" * 49 + b"\n") * count
    assert result(data, {})["x"].data == (b"y" * 49 + b"\n") * count


def test_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGEST_PATCH", len(PLAIN) - 1)
    assert refusal(PLAIN)[0].kind == "too-large"
    monkeypatch.setattr(reader, "LARGEST_PATCH", 1000)
    monkeypatch.setattr(reader, "LONGEST_LINE", 10)
    assert refusal(PLAIN)[0].kind == "too-large"
    monkeypatch.undo()
    assert refusal(b"--- a/x\n+++ b/x\n@@ -0,0 +1,9999999 @@\n+a\n")[0].kind == "too-large"
    assert refusal(b"diff --git a/" + b"x" * 50_000 + b" b/x\n")[0].kind == "too-large"
    assert refusal(b"diff --git a/" + b"x " * 5_000 + b" b/x\n")[0].kind in ("junk", "too-large")


def test_refusals_name_patch_file_and_hunk() -> None:
    with pytest.raises(Refused) as caught:
        reader.read(b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n", "0003-fix.patch")
    (problem,) = caught.value.problems
    assert (problem.patch, problem.file, problem.hunk) == ("0003-fix.patch", "b/x", 1)
