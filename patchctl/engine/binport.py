"""Binary changes on one tree: there is no context to place them by, so only proof counts."""

from __future__ import annotations

from patchctl.engine.binary import BadDelta, apply_delta
from patchctl.engine.model import BinaryHunk, FilePatch, FileState
from patchctl.engine.outcome import Note
from patchctl.engine.overlay import Entry
from patchctl.engine.place import Known
from patchctl.engine.verdict import Asked, Result, conflict, known
from patchctl.errors import Problem, Refused


def change(asked: Asked, entry: Entry, path: str) -> Result:
    """A binary change of the file in ``entry``, made only if blob ids or the base prove that it fits."""
    section, state = asked.section, entry.state
    assert section.binary is not None and state is not None
    before, after = known(section.old_blob, state), known(section.new_blob, state)
    forward = section.binary.forward
    if before is Known.OTHER or (asked.sides is not None and asked.sides.before.data != state.data):
        data = _made(forward, asked.sides.before.data if asked.sides else None)
        if after is Known.SAME and data in (None, state.data):
            note = Note("identical", f"{path} holds the patch's result already.", path)
            return Result("present", entry, present=True, evidence=[note])
        return conflict(
            asked, "binary", f"{path} is binary and is not the file that the patch was made for.", path, None
        )
    data = _made(forward, state.data)
    if data is None or (before is Known.NOTHING and forward.kind == "literal" and not asked.trusted):
        return conflict(asked, "binary", f"Nothing proves that the binary patch of {path} fits this file.", path, None)
    return Result("exact", Entry(FileState(data, state.mode)))


def _made(hunk: BinaryHunk, before: bytes | None) -> bytes | None:
    if hunk.kind == "literal":
        return hunk.data
    try:
        return apply_delta(before, hunk.data) if before is not None else None
    except BadDelta:
        return None


def created(section: FilePatch) -> bytes:
    """The content of the file that ``section`` creates. Raises Refused for a damaged delta."""
    if section.binary is not None:
        content = _made(section.binary.forward, b"")
        if content is None:
            raise Refused(Problem("binary", f"The binary patch of {section.path} can't be read.", file=section.path))
        return content
    return b"".join(line for hunk in section.hunks for line in hunk.new)
