"""Kills over ``patchctl apply`` and ``patchctl unapply`` themselves, for the three kinds of places."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchctl.cli.main import run as main

from ..target import wheels
from . import harness
from .harness import Picture, Subject

KINDS = ["checkout", "tree", "installed"]

SERIES = """\
version: 1
upstream:
  name: tiny
  git: {upstream}
  pypi: tiny
  sdist: {{root: "python/"}}
  layout: {{"python/tiny/": "tiny/"}}
targets:
  v1.0:
    pin: {{commit: "{commit}"}}
    patches: [change, reshape]
patches:
  change: {{title: Change, why: to test, owner: tests, upstream: {{status: inappropriate}}}}
  reshape: {{title: Reshape, why: to test, owner: tests, upstream: {{status: inappropriate}}}}
"""


def patchctl(*args: str) -> Callable[[], object]:
    def run() -> object:
        sys.argv = ["patchctl", *args]
        return main()

    return run


class World:
    """A project, its upstream, and pristine places of each kind to copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.upstream = folder / "upstream"
        for name, data in wheels.FILES.items():
            path = self.upstream / "python" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (self.upstream / "README").write_text("not packaged\n")
        self.git("init", "-q", "-b", "main")
        self.commit("release")
        self.git("tag", "v1.0")
        self.project = folder / "project"
        self.make_project()
        self.templates = {kind: getattr(self, f"make_{kind}")() for kind in KINDS}

    def git(self, *args: str, cwd: Path | None = None) -> str:
        who = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "advice.detachedHead=false"]
        command = ["git", *who, *args]
        return subprocess.run(
            command, cwd=cwd or self.upstream, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def make_project(self) -> None:
        package = self.upstream / "python/tiny"
        (package / "mod.py").write_bytes(b"VALUE = 2\n")
        (package / "data.json").write_bytes(b'{"a": 1}\n')
        self.commit("Change")
        (package / "gone.py").unlink()
        (package / "sub/only.py").unlink()
        (package / "sub/__init__.py").unlink()
        (package / "new").mkdir()
        (package / "new/fresh.py").write_bytes(b"FRESH = 1\n")
        (package / "mod.py").write_bytes(b"VALUE = 3\n")
        self.commit("Reshape")
        patches = self.project / "patches/v1.0"
        patches.mkdir(parents=True)
        for number, name in enumerate(["change", "reshape"]):
            mail = self.git("format-patch", "-1", "--stdout", f"HEAD~{1 - number}")
            (patches / f"{name}.patch").write_text(mail + "\n")
        commit = self.git("rev-parse", "v1.0")
        (self.project / "series.yaml").write_text(SERIES.format(upstream=self.upstream, commit=commit))
        log = self.folder / "lock.log"
        assert harness.in_child(patchctl("-C", str(self.project), "lock", "v1.0"), log=log) == 0, log.read_text()

    def make_checkout(self) -> Path:
        self.git("clone", "-q", "--branch", "v1.0", str(self.upstream), str(self.folder / "checkout"))
        return self.folder / "checkout"

    def make_tree(self) -> Path:
        shutil.copytree(self.folder / "checkout", self.folder / "tree", ignore=shutil.ignore_patterns(".git"))
        return self.folder / "tree"

    def make_installed(self) -> Path:
        site = wheels.environment(self.folder / "env")
        wheels.install(self.folder / "env", wheels.build(self.folder))
        shutil.rmtree(site / "tiny/sub/__pycache__")
        return site


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("world")
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return World(folder)


def subject(world: World, tmp_path: Path, kind: str, command: str) -> Subject:
    root = tmp_path / "place"
    log = tmp_path / "status"
    act = patchctl("-C", str(world.project), "-q", command, "--into", str(root))

    def make() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(world.templates[kind], root, symlinks=True)
        if command == "unapply":
            before = patchctl("-C", str(world.project), "-q", "apply", "--into", str(root))
            assert harness.in_child(before, log=tmp_path / "make") == 0, (tmp_path / "make").read_text()

    def marked() -> bool:
        log.unlink(missing_ok=True)
        harness.in_child(patchctl("-C", str(world.project), "--json", "status", "--into", str(root)), log=log)
        said = log.read_text()
        document, _ = json.JSONDecoder().raw_decode(said, said.index("{"))
        return "interrupted" in {patch["state"] for patch in document.get("patches", [])}

    return Subject(f"patchctl {command}, {kind}", make, run=act, again=act, look=lambda: look(root), marked=marked)


def look(root: Path) -> Picture:
    """The files; of a checkout the commit and what git says of it instead of git's own files, and the receipt."""
    seen = harness.files(root, skip=lambda name: name.startswith(".git/"))
    if (root / ".git").exists():
        for question in (["rev-parse", "HEAD"], ["symbolic-ref", "-q", "HEAD"], ["status", "--porcelain"]):
            done = subprocess.run(["git", *question], cwd=root, capture_output=True, text=True, check=False)
            seen[" ".join(question)] = (done.stdout,)
        receipts = sorted((root / ".git").rglob("receipt.json"))
        seen["receipt"] = tuple(path.read_bytes() for path in receipts)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "unapply"])
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_point(
    world: World, tmp_path: Path, kind: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = harness.at_every_point(subject(world, tmp_path, kind, command), tmp_path)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills == tally.points > 30


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "unapply"])
@pytest.mark.parametrize("kind", KINDS)
def test_at_random(world: World, tmp_path: Path, kind: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_random(subject(world, tmp_path, kind, command), tmp_path, kills=100)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills >= 100


@pytest.mark.parametrize("command", ["apply", "unapply"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_real_process(world: World, tmp_path: Path, kind: str, command: str) -> None:
    """The same without fork: the program as a user starts it, killed in the middle, run again."""
    one = subject(world, tmp_path, kind, command)
    points, _, _, after = harness.measure(one, tmp_path)
    one.make()
    argv = [
        sys.executable,
        "-m",
        "patchctl",
        "-C",
        str(world.project),
        "-q",
        command,
        "--into",
        str(tmp_path / "place"),
    ]
    kill = {"PATCHCTL_FAULT": f"kill:{points // 2}"}
    killed = subprocess.run(argv, env={**os.environ, **kill}, capture_output=True, check=False)
    assert killed.returncode == -9
    assert one.marked()
    subprocess.run(argv, check=True, capture_output=True)
    assert one.look() == after
