"""Whatever ``git diff`` says of two trees, ``port`` makes of the first one the second; and its own diff does, too."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from patchctl.workflows.port import Request, port
from tests.porting import snapshot

Tree = dict[str, tuple[str, bytes]]

NAMES = ["a", "b", "d/a", "d/b", "d/e/f", "x y/z", "café", "w.py", "run"]
KINDS = {"file": "executable", "executable": "file", "link": "file"}
OPTIONS = [
    [],
    ["-M"],
    ["-C", "--find-copies-harder"],
    ["-B", "-M"],
    ["--full-index", "--no-renames"],
    ["-U0"],
    ["-U10"],
]
WORDS = [b"a", b"b", b"\r", b"x = 1", b"x = 2", b"", b"\x0c", b"\xe2\x80\xa8", b"-- "]


def content(rng: random.Random) -> bytes:
    if rng.random() < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(300)))
    text = b"\n".join(rng.choice(WORDS) for _ in range(rng.randrange(30)))
    return text + b"\n" if rng.random() < 0.8 else text


def free(name: str, tree: Tree) -> bool:
    return not any(other == name or other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in tree)


def changed(rng: random.Random, tree: Tree) -> Tree:
    """``tree`` after a few random steps: create, delete, rename, change of mode, edit."""
    tree = dict(tree)
    for _ in range(rng.randrange(1, 5)):
        step, fresh = rng.random(), rng.choice(NAMES)
        if not tree or step < 0.25:
            if free(fresh, tree):
                tree[fresh] = (rng.choice(["file", "file", "executable", "link"]), content(rng))
            continue
        name = rng.choice(sorted(tree))
        kind, data = tree.pop(name)
        if step < 0.4:
            continue
        if step < 0.6:
            name = fresh if free(fresh, tree) else name
        elif step < 0.7:
            kind = KINDS[kind]
        else:
            lines = data.split(b"\n")
            at = rng.randrange(len(lines))
            lines[at : at + rng.randrange(2)] = [b"new %d" % rng.randrange(5)]
            data = b"\n".join(lines)
        tree[name] = (kind, data)
    return {name: (kind, b"a" if kind == "link" else data) for name, (kind, data) in tree.items()}


def lay_out(root: Path, tree: Tree) -> None:
    root.mkdir(exist_ok=True)
    for name, (kind, data) in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(os.fsdecode(data))
        else:
            path.write_bytes(data)
            path.chmod(0o755 if kind == "executable" else 0o644)


def git(root: Path, *args: str, data: bytes | None = None) -> bytes:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env["GIT_CEILING_DIRECTORIES"] = str(root.parent)
    command = ["git", "-c", "core.autocrlf=false", *args]
    return subprocess.run(command, cwd=root, env=env, input=data, capture_output=True, check=True).stdout


def git_diff(root: Path, before: Tree, after: Tree, options: list[str]) -> bytes:
    root.mkdir()
    git(root, "init", "-q")
    ids = []
    for tree in (before, after):
        work = root / str(len(ids))
        lay_out(work, tree)
        git(root, f"--work-tree={work}", "add", "-A", ".")
        ids.append(git(root, "write-tree").decode().strip())
    return git(root, "diff", "--binary", *options, *ids)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("with_base", [False, True])
def test_git_diff_and_port(seed: int, with_base: bool, tmp_path: Path) -> None:
    rng = random.Random(seed)
    before = changed(rng, changed(rng, {}))
    after = changed(rng, before)
    made = git_diff(tmp_path / "git", before, after, rng.choice(OPTIONS))
    if not made:
        return
    (tmp_path / "p.patch").write_bytes(made)
    onto, out = tmp_path / "onto", tmp_path / "out"
    lay_out(onto, before)
    base = onto if with_base else None
    report = port(Request(["p.patch"], onto, tmp_path, base, out))
    assert report.exit_code == 0, report.problems
    result = {name: state for name, state in snapshot(onto).items() if name not in report.deleted}
    assert {**result, **snapshot(out)} == after

    diff = port(Request(["p.patch"], onto, tmp_path, base)).diff
    assert diff is not None
    assert snapshot(onto) == before
    git(onto, "apply", "--whitespace=nowarn", "-", data=diff)
    assert snapshot(onto) == after
