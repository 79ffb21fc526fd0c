"""Rules about the text that patches add."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from patchctl.engine.model import Change, Hunk, Op
from patchctl.series import load
from patchctl.workflows.lint.findings import Carried, Context, Finding


@dataclass(frozen=True, slots=True)
class Added:
    """A line that a patch adds: its number in the patch file, and the hunk (from 1) and file it belongs to."""

    number: int
    file: str
    hunk: int
    data: bytes
    among_crlf: bool


def whitespace(context: Context) -> Iterator[Finding]:
    """Added lines with blanks at their ends, blanks before a tab, or a carriage return among lines without."""
    for carried in context.carried:
        yield from _grouped(carried, "whitespace", _whitespace_damage)


def hidden(context: Context) -> Iterator[Finding]:
    """Characters that hide or reorder what a reviewer reads: bidirectional, zero-width and control characters."""
    document = context.project.document
    for number, text in enumerate(document.text.split("\n") if document else (), 1):
        why = _hidden(text.encode().removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").rstrip(b"\r"))
        if why:
            yield Finding("hidden-text", f"the line holds {why}.", load.FILE_NAME, number)
    for carried in context.carried:
        yield from _grouped(carried, "hidden-text", lambda line: _hidden(line.data.rstrip(b"\r\n")))
        if carried.data is not None and carried.head is not None:
            above = carried.data[: len(carried.data) - len(carried.head.diff)]
            for number, line in enumerate(above.split(b"\n"), 1):
                why = _hidden(line.rstrip(b"\r"))
                if why:
                    yield carried.finding("hidden-text", f"the head holds {why}.", line=number)


def _grouped(carried: Carried, rule: str, judge: Callable[[Added], str | None]) -> Iterator[Finding]:
    """One finding per file and complaint, however many lines it is about."""
    found: dict[tuple[str, str], list[Added]] = {}
    for line in added_lines(carried):
        why = judge(line)
        if why:
            found.setdefault((line.file, why), []).append(line)
    for (file, why), lines in found.items():
        first = lines[0]
        more = f" (and {len(lines) - 1} more lines of this file)" if len(lines) > 1 else ""
        message = f"an added line has {why}{more}."
        yield carried.finding(rule, message, line=first.number, file=file, hunk=first.hunk)


def added_lines(carried: Carried) -> Iterator[Added]:
    """Every line that the patch adds, in order."""
    raw = (carried.data or b"").split(b"\n")
    for patch in carried.patches:
        for section in patch.files:
            at = max(section.line - 1, 0)
            for index, hunk in enumerate(section.hunks, 1):
                at = _hunk_start(raw, at)
                crlf = _among_crlf(hunk, section.change)
                for line in hunk.lines:
                    at += 1
                    if at < len(raw) and raw[at].startswith(b"\\"):
                        at += 1
                    if line.op is Op.ADD:
                        yield Added(min(at + 1, len(raw)), section.path, index, line.data, crlf)


def _hunk_start(raw: list[bytes], at: int) -> int:
    """The index of the next line that begins a hunk; ``at`` itself in a mail whose body was encoded."""
    return next((index for index in range(at, len(raw)) if raw[index].startswith(b"@@ ")), at)


def _among_crlf(hunk: Hunk, change: Change) -> bool:
    old = hunk.old
    if not old and change is Change.CREATE:
        old = hunk.new
    return bool(old) and all(line.endswith(b"\r\n") for line in old if line.endswith(b"\n"))


def _whitespace_damage(line: Added) -> str | None:
    text = line.data.removesuffix(b"\n")
    if text.endswith(b"\r"):
        if not line.among_crlf:
            return "a carriage return at its end, where the lines around have none"
        text = text[:-1]
    if re.search(rb"[ \t]\Z", text):
        return "blanks at its end"
    if re.match(rb"[ \t]* \t", text):
        return "a blank before a tab in its indentation"
    return None


# Formats that break no line and show nothing: direction marks, joiners, the byte order mark inside a text.
_HIDDEN = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
# Tab and form feed are used in source code.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u2028\u2029\r]")


def _hidden(data: bytes) -> str | None:
    if data.isascii() and not re.search(rb"[\x00-\x08\x0b\x0e-\x1f\x7f\r]", data):
        return None
    match = _HIDDEN.search(text := data.decode("utf-8", "surrogateescape")) or _CONTROL.search(text)
    if match is None:
        return None
    character = match.group()
    name = unicodedata.name(character, "a control character").lower()
    return f"the character U+{ord(character):04X} ({name})"
