"""Where an archive's files stand in the repository, and which addresses git may be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, Refused
from patchctl.series.model import Sdist, Upstream
from patchctl.upstream import urls
from patchctl.upstream.mapping import Mapping, glob

UPSTREAM = Upstream(
    name="demo",
    pypi="demo",
    sdist=Sdist(root="python/", drop=["PKG-INFO", "*.egg-info/**", "demo/_version.py"]),
    layout={"python/demo/": "demo/", "python/other/": "demo/other/"},
)


@pytest.mark.parametrize(
    ("path", "sdist", "wheel"),
    [
        ("demo/a.py", "python/demo/a.py", "python/demo/a.py"),
        ("demo/other/a.py", "python/demo/other/a.py", "python/other/a.py"),
        ("demo/_version.py", None, None),
        ("PKG-INFO", None, None),
        ("demo/PKG-INFO", "python/demo/PKG-INFO", "python/demo/PKG-INFO"),
        ("demo.egg-info/x/y", None, None),
        ("demo-1.0.dist-info/METADATA", "python/demo-1.0.dist-info/METADATA", None),
        ("demo-1.0.data/purelib/demo/b.py", "python/demo-1.0.data/purelib/demo/b.py", "python/demo/b.py"),
        ("demo/fast.cpython-311-x86_64-linux-gnu.so", "python/demo/fast.cpython-311-x86_64-linux-gnu.so", None),
        ("demo/__pycache__/a.cpython-311.pyc", "python/demo/__pycache__/a.cpython-311.pyc", None),
    ],
)
def test_places(path: str, sdist: str | None, wheel: str | None) -> None:
    mapping = Mapping.of(UPSTREAM)
    assert (mapping.sdist(path), mapping.wheel(path)) == (sdist, wheel)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.egg-info/**", "a.egg-info/b/c", True),
        ("*.egg-info/**", "src/a.egg-info/b", False),
        ("**/*.egg-info/**", "src/a.egg-info/b", True),
        ("**/*.egg-info/**", "a.egg-info/b", True),
        ("setup.cfg", "sub/setup.cfg", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]*.py", "b1.py", True),
        ("[!ab]*.py", "b1.py", False),
        ("a.py", "aXpy", False),
        ("**", "any/thing", True),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert bool(glob(pattern).fullmatch(path)) is fits


@pytest.mark.parametrize(
    "url",
    ["--upload-pack=touch /tmp/x", "ext::sh -c touch% /tmp/x", "fd::3", "ssh://-oProxyCommand=x/y", "ftp://host/x",
     "https://host/a\nb", "javascript://x", "git+ext://x"],
)  # fmt: skip
def test_unsafe_addresses_are_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        urls.git_address(url, tmp_path)


@pytest.mark.parametrize("url", ["https://host/x.git", "ssh://git@host/x", "git@host:x/y.git", "host:x", "file:///x"])
def test_usual_addresses(url: str, tmp_path: Path) -> None:
    assert urls.git_address(url, tmp_path) == url


def test_local_paths(tmp_path: Path) -> None:
    (tmp_path / "a" / "up:stream").mkdir(parents=True)
    assert urls.git_address("a/up:stream", tmp_path) == str(tmp_path / "a" / "up:stream")
    assert urls.git_address("../a/up:stream", tmp_path / "a") == str(tmp_path / "a" / "up:stream")
    with pytest.raises(EnvironmentFailed, match="no git repository"):
        urls.git_address("./nowhere", tmp_path)


def test_logins_are_not_shown() -> None:
    assert urls.redact("at 'https://me:secret@host/x' and ssh://git@host/y?key=1 ") == (
        "at 'https://host/x' and ssh://host/y?… "
    )
