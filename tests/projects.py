"""A small upstream with a series on it, in every kind of place, and ``patchctl`` as a process of its own.

Everything is real: git makes the patch files, ``patchctl lock`` the lock, pip the installed distribution. What is
slow to make is made once a session and copied.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.target import wheels
from tests.target.checkouts import BARE_USER, git

Files = Mapping[str, "bytes | None"]

TAG = "v1.0"
CORE = b"".join(b"def f%d():\n    return %d\n\n\n" % (n, n) for n in range(12))
BASE: dict[str, bytes] = {
    "README.md": b"demo\n",
    "python/pyproject.toml": b"[project]\nname = 'demo'\n",
    "python/demo/__init__.py": b'"""A demo."""\n',
    "python/demo/core.py": CORE,
    "python/demo/model.py": b"SIZES = [8, 9]\nNAME = 'model'\n",
    "python/demo/old.py": b"".join(b"OLD_%d = %d\n" % (n, n) for n in range(20)),
    "python/demo/gone.py": b"GONE = 1\n",
    "python/demo/table.bin": bytes(range(256)),
    "python/demo/tool.sh": b"#!/bin/sh\necho tool\n",
}
EXECUTABLE = {"python/demo/tool.sh"}

# What each patch writes, on top of the ones before it; None deletes.
CORE_1 = CORE.replace(b"return 1\n", b"return 100\n")
CORE_2 = CORE_1.replace(b"return 9\n", b"return 900\n")
SERIES: dict[str, Files] = {
    "first": {"python/demo/core.py": CORE_1},
    "sizes": {"python/demo/core.py": CORE_2, "python/demo/sizes.py": b"SIZES = {12: 34}\n"},
    "renamed": {"python/demo/old.py": None, "python/demo/sub/new.py": BASE["python/demo/old.py"] + b"NEW = 1\n"},
    "removed": {"python/demo/gone.py": None},
    "model": {"python/demo/model.py": b"SIZES = [8, 12]\nNAME = 'model'\n", "python/demo/table.bin": b"\0" * 256},
}
# The same project some weeks later: one patch reworked, one dropped, one added, the rest as it was.
LATER: dict[str, Files] = {
    "first": {"python/demo/core.py": CORE.replace(b"return 1\n", b"return 111\n")},
    "renamed": SERIES["renamed"],
    "removed": SERIES["removed"],
    "model": SERIES["model"],
    "extra": {"python/demo/extra.py": b"EXTRA = 1\n"},
}

DOCUMENT = """\
version: 1
default: v1.0
upstream:
  name: demo
  git: {git}
  pypi: demo
  sdist: {{root: "python/", drop: [PKG-INFO]}}
  layout: {{"python/demo/": "demo/"}}
targets:
  v1.0:
    pin: {{commit: "{commit}"}}
    patches: [{ids}]
