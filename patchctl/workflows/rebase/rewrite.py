"""New patch files: the head of the old one byte for byte, a diff that is exact on the new release, and the proof.

As much as can be stays as it was, since people read the difference: a file that still fits is not touched, hunks
that only moved get new numbers, and only what was really changed is written anew, by git's own diff.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from patchctl.engine import reader, render, strict
from patchctl.engine.model import Change, FilePatch, FileState, Hunk, Patch
from patchctl.engine.outcome import FileRecord
from patchctl.errors import PatchctlError, Problem, Refused
from patchctl.git import Git
from patchctl.series import patchfile
from patchctl.series.receipt import TouchedFile
from patchctl.workflows.rebase.ground import States
from patchctl.workflows.rebase.plan import Step
from patchctl.workflows.stack import stamp

_NO_END = b"\n\\ No newline at end of file\n"
_KEPT_PLACES = frozenset({"exact", "offset", "transport"})
_DIFF = ("--histogram", "-U3", "--full-index", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv")
_INDEX = re.compile(rb"index ([0-9a-f]{40})\.\.([0-9a-f]{40})")
_STAT = re.compile(rb"( [^\n]*\|[^\n]*\n)+ \d+ files? changed[^\n]*\n(?: (?:create|delete|rename|mode)[^\n]*\n)*")

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Written:
    """A patch of the new target: its file, and what each file it touches is before and after it."""

    id: str
    data: bytes
    files: tuple[TouchedFile, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class _Job:
    """A patch on its way: the files that it changes, before and after it, and no other."""

    step: Step
    before: States
    after: States


def rewrite(steps: Sequence[Step]) -> list[Written]:
    """The patch files of ``steps``, each proved: read again, it makes the very files that were planned.

    Raises Refused for one that does not, which is a fault of patchctl's own or a patch that no diff can say.
    """
    jobs = [_job(step) for step in steps]
    found = {job.step.id: data for job in jobs if (data := _as_it_was(job)) is not None}
    anew = [job for job in jobs if job.step.id not in found]
    hunks = _by_git(anew)
    for job in anew:
        data = _with_head(job, render.diff(_changes(job, hunks)))
        if not _proved(job, data):
            raise Refused(_unproved(job.step.id))
        found[job.step.id] = data
    return [Written(job.step.id, found[job.step.id], _footprint(job)) for job in jobs]


def _as_it_was(job: _Job) -> bytes | None:
    """The old patch file, or the old one with new numbers, if that is proved to do; else None."""
    if _fits(job.step.carried.patch, job):
        return job.step.carried.data
    diff = _renumbered(job)
    data = _with_head(job, diff) if diff is not None else None
    return data if data is not None and _proved(job, data) else None


def _footprint(job: _Job) -> tuple[TouchedFile, ...]:
    return tuple(TouchedFile(path, stamp(job.before[path]), stamp(job.after[path])) for path in sorted(job.after))


def _job(step: Step) -> _Job:
    after = {path: state for path, state in step.after.items() if state != step.before.get(path)}
    return _Job(step, {path: step.before.get(path) for path in after}, after)


def _fits(patch: Patch, job: _Job) -> bool:
    """Whether ``patch`` as it stands is exact on the files before, and makes the files after."""
    try:
        made = strict.apply_patch(patch, job.step.before.get)
    except PatchctlError:
        return False
    return {path: state for path, state in made.items() if state != job.step.before.get(path)} == dict(job.after)


# -- the hunks of the old file, with new numbers


def _renumbered(job: _Job) -> bytes | None:
    """The diff as it was, but for line numbers and blob ids; None where the patch is more than hunks that moved."""
    patch, records = job.step.carried.patch, job.step.report.files
    if len(records) != len(patch.files) or len({section.path for section in patch.files}) != len(patch.files):
        return None
    changes = []
    for section, record in zip(patch.files, records, strict=True):
        found = _moved(section, record) if section.path in job.after else None
        before, after = job.before.get(section.path), job.after.get(section.path)
        if found is None or before is None or after is None:
            return None
        changes.append(render.Change(section.path, before, after, hunks=_text(found)))
    return render.diff(changes) if {change.path for change in changes} == set(job.after) else None


def _moved(section: FilePatch, record: FileRecord) -> list[Hunk] | None:
    """The hunks of ``section`` where they landed; None for a section that is more than hunks in a file of this name."""
    plain = section.change is Change.MODIFY and section.binary is None and not section.crlf and section.hunks
    same_file = record.onto == section.path == record.path
    if not plain or not same_file or len(record.hunks) != len(section.hunks):
        return None
    moved: list[Hunk] = []
    shift = 0
    for hunk, landed in zip(section.hunks, record.hunks, strict=True):
        if landed.method not in _KEPT_PLACES or landed.new_start is None or not (hunk.old_count and hunk.new_count):
            return None
        moved.append(replace(hunk, new_start=landed.new_start, old_start=landed.new_start - shift))
        shift += hunk.new_count - hunk.old_count
    return moved


def _text(hunks: Iterable[Hunk]) -> bytes:
    out = []
    for hunk in hunks:
        heading = b" " + hunk.section if hunk.section else b""
        old, new = _range(hunk.old_start, hunk.old_count), _range(hunk.new_start, hunk.new_count)
        out.append(b"@@ -%s +%s @@%s\n" % (old, new, heading))
        for line in hunk.lines:
            out.append(line.op.value.encode() + line.data + (b"" if line.data.endswith(b"\n") else _NO_END))
    return b"".join(out)


def _range(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


# -- hunks anew


def _by_git(jobs: Sequence[_Job]) -> dict[Pair, bytes]:
    """What git's diff says of every pair of file states in ``jobs``: its hunks, by the two blob ids."""
    pairs: dict[Pair, tuple[FileState, FileState]] = {}
    for job in jobs:
        for path in job.after:
            before, after = _source(job, path)[1], job.after[path]
            if before is not None and after is not None and before.data != after.data:
                pairs[before.blob, after.blob] = before, after
    if not pairs:
        return {}
    import tempfile

    with tempfile.TemporaryDirectory(prefix="patchctl-") as name:
        root = Path(name)
        for side in ("a", "b"):
            (root / side).mkdir()
        for number, (before, after) in enumerate(pairs.values()):
            (root / "a" / str(number)).write_bytes(before.data)
            (root / "b" / str(number)).write_bytes(after.data)
        said = Git(root).ask("diff", "--no-index", *_DIFF, "--", "a", "b")
    return _sections(said.stdout)


