"""An installed distribution: its files in site-packages, its RECORD, its bytecode.

The receipt stands in the dist-info folder and has a line in RECORD, as has everything else that patchctl adds, so that
uninstalling with pip leaves nothing behind. Sources, times, permissions, bytecode and RECORD come back byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.engine.state import LINK, FileState
from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Receipt
from patchctl.target.faults import Faults
from patchctl.target.folder import FolderPlace, load_receipt
from patchctl.target.hidden import instead
from patchctl.target.safeio import Root

if TYPE_CHECKING:
    from patchctl.target.place import WritePlan

RECEIPT = "patchctl-receipt.json"
RECORD = "RECORD"
STATE = ".patchctl"

_STARTUP = frozenset({"sitecustomize.py", "usercustomize.py"})
_METADATA = (".dist-info", ".egg-info", ".data")


class Installed(FolderPlace):
    """See :class:`patchctl.target.place.Place`. ``site`` is site-packages, ``dist_info`` a folder's name in it."""

    kind = "installed"

    def __init__(
        self,
        site: Path,
        dist_info: str,
        layout: Mapping[str, str],
        faults: Faults | None = None,
        ahead: Sequence[Path] = (),
    ) -> None:
        folder = site / dist_info
        super().__init__(site, folder / STATE, folder, layout, faults or Faults.from_environment())
        self._dist_info = dist_info
        self._ahead = ahead

    def hidden(self, paths: Iterable[str]) -> tuple[Problem, ...]:
        """The repository's ``paths`` whose files Python does not import, since something else comes first."""
        names = {path: name for path in paths if (name := self.local(path)) is not None}
        taken = instead(names.values(), self._path, self._ahead)
        return tuple(
            Problem("hidden", f"Python does not import {name}: {taken[name]} comes before it.", file=path)
            for path, name in names.items()
            if name in taken
        )

    @property
    def carries_modes(self) -> bool:
        return False

    @property
    def dist_info(self) -> Path:
        return self._path / self._dist_info

    def receipt(self) -> Receipt | None:
        with self._opened() as root:
            return self._load(root)[0]

    def in_the_way(self, paths: Mapping[str, FileState | None]) -> tuple[Problem, ...]:
        problems = super().in_the_way(paths)
        with self._opened() as root:
            try:
                self._record(root)
            except Refused as refused:
                problems = (*refused.problems, *problems)
        return problems

    def write(self, plan: WritePlan) -> Receipt | None:
        from patchctl.target import books, transaction

        with self._opened() as root:
            old, standing = self._load(root)
            listed = self._record(root)
            moves = self._moves(plan, old, times=True)
            for move in moves:
                self._read(root, move.path)
                if move.after is not None and move.after.mode == LINK:
                    raise Refused(_link(move.path))
            new = None if plan.receipt is None else self._completed(root, plan.receipt, old)
            touched = frozenset(self._touched(old)) if old is not None else frozenset()
            own = books.Books(
                self._dist_info, self._in_info(RECEIPT), standing, old, touched, self._in_info(RECORD), listed
            )
            entries = books.enter(root, own, moves, new, self._touched(new) if new is not None else ())
            transaction.run(root, self._state, [*moves, *entries.changes], discard=entries.discard)
            return entries.receipt

    def _in_info(self, name: str) -> str:
        return f"{self._dist_info}/{name}"

    def _touched(self, receipt: Receipt) -> list[str]:
        names = (self.local(file.path) for patch in receipt.patches for file in patch.files)
        return sorted({name for name in names if name is not None})

    def _load(self, root: Root) -> tuple[Receipt | None, FileState | None]:
        name = self._in_info(RECEIPT)
        state = root.read(name)
        return load_receipt(self._path / name, state), state

    def _record(self, root: Root) -> FileState:
        state = root.read(self._in_info(RECORD))
        if state is None:
            why = (
                f"{self.dist_info} has no RECORD: pip did not install it, and whoever did (a Linux distribution, "
                "perhaps) could neither upgrade nor remove it cleanly once it is patched."
            )
            hint = "install the distribution with pip or uv into an environment of its own"
            raise Refused(Problem("no-record", why, file=str(self.dist_info), next=hint))
        if state.mode == LINK:
            raise Refused(_link(self._in_info(RECORD)))
        return state

    def _read(self, root: Root, name: str) -> FileState | None:
        state = super()._read(root, name)
        if state is not None and state.mode == LINK:
            raise Refused(_link(name))
        return state

    def _forbidden(self, name: str) -> str | None:
        top, _, _ = name.partition("/")
        base = name.rpartition("/")[2].casefold()
        if top.casefold().endswith(_METADATA):
            return f"{name} is the installer's own; no patch may touch it."
        if base.endswith(".pth") or base in _STARTUP:
            return f"{name} would be run at every start of Python; no patch may touch it."
        return None


def _link(name: str) -> Problem:
    return Problem("link", f"{name} is a link: in site-packages patchctl changes files only.", file=name)
