"""Mails, mailboxes and the heads that git, Mercurial and quilt write above a diff.

``split`` takes a file apart into messages; ``Message.lines`` are those of the (decoded) body, in which the diff
is then found, and ``head`` makes the :class:`~patchctl.engine.model.Mail` out of what stands above the diff. The
standard library's mail parser is only loaded for encoded bodies, encoded headers and attachments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from patchctl.engine.model import Mail
from patchctl.engine.quoting import text
from patchctl.engine.source import LONGEST_HEADER, Source

_FROM_LINE = rb"(?m)^From [^\n]{1,500}$"
_GIT_FROM = rb"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\s*"
_ANY_FROM = rb"From \S.* \d{1,2}:\d\d(?::\d\d)? .*\d{4}\s*"
_COMMIT = rb"(?m)^commit [0-9a-f]{40,64}[^\n]*\n(?:Merge: [^\n]*\n)?Author: "
_HEADER = rb"(?s)([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)"
_FIRST_HEADER = (
    rb"(?:From|Subject|Date|Message-I[dD]|To|Cc|Return-Path|Received|Delivered-To|MIME-Version|Content-Type"
    rb"|X-[\w-]+): ?"
)
_IN_BODY = rb"(?s)(From|Subject|Date): *(.*)"
_PATCH_TAG = r"(?i)(?:\s|re:)*\[[^\]]*(?:PATCH|RFC)[^\]]*\]\s*"
_QUOTED_AUTHOR = r'"((?:[^"\\]|\\.)*)"\s*(<.*>)'
_SCISSORS = rb">8|8<|>%|%<"
_DIFF_LINE = rb"(?m)^(?:diff --git |--- [^\n]*\n\+\+\+ )"


@dataclass(slots=True)
class Message:
    """One message: its headers (unfolded, keys in lower case, first one wins) and where its body begins."""

    source: Source
    body: int = 0  # index of the body's first line
    headers: dict[str, bytes] = field(default_factory=dict)
    is_mail: bool = False
    charset: str = "utf-8"
    notes: tuple[str, ...] = ()


def split(data: bytes, name: str) -> list[Message]:
    """The messages of a patch file; one for a file that is no mailbox. Raises Refused for what can't be decoded."""
    cuts = _cuts(data)
    pieces = [data[a:b] for a, b in zip(cuts, [*cuts[1:], len(data)], strict=True)]
    starts = [1 + data.count(b"\n", 0, cut) for cut in cuts]
    found = [(piece, first) for piece, first in zip(pieces, starts, strict=True) if piece.strip()]
    several = len(found) > 1
    return [
        _message(piece, f"{name}#{number}" if several else name, first)
        for number, (piece, first) in enumerate(found, 1)
    ]


def head(message: Message, end: int) -> Mail:
    """What the message says about itself; ``end`` is the index of the diff's first line."""
    above = [line.rstrip(b"\r") for line in message.source.lines[message.body : end]]
    if message.is_mail:
        return _mail_head(message, above)
    if above and above[0].startswith(b"commit ") and len(above) > 1:
        return _commit_head(above)
    if above and above[0].startswith(b"# HG changeset patch"):
        return _mercurial_head(above)
    return Mail(body=_joined(_until_separator(above), message.charset))


def _cuts(data: bytes) -> list[int]:
    """The offsets at which messages (or commits of ``git log -p``) begin; 0 is always one."""
    cuts = [0]
    for found in re.finditer(_FROM_LINE, data) if b"\nFrom " in data else ():
        at, line = found.start(), found.group()
        blank = data[max(at - 4, 0) : at].replace(b"\r", b"")[-2:] in (b"\n\n", b"\n")
        if at and (re.fullmatch(_GIT_FROM, line) or (blank and re.fullmatch(_ANY_FROM, line))):
            cuts.append(at)
    if len(cuts) == 1 and b"\ncommit " in data and not data.startswith(b"From "):
        cuts += [found.start() for found in re.finditer(_COMMIT, data) if found.start()]
    return cuts


def _message(data: bytes, name: str, first: int) -> Message:
    source = Source.of(data, name, first)
    start = next(index for index, line in enumerate(source.lines) if line.strip())
    line = source.lines[start]
    if not _is_from(line):
        if not re.match(_FIRST_HEADER, line):
            return Message(source)
    else:
        start += 1
    message = Message(source, is_mail=True)
    message.headers, message.body = _headers(source.lines, start)
    return _decoded(message, b"\n".join(source.lines[start:]) + (b"" if source.unterminated else b"\n"))


def _is_from(line: bytes) -> bool:
    """Whether ``line`` begins a message of a mailbox."""
    return re.fullmatch(_FROM_LINE, line) is not None and bool(
        re.fullmatch(_GIT_FROM, line) or re.fullmatch(_ANY_FROM, line)
    )


def _headers(lines: list[bytes], at: int) -> tuple[dict[str, bytes], int]:
    found: dict[str, list[bytes]] = {}
    key = None
    while at < len(lines):
        line = lines[at].rstrip(b"\r")
        header = re.fullmatch(_HEADER, line)
        if line[:1] in (b" ", b"\t") and key is not None and line.strip():
            found[key].append(line.strip())
        elif header:
            key = header.group(1).decode().lower()
            if key in found:
                key = "(again)"
            found[key] = [header.group(2).strip()]
        elif not line.startswith(b">From "):
            break
        at += 1
    unfolded = {key: b" ".join(parts) for key, parts in found.items()}
    return unfolded, at + 1 if at < len(lines) and not lines[at].strip() else at


