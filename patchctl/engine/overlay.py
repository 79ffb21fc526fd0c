"""A tree with changes laid over it, in memory: what later sections and patches see of earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from patchctl.engine.model import LINK, FileState
from patchctl.errors import Problem, Refused


class Tree(Protocol):
    """A tree that is only looked at. Names are relative to it; links are never followed."""

    def get(self, path: str) -> FileState | None:
        """The file or link at ``path``, None if there is none. Raises Refused for a link on the way to it."""

    def below(self, path: str) -> Sequence[str]:
        """The names of all files and links in the folder ``path``; none if it is no folder."""

    def names(self) -> Sequence[str]:
        """The names of all files and links. Asked for only where something is missing: it may take a while."""


class Empty:
    """The tree without files."""

    def get(self, path: str) -> FileState | None:
        return None

    def below(self, path: str) -> Sequence[str]:
        return ()

    def names(self) -> Sequence[str]:
        return ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at a changed path. ``origins`` gives for each line the index of the line of the file
    ``source`` of the tree that it is, or -1; None where that is not known."""

    state: FileState | None
    origins: tuple[int, ...] | None = None
    source: str | None = None


class Overlay:
    """``tree`` with ``changes``; changes of changes are cheap (:meth:`on_top`)."""

    def __init__(self, tree: Tree, changes: dict[str, Entry] | None = None) -> None:
        self.tree = tree
        self.changes = changes if changes is not None else {}

    def on_top(self) -> Overlay:
        """A copy to try something on."""
        return Overlay(self.tree, dict(self.changes))

    def get(self, path: str) -> FileState | None:
        """The file at ``path``. Raises Refused for a link on the way, whoever made it."""
        return self.entry(path).state

    def entry(self, path: str) -> Entry:
        if path in self.changes:
            return self.changes[path]
        for folder in ancestors(path):
            above = self.changes.get(folder)
            if above is None:
                continue
            if above.state is not None and above.state.mode == LINK:
                raise Refused(through_link(path, folder))
            return Entry(None)  # a file stands or stood there, so nothing of the tree lies below
        return Entry(self.tree.get(path), None, path)

    def put(self, path: str, entry: Entry) -> None:
        self.changes[path] = entry

    def folders(self) -> dict[str, str]:
        """The folders that the changed files need, each with a file in it."""
        return {
            folder: name
            for name, entry in self.changes.items()
            if entry.state is not None
            for folder in ancestors(name)
        }

    def in_the_way(self, path: str, folders: Mapping[str, str]) -> str | None:
        """The file that keeps ``path`` from being written: one where a folder is needed, or one in a folder there.

        ``folders`` is what :meth:`folders` says.
        """
        hidden = False  # below what was, or is, a file of ours, where nothing of the tree can be
        for folder in ancestors(path):
            ours = self.changes.get(folder)
            hidden = hidden or ours is not None
            state = ours.state if ours is not None else None if hidden else self.tree.get(folder)
            if state is not None:
                return folder
        if path in folders:
            return folders[path]
        inside = [name for name in self.tree.below(path) if name not in self.changes] if not hidden else []
        return inside[0] if inside else None


def through(entry: Entry, origins: tuple[int, ...]) -> tuple[int, ...] | None:
    """``origins`` in the lines of ``entry`` as origins in the file that ``entry`` itself came from."""
    if entry.source is None:
        return None
    if entry.origins is None:
        return origins
    earlier = entry.origins
    return tuple(earlier[index] if index >= 0 else -1 for index in origins)


def ancestors(path: str) -> list[str]:
    """The folders that ``path`` lies in, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def through_link(path: str, link: str) -> Problem:
    return Problem("link-in-path", f"{path} lies behind the link {link}; patchctl follows no links.", file=path)
