"""One section of a patch on one tree: what it makes of its file, or why a person must decide.

Every function is pure; the tree is looked at through an :class:`Overlay`. Raises Refused for what must not be
done at all: a link in the way, a link that leaves the tree, a change of type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from patchctl.engine import binport, guards, names
from patchctl.engine.landing import Composed, Landing, compose, land
from patchctl.engine.lines import split
from patchctl.engine.model import LINK, REGULAR, Change, FilePatch, FileState, Hunk, Op
from patchctl.engine.outcome import HunkRecord, Note
from patchctl.engine.overlay import Entry, through
from patchctl.engine.place import Known, Miss, Spot, Target, place, reverse, stands_at, start_of
from patchctl.engine.verdict import Asked, Result, conflict, known, present_records, questioned, worst_method
from patchctl.errors import Problem, Refused

# More distinct lines can't be told apart by one character each.
_MOST_LINES = 1_000_000


def modify(asked: Asked, entry: Entry, path: str) -> Result:
    """Content and mode of the file that stands in ``entry``, to stand at ``path``."""
    section = asked.section
    state = entry.state
    if state is None:
        return _missing(asked, path)
    _check_types(section, state, path)
    changed = _content(asked, entry, path)
    if changed.entry is None or changed.entry.state is None:
        return changed
    data = changed.entry.state.data
    mode, mode_part = _mode(section, state, path, changed)
    if mode == LINK:
        _check_link(path, data)
    parts = [part for part in (_content_part(section, changed), mode_part) if part]
    moved = section.change in (Change.RENAME, Change.COPY)
    changed.present = bool(parts) and set(parts) == {"present"} and not moved
    changed.partial = len(set(parts)) > 1 or "partial" in parts
    changed.entry = replace(changed.entry, state=FileState(data, mode))
    return changed


def _content_part(section: FilePatch, changed: Result) -> str | None:
    if not section.hunks and section.binary is None:
        return None
    return "present" if changed.present else "partial" if changed.partial else "applied"


def create(asked: Asked, existing: FileState | None, path: str) -> Result:
    """A new file at ``path``, where ``existing`` may stand already."""
    section = asked.section
    mode = section.new_mode or REGULAR
    data = binport.created(section)
    if mode == LINK:
        _check_link(path, data)
    wanted = FileState(data, mode)
    records = tuple(HunkRecord(h.old_start, h.new_start, "exact", 1.0, None) for h in section.hunks)
    if existing is None:
        return Result("exact", Entry(wanted), hunks=records)
    if existing == wanted:
        note = Note("identical", f"{path} is there already, with the very same text.", path)
        records = tuple(replace(record, method="present") for record in records)
        return Result("present", Entry(existing, None, path), present=True, hunks=records, evidence=[note])
    if LINK in (existing.mode, mode):
        raise Refused(
            Problem("link", f"{path} stands in the tree as another kind of file: a link is involved.", file=path)
        )
    if existing.data == data:
        note = Note("identical", f"{path} is there already with the same text; only its mode differs.", path)
        return Result("present", Entry(wanted, None, path), partial=True, hunks=records, evidence=[note])
    proposal = questioned(split(existing.data), (), split(data), asked.labels, existing.mode)
    text = f"{path} exists already, with other text than the patch gives it."
    return conflict(asked, "exists", text, path, proposal)


def delete(asked: Asked, entry: Entry, path: str) -> Result:
    """No file at ``path`` any more, if its text is the one that the patch deletes."""
    section, state = asked.section, entry.state
    if state is None:
        if asked.sides is None and asked.base_given:
            return conflict(asked, "missing", f"{path} is neither in the base nor in the tree.", path, None)
        note = Note("absent", f"{path} is gone already.", path)
        return Result("present", Entry(None), present=True, hunks=present_records(section), evidence=[note])
    _check_types(section, state, path)
    gone = tuple(line for hunk in section.hunks for line in hunk.old)
    texts = [b"".join(line for hunk in each.hunks for line in hunk.old) for each in _readings(section)]
    same = known(section.old_blob, state) is Known.SAME if not section.hunks else state.data in texts
    if same or (not section.hunks and not section.binary and not state.data):
        records = tuple(HunkRecord(h.old_start, h.new_start, "exact", 1.0, None) for h in section.hunks)
        return Result("exact", Entry(None), hunks=records)
    miss = place(Target(split(state.data)), section.hunks, Known.OTHER) if section.hunks else []
    hint = next((m.message for m in miss if isinstance(m, Miss) and m.kind in ("line-endings", "whitespace")), "")
    proposal = None if section.binary or state.mode == LINK else questioned(
        split(state.data), gone, (), asked.labels, state.mode
    )  # fmt: skip
    text = f"{path} has changed since the patch was made that deletes it. {hint}".strip()
    return conflict(asked, "changed", text, path, proposal)


def taken(asked: Asked, existing: FileState, moved: Result, path: str) -> Result:
    """What a rename or copy does whose result is ``moved`` if ``path``, its new name, has a file already."""
    if moved.entry is not None and moved.entry.state == existing:
        copy = asked.section.change is Change.COPY
        note = Note("identical", f"{path} is there already, as the patch would make it.", path)
        return replace(moved, present=copy, partial=not copy, evidence=[*moved.evidence, note])
    text = f"{path} exists already; the patch would put {asked.section.old_path} there."
    proposal = None
    if (
        moved.entry is not None
        and moved.entry.state is not None
        and LINK not in (existing.mode, moved.entry.state.mode)
    ):
        wanted = split(moved.entry.state.data)
        proposal = questioned(split(existing.data), (), wanted, asked.labels, existing.mode)
    return conflict(asked, "exists", text, path, proposal)


def moved_already(asked: Asked, existing: FileState, path: str) -> Result | None:
    """The result if a rename is done already: its old name is gone, and ``existing`` is what it makes; else None."""
    section = asked.section
    if asked.sides is not None:
        done = asked.sides.after.data == existing.data
    elif section.hunks:
        back = place(
            Target(split(existing.data)), [reverse(h) for h in section.hunks], known(section.new_blob, existing)
        )
        done = all(isinstance(spot, Spot) for spot in back)
    else:
        done = section.binary is None and known(section.new_blob, existing) is not Known.OTHER
    if not done:
        return None
    note = Note("moved", f"{section.old_path} is gone and {path} is there already.", path)
    return Result("present", Entry(existing, None, path), present=True, hunks=present_records(section), evidence=[note])


def _readings(section: FilePatch) -> list[FilePatch]:
    """The ways to take the line ends of ``section``: if all of the patch had CR LF, the file's own may be that too."""
    if not section.crlf:
        return [section]
    hunks = []
    for hunk in section.hunks:
        lines = (
            line._replace(data=line.data[:-1] + b"\r\n") if line.data.endswith(b"\n") else line for line in hunk.lines
        )
        hunks.append(replace(hunk, lines=tuple(lines)))
    return [section, replace(section, hunks=tuple(hunks))]


