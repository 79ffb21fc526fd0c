"""Releases from git: the tag, its pin, and no more history than was asked for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from patchctl import git as gits
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.upstream import gitsource, pristine
from patchctl.upstream.pristine import open_tree
from tests.upstream import releases
from tests.upstream.common import SOURCES, UNPINNED, project, refs


@pytest.mark.parametrize("annotated", [True, False])
def test_git_by_tag(tmp_path: Path, annotated: bool) -> None:
    upstream = releases.repository(tmp_path / "upstream", annotated=annotated)
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    tree = open_tree(project(tmp_path, f"commit: {commit}", git="../upstream"), None)
    assert (tree.source, tree.commit, tree.pinned) == ("git", commit, True)
    assert set(tree.names()) == {*SOURCES, "README"}
    assert tree.git.run("rev-list", "--count", commit) == b"1\n", "no more history than needed"
    assert refs(tree) == {"refs/upstream/git/v1.0": commit}, "no other tags come along"
    shutil.rmtree(upstream)
    assert open_tree(project(tmp_path, f"commit: {commit}", git="../upstream"), None).read(["README"])["README"]


def test_a_moved_tag_is_refused(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    old, new = (releases.git(upstream, "rev-parse", f"{tag}^{{commit}}") for tag in ("v1.0", "v1.1"))
    releases.git(upstream, "tag", "-f", "v1.0", new)
    it = project(tmp_path, f"commit: {old}", git="../upstream", pypi="demo")
    with pytest.raises(Refused) as caught:
        open_tree(it, None)
    assert old in str(caught.value) and new in str(caught.value)


def test_history_on_request(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    it = project(
        tmp_path, UNPINNED.replace("0" * 40, releases.git(upstream, "rev-parse", "v1.0^{}")), git="../upstream"
    )
    open_tree(it, None)
    pristine.fetch_history(it, ("v0.9", "v1.1"))
    tree = open_tree(it, None)
    between = tree.git.run("log", "--format=%s", "refs/upstream/git/v0.9..refs/upstream/git/v1.1").decode()
    assert between.split("\n")[:3] == ["release v1.1", "release v1.0", "release None"]
    shutil.rmtree(upstream)
    upstream.mkdir()
    pristine.fetch_history(it, ("v0.9", "v1.1"))  # there already: nobody is asked


def test_a_release_inside_fetched_history_does_not_cut_it(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    it = project(
        tmp_path, UNPINNED.replace("0" * 40, releases.git(upstream, "rev-parse", "v1.0^{}")), git="../upstream"
    )
    pristine.fetch_history(it, ("v0.9", "v1.1"))
    tree = open_tree(it, None)
    assert tree.git.run("rev-list", "--count", "refs/upstream/git/v0.9..refs/upstream/git/v1.1") == b"3\n"


def test_no_such_tag(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    releases.git(upstream, "tag", "-d", "v1.0")
    with pytest.raises(EnvironmentFailed, match=r"no tag v1\.0"):
        open_tree(project(tmp_path, UNPINNED, git="../upstream"), None)


def test_a_server_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(gitsource, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/demo.git"
        with pytest.raises(EnvironmentFailed, match="does not answer"):
            open_tree(project(tmp_path, UNPINNED, git=url), None)


def test_a_repository_of_another_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git refuses it unless the user has said that it is safe; then so do we not."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    upstream = releases.repository(tmp_path / "upstream")
    for path in (upstream, upstream / ".git", *upstream.rglob("*")):
        os.lchown(path, 12345, 12345)
    commit = releases.git(
        tmp_path, "-c", f"safe.directory={upstream}", "-C", str(upstream), "rev-parse", "v1.0^{commit}"
    )
    it = project(tmp_path, f"commit: {commit}", git="../upstream")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailed, match="dubious ownership"):
        open_tree(it, None)
    gits._safe_directories.cache_clear()
    (tmp_path / ".gitconfig").write_text(f"[Safe]\n\tdirectory = {upstream}/.git\n\tdirectory = {upstream}\n")
    assert open_tree(it, None).commit == commit
