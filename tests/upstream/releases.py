"""A small upstream, released in every form: a git repository, a source archive, a wheel, an index on loopback."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import os
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Below python/ in the repository, at the top of an archive. Modes as a release has them.
FILES: dict[str, tuple[int, bytes]] = {
    "demo/__init__.py": (0o644, b'"""A demo."""\n'),
    "demo/core.py": (0o644, b"def one():\n    return 1\n\n\ndef two():\n    return 2\n"),
    "demo/tool.py": (0o755, b"#!/usr/bin/env python3\nprint('tool')\n"),
    "demo/data/odd name \xe9.txt": (0o644, b"\x00\xff bytes\r\n"),
    "pyproject.toml": (0o755, b"[project]\nname = 'demo'\n"),
    "README.md": (0o644, b"demo\n"),
}
GENERATED: dict[str, tuple[int, bytes]] = {
    "demo/_version.py": (0o644, b"version = 'x'\n"),
    "PKG-INFO": (0o644, b"Metadata-Version: 2.1\nName: demo\n"),
    "setup.cfg": (0o644, b"[egg_info]\n"),
    "demo.egg-info/SOURCES.txt": (0o644, b"demo\n"),
}

SERIES = """\
version: 1
default: v1.0
upstream:
  name: demo
{sources}  sdist: {{root: "python/", drop: [PKG-INFO, setup.cfg, "*.egg-info/**", demo/_version.py]}}
  layout: {{"python/demo/": "demo/"}}
targets:
  v1.0:
    pin: {{{pin}}}
    patches: [{patches}]
patches:{entries}
"""
ENTRY = """
  {id}:
    title: {id}
    why: a test
    owner: tests
    upstream: {{status: pending}}"""


def project(
    folder: Path, *, git: str | None = None, pypi: str | None = None, pin: str, patches: Mapping[str, bytes]
) -> Path:
    """A project with one target, v1.0; ``pin`` is the inside of a YAML flow mapping."""
    sources = "".join(f"  {key}: {value}\n" for key, value in (("git", git), ("pypi", pypi)) if value)
    entries = "".join(ENTRY.format(id=id) for id in patches) or " {}"
    text = SERIES.format(sources=sources, pin=pin, patches=", ".join(patches), entries=entries)
    (folder / "patches" / "v1.0").mkdir(parents=True, exist_ok=True)
    (folder / "series.yaml").write_text(text)
    for id, data in patches.items():
        (folder / "patches" / "v1.0" / f"{id}.patch").write_bytes(data)
    return folder


def sdist(folder: Path, version: str = "1.0", change: Mapping[str, tuple[int, bytes]] | None = None) -> Path:
    """A source archive, as build tools write it."""
    path = folder / f"demo-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, (mode, data) in {**FILES, **GENERATED, **(change or {})}.items():
            info = tarfile.TarInfo(f"demo-{version}/{name}")
            info.size, info.mode = len(data), mode
            archive.addfile(info, io.BytesIO(data))
    return path


def wheel(folder: Path, version: str = "1.0", tag: str = "py3-none-any") -> Path:
    """A wheel: the package alone, without executable bits."""
    path = folder / f"demo-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (_, data) in {**FILES, **GENERATED}.items():
            if name.startswith("demo/"):
                info = zipfile.ZipInfo(name)
                info.external_attr = 0o100644 << 16
                archive.writestr(info, data)
        archive.writestr(f"demo-{version}.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\n")
        archive.writestr(f"demo-{version}.dist-info/RECORD", "")
    return path


def unpacked(folder: Path, *, below: str = "", generated: bool = True) -> Path:
    """The release as files, below ``below``."""
    for name, (mode, data) in {**FILES, **(GENERATED if generated else {})}.items():
        path = folder / below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
    return folder


def git(folder: Path, *args: str) -> str:
    """Run git as a test does, without anybody's configuration."""
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "tests" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": "1700000000 +0000" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, check=True)
    return done.stdout.decode().strip()


def repository(folder: Path, *, annotated: bool = True) -> Path:
    """An upstream with three releases, v0.9, v1.0 and v1.1, and files beside python/."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "README").write_text("top\n")
    unpacked(folder, below="python", generated=False)
    (folder / "python" / "demo" / "core.py").write_bytes(b"def one():\n    return 0\n")
    _release(folder, "v0.9", annotated)
    unpacked(folder, below="python", generated=False)
    _release(folder, None, annotated)
    (folder / "README").write_text("top, once more\n")
    _release(folder, "v1.0", annotated)
    (folder / "python" / "demo" / "core.py").write_bytes(b"def one():\n    return 11\n")
    _release(folder, "v1.1", annotated)
    return folder


def _release(folder: Path, tag: str | None, annotated: bool) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"release {tag}")
    if tag:
        git(folder, "tag", *(["-a", "-m", tag] if annotated else []), tag)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass
class Index:
    """A simple index of the archives in ``folder``, on loopback; a context manager.

    ``stated`` overrides the hash that a page states for a file (empty: none), ``served`` its bytes;
    ``login`` demands ``user:password``. ``asked`` are the paths that were asked for.
    """

    folder: Path
    stated: dict[str, str] = field(default_factory=dict)
    served: dict[str, bytes] = field(default_factory=dict)
    login: str | None = None
    status: int = 200
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> Index:
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                status, kind, body = index.answer(self.path, self.headers.get("Authorization"))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Tests are quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/simple/"

    def answer(self, path: str, authorization: str | None) -> tuple[int, str, bytes]:
        if self.login and authorization != "Basic " + base64.b64encode(self.login.encode()).decode():
            return 401, "text/plain", b"who are you?"
        if self.status != 200:
            return self.status, "text/plain", b"no"
        if path == "/simple/demo/":
            links = "".join(self._link(file) for file in sorted(self.folder.iterdir()))
            return 200, "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        name = path.rpartition("/")[2]
        if path.startswith("/files/") and (self.folder / name).is_file():
            return 200, "application/octet-stream", self.served.get(name) or (self.folder / name).read_bytes()
        return 404, "text/plain", b"not here"

    def _link(self, file: Path) -> str:
        stated = self.stated.get(file.name, sha256(file))
        fragment = f"#sha256={stated}" if stated else ""
        return f'<a href="../../files/{file.name}{fragment}" data-yanked="a mistake">{file.name}</a>\n'
