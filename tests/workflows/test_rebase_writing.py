"""What ``rebase`` writes: heads byte for byte, exact diffs, files of every kind; and conflicts that have no markers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.moving import BASE, BINARY, CORE, DELETED, FRESH, NEXT, OTHER, SHIFTED, Files, Move
from tests.target.checkouts import git

SHIFTED_TEXT = (NEXT["demo/other.py"] or b"").replace(b"return 5\n", b"return 55\n")


def head_of(data: bytes) -> bytes:
    return data[: data.index(b"diff --git ")]


def relock(move: Move, id: str, change: bytes) -> None:
    (move.project / f"patches/v1.0/{id}.patch").write_bytes(change)
    assert move.run("lock").code == 0


# -- heads

HEADS = {
    "latin": b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: J\xf6rg <j@example.org>\n"
    b"Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] Sch\xf6n\n\n\xff\xfe bytes\n---\n\n",
    "folded": b"From: A\n\t<a@example.org>\nX-Odd:  two  blanks\nSubject: [PATCH 3/7] A\n  subject\n\n"
    b"Body.  \n\n\n---\n\n",
    "crlf": b"From: A <a@example.org>\r\nSubject: [PATCH] crlf\r\n\r\nBody.\r\n---\r\n\r\n",
    "none": b"",
    "words": b"Only words, no mail.\n\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_the_head_stays_byte_for_byte(bare: Move, name: str) -> None:
    bare.carry({"shifted": SHIFTED})
    old = bare.patch("shifted", "v1.0")
    relock(bare, "shifted", HEADS[name] + old[len(head_of(old)) :])
    assert bare.begin().code == 0
    new = bare.patch("shifted")
    assert head_of(new) == HEADS[name]
    assert new.endswith(old[old.rindex(b"\n-- \n") :]), "git's signature is kept as well"
    assert bare.applied("v1.1", "demo/other.py") == SHIFTED_TEXT


def test_only_numbers_and_ids_change_where_a_patch_moved(bare: Move) -> None:
    bare.carry({"shifted": SHIFTED})
    assert bare.begin().code == 0

    def bald(data: bytes) -> bytes:
        return re.sub(rb"(?m)^(index [0-9a-f.]+|@@ -\d+)", b"", re.sub(rb"\+\d+,", b"", data))

    assert bald(bare.patch("shifted")) == bald(bare.patch("shifted", "v1.0"))


def test_an_encoded_mail_becomes_a_plain_one(bare: Move) -> None:
    bare.carry({"shifted": SHIFTED})
    old = bare.patch("shifted", "v1.0")
    import base64

    body = base64.encodebytes(b"Why.\n---\n\n" + old[len(head_of(old)) :])
    mail = b"From: A <a@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] Shift\nMIME-Version: 1.0\n"
    mail += b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n" + body
    relock(bare, "shifted", mail)
    assert bare.begin().code == 0
    new = bare.patch("shifted")
    assert b"Subject: [PATCH] Shift\n" in new and b"\nWhy.\n" in new
    assert bare.applied("v1.1", "demo/other.py") == SHIFTED_TEXT


def test_a_diffstat_that_would_lie_is_left_out(bare: Move) -> None:
    bare.carry({"clash": {"demo/core.py": CORE.replace(b"return 3\n", b"return 300\n")}})
    assert b" 1 file changed" in bare.patch("clash", "v1.0")
    bare.begin()
    path = bare.conflict("clash")
    path.write_bytes((NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 300\n    # why\n"))
    assert bare.rebase("--continue").code == 0
    assert b" 1 file changed" not in bare.patch("clash")
    assert b"\n---\n" in bare.patch("clash") and b"What it is for." in bare.patch("clash")


# -- kinds of files


def test_files_of_every_kind(bare: Move) -> None:
    odd = "demo/odd näme \udcff.txt"
    series: dict[str, Files] = {
        "made": {"demo/new.sh": b"#!/bin/sh\n", "demo/empty": b"", odd: b"odd\n", "demo/bytes.bin": b"\0\1\2" * 50},
        "edited": {"demo/new.sh": b"#!/bin/sh\necho\n", "demo/bytes.bin": b"\0\1\3" * 50},
        "renamed": {"demo/tool.sh": None, "demo/sub/tool.sh": BASE["demo/tool.sh"] + b"exit\n"},
        "gone": {"demo/quiet.py": None},
        "unended": {"README.md": b"demo\nmore"},
    }
    bare.carry(series)
    said = bare.begin()
    assert said.code == 0 and set(said.outcomes.values()) == {"unchanged"}
    for id in series:
        assert bare.patch(id) == bare.patch(id, "v1.0")
    assert bare.applied("v1.1", "demo/sub/tool.sh") == BASE["demo/tool.sh"] + b"exit\n"


def test_a_file_that_upstream_moved(moved: Move) -> None:
    moved.carry({"shifted": SHIFTED}, "v1.0")
    said = moved.rebase("--to", "v0.3.0")
    assert said.code == 0 and said.outcomes == {"shifted": "relocated"}
    (file,) = said.patch("shifted")["files"]
    assert (file["path"], file["onto"]) == ("demo/other.py", "demo/deeper/other.py")
    text = moved.patch("shifted", "v0.3.0")
    assert b"diff --git a/demo/deeper/other.py b/demo/deeper/other.py" in text and b"demo/other.py" not in text
    assert b" 1 file changed" not in text, "the diffstat named the old file"
    assert moved.applied("v0.3.0", "demo/deeper/other.py") == OTHER.replace(b"return 5\n", b"return 55\n")


@pytest.fixture
def moved(bare: Move) -> Move:
    world = bare.world
    if "v0.3.0" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        world.release("v0.3.0", {"demo/other.py": None, "demo/deeper/other.py": OTHER})
        git(world.upstream, "checkout", "-q", "main")
    return bare


def test_a_conflict_in_a_file_that_upstream_moved(moved: Move) -> None:
    world = moved.world
    if "v0.3.1" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v0.3.0")
        world.release("v0.3.1", {"demo/deeper/other.py": OTHER.replace(b"return 5\n", b"return 555\n")})
        git(world.upstream, "checkout", "-q", "main")
    moved.carry({"shifted": SHIFTED}, "v1.0")
    said = moved.rebase("--to", "v0.3.1")
    assert said.code == 3 and said.needed == ["shifted"]
    path = moved.conflict("shifted", "demo/deeper/other.py")
    folder = moved.project / ".patchctl/conflicts/shifted"
    assert git(folder, "show", ":1:demo/deeper/other.py").encode() == OTHER
    assert git(folder, "show", ":3:demo/deeper/other.py").encode() == SHIFTED["demo/other.py"]
    path.write_bytes(OTHER.replace(b"return 5\n", b"return 5555\n"))
    assert moved.rebase("--continue").code == 0
    assert moved.applied("v0.3.1", "demo/deeper/other.py") == OTHER.replace(b"return 5\n", b"return 5555\n")


# -- conflicts without markers


def test_a_binary_in_conflict(bare: Move) -> None:
    bare.carry({"binary": BINARY})
    said = bare.begin()
    assert said.needed == ["binary"]
    path = bare.conflict("binary", "demo/table.bin")
    folder = bare.project / ".patchctl/conflicts/binary"
    assert git(folder, "status", "--porcelain") == "UU demo/table.bin\n"
    assert path.read_bytes() == NEXT["demo/table.bin"], "upstream's version stands there"
    assert bare.rebase("--continue").kinds == ["undecided"]
    path.write_bytes(b"\0 by hand")
    assert bare.rebase("--continue").code == 0
    assert bare.applied("v1.1", "demo/table.bin") == b"\0 by hand"


def test_a_binary_kept(bare: Move) -> None:
    bare.carry({"binary": BINARY})
    bare.begin()
    assert bare.rebase("--keep", "binary").code == 0
    assert bare.applied("v1.1", "demo/table.bin") == BINARY["demo/table.bin"]


def test_a_file_that_upstream_deleted(bare: Move) -> None:
    bare.carry({"deleted": DELETED, "fresh": FRESH})
    said = bare.begin()
    assert said.needed == ["deleted"]
    folder = bare.project / ".patchctl/conflicts/deleted"
    assert git(folder, "status", "--porcelain") == "DU demo/gone.py\n"
    text = (folder / "demo/gone.py").read_bytes()
    assert text.startswith(b"<<<<<<< v1.1\n||||||| v1.0\n") and b"GONE_4 = 44\n" in text
    assert bare.rebase("--continue").kinds == ["markers"]
    (folder / "demo/gone.py").unlink()
    said = bare.rebase("--continue")
    assert said.kinds == ["empty"] and "--drop deleted" in said.document["error"]["next"]
    said = bare.rebase("--drop", "deleted", "--reason", "upstream has no such file any more")
    assert said.code == 0 and bare.series["targets"]["v1.1"]["patches"] == ["fresh"]


def test_a_file_that_upstream_deleted_is_kept(bare: Move) -> None:
    bare.carry({"deleted": DELETED})
    bare.begin()
    said = bare.rebase("--keep", "deleted")
    assert said.code == 0, said.document
    assert b"new file mode 100644" in bare.patch("deleted")
    assert bare.applied("v1.1", "demo/gone.py") == DELETED["demo/gone.py"]


def test_an_answer_in_another_file(bare: Move) -> None:
    """The code has gone elsewhere: the answer is an edit of a file that the patch did not name."""
    bare.carry({"deleted": DELETED})
    bare.begin()
    folder = bare.project / ".patchctl/conflicts/deleted"
    (folder / "demo/gone.py").unlink()
    put = folder / "demo/quiet.py"
    put.write_bytes(BASE["demo/quiet.py"] + b"GONE_4 = 44\n")
    said = bare.rebase("--continue")
    assert said.code == 3 and said.kinds == ["stray"] and "git -C" in said.document["error"]["next"]
    git(folder, "add", "demo/quiet.py")
    said = bare.rebase("--continue")
    assert said.code == 0, said.document
    assert bare.applied("v1.1", "demo/quiet.py") == BASE["demo/quiet.py"] + b"GONE_4 = 44\n"


def test_a_mode_of_a_resolved_file(bare: Move) -> None:
    bare.carry({"clash": {"demo/core.py": CORE.replace(b"return 3\n", b"return 300\n")}})
    bare.begin()
    path = bare.conflict("clash")
    path.write_bytes((NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n"))
    path.chmod(0o755)
    assert bare.rebase("--continue").code == 0
    assert b"old mode 100644\nnew mode 100755\n" in bare.patch("clash")


def test_git_never_sees_the_state(bare: Move) -> None:
    bare.carry({"deleted": DELETED})
    git(bare.project, "init", "-q")
    git(bare.project, "add", "-A")
    git(bare.project, "commit", "-q", "-m", "all")
    bare.begin()
    assert git(bare.project, "status", "--porcelain", "--untracked-files=all") == ""
    git(bare.project, "add", "-A")
    assert ".patchctl" not in git(bare.project, "ls-files")
    assert Path(bare.project / ".patchctl/.gitignore").exists()


def test_a_file_in_a_folder_that_has_moved_away(bare: Move) -> None:
    world = bare.world
    if "v0.6" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        configs = {f"demo/configs/{n}.json": b'{"n": %d, "more": "text to know it by"}\n' % n for n in range(6)}
        world.release("v0.6", configs)
        moved = {name.replace("demo/configs", "demo/runner/configs"): data for name, data in configs.items()}
        world.release("v0.7", {**dict.fromkeys(configs), **moved})
        git(world.upstream, "checkout", "-q", "main")
    bare.carry({"config": {"demo/configs/mine.json": b'{"mine": 1}\n'}}, "v0.6")
    said = bare.rebase("--to", "v0.7")
    assert said.code == 3 and said.kinds == ["folder-moved"]
    assert [note["kind"] for note in said.patch("config")["review"]] == ["folder-moved"]
    assert "--accept config" in said.document["error"]["next"]
    assert bare.rebase("--keep", "config").kinds == ["folder-moved"], "to keep is no way round a guard"
    said = bare.rebase("--accept", "config", "--reason", "a variable says where they are")
    assert said.code == 0, said.document
    (patch,) = bare.lock["v0.7"]["patches"]
    assert {review["kind"] for review in patch["reviews"]} == {"folder-moved"}
    assert bare.applied("v0.7", "demo/configs/mine.json") == b'{"mine": 1}\n'


def test_a_new_file_next_to_a_folder_that_is_called_like_a_prefix(bare: Move) -> None:
    world = bare.world
    if "v0.9" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        world.release("v0.9", {"b/keep.txt": b"a folder\n", "demo/b/keep.txt": b"another\n"})
        git(world.upstream, "checkout", "-q", "main")
    bare.carry({"fresh": FRESH})
    relock(bare, "fresh", b"--- /dev/null\n+++ b/demo/fresh.py\n@@ -0,0 +1 @@\n+FRESH = 1\n")
    said = bare.rebase("--to", "v0.9")
    assert said.code == 0 and said.outcomes == {"fresh": "unchanged"}
    assert bare.applied("v0.9", "demo/fresh.py") == FRESH["demo/fresh.py"]


def test_what_only_a_guard_objects_to(bare: Move) -> None:
    """The merge is there, and a guard has something against it: to keep it must not throw upstream's changes away."""
    world = bare.world
    if "v0.91" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        world.release("v0.91", {"demo/core.py": b"import os\n\n\n" + CORE})
        world.release("v0.92", {"demo/core.py": b'"""No imports."""\n\n\n' + CORE})
        git(world.upstream, "checkout", "-q", "main")
    patched = b"import os\n\n\n" + CORE.replace(b"return 9\n", b"return os.sep\n")
    bare.carry({"sep": {"demo/core.py": patched}}, "v0.91")
    said = bare.rebase("--to", "v0.92")
    assert said.code == 3 and said.kinds == ["name-gone"]
    said = bare.rebase("--keep", "sep")
    assert said.code == 3 and said.kinds == ["name-gone"]
    assert bare.conflict("sep").read_bytes().startswith(b'"""No imports."""\n')
    said = bare.rebase("--accept", "sep", "--reason", "it is patched in elsewhere")
    assert said.code == 0, said.document
    assert bare.applied("v0.92", "demo/core.py") == b'"""No imports."""\n\n\n' + CORE.replace(
        b"return 9\n", b"return os.sep\n"
    )
    (patch,) = bare.lock["v0.92"]["patches"]
    assert [review["kind"] for review in patch["reviews"]] == ["name-gone"]
