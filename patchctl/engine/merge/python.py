"""The vetoes for Python, asked only where the two edits could do what they forbid.

A text whose both sides are sound can go wrong in few ways: both sides add one name, one side uses what the other
takes away, or the lines do not parse where they are now. The first two show in the lines that were added and
removed; only if they do, the whole files are parsed. The last is asked of the smallest piece around each placement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from patchctl.engine.merge import syntax
from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.model import Context, Put
from patchctl.engine.merge.text import indent_of, strings

_NAME = re.compile(rb"[A-Za-z_]\w*")
_DEFINES = re.compile(rb"(?:async\s+)?(?:def|class)\s+(\w+)|[\"']([^\"']+)[\"']\s*:")
_KEY = re.compile(rb"\s*([^\s:#][^:#]*?)\s*:\s*[^\s#]")
_IMPORTS = re.compile(rb"(?:from\s+[\w.]+\s+)?import\b(.*)")
_LISTED = re.compile(rb"(\w+(?: as \w+)?),?\)?\Z")  # a name on a line of its own, as in a long import
_MADE = re.compile(rb"\b(?:as|for)\s+(\w+)")
_PARAMETER = re.compile(rb"\*{0,2}(\w+)\s*:[^=(]*,\Z")  # on a line of its own
_TARGETS = re.compile(rb"\w[\w, ]*\Z")
_NO_NAMES = frozenset(
    b"and as assert await break cls continue def del elif else except finally for from if import in is lambda not or"
    b" pass raise return self try while with yield None True False".split()
)
_LARGEST_PIECE = 300  # lines
_LONGEST_KEY = 500  # bytes of a line; longer ones are data


def suspects(ctx: Context, edits: Sequence[Edit]) -> bool:
    """Whether both sides add one name, or one side may use a name that the other takes away."""
    theirs = ctx.align.script
    ours_new = _lines(ctx.patched.lines, ((e.new_start, e.new_end) for e in edits))
    ours_old = _lines(ctx.base.lines, ((e.start, e.end) for e in edits))
    their_new = _lines(ctx.onto.lines, ((e.new_start, e.new_end) for e in theirs))
    their_old = _lines(ctx.base.lines, ((e.start, e.end) for e in theirs))
    if _keys(ours_new) & _keys(their_new):
        return True
    common = (_used(ours_new) | _used(ours_old)) & set(_NAME.findall(b"".join([*their_new, *their_old])))
    common -= _NO_NAMES
    if not common and not any(b'"' in line or b"'" in line for line in ours_new):
        return False
    their_new, their_old = _with(their_new, common), _with(their_old, common)
    if _defined(ours_new) & _defined(their_new):
        return True
    if (_bound(ours_new) - _bound(ours_old)) & (_bound(their_new) - _bound(their_old)):
        return True
    for scope in (_anywhere, _at_the_margin):
        their_lost = _bound(scope(their_old)) - _bound(scope(their_new))
        our_lost = _bound(scope(ours_old)) - _bound(scope(ours_new))
        if their_lost & _used(ours_new) or our_lost & _used(their_new):
            return True
    return False


def _anywhere(lines: Sequence[bytes]) -> Sequence[bytes]:
    return lines


def _at_the_margin(lines: Sequence[bytes]) -> Sequence[bytes]:
    return [line for line in lines if line[:1] not in b" \t\n"]


def _keys(lines: Iterable[bytes]) -> set[bytes]:
    """What stands before a colon that something follows: the keys of dictionaries, most often."""
    return {found[1] for line in lines if len(line) < _LONGEST_KEY and (found := _KEY.match(line))}


def _lines(lines: Sequence[bytes], spans: Iterable[tuple[int, int]]) -> list[bytes]:
    return [line for start, end in spans for line in lines[start:end]]


def _with(lines: Iterable[bytes], names: set[bytes]) -> list[bytes]:
    """Those of ``lines`` that may hold one of ``names``, or a key in quotes."""
    return [line for line in lines if any(name in line for name in names) or b'":' in line or b"':" in line]


def _defined(lines: Iterable[bytes]) -> set[bytes]:
    """Functions, classes, keys and imports that ``lines`` bring."""
    out: set[bytes] = set()
    for line in map(bytes.strip, lines):
        found = _DEFINES.match(line)
        if found:
            out.add(found[1] or found[2])
        else:
            out.update(_imported(line))
    return out - _NO_NAMES


def _bound(lines: Iterable[bytes]) -> set[bytes]:
    """Names that ``lines`` make: definitions and their parameters, imports, assignments, targets of loops."""
    out: set[bytes] = set()
    for line in map(bytes.strip, lines):
        found = _DEFINES.match(line)
        out.update(_MADE.findall(line))
        if found and found[1]:
            out.add(found[1])
            out.update(_NAME.findall(line[found.end() :].rpartition(b")")[0]))
        elif parameter := _PARAMETER.match(line):
            out.add(parameter[1])
        else:
            out.update(_imported(line))
            out.update(_assigned(line))
    return out - _NO_NAMES


def _imported(line: bytes) -> list[bytes]:
    found = _IMPORTS.match(line) or _LISTED.match(line)
    return _NAME.findall(found[1]) if found else []


def _assigned(line: bytes) -> list[bytes]:
    head, sign, rest = line.partition(b"=")
    if not sign or rest[:1] == b"=" or head[-1:] in b"!<>+-*/%&|^@:":
        return []
    head = head.partition(b":")[0].rstrip()
    return _NAME.findall(head) if _TARGETS.match(head) else []


def _used(lines: Iterable[bytes]) -> set[bytes]:
    return {name for line in lines for name in _NAME.findall(line)}


def broken(ctx: Context, result: bytes, puts: Sequence[Put]) -> bool | None:
    """Whether ``result`` is no Python though both sides are; None if a side is none either, to the one that runs."""
    if all(syntax.compiles(piece) for piece in _pieces(result, puts)) or syntax.compiles(result):
        return False
    if syntax.compiles(ctx.onto.data) and syntax.compiles(ctx.patched.data):
        return True
    if syntax.parses(result):
        return False
    return True if syntax.parses(ctx.onto.data) and syntax.parses(ctx.patched.data) else None


def _pieces(result: bytes, puts: Sequence[Put]) -> Iterator[bytes]:
    """The statements of ``result`` around each placement, each as a text of its own; the whole where they are long."""
    lines = result.split(b"\n")
    shift = 0
    done = -1
    for put in sorted(puts, key=lambda put: (put.start, put.end)):
        start, end = put.start + shift, put.start + shift + len(put.new)
        shift += len(put.new) - (put.end - put.start)
        if end <= done:
            continue
        first, last = _statement(lines, start, end)
        done = last
        if _in_text(lines, first) or _in_text(lines, last):
            yield result
            return
        if last - first > _LARGEST_PIECE:
            inner = lines[first:last]
            piece = _method(inner, strings(inner), start - first, end - first)
            if piece is None:
                yield result
                return
            yield piece
        else:
            yield b"\n".join(lines[first:last]) + b"\n"


def _statement(lines: Sequence[bytes], start: int, end: int) -> tuple[int, int]:
    """The statements of the module that lines ``start`` to ``end`` stand in, as the margin shows them."""
    first, last = min(start, len(lines) - 1), end + 1
    while first > 0 and not _begins(lines[first]):
        first -= 1
    while last < len(lines) and not _begins(lines[last]):
        last += 1
    return first, min(last, len(lines))


def _in_text(lines: Sequence[bytes], at: int) -> bool:
    """Whether line ``at`` may stand in a text that goes over several lines: an odd number of marks is above it."""
    above = b"\n".join(lines[:at])
    return above.count(b'"""') % 2 == 1 or above.count(b"'''") % 2 == 1


