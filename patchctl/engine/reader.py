"""Reads patch files: bytes in, :class:`~patchctl.engine.model.Patch` values out, or a refusal that says why.

Names and prefixes
    ``read(data, name)`` leaves every name as the header lines write it, ``a/`` and ``b/`` included, also for
    renames and copies (whose own lines carry no prefix: ``FilePatch.prefix`` then says how many components the
    prefix has). ``read(data, name, strip=1)``, for patches of a series, takes exactly one component off every
    name; ``stripped(patch, n)`` does the same later, once a strip level has been found out. After that the two
    sides of a section that is no rename or copy name one file. Names are checked as written and again after
    that; nothing is ever repaired.

Refusals carry ``patch`` (the name given), ``file`` and ``hunk`` where they are known. Their kinds: empty, encoding,
compressed, too-large, truncated, hunk-header, hunk-counts, hunk-order, eof-marker, no-hunks, names-differ, unsafe-path,
unsafe-mode, unsafe-link, submodule, attachment, combined, context-diff, normal-diff, ed-script, colours, binary,
binary-omitted, diff-in-message, strip, unreadable, junk.
"""

from __future__ import annotations

import re
from dataclasses import replace

from patchctl.engine import mail, names, scan
from patchctl.engine.model import LINK, Change, FilePatch, Patch
from patchctl.engine.source import Source
from patchctl.errors import Problem, Refused

# Reading takes some ten times the size in memory; a source patch beyond this is a dump of data.
LARGEST_PATCH = 32 * 1024 * 1024

# Minified files have lines of a megabyte; ten times that is nothing a person could review.
LONGEST_LINE = 10 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"(\xb5/\xfd": "zstd"}


def read(data: bytes, name: str, strip: int | None = None, *, known: bool = False) -> list[Patch]:
    """The patches in one patch file, in order; a mailbox holds several, named ``name#1``, ``name#2`` …

    ``name`` is how messages call the file. ``strip`` takes that many leading components off all names. ``known``:
    a hash proves that ``data`` was read before, and hashes will prove what comes of it, so that unidiff need not
    read the hunks for a second opinion. Raises Refused.
    """
    data, notes = _text_of(data, name)
    patches: list[Patch] = []
    messages = mail.split(data, name)
    for message in messages:
        found = scan.scan(replace(message.source, known=known), message.body, message.is_mail)
        if not found.files:
            if len(messages) > 1 and _is_letter(message, first=not patches):
                notes = (*notes, f"{message.source.name} holds no diff and was left out")
                continue
            raise scan.nothing_found(message.source)
        patch = Patch(
            message.source.name,
            mail.head(message, found.spans[0][0]),
            tuple(found.files),
            (*notes, *message.notes, *found.notes),
        )
        _check(patch)
        patches.append(patch if strip is None else stripped(patch, strip))
        notes = ()
    if not patches:
        raise Source(name, []).refused("junk", "none of the messages in it holds a diff")
    if notes:
        patches[-1] = replace(patches[-1], notes=patches[-1].notes + notes)
    return patches


def stripped(patch: Patch, count: int) -> Patch:
    """``patch`` with ``count`` leading components taken off every name. Raises Refused."""
    problems: list[Problem] = []
    files = []
    for section in patch.files:
        old, new = (
            None if side is None else names.strip(side, count) or "" for side in (section.old_path, section.new_path)
        )
        if old == "" or new == "":
            problems.append(
                Problem("strip", f"{section.path} has no {count} leading components to strip", patch.name, section.path)
            )
        elif section.prefix is not None and section.prefix != count:
            problems.append(
                Problem(
                    "strip",
                    f"{section.path}: by its {section.change.value} lines the prefix has {section.prefix} components,"
                    f" not {count}",
                    patch.name,
                    section.path,
                )
            )
        elif section.change is Change.MODIFY and old != new:
            problems.append(
                Problem("names-differ", f"the two sides name different files: {old}, {new}", patch.name, section.path)
            )
        else:
            files.append(replace(section, old_path=old, new_path=new, prefix=None if section.prefix is None else 0))
    if problems:
        raise Refused(problems)
    result = replace(patch, files=tuple(files))
    _check(result)
    return result


def _text_of(data: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """``data`` without a byte order mark, and a note if there was one; refuses what is no text of a sane size."""
    source = Source(name, [])
    if len(data) > LARGEST_PATCH:
        raise source.refused("too-large", f"the patch has {len(data)} bytes; more than {LARGEST_PATCH} are not read")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise source.refused("encoding", "the patch is UTF-16 (as a Windows shell's > writes it): save it as UTF-8")
    for magic, packer in _PACKED.items():
        if data.startswith(magic):
            raise source.refused("compressed", f"the patch is compressed: unpack it with {packer} first")
    marked = data.startswith(_BOM)
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise source.refused("empty", "the patch is empty")
    if len(data) > LONGEST_LINE and max(map(len, data.split(b"\n"))) > LONGEST_LINE:
        raise source.refused("too-large", f"a line of the patch has more than {LONGEST_LINE} bytes")
    return data, ("a byte order mark before the patch was skipped",) if marked else ()


def _is_letter(message: mail.Message, first: bool) -> bool:
    """Whether a message of a mailbox may lack a diff: a cover letter, or whatever stands above the first message."""
    subject = message.headers.get("subject", b"")
    return (first and not message.is_mail) or re.search(rb"[ \[]0+/\d", subject) is not None


def _check(patch: Patch) -> None:
    """Raise Refused with everything about the names and links of ``patch`` that is unsafe."""
    problems = [problem for section in patch.files for problem in _unsafe(patch.name, section)]
    problems += _through_links(patch)
    if problems:
        raise Refused(problems)


def _unsafe(patch: str, section: FilePatch) -> list[Problem]:
    problems = []
    for path in dict.fromkeys(side for side in (section.old_path, section.new_path) if side is not None):
        reason = names.check(path)
        if reason:
            problems.append(Problem("unsafe-path", f"{reason}.", patch, path))
    if section.new_mode == LINK and section.change is Change.CREATE and section.hunks and not problems:
        reason = names.check_link(section.path, b"".join(section.hunks[0].new))
        if reason:
            problems.append(Problem("unsafe-link", f"{reason}.", patch, section.path))
    return problems


def _through_links(patch: Patch) -> list[Problem]:
    """Sections whose file lies behind a link, or below a file, that the same patch makes."""
    made: dict[str, bool] = {}  # path -> whether it is a link
    problems = []
    for section in patch.files:
        path = section.new_path
        if section.change in (Change.DELETE, Change.RENAME) and section.old_path is not None:
            made.pop(section.old_path, None)
        if path is None:
            continue
        parent = path.rpartition("/")[0]
        while parent:
            if parent in made:
                what = "a link" if made[parent] else "a file"
                reason = f"{path} lies behind {parent}, which this patch makes {what}."
                problems.append(Problem("unsafe-path", reason, patch.name, path))
            parent = parent.rpartition("/")[0]
        if section.change is not Change.MODIFY:
            made[path] = section.new_mode == LINK
    return problems
