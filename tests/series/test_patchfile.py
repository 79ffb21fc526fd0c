"""Heads and diffs of patch files: what is written is read back, by us, by git and by quilt."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.engine.model import Mail
from patchctl.errors import InvalidInput
from patchctl.series import maildate, patchfile

DIFF = b"""diff --git a/pkg/mod.py b/pkg/mod.py
--- a/pkg/mod.py
+++ b/pkg/mod.py
@@ -1,3 +1,3 @@
 one
-two
+2
 three
"""
DATE = "Tue, 6 Jan 2026 10:00:00 +0100"


def sample(**changes: object) -> patchfile.PatchFile:
    parts: dict[str, object] = {
        "author": "Ada Lovelace <ada@example.org>",
        "date": DATE,
        "subject": "Count in digits",
        "why": "Words are slow.\n\nSo are Roman numerals.",
        "trailers": patchfile.upstream_trailers("submitted", "https://example.org/pull/1"),
        "diff": DIFF,
    }
    return patchfile.compose(**{**parts, **changes})  # type: ignore[arg-type]


def run_git(cwd: Path, *args: str, data: bytes | None = None) -> str:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(cwd.parent),
        "LC_ALL": "C",
    }
    who = ["-c", "user.name=Committer", "-c", "user.email=c@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *args], cwd=cwd, env=env, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape")


def repository(folder: Path) -> Path:
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/mod.py").write_bytes(b"one\ntwo\nthree\n")
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "base")
    return folder


def test_a_rendered_file_reads_as_people_expect() -> None:
    assert patchfile.render(sample()).split(b"diff --git")[0].decode() == (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        "From: Ada Lovelace <ada@example.org>\n"
        "Date: Tue, 6 Jan 2026 10:00:00 +0100\n"
        "Subject: [PATCH] Count in digits\n"
        "\n"
        "Words are slow.\n"
        "\n"
        "So are Roman numerals.\n"
        "\n"
        "Upstream-Status: submitted\n"
        "Link: https://example.org/pull/1\n"
        "---\n"
        "\n"
    )


def test_reading_gives_the_parts_back() -> None:
    file = patchfile.parse(patchfile.render(sample()))
    assert file == sample()
    assert file.why == "Words are slow.\n\nSo are Roman numerals."
    assert file.values("upstream-status") == ["submitted"]
    assert file.values("link") == ["https://example.org/pull/1"]
    assert file.diff == DIFF


def test_a_folded_encoded_subject_is_decoded() -> None:
    data = (
        b"From abc Mon Sep 17 00:00:00 2001\nFrom: =?UTF-8?q?J=C3=B6rg?= <j@example.org>\n"
        b"Subject: [PATCH v2 3/7] =?UTF-8?q?Motor:_gr=C3=B6=C3=9Fere?=\n =?UTF-8?q?_Warteschlange?=\n\twithout end\n\n"
        b"Why.\n---\n pkg/mod.py | 2 +-\n\n" + DIFF
    )
    file = patchfile.parse(data)
    assert file.mail == Mail("Jörg <j@example.org>", "", "Motor: größere Warteschlange without end", "Why.")
    assert file.stat == b" pkg/mod.py | 2 +-\n\n"


def test_a_git_signature_is_left_out_and_the_diff_is_kept_to_the_byte() -> None:
    diff = DIFF.replace(b"+2", b"+\xff\x00\r").replace(b"index", b"index")
    data = b"From: a <a@b>\nSubject: x\n\nWhy.\n---\n\n" + diff + b"-- \n2.39.5\n\n"
    assert patchfile.parse(data).diff == diff


def test_a_removed_line_that_looks_like_a_signature_stays() -> None:
    diff = DIFF.replace(b"-two\n+2\n three\n", b" two\n three\n-- \n")
    assert patchfile.parse(b"Subject: x\n\n" + diff).diff == diff


def test_a_bare_diff_has_an_empty_head() -> None:
    file = patchfile.parse(DIFF)
    assert file.mail == Mail()
    assert file.diff == DIFF


def test_a_quoted_printable_body_is_decoded() -> None:
    data = (
        b"From: a <a@b>\nSubject: x\nContent-Transfer-Encoding: quoted-printable\n\nWhy =3D because\n---\n\n"
        + DIFF.replace(b"+2", b"+2=3D2=20").replace(b" three", b" th=\nree")
    )
    file = patchfile.parse(data)
    assert file.mail.body == "Why = because"
    assert file.diff == DIFF.replace(b"+2", b"+2=2 ")


def test_headers_on_top_of_the_body_count_more() -> None:
    data = b"From: list <l@x>\nSubject: Fwd\n\nFrom: Ada <ada@x>\nSubject: Real\n\nWhy.\n---\n" + DIFF
    assert patchfile.parse(data).mail == Mail("Ada <ada@x>", "", "Real", "Why.")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"why": "See\n--- a/file\nfor it"}, "diff"),
        ({"why": "See\n  --- a/file\nfor it"}, "diff"),
        ({"why": "Change\n5,7c5\nthere"}, "diff"),
        ({"why": "From ada Mon Jan  1 10:00:00 2026"}, "mail"),
        ({"why": "one\n---\ntwo"}, "survive"),
        ({"why": "From: someone else"}, "survive"),
        ({"subject": "[Bugfix] x"}, "take the beginning"),
        ({"subject": ""}, "subject"),
        ({"subject": "two\nlines"}, "one line"),
    ],
)
def test_a_head_that_would_be_misread_is_not_written(changes: dict[str, str], word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        patchfile.render(sample(**changes))


@pytest.mark.parametrize(
    ("author", "name", "email"),
    [
        ("Ada Lovelace <ada@example.org>", "Ada Lovelace", "ada@example.org"),
        ('"Lovelace, Ada" <ada@example.org>', "Lovelace, Ada", "ada@example.org"),
        ("ada@example.org (Ada Lovelace)", "Ada Lovelace", "ada@example.org"),
        ("ada@example.org", "ada@example.org", "ada@example.org"),
        ("", "patchctl", "patchctl@invalid"),
    ],
)
def test_authors(author: str, name: str, email: str) -> None:
    found = patchfile.identity(Mail(author=author))
    assert (found.name, found.email, found.date) == (name, email, "946684800 +0000")


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("Tue, 6 Jan 2026 10:00:00 +0100", "1767690000 +0100"),
        ("6 Jan 2026 10:00 -0530", "1767713400 -0530"),
        ("Thu, 1 Jan 1970 00:00:00 GMT", "0 +0000"),
        ("2026-01-06T10:00:00+01:00", "1767690000 +0100"),
        ("yesterday", None),
        ("Tue, 46 Jan 2026 10:00:00 +0100", None),
        ("", None),
    ],
)
def test_dates(text: str, raw: str | None) -> None:
    assert maildate.raw(text) == raw


def test_the_form_of_a_date_is_read_back() -> None:
    assert maildate.raw(maildate.mail_form(1767690000, "-0530")) == "1767690000 -0530"


CASES = [
    {},
    {"author": '"Lovelace, A. (Ada)" <ada@example.org>'},
    {"author": "Jörg Müller <jm@example.org>", "subject": "Größer"},
    {"why": "  indented  \n\n\n\nand far below   "},
    {"why": "", "trailers": ()},
    {"subject": "a   subject   with " + "many words " * 20},
]


@pytest.mark.parametrize("changes", CASES)
def test_git_am_makes_the_commit_we_would_make(tmp_path: Path, changes: dict[str, object]) -> None:
    file = patchfile.parse(patchfile.render(sample(**changes)))
    repo = repository(tmp_path / "repo")
    run_git(repo, "am", "-q", data=patchfile.render(file))
    who = patchfile.identity(file.mail)
    shown = run_git(repo, "log", "-1", "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B")
    assert shown == f"{who.name}\0{who.email}\0{who.date}\0{patchfile.message(file.mail).decode()}\n"
    assert (repo / "pkg/mod.py").read_bytes() == b"one\n2\nthree\n"


@pytest.mark.skipif(shutil.which("quilt") is None, reason="quilt is not installed")
def test_quilt_takes_it(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    (repo / "patches").mkdir()
    (repo / "patches/x.patch").write_bytes(patchfile.render(sample()))
    (repo / "patches/series").write_text("x.patch\n")
    done = subprocess.run(["quilt", "push", "-a"], cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert b"fuzz" not in done.stdout and b"offset" not in done.stdout
    assert (repo / "pkg/mod.py").read_bytes() == b"one\n2\nthree\n"


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30)
bodies = st.lists(words, max_size=6).map("\n".join)
diffs = st.binary(max_size=200).map(lambda tail: DIFF + b"+" + tail.replace(b"\n", b"\n+") + b"\n")


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(subject=words, why=bodies, author=words, trailer=words, diff=diffs)
def test_what_is_written_is_read_back(subject: str, why: str, author: str, trailer: str, diff: bytes) -> None:
    file = sample(
        subject=subject, why=why, author=f"{author} <a@example.org>", trailers=(("Note", trailer),), diff=diff
    )
    try:
        data = patchfile.render(file)
    except InvalidInput:
        return
    again = patchfile.parse(data)
    assert again == file
    assert patchfile.render(again) == data
    assert again.diff == diff


@settings(max_examples=300)
@given(data=st.binary(max_size=400), head=st.sampled_from([b"", b"From: a <b@c>\n", b"From x\nSubject: =?x?q?y?=\n\n"]))
def test_reading_never_fails(data: bytes, head: bytes) -> None:
    patchfile.parse(head + data)


@settings(max_examples=25, deadline=None)
@given(subject=words.filter(str.strip), why=bodies, author=words.filter(str.strip))
def test_git_mailinfo_reads_heads_alike(
    tmp_path_factory: pytest.TempPathFactory, subject: str, why: str, author: str
) -> None:
    folder = tmp_path_factory.mktemp("mailinfo")
    try:
        data = patchfile.render(sample(subject=subject, why=why, author=f"{author} <a@example.org>"))
    except InvalidInput:
        return
    mail = patchfile.parse(data).mail
    shown = run_git(folder, "mailinfo", "msg", "patch", data=data)
    who = patchfile.identity(mail)
    fields = dict(line.split(": ", 1) for line in shown.split("\n") if ": " in line)
    assert fields["Subject"] == mail.subject
    assert fields["Email"] == who.email
    message = (mail.subject + "\n\n" + (folder / "msg").read_bytes().decode()).encode()
    tidied = run_git(folder, "stripspace", data=message)
    assert tidied.encode() == patchfile.message(mail)
