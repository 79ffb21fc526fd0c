"""``apply`` to unpacked trees: which mapping they follow, and what they need (nothing)."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.projects import SERIES, TAG, Bench, Installation, environment, git, site


@pytest.mark.parametrize(("strip", "name"), [("", "python/demo/core.py"), ("python/", "demo/core.py")])
def test_the_repository_and_its_archive(bench: Bench, strip: str, name: str) -> None:
    tree = bench.tree(strip)
    done = bench.run("apply", "--into", tree)
    assert done.code == 0, done.words
    assert (tree / name).read_bytes() == SERIES["sizes"]["python/demo/core.py"]
    assert (tree / ".patchctl/receipt.json").is_file()
    assert bench.run("status", "--into", tree).code == 0
    assert bench.run("unapply", "--into", tree).code == 0 and not (tree / ".patchctl").exists()


def test_an_unpacked_wheel(bench: Bench) -> None:
    folder = bench.tree("python/")
    (folder / "pyproject.toml").unlink()
    assert bench.run("apply", "--into", folder).code == 0
    assert bench.run("status", "--into", folder).code == 0


def test_no_git_no_cache_no_network(bench: Bench, tmp_path: Path) -> None:
    tree = bench.tree()
    env = {**environment(), "PATH": str(tmp_path / "empty")}
    for command in ("apply", "status", "unapply"):
        assert bench.run(command, "--into", tree, env=env).code == 0


def test_a_tree_inside_of_somebody_elses_repository(bench: Bench) -> None:
    outer = bench.root / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    (outer / "own.txt").write_text("own\n")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "own")
    tree = bench.lab.upstream.unpack(outer / "vendor" / "demo")
    before = (git(outer, "rev-parse", "HEAD"), git(outer, "ls-files", "-s"))
    done = bench.run("apply", "--into", tree)
    assert done.code == 0 and done.document["kind"] == "tree"
    assert Installation("tree", tree, ()).holds(SERIES)
    assert (git(outer, "rev-parse", "HEAD"), git(outer, "ls-files", "-s")) == before


def test_a_folder_that_is_something_else(bench: Bench) -> None:
    folder = bench.root / "other"
    folder.mkdir()
    (folder / "main.c").write_text("int main;\n")
    done = bench.run("apply", "--into", folder)
    assert done.code == 5 and done.document["error"]["message"]
    assert sorted(path.name for path in folder.iterdir()) == ["main.c"]


def test_read_only_files_keep_their_mode(bench: Bench) -> None:
    tree = bench.tree()
    path = tree / "python/demo/core.py"
    path.chmod(0o444)
    assert bench.run("apply", "--into", tree).code == 0
    assert path.stat().st_mode & 0o777 == 0o444
    assert bench.run("unapply", "--into", tree).code == 0
    assert path.stat().st_mode & 0o777 == 0o444


def test_hard_links_are_not_written_through(bench: Bench) -> None:
    tree = bench.tree()
    twin = bench.root / "twin"
    path = tree / "python/demo/core.py"
    twin.hardlink_to(path)
    before = twin.read_bytes()
    assert bench.run("apply", "--into", tree).code == 0
    assert twin.read_bytes() == before != path.read_bytes()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs of 256 KiB, as a full disk or a read-only one."""
    folder = tmp_path / "mount"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"mounting a tmpfs needs more rights: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["tree", "checkout", "installed"])
def test_a_read_only_file_system(bench: Bench, tmp_path: Path, kind: str) -> None:
    place = bench.place(kind)
    made = subprocess.run(["mount", "--bind", str(place.folder), str(place.folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"a bind mount needs more rights: {made.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place.folder)], check=True)
        before = place.picture(times=True)
        done = bench.run("apply", *place.options)
        assert done.code == 4 and done.document["error"]["kind"] == "read-only", done.words
        assert place.picture(times=True) == before
        assert bench.run("status", *place.options, "--allow-missing").code == 0
        assert bench.run("apply", "--check", *place.options).code == 0
    finally:
        subprocess.run(["umount", str(place.folder)], check=True)


def test_a_disk_that_is_really_full(bench: Bench, mounted: Path) -> None:
    tree = bench.lab.upstream.unpack(mounted / "tree")
    place = Installation("tree", tree, ("--into", str(tree)))
    filler = mounted / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    full = filler.stat().st_size
    for free in (0, 1, 2, 4):
        with filler.open("r+b") as file:
            file.truncate(full - free * 4096)
        before = place.picture(times=True)
        done = bench.run("apply", *place.options)
        assert done.code == 4 and done.document["error"]["kind"] == "disk-full", done.words
        assert place.picture(times=True) == before
        assert bench.run("status", *place.options, "--allow-missing").code == 0
    filler.unlink()
    assert bench.run("apply", *place.options).code == 0 and place.holds(SERIES)


def test_another_series_there(bench: Bench) -> None:
    tree = bench.tree()
    bench.run("apply", "--into", tree)
    text = (bench.project / "series.yaml").read_text()
    (bench.project / "series.yaml").write_text(text.replace("name: demo", "name: other"))
    done = bench.run("apply", "--into", tree)
    assert done.code == 5 and done.kinds == ["other-target"]


def test_a_site_packages_folder_is_an_installation(bench: Bench) -> None:
    folder = site(bench.env())
    done = bench.run("apply", "--into", folder)
    assert done.code == 0 and done.document["kind"] == "installed" and done.document["target"] == TAG
