"""The fresh checkout that ``apply`` makes when no place is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, Refused
from patchctl.target.checkout import Checkout
from patchctl.target.prepare import prepare
from tests.target.checkouts import BARE_USER, apply, git, make_series, make_upstream, picture


@pytest.fixture(autouse=True)
def bare_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in BARE_USER.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A bare repository whose commit no branch names, as the cache's are."""
    upstream = make_upstream(tmp_path / "upstream")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "second")
    git(upstream, "update-ref", "refs/upstream/git/v1", "HEAD")
    git(upstream, "clone", "-q", "--mirror", str(upstream), str(tmp_path / "cache.git"))
    git(tmp_path / "cache.git", "update-ref", "-d", "refs/heads/main")
    return tmp_path / "cache.git"


def commit(cache: Path) -> str:
    return git(cache, "rev-parse", "refs/upstream/git/v1").strip()


def test_is_a_checkout_that_stands_alone(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "build/sample-v1"
    old = os.umask(0o022)
    try:
        prepare(cache, commit(cache), folder, "patchctl/v1")
    finally:
        os.umask(old)
    series = make_series(tmp_path / "upstream", tmp_path / "work")
    shutil.rmtree(cache)
    assert git(folder, "symbolic-ref", "HEAD").strip() == "refs/heads/patchctl/v1"
    assert git(folder, "status", "--porcelain", "--ignored") == ""
    assert git(folder, "log", "--format=%s") == "second\n"  # no history, and what there is is whole
    git(folder, "fsck", "--strict")
    assert str(cache).encode() not in b"".join(p.read_bytes() for p in (folder / ".git").rglob("*") if p.is_file())
    assert oct(folder.stat().st_mode & 0o777) == "0o755"
    git(tmp_path / "upstream", "checkout", "-q", "main")
    assert picture(folder) == picture(tmp_path / "upstream")
    apply(Checkout.open(folder), series)
    assert [path.name for path in folder.parent.iterdir()] == ["sample-v1"]


def test_an_empty_folder_is_filled(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    prepare(cache, commit(cache), tmp_path / "empty", "patchctl/v1")
    assert git(tmp_path / "empty", "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_stays(cache: Path, tmp_path: Path, kind: str) -> None:
    there = tmp_path / "build" / "there"
    there.parent.mkdir()
    if kind == "folder":
        there.mkdir()
        (there / "mine").write_text("mine\n")
    else:
        there.write_text("mine\n")
    before = picture(tmp_path / "build")
    with pytest.raises(Refused):
        prepare(cache, commit(cache), there, "patchctl/v1")
    assert picture(tmp_path / "build") == before


def test_a_commit_that_is_not_there(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed):
        prepare(cache, "1" * 40, tmp_path / "build/new", "patchctl/v1")
    assert list((tmp_path / "build").iterdir()) == []
