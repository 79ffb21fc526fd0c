"""One commit per patch, made by a single ``git fast-import``, with the same ids on every machine and day."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git
from patchctl.series import patchfile
from patchctl.series.receipt import Stamp
from patchctl.target.place import Step
from patchctl.target.transaction import stamp

# Who commits is part of a commit's id, so it can't be whoever runs this.
COMMITTER = b"patchctl <patchctl@invalid>"

# fast-import wants a branch to put commits on. It is taken back in the same stream, before it would be written.
_BRANCH = b"refs/worktree/patchctl"
_NOTHING = b"0" * 40


@dataclass(frozen=True, slots=True)
class Made:
    """The commits' ids in the order of the steps, and the files of the last one that any step touches."""

    ids: tuple[str, ...]
    files: Mapping[str, Stamp | None]


def make(git: Git, git_dir: Path, base: str, steps: Iterable[Step]) -> Made:
    """Put ``steps`` as commits on the commit ``base``.

    The steps are gone through once and none is kept, so they may be made as they are asked for. Only objects are
    written: no ref, no file, no index. Raises EnvironmentFailed when git fails, Refused when a file of the last
    commit is not what the last step that touches it says.
    """
    ids: list[str] = []
    touched: dict[str, tuple[Stamp | None, str]] = {}
    said = _import(git, git_dir, _stream(base, steps, ids, touched))
    made = tuple(line.decode() for line in said[: len(ids)])
    _prove(touched, said[len(ids) :])
    return Made(made, {path: after for path, (after, _) in touched.items()})


class Draft:
    """Commits in the making while their steps are still being worked out, on the machine's other core.

    Like :func:`make` it writes objects alone, which nothing refers to if it is given up.
    """

    def __init__(self, git: Git, git_dir: Path, base: str) -> None:
        self.base = base
        self._steps: SimpleQueue[Step | type[_GivenUp] | None] = SimpleQueue()
        self._made: Made | None = None
        self._fault: BaseException | None = None
        self._worker = threading.Thread(target=self._work, args=(git, git_dir), daemon=True)
        self._worker.start()

    def add(self, step: Step) -> None:
        """Make a commit of ``step`` on the ones before it."""
        self._steps.put(step)

    def finish(self) -> Made:
        """What was made of all steps. Raises as :func:`make`."""
        self._steps.put(None)
        self._worker.join()
        if self._made is None:
            assert self._fault is not None, "the worker ends with a result or a fault"
            raise self._fault
        return self._made

    def close(self) -> None:
        """Give up what was not finished; the commits were never heard of."""
        self._steps.put(_GivenUp)
        self._worker.join()

    def _work(self, git: Git, git_dir: Path) -> None:
        try:
            self._made = make(git, git_dir, self.base, self._asked())
        except BaseException as fault:
            self._fault = fault

    def _asked(self) -> Iterator[Step]:
        while (step := self._steps.get()) is not None:
            if isinstance(step, type):
                raise step
            yield step


class _GivenUp(Exception):
    """The commits are not wanted any more."""


def _stream(
    base: str, steps: Iterable[Step], ids: list[str], touched: dict[str, tuple[Stamp | None, str]]
) -> Iterator[bytes]:
    """The commands for fast-import, whose answers are the commits' ids and then the entries of all touched paths.

    Notes the ids of the steps, and what each path ends as and by which of them.
    """
    yield b"reset %s\nfrom %s\n\n" % (_BRANCH, base.encode())
    for step in steps:
        ids.append(step.id)
        yield _head(len(ids), step)
        # What goes away goes first: a folder may have to make room for a file of its name.
        for path, state in step.files.items():
            touched[path] = stamp(state), step.id
            if state is None:
                yield b"D %s\n" % quoted(path)
        for path, state in step.files.items():
            if state is not None:
                yield b"M %o inline %s\ndata %d\n" % (state.mode, quoted(path), len(state.data))
                yield state.data
                yield b"\n"
        yield b"\nget-mark :%d\n" % len(ids)
    if ids:
        for path in touched:
            yield b"ls :%d %s\n" % (len(ids), quoted(path))
    yield b"reset %s\nfrom %s\n\ndone\n" % (_BRANCH, _NOTHING)


def _head(number: int, step: Step) -> bytes:
    author = patchfile.identity(step.mail)
    message = patchfile.message(step.mail, step.id)
    date = author.date.encode()
    return b"commit %s\nmark :%d\nauthor %s %s\ncommitter %s %s\ndata %d\n%s\n" % (
        _BRANCH,
        number,
        b"%s <%s>" % (_plain(author.name), _plain(author.email)),
        date,
        COMMITTER,
        date,
        len(message),
        message,
    )


def _import(git: Git, git_dir: Path, commands: Iterator[bytes]) -> list[bytes]:
    """Run fast-import on ``commands`` and return the lines of its answer."""
    process = git.start("-c", "core.compression=1", "fast-import", "--quiet", "--done", "--date-format=raw")
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    # Its answers would fill the pipe while it still waits for commands, so somebody has to listen.
    answers: list[bytes] = []
    listener = threading.Thread(target=_drain, args=(process, answers), daemon=True)
    listener.start()
    with process:
        try:
            with contextlib.suppress(BrokenPipeError):  # why it hung up, it says on stderr
                for piece in commands:
                    process.stdin.write(piece)
                process.stdin.flush()
        finally:
            # Also when there are no more commands to come: a stream that ends early ends it, and leaves nothing behind
            # but a report for whoever wrote the program. The listener must be done before its pipe is closed.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            complaint = process.stderr.read().decode(errors="replace").strip()
            listener.join()
            (git_dir / f"fast_import_crash_{process.pid}").unlink(missing_ok=True)
    if process.returncode:
        reason = next((line for line in complaint.splitlines() if line.startswith("fatal:")), complaint)
        raise EnvironmentFailed(Problem("git", f"git fast-import could not write the commits: {reason}"))
    return answers[0].splitlines()


def _drain(process: subprocess.Popen[bytes], into: list[bytes]) -> None:
    assert process.stdout is not None
    into.append(process.stdout.read())


def _prove(touched: Mapping[str, tuple[Stamp | None, str]], entries: Sequence[bytes]) -> None:
    problems = []
    for (path, (after, patch)), entry in zip(touched.items(), entries, strict=True):
        # Where a file was, a folder may be; git is asked for no more than that there is no file.
        gone = (b"missing ", b"040000 tree ")
        expected = gone if after is None else (f"{after.mode} blob {after.blob}\t".encode(),)
        if not entry.startswith(expected):
            found = os.fsdecode(entry.partition(b"\t")[0])
            problems.append(Problem("integrity", f"git stored {path} as something else: {found}.", patch, path))
    if problems:
        raise Refused(problems)


def _plain(text: str) -> bytes:
    """``text`` without what would end a name or an address in a commit."""
    return os.fsencode("".join(letter for letter in text if letter not in "<>\n\0"))


def quoted(path: str) -> bytes:
    """``path`` as git's C-style string, bytes beyond ASCII as they are."""
    raw = os.fsencode(path)
    for plain, escape in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        raw = raw.replace(plain, escape)
    return b'"%s"' % raw
