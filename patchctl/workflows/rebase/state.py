"""A rebase under way: what was asked for, and what was decided so far.

It stands as ``rebase.json`` in the project's ``.patchctl`` folder, written by rename. Nothing that the engine can
find out again is in it: every command plans anew, with these decisions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from patchctl.engine.model import MODES, FileState
from patchctl.errors import Problem, Refused
from patchctl.series.lock import Pin, Review
from patchctl.series.receipt import Stamp
from patchctl.target.safeio import Root, rename

FOLDER = ".patchctl"
FILE = "rebase.json"
CONFLICTS = "conflicts"
IGNORE = ".gitignore"
SCHEMA = "patchctl.rebase-state/1"
_DRAFT = "rebase.new"

Files = Mapping[str, "FileState | None"]
Ground = Mapping[str, "Stamp | None"]


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person said of one patch: resolved, kept or dropped.

    ``files`` are its files as they are to be, which holds as long as the files before it are those of ``ground``.
    ``memory`` are the texts of the resolutions to remember of it, ``review`` what a reviewer should know (kind, text,
    file).
    """

    outcome: str
    files: Files = field(default_factory=dict)
    ground: Ground = field(default_factory=dict)
    reason: str = ""
    evidence: str = ""
    memory: tuple[str, ...] = ()
    review: tuple[tuple[str, str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """A conflict that was laid out for a person: each file as it was proposed, and the files that it stands on.

    ``keep`` remembers that the patch's own version was asked for, and that a guard had something against it.
    """

    proposed: Ground
    ground: Ground
    keep: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A rebase under way. ``inputs`` are the hashes of what it was begun with; ``pin`` is None if the target was
    there already."""

    start: str
    goal: str
    pin: Pin | None
    rules: str
    trees: tuple[str, str]
    resolver: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    decided: Mapping[str, Decided] = field(default_factory=dict)
    accepted: Mapping[str, tuple[Review, ...]] = field(default_factory=dict)
    conflicts: Mapping[str, Open] = field(default_factory=dict)

    def with_decision(self, id: str, decided: Decided) -> State:
        return replace(self, decided={**self.decided, id: decided})

    def with_accepted(self, id: str, reviews: tuple[Review, ...]) -> State:
        known = self.accepted.get(id, ())
        new = tuple(dict.fromkeys(review for review in reviews if review not in known))
        return replace(self, accepted={**self.accepted, id: (*known, *new)})


class Store:
    """The folder that the state lies in, held open. Everything written passes the fault points of ``root``."""

    def __init__(self, project: Root) -> None:
        self.project = project
        self.path = project.path / FOLDER
        if self.path.is_symlink() or (self.path.exists() and not self.path.is_dir()):
            why = f"{FOLDER} is a link or a file; patchctl keeps its state in a folder of that name."
            raise Refused(Problem("unsafe-path", why, file=FOLDER, next=f"ls -ld {self.path}"))

    @contextmanager
    def opened(self) -> Iterator[Root]:
        """The folder, made if need be, with a rule that keeps git from taking it in."""
        if not self.path.is_dir():
            self.project.mkdir(FOLDER)
        with Root.open(self.path, self.project.faults, follow=False) as root:
            if root.lstat(IGNORE) is None:
                root.write(IGNORE, b"# Working state of patchctl: not for git.\n*\n")
            yield root

    def read(self) -> State | None:
        """The rebase under way, None if there is none. Raises Refused for a file that can't be read."""
        if not self.path.is_dir():
            return None
        with Root.open(self.path, self.project.faults, follow=False) as root:
            found, here = root.read(FILE), _place(root)
        if found is None:
            return None
        try:
            document = json.loads(found.data)
            state = _loaded(document)
            # A state that came with a clone or a copy was not begun here, and nothing that it names is run.
            return state if document["place"] == here else replace(state, resolver=None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            where = f"{FOLDER}/{FILE}"
            why = f"{where} is not a state that this version of patchctl can read."
            raise Refused(Problem("state", why, file=where, next="patchctl rebase --abort")) from None

    def write(self, root: Root, state: State) -> None:
        """Put ``state`` in place of the one that stands, in one step."""
        root.unlink(_DRAFT)
        root.write(_DRAFT, dumped(state, _place(root)))
        rename(root, _DRAFT, root, FILE)

    def forget(self) -> None:
        """Remove all of it; the state first, so that what is left after a kill is litter, and known as such."""
        if not self.path.is_dir():
            return
        with Root.open(self.path, self.project.faults, follow=False) as root:
            for name in (FILE, _DRAFT):
                if root.lstat(name) is not None:
                    root.unlink(name)
            remove(root, CONFLICTS)
            if set(root.names()) <= {IGNORE}:
                root.unlink(IGNORE)
        with suppress(OSError):
            self.project.faults.point("rmdir", FOLDER)
            self.path.rmdir()


def remove(root: Root, path: str) -> None:
    """Remove the folder or file at ``path`` and all that is in it, following no link."""
    found = root.lstat(path)
    if found is None:
        return
    import stat

    if stat.S_ISDIR(found.st_mode):
        for name in root.names(path):
            remove(root, f"{path}/{name}")
        root.rmdir(path)
    else:
        root.unlink(path)


def digest(data: bytes | None) -> str:
    """The hash that inputs are compared by; of a file that is not there, nothing."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def input_of(path: Path) -> str:
    """The hash of the file at ``path``."""
    try:
        return digest(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return ""


# -- the document


def _place(root: Root) -> str:
    found = os.fstat(root.fd)
    return f"{found.st_dev}:{found.st_ino}"


def dumped(state: State, place: str) -> bytes:
    """``state`` as JSON, for the folder ``place``. Contents are surrogate-escaped text: what git holds may be in no
    encoding at all."""
    document = {
        "schema": SCHEMA,
        "place": None if state.resolver is None else place,
        "from": state.start,
        "to": state.goal,
        "pin": None if state.pin is None else _pin(state.pin),
        "rules": state.rules,
        "resolver": state.resolver,
        "trees": list(state.trees),
        "inputs": dict(state.inputs),
        "decided": {
            id: {
                "outcome": one.outcome,
                "reason": one.reason,
                "evidence": one.evidence,
                "files": {path: _file(file) for path, file in one.files.items()},
                "ground": _ground(one.ground),
                "memory": list(one.memory),
                "review": [list(note) for note in one.review],
            }
            for id, one in state.decided.items()
        },
        "accepted": {
            id: [{name: getattr(review, name) for name in Review.__slots__} for review in reviews]
            for id, reviews in state.accepted.items()
        },
        "conflicts": {
            id: {"proposed": _ground(one.proposed), "ground": _ground(one.ground), "keep": one.keep}
            for id, one in state.conflicts.items()
        },
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _pin(pin: Pin) -> dict[str, Any]:
    return {"sdist": pin.sdist, "wheels": list(pin.wheels), "commit": pin.commit}


def _file(file: FileState | None) -> dict[str, str] | None:
    return None if file is None else {"mode": f"{file.mode:o}", "text": file.data.decode("utf-8", "surrogateescape")}


def _ground(ground: Ground) -> dict[str, Any]:
    return {path: stamp and {"blob": stamp.blob, "mode": stamp.mode} for path, stamp in ground.items()}


def _loaded(document: Any) -> State:
    if document["schema"] != SCHEMA:
        raise ValueError(document["schema"])
    pin = document["pin"]
    base, onto = map(str, document["trees"])
    return State(
        start=str(document["from"]),
        goal=str(document["to"]),
        pin=None if pin is None else Pin(pin["sdist"], tuple(pin["wheels"]), pin["commit"]),
        rules=str(document["rules"]),
        resolver=document["resolver"],
        trees=(base, onto),
        inputs={str(name): str(value) for name, value in document["inputs"].items()},
        decided={
            id: Decided(
                str(one["outcome"]),
                {path: _read_file(file) for path, file in one["files"].items()},
                _read_ground(one["ground"]),
                str(one["reason"]),
                str(one["evidence"]),
                tuple(map(str, one["memory"])),
                tuple((str(kind), str(text), file) for kind, text, file in one["review"]),
            )
            for id, one in document["decided"].items()
        },
        accepted={id: tuple(Review(**review) for review in found) for id, found in document["accepted"].items()},
        conflicts={
            id: Open(_read_ground(one["proposed"]), _read_ground(one["ground"]), bool(one["keep"]))
            for id, one in document["conflicts"].items()
        },
    )


def _read_file(document: Any) -> FileState | None:
    if document is None:
        return None
    mode = int(document["mode"], 8)
    if mode not in MODES:
        raise ValueError(mode)
    return FileState(document["text"].encode("utf-8", "surrogateescape"), mode)


def _read_ground(document: Any) -> Ground:
    return {path: stamp and Stamp(stamp["blob"], stamp["mode"]) for path, stamp in document.items()}
