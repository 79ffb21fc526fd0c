"""Mails, mailboxes and other heads: which diff is meant, and what the head says."""

from __future__ import annotations

import base64
import quopri
from pathlib import Path

import pytest

from patchctl.engine import reader
from patchctl.engine.model import Patch
from tests.engine.trees import git, refusal, result, snapshot, states, write

DIFF = b"diff --git a/m.py b/m.py\nindex 1234567..89abcde 100644\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
OTHER = DIFF.replace(b"m.py", b"b.py")
FROM = b"From 94a5f919ed91c54732f62dcb44c0759085517269 Mon Sep 17 00:00:00 2001\n"
HEAD = (
    b"From: Case Author <case@example.invalid>\nDate: Fri, 2 Jan 2026 03:04:05 +0000\n"
    b"Subject: [PATCH 1/2] tune: pop\n\n"
)
STAT = b"---\n m.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
END = b"-- \n2.39.5\n\n"
MAIL = FROM + HEAD + b"The queue is a stack.\n\nReally.\n" + STAT + DIFF + END


def read(data: bytes) -> Patch:
    (patch,) = reader.read(data, "p.patch", 1)
    return patch


def names(patch: Patch) -> list[str]:
    return [section.path for section in patch.files]


def test_a_format_patch_mail() -> None:
    patch = read(MAIL)
    assert names(patch) == ["m.py"]
    assert patch.mail.author == "Case Author <case@example.invalid>"
    assert patch.mail.date == "Fri, 2 Jan 2026 03:04:05 +0000"
    assert patch.mail.subject == "tune: pop"
    assert patch.mail.body == "The queue is a stack.\n\nReally."


def test_a_mail_without_the_from_line_and_with_crlf() -> None:
    assert read(MAIL.removeprefix(FROM)).mail == read(MAIL).mail
    patch = read(MAIL.replace(b"\n", b"\r\n"))
    assert patch.mail == read(MAIL).mail
    assert patch.files[0].crlf


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        (b"[PATCH] [Bugfix] Fix x", "[Bugfix] Fix x"),
        (b"Re: [RFC PATCH v3 02/10] Fix [x]", "Fix [x]"),
        (b"Fix x", "Fix x"),
        (b"[PATCH] a very long\n subject that\n\tgoes on", "a very long subject that goes on"),
        (
            b"[PATCH] =?UTF-8?q?Motor:=20gr=C3=B6=C3=9Fere=20Schlange=20f?=\n =?UTF-8?q?=C3=BCr=20den=20Ablauf?=",
            "Motor: gr\u00f6\u00dfere Schlange f\u00fcr den Ablauf",
        ),
        (b"[PATCH] =?iso-8859-1?Q?caf=E9?=", "caf\u00e9"),
        (b"[PATCH] =?no-such-charset?Q?caf=E9?=", "=?no-such-charset?Q?caf=E9?="),
        (b"[PATCH] gr\xc3\xb6\xc3\x9fer", "gr\u00f6\u00dfer"),
    ],
)
def test_subjects(raw: bytes, subject: str) -> None:
    assert read(MAIL.replace(b"[PATCH 1/2] tune: pop", raw)).mail.subject == subject


def test_authors() -> None:
    for raw, author in (
        (b'"Author, Case" <c@example.invalid>', "Author, Case <c@example.invalid>"),
        (b"=?UTF-8?q?J=C3=B6rg?= <j@example.invalid>", "J\u00f6rg <j@example.invalid>"),
    ):
        assert read(MAIL.replace(b"Case Author <case@example.invalid>", raw)).mail.author == author


def test_headers_inside_the_body_win() -> None:
    inner = b"From: Real <real@example.invalid>\nSubject: the real one\n\nBody.\n"
    patch = read(FROM + HEAD + inner + STAT + DIFF)
    assert (patch.mail.author, patch.mail.subject) == ("Real <real@example.invalid>", "the real one")
    assert patch.mail.body == "Body."


def test_scissors() -> None:
    chatter = b"Hi, what about\n+        this line?\n\n-- >8 --\nSubject: [PATCH] real title\n\nWhy.\n"
    patch = read(FROM + HEAD + chatter + STAT + DIFF + END)
    assert (patch.mail.subject, patch.mail.body) == ("real title", "Why.")