def _decoded(message: Message, raw: bytes) -> Message:
    """``message`` with its body decoded by its own headers; as it is when nothing is encoded."""
    kind = message.headers.get("content-type", b"").lower()
    coding = message.headers.get("content-transfer-encoding", b"").strip().lower()
    charset = re.search(rb"charset=\"?([\w.:-]+)", kind)
    if charset:
        message.charset = charset.group(1).decode()
    if not kind.startswith(b"multipart/") and coding not in (b"quoted-printable", b"base64"):
        return message
    from email import message_from_bytes

    source = message.source
    try:
        parts = [
            part.get_payload(decode=True) or b""
            for part in message_from_bytes(raw).walk()
            if not part.is_multipart() and part.get_content_subtype() != "html"
        ]
    except RecursionError:
        raise source.refused("attachment", "the parts of the mail are nested too deeply to be a letter") from None
    bodies = [part for part in parts if isinstance(part, bytes)]
    diffs = [part for part in bodies if re.search(_DIFF_LINE, part.replace(b"\r\n", b"\n"))]
    if len(diffs) > 1:
        raise source.refused("junk", "several parts of the mail hold a diff: save the right one on its own")
    if diffs and bodies[0] != diffs[0]:
        # What the letter says and what is attached may be two things; a person has looked at one of them.
        raise source.refused("attachment", "the diff is an attachment of the mail, not its text: save it on its own")
    decoded = Source.of(b"".join(diffs or bodies), source.name)
    note = "the mail's body was decoded"
    return replace(message, source=decoded, body=0, notes=(note,))


def _mail_head(message: Message, above: list[bytes]) -> Mail:
    fields = {key: message.headers.get(key, b"") for key in ("from", "date", "subject")}
    lines = _until_separator(_below_scissors(above))
    at = next(_filled(lines), len(lines))
    while at < len(lines) and (found := re.fullmatch(_IN_BODY, lines[at])):
        folded = at + 1
        while folded < len(lines) and lines[folded][:1] in (b" ", b"\t"):
            folded += 1
        fields[found.group(1).decode().lower()] = b" ".join([found.group(2), *map(bytes.strip, lines[at + 1 : folded])])
        at = folded
    return Mail(
        _author(_header_text(fields["from"])),
        _header_text(fields["date"]),
        _subject(_header_text(fields["subject"])),
        _joined(lines[at:], message.charset),
    )


def _commit_head(above: list[bytes]) -> Mail:
    """The head that ``git show`` and ``git log -p`` write: the message is indented by four blanks."""
    values = {key: text(value) for key, value in _pairs(above[:8])}
    message = [line[4:] for line in above if line.startswith(b"    ")]
    start = next(_filled(message), 0)
    subject = text(message[start]) if message else ""
    return Mail(values.get(b"Author", ""), values.get(b"Date", ""), subject, _joined(message[start + 1 :], "utf-8"))


def _pairs(lines: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for line in lines:
        found = re.fullmatch(_HEADER, line)
        if found:
            yield found.group(1), found.group(2)


def _mercurial_head(above: list[bytes]) -> Mail:
    values = dict(line[2:].split(b" ", 1) for line in above if re.match(rb"# (?:User|Date) \S", line))
    message = [line for line in above if not line.startswith(b"# ")]
    start = next(_filled(message), 0)
    subject = text(message[start]) if message else ""
    return Mail(
        text(values.get(b"User", b"")), text(values.get(b"Date", b"")), subject, _joined(message[start + 1 :], "utf-8")
    )


def _filled(lines: list[bytes]) -> Iterator[int]:
    return (index for index, line in enumerate(lines) if line.strip())


def _until_separator(lines: list[bytes]) -> list[bytes]:
    """The message proper: what follows a ``---`` line is a diffstat and notes for reviewers."""
    return next((lines[:index] for index, line in enumerate(lines) if line.rstrip() == b"---"), lines)


def _below_scissors(lines: list[bytes]) -> list[bytes]:
    last = max((index for index, line in enumerate(lines) if _is_scissors(line)), default=-1)
    return lines[last + 1 :]


def _is_scissors(line: bytes) -> bool:
    """git's rule: mostly perforation (dashes, blanks, scissors), of some length, with scissors in it."""
    line = line.strip()
    marks = re.findall(_SCISSORS, line)
    perforation = 2 * len(marks) + line.count(b"-")
    return bool(marks) and 8 <= len(line) < 3 * perforation and 2 * line.count(b" ") < 3 * perforation


def _author(value: str) -> str:
    quoted = re.fullmatch(_QUOTED_AUTHOR, value)
    if quoted is None:
        return value
    name = re.sub(r"\\(.)", r"\1", quoted.group(1))
    return f"{name} {quoted.group(2)}"


def _subject(value: str) -> str:
    found = re.match(_PATCH_TAG, value[:LONGEST_HEADER])
    return value[found.end() :].strip() if found else value.strip()


def _header_text(value: bytes) -> str:
    raw = text(value)
    if "=?" not in raw or len(raw) > LONGEST_HEADER:  # the library needs the square of its length in time
        return raw
    from email.errors import MessageError
    from email.header import decode_header, make_header

    try:
        return " ".join(str(make_header(decode_header(raw))).split())
    except (MessageError, LookupError, ValueError):
        return raw


def _joined(lines: list[bytes], charset: str) -> str:
    """Lines as text without blank ones at either end; what the charset can't read is kept by surrogate escapes."""
    raw = b"\n".join(line.rstrip() for line in lines).strip(b"\n")
    try:
        return raw.decode("utf-8" if charset.lower() in ("us-ascii", "8bit") else charset)
    except (LookupError, UnicodeError):
        return text(raw)