def _begins(line: bytes) -> bool:
    """Whether ``line`` can begin a statement of the module that is no continuation of one (``else``, a bracket)."""
    head = line[:1]
    return (head.isalpha() and not line.startswith((b"else", b"elif", b"except", b"finally"))) or head in (b"@", b"_")


def _method(lines: Sequence[bytes], inside: Sequence[bool], start: int, end: int) -> bytes | None:
    """The definition one level down that holds lines ``start`` to ``end``, turned into a text of its own."""
    first = start
    while first > 0 and not (_opens(lines[first]) and not inside[first]):
        first -= 1
    indent = indent_of(lines[first])
    if not indent or start - first > _LARGEST_PIECE:
        return None
    last = max(end, first + 1)
    while last < len(lines) and last - first <= _LARGEST_PIECE:
        line = lines[last]
        if (
            line.strip()
            and not inside[last]
            and indent_of(line) <= indent
            and line.lstrip()[:1] not in (b")", b"]", b"}")
        ):
            break
        last += 1
    if last - first > _LARGEST_PIECE:
        return None
    return b"class _:\n" + b"\n".join(lines[first:last]) + b"\n"


def _opens(line: bytes) -> bool:
    return line.lstrip().startswith((b"def ", b"async def ")) and line[:1] in b" \t"
