"""Where the files of an archive or an unpacked tree stand in the upstream repository."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from patchctl.series.model import Upstream

# Compiled parts are made from the release; they are no files of its repository.
_BUILT = re.compile(r"\.(so|pyd|dylib|dll|a|lib|pyc|pyo)$|(^|/)__pycache__/")
_WHEEL_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/")

Way = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Mapping:
    """The ways from an archive's paths to the repository's; None for a file that the repository does not have."""

    root: str
    drop: tuple[re.Pattern[str], ...]
    layout: tuple[tuple[str, str], ...]  # (prefix in site-packages, prefix in the repository), longest first

    @classmethod
    def of(cls, upstream: Upstream) -> Mapping:
        pairs = sorted(((site, repo) for repo, site in upstream.layout.items()), key=lambda pair: -len(pair[0]))
        return cls(upstream.sdist.root, tuple(map(glob, upstream.sdist.drop)), tuple(pairs))

    def sdist(self, path: str) -> str | None:
        """From below the one folder of a source archive."""
        return None if self.generated(path) else self.root + path

    def wheel(self, path: str) -> str | None:
        """From a wheel, or from site-packages."""
        path = _WHEEL_DATA.sub("", path, count=1)
        if _BUILT.search(path):
            return None
        for site, repo in self.layout:
            if path.startswith(site):
                placed = repo + path[len(site) :]
                return None if self.generated(placed.removeprefix(self.root)) else placed
        return None

    def repository(self, path: str) -> str | None:
        """From an unpacked tree that has the repository's own paths already."""
        return None if _BUILT.search(path) and "__pycache__/" in path else path

    def generated(self, path: str) -> bool:
        return any(pattern.fullmatch(path) for pattern in self.drop)


def archive_kind(name: str) -> str | None:
    """``wheel`` or ``sdist`` by the file name's end, None for anything else."""
    lower = name.lower()
    if lower.endswith(".whl"):
        return "wheel"
    return "sdist" if lower.endswith((".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")) else None


def glob(pattern: str) -> re.Pattern[str]:
    """A path pattern: ``*`` and ``?`` within one component, ``**`` over any number of them, ``[…]`` a set."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append(r"(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            inner = pattern[at + 1 : end].replace("\\", r"\\")
            parts.append(f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]")
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def recipe(upstream: Upstream, kind: str) -> str:
    """What decides how an archive of ``kind`` is taken apart, in one line: another recipe, another tree."""
    parts: dict[str, object] = {"way": 1, "root": upstream.sdist.root, "drop": upstream.sdist.drop}
    if kind == "wheel":
        parts["layout"] = upstream.layout
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))
