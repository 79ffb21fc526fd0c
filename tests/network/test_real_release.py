"""The team's series on the real release: what git and quilt make of it, and an installed one forth and back.

The archives come from the index that pip is configured with, once for all tests.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from patchctl.series import lock as locking
from tests.projects import OWN, Run, git, picture
from tests.projects import patchctl as run
from tests.target import wheels

pytestmark = [pytest.mark.network, pytest.mark.slow]
TAGS = ("v0.5.9", "v0.5.4", "v0.5.10")
every_tag = pytest.mark.parametrize("tag", TAGS)


class Release:
    """A copy of the series, with a cache that is filled once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = copy_series(folder / "project")
        self.env: dict[str, str] = {**os.environ, "PATCHCTL_CACHE": str(folder / "cache")}
        self.wheels: dict[str, Path] = {}

    def patchctl(self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Run:
        return run(*args, cwd=cwd or self.project, env=env or self.env)

    def checkout(self, tag: str) -> Path:
        done = self.patchctl("apply", "--target", tag)
        assert done.code == 0, done.words
        return Path(done.document["into"])

    def wheel(self, version: str) -> Path:
        """The wheel as pip downloads it."""
        if version not in self.wheels:
            folder = self.folder / f"wheel-{version}"
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d"]
            subprocess.run([*command, str(folder), f"sglang=={version}"], check=True, capture_output=True)
            self.wheels[version] = next(folder.glob("*.whl"))
        return self.wheels[version]

    def ids(self, tag: str) -> list[str]:
        found = locking.read(self.project / "series.lock")
        assert found is not None
        return [patch.id for patch in found.targets[tag].patches]

    def touched(self, tag: str) -> list[str]:
        found = locking.read(self.project / "series.lock")
        assert found is not None
        return sorted({file.path for patch in found.targets[tag].patches for file in patch.files})


def copy_series(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("series.yaml", "series.lock"):
        shutil.copy(OWN / name, folder)
    shutil.copytree(OWN / "patches", folder / "patches")
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    found = Release(tmp_path_factory.mktemp("release"))
    done = found.patchctl("fetch", *TAGS, "--source", "pypi")
    assert done.code == 0, done.words
    return found


def pristine(checkout: Path, count: int, folder: Path) -> Path:
    """A clone of the release below the series."""
    git(checkout.parent, "clone", "-q", str(checkout), str(folder))
    git(folder, "reset", "-q", "--hard", f"HEAD~{count}")
    return folder


@every_tag
def test_git_am_and_quilt_make_the_same(release: Release, tag: str, tmp_path: Path) -> None:
    ours = release.checkout(tag)
    ids = release.ids(tag)
    patches = [release.project / f"patches/{tag}/{id}.patch" for id in ids]
    am = pristine(ours, len(ids), tmp_path / "am")
    shutil.copytree(am, tmp_path / "quilt", symlinks=True)
    git(am, "am", "-q", "--keep-non-patch", *map(str, patches))
    assert git(am, "rev-parse", "HEAD^{tree}") == git(ours, "rev-parse", "HEAD^{tree}")
    assert git(am, "log", "--format=%an %ae %ad%n%B", f"-{len(ids)}") == git(
        ours, "log", "--format=%an %ae %ad%n%B", f"-{len(ids)}"
    )
    quilt = tmp_path / "quilt"
    shutil.rmtree(quilt / ".git")
    shutil.copytree(release.project / "patches" / tag, quilt / "patches")
    (quilt / "patches/series").write_text("".join(f"{id}.patch\n" for id in ids))
    pushed = subprocess.run(
        ["quilt", "--quiltrc", "-", "push", "-a", "--fuzz=0"], cwd=quilt, capture_output=True, text=True, check=True
    )
    assert "offset" not in pushed.stdout and "fuzz" not in pushed.stdout
    for folder in ("patches", ".pc"):
        shutil.rmtree(quilt / folder)
    contents = {name: state[::2] for name, state in picture(quilt).items() if state[0] != "folder"}
    assert contents == {name: state[::2] for name, state in picture(ours).items() if state[0] != "folder"}


@every_tag
def test_the_same_commits_in_two_places(release: Release, tag: str, tmp_path: Path) -> None:
    first = release.checkout(tag)
    other = copy_series(tmp_path / "other")
    env = {**release.env, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PATCHCTL_CACHE": str(tmp_path / "cache")}
    done = release.patchctl("apply", "--target", tag, "--source", "pypi", cwd=other, env=env)
    assert done.code == 0, done.words
    second = Path(done.document["into"])
    assert git(first, "rev-parse", "HEAD") == git(second, "rev-parse", "HEAD")
    assert set(release.patchctl("apply", "--target", tag).outcomes.values()) == {"already"}


def check_record(site: Path, package: str) -> None:
    info = next(site.glob(f"{package}-*.dist-info"))
    listed = list(csv.reader((info / "RECORD").read_text().splitlines()))
    assert len(listed) > 500
    for name, sums, size in listed:
        if not sums:
            assert name.endswith((".pyc", "/RECORD")), name
            continue
        data = (site / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (sums, int(size)) == (f"sha256={digest}", len(data)), name
    names = {name for name, _, _ in listed}
    there = {str(path.relative_to(site)) for path in (site / package).rglob("*") if path.is_file()}
    assert there == {name for name in names if name.startswith(f"{package}/")}


@every_tag
def test_installed_forth_and_back(release: Release, tag: str, tmp_path: Path) -> None:
    version = tag.removeprefix("v")
    site = wheels.environment(tmp_path / "env")
    python = tmp_path / "env/bin/python"
    wheels.pip(tmp_path / "env", "install", "-q", "--no-deps", "--compile", str(release.wheel(version)))
    outside = picture(site)
    touched = [path.removeprefix("python/") for path in release.touched(tag)]
    options = ("--installed", "--python", python)
    env = {**release.env, "PATCHCTL_CACHE": "/dev/null/cache", "PATH": str(tmp_path / "no-git")}
    before = picture(tmp_path / "env", times=True)
    done = release.patchctl("apply", *options, env=env)
    assert done.code == 0 and done.document["target"] == tag, done.words
    assert release.patchctl("status", *options, env=env).code == 0
    check_record(site, "sglang")
    # What stands there is what the checkout has.
    checkout = release.checkout(tag)
    for name in touched:
        assert (site / name).read_bytes() == (checkout / "python" / name).read_bytes()
    # Each compiles, and none is served from the bytecode of the release.
    modules = [name for name in touched if name.endswith(".py")]
    for name in modules:
        compile((site / name).read_bytes(), name, "exec")
    ask = (
        "import importlib.util, importlib.machinery, sys\n"
        "for name in sys.argv[1:]:\n"
        "    loader = importlib.machinery.SourceFileLoader('m', name)\n"
        "    code = loader.get_code('m')\n"
        "    fresh = compile(open(name, 'rb').read(), name, 'exec')\n"
        "    assert code.co_code == fresh.co_code and code.co_consts == fresh.co_consts, name\n"
    )
    subprocess.run([python, "-B", "-c", ask, *(str(site / name) for name in modules)], check=True)
    assert set(release.patchctl("apply", *options, env=env).outcomes.values()) == {"already"}
    back = release.patchctl("unapply", *options, env=env)
    assert back.code == 0 and len(back.document["files"]) == len(touched)
    assert picture(tmp_path / "env", times=True) == before and outside == picture(site)
    # Once more, and away with it all.
    assert release.patchctl("apply", *options, env=env).code == 0
    wheels.pip(tmp_path / "env", "uninstall", "-q", "-y", "sglang")
    assert sorted(path.name for path in site.iterdir()) == []


def test_the_footprint_is_the_same_from_every_source(release: Release, tmp_path: Path) -> None:
    tag = TAGS[0]
    wanted = locking.read(release.project / "series.lock")
    assert wanted is not None
    checkout = release.checkout(tag)
    upstream = pristine(checkout, len(release.ids(tag)), tmp_path / "upstream")
    git(upstream, "tag", tag)
    unpacked = tmp_path / "wheel"
    shutil.unpack_archive(release.wheel(tag.removeprefix("v")), unpacked, "zip")
    project = copy_series(tmp_path / "project")
    for source in (upstream, unpacked):
        env = {**release.env, "PATCHCTL_CACHE": str(tmp_path / f"cache-{source.name}")}
        done = release.patchctl("lock", tag, "--check", "--source", source, cwd=project, env=env)
        assert done.code == 0, (source, done.words)
