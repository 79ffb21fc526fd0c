"""The merge as a verdict: what a section makes of a file that differs from the one that it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.merge.merge import How, Merged, merge
from patchctl.engine.model import FileState, Hunk
from patchctl.engine.options import Script
from patchctl.engine.outcome import HunkRecord, Note
from patchctl.engine.overlay import Entry, through
from patchctl.engine.verdict import Asked, Result, Sides, conflict, questioned, worst_method
from patchctl.errors import Problem

# Bytes of a file whose words are compared; nobody reformats a longer one by hand.
_LONGEST = 1_000_000


def change(asked: Asked, sides: Sides, entry: Entry, path: str) -> Result:
    """The file in ``entry``, to stand at ``path``, with what the section did to its file in the base."""
    state = entry.state
    assert state is not None
    bare = next((number for number, hunk in enumerate(sides.section.hunks, 1) if not hunk.old), None)
    if bare is not None and sides.before.data:
        text = "The hunk has no context at all, and upstream has changed the file, so that its place would be a guess."
        proposal = questioned(
            split(state.data), split(sides.before.data), split(sides.after.data), asked.labels, state.mode
        )
        result = conflict(asked, "no-context", text, path, proposal)
        result.problems[0] = replace(result.problems[0], hunk=bare)
        return result
    how = How(asked.rules, asked.options.off, asked.accepted, asked.elsewhere, asked.labels)
    upstream, edits = edit_script(asked, sides.before, state), edit_script(asked, sides.before, sides.after)
    spans = _spans(sides)
    merged = merge(path, sides.before.data, state.data, sides.after.data, upstream, edits, hunks=spans, how=how)
    result = _result(merged, sides, path)
    if _same_words(sides.before.data, state.data):
        result.evidence.append(Note("whitespace", f"Upstream changed nothing but whitespace in {path}.", path))
    if merged.objections and _other_line_ends(sides.before.data, state.data):
        text = f"{path} differs from the base in line endings; patchctl does not look past that."
        result.problems.insert(0, Problem("line-endings", text, file=path))
    if merged.result is not None:
        made = FileState(merged.result.data, state.mode)
        result.entry = Entry(made, through(entry, merged.result.origins), entry.source)
    elif merged.proposal is not None:
        proposed = FileState(merged.proposal.data, state.mode)
        result.proposal = Entry(proposed, through(entry, merged.proposal.origins), entry.source)
    return result


def _same_words(old: bytes, new: bytes) -> bool:
    return len(old) < _LONGEST and old.split() == new.split()


def _other_line_ends(old: bytes, new: bytes) -> bool:
    """Whether one side ends its lines with CR LF, and the other with LF."""
    return (b"\r\n" in old) != (b"\r\n" in new)


def edit_script(asked: Asked, old: FileState, new: FileState) -> Script:
    """The edits from ``old`` to ``new``: the caller's, or the engine's own."""
    given = asked.options.scripts(old, new) if asked.options.scripts else None
    return given if given is not None else script(split(old.data), split(new.data))


def _spans(sides: Sides) -> list[tuple[int, int]] | None:
    """The lines of the base, context included, that each hunk speaks of."""
    if sides.starts is None:
        return None
    return [(start, start + len(hunk.old)) for start, hunk in zip(sides.starts, sides.section.hunks, strict=True)]


def _result(merged: Merged, sides: Sides, path: str) -> Result:
    records = tuple(_records(merged.hunks, sides.section.hunks))
    method = "conflict" if merged.objections else "present" if merged.present else worst_method(records)
    return Result(
        method,
        present=merged.present,
        partial=merged.partial,
        section=sides.section,
        hunks=records,
        review=[Note(hint.kind, hint.text, path, hint.line) for hint in merged.review],
        evidence=[
            *(Note("upstream", text, path) for text in merged.evidence),
            *(Note(item.kind, item.text, path, item.line) for item in merged.objections if item.line is not None),
        ],
        problems=[Problem(item.kind, item.text, file=path, hunk=item.hunk) for item in merged.objections],
    )


def _records(records: Sequence[HunkRecord], hunks: Sequence[Hunk]) -> list[HunkRecord]:
    """``records`` with the numbers of the headers, which may be off by what the reader tolerated."""
    if len(records) != len(hunks):
        return list(records)
    return [replace(record, old_start=hunk.old_start) for record, hunk in zip(records, hunks, strict=True)]
