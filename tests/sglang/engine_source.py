"""Where the engine's source text comes from: a checkout that patchctl itself has patched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]
SERIES = yaml.safe_load((PROJECT / "series.yaml").read_text(encoding="utf-8"))
TAGS = tuple(SERIES["targets"])


@dataclass(frozen=True)
class Engine:
    """A git checkout of a release with its series on top, one commit per patch."""

    tag: str
    root: Path

    @property
    def ids(self) -> list[str]:
        ids: list[str] = SERIES["targets"][self.tag]["patches"]
        return ids

    @property
    def base(self) -> str:
        return f"HEAD~{len(self.ids)}"

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", *args], cwd=self.root, check=True, capture_output=True)
        return done.stdout.decode("utf-8")

    def pristine(self, path: str) -> str:
        return self.git("show", f"{self.base}:python/sglang/srt/{path}")

    def patched(self, path: str) -> str:
        return self.git("show", f"HEAD:python/sglang/srt/{path}")

    def touched(self) -> list[str]:
        return self.git("diff", "--name-only", self.base, "HEAD").split()


def apply(tag: str, project: Path) -> Path:
    """Applies a copy of the committed series to ``tag`` in ``project``; returns the checkout."""
    for name in ("series.yaml", "series.lock"):
        shutil.copy(PROJECT / name, project)
    shutil.copytree(PROJECT / "patches", project / "patches")
    command = [sys.executable, "-m", "patchctl", "-C", str(project), "apply", "--target", tag, "--source", "pypi"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return project / "build" / f"sglang-{tag}"
