"""The header of one section of a diff: git's extended header lines, ``---`` and ``+++``.

Reads lines into a :class:`Header`; which names and what change they amount to is decided in
:mod:`patchctl.engine.filepatch`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from patchctl.engine import quoting
from patchctl.engine.model import MODES
from patchctl.engine.source import Source

_Read = TypeVar("_Read")
_SUBMODULE = 0o160000
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|rename from|rename to|rename old|rename new|copy from|copy to"
    rb"|similarity index|dissimilarity index|index) (.+)",
    re.DOTALL,
)
_FIRSTS = (b"o", b"n", b"d", b"r", b"c", b"s", b"i")  # of the words above
_INDEX = re.compile(rb"([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: (\d{5,7}))?")


@dataclass(slots=True)
class Header:
    """What the header lines of a section said, as they said it. Names are unquoted."""

    at: int  # index of the section's first line
    git: bool
    halves: list[tuple[str, str]] = field(default_factory=list)  # the readings of the ``diff --git`` line
    old: quoting.Side | None = None
    new: quoting.Side | None = None
    old_mode: int | None = None
    new_mode: int | None = None
    index_mode: int | None = None
    created_mode: int | None = None
    deleted_mode: int | None = None
    moved: str | None = None  # "rename" or "copy"
    moved_from: str | None = None
    moved_to: str | None = None
    old_blob: str | None = None
    new_blob: str | None = None
    index_line: bool = False
    crlf: bool = True  # every header line ended with CR LF

    @property
    def says_something(self) -> bool:
        """Whether there is more than ``diff --git`` and ``index``."""
        return self.moved is not None or any(
            mode is not None for mode in (self.old_mode, self.new_mode, self.created_mode, self.deleted_mode)
        )

    @property
    def contradicts_itself(self) -> bool:
        """Whether it claims more than one of: created, deleted, changed in mode or moved."""
        lives_on = self.moved is not None or self.old_mode is not None or self.new_mode is not None
        return (self.created_mode is not None) + (self.deleted_mode is not None) + lives_on > 1

    @property
    def shown(self) -> str:
        """A name to speak of the section by, before its names are settled."""
        for name in (
            self.moved_to,
            self.new.name if self.new else None,
            self.old.name if self.old else None,
            self.halves[len(self.halves) // 2][1] if self.halves else None,
        ):
            if name:
                return name
        return "(no name)"


def starts_pair(source: Source, at: int) -> bool:
    """Whether ``---`` and ``+++`` lines stand at ``at``, names missing or not, with a hunk or a name behind."""
    lines = source.lines
    if at + 1 >= len(lines) or not lines[at].startswith(b"---") or not lines[at + 1].startswith(b"+++"):
        return False
    if lines[at].startswith(b"--- ") and lines[at + 1].startswith(b"+++ "):
        return True
    bare = lines[at].rstrip() == b"---" and lines[at + 1].rstrip() == b"+++"
    return bare and at + 2 < len(lines) and lines[at + 2].startswith(b"@@ ")


def read_git(source: Source, at: int) -> tuple[Header, int]:
    """The header that begins with the ``diff --git`` line at ``at``, and the index behind it.

    Raises Refused for modes and names that can't be, and for contradictions between lines.
    """
    header = Header(at, git=True)
    line = _bare(source.header(at), header)
    header.halves = _reading(source, at, lambda: quoting.halves(line[len(b"diff --git ") :]))
    at += 1
    while at < len(source.lines):
        found = _EXTENDED.fullmatch(source.header(at).rstrip(b"\r")) if source.lines[at][:1] in _FIRSTS else None
        if found is None:
            break
        _bare(source.lines[at], header)
        _extended(source, at, header, found.group(1), found.group(2))
        at += 1
    if starts_pair(source, at):
        at = _pair(source, at, header)
    return header, at


def read_plain(source: Source, at: int) -> tuple[Header, int]:
    """The header whose ``---`` line is at ``at``, and the index behind it."""
    header = Header(at, git=False)
    return header, _pair(source, at, header)


def _pair(source: Source, at: int, header: Header) -> int:
    old, new = (_bare(source.header(at + n), header)[4:] for n in (0, 1))
    header.old = _reading(source, at, lambda: quoting.side(old, header.git))
    header.new = _reading(source, at + 1, lambda: quoting.side(new, header.git))
    return at + 2


def _extended(source: Source, at: int, header: Header, key: bytes, value: bytes) -> None:
    if key == b"index":
        _index(source, at, header, value)
    elif key == b"old mode":
        header.old_mode = _mode(source, at, value, header)
    elif key == b"new mode":
        header.new_mode = _mode(source, at, value, header)
    elif key == b"new file mode":
        header.created_mode = _mode(source, at, value, header)
    elif key == b"deleted file mode":
        header.deleted_mode = _mode(source, at, value, header)
    elif key.startswith((b"rename", b"copy")):
        _moved(source, at, header, key, value)


def _moved(source: Source, at: int, header: Header, key: bytes, value: bytes) -> None:
    verb, side = key.decode().split(" ")
    if header.moved not in (None, verb):
        raise source.refused("junk", f"the header of {header.shown} contradicts itself", header.shown)
    header.moved = verb
    if side in ("from", "old"):
        header.moved_from = _reading(source, at, lambda: quoting.text(quoting.unquote(value)))
    else:
        header.moved_to = _reading(source, at, lambda: quoting.text(quoting.unquote(value)))


def _index(source: Source, at: int, header: Header, value: bytes) -> None:
    found = _INDEX.fullmatch(value)
    if found is None:
        if b"," in value:
            reason = f"{header.shown}: a combined diff of a merge fits no single tree"
            raise source.refused("combined", reason, header.shown)
        raise source.refused("junk", f"line {source.number(at)} is no valid index line", header.shown)
    header.index_line = True
    header.old_blob, header.new_blob = (None if not blob.strip(b"0") else blob.decode() for blob in found.group(1, 2))
    if found.group(3):
        header.index_mode = _mode(source, at, found.group(3), header)


def _mode(source: Source, at: int, value: bytes, header: Header) -> int:
    mode = int(value, 8) if re.fullmatch(rb"[0-7]{5,7}", value) else -1
    if mode == _SUBMODULE:
        reason = f"{header.shown} is a submodule, which patchctl does not change"
        raise source.refused("submodule", reason, header.shown)
    if mode not in MODES:
        raise source.refused(
            "unsafe-mode",
            f"line {source.number(at)} gives {header.shown} the mode {quoting.text(value)};"
            " only 100644, 100755 and 120000 are carried",
            header.shown,
        )
    return mode


def _bare(line: bytes, header: Header) -> bytes:
    """``line`` without the CR that a conversion may have put at its end."""
    if line.endswith(b"\r"):
        return line[:-1]
    header.crlf = False
    return line


def _reading(source: Source, at: int, read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except quoting.BadQuoting as error:
        raise source.refused("junk", f"line {source.number(at)} holds a badly quoted name: {error}") from None
