"""git's binary patches: literal and delta, both ways, damaged ones refused."""

from __future__ import annotations

import zlib
from base64 import b85encode
from pathlib import Path

import pytest

from patchctl.engine import binary, reader, strict
from patchctl.engine.model import FileState
from tests.engine.trees import applied, diff, git, misfits, refusal, result

OLD = bytes(range(256)) * 3
NEW = OLD[:300] + b"\0new\0" + OLD[300:]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.fixture
def delta(repo: Path) -> bytes:
    data = diff(repo, {"d.bin": FileState(OLD)}, {"d.bin": FileState(NEW)})
    assert data.count(b"\ndelta ") == 2
    return data


def block(kind: bytes, data: bytes) -> bytes:
    packed = zlib.compress(data)
    rows = [packed[at : at + 52] for at in range(0, len(packed), 52)]
    return b"%b %d\n" % (kind, len(data)) + b"".join(
        bytes([len(row) + 64 if len(row) < 27 else len(row) + 70]) + b85encode(row, pad=True) + b"\n" for row in rows
    ) + b"\n"  # fmt: skip


HEAD = b"diff --git a/d.bin b/d.bin\n"


def test_delta_and_back(delta: bytes) -> None:
    after = result(delta, {"d.bin": OLD})
    assert after == {"d.bin": FileState(NEW)}
    (patch,) = reader.read(delta, "p", 1)
    assert applied(strict.reverse_patch(patch), after) == {"d.bin": FileState(OLD)}


def test_creation_and_deletion(repo: Path) -> None:
    for before, after in (({}, {"d.bin": FileState(NEW)}), ({"d.bin": FileState(OLD)}, {})):
        (patch,) = reader.read(diff(repo, before, after), "p", 1)
        assert applied(patch, before) == after
        assert applied(strict.reverse_patch(patch), after) == before


def test_next_section_without_the_blank_line(delta: bytes) -> None:
    text = b"diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n"
    after = result(delta.rstrip(b"\n") + b"\n" + text, {"d.bin": OLD, "z": b"a\n"})
    assert (after["d.bin"].data, after["z"].data) == (NEW, b"b\n")


def test_crlf(delta: bytes) -> None:
    assert result(delta.replace(b"\n", b"\r\n"), {"d.bin": OLD})["d.bin"].data == NEW


def test_another_file_is_a_misfit(delta: bytes) -> None:
    assert misfits(delta, {"d.bin": OLD[:-1]})[0].file == "d.bin"
    assert misfits(delta, {"d.bin": OLD[:-1] + b"x"})
    assert misfits(delta, {})


def test_a_literal_needs_a_proof_of_what_it_replaces() -> None:
    literal = HEAD + b"GIT binary patch\n" + block(b"literal", NEW)
    assert "nothing in the binary patch proves" in misfits(literal, {"d.bin": OLD})[0].message
    assert result(literal + block(b"literal", OLD), {"d.bin": OLD})["d.bin"].data == NEW
    assert misfits(literal + block(b"literal", OLD), {"d.bin": OLD + b"x"})
    index = b"index %b..%b 100644\n" % (FileState(OLD).blob[:7].encode(), b"0123456")
    assert result(literal.replace(HEAD, HEAD + index), {"d.bin": OLD})["d.bin"].data == NEW


def test_a_wrong_result_is_a_misfit() -> None:
    index = b"index %b..%b 100644\n" % (FileState(OLD).blob.encode(), FileState(OLD).blob.encode())
    assert misfits(HEAD + index + b"GIT binary patch\n" + block(b"literal", NEW), {"d.bin": OLD})


def test_without_reverse_hunk_it_is_irreversible() -> None:
    index = b"index %b..%b 100644\n" % (FileState(OLD).blob.encode(), FileState(NEW).blob.encode())
    (patch,) = reader.read(HEAD + index + b"GIT binary patch\n" + block(b"literal", NEW), "p", 1)
    with pytest.raises(strict.Irreversible):
        strict.reverse_patch(patch)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"literal 3\n",
        b"literal 3\nKcmb\n\n",
        b"literal 9999999999\nHcmV?d00001\n\n",
        block(b"literal", b"abc").replace(b"literal 3", b"literal 4"),
        block(b"literal", b"abc").replace(b"literal 3", b"literal 2"),
        block(b"literal", b"abc")[:-1] + b"garbage\n",
        b"literal 3\nEabcde\n\n",
        b"literal 3\nEab~~~~~~~\n\n",
    ],
)
def test_damaged_blocks_are_refused(body: bytes) -> None:
    problem = refusal(HEAD + b"GIT binary patch\n" + body)[0]
    assert problem.kind in ("binary", "too-large")
    assert "d.bin" in problem.message


def test_a_bomb_is_refused() -> None:
    packed = block(b"literal", b"\0" * 1_000_000).replace(b"literal 1000000", b"literal 10")
    assert refusal(HEAD + b"GIT binary patch\n" + packed)[0].kind == "binary"


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\x03",
        b"\x03\x05\x01",
        b"\x03\x01\x00",
        b"\x03\x05\x90\x05",
        b"\x03\x05\x91\x01\x05",
        b"\x04\x01\x01a",
        b"\x03\x02\x01a",
        b"\x03\x01\x02ab",
        b"\xff" * 20,
        b"\x03" + b"\xff" * 5 + b"\x7f\x01a",
    ],
)
def test_bad_deltas(delta: bytes) -> None:
    with pytest.raises(binary.BadDelta):
        binary.apply_delta(b"abc", delta)


def test_delta_instructions() -> None:
    assert binary.apply_delta(b"abc", b"\x03\x05\x90\x02\x01-\x91\x01\x02") == b"ab-bc"
    base = bytes(70_000)
    assert binary.apply_delta(base, b"\xf0\xa2\x04\x80\x80\x04\x80") == base[:0x10000]
