"""Remembered resolutions: what a person made of a conflict, for the next time that very conflict comes up.

Each is a text file in ``patches/resolutions/``, named ``<patch>-<key>.resolution``, committed and reviewed like a
patch. It holds the three sides of one conflicting region and the lines that took their place. The key is a hash of
the three sides, so that a resolution answers the same question only; whoever wants it forgotten removes the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from patchctl.engine.lines import split
from patchctl.errors import Problem, Refused
from patchctl.series.files import read_inside
from patchctl.series.project import PATCHES, RESOLUTIONS

SUFFIX = ".resolution"
_FIRST = b"patchctl resolution 1\n"
_PARTS = ("onto", "base", "patch", "resolved")
_MAX_BYTES = 16 * 1024 * 1024
_KEY_DIGITS = 12
_NO_END = b"\\ no line end\n"


@dataclass(frozen=True, slots=True)
class Question:
    """A conflicting region: the lines of the new release, of the old one, and of the patch (line ends included)."""

    onto: tuple[bytes, ...]
    base: tuple[bytes, ...]
    patch: tuple[bytes, ...]

    @property
    def key(self) -> str:
        """64 hex digits that stand for these three sides."""
        digest = hashlib.sha256()
        for side in (self.onto, self.base, self.patch):
            text = b"".join(side)
            digest.update(b"%d %d\n" % (len(side), len(text)) + text)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer to a question that came up in ``file`` when a patch went from one release to another."""

    patch: str
    question: Question
    resolved: tuple[bytes, ...]
    file: str
    made: str = ""

    @property
    def name(self) -> str:
        """The file's name in the folder of resolutions."""
        return f"{self.patch}-{self.question.key[:_KEY_DIGITS]}{SUFFIX}"


def path_of(name: str) -> str:
    """Where the resolution file ``name`` lies in the project."""
    return f"{PATCHES}/{RESOLUTIONS}/{name}"


def find(root: Path, patch: str, questions: Iterable[Question]) -> tuple[list[Resolution | None], list[Problem]]:
    """The remembered answer to each of ``questions`` of ``patch``, None where there is none.

    What can't be relied on (sides that do not give the key in the file's name, markers left in the answer) is no
    answer; the problems say so.
    """
    answers: list[Resolution | None] = []
    problems: dict[Problem, None] = {}
    for question in questions:
        name = f"{patch}-{question.key[:_KEY_DIGITS]}{SUFFIX}"
        path = root / path_of(name)
        answers.append(None)
        if not path.exists():
            continue
        try:
            found = loads(read_inside(root, path, _MAX_BYTES, patch=patch))
            wrong = _wrong(found, patch, question)
        except (Refused, ValueError) as error:
            found, wrong = None, str(error).rstrip(".")
        if wrong:
            why = f"{path_of(name)} is not used: {wrong}."
            problems[Problem("resolution", why, patch, path_of(name), next=f"git log -p -- {path_of(name)}")] = None
        else:
            answers[-1] = found
    return answers, list(problems)


def _wrong(found: Resolution, patch: str, question: Question) -> str | None:
    if found.question != question:
        return "its sides are not those of the conflict that its name stands for"
    if found.patch != patch:
        return f"it belongs to the patch {found.patch}"
    if any(re.match(rb"(?:<{7,}|\|{7,}|>{7,}) ", line) for line in found.resolved):
        return "conflict markers stand in its answer"
    return None


def dumps(resolution: Resolution) -> bytes:
    """``resolution`` as text. Every line of a side is indented by one blank, so that nothing in it is a heading."""
    head = [f"id: {resolution.patch}", f"file: {resolution.file}", f"made: {resolution.made}"]
    sides = (resolution.question.onto, resolution.question.base, resolution.question.patch, resolution.resolved)
    out = [_FIRST, *(line.encode("utf-8", "surrogateescape") + b"\n" for line in head)]
    for part, lines in zip(_PARTS, sides, strict=True):
        out.append(f"{part}:\n".encode())
        for line in lines:
            out.append(b" " + line if line.endswith(b"\n") else b" " + line + b"\n" + _NO_END)
    return b"".join(out)


def loads(data: bytes) -> Resolution:
    """The resolution in ``data``. Raises ValueError for anything else."""
    if not data.startswith(_FIRST):
        raise ValueError("it is no resolution that this version of patchctl can read")
    head: dict[str, str] = {}
    sides: dict[str, list[bytes]] = {}
    side: list[bytes] | None = None
    for line in split(data[len(_FIRST) :]):
        if line.startswith(b" ") and side is not None:
            side.append(line[1:])
        elif line == _NO_END and side:
            side[-1] = side[-1].removesuffix(b"\n")
        else:
            key, colon, value = line.decode("utf-8", "surrogateescape").rstrip("\n").partition(":")
            if not colon or key in sides or key in head:
                raise ValueError(f"the line {line[:60]!a} has no place in it")
            if key in _PARTS:
                side = sides[key] = []
            else:
                head[key] = value.strip()
    if set(sides) != set(_PARTS) or not {"id", "file"} <= head.keys():
        raise ValueError("parts of it are missing")
    question = Question(*(tuple(sides[part]) for part in _PARTS[:3]))
    return Resolution(head["id"], question, tuple(sides["resolved"]), head["file"], head.get("made", ""))
