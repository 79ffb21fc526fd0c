"""series.lock: the same bytes for the same value, and no trust in what does not add up."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.errors import Refused
from patchctl.series import lock
from patchctl.series.lock import Lock, LockedPatch, LockedTarget, Pin, Provenance, Review
from patchctl.series.receipt import Stamp, TouchedFile

A, B = Stamp("a" * 40, "100644"), Stamp("b" * 40, "100755")
PATCH = LockedPatch(
    "fix-a",
    "c" * 64,
    (TouchedFile("a.py", A, B), TouchedFile("new\udcff.py", None, A), TouchedFile("old.py", B, None)),
    (Review("scope", "lands in another class", "a.py", "ada", "the class was split", "2026-12-01"),),
)
LOCK = Lock(
    {
        "v1.0": LockedTarget(Pin("sha256:" + "d" * 64, ("sha256:" + "e" * 64,), "f" * 40), (PATCH,)),
        "v0.9": LockedTarget(Pin(commit="0" * 40)),
    }
)


def test_the_text() -> None:
    text = lock.dumps(LOCK).decode("ascii")
    lines = text.split("\n")
    assert lines[0] == "{"
    assert lines[1] == ' "schema": "patchctl.lock/1",'
    assert text.index('"v0.9"') < text.index('"v1.0"')
    a, b = (
        '{"blob": "' + letter * 40 + '", "mode": "' + mode + '"}' for letter, mode in (("a", "100644"), ("b", "100755"))
    )
    assert [line for line in lines if '"path"' in line] == [
        '      {"path": "a.py", "before": ' + a + ', "after": ' + b + "},",
        '      {"path": "new\\udcff.py", "before": null, "after": ' + a + "},",
        '      {"path": "old.py", "before": ' + b + ', "after": null}',
    ]
    assert text.endswith("}\n")


@pytest.mark.parametrize("value", [LOCK, Lock(), Lock({"v1": LockedTarget()})])
def test_what_is_written_is_read_back(value: Lock) -> None:
    data = lock.dumps(value)
    assert lock.loads(data) == value
    assert lock.dumps(lock.loads(data)) == data
    assert json.loads(data)["schema"] == "patchctl.lock/1"


def test_the_digest_depends_on_every_part_and_on_nothing_else() -> None:
    target = LOCK.targets["v1.0"]
    assert target.digest() == lock.loads(lock.dumps(LOCK)).targets["v1.0"].digest()
    assert len(target.digest()) == 64
    others = [
        LockedTarget(Pin(), target.patches),
        LockedTarget(target.pin, ()),
        LockedTarget(target.pin, (LockedPatch("fix-a", "0" * 64, PATCH.files, PATCH.reviews),)),
        LockedTarget(target.pin, (LockedPatch("fix-a", "c" * 64, PATCH.files[:2], PATCH.reviews),)),
        LockedTarget(target.pin, (LockedPatch("fix-a", "c" * 64, PATCH.files),)),
    ]
    assert len({entry.digest() for entry in (target, *others)}) == len(others) + 1


def test_writing_is_by_rename_and_only_when_needed(tmp_path: Path) -> None:
    path = tmp_path / "series.lock"
    assert lock.read(path) is None
    assert lock.write(path, LOCK)
    before = path.stat()
    assert not lock.write(path, LOCK)
    assert path.stat().st_ino == before.st_ino
    assert lock.write(path, Lock())
    assert path.stat().st_ino != before.st_ino
    assert [entry.name for entry in tmp_path.iterdir()] == ["series.lock"]


TEXT = lock.dumps(LOCK).decode()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "not JSON"),
        ("[]", "no patchctl.lock/1 document"),
        ("{}", "no patchctl.lock/1 document"),
        ("\xff", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (TEXT.replace("lock/1", "lock/2"), "written by a newer patchctl"),
        (TEXT.replace("{\n", "{\n<<<<<<< HEAD\n", 1), "merge conflict"),
        (TEXT.replace('"targets"', '"goals"'), "'targets' is missing"),
        (TEXT.replace('"v0.9"', '"v1.0"'), "'v1.0' stands twice"),
        (TEXT.replace("c" * 64, "c" * 63), "sha256 of fix-a"),
        (TEXT.replace("b" * 40, "b" * 39), "no blob id"),
        (TEXT.replace("100755", "104755"), "no mode"),
        (TEXT.replace('"path": "a.py"', '"path": "old.py"'), "in fix-a, the file old.py stands twice"),
        (TEXT.replace('"files": [', '"files": "x", "more": ['), "a list is expected"),
        (TEXT.replace('"id": "fix-a"', '"id": 7'), "a text is expected"),
        (TEXT.replace('"sha256"', '"sha255"'), "'sha256' is missing"),
    ],
)
def test_what_cannot_be_relied_on(data: str, why: str) -> None:
    with pytest.raises(Refused, match=why) as caught:
        lock.loads(data.encode("latin-1"))
    assert caught.value.problems[0].kind == "integrity"


@given(at=st.integers(0, len(TEXT) - 1), junk=st.text(max_size=3), cut=st.integers(0, 30))
def test_a_damaged_lock_is_refused_or_read(at: int, junk: str, cut: int) -> None:
    with contextlib.suppress(Refused):
        lock.loads((TEXT[:at] + junk + TEXT[at + cut :]).encode("utf-8", "surrogatepass"))


def test_where_a_patch_came_from_stands_only_where_it_is_known() -> None:
    moved = LockedPatch("moved", "1" * 64, (TouchedFile("a.py", None, A),), provenance=Provenance("v1", "relocated"))
    made = LockedPatch("made", "2" * 64, (TouchedFile("b.py", None, A),))
    whole = Lock({"v2": LockedTarget(Pin(), (moved, made))})
    text = lock.dumps(whole)
    known = b'"provenance": {"from": "v1", "outcome": "relocated"}'
    assert lock.loads(text) == whole and text.count(b'"provenance"') == text.count(known) == 1
    for wrong in (b'"provenance": {"from": "v1"}', b'"provenance": "v1"', b'"provenance": {"from": 1, "outcome": "x"}'):
        with pytest.raises(Refused):
            lock.loads(text.replace(known, wrong))
    bare = LockedTarget(Pin(), (made,))
    assert "provenance" not in json.dumps(json.loads(lock.dumps(Lock({"v2": bare})))), "digests stay what they were"