patches:
{entries}"""
ENTRY = """\
  {id}:
    title: The patch {id}
    why: a test
    owner: tests
    upstream: {{status: pending}}
{more}"""


@dataclass(frozen=True)
class Run:
    """What a process of patchctl left behind."""

    code: int
    stdout: str
    stderr: str

    @cached_property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    @property
    def kinds(self) -> list[str]:
        return [problem["kind"] for problem in self.document["problems"]]

    @property
    def outcomes(self) -> dict[str, str]:
        return {patch["id"]: patch["outcome"] for patch in self.document["patches"]}

    @property
    def states(self) -> dict[str, str]:
        return {patch["id"]: patch["state"] for patch in self.document["patches"]}

    @property
    def words(self) -> str:
        return self.stdout + self.stderr


def environment(**changes: str | None) -> dict[str, str]:
    """A machine where nothing is set up: no network, no git identity, an empty cache that nobody can write."""
    found: dict[str, str | None] = {
        **BARE_USER,
        "PATCHCTL_CACHE": "/dev/null/cache",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple/",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def patchctl(
    *args: str | Path, cwd: Path, env: Mapping[str, str] | None = None, text: bool = False, mask: str = "022"
) -> Run:
    """Run ``patchctl --json ARGS`` (without --json if ``text``) in ``cwd``, under the umask ``mask`` (octal)."""
    command = [sys.executable, "-m", "patchctl", *([] if text else ["--json"]), *map(str, args)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**(env or environment()), "PYTHONPATH": str(OWN)},
        capture_output=True,
        check=False,
        umask=int(mask, 8),
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return Run(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


OWN = Path(__file__).parent.parent


@dataclass(frozen=True)
class Upstream:
    """The release as a git repository, and its commit."""

    root: Path
    commit: str

    def unpack(self, folder: Path, strip: str = "") -> Path:
        """The release as plain files; ``strip`` leaves out what is not below, as an archive does."""
        for name, data in BASE.items():
            if name.startswith(strip):
                path = folder / name[len(strip) :]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(0o755 if name in EXECUTABLE else 0o644)
        return folder

    def clone(self, folder: Path) -> Path:
        git(self.root, "clone", "-q", str(self.root), str(folder))
        git(folder, "checkout", "-q", "-B", "work")
        return folder


def make_upstream(folder: Path) -> Upstream:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    upstream = Upstream(folder, "")
    upstream.unpack(folder)
    git(folder, "add", "-A")
    when = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    git(folder, "commit", "-q", "-m", "release", **when)
    git(folder, "tag", TAG)
    return Upstream(folder, git(folder, "rev-parse", "HEAD").strip())


def mails(upstream: Upstream, scratch: Path, series: Mapping[str, Files], *options: str) -> dict[str, bytes]:
    """The patch files of ``series``, made by git format-patch."""
    upstream.clone(scratch)
    made = {}
    for number, (id, files) in enumerate(series.items()):
        for name, data in files.items():
            path = scratch / name
            if data is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        git(scratch, "add", "-A", "-f")
        message = f"The patch {id}\n\nWhat it is for.\n\nUpstream-Status: pending"
        git(scratch, "commit", "-q", "-m", message, GIT_AUTHOR_DATE=f"{1710000000 + 3600 * number} +0130")
        mail = git(scratch, "format-patch", "-1", "--stdout", "--binary", "--full-index", "-M", *options)
        made[id] = os.fsencode(mail)
    shutil.rmtree(scratch)
    return made


def write(root: Path, upstream: Upstream, patches: Mapping[str, bytes], more: Mapping[str, str] | None = None) -> Path:
    """Write series.yaml and patch files; ``more`` are lines for a patch's entry."""
    folder = root / "patches" / TAG
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for id, data in patches.items():
        (folder / f"{id}.patch").write_bytes(data)
    entries = "".join(ENTRY.format(id=id, more=(more or {}).get(id, "")) for id in patches)
    text = DOCUMENT.format(git=upstream.root, commit=upstream.commit, ids=", ".join(patches), entries=entries)
    (root / "series.yaml").write_text(text)
    return root


def lock(root: Path, upstream: Upstream, cache: Path) -> None:
    done = patchctl("lock", cwd=root, env=environment(PATCHCTL_CACHE=str(cache)))
    assert done.code == 0, done.words


@dataclass(frozen=True)
class Lab:
    """Everything made once: upstream, the project now and later, a filled cache, a wheel's environment."""

    upstream: Upstream
    now: Path
    later: Path
    cache: Path
    env: Path


def make_lab(folder: Path) -> Lab:
    upstream = make_upstream(folder / "upstream")
    cache = folder / "cache"
    for name, series in (("now", SERIES), ("later", LATER)):
        root = write(folder / name, upstream, mails(upstream, folder / "scratch", series))
        lock(root, upstream, cache)
    wheels.environment(folder / "env")
    wheels.install(folder / "env", wheel(folder))
    return Lab(upstream, folder / "now", folder / "later", cache, folder / "env")


