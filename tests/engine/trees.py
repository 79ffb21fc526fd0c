"""Small trees, and real git to make and apply diffs of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from patchctl.engine import reader, strict
from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState, Patch
from patchctl.errors import PatchctlError, Problem, Refused

Tree = dict[str, FileState]

_ENV = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
    **{f"GIT_{who}_{what}": "case@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(cwd: Path, *args: str, data: bytes | None = None, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    env = {**_ENV, "GIT_CEILING_DIRECTORIES": str(cwd.parent)}
    return subprocess.run(["git", *args], cwd=cwd, env=env, input=data, capture_output=True, check=check)


def write(root: Path, tree: Mapping[str, FileState]) -> None:
    for name, state in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if state.mode == LINK:
            path.symlink_to(os.fsdecode(state.data))
        else:
            path.write_bytes(state.data)
            path.chmod(0o755 if state.mode == EXECUTABLE else 0o644)


def clear(root: Path) -> None:
    for entry in root.iterdir():
        if entry.name == ".git":
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def snapshot(root: Path) -> Tree:
    found: Tree = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] == ".git":
            continue
        if path.is_symlink():
            found[name] = FileState(os.fsencode(path.readlink()), LINK)
        elif path.is_file():
            found[name] = FileState(path.read_bytes(), EXECUTABLE if path.stat().st_mode & 0o100 else REGULAR)
    return found


def diff(repo: Path, before: Tree, after: Tree, *options: str) -> bytes:
    """What ``git diff`` says about two trees."""
    ids = []
    for tree in (before, after):
        clear(repo)
        write(repo, tree)
        git(repo, "add", "--all", "--force")
        ids.append(git(repo, "write-tree").stdout.decode().strip())
    return git(repo, "diff", "--binary", *options, *ids).stdout


def applied(patch: Patch, before: Tree) -> Tree:
    """The tree after ``patch``. Raises what the strict engine raises."""
    after = dict(before)
    for path, state in strict.apply_patch(patch, before.get).items():
        if state is None:
            after.pop(path, None)
        else:
            after[path] = state
    return after


def result(data: bytes, before: Mapping[str, bytes | FileState], strip: int = 1) -> Tree:
    """The tree after all patches in ``data``."""
    tree = states(before)
    for patch in reader.read(data, "p.patch", strip):
        tree = applied(patch, tree)
    return tree


def states(files: Mapping[str, bytes | FileState]) -> Tree:
    return {name: FileState(data) if isinstance(data, bytes) else data for name, data in files.items()}


def refusal(data: bytes, strip: int | None = None) -> tuple[Problem, ...]:
    """The problems for which ``data`` is refused; fails when it isn't."""
    try:
        patches = reader.read(data, "p.patch", strip)
    except Refused as refused:
        assert all(problem.patch is not None for problem in refused.problems)
        return refused.problems
    raise AssertionError(f"not refused: {patches}")


def misfits(data: bytes, before: Mapping[str, bytes | FileState], strip: int = 1) -> tuple[Problem, ...]:
    """The problems with which ``data`` does not fit; fails when it does."""
    try:
        tree = result(data, before, strip)
    except PatchctlError as error:
        assert error.exit_code == 3, error
        return error.problems
    raise AssertionError(f"it fits: {tree}")
