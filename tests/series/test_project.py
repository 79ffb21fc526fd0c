"""The project on disk: found from below, its targets and patch files, and the ones that nobody lists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchctl.errors import InvalidInput, Refused
from patchctl.series import project, versions
from tests.lintproject import SERIES, make, patch_text
from tests.series import samples


def test_found_from_any_folder_below(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    assert project.find(root / "patches/v1.0") == root
    loaded = project.load(root / "patches")
    assert loaded.root == root
    assert loaded.lock is not None and list(loaded.lock.targets) == ["v1.0"]
    with pytest.raises(InvalidInput, match="There is no series"):
        project.find(tmp_path)


def test_targets(tmp_path: Path) -> None:
    make(tmp_path / "p", SERIES)
    (tmp_path / "p/series.yaml").write_text(samples.SERIES)
    found = project.load(tmp_path / "p", with_lock=False)
    assert found.target()[0] == "v1.1"
    assert found.target("v1.0")[0] == "v1.0"
    assert found.target("1.0")[0] == "v1.0"
    with pytest.raises(InvalidInput, match=r"Known are: v1\.0, v1\.1"):
        found.target("v2.0")


def test_without_a_default_the_newest_by_version(tmp_path: Path) -> None:
    series = SERIES.replace(
        "  v1.0:", "  v1.9:\n    pin: {}\n    patches: []\n  v1.10rc1:\n    pin: {}\n    patches: []\n  v1.0:"
    )
    assert project.load(make(tmp_path / "p", series)).target()[0] == "v1.10rc1"


def test_a_missing_patch_file_is_named(tmp_path: Path) -> None:
    found = project.load(make(tmp_path / "p", patches={}))
    with pytest.raises(Refused) as caught:
        found.patch_bytes("v1.0", "fix-a")
    (problem,) = caught.value.problems
    assert (problem.kind, problem.patch, problem.file) == ("missing-patch", "fix-a", "patches/v1.0/fix-a.patch")


def test_a_slash_in_a_tag_becomes_two_underscores(tmp_path: Path) -> None:
    series = SERIES.replace("v1.0:", "rel/1.0:").replace("  layout:", '  tag: "rel/{version}"\n  layout:')
    found = project.load(make(tmp_path / "p", series))
    assert found.patch_path("rel/1.0", "fix-a") == tmp_path / "p/patches/rel__1.0/fix-a.patch"


@pytest.mark.parametrize("what", ["file", "folder", "pipe", "directory", "loop"])
def test_only_files_inside_are_read(tmp_path: Path, what: str) -> None:
    root = make(tmp_path / "p")
    folder, path = root / "patches/v1.0", root / "patches/v1.0/fix-a.patch"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "fix-a.patch").write_bytes(patch_text())
    path.unlink()
    if what == "file":
        path.symlink_to(outside / "fix-a.patch")
    elif what == "folder":
        folder.rmdir()
        folder.symlink_to(outside)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "loop":
        path.symlink_to(path)
    else:
        path.mkdir()
    with pytest.raises(Refused) as caught:
        project.load(root).patch_bytes("v1.0", "fix-a")
    assert caught.value.problems[0].kind == "unsafe-path"


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    path = root / "patches/v1.0/fix-a.patch"
    path.rename(root / "patches/shared")
    path.symlink_to("../shared")
    assert project.load(root).patch_bytes("v1.0", "fix-a") == patch_text()


def test_unlisted_files(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    for name in ("b.patch", "a.diff", "notes.txt", ".b.patch.swp", ".hidden.patch"):
        (root / "patches/v1.0" / name).write_text("")
    assert project.load(root).unlisted("v1.0") == ["patches/v1.0/a.diff", "patches/v1.0/b.patch"]


def test_versions() -> None:
    tags = ["v1.10", "v1.9", "odd", "v1.10rc1", "v1.9.post1"]
    assert versions.sort_tags(tags, "v{version}") == ["odd", "v1.9", "v1.9.post1", "v1.10rc1", "v1.10"]
    assert str(versions.version_of("rel-1.0-x", "rel-{version}-x")) == "1.0"
    assert versions.version_of("rel-1.0", "v{version}") is None
    assert versions.version_of("v", "v{version}") is None
    assert versions.tag_of("1.0", "rel-{version}-x") == "rel-1.0-x"
    assert versions.is_specifier(">=0.5.10, <0.6") and versions.is_specifier("~=1.2") and versions.is_specifier("==1.*")
    assert not any(versions.is_specifier(text) for text in ("", " ", "1.0", ">=x", "when it is time"))
    assert versions.satisfies("0.5.10rc1", ">=0.5.9")
