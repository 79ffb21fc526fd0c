"""What Python would import instead of a file of an installed distribution.

A file may hold every patch and never be run: another package of its name comes earlier on ``sys.path``, or a compiled
module, or a package, stands beside it. Finders that somebody installs at start-up are out of sight.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_MODULE = r"(?:\.py|\.pyc|(?:\.[^.]+)?\.(?:so|pyd))"


def instead(names: Iterable[str], site: Path, ahead: Sequence[Path]) -> Mapping[str, str]:
    """For those of the files ``names`` (below ``site``) that Python passes by: the file or folder it takes.

    ``ahead`` are the entries of ``sys.path`` before ``site``.
    """
    look = _Look(site)
    found = {name: look.taken(name, ahead) for name in names if name.endswith(".py")}
    return {name: other for name, other in found.items() if other is not None}


class _Look:
    def __init__(self, site: Path) -> None:
        self._site = site
        self._seen: dict[str, frozenset[str]] = {}

    def taken(self, name: str, ahead: Sequence[Path]) -> str | None:
        parts = name.removesuffix(".py").removesuffix("/__init__").split("/")
        for entry in ahead:
            other = self._zipped(entry, parts[0]) if entry.is_file() else self._before(str(entry), parts)
            if other is not None:
                return other
        return self._beside(name)

    def _before(self, entry: str, parts: Sequence[str]) -> str | None:
        """What ``entry`` has for the module ``parts``, unless it is a mere portion of a namespace."""
        for depth, part in enumerate(parts):
            folder = os.path.join(entry, *parts[:depth])  # noqa: PTH118 - asked at every start of a container
            other = self._package(folder, part) or self._module(folder, part, _MODULE)
            if other is not None:
                return other
            if part not in self._names(folder) or self._package(os.path.join(self._site, *parts[:depth]), part):  # noqa: PTH118
                return None  # nothing there, or a portion, which gives way to the regular package behind it
        return None

    def _beside(self, name: str) -> str | None:
        """A package or a compiled module in the file's own folder, which both come before a source."""
        folder, _, last = str(self._site / name).removesuffix(".py").rpartition("/")
        package = None if last == "__init__" else self._package(folder, last)
        return package or self._module(folder, last, r"(?:\.[^.]+)?\.(?:so|pyd)")

    def _package(self, folder: str, part: str) -> str | None:
        here = f"{folder}/{part}"
        return here if part in self._names(folder) and self._module(here, "__init__", _MODULE) else None

    def _module(self, folder: str, part: str, suffix: str) -> str | None:
        fitting = re.compile(re.escape(part) + suffix)
        return next((f"{folder}/{name}" for name in self._names(folder) if fitting.fullmatch(name)), None)

    def _names(self, folder: str) -> frozenset[str]:
        if folder not in self._seen:
            try:
                self._seen[folder] = frozenset(os.listdir(folder))  # noqa: PTH208
            except OSError:
                self._seen[folder] = frozenset()
        return self._seen[folder]

    def _zipped(self, entry: Path, top: str) -> str | None:
        import zipfile  # few have one

        try:
            with zipfile.ZipFile(entry) as archive:
                names = archive.namelist()
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
            return None
        fitting = re.compile(re.escape(top) + rf"(?:/__init__)?{_MODULE}")
        return next((f"{entry}/{name}" for name in names if fitting.fullmatch(name)), None)
