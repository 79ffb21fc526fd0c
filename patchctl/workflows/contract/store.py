"""Answers kept from one run to the next, each with the blob ids of all files that it rests on.

An answer counts only while every one of these files is what it was. Whatever is wrong with the store, an entry that
was tampered with or a folder that can't be written, the answer is worked out anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from patchctl import __version__
from patchctl.contract.model import Judgement
from patchctl.upstream import cache
from patchctl.workflows.contract.trees import Recorded, Tree

_FORMAT = "patchctl.contract-store/1"
_MOST = 256
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Store:
    """The entries in ``folder``."""

    folder: Path

    @classmethod
    def default(cls) -> Store:
        return cls(cache.root() / "contract")

    def get(self, question: Any, tree: Tree) -> Judgement | None:
        """The answer to ``question`` (what JSON can hold) if it was given and ``tree`` still has what it rests on."""
        try:
            with self._path(question).open("rb") as file:
                data = file.read(_LARGEST)
            entry = json.loads(data)
            body = entry["body"]
            if entry["format"] != _FORMAT or entry["sha256"] != _digest(body):
                return None
            if not _stands(body["files"], body["names"], tree):
                return None
            return msgspec.convert(body["answer"], Judgement)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, msgspec.ValidationError):
            return None

    def put(self, question: Any, read: Recorded, answer: Judgement) -> None:
        """Keep ``answer``, which rests on what was ``read``."""
        names = _names(read.tree) if read.listed else None
        body = {"files": dict(sorted(read.blobs.items())), "names": names, "answer": msgspec.to_builtins(answer)}
        text = json.dumps({"format": _FORMAT, "sha256": _digest(body), "body": body})
        with contextlib.suppress(OSError, UnicodeEncodeError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".new", delete=False) as file:
                file.write(text)
            Path(file.name).replace(self._path(question))
            self._sweep()

    def _path(self, question: Any) -> Path:
        # What the code and this Python make of a text may differ from what others make of it.
        asked = [_FORMAT, __version__, _own_code(), *sys.version_info[:2], question]
        return self.folder / f"{_digest(asked)}.json"

    def _sweep(self) -> None:
        entries = sorted(os.scandir(self.folder), key=lambda entry: entry.stat().st_mtime)
        for entry in entries[: max(0, len(entries) - _MOST)]:
            Path(entry.path).unlink(missing_ok=True)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _own_code() -> list[int]:
    """When the code that gives the answers was last changed: matters to whoever works on it."""
    import patchctl.contract

    folder = Path(patchctl.contract.__file__).parent
    return sorted(entry.stat().st_mtime_ns for entry in os.scandir(folder) if entry.name.endswith(".py"))


def _stands(files: dict[str, str | None], names: str | None, tree: Tree) -> bool:
    for path, blob in files.items():
        if blob is None:
            if tree.exists(path):
                return False
        elif tree.blob(path) != blob:
            return False
    return names is None or names == _names(tree)


def _names(tree: Tree) -> str:
    return hashlib.sha256("\0".join(tree.names()).encode("utf-8", "surrogateescape")).hexdigest()
