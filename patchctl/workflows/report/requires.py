"""Packages that patches need at run time, on both releases, and what upstream itself asks of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from patchctl.engine.overlay import Tree
from patchctl.series.model import PatchInfo, Upstream
from patchctl.workflows.report.model import Requirement
from patchctl.workflows.report.stack import look


def requirements(
    upstream: Upstream, infos: Mapping[str, PatchInfo], old: Sequence[str], new: Sequence[str], base: Tree, onto: Tree
) -> tuple[Requirement, ...]:
    """The packages that the patches ``old`` (on ``base``) or ``new`` (on ``onto``) need, by name."""
    packages = sorted({name for id in (*old, *new) if id in infos for name in infos[id].requires})
    if not packages:
        return ()
    path = upstream.sdist.root + "pyproject.toml"
    before, after = (_asked(tree, path, packages) for tree in (base, onto))
    return tuple(
        Requirement(name, _by(infos, old, name), _by(infos, new, name), before.get(name), after.get(name))
        for name in packages
    )


def _by(infos: Mapping[str, PatchInfo], ids: Sequence[str], package: str) -> tuple[str, ...]:
    needing = (id for id in ids if id in infos and package in infos[id].requires)
    return tuple(f"{id} {infos[id].requires[package]}".strip() for id in needing)


def _asked(tree: Tree, path: str, packages: Sequence[str]) -> dict[str, str]:
    """What ``path`` asks of ``packages``: the first quoted requirement of each.

    The file is searched, not parsed: Python reads TOML only since 3.11, and the answer must not depend on it.
    """
    state = look(tree, path)
    text = state.data.decode("utf-8", "replace") if state else ""
    found: dict[str, str] = {}
    for match in re.finditer(r"[\"']([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]\"']*\])?\s*([^\"'\n]*)[\"']", text):
        name = _canonical(match[1])
        wanted = next((package for package in packages if _canonical(package) == name), None)
        if wanted is not None and wanted not in found and (not match[3] or match[3][0] in "<>=!~;@ "):
            found[wanted] = match[3].strip() or "any version"
    return found


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