def test_a_mailbox_is_several_patches() -> None:
    second = MAIL.replace(b"m.py", b"b.py").replace(b"1/2] tune: pop", b"2/2] b: raise")
    for glue in (b"", b"\n"):
        patches = reader.read(MAIL + glue + second, "box", 1)
        assert [(patch.name, names(patch), patch.mail.subject) for patch in patches] == [
            ("box#1", ["m.py"], "tune: pop"),
            ("box#2", ["b.py"], "b: raise"),
        ]
    assert patches[1].files[0].line > 20
    bare = MAIL.replace(END, b"")  # no signature: the next mail begins right behind a hunk
    assert len(reader.read(bare + second, "box", 1)) == 2


def test_a_cover_letter_is_left_out_and_noted() -> None:
    cover = FROM + HEAD.replace(b"1/2", b"0/2") + b"*** BLURB ***\n\n m.py | 2 +-\n\n"
    (patch,) = reader.read(cover + MAIL, "box", 1)
    assert names(patch) == ["m.py"]
    assert "box#1" in patch.notes[0]
    assert refusal(cover)[0].kind == "junk"
    assert refusal(cover + cover)[0].kind == "junk"


def test_a_mail_that_lost_its_diff() -> None:
    assert refusal(MAIL + FROM + HEAD + b"No diff here.\n")[0].patch == "p.patch#2"


def test_from_lines_in_prose_split_nothing() -> None:
    body = b"From the start it was so.\n\nFrom 10:30 on, too.\n>From here\n"
    patch = read(FROM + HEAD + body + STAT + DIFF)
    assert "From the start" in patch.mail.body


def test_a_quoted_diff_in_the_message_is_never_taken() -> None:
    for mark in (b"    ", b"> ", b"\t", b"| "):
        quoted = b"".join(mark + line + b"\n" for line in OTHER.splitlines())
        assert names(read(FROM + HEAD + b"Not this:\n\n" + quoted + b"\nBut:\n" + STAT + DIFF)) == ["m.py"]


def test_a_diff_at_the_margin_of_the_message_is_refused() -> None:
    problem = refusal(FROM + HEAD + b"Not this:\n\n" + OTHER + b"\nBut:\n" + STAT + DIFF + END)[0]
    assert problem.kind == "diff-in-message"
    assert "b.py" in problem.message
    hunk = b"@@ -1 +1 @@\n-B = 1\n+B = 9\n"
    assert refusal(FROM + HEAD + b"Not this:\n\n" + hunk + b"\n" + STAT + DIFF + END)[0].kind == "junk"


def test_text_behind_the_diff() -> None:
    footer = b"_______________\nlist mailing list\n- not a bullet\n+1\n---\nYou get this since\n"
    assert names(read(MAIL + footer)) == ["m.py"]
    assert names(read(MAIL.replace(END, b"\nbase-commit: 1234567\n-- \n2.39.5\n"))) == ["m.py"]


def encoded(coding: str, body: bytes, kind: str = "text/plain; charset=UTF-8") -> bytes:
    return (
        HEAD[:-1] + f"MIME-Version: 1.0\nContent-Type: {kind}\nContent-Transfer-Encoding: {coding}\n\n".encode() + body
    )


def test_bodies_are_decoded() -> None:
    before = b"url = 'h/?a=b'\nname = '\xc3\xa9'\n" + b"x" * 90 + b"\n"
    diff = (
        b"--- a/q.py\n+++ b/q.py\n@@ -1,3 +1,3 @@\n-url = 'h/?a=b'\n+url = 'h/?a=c'\n name = '\xc3\xa9'\n "
        + b"x" * 90
        + b"\n"
    )
    text = b"Gr\xc3\xbc\xc3\x9fe\n" + STAT + diff + END
    for data in (
        encoded("quoted-printable", quopri.encodestring(text)),
        encoded("base64", base64.encodebytes(text)),
        FROM + encoded("BASE64", base64.encodebytes(text.replace(b"\n", b"\r\n"))),
    ):
        assert result(data, {"q.py": before})["q.py"].data == before.replace(b"a=b", b"a=c")
        patch = read(data)
        assert patch.mail.body == "Gr\u00fc\u00dfe"
        assert "decoded" in patch.notes[0]


