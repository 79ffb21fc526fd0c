"""The folders in tests/cases, each a port and what must come of it; see tests/cases/README.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.porting import Run, port, snapshot

ROOT = Path(__file__).parent / "cases"
CASES = sorted(path.parent for path in ROOT.glob("*/expect.json"))
KNOWN_BAD = sorted(path.parent for path in ROOT.glob("known_bad/*/expect.json"))


def run_case(case: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> tuple[Run, Path]:
    (tmp_path / "empty").mkdir()
    onto = case / "onto" if (case / "onto").is_dir() else tmp_path / "empty"
    before = snapshot(onto)
    base = ["--base", case / "base"] if (case / "base").is_dir() else []
    patches = sorted([*case.glob("*.patch"), *case.glob("*.diff")])
    done = port(capfd, *patches, "--onto", onto, "--output", tmp_path / "out", *base)
    assert snapshot(onto) == before, "the input tree was changed"
    return done, tmp_path / "out"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expect = json.loads((case / "expect.json").read_text())
    done, out = run_case(case, tmp_path, capfd)
    assert done.code == expect["exit"], done.words
    assert done.document["ok"] == (done.code == 0)
    if "outcomes" in expect:
        assert done.outcomes == expect["outcomes"], done.words
    for word in expect.get("says", []):
        assert word in done.words
    kinds = {note["kind"] for patch in done.document["patches"] for note in patch["review"]}
    assert kinds == set(expect.get("review", []))
    if done.code == 0:
        assert snapshot(out) == snapshot(case / "expected")
        assert done.document["deleted"] == expect.get("deleted", [])
    if done.code == 5:
        assert snapshot(out) == {}
        assert done.document["written"] == done.document["deleted"] == []
    if "written" in expect:
        assert done.document["written"] == expect["written"]
    assert sorted(snapshot(out)) == done.document["written"]
    if done.code:
        assert done.document["error"]["kind"]
        assert done.document["error"]["message"].endswith(".") or done.document["error"]["message"].endswith(")")
        assert done.document["error"]["patch"]


@pytest.mark.parametrize("case", KNOWN_BAD, ids=lambda case: case.name)
def test_known_bad_is_no_lie(case: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is not solved ends in a conflict; one that is solved by now moves up into tests/cases."""
    done, out = run_case(case, tmp_path, capfd)
    assert done.code == 3, f"{case.name} is solved or wrong: {done.words}"
    assert all(b"<<<<<<<" in data for _, data in snapshot(out).values())


def test_the_folder_is_documented() -> None:
    assert CASES
    assert KNOWN_BAD
    assert "expect.json" in (ROOT / "README.md").read_text()
