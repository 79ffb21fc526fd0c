"""Which state of which file a section of a patch means, where several sections name the same file.

The sections of one git diff all speak of two trees, the one before and the one after, in any order: a file may
move away and another take its name. Diffs that were put together speak of what the sections above left. Both
are served: old names of renames and copies mean the tree before, the other sections what stands there by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from patchctl.engine.model import Change, FilePatch, FileState


@dataclass(frozen=True, slots=True)
class Slot:
    """A state that a section may mean: ``made`` by a section above, or of the tree before the patch."""

    state: FileState | None
    made: bool


class Slots:
    """The files a patch touches, before it and so far."""

    def __init__(self, files: Sequence[FilePatch], get: Callable[[str], FileState | None]) -> None:
        self._get = get
        self._before: dict[str, FileState | None] = {}
        self._made: dict[str, FileState] = {}
        self._taken: set[str] = set()  # names whose file of the tree before was changed, deleted or moved away
        self._modified: set[str] = set()  # those of them that were changed
        # The names whose files sections still to come take away, one entry for each such section.
        self._leaving = [section.old_path for section in files if section.change in (Change.RENAME, Change.DELETE)]

    def is_free(self, path: str) -> bool:
        """Whether a section may put a new file at ``path``: there is none, or a section to come takes it away."""
        if path in self._made:
            return False
        return path in self._taken or path in self._leaving or self._original(path) is None

    def sources(self, section: FilePatch) -> list[Slot]:
        """The states that ``section`` may mean by its old name; more than one where that is open."""
        path = section.old_path
        if path is None:
            return [Slot(None, made=True)]
        made = Slot(self._made.get(path), made=True)
        original = Slot(self._original(path), made=False)
        if section.change is Change.COPY:
            return [made if original.state is None else original]
        if section.change is Change.RENAME and path in self._modified:
            return [original, made]
        gone = path in self._taken or original.state is None
        return [made] if gone or (section.change is Change.MODIFY and made.state is not None) else [original]

    def put(self, section: FilePatch, source: Slot, result: FileState | None) -> None:
        """Record that ``section`` made ``result`` of ``source``."""
        old, new = section.old_path, section.new_path
        if old is not None and section.change is not Change.COPY:
            if section.change is not Change.MODIFY:
                self._leaving.remove(old)
            if source.made:
                self._made.pop(old, None)
            else:
                self._taken.add(old)
        if new is not None and result is not None:
            self._made[new] = result
            if section.change is Change.MODIFY and not source.made:
                self._modified.add(new)

    def result(self) -> dict[str, FileState | None]:
        """Every file that was touched, as it stands after the patch."""
        return {path: self._made.get(path) for path in sorted(self._taken | self._made.keys())}

    def _original(self, path: str) -> FileState | None:
        if path not in self._before:
            self._before[path] = self._get(path)
        return self._before[path]
