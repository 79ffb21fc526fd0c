"""Patch files as mails: a head that says who, when and why, and the diff below it.

What is written here is read alike by ``git am``, by quilt and by :func:`parse`, and a commit made from it says
what ``git am`` would have it say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchctl.engine import mail as mailing
from patchctl.engine.model import Mail
from patchctl.errors import InvalidInput, Problem
from patchctl.series import author as people
from patchctl.series import maildate

if TYPE_CHECKING:
    from patchctl.git import Identity

# git-mailsplit wants such a line at the start of a mail; a fixed commit id and day keep the bytes stable.
FIRST_LINE = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"

# Who and when a commit is from whose patch does not say so: fixed, so that commit ids stay the same everywhere.
NOBODY = ("patchctl", "patchctl@invalid")
NO_DATE = "946684800 +0000"

Trailer = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A patch file. ``stat`` is what stands between the ``---`` line and the diff, ``diff`` the bytes from there on.

    git's signature (``--`` and a version) is in neither.
    """

    mail: Mail
    diff: bytes
    stat: bytes = b"\n"

    @property
    def trailers(self) -> tuple[Trailer, ...]:
        """The ``Key: value`` lines that end the body, in order."""
        return split_trailers(self.mail.body)[1]

    @property
    def why(self) -> str:
        """The body without its trailers."""
        return split_trailers(self.mail.body)[0]

    def values(self, key: str) -> list[str]:
        """The values of the trailer ``key``, whatever its case."""
        return [value for name, value in self.trailers if name.casefold() == key.casefold()]


def parse(data: bytes, name: str = "the patch") -> PatchFile:
    """The patch file that ``data`` holds, called ``name`` in messages; of a mailbox, its first mail.

    What has no head gets an empty one, what has no diff an empty one. Whatever encoding the mail declares is
    undone. Raises Refused where that fails.
    """
    message = mailing.split(data.removeprefix(b"\xef\xbb\xbf"), name)[0] if data.strip() else None
    if message is None:
        return PatchFile(Mail(), b"", b"")
    lines = message.source.lines
    start = next((at for at in range(message.body, len(lines)) if _DIFF.match(lines[at])), len(lines))
    head = mailing.head(message, start)
    mail = replace(head, author=people.author_form(head.author), date=" ".join(head.date.split()))
    line = next((at for at in range(message.body, start) if lines[at].rstrip() == b"---"), None)
    end = b"" if message.source.unterminated else b"\n"
    stat = b"\n" if line is None else b"".join(text + b"\n" for text in lines[line + 1 : start])
    diff = b"\n".join(lines[start:]) + end if start < len(lines) else b""
    return PatchFile(mail, _SIGNATURE.sub(b"\n", diff), stat)


def compose(
    author: str, date: str, subject: str, why: str, trailers: Iterable[Trailer], diff: bytes, stat: bytes = b"\n"
) -> PatchFile:
    """A patch file from its parts; ``author`` is ``Name <address>``, ``date`` as in a mail (RFC 5322)."""
    block = "\n".join(f"{key}: {value}" for key, value in trailers)
    body = "\n\n".join(part for part in (tidy(why), block) if part)
    title = re.sub(r"[ \t]+", " ", subject).strip()
    return PatchFile(Mail(people.author_form(author), date.strip(), title, body), diff, stat)


def render(file: PatchFile) -> bytes:
    """``file`` as bytes: the same for the same value, and :func:`parse` gives the value back.

    Raises InvalidInput for a head that other tools would read as something else (a body with a line that
    begins a diff, a subject that begins with ``[``).
    """
    mail = file.mail
    lines = [
        *([f"From: {_address(mail.author)}"] if mail.author else []),
        *([f"Date: {mail.date}"] if mail.date else []),
        f"Subject: [PATCH] {mail.subject}",
        "",
        *([mail.body] if mail.body else []),
        "---",
    ]
    data = FIRST_LINE + "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n" + file.stat + file.diff
    wrong = _misleading(mail)
    if wrong is None and parse(data) != file:
        wrong = "The head does not survive being written and read again"
    if wrong:
        raise InvalidInput(Problem("patch-head", f"{wrong}; reword it.", mail.subject or None))
    return data


def upstream_trailers(status: str, url: str | None) -> tuple[Trailer, ...]:
    """The trailers that say where a patch stands upstream."""
    return (("Upstream-Status", status), *((("Link", url),) if url else ()))


def identity(mail: Mail) -> Identity:
    """The author that git records for ``mail``; NOBODY and NO_DATE stand in for what it does not say."""
    from patchctl.git import Identity

    name, email = people.parts(mail.author)
    return Identity(name or email or NOBODY[0], email or NOBODY[1], maildate.raw(mail.date) or NO_DATE)


def message(mail: Mail, fallback: str = "") -> bytes:
    """The commit message that git makes of ``mail``; ``fallback`` stands in for a missing subject."""
    text = tidy("\n\n".join(part for part in (mail.subject or fallback, mail.body) if part))
    return (text + "\n").encode("utf-8", "surrogateescape")


def split_trailers(body: str) -> tuple[str, tuple[Trailer, ...]]:
    """A body's text, and the trailers in its last paragraph (folded lines joined by a blank)."""
    above, gap, last = body.rpartition("\n\n")
    unfolded = re.sub(r"\n[ \t]+", " ", last)
    found = [_TRAILER.fullmatch(line) for line in unfolded.split("\n")] if last else []
    trailers = tuple((match.group(1), match.group(2).strip()) for match in found if match)
    if not trailers or len(trailers) < len(found):
        return body, ()
    return (above if gap else ""), trailers


_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]+(\S.*)")
# A version can't be a line of a hunk: those begin with a blank, +, - or a backslash.
_SIGNATURE = re.compile(rb"\n-- ?\r?\n[0-9][^\n]*\r?\n*\Z")
# Where git-mailinfo sees the patch begin.
_DIFF = re.compile(rb"diff -|Index: |--- [^\s]")


def tidy(text: str) -> str:
    """``text`` as git-stripspace leaves it: no blanks at line ends, no double or outer empty lines."""
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


# What git-mailsplit takes for the first line of the next mail.
_NEXT_MAIL = re.compile(r"^From .*[0-9]:[0-9]{2}.*[0-9]{2}\s*$", re.MULTILINE)
# What GNU patch, which quilt runs, takes for a diff even when it is indented.
_OTHER_DIFF = re.compile(
    r"^[ \t]*(?:diff -|Index:|Prereq:|(?:---|\+\+\+|\*\*\*) |@@ -|[0-9]+(?:,[0-9]+)?[acd](?:[0-9]+(?:,[0-9]+)?)?$)",
    re.MULTILINE,
)


def _misleading(mail: Mail) -> str | None:
    if not mail.subject:
        return "The head has no subject"
    if re.match(r"\[|re:|[\s:]", mail.subject, re.IGNORECASE):
        return "git am would take the beginning of the subject away"
    if any("\n" in part or "\r" in part for part in (mail.author, mail.date, mail.subject)):
        return "Author, date and subject are one line each"
    for pattern, what in ((_NEXT_MAIL, "the beginning of another mail"), (_OTHER_DIFF, "a diff")):
        found = pattern.search(mail.body)
        if found:
            return f"The line '{found.group().strip()}' of the text would be read as {what}"
    return None


def _address(author: str) -> str:
    """``author`` as a header: a name with special characters in quotes."""
    name, email = people.parts(author)
    if not email or not name:
        return author
    if re.search(r'[()<>\[\]:;@\\,."]', name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}" <{email}>'
    return f"{name} <{email}>"
