"""The sections of a diff: which file each is about, what it does to it, and its hunks.

Names come out as the header lines write them, prefix included (``a/pkg/mod.py``); a rename's or copy's names
too, taken from the ``diff --git`` line and held against the ``rename`` or ``copy`` lines, which never carry the
prefix. So one strip level fits all names of a patch, and where a section proves it, ``FilePatch.prefix`` tells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from patchctl.engine import binary, headers, hunks, names
from patchctl.engine.headers import Header
from patchctl.engine.model import LINK, BinaryChange, Change, FilePatch, Hunk, blob_id
from patchctl.engine.source import Source
from patchctl.errors import Refused

_EMPTY_BLOB = blob_id(b"")
_SUBPROJECT = rb"Subproject commit [0-9a-f]{40,64}(?:-dirty)?\n?"

# What may follow a header without a body, besides a blank line: another section, a mail's end, a fence.
_NEXT = (b"diff ", b"--- ", b"-- ", b"Index: ", b"From ", b"commit ", b"Only in ", b"Binary ", b"Submodule ", b"```")


@dataclass(slots=True)
class Scan:
    """What a text holds: its sections, where each begins and ends (line indices), and what was tolerated."""

    files: list[FilePatch] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_git(source: Source, at: int, scan: Scan) -> int:
    """Read the section whose ``diff --git`` line is at ``at`` into ``scan``; return the index behind it.

    Raises Refused for whatever can't be applied as it stands.
    """
    header, end = headers.read_git(source, at)
    line = source.lines[end] if end < len(source.lines) else b""
    if line.startswith(b"@@"):
        if header.old is None:
            raise source.refused("junk", f"{header.shown} has hunks but no ---/+++ lines", header.shown)
        return _with_hunks(source, header, end, scan)
    if differing(line) is not None:
        raise omitted(source, header.shown)
    if header.old is not None:
        raise source.refused("no-hunks", f"{header.shown} has ---/+++ lines, but no hunk behind them", header.shown)
    if line.rstrip(b"\r") == b"GIT binary patch":
        return _with_binary(source, header, end + 1, scan)
    if line.strip() and not line.startswith(_NEXT):
        raise source.refused("junk", f"line {source.number(end)} can't be read as part of the header of {header.shown}")
    if header.created_mode and not header.index_line and source.unterminated and end == len(source.lines):
        raise source.refused("truncated", f"the patch ends inside the header of {header.shown}", header.shown)
    if not header.says_something:
        return _without_body(source, header, end, scan)
    _add(source, scan, header, _section(source, header, (), None), end)
    return end


def read_plain(source: Source, at: int, scan: Scan) -> int:
    """Read the section whose ``---`` line is at ``at`` into ``scan``; return the index behind it."""
    header, end = headers.read_plain(source, at)
    if end == len(source.lines) or not source.lines[end].startswith(b"@@"):
        raise source.refused("no-hunks", f"{header.shown} has ---/+++ lines, but no hunk behind them", header.shown)
    return _with_hunks(source, header, end, scan)


def differing(line: bytes) -> bytes | None:
    """The file of which ``line`` says no more than that its sides differ; None for any other line."""
    # By hand: a pattern with two open ends tries all pairs of places, and a patch may hold a line of megabytes.
    line = line.rstrip(b"\r")
    for start in (b"Binary files ", b"Files "):
        if line.startswith(start) and line.endswith(b" differ"):
            old, _, new = line[len(start) : -len(b" differ")].rpartition(b" and ")
            return old if old and new else None
    name, changed, _ = line.removeprefix(b"Binary file ").partition(b" has changed")
    return name if line.startswith(b"Binary file ") and name and changed else None


def omitted(source: Source, name: str) -> Refused:
    """The fault for a change whose content the diff leaves out."""
    return source.refused(
        "binary-omitted",
        f"{name} is binary, and the diff does not hold its content: make the patch with git diff --binary",
        name,
    )


def _with_hunks(source: Source, header: Header, at: int, scan: Scan) -> int:
    file = header.shown
    if source.lines[at].startswith(b"@@@"):
        raise source.refused("combined", f"{file}: a combined diff of a merge fits no single tree", file)
    extents = hunks.find(source, at, file, header.git)
    body = (line for extent in extents for line in source.lines[extent.start - 1 : extent.end])
    header.crlf = header.crlf and all(line.endswith(b"\r") for line in body)
    read = hunks.read(source, extents, file, header.crlf)
    end = extents[-1].end
    _add(source, scan, header, _section(source, header, read, None), end)
    return end


def _with_binary(source: Source, header: Header, at: int, scan: Scan) -> int:
    file = header.shown
    forward, at = binary.read(source, at, file)
    if forward is None:
        raise source.refused("binary", f"the binary patch of {file} has no content", file)
    reverse, at = binary.read(source, at, file)
    _add(source, scan, header, _section(source, header, (), BinaryChange(forward, reverse)), at)
    return at


def _without_body(source: Source, header: Header, end: int, scan: Scan) -> int:
    """A ``diff --git`` line (and index line) with nothing behind: harmless if more of the diff follows."""
    lines = source.lines  # not sliced: thousands of such headers may follow each other
    if not any(lines[at].startswith((b"diff --git ", b"--- ")) for at in range(end, len(lines))):
        raise source.refused("truncated", f"the patch ends behind the header of {header.shown}", header.shown)
    scan.notes.append(f"line {source.number(header.at)}: a header without a body ({header.shown}) was left out")
    return end


def _add(source: Source, scan: Scan, header: Header, section: FilePatch, end: int) -> None:
    scan.files.append(replace(section, line=source.number(header.at), crlf=header.crlf and bool(section.hunks)))
    scan.spans.append((header.at, end))


def _section(source: Source, header: Header, read: tuple[Hunk, ...], change: BinaryChange | None) -> FilePatch:
    if header.contradicts_itself:
        raise source.refused("junk", f"the header of {header.shown} contradicts itself", header.shown)
    old, new, prefix = _moved_names(source, header) if header.moved else (*_names(source, header, read), None)
    if header.moved:
        kind = Change.RENAME if header.moved == "rename" else Change.COPY
    elif old is None:
        kind = Change.CREATE
    elif new is None:
        kind = Change.DELETE
    else:
        kind = Change.MODIFY
    modes = _modes(source, header, kind)
    sided = _sided(header, old, new)
    section = FilePatch(
        kind, old, new, *modes, header.old_blob, header.new_blob, read, change, prefix=prefix, sided=sided
    )
    _check_body(source, section)
    return section


def _names(source: Source, header: Header, read: tuple[Hunk, ...]) -> tuple[str | None, str | None]:
    if header.old is None or header.new is None:
        old, new = _common(source, header)
        return None if header.created_mode else old, None if header.deleted_mode else new
    sides = _sides(header, read)
    if None not in sides and not _same_file(*(side or "" for side in sides)):
        raise source.refused(
            "names-differ", f"the two sides name different files without a rename: {sides[0]}, {sides[1]}", sides[1]
        )
    if sides == (None, None):
        raise source.refused("junk", f"line {source.number(header.at)}: both sides are /dev/null")
    if "" in sides:
        at = source.number(header.at)
        raise source.refused("unsafe-path", f"line {at}: the file name is missing behind --- or +++")
    _check_against_git_lines(source, header, *sides)
    return sides


def _sides(header: Header, read: tuple[Hunk, ...]) -> tuple[str | None, str | None]:
    """The names of the ``---`` and ``+++`` lines. What a time stamp hints at counts only where the hunk agrees."""
    assert header.old is not None and header.new is not None
    old, new = header.old.name, header.new.name
    if not header.git and len(read) == 1:
        if header.old.absent and not read[0].old_count and not read[0].old_start:
            return None, new
        if header.new.absent and not read[0].new_count and not read[0].new_start:
            return old, None
    return old, new


def _check_against_git_lines(source: Source, header: Header, old: str | None, new: str | None) -> None:
    name = new or old
    if (header.created_mode is not None and old is not None) or (header.deleted_mode is not None and new is not None):
        raise source.refused("junk", f"the header of {name} says created or deleted, its ---/+++ lines do not", name)
    if header.git and not any(
        (old is None or old == left) and (new is None or new == right) for left, right in header.halves
    ):
        raise source.refused("names-differ", f"the diff --git line and the ---/+++ lines of {name} differ", name)


def _common(source: Source, header: Header) -> tuple[str, str]:
    """The names on a ``diff --git`` line with nothing else to go by: both halves must name one file."""
    fitting = [pair for pair in header.halves if _same_file(*pair)]
    if len(fitting) != 1:
        fitting = [pair for pair in fitting if len(pair[0]) == len(pair[1])]
    if len(fitting) != 1:
        at = source.number(header.at)
        raise source.refused("names-differ", f"line {at}: the two names do not mean one file", header.shown)
    return fitting[0]


def _moved_names(source: Source, header: Header) -> tuple[str, str, int]:
    old, new = header.moved_from, header.moved_to
    if not old or not new:
        raise source.refused("junk", f"{header.shown}: a rename or copy needs both names", header.shown)
    if old == new:
        raise source.refused("junk", f"{old}: a {header.moved} of a file onto itself", old)
    for name in (old, new):
        reason = names.check(name)
        if reason:
            raise source.refused("unsafe-path", f"{reason}.", name)
    pairs = header.halves
    if header.old is not None and header.new is not None:
        pairs = [pair for pair in pairs if pair == (header.old.name, header.new.name)]
    depths = {(pair, _depth(pair[0], old)) for pair in pairs if _depth(pair[0], old) == _depth(pair[1], new)}
    fitting = [(*pair, depth) for pair, depth in depths if depth is not None]
    if len(fitting) != 1:
        raise source.refused(
            "names-differ", f"the {header.moved} lines ({old}, {new}) and the header name different files", old
        )
    return fitting[0]


def _sided(header: Header, old: str | None, new: str | None) -> bool | None:
    """Whether the two names on the ``diff --git`` line differ in their first component; None if that is open."""
    pairs = [
        (left.partition("/")[0], right.partition("/")[0])
        for left, right in header.halves
        if _same_file(left, right) and (old is None or left == old) and (new is None or right == new)
    ]
    found = {left != right for left, right in pairs}
    return found.pop() if len(found) == 1 else None


def _depth(name: str, bare: str) -> int | None:
    """How many components ``name`` has in front of ``bare``, or None if it does not end with it."""
    if name == bare:
        return 0
    return name[: -len(bare)].count("/") if name.endswith("/" + bare) else None


def _same_file(old: str, new: str) -> bool:
    """Whether the sides differ in no more than their first component (``a/x`` and ``b/x``)."""
    return old == new or ("/" in old and "/" in new and old.split("/", 1)[1] == new.split("/", 1)[1])


def _modes(source: Source, header: Header, kind: Change) -> tuple[int | None, int | None]:
    if kind is Change.CREATE:
        return None, header.created_mode or header.index_mode
    if kind is Change.DELETE:
        return header.deleted_mode or header.index_mode, None
    if (header.old_mode is None) != (header.new_mode is None):
        raise source.refused("junk", f"{header.shown}: a change of mode needs the old and the new one", header.shown)
    old, new = header.old_mode or header.index_mode, header.new_mode or header.index_mode
    if (old == LINK) != (new == LINK):
        raise source.refused(
            "unsafe-mode", f"{header.shown}: a file can't turn into a link by a change of mode", header.shown
        )
    return old, new


def _check_body(source: Source, section: FilePatch) -> None:
    """Refuse a body that can't be all of what the header announces."""
    path = section.path
    lines = [line.data for hunk in section.hunks[:1] for line in hunk.lines[:3]]
    if lines and len(lines) < 3 and all(re.fullmatch(_SUBPROJECT, line) for line in lines):
        raise source.refused("submodule", f"{path} is a submodule, which patchctl does not change", path)
    if section.change is Change.CREATE:
        blob, absent = section.new_blob, [(hunk.old_start, hunk.old_count) for hunk in section.hunks]
    elif section.change is Change.DELETE:
        blob, absent = section.old_blob, [(hunk.new_start, hunk.new_count) for hunk in section.hunks]
    else:
        return
    if any(numbers != (0, 0) for numbers in absent) or len(absent) > 1:
        reason = f"a hunk of {path} has lines on the side that a {section.change.value} does not have"
        raise source.refused("hunk-counts", reason, path, 1)
    if not (section.hunks or section.binary) and blob and len(blob) <= 40 and not _EMPTY_BLOB.startswith(blob):
        raise source.refused("truncated", f"the content of {path} is missing from the patch", path)
