"""What a patch is, as values: the words that every other room of the project speaks.

File names are ``str`` with surrogate escapes for bytes that are not UTF-8 (as :func:`os.fsdecode` gives
them), relative, with ``/`` between components. File contents are ``bytes``. Modes are git's: 0o100644,
0o100755 and 0o120000 (a link, whose content is its target).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from patchctl.engine.state import EXECUTABLE as EXECUTABLE
from patchctl.engine.state import LINK as LINK
from patchctl.engine.state import MODES as MODES
from patchctl.engine.state import REGULAR as REGULAR
from patchctl.engine.state import FileState as FileState
from patchctl.engine.state import blob_id as blob_id


class Op(Enum):
    """The mark in a hunk's first column."""

    CONTEXT = " "
    REMOVE = "-"
    ADD = "+"


class Line(NamedTuple):  # the one value that is made by the ten thousand, and a tuple is made in a third of the time
    """A line of a hunk, its line end included; only the last line of a file may lack it."""

    op: Op
    data: bytes


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk with the numbers of its header (lines count from 1; an empty side starts at the line before)."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes
    lines: tuple[Line, ...]

    @property
    def old(self) -> tuple[bytes, ...]:
        """The pre-image: context and removed lines."""
        return tuple(line.data for line in self.lines if line.op is not Op.ADD)

    @property
    def new(self) -> tuple[bytes, ...]:
        """The post-image: context and added lines."""
        return tuple(line.data for line in self.lines if line.op is not Op.REMOVE)


@dataclass(frozen=True, slots=True)
class BinaryHunk:
    """One direction of a ``GIT binary patch``: a whole file, or git's delta against the other side (inflated)."""

    kind: str  # "literal" or "delta"
    data: bytes


@dataclass(frozen=True, slots=True)
class BinaryChange:
    """A binary change; without ``reverse`` it can't be taken back."""

    forward: BinaryHunk
    reverse: BinaryHunk | None


class Change(Enum):
    """What a section of a patch does to its file."""

    MODIFY = "modify"  # content, mode, or both
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class FilePatch:
    """One section of a patch. ``old_path`` is None for a creation, ``new_path`` for a deletion.

    ``old_blob`` and ``new_blob`` are what the ``index`` line says (hex, often abbreviated; None when
    absent or all zeros); ``line`` is where the section begins in its patch file, from 1.

    Names are as the header lines write them until the reader has taken a prefix (``a/``) off; ``prefix`` is
    how many leading components of both names are a prefix where the section itself tells (by its rename or
    copy lines), else None. ``crlf`` marks a section whose very header lines ended with CR LF: something on
    the way turned all line ends, and whether the file's own are LF (as the hunks have it) or CR LF is open.
    ``sided`` says whether the two names on its ``diff --git`` line differ in their first component (``a/x`` and
    ``b/x``), so that they have a prefix; None where there is no such line.
    """

    change: Change
    old_path: str | None
    new_path: str | None
    old_mode: int | None = None
    new_mode: int | None = None
    old_blob: str | None = None
    new_blob: str | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: BinaryChange | None = None
    line: int = 0
    prefix: int | None = None
    crlf: bool = False
    sided: bool | None = None

    @property
    def path(self) -> str:
        """The name to speak of it by: where the result stands, or where the deleted file stood."""
        name = self.new_path or self.old_path
        assert name is not None, "a section names at least one side"
        return name

    @property
    def paths(self) -> tuple[str, ...]:
        """Every name whose content this section changes, old before new."""
        names = (self.new_path,) if self.change is Change.COPY else (self.old_path, self.new_path)
        return tuple(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True, slots=True)
class Mail:
    """The mail-style head of a patch, as ``git format-patch`` writes it; absent parts are empty.

    ``author`` is ``Name <address>``, ``date`` the text of the Date header, ``body`` what stands between the
    subject and the diff (without the ``---`` line and the diffstat below it).
    """

    author: str = ""
    date: str = ""
    subject: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch as read: its head, its sections in order, and what the reader had to tolerate."""

    name: str
    mail: Mail
    files: tuple[FilePatch, ...]
    notes: tuple[str, ...] = ()
