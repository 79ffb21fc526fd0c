"""Editing series.yaml for a person who wrote it: their comments, quotes, order and line ends stay.

A change that is there already changes no byte. The result is validated like any series.yaml before it is
handed out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from patchctl.series import load
from patchctl.series.model import Dropped, PatchInfo, Pin, Target
from patchctl.series.yamledit import Editor


class SeriesEditor:
    """Collects changes to the text of a series.yaml. ``finish`` gives the new text."""

    def __init__(self, data: bytes, name: str = load.FILE_NAME) -> None:
        """Raises InvalidInput when ``data`` is not a valid series.yaml."""
        load.load(data, name)
        self._name = name
        self._editor = Editor(data, name)

    def finish(self) -> bytes:
        """The text with all changes. Raises InvalidInput when they leave something that is no valid series."""
        load.load(self._editor.data, self._name)
        return self._editor.data

    def set_default(self, tag: str) -> None:
        self._editor.set(("default",), tag)

    def set_patches(self, tag: str, ids: Sequence[str]) -> None:
        """Make ``ids`` the patches of a target, in this order; entries that stay keep their lines."""
        self._editor.set(("targets", tag, "patches"), list(ids))

    def add_patch(self, tag: str, patch_id: str, *, before: str | None = None) -> None:
        """Put a patch into a target's list, at the end or before another one."""
        ids = self._patches(tag)
        if patch_id not in ids:
            path = ("targets", tag, "patches")
            self._editor.insert(path, len(ids) if before is None else ids.index(before), patch_id)

    def remove_patch(self, tag: str, patch_id: str) -> None:
        """Take a patch out of a target's list."""
        ids = self._patches(tag)
        if patch_id in ids:
            self._editor.remove(("targets", tag, "patches", ids.index(patch_id)))

    def move_patch(self, tag: str, patch_id: str, *, before: str | None) -> None:
        """Move a patch within a target's list, to right before another one or to the end."""
        ids = self._patches(tag)
        old = ids.index(patch_id)
        rest = [name for name in ids if name != patch_id]
        new = len(rest) if before is None else rest.index(before)
        if new != old:
            self._editor.move(("targets", tag, "patches"), old, new)

    def set_pin(self, tag: str, pin: Pin) -> None:
        """Set what a target must be."""
        self._editor.set(("targets", tag, "pin"), _plain(pin))

    def add_target(self, tag: str, target: Target) -> None:
        """Add a target, or make an existing one be ``target``."""
        self._editor.set(("targets", tag), _plain(target))

    def remove_target(self, tag: str) -> None:
        """Take a target out."""
        if self._editor.get(("targets", tag)) is not None:
            self._editor.remove(("targets", tag))

    def drop(self, tag: str, patch_id: str, why: Dropped) -> None:
        """Record why a target does not carry a patch, and take the patch out of its list."""
        self.remove_patch(tag, patch_id)
        path = ("targets", tag, "dropped")
        if self._editor.get(path) is None:
            self._editor.set(path, {patch_id: _plain(why)})
        else:
            self._editor.set((*path, patch_id), _plain(why))

    def set_info(self, patch_id: str, info: PatchInfo) -> None:
        """Set what is known of a patch."""
        if self._editor.get(("patches",)) is None:
            self._editor.set(("patches",), {patch_id: _plain(info)})
        else:
            self._editor.set(("patches", patch_id), _plain(info))

    def remove_info(self, patch_id: str) -> None:
        """Take out what is known of a patch."""
        if self._editor.get(("patches", patch_id)) is not None:
            self._editor.remove(("patches", patch_id))

    def _patches(self, tag: str) -> list[str]:
        found: list[str] = self._editor.get(("targets", tag, "patches"))
        return found


def _plain(value: Any) -> Mapping[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(value)
    return document
