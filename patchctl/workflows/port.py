"""``port``: carries patch files over to another tree, and writes what comes of it into a folder of its own."""

from __future__ import annotations

import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from patchctl.engine import port as engine
from patchctl.engine import reader
from patchctl.engine.model import EXECUTABLE, LINK, FileState, Patch
from patchctl.engine.outcome import PatchReport
from patchctl.engine.overlay import Entry, ancestors
from patchctl.engine.render import Change, diff
from patchctl.errors import DecisionNeeded, InvalidInput, PatchctlError, Problem, Refused
from patchctl.target import safeio


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for. ``patches`` as the user wrote them (``-`` is standard input), the folders absolute."""

    patches: Sequence[str]
    onto: Path
    cwd: Path
    base: Path | None = None
    output: Path | None = None
    rules: str = "all"


@dataclass(frozen=True, slots=True)
class PortReport:
    """What came of it. ``diff`` is there if there is no output folder; problems are all of them, worst first."""

    patches: tuple[PatchReport, ...]
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    diff: bytes | None = None
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def port(request: Request) -> PortReport:
    """Carry the patches over; write under ``request.output`` if there is one.

    Raises InvalidInput for folders and files that aren't there, Refused for an output folder that is in use,
    EnvironmentFailed when it can't be written; what is wrong with the patches stands in the report.
    """
    _check_folders(request)
    patches, problems = _read(request)
    if problems:
        return PortReport((), problems=tuple(problems), exit_code=Refused.exit_code)
    with _Folder(request.onto) as onto, _Folder(request.base or request.onto) as base:
        reports = engine.port(
            patches, onto, base if request.base else None, request.rules, lambda: _layout(request.cwd)
        )
        report = _report(request, reports, onto)
    if request.output is not None and report.exit_code != Refused.exit_code:
        _write(request.output, _outcome_files(reports), report.written)
    return replace(report, notes={patch.name: patch.notes for patch in patches if patch.notes})


# Input


def _check_folders(request: Request) -> None:
    for option, folder in (("--onto", request.onto), ("--base", request.base)):
        if folder is not None and not folder.is_dir():
            raise InvalidInput(Problem("no-folder", f"{option} {folder} is no folder."))
    output = request.output
    if output is None:
        return
    if output.exists() and not output.is_dir():
        raise InvalidInput(Problem("no-folder", f"--output {output} is no folder."))
    if output.is_dir() and any(output.iterdir()):
        raise Refused(
            Problem("output-in-use", f"--output {output} is not empty, and nothing in it is overwritten.",
                    next=f"ls -A {shlex.quote(str(output))}")
        )  # fmt: skip
    for folder in (request.onto, request.base):
        if folder is not None and output.resolve().is_relative_to(folder.resolve()):
            raise Refused(Problem("output-in-use", f"--output {output} lies in {folder}, which is never changed."))


def _read(request: Request) -> tuple[list[Patch], list[Problem]]:
    patches: list[Patch] = []
    problems: list[Problem] = []
    for given, name in zip(request.patches, _names(request.patches), strict=True):
        try:
            patches += reader.read(_bytes(request.cwd, given), name)
        except Refused as refused:
            look = f"less {shlex.quote(given)}" if given != "-" else None
            problems += (
                replace(problem, patch=problem.patch or name, next=problem.next or look) for problem in refused.problems
            )
    return patches, problems


def _names(given: Sequence[str]) -> list[str]:
    """What to call the patch files: their last component, where that is not the same for two."""
    short = [Path(name).name for name in given]
    return [name if short.count(name) == 1 else whole for name, whole in zip(short, given, strict=True)]


def _bytes(cwd: Path, given: str) -> bytes:
    most = reader.LARGEST_PATCH + 1  # more is refused; a device would never end
    if given == "-":
        return sys.stdin.buffer.read(most) if sys.stdin is not None else b""
    try:
        with (cwd / given).open("rb") as stream:
            return stream.read(most)
    except FileNotFoundError:
        raise InvalidInput(Problem("no-patch", f"There is no patch file {given}.", patch=given)) from None
    except IsADirectoryError:
        text = f"{given} is a folder; name the patch files in it, in their order."
        raise InvalidInput(Problem("no-patch", text, patch=given)) from None


def _layout(cwd: Path) -> Mapping[str, str]:
    """How the project around ``cwd`` maps repository names to installed ones; empty if there is none."""
    from patchctl.series import project

    try:
        return project.load(cwd).series.upstream.layout or {}
    except PatchctlError:
        return {}  # a broken series.yaml is not this command's business


class _Folder:
    """A folder on disk as a :class:`patchctl.engine.overlay.Tree`; every file is read once."""

    def __init__(self, path: Path) -> None:
        self._root = safeio.Root.open(path)
        self._known: dict[str, FileState | None] = {}
        self._names: Sequence[str] | None = None

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    def get(self, path: str) -> FileState | None:
        if path not in self._known:
            self._known[path] = self._root.read(path)
        return self._known[path]

    def below(self, path: str) -> Sequence[str]:
        found = self._root.lstat(path)
        if found is None or not stat.S_ISDIR(found.st_mode):
            return ()
        return self._walk(path)

    def names(self) -> Sequence[str]:
        if self._names is None:
            self._names = self._walk("")
        return self._names

    def _walk(self, top: str) -> list[str]:
        names: list[str] = []
        folders = [top]
        while folders:
            folder = folders.pop()
            for entry in self._root.names(folder):
                inner = f"{folder}/{entry}" if folder else entry
                status = self._root.lstat(inner)
                if status is None or not stat.S_ISDIR(status.st_mode):
                    names.append(inner)
                elif top or entry != ".git":
                    folders.append(inner)
        return names


# Output


def _report(request: Request, reports: Sequence[PatchReport], onto: _Folder) -> PortReport:
    problems = _next_steps(request, reports)
    if any(report.outcome == "refused" for report in reports):
        refusals = [problem for report, problem in problems if report.outcome == "refused"]
        others = [problem for report, problem in problems if report.outcome != "refused"]
        return PortReport(tuple(reports), problems=(*refusals, *others), exit_code=Refused.exit_code)
    files = _outcome_files(reports)
    changed = {name: entry for name, entry in sorted(files.items()) if entry.state != _before(onto, files, name)}
    code = DecisionNeeded.exit_code if any(report.stuck for report in reports) else 0
    return PortReport(
        tuple(reports),
        tuple(name for name, entry in changed.items() if entry.state is not None),
        tuple(name for name, entry in changed.items() if entry.state is None),
        diff(_changes(changed, files, onto)) if request.output is None else None,
        tuple(problem for _, problem in problems),
        code,
    )


def _outcome_files(reports: Sequence[PatchReport]) -> dict[str, Entry]:
    """The files after the patches up to the first that is stuck, and what is proposed for that one."""
    files: dict[str, Entry] = {}
    for report in reports:
        files.update(report.changes)
        files.update(report.proposals)
        if report.stuck:
            break
    return files


def _before(onto: _Folder, files: Mapping[str, Entry], name: str) -> FileState | None:
    """The file ``name`` of the tree; there is none below what was a file or a link itself."""
    hidden = any(folder in files and onto.get(folder) is not None for folder in ancestors(name))
    return None if hidden else onto.get(name)


def _changes(changed: Mapping[str, Entry], files: Mapping[str, Entry], onto: _Folder) -> list[Change]:
    gone = {name for name, entry in changed.items() if entry.state is None}
    moved: dict[str, str] = {}
    for name, entry in changed.items():
        if entry.source in gone and _before(onto, files, name) is None and entry.source not in moved.values():
            moved[name] = str(entry.source)
    out = []
    for name, entry in changed.items():
        if name in moved.values():
            continue
        source = moved.get(name)
        known = entry.origins if entry.source == (source or name) else None
        out.append(Change(name, _before(onto, files, source or name), entry.state, known, source))
    return out


def _next_steps(request: Request, reports: Sequence[PatchReport]) -> list[tuple[PatchReport, Problem]]:
    """Every problem with the command that helps with it."""
    out = []
    for report in reports:
        for problem in report.problems:
            out.append((report, replace(problem, next=problem.next or _next(request, report, problem))))
    return out


def _next(request: Request, report: PatchReport, problem: Problem) -> str | None:
    if report.outcome == "refused":
        in_tree = problem.kind.startswith("link") and problem.file is not None
        return f"ls -ld {shlex.quote(str(request.onto / (problem.file or '')))}" if in_tree else None
    if request.base is None:
        patches = " ".join(shlex.quote(name) for name in request.patches)
        return f"patchctl port {patches} --onto {shlex.quote(str(request.onto))} --base TREE-IT-WAS-MADE-FOR"
    if request.output is not None and problem.file is not None and problem.file in report.proposals:
        return f"${{EDITOR:-vi}} {shlex.quote(str(request.output / problem.file))}"
    return None


def _write(output: Path, files: Mapping[str, Entry], written: Sequence[str]) -> None:
    """Write ``written`` under ``output``, or leave it as it was."""
    try:
        made = not output.exists()
        output.mkdir(parents=True, exist_ok=True)
        with safeio.Root.open(output) as root:
            writer = _Writer(root)
            try:
                for name in written:
                    state = files[name].state
                    assert state is not None
                    writer.write(name, state)
            except BaseException:
                writer.take_back()
                if made:
                    output.rmdir()
                raise
    except OSError as error:
        raise safeio.failed(error, "writing the result", "Nothing was kept under --output.") from None


class _Writer:
    """Writes new files into an empty folder, and can take that back."""

    def __init__(self, root: safeio.Root) -> None:
        self._root = root
        self._files: list[str] = []
        self._folders: list[str] = []

    def write(self, path: str, state: FileState) -> None:
        parts = path.split("/")[:-1]
        for count in range(1, len(parts) + 1):
            folder = "/".join(parts[:count])
            if folder not in self._folders:
                self._root.mkdir(folder)
                self._folders.append(folder)
        self._files.append(path)
        if state.mode == LINK:
            self._root.symlink(path, state.data)
            return
        self._root.write(path, state.data)
        # Exactly the mode that git knows, whatever the umask.
        self._root.dress(path, 0o755 if state.mode == EXECUTABLE else 0o644, None, None)

    def take_back(self) -> None:
        for path in self._files:
            self._root.unlink(path)
        for folder in reversed(self._folders):
            self._root.rmdir(folder)
