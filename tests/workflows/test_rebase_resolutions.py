"""Remembered resolutions: replayed on the same conflict only, shown, guarded, and gone when their file is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from patchctl.series import resolutions
from patchctl.series.resolutions import Question, Resolution
from tests.moving import CLASH, FRESH, NEXT, RIVAL, Move

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")


def folder(move: Move) -> Path:
    return move.project / "patches/resolutions"


def files(move: Move) -> list[Path]:
    return sorted(folder(move).glob("*")) if folder(move).exists() else []


@pytest.fixture
def remembering(move: Move) -> Move:
    """A project whose conflict was resolved once, and that is back where it was but for the resolution."""
    series, lock = ((move.project / name).read_bytes() for name in ("series.yaml", "series.lock"))
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    said = move.rebase("--continue")
    assert said.code == 0 and any("resolutions" in name for name in said.document["written"])
    forget(move, series, lock)
    return move


def forget(move: Move, series: bytes, lock: bytes) -> None:
    (move.project / "series.yaml").write_bytes(series)
    (move.project / "series.lock").write_bytes(lock)
    for path in (move.project / "patches/v1.1").iterdir():
        path.unlink()


def test_the_file_is_text_that_can_be_reviewed(remembering: Move) -> None:
    (path,) = files(remembering)
    assert path.name.startswith("clash-") and path.suffix == ".resolution"
    text = path.read_text()
    for line in ("id: clash", "file: demo/core.py", "made: v1.0 -> v1.1", "     return 33", "     return 333"):
        assert line in text.splitlines(), text


def test_it_is_replayed_and_shown(remembering: Move) -> None:
    said = remembering.begin()
    assert said.code == 0 and said.outcomes["clash"] == "replayed" and said.outcomes["later"] != "waiting"
    (review,) = [note for note in said.patch("clash")["review"] if note["kind"] == "replayed"]
    assert review["file"] == "demo/core.py" and files(remembering)[0].name in review["text"]
    assert any(problem["kind"] == "replayed" for problem in said.document["warnings"])
    assert remembering.applied("v1.1", "demo/core.py") == RESOLVED.replace(b"return 10\n", b"return 1000\n")
    assert remembering.lock["v1.1"]["patches"][2]["provenance"]["outcome"] == "replayed"


def test_it_is_forgotten_with_its_file(remembering: Move) -> None:
    files(remembering)[0].unlink()
    assert remembering.begin().needed == ["clash"]


def test_a_replay_can_be_taken_back_on_the_way(bare: Move, remembering: Move) -> None:
    other = CLASH["demo/core.py"].replace(b"return 7\n", b"return 700\n")
    data = remembering.world.made("second", CLASH, {"demo/core.py": other})
    (remembering.project / "patches/v1.0/second.patch").write_bytes(data)
    remembering.write({"clash": None, "second": None})
    assert remembering.run("lock").code == 0
    said = remembering.begin()
    assert said.outcomes == {"clash": "replayed", "second": "conflict"}
    files(remembering)[0].unlink()
    assert remembering.rebase("--continue").outcomes == {"clash": "conflict", "second": "waiting"}


def test_another_conflict_is_not_answered(remembering: Move) -> None:
    other = {"demo/core.py": CLASH["demo/core.py"].replace(b"return 300\n", b"return 301\n")}
    data = remembering.world.made("clash", {}, other)
    (remembering.project / "patches/v1.0/clash.patch").write_bytes(data)
    remembering.write({"clash": None})
    assert remembering.run("lock").code == 0
    assert remembering.begin().needed == ["clash"]


def test_another_patch_is_not_answered(remembering: Move) -> None:
    (remembering.project / "patches/v1.0/clash.patch").rename(remembering.project / "patches/v1.0/other.patch")
    remembering.write({"other": None})
    assert remembering.run("lock").code == 0
    assert remembering.begin().needed == ["other"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"     return 33\n", b"     return 34\n"),
        (b"id: clash", b"id: other"),
        (b"patchctl resolution 1\n", b"patchctl resolution 2\n"),
        (b"resolved:\n", b"resolved:\n <<<<<<< v1.1\n"),
        (b"base:\n", b""),
    ],
)
def test_one_that_was_tampered_with_is_not_used(remembering: Move, old: bytes, new: bytes) -> None:
    (path,) = files(remembering)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    said = remembering.begin()
    assert said.code == 3 and said.outcomes["clash"] == "conflict"
    assert "resolution" in said.kinds


def test_a_link_out_of_the_project_is_not_read(remembering: Move, tmp_path: Path) -> None:
    (path,) = files(remembering)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert remembering.begin().outcomes["clash"] == "conflict"


def test_an_answer_that_a_person_edited_counts_and_is_guarded(remembering: Move) -> None:
    (path,) = files(remembering)
    good = path.read_bytes()
    path.write_bytes(good.replace(b"     return 333\n", b"     return 334\n"))
    said = remembering.begin("--dry-run")
    assert said.outcomes["clash"] == "replayed"
    path.write_bytes(good.replace(b"     return 333\n", b"     return nowhere(\n"))
    said = remembering.begin("--dry-run")
    assert said.outcomes["clash"] == "conflict" and "resolution" in said.kinds


def test_edits_beside_the_conflict_are_not_remembered(bare: Move) -> None:
    bare.carry({"clash": CLASH, "fresh": FRESH})
    bare.begin()
    bare.conflict("clash").write_bytes(RESOLVED.replace(b"return 11\n", b"return 1111\n"))
    assert bare.rebase("--continue").code == 0
    assert files(bare) == []


def test_what_was_kept_or_accepted_is_not_remembered(bare: Move) -> None:
    bare.carry({"clash": CLASH})
    bare.begin()
    assert bare.rebase("--keep", "clash").code == 0
    assert files(bare) == []


def test_any_bytes_come_back() -> None:
    sides = ((b"a\n", b"\xff\r\n", b"last"), (), (b" indented\n", b"onto:\n", b"\\ no line end\n"))
    one = Resolution("p", Question(*sides), (b"x",), "a b/\udcff.py", "v1 -> v2")
    assert resolutions.loads(resolutions.dumps(one)) == one
    assert one.name == f"p-{one.question.key[:12]}.resolution"
    for wrong in (b"", b"x\n", resolutions.dumps(one)[:40], resolutions.dumps(one) + b"onto:\n"):
        with pytest.raises(ValueError):
            resolutions.loads(wrong)


def test_one_that_leaves_nothing_of_the_patch_is_not_used(remembering: Move) -> None:
    (path,) = files(remembering)
    path.write_text(path.read_text().replace("     return 333\n", "     return 33\n"))
    said = remembering.begin()
    assert said.code == 3 and said.needed == ["clash"] and "resolution" in said.kinds
    assert remembering.rebase("--drop", "clash", "--reason", "upstream has it").code == 0


def test_skip_where_a_memory_has_answered_meanwhile(move: Move, remembering: Move) -> None:
    (path,) = files(remembering)
    aside = remembering.project / "aside"
    path.rename(aside)
    assert move.begin().needed == ["clash"]
    aside.rename(path)
    said = move.rebase("--skip")
    assert said.code == 2 and said.kinds == ["not-in-conflict"]
    assert move.rebase("--continue").outcomes["clash"] == "replayed"


def test_one_that_uses_a_name_which_goes_with_another_patch_is_not_used(bare: Move) -> None:
    helper = {"demo/quiet.py": b"A = 1\nB = 2\nC = 3\nHELP = 4\n"}
    user = {"demo/core.py": b"from demo.quiet import HELP\n" + CLASH["demo/core.py"]}
    bare.carry({"helper": helper, "clash": user, "model": RIVAL})
    series, lock = ((bare.project / name).read_bytes() for name in ("series.yaml", "series.lock"))
    bare.begin()
    text = bare.conflict("clash").read_bytes()
    sides = re.compile(rb"(?s)<<<<<<< .*?\n=======\n(.*?)>>>>>>> [^\n]*\n")
    bare.conflict("clash").write_bytes(sides.sub(rb"\1", text))
    bare.rebase("--continue")
    assert bare.rebase("--keep", "model").code == 0 and files(bare)
    forget(bare, series, lock)
    assert bare.begin().outcomes["clash"] == "replayed"
    said = bare.rebase("--drop", "helper", "--reason", "no")
    assert said.outcomes["clash"] == "conflict" and "resolution" in said.kinds
