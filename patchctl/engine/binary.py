"""The two halves of a ``GIT binary patch``: git's base85 lines, and its deltas.

Format as in git's Documentation/gitformat-pack (deltas) and its diff.c and apply.c (the text around them).
"""

from __future__ import annotations

import re
import zlib
from base64 import b85decode

from patchctl.engine.model import BinaryHunk
from patchctl.engine.source import Source
from patchctl.errors import Refused

# No file that a source patch carries is this large; a few kilobytes of deflated zeros could claim to be.
LARGEST_FILE = 64 * 1024 * 1024

_HEAD = rb"(literal|delta) (\d{1,10})"
_LINE = re.compile(rb"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+")


class BadDelta(ValueError):
    """A delta that does not fit its base, or is none."""


def read(source: Source, at: int, file: str) -> tuple[BinaryHunk | None, int]:
    """The binary hunk whose ``literal N`` or ``delta N`` line is at index ``at``, and the index behind it.

    (None, at) when there is no such line. Raises Refused (``binary``) when it can't be decoded.
    """
    lines = source.lines
    head = re.fullmatch(_HEAD, lines[at].rstrip(b"\r")) if at < len(lines) else None
    if head is None:
        return None, at
    kind, size = head.group(1).decode(), int(head.group(2))
    if size > LARGEST_FILE:
        raise source.refused("too-large", f"{file} claims to have {size} bytes", file)
    packed = bytearray()
    at += 1
    while at < len(lines):
        line = lines[at].rstrip(b"\r")
        if not _LINE.fullmatch(line):
            break
        packed += _unpack(source, at, line, file)
        at += 1
    if at < len(lines) and not lines[at].strip():
        at += 1  # the blank line that ends it
    elif at < len(lines) and not (lines[at].startswith((b"diff --git ", b"-- ")) or re.fullmatch(_HEAD, lines[at])):
        raise _damaged(source, at, file)
    return BinaryHunk(kind, _inflate(source, bytes(packed), size, file)), at


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """What ``delta`` makes of ``base``. Raises BadDelta."""
    try:
        base_size, at = _varint(delta, 0)
        size, at = _varint(delta, at)
        if base_size != len(base):
            raise BadDelta(f"it is for a file of {base_size} bytes, and there are {len(base)}")
        if size > LARGEST_FILE:
            raise BadDelta(f"the result would have {size} bytes")
        out = bytearray()
        while at < len(delta) and len(out) <= size:
            at = _instruction(base, delta, at, out)
    except IndexError:
        raise BadDelta("it is cut off") from None
    if len(out) != size:
        raise BadDelta(f"it makes {len(out)} bytes where it promises {size}")
    return bytes(out)


def _unpack(source: Source, at: int, line: bytes, file: str) -> bytes:
    length = line[0] - 64 if line[0] < 91 else line[0] - 96 + 26
    try:
        data = b85decode(line[1:])
    except ValueError:
        data = b""
    if len(data) != (length + 3) // 4 * 4:
        raise _damaged(source, at, file)
    return data[:length]


def _damaged(source: Source, at: int, file: str) -> Refused:
    return source.refused("binary", f"line {source.number(at)} of the binary patch of {file} is damaged", file)


def _inflate(source: Source, packed: bytes, size: int, file: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(packed, size + 1)
    except zlib.error as error:
        raise source.refused("binary", f"the binary patch of {file} can't be inflated: {error}", file) from None
    if len(data) != size or not inflater.eof or inflater.unused_data:
        raise source.refused("binary", f"the binary patch of {file} does not hold the {size} bytes it promises", file)
    return data


def _varint(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise BadDelta("a size in it has no end")


def _instruction(base: bytes, delta: bytes, at: int, out: bytearray) -> int:
    """Carry out the instruction at ``at`` and return where the next one begins."""
    code = delta[at]
    at += 1
    if code & 0x80:  # copy from the base: bits 0-3 say which bytes of the offset follow, bits 4-6 of the size
        offset = size = 0
        for bit in range(7):
            if code & (1 << bit):
                if bit < 4:
                    offset |= delta[at] << (8 * bit)
                else:
                    size |= delta[at] << (8 * (bit - 4))
                at += 1
        size = size or 0x10000
        if offset + size > len(base):
            raise BadDelta("it copies from behind the end")
        out += base[offset : offset + size]
    elif code:  # insert the bytes that follow
        if at + code > len(delta):
            raise BadDelta("it is cut off")
        out += delta[at : at + code]
        at += code
    else:
        raise BadDelta("it holds a reserved instruction")
    return at
