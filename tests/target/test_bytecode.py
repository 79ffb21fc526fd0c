"""Which files count as a module's bytecode."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchctl.target import bytecode
from patchctl.target.safeio import Root

NAMES = [
    "pkg/__pycache__/mod.cpython-311.pyc",
    "pkg/__pycache__/mod.cpython-38.opt-1.pyc",
    "pkg/__pycache__/mod.cpython-313.opt-2.pyc",
    "pkg/__pycache__/mod.pypy310.pyc",
    "pkg/mod.pyc",
    "pkg/mod.pyo",
]
OTHERS = [
    "pkg/__pycache__/mod.sub.cpython-311.pyc",
    "pkg/__pycache__/module.cpython-311.pyc",
    "pkg/__pycache__/mod.cpython-311.pyc.139912",
    "pkg/module.pyc",
    "__pycache__/mod.cpython-311.pyc",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (*NAMES, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_all_of_a_module(root: Path) -> None:
    with Root.open(root) as opened:
        assert sorted(bytecode.of(opened, "pkg/mod.py")) == sorted(NAMES)


@pytest.mark.parametrize("name", ["pkg/mod.json", "pkg/none.py", "none/none.py"])
def test_nothing(root: Path, name: str) -> None:
    with Root.open(root) as opened:
        assert bytecode.of(opened, name) == []
