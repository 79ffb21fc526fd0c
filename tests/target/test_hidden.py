"""What Python imports instead of a file: compared with what Python itself says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.target import hidden


def make(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


@pytest.mark.parametrize(
    ("ahead", "site", "name"),
    [
        ((), ("demo/__init__.py", "demo/core.py"), "demo/core.py"),
        (("demo/__init__.py",), ("demo/__init__.py", "demo/core.py"), "demo/core.py"),
        (("demo.py",), ("demo/__init__.py", "demo/core.py"), "demo/core.py"),
        (("demo/core.py",), ("demo/__init__.py", "demo/core.py"), "demo/core.py"),  # a portion gives way
        (("demo/core.py",), ("demo/core.py",), "demo/core.py"),
        (("demo/other.py",), ("demo/core.py",), "demo/core.py"),
        (("ns/demo/__init__.py",), ("ns/demo/__init__.py", "ns/demo/core.py"), "ns/demo/core.py"),
        (("ns/other/__init__.py",), ("ns/demo/__init__.py", "ns/demo/core.py"), "ns/demo/core.py"),
        (("ns/demo/core.py",), ("ns/demo/__init__.py", "ns/demo/core.py"), "ns/demo/core.py"),
        ((), ("demo/__init__.py", "demo/core.py", "demo/core/__init__.py"), "demo/core.py"),
        ((), ("demo/__init__.py", "demo/core.py", "demo/core/data.txt"), "demo/core.py"),
        (("demo/__init__.py",), ("demo/__init__.py",), "demo/__init__.py"),
    ],
)
def test_as_python_finds_it(tmp_path: Path, ahead: tuple[str, ...], site: tuple[str, ...], name: str) -> None:
    first, second = make(tmp_path / "first", "x.txt", *ahead), make(tmp_path / "site", *site)
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    ask = f"import sys; sys.path[:0] = {[str(first), str(second)]!r}; import {module} as m; print(m.__file__)"
    said = subprocess.run([sys.executable, "-S", "-c", ask], capture_output=True, text=True, check=False)
    real = said.stdout.strip() == str(second / name)
    assert (name not in hidden.instead([name], second, [first])) is real, said


def test_compiled_modules_come_first(tmp_path: Path) -> None:
    site = make(tmp_path, "demo/__init__.py", "demo/core.py", "demo/core.abi3.so", "demo/corex.so", "demo/data.txt")
    assert hidden.instead(["demo/core.py", "demo/data.txt"], site, []) == {
        "demo/core.py": str(site / "demo/core.abi3.so")
    }
