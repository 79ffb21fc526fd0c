"""Which package index the user has, as pip is told: its configuration files and its environment variables.

The files are read in pip's order (system, user, virtual environment, then the one that PIP_CONFIG_FILE names),
later ones winning key by key; of the sections ``global``, ``download`` and ``install`` the later ones win
likewise, and the environment wins over all. Only what concerns finding and fetching archives is taken.
"""

from __future__ import annotations

import configparser
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from patchctl.errors import InvalidInput, Problem

_SECTIONS = ("global", "download", "install")
_ON = frozenset({"1", "true", "yes", "on", "y", "t"})


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Where archives may be found, and how the way there is secured.

    ``index_url`` is None for the index that pip takes by default. Times are seconds; ``cert`` and
    ``client_cert`` are paths.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    no_index: bool = False
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: float = 15.0
    retries: int = 5


def read(environ: Mapping[str, str] | None = None) -> IndexSettings:
    """The settings in ``environ`` (default: the process's) and in the files it leads to.

    Raises InvalidInput for a configuration file that pip could not read either, and for a number that is none.
    """
    env = os.environ if environ is None else environ
    by_key: dict[str, str] = {}
    for file in _files(env):
        by_key.update(_file(file))
    values: dict[str, str] = {}
    for section in _SECTIONS:
        prefix = f"{section}."
        values.update({key[len(prefix) :]: value for key, value in by_key.items() if key.startswith(prefix) and value})
    values.update({_key(name[4:]): value for name, value in env.items() if name.startswith("PIP_") and value})
    return IndexSettings(
        index_url=values.get("index-url") or values.get("pypi-url"),
        extra_index_urls=tuple(values.get("extra-index-url", "").split()),
        no_index=values.get("no-index", "").lower() in _ON,
        find_links=tuple(values.get("find-links", "").split()),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        cert=_path(values.get("cert")),
        client_cert=_path(values.get("client-cert")),
        proxy=values.get("proxy"),
        timeout=_number(values, ("timeout", "default-timeout"), 15.0),
        retries=int(_number(values, ("retries",), 5)),
    )


def _files(env: Mapping[str, str]) -> Iterator[Path]:
    chosen = env.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return
    import platformdirs

    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    # multipath: all the folders of XDG_CONFIG_DIRS, joined.
    for folder in platformdirs.site_config_dir("pip", appauthor=False, multipath=True).split(os.pathsep):
        yield Path(folder) / name
    if sys.platform != "win32":
        yield Path("/etc") / name
    if not (chosen and Path(chosen).exists()):
        home = Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 - who has none is no fault
        yield home / ("pip" if sys.platform == "win32" else ".pip") / name
        with contextlib.suppress(RuntimeError):  # who has no home has no settings there
            yield Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True)) / name
    yield Path(sys.prefix) / name
    if chosen:
        yield Path(chosen)


def _file(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        text = path.read_text(encoding="utf-8")
        parser.read_string(text, str(path))
    except OSError:
        # No such file, or none of ours to read: pip goes on without it as well.
        return {}
    except (configparser.Error, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0]
        raise InvalidInput(Problem("pip-config", f"pip's configuration can't be read: {why}", file=str(path))) from None
    return {f"{section}.{_key(name)}": value for section in parser.sections() for name, value in parser.items(section)}


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _path(text: str | None) -> str | None:
    return None if text is None else os.path.expanduser(text)  # noqa: PTH111 - an unknown ~user stays


def _number(values: Mapping[str, str], keys: tuple[str, ...], default: float) -> float:
    text = next((values[key] for key in keys if key in values), None)
    try:
        number = default if text is None else float(text)
        if not 0 <= number < 1e6:
            raise ValueError(text)
        return number
    except ValueError:
        why = f"pip's setting {keys[0]} is {text!r}, which is no number to work with."
        raise InvalidInput(Problem("pip-config", why)) from None
