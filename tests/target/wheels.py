"""Tiny wheels, written by hand and installed by the real pip."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

FILES: Mapping[str, bytes] = {
    "tiny/__init__.py": b"",
    "tiny/mod.py": b"VALUE = 1\n",
    "tiny/other.py": b"OTHER = 1\n",
    "tiny/gone.py": b"GONE = 1\n",
    "tiny/sub/__init__.py": b"",
    "tiny/sub/only.py": b"ONLY = 1\n",
    "tiny/data.json": b"{}\n",
}
LAYOUT = {"python/tiny/": "tiny/"}


def build(folder: Path, name: str = "tiny", version: str = "1.0", files: Mapping[str, bytes] = FILES) -> Path:
    """A wheel of ``files`` in ``folder``, and its path."""
    info = f"{name}-{version}.dist-info"
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": b"[console_scripts]\ntiny-tool = tiny.mod:main\n",
    }
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in members.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in {**members, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(zipfile.ZipInfo(member, (2024, 1, 1, 0, 0, 0)), data)
    return path


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def environment(folder: Path) -> Path:
    """A new virtual environment without pip in it, and its site-packages."""
    venv.create(folder, with_pip=False)
    return next((folder / "lib").glob("python*/site-packages"))


def pip(folder: Path, *args: str) -> None:
    """Run this interpreter's pip on the environment in ``folder``."""
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "--disable-pip-version-check"]
    done = subprocess.run([*command, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def install(folder: Path, wheel: Path, *args: str) -> None:
    pip(folder, "install", "--no-deps", "--no-index", *args, str(wheel))
