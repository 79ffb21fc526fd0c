"""The diffs that port writes are git's own food."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState
from patchctl.engine.render import Change, diff, quoted

Tree = Mapping[str, FileState]


def lay_out(root: Path, tree: Tree) -> None:
    for name, state in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if state.mode == LINK:
            path.symlink_to(os.fsdecode(state.data))
        else:
            path.write_bytes(state.data)
            path.chmod(0o755 if state.mode == EXECUTABLE else 0o644)


def look(root: Path) -> dict[str, FileState]:
    found = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = FileState(os.fsencode(path.readlink()), LINK)
        elif path.is_file():
            found[name] = FileState(path.read_bytes(), EXECUTABLE if path.stat().st_mode & 0o100 else REGULAR)
    return found


def git_apply(root: Path, patch: bytes) -> None:
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        cwd=root, env=env, input=patch, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stderr, patch)


def check(tmp_path: Path, before: Tree, after: Tree, moved: Mapping[str, str] | None = None) -> bytes:
    moved = moved or {}
    paths = sorted((before.keys() | after.keys()) - set(moved.values()))
    changes = [Change(p, before.get(moved.get(p, p)), after.get(p), None, moved.get(p)) for p in paths]
    text = diff(changes)
    root = tmp_path / "tree"
    root.mkdir()
    lay_out(root, before)
    if text:
        git_apply(root, text)
    assert look(root) == dict(after)
    return text


def text(data: bytes, mode: int = REGULAR) -> FileState:
    return FileState(data, mode)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": text(b"1\n2\n3\n")}, {"a": text(b"1\nx\n3\n")}),
        ({"a": text(b"1\n2")}, {"a": text(b"1\n2\n")}),
        ({"a": text(b"1\n2\n")}, {"a": text(b"1\n2")}),
        ({"a": text(b"1")}, {"a": text(b"2")}),
        ({"a": text(b"")}, {"a": text(b"x\n")}),
        ({"a": text(b"x\n")}, {"a": text(b"")}),
        ({}, {"a b/c d": text(b"x\n"), "e": text(b"", EXECUTABLE)}),
        ({"a b/c d": text(b"x\n"), "e": text(b""), "keep": text(b"k\n")}, {"keep": text(b"k\n")}),
        ({"a": text(b"x\n")}, {"a": text(b"x\n", EXECUTABLE)}),
        ({"a": text(b"x\n", EXECUTABLE)}, {"a": text(b"y\n")}),
        ({"a": text(b"b", LINK)}, {"a": text(b"c", LINK)}),
        ({"a": text(b"b", LINK)}, {"a": text(b"c\n")}),
        ({"a": text(b"b\n")}, {"a": text(b"c", LINK)}),
        ({"a": text(b"\0\1" * 100)}, {"a": text(b"\0\2" * 90 + b"z")}),
        ({}, {"a": text(bytes(range(256)) * 40)}),
        ({"a": text(b"\0")}, {}),
        ({"a": text(b"\r\n\x0c\n\x85\n")}, {"a": text(b"\r\n\x0c\n\x85 \r\n")}),
        ({'q"uo\\te\té': text(b"1\n")}, {'q"uo\\te\té': text(b"2\n")}),
    ],
)
def test_git_applies_it(tmp_path: Path, before: Tree, after: Tree) -> None:
    check(tmp_path, before, after)


def test_a_rename_is_a_rename(tmp_path: Path) -> None:
    made = check(tmp_path, {"old": text(b"1\n2\n3\n")}, {"new": text(b"1\n2\nx\n", EXECUTABLE)}, {"new": "old"})
    assert b"rename from old\nrename to new\n" in made


def test_names() -> None:
    assert quoted("plain name") == b"plain name"
    assert quoted("caf\udce9") == b'"caf\\351"'
    assert quoted('a"b\\c\td') == b'"a\\"b\\\\c\\td"'


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"\\ x\n", b"-- \n", b"+++ y\n"]), max_size=30)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, LINES, st.booleans())
def test_any_edit(
    tmp_path_factory: pytest.TempPathFactory, head: list[bytes], old: list[bytes], new: list[bytes], cut: bool
) -> None:
    before = b"".join([*head, *old, *head])
    after = b"".join([*head, *new, *head])
    if cut:
        after = after[:-1]
    if before and after:
        check(tmp_path_factory.mktemp("r"), {"f": text(before)}, {"f": text(after)})
