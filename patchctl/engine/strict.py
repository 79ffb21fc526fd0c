"""The strict half of the engine: a section either is exactly what the file wants, or it does not fit.

No offset, no fuzz, no guessing: old lines equal byte for byte at the stated line, stated modes and full blob
ids true, binary changes proved against the index line or the reverse hunk. One exception is made for line
ends, and only for patches that lost them: where a patch file's own header lines end with CR LF
(``FilePatch.crlf``), the file decides whether its lines do.

Rename and copy sources are taken from the tree before the patch, as git does it, whatever the order of the
sections; all else is applied to what the sections above made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from patchctl.engine import binary, exact, names
from patchctl.engine.model import (
    LINK,
    REGULAR,
    BinaryChange,
    BinaryHunk,
    Change,
    FilePatch,
    FileState,
    Hunk,
    Line,
    Op,
    Patch,
    blob_id,
)
from patchctl.engine.slots import Slot, Slots
from patchctl.errors import DecisionNeeded, Problem, Refused

Get = Callable[[str], FileState | None]

_FULL_ID = 40
_SHORTEST_ID = 7  # fewer digits of an id (git's own default) prove nothing


class Misfit(Exception):
    """A section does not fit: ``reason`` says why, ``hunk`` (from 1) where, ``more`` what else is wrong with it.

    ``kind``: missing, exists, mode, link, blob, context, whitespace, line-endings, end-of-file, header, no-context,
    binary, ambiguous, leftover.
    """

    def __init__(
        self, section: FilePatch, hunk: int | None, reason: str, kind: str, more: tuple[Misfit, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.section = section
        self.hunk = hunk
        self.reason = reason
        self.kind = kind
        self.more = more

    @property
    def all(self) -> tuple[Misfit, ...]:
        return (self, *self.more)


class Irreversible(Exception):
    """A section that can't be taken back from what it holds alone."""

    def __init__(self, section: FilePatch, reason: str) -> None:
        super().__init__(reason)
        self.section = section
        self.reason = reason


def apply(section: FilePatch, before: Mapping[str, FileState]) -> dict[str, FileState | None]:
    """The new states of ``section.paths``; None is a file that is gone.

    ``before`` holds the files as they are; a name that isn't in it has no file. Raises Misfit, and Refused for a link
    that would lead out of the tree.
    """
    target = section.new_path
    if section.change is not Change.MODIFY and target is not None and target in before:
        raise Misfit(section, None, f"{target} exists already", "exists")
    source = None if section.old_path is None else before.get(section.old_path)
    result = _result(section, source)
    return {path: result if path == target else None for path in section.paths}


def apply_patch(patch: Patch, get: Get) -> dict[str, FileState | None]:
    """The new states of every file that ``patch`` touches; ``get`` gives the tree before it.

    Raises DecisionNeeded (kind ``misfit``) with a problem for each hunk and section that does not fit, and Refused.
    """
    slots = Slots(patch.files, get)
    problems: list[Problem] = []
    unsafe: list[Problem] = []
    broken: set[str] = set()
    for section in patch.files:
        touched = {side for side in (section.old_path, section.new_path) if side is not None}
        if touched & broken:
            broken |= touched  # what it would meet there is not known; the problem above comes first
            continue
        try:
            _in_slots(section, slots)
        except Misfit as misfit:
            problems += [
                Problem("misfit", f"{section.path}: {one.reason}", patch.name, section.path, one.hunk)
                for one in misfit.all
            ]
            broken |= touched
        except Refused as refusal:
            unsafe += [replace(problem, patch=patch.name) for problem in refusal.problems]
            broken |= touched
    if unsafe:
        raise Refused(unsafe + problems)
    if problems:
        raise DecisionNeeded(problems)
    return slots.result()


def reverse(section: FilePatch) -> FilePatch:
    """The section that takes ``section`` back. Raises Irreversible.

    A copy comes back as the deletion of a file known by its id alone, so it needs a full ``new_blob`` (put in what a
    lock or a receipt recorded); a binary change needs the reverse hunk.
    """
    changes = {Change.CREATE: Change.DELETE, Change.DELETE: Change.CREATE}
    swapped = replace(
        section,
        change=changes.get(section.change, section.change),
        old_path=section.new_path,
        new_path=section.old_path,
        old_mode=section.new_mode,
        new_mode=section.old_mode,
        old_blob=section.new_blob,
        new_blob=section.old_blob,
        hunks=tuple(_reverse_hunk(hunk) for hunk in section.hunks),
    )
    if section.change is Change.COPY:
        if len(section.new_blob or "") != _FULL_ID:
            raise Irreversible(section, f"the copy {section.path} has no full blob id to know it by")
        return replace(
            swapped, change=Change.DELETE, new_path=None, new_mode=None, new_blob=None, hunks=(), binary=None
        )
    if section.binary is not None:
        back = section.binary.reverse
        if back is None and section.change is Change.CREATE:
            back = BinaryHunk("literal", b"")
        if back is None:
            raise Irreversible(section, f"the binary patch of {section.path} has no reverse hunk")
        return replace(swapped, binary=BinaryChange(back, section.binary.forward))
    return swapped


def reverse_patch(patch: Patch) -> Patch:
    """The patch that takes ``patch`` back: its sections reversed, the last one first. Raises Irreversible."""
    return replace(patch, files=tuple(reverse(section) for section in reversed(patch.files)))


