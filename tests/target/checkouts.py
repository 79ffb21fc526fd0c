"""Real git repositories for the tests of checkouts: an upstream tree, and a series of patches on it as mails."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState
from patchctl.series import patchfile
from patchctl.series.receipt import AppliedPatch, Receipt, Stamp, TouchedFile
from patchctl.target.checkout import Checkout
from patchctl.target.place import Move, Step, WritePlan
from patchctl.target.transaction import stamp

States = dict[str, "FileState | None"]

# A user who has told git nothing at all, not even a name.
BARE_USER = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "TZ": "UTC",
}
AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada Löwe",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Some Body",
    "GIT_COMMITTER_EMAIL": "some@example.org",
}


def git(root: Path, *args: str, data: bytes | None = None, **env: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=root, env={**BARE_USER, **AUTHOR, **env}, input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout)


BASE: dict[str, tuple[bytes, int]] = {
    ".gitignore": (b"*.log\nbuild/\n", REGULAR),
    "pkg/a.py": (b"".join(b"a%d = %d\n" % (n, n) for n in range(40)), REGULAR),
    "pkg/run.sh": (b"#!/bin/sh\necho run\n", REGULAR),
    "pkg/old/name.py": (b"".join(b"line %d\n" % n for n in range(30)), REGULAR),
    "pkg/gone/only.py": (b"gone\n", REGULAR),
    "pkg/swap": (b"a file\n", REGULAR),
    "pkg/fold/inner.py": (b"inner\n", REGULAR),
    "pkg/current": (b"a.py", LINK),
    "pkg/untouched.py": (b"as it was\n", REGULAR),
    "pkg/bin.dat": (bytes(range(256)), REGULAR),
}

# What each patch of the series does: subject, body, and the files it writes (None deletes).
EDITS: list[tuple[str, str, dict[str, tuple[bytes, int] | None]]] = [
    (
        "Change a value",
        "It has to be another one.\n\nUpstream-Status: pending",
        {"pkg/a.py": (BASE["pkg/a.py"][0].replace(b"a7 = 7\n", b"a7 = 77\n"), REGULAR)},
    ),
    ("Make it executable", "", {"pkg/run.sh": (BASE["pkg/run.sh"][0], EXECUTABLE)}),
    (
        "Rename, with an édit",
        "Two\nlines.",
        {
            "pkg/old/name.py": None,
            "pkg/new/name.py": (BASE["pkg/old/name.py"][0].replace(b"line 3\n", b"line three\n"), REGULAR),
        },
    ),
    ("Delete the last file of a folder", "", {"pkg/gone/only.py": None}),
    ("A file becomes a folder", "", {"pkg/swap": None, "pkg/swap/inside.py": (b"inside\n", REGULAR)}),
    ("A folder becomes a file", "", {"pkg/fold/inner.py": None, "pkg/fold": (b"a file now\n", REGULAR)}),
    ("Turn a link, and add one", "", {"pkg/current": (b"new/name.py", LINK), "pkg/other": (b"current", LINK)}),
    ("Add an ignored file", "", {"pkg/trace.log": (b"ignored, and carried\n", REGULAR)}),
    ("Odd names", "", {'pkg/q"uo\te.py': (b"odd\n", REGULAR), "pkg/näme.py": (b"umlaut\n", EXECUTABLE)}),
    ("Binary", "", {"pkg/bin.dat": (bytes(reversed(range(256))), REGULAR)}),
    (
        "Change the value once more",
        "",
        {
            "pkg/a.py": (
                BASE["pkg/a.py"][0].replace(b"a7 = 7\n", b"a7 = 78\n").replace(b"a30 = 30\n", b"a30 = 0\n"),
                REGULAR,
            )
        },
    ),
]


def put(root: Path, name: str, content: tuple[bytes, int] | None) -> None:
    path = root / name
    if path.is_symlink() or path.is_file():
        path.unlink()
    if content is None:
        while not any(path.parent.iterdir()):
            path = path.parent
            path.rmdir()
        return
    data, mode = content
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        path.symlink_to(os.fsdecode(data))
    else:
        path.write_bytes(data)
        path.chmod(0o755 if mode == EXECUTABLE else 0o644)


def make_upstream(root: Path) -> Path:
    """A repository with one commit, the pristine tree."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for name, content in BASE.items():
        put(root, name, content)
    git(root, "add", "-A", "-f")
    git(
        root,
        "commit",
        "-q",
        "-m",
        "upstream",
        GIT_AUTHOR_DATE="1700000000 +0000",
        GIT_COMMITTER_DATE="1700000000 +0000",
    )
    return root


