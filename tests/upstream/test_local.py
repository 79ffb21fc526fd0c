"""Releases from this machine: a clone, an unpacked release, an archive."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, InvalidInput, Refused
from patchctl.series import project as projects
from patchctl.upstream.pristine import open_tree
from tests.upstream import releases
from tests.upstream.common import SOURCES, UNPINNED, pins, project


def test_a_clone(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    it = project(tmp_path, f"commit: {commit}", git="https://localhost:1/demo.git")
    assert open_tree(it, None, str(upstream)).source == "git"
    assert open_tree(it, None).commit == commit, "what is proved is kept"


def test_a_clone_without_tags_has_the_pinned_commit(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    releases.git(upstream, "tag", "-d", "v1.0")
    assert open_tree(project(tmp_path, f"commit: {commit}", git="../nowhere"), None, str(upstream)).commit == commit


def test_a_shallow_clone(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    releases.git(tmp_path, "clone", "-q", "--depth=1", "--branch=v1.0", upstream.as_uri(), "clone")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    it = project(tmp_path, f"commit: {commit}", git="../nowhere")
    assert set(open_tree(it, None, str(tmp_path / "clone")).names()) == {*SOURCES, "README"}


def test_what_nothing_proves_is_used_once(tmp_path: Path, dist: Path) -> None:
    it = project(tmp_path, pins(dist), git="../nowhere")
    upstream = releases.repository(tmp_path / "upstream")
    tree = releases.unpacked(tmp_path / "tree")
    for path in (upstream, tree):
        assert open_tree(it, None, str(path)).fresh
        with pytest.raises(EnvironmentFailed):
            open_tree(it, None)
    assert open_tree(it, None, str(tree), fill=True).fresh
    assert open_tree(it, None).source == "path"


SHAPES = ["sdist", "repository", "site"]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unpacked_tree(tmp_path: Path, dist: Path, shape: str) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    top = releases.unpacked(
        tmp_path / "top", below="python" if shape == "repository" else "", generated=shape != "repository"
    )
    if shape == "site":
        for name in ("pyproject.toml", "PKG-INFO", "setup.cfg", "README.md"):
            (top / name).unlink()
        (top / "other").mkdir()
        (top / "other" / "not_ours.py").write_text("")
    (top / ".git").mkdir()
    (top / ".git" / "config").write_text("")
    shutil.rmtree(top / ".git")
    cached = top / ("python/demo" if shape == "repository" else "demo") / "__pycache__"
    cached.mkdir()
    (cached / "core.cpython-311.pyc").write_bytes(b"")
    tree = open_tree(it, None, str(top))
    expected = {name for name in SOURCES if shape != "site" or name.startswith("python/demo/")}
    assert set(tree.names()) == expected
    assert tree.modes is (shape != "site")
    assert tree.commit == open_tree(it, None, str(top)).commit


def test_an_archive_file(tmp_path: Path, dist: Path) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    assert open_tree(it, None, str(dist / "demo-1.0.tar.gz")).source == "pypi"
    kept = open_tree(it, None)
    assert kept.archive == "demo-1.0.tar.gz"
    assert open_tree(it, None, str(dist / "demo-1.0-py3-none-any.whl")).modes is False
    assert open_tree(it, None).commit == kept.commit, "a wheel that was named once does not take the place"
    (tmp_path / "other").mkdir()
    with pytest.raises(Refused):
        open_tree(it, None, str(releases.sdist(tmp_path / "other", change={"x": (0o644, b"")})))


def test_a_patched_tree_is_not_pristine(tmp_path: Path, dist: Path) -> None:
    tree = releases.unpacked(tmp_path / "tree")
    (tree / ".patchctl").mkdir()
    (tree / ".patchctl" / "receipt.json").write_text("{}")
    with pytest.raises(Refused, match="not the pristine release"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(tree))


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_odd_things_in_a_tree_are_refused(tmp_path: Path, dist: Path, kind: str) -> None:
    tree = releases.unpacked(tmp_path / "tree")
    if kind == "link":
        (tree / "demo" / "out").symlink_to("/etc/passwd")
    else:
        os.mkfifo(tree / "demo" / "out")
    with pytest.raises(Refused):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(tree))


@pytest.mark.parametrize("what", ["nothing", "file", "folder"])
def test_a_path_that_is_no_release(tmp_path: Path, dist: Path, what: str) -> None:
    path = tmp_path / "what"
    if what == "file":
        path.write_text("")
    elif what == "folder":
        path.mkdir()
    with pytest.raises(InvalidInput):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(path))


def test_what_nothing_proves_is_not_for_other_projects(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch that names a path fills the cache for the project that asked, and for no other."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    upstream = releases.repository(tmp_path / "upstream")
    for number, path in enumerate((upstream, dist / "demo-1.0.tar.gz", releases.unpacked(tmp_path / "tree"))):
        folders = (tmp_path / f"{who}{number}" for who in ("mine", "theirs"))
        pin = pins(dist) if path == upstream else UNPINNED
        made = (releases.project(at, pin=pin, git=f"../no{number}", pypi="demo", patches={}) for at in folders)
        mine, theirs = map(projects.load, made)
        assert open_tree(mine, None, str(path), fill=True).fresh
        assert open_tree(mine, None).source == "path"
        with pytest.raises(EnvironmentFailed):
            open_tree(theirs, None)


def test_a_huge_file_in_a_tree_is_not_read(tmp_path: Path, dist: Path) -> None:
    tree = releases.unpacked(tmp_path / "tree")
    with (tree / "demo/huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Refused, match="more than patchctl takes"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(tree))
