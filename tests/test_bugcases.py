"""The public corpus of ugly inputs, through ``patchctl port``; see bugcases.md in the shared folder.

Its licence keeps it out of this repository, so the tests skip where ``../shared`` is absent.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.porting import port, snapshot

SHARED = Path(__file__).parent.parent.parent / "shared"
ARCHIVE = SHARED / "bugcases.tar.gz"
CODES = {"ok": 0, "conflict": 3, "refuse": 5}

pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="../shared/bugcases.tar.gz is not here")


def load() -> list[dict[str, Any]]:
    if not ARCHIVE.exists():
        return []
    with tarfile.open(ARCHIVE) as archive:
        member = next(name for name in archive.getnames() if name.endswith("index.json"))
        index = archive.extractfile(member)
        assert index is not None
        return [case for case in json.load(index) if case["plain"]]


CASES = load()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("bugcases")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root)  # links in it point outside on purpose; nothing here follows them
    return next(root.rglob("index.json")).parent


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_bugcase(case: dict[str, Any], corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # Deep down, so that what climbs out of the tree is found next to it.
    deep = tmp_path / "deep"
    root = deep / "er" / case["id"]
    shutil.copytree(corpus / case["id"], root, symlinks=True)
    tree, out = root / "tree", root / "out"
    tree.mkdir(exist_ok=True)
    before, around = snapshot(tree), snapshot(deep)
    base = ["--base", root / "base"] if (root / "base").is_dir() else []
    done = port(capfd, *(root / name for name in case["patches"]), "--onto", tree, "--output", out, *base)
    written = snapshot(out)
    left = {name: state for name, state in snapshot(deep).items() if f"{case['id']}/out/" not in name}
    assert left == around, "something was written beside --output"

    want, goal = CODES[case["expected_exit"]], root / "expected"
    if want == 3 and done.code == 0 and (root / "resolved").is_dir():
        want, goal = 0, root / "resolved"  # a merge that reaches exactly this tree is right too
    assert done.code == want, done.words
    if done.code == 5:
        assert not written
    if done.code == 3 and len(case["patches"]) == 1 and written:
        assert any(b"<<<<<<<" in data for _, data in written.values())
    said = done.words.lower()
    for word in case.get("must_report") or []:
        assert str(word).lower() in said
    if done.code == 0:
        result = {name: state for name, state in before.items() if name not in done.document["deleted"]}
        assert {**result, **written} == snapshot(goal)