def _sections(out: bytes) -> dict[Pair, bytes]:
    found: dict[Pair, bytes] = {}
    for section in re.split(rb"(?m)^(?=diff --git )", out):
        index = re.search(rb"(?m)^" + _INDEX.pattern, section)
        # No line of a hunk begins like this.
        begin = re.search(rb"(?m)^(?:@@ -|GIT binary patch\n)", section)
        if index is not None and begin is not None:
            found[index[1].decode(), index[2].decode()] = section[begin.start() :]
    return found


def _source(job: _Job, path: str) -> tuple[str | None, FileState | None]:
    """The name that ``path`` had before, if the patch renames it, and the file that it is made from."""
    before = job.before[path]
    if before is not None or job.after[path] is None:
        return None, before
    gone = [old for old, state in job.after.items() if state is None and job.before[old] is not None]
    onto = {record.path: record.onto for record in job.step.report.files}
    for section in job.step.carried.patch.files:
        if section.change is Change.RENAME and path in (section.path, onto.get(section.path)):
            assert section.old_path is not None
            old = section.old_path if section.old_path in gone else gone[0] if len(gone) == 1 else None
            return (old, job.before[old]) if old is not None else (None, None)
    return None, None


def _changes(job: _Job, hunks: Mapping[Pair, bytes]) -> list[render.Change]:
    """The files of a patch in the order of the old one, those that it did not name at the end."""
    order = {name: at for at, section in enumerate(job.step.carried.patch.files) for name in section.paths}
    onto = {record.path: record.onto for record in job.step.report.files}
    order |= {new: order[old] for old, new in onto.items() if new is not None and old in order}
    renamed = {path: _source(job, path) for path in job.after}
    sources = {old for old, _ in renamed.values() if old is not None}
    changes = []
    for path in sorted(job.after, key=lambda path: (order.get(path, len(order)), path)):
        if path in sources:
            continue
        old, before = renamed[path]
        after = job.after[path]
        known = hunks.get((before.blob, after.blob)) if before is not None and after is not None else None
        changes.append(render.Change(path, before, after, moved_from=old, hunks=known))
    return changes


# -- head and proof


def _with_head(job: _Job, diff: bytes) -> bytes:
    """The new file: what stands above and below the diff of the old one, byte for byte, around ``diff``."""
    data = job.step.carried.data
    parsed = patchfile.parse(data, job.step.id)
    at = data.rfind(parsed.diff) if parsed.diff else -1
    if at < 0:
        # The mail was encoded, diff and all; the same mail in plain text is the nearest that there is.
        return patchfile.render(replace(parsed, diff=diff))
    head, tail = data[:at], data[at + len(parsed.diff) :]
    return _with_stat(head, parsed.diff, diff) + diff + tail


def _with_stat(head: bytes, old: bytes, new: bytes) -> bytes:
    """``head``, without a diffstat that would speak of files or numbers which are not those of the diff any more."""
    found = list(_STAT.finditer(head))
    if not found or _shape(old) == _shape(new):
        return head
    return head[: found[-1].start()] + head[found[-1].end() :]


def _shape(diff: bytes) -> list[bytes]:
    """What a diffstat tells of a diff: the files, and how many lines come and go in each."""
    lines = diff.split(b"\n")
    names = [line for line in lines if line.startswith((b"+++ ", b"--- ", b"diff --git "))]
    return [*names, b"%d %d" % (sum(line[:1] == b"+" for line in lines), sum(line[:1] == b"-" for line in lines))]


def _proved(job: _Job, data: bytes) -> bool:
    """Whether ``data``, read as any patch of a series, makes the planned files of those before it."""
    try:
        found = reader.read(data, job.step.id, strip=1, known=True)
    except Refused:
        return False
    return len(found) == 1 and _fits(found[0], job)


def _unproved(id: str) -> Problem:
    why = "The new patch file does not make the files that were planned, so it is not written."
    return Problem("unproved", why, id, next=f"patchctl rebase --drop {id} --reason WHY")
