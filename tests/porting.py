"""Runs ``patchctl port`` in this process, and looks at trees."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from patchctl.cli.main import run


@dataclass(frozen=True)
class Run:
    code: int
    document: dict[str, Any]
    stderr: str

    @property
    def outcomes(self) -> list[str]:
        return [patch["outcome"] for patch in self.document.get("patches", [])]

    @property
    def words(self) -> str:
        """Everything said, to look for words in."""
        return json.dumps(self.document, ensure_ascii=False)


def port(capfd: pytest.CaptureFixture[str], *args: str | Path) -> Run:
    """Run ``patchctl --json port`` with ``args``."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as stop:
        run(["--json", "port", *map(str, args)])
    out, err = capfd.readouterr()
    assert isinstance(stop.value.code, int)
    return Run(stop.value.code, json.loads(out), err)


def snapshot(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link below ``root``: what it is, and its content or target."""
    found: dict[str, tuple[str, bytes]] = {}
    for folder, folders, files in os.walk(root):
        for name in files + [name for name in folders if Path(folder, name).is_symlink()]:
            path = Path(folder, name)
            status = path.lstat()
            key = os.path.relpath(path, root)
            if stat.S_ISLNK(status.st_mode):
                found[key] = ("link", os.fsencode(path.readlink()))
            else:
                found[key] = ("executable" if status.st_mode & 0o100 else "file", path.read_bytes())
    return found
