"""An unpacked tree: a plain folder of sources, and in it patchctl's own ``.patchctl`` while patches are live."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.engine.state import FileState
from patchctl.series import receipt as receipts
from patchctl.series.receipt import Receipt
from patchctl.target import layout as layouts
from patchctl.target.faults import Faults
from patchctl.target.folder import FolderPlace, load_receipt, open_root
from patchctl.target.layout import Shape
from patchctl.target.safeio import Root

if TYPE_CHECKING:
    from patchctl.target.place import WritePlan

STATE = ".patchctl"
RECEIPT = "receipt.json"


class Tree(FolderPlace):
    """See :class:`patchctl.target.place.Place`. Files that no patch names are never touched, bytecode included:
    Python sees by the later time that a source is not the one it compiled."""

    kind = "tree"

    def __init__(self, root: Path, layout: Mapping[str, str], faults: Faults | None = None) -> None:
        super().__init__(root, root / STATE, root, layout, faults or Faults.from_environment())

    def receipt(self) -> Receipt | None:
        with self._opened() as root:
            return load_receipt(self._state / RECEIPT, root.read(f"{STATE}/{RECEIPT}"))

    def write(self, plan: WritePlan) -> Receipt | None:
        from patchctl.target import transaction
        from patchctl.target.transaction import Change

        with self._opened() as root:
            standing = root.read(f"{STATE}/{RECEIPT}")
            old = load_receipt(self._state / RECEIPT, standing)
            changes = self._moves(plan, old, times=False)
            new = None if plan.receipt is None else self._completed(root, plan.receipt, old)
            after = None if new is None else FileState(receipts.dump(new))
            changes.append(Change(RECEIPT, standing, after, of_state=True))
            transaction.run(root, self._state, changes)
            return new

    def _forbidden(self, name: str) -> str | None:
        if name.split("/")[0] == STATE:
            return f"{name} is in patchctl's own folder."
        return None


def open_tree(path: Path, shape: Shape, footprint: Iterable[str], faults: Faults | None = None) -> Tree:
    """The tree in the folder ``path``, with the mapping that its receipt names, else the one that its files show.

    ``footprint`` are the repository's names of the files that the series touches. Raises Refused if the files fit no
    mapping or two, EnvironmentFailed if there is no such folder.
    """
    faults = faults or Faults.from_environment()
    with open_root(path, faults) as root:
        known = load_receipt(path / STATE / RECEIPT, root.read(f"{STATE}/{RECEIPT}"))
        if known is not None and known.layout:
            return Tree(path, known.layout, faults)
        chosen = layouts.choose(
            shape,
            footprint,
            lambda name: _is(root, name, folder=False),
            lambda name: _is(root, name, folder=True),
            str(path),
        )
    return Tree(path, chosen, faults)


def _is(root: Root, name: str, *, folder: bool) -> bool:
    found = root.lstat(name)
    return found is not None and stat.S_ISDIR(found.st_mode) == folder