def _in_slots(section: FilePatch, slots: Slots) -> None:
    target = section.new_path
    if section.change is not Change.MODIFY and target is not None and not slots.is_free(target):
        raise Misfit(section, None, f"{target} exists already", "exists")
    fitting: list[tuple[Slot, FileState | None]] = []
    misfits: list[Misfit] = []
    for slot in slots.sources(section):
        try:
            fitting.append((slot, _result(section, slot.state)))
        except Misfit as misfit:
            misfits.append(misfit)
    if not fitting:
        raise misfits[0]
    if len({result for _, result in fitting}) > 1:
        raise Misfit(
            section,
            None,
            f"{section.old_path} is changed above in this patch, and it is open which of its states is moved",
            "ambiguous",
        )
    slots.put(section, *fitting[-1])


def _result(section: FilePatch, source: FileState | None) -> FileState | None:
    """What ``section`` makes of its source file. Raises Misfit and Refused."""
    if section.old_path is None:
        data = _content(section, None)
    else:
        if source is None:
            raise Misfit(section, None, f"there is no file {section.old_path}", "missing")
        _check_source(section, source)
        data = _content(section, source)
    if section.change is Change.DELETE:
        return None
    if len(section.new_blob or "") == _FULL_ID and blob_id(data) != section.new_blob:
        raise Misfit(section, None, f"the result is not what the index line promises ({section.new_blob})", "blob")
    mode = section.new_mode or (source.mode if source else REGULAR)
    if mode == LINK:
        reason = names.check_link(section.path, data)
        if reason:
            raise Refused(Problem("unsafe-link", f"{reason}.", file=section.path))
    return FileState(data, mode)


def _check_source(section: FilePatch, source: FileState) -> None:
    stated = section.old_mode
    if stated is not None and stated != source.mode:
        kind = "link" if LINK in (stated, source.mode) else "mode"
        raise Misfit(section, None, f"the patch expects mode {stated:o}, the file has {source.mode:o}", kind)
    if stated is None and source.mode == LINK and (section.hunks or section.binary):
        raise Misfit(section, None, f"{section.old_path} is a link, and the patch is for a file", "link")
    if len(section.old_blob or "") == _FULL_ID and source.blob != section.old_blob:
        misses = exact.apply(section.hunks, source.data) if not section.crlf else []
        if isinstance(misses, list) and misses:
            raise _misfit(section, misses)
        reason = f"the file is {source.blob}, not the one that the patch was made for ({section.old_blob})"
        raise Misfit(section, None, reason, "blob")


def _content(section: FilePatch, source: FileState | None) -> bytes:
    data = b"" if source is None else source.data
    if section.binary is not None:
        return _binary(section, source)
    if section.change is Change.DELETE and not section.hunks:
        if data and len(section.old_blob or "") != _FULL_ID:  # a full id was proved already
            reason = f"{section.old_path} is not empty, and the patch does not hold its content"
            raise Misfit(section, None, reason, "leftover")
        return b""
    result = _open_line_ends(section, data) if section.crlf else exact.apply(section.hunks, data)
    if isinstance(result, list):
        raise _misfit(section, result)
    if section.change is Change.DELETE and result:
        raise Misfit(section, None, f"{section.old_path} has lines that the patch does not delete", "leftover")
    if data and not any(hunk.old for hunk in section.hunks) and section.hunks and not _proved(section.old_blob, data):
        raise Misfit(section, 1, "lines are added without any context, so their place can't be proved", "no-context")
    return result


def _open_line_ends(section: FilePatch, data: bytes) -> bytes | list[exact.Miss]:
    """Apply hunks whose line ends were lost: LF, unless the file, or the id of the result, says CR LF."""
    windows = exact.with_crlf(section).hunks
    plain = exact.apply(section.hunks, data)
    if section.old_path is None:
        other = exact.apply(windows, data)
        if isinstance(other, bytes) and _proved(section.new_blob, other):
            return other
        return plain
    if isinstance(plain, bytes):
        return plain
    other = exact.apply(windows, data)
    return other if isinstance(other, bytes) else plain


def _binary(section: FilePatch, source: FileState | None) -> bytes:
    assert section.binary is not None
    data = b"" if source is None else source.data
    result = _half(section, section.binary.forward, data)
    proved = source is None or _proved(section.old_blob, data)
    if section.binary.reverse is not None:
        if _half(section, section.binary.reverse, result) != data:
            raise Misfit(section, None, "the file is not the one that the binary patch was made for", "binary")
        proved = True
    if not proved:
        raise Misfit(section, None, "nothing in the binary patch proves which file it was made for", "binary")
    if section.change is Change.DELETE and result:
        raise Misfit(section, None, f"{section.old_path} would not be empty", "leftover")
    return result


def _half(section: FilePatch, half: BinaryHunk, base: bytes) -> bytes:
    if half.kind == "literal":
        return half.data
    try:
        return binary.apply_delta(base, half.data)
    except binary.BadDelta as error:
        raise Misfit(section, None, f"the binary delta does not fit: {error}", "binary") from None


def _proved(stated: str | None, data: bytes) -> bool:
    """Whether the id on an index line, full or not too short, is that of ``data``."""
    return stated is not None and _SHORTEST_ID <= len(stated) <= _FULL_ID and blob_id(data).startswith(stated)


def _misfit(section: FilePatch, misses: list[exact.Miss]) -> Misfit:
    first, *more = (Misfit(section, miss.hunk, f"hunk {miss.hunk}: {miss.reason}", miss.kind) for miss in misses)
    first.more = tuple(more)
    return first


def _reverse_hunk(hunk: Hunk) -> Hunk:
    lines: list[Line] = []
    added: list[Line] = []
    for line in hunk.lines:
        if line.op is Op.CONTEXT:
            lines += added
            added = []
            lines.append(line)
        elif line.op is Op.ADD:
            lines.append(Line(Op.REMOVE, line.data))
        else:
            added.append(Line(Op.ADD, line.data))
    lines += added
    return Hunk(hunk.new_start, hunk.new_count, hunk.old_start, hunk.old_count, hunk.section, tuple(lines))