def wheel(folder: Path, version: str = "1.0") -> Path:
    prefix = "python/"
    files = {name[len(prefix) :]: data for name, data in BASE.items() if name.startswith("python/demo/")}
    return wheels.build(folder, "demo", version, files)


@dataclass(frozen=True)
class Bench:
    """A project and its places for one test; what a test does to them stays its own."""

    lab: Lab
    root: Path

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def online(self) -> dict[str, str]:
        """A machine with the cache filled."""
        return environment(PATCHCTL_CACHE=str(self.lab.cache))

    def run(self, *args: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Run:
        return patchctl(*args, cwd=cwd or self.project, env=env)

    def change_series(self, root: Path | None = None) -> None:
        """The project becomes that of some weeks later."""
        shutil.rmtree(self.project)
        shutil.copytree(root or self.lab.later, self.project)

    def carry(self, series: Mapping[str, Files], more: Mapping[str, str] | None = None, *options: str) -> None:
        """The project becomes one with another series."""
        made = mails(self.lab.upstream, self.root / "scratch", series, *options)
        write(self.project, self.lab.upstream, made, more)
        lock(self.project, self.lab.upstream, self.lab.cache)

    def tree(self, strip: str = "") -> Path:
        return self.lab.upstream.unpack(self.root / "tree", strip)

    def checkout(self) -> Path:
        return self.lab.upstream.clone(self.root / "checkout")

    def env(self) -> Path:
        """An environment with the release installed by pip."""
        shutil.copytree(self.lab.env, self.root / "env", symlinks=True)
        return self.root / "env"

    def place(self, kind: str) -> Installation:
        if kind == "installed":
            env = self.env()
            return Installation(kind, site(env), ("--installed", "--python", str(env / "bin/python")))
        folder = self.tree() if kind == "tree" else self.checkout()
        return Installation(kind, folder, ("--into", str(folder)))


@dataclass(frozen=True)
class Installation:
    """A place of some kind and the options that name it."""

    kind: str
    folder: Path
    options: tuple[str, ...]

    def __truediv__(self, name: str) -> Path:
        """A file by its name in the repository."""
        return self.folder / (name.removeprefix("python/") if self.kind == "installed" else name)

    def picture(self, *, times: bool = False) -> dict[str, tuple[object, ...]]:
        return picture(self.folder, times=times)

    def holds(self, series: Mapping[str, Files]) -> bool:
        """Whether all files are what upstream and ``series`` make of them."""
        for name, data in final(series).items():
            if self.kind == "installed" and not name.startswith("python/demo/"):
                continue
            path = self / name
            if (path.read_bytes() if path.exists() else None) != data:
                return False
        return True


def site(env: Path) -> Path:
    return next((env / "lib").glob("python*/site-packages"))


def final(series: Mapping[str, Files]) -> dict[str, bytes | None]:
    """Every file's content on top of ``series``; None for one that is not there."""
    every: dict[str, bytes | None] = {name: None for files in (*SERIES.values(), *LATER.values()) for name in files}
    every.update(BASE)
    for files in series.values():
        every.update(files)
    return every


def picture(root: Path, *, times: bool = False) -> dict[str, tuple[object, ...]]:
    """All below ``root`` but git's own: kind, permissions, content, and the time where asked for."""
    seen: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(root):
        if folder == str(root) and ".git" in folders:
            folders.remove(".git")
        for name in (*names, *folders):
            path = Path(folder, name)
            found = path.lstat()
            short = str(path.relative_to(root))
            if path.is_symlink():
                seen[short] = ("link", str(path.readlink()))
            elif path.is_dir():
                seen[short] = ("folder", oct(found.st_mode))
            else:
                time = (found.st_mtime_ns,) if times else ()
                seen[short] = ("file", oct(found.st_mode), hashlib.sha256(path.read_bytes()).hexdigest(), *time)
    return seen


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture
def bench(lab: Lab, tmp_path: Path) -> Bench:
    shutil.copytree(lab.now, tmp_path / "project")
    return Bench(lab, tmp_path)