def test_the_charset_of_the_message() -> None:
    data = HEAD[:-1] + b"Content-Type: text/plain; charset=iso-8859-1\n\nGr\xfc\xdfe\n" + STAT + DIFF
    assert read(data).mail.body == "Gr\u00fc\u00dfe"
    assert read(data.replace(b"iso-8859-1", b"no-such")).mail.body == "Gr\udcfc\udcdfe"


def multipart(*parts: bytes) -> bytes:
    head = HEAD[:-1] + b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="bb"\n\n'
    return head + b"".join(b"--bb\n" + part + b"\n" for part in parts) + b"--bb--\n"


def test_a_diff_in_an_attachment_is_refused() -> None:
    letter = b"Content-Type: text/plain\n\nsee attachment\n"
    attached = b"Content-Type: text/x-patch\nContent-Transfer-Encoding: base64\n\n"
    assert refusal(multipart(letter, attached + base64.encodebytes(DIFF)))[0].kind == "attachment"
    assert refusal(multipart(letter))[0].kind == "junk"
    two = multipart(letter, attached + base64.encodebytes(DIFF), attached + base64.encodebytes(OTHER))
    assert "several parts" in refusal(two)[0].message


def test_a_diff_in_the_first_part_is_read_and_footers_are_not() -> None:
    page = b"Content-Type: text/html\n\n<pre>--- a/x</pre>\n"
    footer = b"Content-Type: text/plain\n\n_____\nlist\n"
    patch = read(multipart(b"Content-Type: text/plain\n\nWhy.\n" + STAT + DIFF, page, footer))
    assert (names(patch), patch.mail.body) == (["m.py"], "Why.")


def test_the_head_of_git_show() -> None:
    show = (
        b"commit 94a5f919ed91c54732f62dcb44c0759085517269\nAuthor: Case <c@example.invalid>\n"
        b"Date:   Fri Jan 2 03:04:05 2026 +0000\n\n    Title\n    \n    Why.\n\n"
    )
    patch = read(show + DIFF)
    assert (patch.mail.author, patch.mail.subject, patch.mail.body) == ("Case <c@example.invalid>", "Title", "Why.")
    first, second = reader.read(show + DIFF + b"\n" + show + OTHER, "log", 1)
    assert (names(first), names(second)) == (["m.py"], ["b.py"])


def test_the_head_of_mercurial() -> None:
    head = (
        b"# HG changeset patch\n# User Case <c@example.invalid>\n# Date 1767323045 0\n# Node ID 1234\nTitle\n\nWhy.\n\n"
    )
    patch = read(head + DIFF)
    assert (patch.mail.author, patch.mail.date, patch.mail.subject, patch.mail.body) == (
        "Case <c@example.invalid>",
        "1767323045 0",
        "Title",
        "Why.",
    )


def test_prose_above_a_plain_diff_is_its_body() -> None:
    patch = read(b"Fixes the thing.\nFor good.\n---\n m.py | 2 +-\n\n" + DIFF)
    assert (patch.mail.author, patch.mail.subject, patch.mail.body) == ("", "", "Fixes the thing.\nFor good.")


def test_what_git_am_makes_of_a_mailbox(tmp_path: Path) -> None:
    before = states({"m.py": b"a = 1\n", "sub/x.txt": b"1\n2\n3\n"})
    write(tmp_path, before)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    for step, message in ((2, "gr\u00f6\u00dfer " * 12), (3, "From: nobody\n\nFrom here on")):
        (tmp_path / "m.py").write_bytes(b"a = %d\n" % step)
        (tmp_path / "sub/x.txt").write_bytes(b"1\n2\n3\n" + b"x\n" * step)
        git(tmp_path, "commit", "-qam", message)
    after = snapshot(tmp_path)
    box = git(tmp_path, "format-patch", "--stdout", "-2").stdout
    assert len(reader.read(box, "box", 1)) == 2
    assert result(box, before) == after
    titles = git(tmp_path, "log", "--reverse", "-2", "--format=%s").stdout.decode().splitlines()
    assert [patch.mail.subject for patch in reader.read(box, "box", 1)] == titles
