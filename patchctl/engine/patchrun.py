"""The sections of one patch, done one after another on one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from patchctl.engine import fileport
from patchctl.engine.model import Change, FilePatch, FileState
from patchctl.engine.outcome import Note
from patchctl.engine.overlay import Entry, Overlay
from patchctl.engine.verdict import Asked, Result, known
from patchctl.errors import Problem, Refused


class PatchRun:
    """The tree ``before`` a patch, and ``after`` the sections that were done so far; ``changed`` is what they did."""

    def __init__(self, files: Sequence[FilePatch], tree: Overlay) -> None:
        """``files`` are the sections of the patch, named as the tree has them."""
        self.before = tree
        self.after = tree.on_top()
        self.changed: dict[str, Entry] = {}
        self._makers: dict[str, list[FilePatch]] = {}
        for section in files:
            if section.new_path is not None:
                self._makers.setdefault(section.new_path, []).append(section)
        self._leaving = {section.old_path for section in files if section.change in (Change.RENAME, Change.DELETE)}

    def section(self, section: FilePatch, asked: Asked) -> Result:
        """What ``section`` does to the tree as it is now. Raises Refused."""
        path = section.path
        if section.change is Change.CREATE:
            existing = None if path in self._leaving else self.after.get(path)
            return fileport.create(asked, existing, path)
        entry = self.source(section)
        if section.change is Change.DELETE:
            return fileport.delete(asked, entry, path)
        if section.change is Change.MODIFY:
            return fileport.modify(asked, entry, path)
        return self._moved(section, asked, entry)

    def _moved(self, section: FilePatch, asked: Asked, entry: Entry) -> Result:
        path = section.path
        existing = None if path in self._leaving and path not in self.after.changes else self.after.get(path)
        if path in self._leaving and self.after.get(path) == self.before.get(path):
            existing = None
        if entry.state is None and existing is not None:
            done = fileport.moved_already(asked, existing, path)
            if done is not None:
                return done
            edited = fileport.modify(asked, Entry(existing, None, path), path)
            if section.change is Change.RENAME and not edited.problems:
                note = Note("moved", f"{section.old_path} is gone and {path} is there already.", path)
                return replace(edited, partial=True, evidence=[*edited.evidence, note])
        result = fileport.modify(asked, entry, path)
        if existing is not None and not _only_case(section) and entry.state is not None:
            return fileport.taken(asked, existing, result, path)
        return result

    def source(self, section: FilePatch) -> Entry:
        """The file that ``section`` starts from.

        A rename or copy starts from the file as it was before the patch, also where a section above it put
        something else in its place; but from the running result where sections above it edited that very file.
        """
        name = section.old_path
        if name is None:
            return Entry(None)
        if section.change in (Change.RENAME, Change.COPY):
            above = [other for other in self._makers.get(name, ()) if other.line < section.line]
            edited = section.change is Change.RENAME and all(o.change is Change.MODIFY for o in above)
            now = self.after.entry(name)
            if above and edited and known(section.old_blob, now.state or FileState(b"")).value != "other":
                return now
            return self.before.entry(name)
        now = self.after.entry(name)
        if now.state is None and name not in self.after.changes:
            return self.before.entry(name)  # a section above put a file where its folder is
        return now

    def put(self, section: FilePatch, result: Result) -> None:
        """Let the sections that follow see ``result``."""
        assert result.entry is not None
        old = section.old_path
        if section.change is Change.RENAME and old is not None and old != section.path and not result.present:
            put_there = any(other.change is not Change.MODIFY for other in self._makers.get(old, ()))
            if not put_there:
                self.after.put(old, Entry(None))
                self.changed[old] = Entry(None)
        if not result.present or section.path in self.changed:
            self.after.put(section.path, result.entry)
            self.changed[section.path] = result.entry

    def _stood(self, name: str) -> bool:
        try:
            return self.before.get(name) is not None
        except Refused:
            return False

    def blocked(self) -> list[Problem]:
        """Files that can't be written since another file stands where a folder must be, or the other way round; they
        are taken out of ``changed``."""
        problems = []
        fresh = [name for name, entry in self.changed.items() if entry.state and not self._stood(name)]
        folders = self.after.folders() if fresh else {}
        for name in fresh:
            other = self.after.in_the_way(name, folders)
            if other is not None:
                del self.changed[name]
                text = f"{name} can't be written: {other} is in the way."
                problems.append(Problem("in-the-way", text, file=name))
        return problems


def _only_case(section: FilePatch) -> bool:
    """A rename that changes nothing but case meets its own file on some disks."""
    old = section.old_path or ""
    return section.change is Change.RENAME and old != section.path and old.casefold() == section.path.casefold()