@dataclass(frozen=True)
class Carried:
    """A series: the patch files in order, and the states that each leaves."""

    pristine: Mapping[str, FileState | None]
    patches: tuple[tuple[str, bytes], ...]
    steps: tuple[Step, ...]

    def only(self, *numbers: int) -> Carried:
        return Carried(self.pristine, tuple(self.patches[n] for n in numbers), tuple(self.steps[n] for n in numbers))

    @property
    def final(self) -> States:
        final: States = {}
        for step in self.steps:
            final.update(step.files)
        return final

    def receipt(self, target: str = "v1") -> Receipt:
        now = dict(self.pristine)
        applied = []
        for (name, data), step in zip(self.patches, self.steps, strict=True):
            files = tuple(TouchedFile(path, stamp(now.get(path)), stamp(state)) for path, state in step.files.items())
            now.update(step.files)
            digest = hashlib.sha256(data).hexdigest()
            applied.append(AppliedPatch(name, digest, files, data.decode("utf-8", "surrogateescape")))
        return Receipt("sample", target, "git", "0" * 64, "patchctl", "3", tuple(applied))


def make_series(upstream: Path, scratch: Path) -> Carried:
    """The EDITS as format-patch files, made in a clone of ``upstream``."""
    git(upstream, "clone", "-q", str(upstream), str(scratch))
    names = {name for *_, files in EDITS for name in files}
    pristine: States = {name: _state(BASE.get(name)) for name in names}
    patches, steps = [], []
    for number, (subject, body, files) in enumerate(EDITS):
        for name, content in files.items():
            put(scratch, name, content)
        git(scratch, "add", "-A", "-f")
        message = f"{subject}\n\n{body}" if body else subject
        git(scratch, "commit", "-q", "-m", message, GIT_AUTHOR_DATE=f"{1710000000 + 3600 * number} +0130")
        data = git(scratch, "format-patch", "-1", "--stdout", "--binary", "--full-index", "-M")
        raw = os.fsencode(data)
        patches.append((f"p{number}", raw))
        steps.append(Step(f"p{number}", patchfile.parse(raw).mail, {n: _state(c) for n, c in files.items()}))
    return Carried(pristine, tuple(patches), tuple(steps))


def _state(content: tuple[bytes, int] | None) -> FileState | None:
    return None if content is None else FileState(*content)


def plan(place: Checkout, new: Carried | None, old: Carried | None = None, *, commit: bool = True) -> WritePlan:
    """What the workflows would ask for, to get from ``old`` to ``new`` (None: nothing applied)."""
    pristine = dict((new or old).pristine)  # type: ignore[union-attr]
    touched = [path for carried in (new, old) if carried for path in carried.final]
    final = {**pristine, **(new.final if new else {})}
    moves = {path: Move(place.read(path), final[path]) for path in dict.fromkeys(touched)}
    return WritePlan(
        moves=moves,
        steps=new.steps if new else (),
        receipt=new.receipt() if new else None,
        commit=commit,
        pristine={path: pristine[path] for path in moves},
    )


def expected(moves: Sequence[str] | Mapping[str, object], place: Checkout) -> States:
    return {path: place.read(path) for path in moves}


def apply(place: Checkout, new: Carried | None, old: Carried | None = None, *, commit: bool = True) -> Receipt | None:
    """Refuse as the workflows do when something is in the way, else write."""
    from patchctl.errors import Refused

    with place.locked():
        if place.interrupted():
            place.recover()
        wanted = plan(place, new, old, commit=commit)
        problems = place.in_the_way({path: move.before for path, move in wanted.moves.items()})
        if problems:
            raise Refused(problems)
        return place.write(wanted)


def am(root: Path, carried: Carried, mails: Path) -> None:
    """``git am`` of the same patch files."""
    mails.mkdir()
    files = []
    for number, (_, data) in enumerate(carried.patches):
        files.append(mails / f"{number:04}.patch")
        files[-1].write_bytes(data)
    git(root, "am", "-q", "--keep-non-patch", *map(str, files))


def picture(root: Path) -> dict[str, Stamp]:
    """Every file below ``root`` but git's own."""
    found = {}
    for folder, names, files in os.walk(root):
        if folder == str(root) and ".git" in names:
            names.remove(".git")
        for name in [*files, *(n for n in names if (Path(folder) / n).is_symlink())]:
            path = Path(folder) / name
            if path.is_symlink():
                state = FileState(os.fsencode(path.readlink()), LINK)
            else:
                state = FileState(path.read_bytes(), EXECUTABLE if path.stat().st_mode & 0o100 else REGULAR)
            found[str(path.relative_to(root))] = stamp(state)
    return found  # type: ignore[return-value]


def standing(root: Path) -> tuple[object, ...]:
    """All that a run may change: files, HEAD, branch, index (as git reads it), receipt, leftovers."""
    git_dir = Path(git(root, "rev-parse", "--absolute-git-dir").strip())
    state = git_dir / "patchctl"
    return (
        picture(root),
        git(root, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"),
        git(root, "ls-files", "-s", "-z"),
        git(root, "status", "--porcelain", "-z", "--untracked-files=all"),
        (state / "receipt.json").read_bytes() if (state / "receipt.json").exists() else None,
        # An empty folder, or the index of before a finished run, is litter that nobody meets.
        sorted(path.name for path in state.iterdir() if not path.name.startswith("index.")) if state.exists() else [],
        (git_dir / "index.lock").exists(),
        sorted(git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()),
    )
