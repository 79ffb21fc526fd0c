"""Writing a unified diff with git's headers, as ``git apply`` reads it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchctl.engine.lines import split
from patchctl.engine.model import FileState

_CONTEXT = 3
_PIECE = 52
# git takes a file for binary if a NUL stands this near to its start.
_LOOKED_AT = 8000
_NO_NEWLINE = b"\\ No newline at end of file\n"
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one file. ``origins`` gives, for each line of ``after``, the index of the line of
    ``before`` that it is, or -1; None where that is not known. ``moved_from`` names the file it was before.
    ``hunks`` is the text of the hunks, or of the binary change, where somebody has it already."""

    path: str
    before: FileState | None
    after: FileState | None
    origins: Sequence[int] | None = None
    moved_from: str | None = None
    hunks: bytes | None = None


def diff(changes: Sequence[Change]) -> bytes:
    """One section for each of ``changes`` that changes anything."""
    return b"".join(b"".join(_section(change)) for change in changes)


def quoted(name: str) -> bytes:
    """``name`` as it stands in a header line of a diff: in quotes, with octal escapes, where git does so."""
    raw = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):
        return raw
    return b'"' + b"".join(_escaped(byte) for byte in raw) + b'"'


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return b"\\" + _ESCAPES[byte].encode()
    return b"%c" % byte if 0x20 <= byte < 0x7F else b"\\%03o" % byte


def _section(change: Change) -> Iterator[bytes]:
    before, after = change.before, change.after
    if before == after and not change.moved_from:
        return
    if before is not None and after is not None and before.mode & 0o170000 != after.mode & 0o170000:
        # git writes a change of type as a deletion and a creation.
        yield from _section(Change(change.moved_from or change.path, before, None))
        yield from _section(Change(change.path, None, after))
        return
    old = change.moved_from or change.path
    yield b"diff --git " + quoted(f"a/{old}") + b" " + quoted(f"b/{change.path}") + b"\n"
    yield from _modes(before, after)
    if change.moved_from:
        yield b"rename from " + quoted(old) + b"\nrename to " + quoted(change.path) + b"\n"
    ours = before.data if before else b""
    theirs = after.data if after else b""
    if ours == theirs and before and after:
        return
    yield b"index " + (before.blob if before else "0" * 40).encode() + b".."
    yield (after.blob if after else "0" * 40).encode() + _same_mode(before, after) + b"\n"
    if ours == theirs:
        return
    if change.hunks is not None and change.hunks.startswith(b"GIT binary patch"):
        yield change.hunks
        return
    if change.hunks is None and (_binary(ours) or _binary(theirs)):
        yield b"GIT binary patch\n" + _literal(theirs) + _literal(ours)
        return
    yield b"--- " + (_name(f"a/{old}") if before else b"/dev/null") + b"\n"
    yield b"+++ " + (_name(f"b/{change.path}") if after else b"/dev/null") + b"\n"
    yield from [change.hunks] if change.hunks is not None else _hunks(split(ours), split(theirs), change.origins)


def _modes(before: FileState | None, after: FileState | None) -> Iterator[bytes]:
    if before is None and after is not None:
        yield b"new file mode %o\n" % after.mode
    elif after is None and before is not None:
        yield b"deleted file mode %o\n" % before.mode
    elif before is not None and after is not None and before.mode != after.mode:
        yield b"old mode %o\nnew mode %o\n" % (before.mode, after.mode)


def _same_mode(before: FileState | None, after: FileState | None) -> bytes:
    return b" %o" % after.mode if before is not None and after is not None and before.mode == after.mode else b""


def _name(name: str) -> bytes:
    # GNU patch takes what follows a blank for a time stamp unless a tab ends the name; git writes one too.
    return quoted(name) + (b"\t" if " " in name else b"")


def _binary(data: bytes) -> bool:
    return b"\0" in data[:_LOOKED_AT]


def _literal(data: bytes) -> bytes:
    packed = zlib.compress(data, 6)
    out = [b"literal %d\n" % len(data)]
    for at in range(0, len(packed), _PIECE):
        piece = packed[at : at + _PIECE]
        letter = len(piece) + (64 if len(piece) <= 26 else 70)
        out.append(b"%c" % letter + base64.b85encode(piece, pad=True) + b"\n")
    return b"".join(out) + b"\n"


def _hunks(old: Sequence[bytes], new: Sequence[bytes], origins: Sequence[int] | None) -> Iterator[bytes]:
    blocks = list(_blocks(len(old), len(new), origins if origins is not None else _outer(old, new)))
    group: list[tuple[int, int, int, int]] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * _CONTEXT:
            yield from _hunk(old, new, group)
            group = []
        group.append(block)
    if group:
        yield from _hunk(old, new, group)


def _outer(old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """Origins that know of nothing but what both sides have in common at their ends."""
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    tail = next((at for at in range(shortest - head) if old[-1 - at] != new[-1 - at]), shortest - head)
    return [*range(head), *[-1] * (len(new) - head - tail), *range(len(old) - tail, len(old))]


def _blocks(old: int, new: int, origins: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """The changed ranges (old start, old end, new start, new end)."""
    i = j = 0
    for index in range(new + 1):
        origin = origins[index] if index < new else old
        if origin < 0:
            continue
        if origin > i or index > j:
            yield i, origin, j, index
        i, j = origin + 1, index + 1


def _hunk(old: Sequence[bytes], new: Sequence[bytes], group: list[tuple[int, int, int, int]]) -> Iterator[bytes]:
    start, shift = max(group[0][0] - _CONTEXT, 0), group[0][2] - group[0][0]
    end = min(group[-1][1] + _CONTEXT, len(old))
    new_start, new_end = start + shift, end + group[-1][3] - group[-1][1]
    yield b"@@ -%s +%s @@\n" % (_range(start, end), _range(new_start, new_end))
    at = start
    for i, i_end, j, j_end in group:
        yield from _marked(b" ", old[at:i])
        yield from _marked(b"-", old[i:i_end])
        yield from _marked(b"+", new[j:j_end])
        at = i_end
    yield from _marked(b" ", old[at:end])


def _range(start: int, end: int) -> bytes:
    count = end - start
    first = start + 1 if count else start
    return b"%d" % first if count == 1 else b"%d,%d" % (first, count)


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n" + _NO_NEWLINE
