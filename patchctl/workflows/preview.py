"""A release in the cache, looked at as a place that nothing is written to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from patchctl.engine.model import FileState
from patchctl.errors import Problem, Refused
from patchctl.series.receipt import Receipt
from patchctl.target.place import WritePlan
from patchctl.upstream.pristine import PristineTree


class Preview:
    """See :class:`patchctl.target.place.Place`: the checkout that ``apply`` would make in ``root``.

    ``footprint`` are the files that will be asked for, and so are read at once. Raises as :meth:`PristineTree.read`.
    """

    kind = "checkout"

    def __init__(self, root: Path, tree: PristineTree, footprint: Iterable[str]) -> None:
        self.root = root
        self.carries_modes = tree.modes
        self._tree = tree
        self._states = tree.read(footprint)

    def local(self, path: str) -> str | None:
        return path

    def read(self, path: str) -> FileState | None:
        if path not in self._states:
            try:
                self._states.update(self._tree.read([path]))
            except Refused:
                self._states[path] = None  # a folder is no file, as in the other places
        return self._states[path]

    def receipt(self) -> Receipt | None:
        return None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def interrupted(self) -> bool:
        return False

    def recover(self) -> None:
        """There is nothing to take back."""

    def in_the_way(self, paths: Mapping[str, FileState | None]) -> tuple[Problem, ...]:
        return ()

    def draft(self) -> None:
        """Nothing will be written."""

    def write(self, plan: WritePlan) -> Receipt | None:
        raise AssertionError("a preview is only ever looked at")
