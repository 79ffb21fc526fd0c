"""The one place that runs git.

Every call is an argument list in a hardened environment: no hooks, no system or user configuration, no
prompts, no transports but file, https, ssh and git, the C locale. Variables such as GIT_DIR or
GIT_INDEX_FILE that a surrounding git hook has set are dropped, which is why this is a thin layer over
:mod:`subprocess`: GitPython's ``execute`` can add to the inherited environment, never take away from it,
and strips the last newline of what it returns unless told otherwise (it also costs 95 ms to import).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchctl.errors import EnvironmentFailed, Problem

OLDEST = (2, 38)

_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "rerere.enabled=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit is from, and when: ``date`` is git's raw form, ``<seconds> <+hhmm>``."""

    name: str
    email: str
    date: str


def environment(cwd: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment git runs in; ``cwd`` bounds the search for a repository from above."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _PASSED}
    kept.update(
        LC_ALL="C",
        LANGUAGE="C",
        TZ="UTC",
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_ATTR_NOSYSTEM="1",
        # What an id names is what hashes to it, whatever refs/replace/ would have there instead.
        GIT_NO_REPLACE_OBJECTS="1",
        GIT_TERMINAL_PROMPT="0",
        GIT_OPTIONAL_LOCKS="0",
        GIT_CEILING_DIRECTORIES=str(cwd.parent),
        GIT_ALLOW_PROTOCOL="file:https:http:ssh:git",
        GIT_EDITOR="true",
        GIT_PAGER="cat",
    )
    kept.update(_trusted())
    kept.update(extra or {})
    return kept


# How the user reaches a server is the user's: their ssh command, certificates and tracing stay.
_PASSED = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_ASKPASS", "GIT_TRACE"})


def safe_directories() -> tuple[str, ...]:
    """The repositories of other owners that the user trusts: git's ``safe.directory``, in order, as configured.

    It is the one thing taken from the user's and the system's configuration. Without it a repository in a
    container whose files belong to somebody else could not be read, although the user told git that it may.
    """
    names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    return _safe_directories(tuple(os.environ.get(name) for name in names))


@functools.lru_cache(maxsize=4)
def _safe_directories(where: tuple[str | None, ...]) -> tuple[str, ...]:
    home, xdg, chosen, system, no_system = where
    files = [] if no_system else [system or "/etc/gitconfig"]
    if chosen is not None:
        files.append(chosen)
    elif home:
        files += [f"{home}/.gitconfig", f"{xdg or home + '/.config'}/git/config"]
    # Most people have no such entry, and asking git costs a process: look first.
    if not any(_mentions_safe(file) for file in files):
        return ()
    with contextlib.suppress(OSError):
        asked = subprocess.run(
            ["git", "config", "--null", "--get-all", "safe.directory"],
            cwd="/",
            env={key: value for key, value in os.environ.items() if not key.startswith("GIT_") or "CONFIG_" in key},
            capture_output=True,
            check=False,
        )
        return tuple(os.fsdecode(entry) for entry in asked.stdout.split(b"\0")[:-1])
    return ()


def _mentions_safe(file: str) -> bool:
    try:
        text = Path(file).read_bytes().lower()
    except OSError:
        return False
    return b"[safe" in text or b"[include" in text


def _trusted() -> dict[str, str]:
    entries = safe_directories()
    if not entries:
        return {}
    pairs = {f"GIT_CONFIG_KEY_{at}": "safe.directory" for at in range(len(entries))}
    pairs |= {f"GIT_CONFIG_VALUE_{at}": entry for at, entry in enumerate(entries)}
    return {"GIT_CONFIG_COUNT": str(len(entries)), **pairs}


def upload_pack() -> str:
    """The command that serves a fetch from a repository on this machine.

    git hands no configuration down to it, so what the user trusts must stand in the command itself.
    """
    trusted = [part for entry in safe_directories() for part in ("-c", f"safe.directory={entry}")]
    return shlex.join(["git", *trusted, "upload-pack"])


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What stands at a path of a tree: ``mode`` is git's (0o040000 a folder, 0o160000 a submodule)."""

    mode: int
    id: str


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git in ``cwd``, or on the bare repository ``git_dir``.

    Always in a session of its own: what the terminal sends to stop us is ours to answer. A git that was hit as well
    would fail first, and its failure pass for the reason.
    """

    cwd: Path
    git_dir: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def argv(self, *args: str) -> list[str]:
        where = ["--git-dir", str(self.git_dir)] if self.git_dir else []
        return ["git", *where, *(part for line in _CONFIG for part in ("-c", line)), *args]

    def run(self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        """Run git and return its standard output, untouched.

        Raises EnvironmentFailed when git is missing or exits with another status than 0.
        """
        done = self.ask(*args, data=data, env=env)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
            raise EnvironmentFailed(Problem("git", f"git {args[0]} failed in {self.git_dir or self.cwd}: {said}"))
        return done.stdout

    def ask(
        self, *args: str, data: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git where a status other than 0 is an answer. Raises EnvironmentFailed when git is missing."""
        try:
            return subprocess.run(
                self.argv(*args),
                cwd=self.cwd,
                env=environment(self.cwd, {**self.env, **(env or {})}),
                input=data,
                stdin=subprocess.DEVNULL if data is None else None,
                capture_output=True,
                check=False,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if error.filename != "git":
                raise
            raise missing() from None

    def text(self, *args: str) -> str:
        """Standard output as one line of text, without its line end."""
        return os.fsdecode(self.run(*args)).rstrip("\n")

    def start(self, *args: str, stderr: int | None = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start git with pipes on both ends, for the commands that stream."""
        try:
            return subprocess.Popen(
                self.argv(*args),
                cwd=self.cwd,
                env=environment(self.cwd, self.env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if error.filename != "git":
                raise
            raise missing() from None

    def transfer(
        self, *args: str, seconds: float | None, show: Callable[[bytes], None] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that talks to another repository; ``show`` gets each line of its progress.

        After ``seconds`` it is ended, helpers included: a host that swallows packets would hold us for minutes.
        Raises TimeoutError then, EnvironmentFailed when git is missing.
        """
        try:
            process = subprocess.Popen(
                self.argv(*args),
                cwd=self.cwd,
                env=environment(self.cwd, self.env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if error.filename != "git":
                raise
            raise missing() from None
        try:
            return _collect(process, seconds, show)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise

    def resolve(self, name: str) -> str | None:
        """The object id that ``name`` stands for, peeled to a commit, or None."""
        found = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return found.stdout.decode().strip() if found.returncode == 0 else None

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The contents of the blobs ``ids``, in order. Raises EnvironmentFailed as :meth:`objects`, or for no blob."""
        for name, kind, data in self.objects(ids):
            if kind != "blob":
                raise EnvironmentFailed(Problem("git", f"object {name} is not a blob in {self.git_dir or self.cwd}"))
            yield name, data

    def objects(self, names: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
        """Id, kind and content of what ``names`` mean, in order, by one ``git cat-file --batch``.

        Raises EnvironmentFailed for an object that is missing, or whose content is not what its id was made of: git
        itself compares these only when it fetches.
        """
        wanted = list(names)
        if not wanted:
            return
        where = self.git_dir or self.cwd
        out = self.run("cat-file", "--batch", data="".join(f"{name}\n" for name in wanted).encode())
        at = 0
        for name in wanted:
            end = out.index(b"\n", at)
            head = out[at:end].decode(errors="replace").split(" ")
            if len(head) != 3 or not head[2].isdecimal():
                raise EnvironmentFailed(Problem("git", f"object {name} is missing in {where}"))
            id, kind, size = head[0], head[1], int(head[2])
            data = out[end + 1 : end + 1 + size]
            hashed = hashlib.sha1(b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
            hashed.update(data)
            if hashed.hexdigest() != id:
                raise EnvironmentFailed(Problem("git", f"object {id} has another content than its id says in {where}"))
            yield id, kind, data
            at = end + 1 + size + 1

    def tree(self, commit: str, paths: Sequence[str] = ()) -> dict[str, TreeEntry]:
        """What stands at ``paths`` of ``commit``, or everything in it when no path is given.

        Folders are entries too, those on the way to ``paths`` included.

        Raises EnvironmentFailed when the commit or one of its trees is missing.
        """
        if paths:
            out = self.run("--literal-pathspecs", "ls-tree", "-t", "-z", "--full-tree", commit, "--", *paths)
        else:
            out = self.run("ls-tree", "-r", "-t", "-z", "--full-tree", commit)
        entries = {}
        for line in out.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, name = head.split(b" ")
            entries[os.fsdecode(path)] = TreeEntry(int(mode, 8), name.decode())
        return entries


def _collect(
    process: subprocess.Popen[bytes], seconds: float | None, show: Callable[[bytes], None] | None
) -> subprocess.CompletedProcess[bytes]:
    import selectors
    import time

    assert process.stdout is not None and process.stderr is not None
    until = None if seconds is None else time.monotonic() + seconds
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as ready, process.stdout, process.stderr:
        for stream in texts:
            ready.register(stream, selectors.EVENT_READ)
        while ready.get_map():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            for key, _ in ready.select(left):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    ready.unregister(key.fileobj)
                    continue
                text = texts[key.fileobj]  # type: ignore[index]
                text += chunk
                if show is not None and key.fileobj is process.stderr:
                    show(bytes(text).rstrip(b"\r\n").replace(b"\r", b"\n").rpartition(b"\n")[2])
    code = process.wait()
    return subprocess.CompletedProcess(process.args, code, bytes(texts[process.stdout]), bytes(texts[process.stderr]))


def missing() -> EnvironmentFailed:
    """What to raise when there is no git."""
    return EnvironmentFailed(
        Problem("git-missing", "git is not installed, or not on PATH.", next="apt-get install git")
    )


def version() -> tuple[int, ...]:
    """git's version. Raises EnvironmentFailed when there is none, or one older than patchctl can work with."""
    try:
        said = subprocess.run(["git", "version"], capture_output=True, check=True, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise missing() from None
    numbers = tuple(int(part) for part in said.split()[2].split(".")[:3] if part.isdigit())
    if numbers < OLDEST:
        need = ".".join(map(str, OLDEST))
        raise EnvironmentFailed(Problem("git-old", f"{said.strip()} is too old: patchctl needs git {need} or later."))
    return numbers
