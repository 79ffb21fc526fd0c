"""File names as they stand in the header lines of a diff."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
_ESCAPE = rb"(?s)\\(?:([0-3][0-7]{2})|(.))"
_QUOTED = rb'(?s)"((?:[^"\\]|\\.)*)"'

# A time stamp or revision that lost the tab before it.
_LOOSE_STAMP = (
    rb"^(.*?\S)[ ]+(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [+-]\d{4})?"
    rb"|\((?:revision \d+|working copy|nonexistent)\))$"
)

# The first second of 1970 in some time zone: what diff -N writes for the side on which there is no file.
_EPOCH = (
    rb"(?:(1970-01-01|1969-12-31) (\d\d):(\d\d):00(?:\.0+)?|(Thu Jan 0?1|Wed Dec 31) (\d\d):(\d\d):00 (?:1970|1969))"
    rb"(?: ([+-])(\d\d)(\d\d))?"
)
# Each blank between two names doubles as a place where one may end; no sane name has more of them.
_MOST_BLANKS = 500
_NOWHERE = (b"(nonexistent)", b"(revision 0)")


class BadQuoting(ValueError):
    """A quoted name that does not follow C's rules."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a ``---`` or ``+++`` line says. ``name`` is None for /dev/null, empty where nothing stands.

    ``absent`` means that the stamp claims there was no file on this side, which is only a hint.
    """

    name: str | None
    absent: bool


def text(raw: bytes) -> str:
    """Bytes of a patch as text that can be turned back without loss."""
    return raw.decode("utf-8", "surrogateescape")


def unquote(raw: bytes) -> bytes:
    """Undo git's C-style quoting (``"a/na\\303\\257ve.py"``); what isn't quoted stays. Raises BadQuoting."""
    if not raw.startswith(b'"'):
        return raw
    whole = re.fullmatch(_QUOTED, raw)
    if whole is None:
        raise BadQuoting(text(raw))
    return re.sub(_ESCAPE, _unescape, whole.group(1))


def side(rest: bytes, git: bool) -> Side:
    """Read what follows ``--- `` or ``+++ `` (without the line end). ``git``: a git header stands above."""
    name, tab, stamp = rest.partition(b"\t")
    if rest.startswith(b'"'):
        quoted = re.match(_QUOTED, rest)
        if quoted is None:
            raise BadQuoting(text(rest))
        name, stamp = quoted.group(), rest[quoted.end() :].lstrip(b"\t")
    elif not tab and not git:
        loose = re.match(_LOOSE_STAMP, rest)
        if loose:
            name, stamp = loose.groups()
    stamp = stamp.split(b"\t")[-1].strip()
    if name.rstrip() == b"/dev/null":
        return Side(None, True)
    return Side(text(unquote(name)), _is_epoch(stamp) or stamp in _NOWHERE)


def halves(rest: bytes) -> list[tuple[str, str]]:
    """Every way to read what follows ``diff --git `` as two names. Raises BadQuoting.

    git does not quote blanks, so there may be several; the caller knows from other lines, or from what the
    two names must have in common, which one is meant.
    """
    found: list[tuple[str, str]] = []
    if rest.startswith(b'"'):
        left = re.match(_QUOTED, rest)
        if left is None or rest[left.end() : left.end() + 1] != b" ":
            raise BadQuoting(text(rest))
        return [(text(unquote(left.group())), text(unquote(rest[left.end() + 1 :])))]
    if rest.endswith(b'"') and b' "' in rest:
        at = rest.index(b' "')
        return [(text(rest[:at]), text(unquote(rest[at + 1 :])))]
    at = rest.find(b" ")
    while at >= 0:
        if len(found) > _MOST_BLANKS:
            raise BadQuoting("too many blanks to tell the names apart")
        if 0 < at < len(rest) - 1:
            found.append((text(rest[:at]), text(rest[at + 1 :])))
        at = rest.find(b" ", at + 1)
    return found


def _is_epoch(stamp: bytes) -> bool:
    found = re.fullmatch(_EPOCH, stamp)
    if found is None:
        return False
    day, hour, minute = found.group(1, 2, 3) if found.group(1) else found.group(4, 5, 6)
    local = int(hour) * 60 + int(minute) - (1440 if day in (b"1969-12-31", b"Wed Dec 31") else 0)
    offset = int(found.group(8) or 0) * 60 + int(found.group(9) or 0)
    return local == (-offset if found.group(7) == b"-" else offset)


def _unescape(found: re.Match[bytes]) -> bytes:
    octal, letter = found.groups()
    if octal is not None:
        return bytes((int(octal, 8),))
    if letter in b'"\\':
        return bytes(letter)
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    raise BadQuoting(text(found.group()))
