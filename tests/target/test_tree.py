"""Unpacked trees: finding their mapping, writing, and going back without a trace."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchctl.engine.model import EXECUTABLE, LINK, FileState
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.target.layout import Shape
from patchctl.target.tree import Tree, open_tree

from . import receipts

SHAPE = Shape("tiny", "tiny", "python/", {"python/tiny/": "tiny/"})
BEFORE = {
    "python/tiny/mod.py": FileState(b"VALUE = 1\n"),
    "python/tiny/run.sh": FileState(b"#!/bin/sh\n", EXECUTABLE),
    "python/tiny/gone.py": FileState(b"gone\n"),
    "python/tiny/link": FileState(b"mod.py", LINK),
    "python/tiny/deep/new.py": None,
}
AFTER = {
    "python/tiny/mod.py": FileState(b"VALUE = 2\n"),
    "python/tiny/run.sh": FileState(b"#!/bin/sh\n"),
    "python/tiny/gone.py": None,
    "python/tiny/link": FileState(b"run.sh", LINK),
    "python/tiny/deep/new.py": FileState(b"new\n", EXECUTABLE),
}


@pytest.fixture(params=["python/", ""], ids=["repository", "archive"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    root = tmp_path / "tree"
    for path, state in BEFORE.items():
        if state is None:
            continue
        file = root / (request.param + path.removeprefix("python/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        if state.mode == LINK:
            file.symlink_to(os.fsdecode(state.data))
        else:
            file.write_bytes(state.data)
            file.chmod(0o755 if state.mode == EXECUTABLE else 0o644)
    (root / "pyproject.toml").write_text("[project]\n")
    return root


def picture(root: Path) -> dict[str, tuple[object, ...]]:
    return {
        str(path.relative_to(root)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.is_dir() or (str(path.readlink()) if path.is_symlink() else path.read_bytes()),
        )
        for path in sorted(root.rglob("*"))
    }


def opened(root: Path) -> Tree:
    return open_tree(root, SHAPE, BEFORE)


def apply(root: Path) -> None:
    place = opened(root)
    with place.locked():
        place.write(receipts.plan(place, BEFORE, AFTER))


def test_forth_and_back(root: Path) -> None:
    (root / "tiny/gone.py" if (root / "tiny").exists() else root / "python/tiny/gone.py").chmod(0o664)
    before = picture(root)
    apply(root)
    place = opened(root)
    assert {path: place.read(path) for path in AFTER} == AFTER
    found = place.receipt()
    assert found is not None
    assert found.layout == place.layout
    assert sorted(path.name for path in (root / ".patchctl").iterdir()) == ["receipt.json"]
    place.write(receipts.back(place, BEFORE))
    assert picture(root) == before


def test_python_sees_the_change_within_a_second(root: Path) -> None:
    folder = root / "python" if (root / "python").exists() else root

    def value() -> str:
        command = [sys.executable, "-c", "import tiny.mod as m; print(m.VALUE)"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    for _ in range(2):
        assert value() == "1"
        apply(root)
        assert value() == "2"
        place = opened(root)
        place.write(receipts.back(place, BEFORE))
    assert value() == "1"
    assert importlib.util.cache_from_source("x")


def test_what_is_in_the_way(root: Path, tmp_path: Path) -> None:
    place = opened(root)
    assert place.in_the_way(BEFORE) == ()
    base = root / "python/tiny" if (root / "python").exists() else root / "tiny"
    (base / "mod.py").write_text("edited\n")
    (base / "run.sh").chmod(0o644)
    (base / "gone.py").unlink()
    (base / "gone.py").symlink_to("mod.py")
    (base / "deep/new.py").mkdir(parents=True)
    (base / "deep/new.py/file").write_text("in it\n")
    problems = {problem.file: problem.kind for problem in place.in_the_way(BEFORE)}
    prefix = base.relative_to(root)
    assert problems == {
        f"{prefix}/mod.py": "changed",
        f"{prefix}/run.sh": "changed",
        f"{prefix}/gone.py": "changed",
        f"{prefix}/deep/new.py": "in-the-way",
    }


def test_a_link_on_the_way(root: Path, tmp_path: Path) -> None:
    base = root / "python/tiny" if (root / "python").exists() else root / "tiny"
    base.rename(tmp_path / "outside")
    base.symlink_to(tmp_path / "outside")
    with pytest.raises(Refused) as refused:
        opened(root)
    assert refused.value.problems[0].kind == "link-in-path"


def test_a_file_where_a_folder_is_needed(root: Path) -> None:
    base = root / "python/tiny" if (root / "python").exists() else root / "tiny"
    (base / "deep").write_text("a file\n")
    assert [problem.kind for problem in opened(root).in_the_way(BEFORE)] == ["in-the-way"]
    with pytest.raises(Refused):
        apply(root)


def test_patchctls_own_folder_is_taboo(root: Path) -> None:
    place = Tree(root, {"": ""})
    with pytest.raises(Refused):
        place.read(".patchctl/receipt.json")


class TestMapping:
    def test_an_installed_copy_without_metadata(self, tmp_path: Path) -> None:
        (tmp_path / "tiny").mkdir()
        (tmp_path / "tiny/mod.py").write_text("x\n")
        place = open_tree(tmp_path, SHAPE, ["python/tiny/mod.py"])
        assert place.local("python/tiny/mod.py") == "tiny/mod.py"
        assert place.local("README.md") is None
        assert not place.carries_modes

    def test_only_new_files(self, tmp_path: Path) -> None:
        (tmp_path / "tiny").mkdir()
        (tmp_path / "setup.py").touch()
        assert open_tree(tmp_path, SHAPE, ["python/tiny/new.py"]).local("python/x") == "x"

    def test_none_fits(self, tmp_path: Path) -> None:
        with pytest.raises(Refused) as refused:
            open_tree(tmp_path, SHAPE, ["python/tiny/mod.py"])
        assert "tiny/mod.py" in refused.value.problems[0].message
        assert refused.value.problems[0].kind == "not-the-upstream"

    def test_two_fit(self, tmp_path: Path) -> None:
        for name in ("python/tiny/mod.py", "tiny/mod.py"):
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).touch()
        with pytest.raises(Refused) as refused:
            open_tree(tmp_path, SHAPE, ["python/tiny/mod.py"])
        assert refused.value.problems[0].kind == "ambiguous-tree"

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentFailed):
            open_tree(tmp_path / "none", SHAPE, [])


def _hold(root: Path, ready: object, wait: float) -> None:
    with Tree(root, {"": ""}).locked():
        ready.set()  # type: ignore[attr-defined]
        time.sleep(wait)


def test_a_second_process_waits(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    child = context.Process(target=_hold, args=(tmp_path, ready, 0.5))
    child.start()
    assert ready.wait(5)
    began = time.monotonic()
    place = Tree(tmp_path, {"": ""})
    with place.locked(), place.locked():
        assert time.monotonic() - began > 0.2
    child.join()
    assert list(tmp_path.iterdir()) == []
