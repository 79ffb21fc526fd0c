"""Releases that are no targets: the newest, and what a tag stands for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, InvalidInput
from patchctl.series import project as projects
from patchctl.series.project import Project
from patchctl.upstream import pristine, release
from tests.upstream import releases
from tests.upstream.machine import machine

__all__ = ["machine"]

_PIN = 'commit: "' + "0" * 40 + '"'


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    for version in ("1.0", "1.9", "1.10", "1.11rc1", "1.10.post1", "2.0.dev3"):
        releases.sdist(folder, version)
    releases.wheel(folder, "1.10")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


def project(tmp_path: Path, **sources: str) -> Project:
    return projects.load(releases.project(tmp_path / "project", pin=_PIN, patches={}, **sources))


def test_the_newest_on_an_index(tmp_path: Path, dist: Path) -> None:
    assert release.newest(project(tmp_path, pypi="demo")) == "v1.10"


def test_the_newest_in_git_counts_before_an_index(tmp_path: Path, dist: Path) -> None:
    repository = releases.repository(tmp_path / "upstream")
    for tag in ("v3.0", "v3.1rc2", "v3.0.post1", "nightly", "v3.0+cu130"):
        subprocess.run(["git", "tag", tag], cwd=repository, check=True)
    assert release.newest(project(tmp_path, git=str(repository), pypi="demo")) == "v3.0"


def test_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    it = project(tmp_path, git=str(tmp_path / "nowhere"), pypi="demo")
    for ask in (lambda: release.newest(it), lambda: release.find(it, "v1.10")):
        with pytest.raises(EnvironmentFailed):
            ask()


def test_a_tag_is_pinned_for_every_source(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = releases.repository(tmp_path / "upstream")
    subprocess.run(["git", "tag", "v1.10"], cwd=repository, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    with releases.Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        it = project(tmp_path, git=str(repository), pypi="demo")
        found = release.find(it, "v1.10")
        with pytest.raises(EnvironmentFailed):
            release.newest(project(tmp_path / "other", pypi="demo"))  # all that this index has was yanked
        assert not any(path.endswith((".gz", ".whl")) for path in index.asked), "the page says the hashes"
    assert found.pin.commit == commit.stdout.strip() and found.notes == ()
    assert found.pin.sdist == f"sha256:{releases.sha256(dist / 'demo-1.10.tar.gz')}"
    assert found.pin.wheels == [f"sha256:{releases.sha256(dist / 'demo-1.10-py3-none-any.whl')}"]
    tree = pristine.open_release(it, "v1.10", found.pin)
    assert tree.pinned and tree.source == "git"
    assert set(pristine.kept_release(it, "v1.10", found.pin)) == {"git"}


def test_an_index_that_says_no_hashes(tmp_path: Path, dist: Path) -> None:
    """One archive is fetched then, to know it."""
    found = release.find(project(tmp_path, pypi="demo"), "v1.10")
    assert found.pin.sdist == f"sha256:{releases.sha256(dist / 'demo-1.10.tar.gz')}" and found.pin.wheels == []


def test_what_was_found_once_needs_no_network(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pypi="demo")
    first = release.find(it, "v1.9")
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert release.find(it, "v1.9").pin == first.pin
    with pytest.raises(EnvironmentFailed):
        release.find(it, "v1.10")


def test_a_release_in_the_cache_is_a_pin_of_its_own(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = project(tmp_path, pypi="demo")
    from patchctl.series.model import Pin

    tree = pristine.open_release(it, "v1.9", Pin())
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert release.find(it, "v1.9").pin == Pin(sdist=f"sha256:{tree.sha256}")


def test_a_release_that_there_is_not(tmp_path: Path, dist: Path) -> None:
    repository = releases.repository(tmp_path / "upstream")
    it = project(tmp_path, git=str(repository), pypi="demo")
    with pytest.raises(InvalidInput) as refused:
        release.find(it, "v7.7")
    assert refused.value.problems[0].kind == "unknown-release"


@pytest.mark.parametrize("name", ["", "main", "v", "../x", "-v1.0", "v1.0 ", "v1.x"])
def test_names_that_can_be_no_release(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        release.tag_for(project(tmp_path, pypi="demo"), name)


def test_a_version_stands_for_its_tag(tmp_path: Path) -> None:
    assert release.tag_for(project(tmp_path, pypi="demo"), "1.10") == "v1.10"
