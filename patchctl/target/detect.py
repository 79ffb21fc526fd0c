"""Finding out what kind of place a folder is, and opening it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.errors import EnvironmentFailed, InvalidInput, Problem, Refused
from patchctl.target import environment
from patchctl.target.environment import Distribution
from patchctl.target.faults import Faults
from patchctl.target.folder import load_receipt, open_root
from patchctl.target.installed import RECEIPT, RECORD, Installed
from patchctl.target.layout import Shape
from patchctl.target.tree import open_tree

if TYPE_CHECKING:
    from patchctl.target.place import Place


def open_place(path: Path, shape: Shape | None, footprint: Iterable[str], faults: Faults | None = None) -> Place:
    """The place in the folder ``path``: a git checkout, site-packages, or an unpacked tree.

    A checkout is a folder that is a repository's top level; one that only lies inside of a repository is a tree. A
    folder that holds the dist-info of ``shape``'s distribution is site-packages. ``footprint`` are the files that the
    series touches (the repository's names); without a ``shape`` the place must have a receipt that tells.
    Raises EnvironmentFailed if there is no such folder, Refused if it is nothing that can be patched.
    """
    if not path.is_dir():
        raise EnvironmentFailed(Problem("no-folder", f"There is no folder {path}."))
    if os.path.lexists(path / ".git"):
        if not ((path / ".git").is_dir() or (path / ".git").is_file()):  # git would wait for a pipe to be written to
            why = f"{path / '.git'} is neither a folder nor a file, so there is no checkout."
            raise Refused(Problem("not-a-checkout", why, file=str(path / ".git")))
        from patchctl.target.checkout import Checkout

        return Checkout.open(path)
    distribution = _distribution(path, shape)
    if distribution is not None:
        return at(distribution, shape, faults)
    return open_tree(path, shape or Shape(""), footprint, faults)


def open_installed(
    name: str | None, python: Path | None, shape: Shape | None, faults: Faults | None = None
) -> tuple[Installed, Distribution]:
    """The distribution ``name`` in the environment of ``python`` (None: this one), or without a name the one that is
    patched there.

    Raises EnvironmentFailed if it is not installed, Refused if it can't be patched, InvalidInput if several are.
    """
    distribution = environment.find(name, python) if name else _patched(python)
    return at(distribution, shape, faults, environment.ahead(distribution.site, python)), distribution


def at(
    distribution: Distribution, shape: Shape | None, faults: Faults | None = None, ahead: Sequence[Path] = ()
) -> Installed:
    """The place that ``distribution`` is. Its receipt's mapping comes before the ``shape``'s.

    ``ahead`` is what Python looks into before it comes to that place.
    """
    faults = faults or Faults.from_environment()
    folder = distribution.site / distribution.dist_info
    with open_root(distribution.site, faults) as root:
        state = root.read(f"{distribution.dist_info}/{RECEIPT}")
        receipt = load_receipt(folder / RECEIPT, state)
        layout: Mapping[str, str] = receipt.layout if receipt is not None else {}
        if not layout and shape is not None:
            listed = root.read(f"{distribution.dist_info}/{RECORD}")
            layout = shape.layout or _from_record(listed.data if listed else b"", shape.sdist_root)
    return Installed(distribution.site, distribution.dist_info, layout, faults, ahead)


def _distribution(path: Path, shape: Shape | None) -> Distribution | None:
    if shape is not None:
        return environment.in_folder(shape.pypi or shape.name, path)
    patched = environment.with_file(RECEIPT, [path])
    return _only(patched) if patched else None


def _patched(python: Path | None) -> Distribution:
    found = environment.with_file(RECEIPT, environment.search_path(python))
    if not found:
        where = "this environment" if python is None else f"the environment of {python}"
        why = f"Nothing that patchctl patched is installed in {where}."
        raise EnvironmentFailed(Problem("not-installed", why, next="patchctl status --installed in the series' folder"))
    return _only(found)


def _only(found: list[Distribution]) -> Distribution:
    if len(found) > 1:
        names = ", ".join(sorted({one.name for one in found}))
        raise InvalidInput(
            Problem("usage", f"Several patched distributions are installed: {names}. Use -C to say which.")
        )
    return found[0]


def _from_record(data: bytes, sdist_root: str) -> dict[str, str]:
    """The mapping of a series.yaml without ``layout``: each top-level package stands in the repository as in an
    archive. Files outside of packages have none, or a patch to README would land in site-packages."""
    from patchctl.target import record

    try:
        tops = {name.partition("/")[0] for name in record.names(data) if "/" in name}
    except Refused:
        return {}
    packages = sorted(top for top in tops if top.isidentifier())
    return {f"{sdist_root}{top}/": f"{top}/" for top in packages if top != "__pycache__"}