def _content(asked: Asked, entry: Entry, path: str) -> Result:
    results = [_one_reading(replace(asked, section=section), entry, path) for section in _readings(asked.section)]
    return next((result for result in results if not result.problems), results[0])


def _one_reading(asked: Asked, entry: Entry, path: str) -> Result:
    state = entry.state
    assert state is not None
    section = asked.section
    if section.binary is not None:
        return binport.change(asked, entry, path)
    if not section.hunks:
        return Result("exact", entry)
    lines = split(state.data)
    if len(lines) > _MOST_LINES:
        raise Refused(Problem("too-large", f"{path} has more than {_MOST_LINES:,} lines.", file=path))
    before, after = _known(asked, state)
    if asked.trusted and _stands(lines, section.hunks):
        return _as_stated(asked, entry, lines)
    sides = asked.sides
    if sides is not None and before is not Known.SAME and LINK not in (state.mode, sides.before.mode):
        from patchctl.engine import mergeport  # only where a base is given and upstream changed the file

        return mergeport.change(asked, sides, entry, path)
    target = Target(lines)
    landings = land(target, section.hunks, before, after)
    made = compose(target, section.hunks, landings, asked.labels)
    result = _report(asked, path, landings, made)
    misses = [(number, item) for number, item in enumerate(landings, 1) if isinstance(item, Miss)]
    if misses:
        result.problems += [_misfit(path, number, miss) for number, miss in misses]
        _tell_namesakes(asked, path, state, result)
        return _proposed(result, entry, made)
    if before is not Known.SAME and not result.present:
        found = guards.check(path, state.data, made.data)
        if found:
            result.problems += [Problem(item.kind, item.text, file=path) for item in found]
            result.evidence += [Note(item.kind, item.text, path, item.line) for item in found]
            return _proposed(result, entry, compose(target, section.hunks, landings, asked.labels, doubtful=True))
    result.entry = Entry(FileState(made.data, state.mode), through(entry, made.origins), entry.source)
    return result


def _stands(lines: Sequence[bytes], hunks: Sequence[Hunk]) -> bool:
    """Whether all hunks fit at their stated lines, one behind the other."""
    floor = 0
    for hunk in hunks:
        start = start_of(hunk)
        if start < floor or not stands_at(lines, hunk.old, start):
            return False
        floor = start + len(hunk.old)
    return True


def _as_stated(asked: Asked, entry: Entry, lines: Sequence[bytes]) -> Result:
    """The result where every hunk fits at its stated line, and nobody asks how."""
    assert entry.state is not None
    starts = tuple(start_of(hunk) for hunk in asked.section.hunks)
    out: list[bytes] = []
    at = 0
    for hunk, start in zip(asked.section.hunks, starts, strict=True):
        out += lines[at:start]
        out += hunk.new
        at = start + len(hunk.old)
    data = b"".join([*out, *lines[at:]])
    return Result("exact", Entry(FileState(data, entry.state.mode)), section=asked.section, starts=starts)


