"""pip's configuration, as pip reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.errors import InvalidInput
from patchctl.upstream import pipconfig


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own, and a machine without a configuration."""
    monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_nothing_is_set(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipconfig, "_files", lambda env: iter(()))  # /etc is this machine's
    assert pipconfig.read() == pipconfig.IndexSettings()


def test_files_win_in_pips_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def url(name: str) -> str:
        return f"[global]\nindex-url = https://{name}/simple\n"

    order = [
        (home / "xdg" / "pip" / "pip.conf", "system"),
        (home / ".pip" / "pip.conf", "old"),
        (home / ".config" / "pip" / "pip.conf", "user"),
        (home / "venv" / "pip.conf", "venv"),
    ]
    for path, name in order:
        write(path, url(name))
        assert pipconfig.read().index_url == f"https://{name}/simple"
    write(home / "own.conf", url("own"))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(home / "own.conf"))
    assert pipconfig.read().index_url == "https://own/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://env/simple")
    assert pipconfig.read().index_url == "https://env/simple"
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "")
    assert pipconfig.read().index_url is None


def test_a_file_that_is_named_takes_the_users_place(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / ".config" / "pip" / "pip.conf", "[global]\nproxy = user:1\n")
    write(home / "own.conf", "[global]\ntimeout = 3\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(home / "own.conf"))
    assert (pipconfig.read().proxy, pipconfig.read().timeout) == (None, 3.0)


def test_sections_and_spellings(home: Path) -> None:
    write(
        home / ".config" / "pip" / "pip.conf",
        "[global]\nindex_url = https://a\nextra-index-url =\n    https://b\n    https://c\nno-index = false\n"
        "[install]\nindex-url = https://d\nfind-links = /x /y\ntrusted-host = h:1 i\n[download]\nindex-url = https://e\n",
    )
    read = pipconfig.read()
    assert read.index_url == "https://d"
    assert read.extra_index_urls == ("https://b", "https://c")
    assert read.find_links == ("/x", "/y") and read.trusted_hosts == ("h:1", "i") and not read.no_index


@pytest.mark.parametrize("text", ["index-url = x\n", "[global]\n\xff\x00=\n[global]\n"])
def test_a_broken_file_is_named(home: Path, text: str) -> None:
    path = home / ".config" / "pip" / "pip.conf"
    write(path, text)
    with pytest.raises(InvalidInput) as caught:
        pipconfig.read()
    assert caught.value.problems[0].file == str(path)


@pytest.mark.parametrize("name", ["PIP_TIMEOUT", "PIP_RETRIES"])
@pytest.mark.parametrize("value", ["soon", "nan", "inf", "1e400", "-1"])
def test_a_number_that_is_none(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=value):
        pipconfig.read()


def test_pip_agrees(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files and variables, given to pip itself."""
    write(home / "xdg" / "pip" / "pip.conf", "[global]\nindex-url = https://system\nproxy = p:1\nretries = 4\n")
    write(home / ".config" / "pip" / "pip.conf", "[global]\nindex-url = https://user\n[install]\nproxy = p:2\n")
    monkeypatch.setenv("PIP_RETRIES", "2")
    code = (
        "from pip._internal.commands import create_command as c;"
        "o, _ = c('install').parse_args(['x']); print(o.index_url, o.proxy, o.retries)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"there is no pip to ask here: {done.stderr.strip().splitlines()[-1]}")
    read = pipconfig.read()
    assert done.stdout.split() == [read.index_url, read.proxy, str(read.retries)]
