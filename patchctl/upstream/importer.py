"""A commit out of a stream of files: what a release archive holds, under the repository's own paths.

The commit has no parent, a fixed author and a fixed date, so that the same files and the same message give
the same commit id on every machine and day.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, NoReturn

from patchctl.engine import names
from patchctl.engine.model import LINK, MODES
from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git

WHO = b"patchctl <patchctl@invalid> 946684800 +0000"

# Far above any release of source text, far below what would hurt a machine.
MAX_FILES = 200_000
MAX_FILE = 512 * 1024 * 1024
MAX_TOTAL = 4 * 1024 * 1024 * 1024
MAX_LINK = 4096


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import: its path in the repository, its mode, its size in bytes, and how to read it.

    The contents of a link are its target. ``chunks`` is called once, before the next file is asked for.
    """

    path: str
    mode: int
    size: int
    chunks: Callable[[], Iterable[bytes]]


def import_commit(git: Git, ref: str, message: str, files: Iterable[SourceFile], origin: str) -> str:
    """Make a commit of ``files``, let ``ref`` name it, and return its id; ``origin`` names the files in errors.

    Raises Refused for an unsafe, repeated or oversized file, a link out of the tree, or no files at all, and
    whatever ``files`` raises; then nothing is left but objects that no reference names.
    """
    process = git.start("fast-import", "--quiet", "--done", "--force", stderr=subprocess.PIPE)
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None and stdout is not None and process.stderr is not None
    try:
        _head(stdin, ref, message)
        for file in _checked(files, origin):
            _put(stdin, file)
        stdin.write(b"\nget-mark :1\ndone\n")
        stdin.flush()
        commit = stdout.read(4096).decode().strip()
        stdin.close()
    except BrokenPipeError:
        process.wait()
        raise _failed(process.stderr.read(), git) from None
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        for stream in (stdin, stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        _sweep(git)
    said = process.stderr.read()
    if process.wait() or not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        raise _failed(said, git)
    return commit


def _head(stream: IO[bytes], ref: str, message: str) -> None:
    text = message.encode("utf-8", "surrogateescape")
    stream.write(b"feature done\ncommit %b\nmark :1\n" % ref.encode())
    stream.write(b"author %b\ncommitter %b\ndata %d\n%b\n" % (WHO, WHO, len(text), text))
    stream.write(b"deleteall\n")


def _put(stream: IO[bytes], file: SourceFile) -> None:
    stream.write(b"M %o inline %b\ndata %d\n" % (file.mode, _quoted(file.path), file.size))
    written = 0
    for chunk in file.chunks():
        written += len(chunk)
        if written > file.size:
            break
        stream.write(chunk)
    if written != file.size:
        _refuse(f"{file.path} does not have the {file.size} bytes that are announced", file.path)
    stream.write(b"\n")


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def _checked(files: Iterable[SourceFile], origin: str) -> Iterator[SourceFile]:
    total = 0
    seen: set[str] = set()
    folders: set[str] = set()
    for file in files:
        why = names.check(file.path)
        if why:
            _refuse(f"{origin} holds an unsafe name: {why}", file.path)
        if file.mode not in MODES:
            _refuse(f"{origin} holds something that is no file", file.path)
        total += file.size
        if file.size > MAX_FILE or total > MAX_TOTAL or len(seen) >= MAX_FILES:
            _refuse(f"{origin} unpacks to more than patchctl takes", file.path)
        _place(file.path, seen, folders, origin)
        yield _inward(file, origin) if file.mode == LINK else file
    if not seen:
        _refuse(f"{origin} holds no file of the release", None)


def _place(path: str, seen: set[str], folders: set[str], origin: str) -> None:
    """Note that a file stands at ``path``; no two may stand at one place, and none below another."""
    if path in seen or path in folders:
        _refuse(f"{origin} holds two things of one name", path)
    seen.add(path)
    at = path
    while "/" in at:
        at = at.rpartition("/")[0]
        if at in seen:
            _refuse(f"{origin} holds a file below something that is no folder", path)
        if at in folders:
            break
        folders.add(at)


def _inward(file: SourceFile, origin: str) -> SourceFile:
    """The link ``file``, whose target must lie in the tree."""
    if file.size > MAX_LINK:
        _refuse(f"{origin} holds a link with an endless target", file.path)
    target = b"".join(file.chunks())
    text = target.decode("utf-8", "surrogateescape")
    landed = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), text))
    if not text or text.startswith("/") or "\0" in text or (landed != "." and names.check(landed)):
        _refuse(f"{origin} holds a link that leads out of the tree, to {text!r}", file.path)
    return SourceFile(file.path, file.mode, len(target), lambda: (target,))


def _sweep(git: Git) -> None:
    # git writes a report of every import that did not end well; ours says what failed, and names no folder.
    assert git.git_dir is not None
    for report in git.git_dir.glob("fast_import_crash_*"):
        with contextlib.suppress(OSError):
            report.unlink()


def _refuse(why: str, path: str | None) -> NoReturn:
    raise Refused(Problem("unsafe-archive", f"{why}.", file=path))


def _failed(said: bytes, git: Git) -> EnvironmentFailed:
    text = said.decode(errors="replace").strip().splitlines()
    why = text[0] if text else "it ended early"
    return EnvironmentFailed(Problem("git", f"git could not store the release in {git.git_dir}: {why}"))
