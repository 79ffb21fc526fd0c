"""An upstream with several releases, and a series on the first of them, for the tests of ``rebase``.

Release v1.1 changes what the patches change, in every way that there is: elsewhere, above, the same, otherwise, or
not at all. Everything is real git, offline; what is slow to make is made once a session and copied.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from patchctl.cli.main import group
from tests.projects import DOCUMENT, ENTRY, environment, picture
from tests.target.checkouts import BARE_USER, git

Files = Mapping[str, "bytes | None"]

CORE = b"".join(b"def f%d():\n    return %d\n\n\n" % (n, n) for n in range(12))
OTHER = b"".join(b"def g%d():\n    return %d\n\n\n" % (n, n) for n in range(12))
MODEL = b"""class Model:
    def first(self):
        return 1

    def last(self):
        return 9
"""
BASE: dict[str, bytes] = {
    "README.md": b"demo\n",
    "demo/__init__.py": b'"""A demo."""\n',
    "demo/core.py": CORE,
    "demo/other.py": OTHER,
    "demo/model.py": MODEL,
    "demo/quiet.py": b"A = 1\nB = 2\nC = 3\n",
    "demo/table.bin": bytes(range(256)) * 4,
    "demo/tool.sh": b"#!/bin/sh\necho tool\n",
    "demo/gone.py": b"".join(b"GONE_%d = %d\n" % (n, n) for n in range(9)),
}
# What v1.1 makes of it.
OWN = b"\n    def extra(self):\n        return 'upstream'\n"
NEXT: dict[str, bytes | None] = {
    "demo/core.py": b"import os\n\n\n"
    + CORE.replace(b"return 3\n", b"return 33\n").replace(b"return 7\n", b"return 77\n"),
    "demo/other.py": b"TOP = 1\n" + OTHER,
    "demo/model.py": MODEL.replace(b"        return 9\n", b"        return 9\n" + OWN),
    "demo/table.bin": b"\1" + bytes(range(256)) * 4,
    "demo/gone.py": None,
}

# The series: what each patch writes, on top of the ones before it.
STILL = {"demo/quiet.py": b"A = 1\nB = 22\nC = 3\n"}
SHIFTED = {"demo/other.py": OTHER.replace(b"return 5\n", b"return 55\n")}
CLASH = {"demo/core.py": CORE.replace(b"return 3\n", b"return 300\n")}
LATER = {"demo/core.py": CLASH["demo/core.py"].replace(b"return 10\n", b"return 1000\n")}
TAKEN = {"demo/other.py": b"TOP = 1\n" + OTHER}
RIVAL = {
    "demo/model.py": MODEL.replace(b"        return 9\n", b"        return 9\n" + OWN.replace(b"'upstream'", b"'ours'"))
}
FRESH = {"demo/fresh.py": b"FRESH = 1\n"}
BINARY = {"demo/table.bin": bytes(range(256)) * 4 + b"\2"}
DELETED = {"demo/gone.py": BASE["demo/gone.py"].replace(b"GONE_4 = 4\n", b"GONE_4 = 44\n")}

SERIES: dict[str, Files] = {"still": STILL, "shifted": SHIFTED, "clash": CLASH, "later": LATER, "fresh": FRESH}
SMOOTH: dict[str, Files] = {"still": STILL, "shifted": SHIFTED, "fresh": FRESH}


@dataclass(frozen=True)
class Said:
    """What a command said: its exit code, and its JSON document."""

    code: int
    document: dict[str, Any]
    stderr: str = ""

    @property
    def outcomes(self) -> dict[str, str]:
        return {patch["id"]: patch["outcome"] for patch in self.document["patches"]}

    @property
    def kinds(self) -> list[str]:
        return [problem["kind"] for problem in self.document["problems"]]

    @property
    def needed(self) -> list[str]:
        found: list[str] = self.document["decisions_needed"]
        return found

    def patch(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = next(patch for patch in self.document["patches"] if patch["id"] == id)
        return found


@dataclass
class World:
    """The upstream and a cache, for a whole session."""

    root: Path
    commits: dict[str, str] = field(default_factory=dict)
    mails: dict[str, bytes] = field(default_factory=dict)

    @property
    def upstream(self) -> Path:
        return self.root / "upstream"

    @property
    def env(self) -> dict[str, str]:
        return environment(PATCHCTL_CACHE=str(self.root / "cache"))

    def release(self, tag: str, files: Files) -> None:
        put(self.upstream, files)
        git(self.upstream, "add", "-A")
        git(self.upstream, "commit", "-q", "--allow-empty", "-m", tag)
        git(self.upstream, "tag", tag)
        self.commits[tag] = git(self.upstream, "rev-parse", "HEAD").strip()

    def made(self, id: str, before: Files, after: Files, base: str = "v1.0") -> bytes:
        """The patch file for a change, as git writes it."""
        folder = self.root / "scratch"
        shutil.rmtree(folder, ignore_errors=True)
        git(self.root, "clone", "-q", "-s", str(self.upstream), str(folder))
        git(folder, "checkout", "-q", base)
        for files in (before, after):
            put(folder, files)
            git(folder, "add", "-A", "-f")
            git(folder, "commit", "-q", "--allow-empty", "-m", f"The patch {id}\n\nWhat it is for.")
        return os.fsencode(git(folder, "format-patch", "-1", "--stdout", "--binary", "--full-index", "-M"))


def put(folder: Path, files: Files) -> None:
    for name, data in files.items():
        path = folder / name
        if data is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)


@dataclass
class Move:
    """A project of one test."""

    world: World
    project: Path

    def carry(self, series: Mapping[str, Files], base: str = "v1.0") -> Move:
        """Make the project one with this series, locked."""
        shutil.rmtree(self.project, ignore_errors=True)
        (self.project / "patches" / base).mkdir(parents=True)
        before: dict[str, bytes | None] = {}
        for id, files in series.items():
            data = self.world.made(id, before, files, base)
            (self.project / "patches" / base / f"{id}.patch").write_bytes(data)
            before |= files
        self.write(series, base)
        assert self.run("lock").code == 0
        return self

    def write(self, ids: Mapping[str, object], base: str = "v1.0") -> None:
        entries = "".join(ENTRY.format(id=id, more="") for id in ids) or "  {}\n"
        text = DOCUMENT.format(
            git=self.world.upstream, commit=self.world.commits[base], ids=", ".join(ids), entries=entries
        )
        text = text.replace("  pypi: demo\n", "").replace('"python/"', '""').replace("python/demo/", "demo/")
        text = text.replace("v1.0", base) if base != "v1.0" else text
        text = text.replace("patches:\n  {}\n", "patches: {}\n")
        (self.project / "series.yaml").write_text(f"# A comment that stays.\n{text}")

    def run(self, *args: str | Path) -> Said:
        words = ["-C", str(self.project), "--json", *map(str, args)]
        done = CliRunner().invoke(group, words, standalone_mode=False)
        if isinstance(done.exception, click.UsageError):
            return Said(2, {"problems": [{"kind": "usage"}]})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        document = json.loads(done.stdout) if done.stdout.strip() else {}
        return Said(done.return_value or done.exit_code, document, done.stderr)

    def rebase(self, *args: str | Path) -> Said:
        return self.run("rebase", *args)

    def introduce(self, name: str, email: str) -> None:
        """Tell git who this is."""
        config = self.project.parent / "gitconfig"
        config.write_text(f"[user]\n\tname = {name}\n\temail = {email}\n")
        os.environ["GIT_CONFIG_GLOBAL"] = str(config)

    def begin(self, *args: str | Path) -> Said:
        return self.rebase("--to", "v1.1", *args)

    def conflict(self, id: str, path: str = "demo/core.py") -> Path:
        return self.project / ".patchctl/conflicts" / id / path

    def picture(self) -> dict[str, tuple[object, ...]]:
        """Everything in the project but the state folder."""
        return {name: seen for name, seen in picture(self.project).items() if not name.startswith(".patchctl")}

    @property
    def series(self) -> dict[str, Any]:
        import yaml

        found: dict[str, Any] = yaml.safe_load((self.project / "series.yaml").read_text())
        return found

    @property
    def lock(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.project / "series.lock").read_text())
        return found["targets"]  # type: ignore[no-any-return]

    def patch(self, id: str, tag: str = "v1.1") -> bytes:
        return (self.project / "patches" / tag / f"{id}.patch").read_bytes()

    def applied(self, tag: str, name: str) -> bytes | None:
        """The file ``name`` after ``patchctl apply``."""
        assert self.run("apply", "--target", tag).code == 0
        path = self.project / "build" / f"demo-{tag}" / name
        return path.read_bytes() if path.exists() else None


@pytest.fixture(scope="session")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    found = World(tmp_path_factory.mktemp("moving"))
    found.upstream.mkdir()
    git(found.upstream, "init", "-q", "-b", "main")
    found.release("v1.0", BASE)
    found.release("v1.1", NEXT)
    found.release("v1.2", {"demo/quiet.py": b"A = 1\nB = 2\nC = 4\n"})
    found.release("v2.0rc1", {"README.md": b"soon\n"})
    found.release("v1.2.post1", {"README.md": b"post\n"})
    found.release("rel/v9", {"README.md": b"odd\n"})
    yield found


@pytest.fixture
def offline(moving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "PATCHCTL_", "PIP_"))]:
        monkeypatch.delenv(name)
    for name, value in {**BARE_USER, **moving.env}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def move(moving: World, offline: None, tmp_path: Path) -> Move:
    """A project with the whole series on v1.0."""
    template = moving.root / "project"
    found = Move(moving, tmp_path / "project")
    if not template.exists():
        shutil.copytree(found.carry(SERIES).project, template)
        return found
    shutil.copytree(template, found.project)
    return found


@pytest.fixture
def bare(moving: World, offline: None, tmp_path: Path) -> Move:
    """A project that a test makes itself, with :meth:`Move.carry`."""
    return Move(moving, tmp_path / "project")