def _tell_namesakes(asked: Asked, path: str, state: FileState, result: Result) -> None:
    """Say in a conflict which definitions the tree has that the patch would add."""
    lines = [line for hunk in asked.section.hunks for line in hunk.lines]
    added = (line.data for line in lines if line.op is Op.ADD)
    found = guards.namesakes(path, state.data, added, (line.data for line in lines if line.op is not Op.ADD))
    result.evidence += [Note(item.kind, item.text, path, item.line) for item in found]


def _known(asked: Asked, state: FileState) -> tuple[Known, Known]:
    """Whether the file is the one before, and the one after, the patch."""
    section, sides = asked.section, asked.sides
    before, after = known(section.old_blob, state), known(section.new_blob, state)
    if asked.trusted or (sides is not None and sides.before.data == state.data):
        return Known.SAME, Known.OTHER
    if sides is not None:
        return Known.OTHER, Known.SAME if sides.after.data == state.data else Known.OTHER
    return before, after


def _report(asked: Asked, path: str, landings: Sequence[Landing | Miss], made: Composed) -> Result:
    hunks: list[HunkRecord] = []
    review: list[Note] = []
    for hunk, item, start in zip(asked.section.hunks, landings, made.starts, strict=True):
        hunks.append(_record(hunk, item, start))
        if isinstance(item, Landing):
            review += [Note("place", note, path, None if start is None else start + 1) for note in item.notes]
    present = [item.present for item in landings if isinstance(item, Landing)]
    everything = len(present) == len(landings) and all(present)
    method = "conflict" if len(present) < len(landings) else "present" if everything else worst_method(hunks)
    evidence = [Note("reverse", f"The change of {path} is in already: it can be taken back exactly.", path)] if (
        everything
    ) else []  # fmt: skip
    partial = any(present) and not everything and len(present) == len(landings)
    starts = tuple(item.at for item in landings if isinstance(item, Landing))
    return Result(method, None, None, everything, partial, asked.section, tuple(hunks), starts, review, evidence)


def _record(hunk: Hunk, item: Landing | Miss, start: int | None) -> HunkRecord:
    if isinstance(item, Miss):
        return HunkRecord(hunk.old_start, None, "conflict", 0.0, None)
    new_start = start + 1 if start is not None else None
    return HunkRecord(hunk.old_start, new_start, item.method, 1.0, item.scope)


def _proposed(result: Result, entry: Entry, made: Composed) -> Result:
    state = entry.state
    assert state is not None
    result.method = "conflict"
    if made.conflict and state.mode != LINK:
        result.proposal = Entry(FileState(made.data, state.mode), through(entry, made.origins), entry.source)
    return result


def _misfit(path: str, number: int, miss: Miss) -> Problem:
    return Problem(miss.kind, miss.message, file=path, hunk=number)


def _missing(asked: Asked, path: str) -> Result:
    section, sides = asked.section, asked.sides
    old = [line for hunk in section.hunks for line in hunk.old]
    new = [line for hunk in section.hunks for line in hunk.new]
    mode = section.new_mode or section.old_mode or REGULAR
    if sides is not None:
        old, new, mode = split(sides.before.data), split(sides.after.data), sides.after.mode
    text = f"{section.old_path} was deleted or moved upstream: it is in the base, and not in the tree any more."
    if sides is None:
        text = f"{section.old_path} is not in the tree: it was deleted or moved, or the patch is for another tree."
    if section.binary is not None or mode == LINK or not (old or new):
        return conflict(asked, "missing", text, path, None)
    return conflict(asked, "missing", text, path, questioned((), old, new, asked.labels, mode))


def _mode(section: FilePatch, state: FileState, path: str, changed: Result) -> tuple[int, str | None]:
    """The mode afterwards, and whether that is present or applied; None if the patch changes no mode."""
    wanted = section.new_mode
    if wanted is None or section.old_mode is None or section.old_mode == wanted:
        return state.mode, None
    if state.mode != wanted:
        return wanted, "applied"
    text = f"{path} has mode {state.mode:o} already, where the patch expects {section.old_mode:o}."
    changed.evidence.append(Note("mode", text, path))
    return wanted, "present"


def _check_types(section: FilePatch, state: FileState, path: str) -> None:
    """Refuse to write through, over or as a link what is none on the other side."""
    if section.change in (Change.RENAME, Change.COPY) and not section.hunks and section.old_mode is None:
        return  # git names no mode where the file moves as it is; a link moves as a link
    is_link = state.mode == LINK
    speaks_of_link = LINK in (section.old_mode, section.new_mode)
    if is_link and not speaks_of_link:
        target = state.data.decode("utf-8", "surrogateescape")
        text = f"{path} is a link to {names.shown(target)} in the tree, and the patch is for a regular file."
        raise Refused(Problem("link", text, file=path))
    if speaks_of_link and not is_link:
        raise Refused(Problem("link", f"The patch is for a link, and {path} is a regular file in the tree.", file=path))
    if is_link and section.change is not Change.DELETE and section.new_mode not in (None, LINK):
        raise Refused(Problem("link", f"The patch turns the link {path} into a file in one step.", file=path))


def _check_link(path: str, data: bytes) -> None:
    reason = names.check_link(path, data)
    if reason:
        raise Refused(Problem("unsafe-link", f"{reason}.", file=path))
