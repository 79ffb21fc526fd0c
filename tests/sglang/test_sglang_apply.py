"""What patchctl makes of the series is what git makes of it, and it compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from engine_source import PROJECT, TAGS, Engine

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.mark.parametrize("tag", TAGS)
def test_git_am_gives_the_same_tree(engine_of, tag: str, tmp_path: Path) -> None:
    engine: Engine = engine_of(tag)
    tree = tmp_path / "tree"
    engine.git("worktree", "add", "-q", "--detach", str(tree), engine.base)
    try:
        mails = [str(PROJECT / "patches" / tag / f"{patch}.patch") for patch in engine.ids]
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *identity, "am", "-q", *mails], cwd=tree, check=True, capture_output=True)
        made = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=tree, check=True, capture_output=True, text=True)
    finally:
        engine.git("worktree", "remove", "--force", str(tree))
    assert made.stdout.strip() == engine.git("rev-parse", "HEAD^{tree}").strip()


@pytest.mark.skipif(shutil.which("quilt") is None, reason="quilt is not installed")
@pytest.mark.parametrize("tag", TAGS)
def test_quilt_pushes_it_without_fuzz_or_offset(engine_of, tag: str, tmp_path: Path) -> None:
    engine: Engine = engine_of(tag)
    for path in engine.touched():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(engine.git("show", f"{engine.base}:{path}"), encoding="utf-8", newline="")
    shutil.copytree(PROJECT / "patches" / tag, tmp_path / "patches")
    (tmp_path / "patches" / "series").write_text("".join(f"{patch}.patch\n" for patch in engine.ids), encoding="utf-8")
    push = ["quilt", "--quiltrc", "-", "push", "-a", "--fuzz=0"]
    done = subprocess.run(push, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "offset" not in done.stdout
    assert "fuzz" not in done.stdout
    for path in engine.touched():
        assert (tmp_path / path).read_text(encoding="utf-8") == engine.git("show", f"HEAD:{path}")


@pytest.mark.parametrize("tag", TAGS)
def test_touched_modules_compile(engine_of, tag: str) -> None:
    engine: Engine = engine_of(tag)
    for path in engine.touched():
        compile(engine.git("show", f"HEAD:{path}"), path, "exec")
