"""A small upstream with two releases, and a project that carries patches on both: what ``report`` tells about.

Everything is real: git makes upstream's history and the patch files, ``patchctl lock`` the lock.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from patchctl.series import lock as locking
from tests.projects import Files, Run, environment, patchctl
from tests.target.checkouts import git

OLD, NEW = "v1.0", "v1.1"
CORE = b"".join(b"def f%d():\n    return %d\n\n\n" % (n, n) for n in range(30))
BASE: dict[str, bytes] = {
    "python/pyproject.toml": b'[project]\nname = "demo"\ndependencies = [\n    "flash_infer==0.6.3",\n]\n',
    "python/demo/core.py": CORE,
    "python/demo/model.py": b"SIZES = [8, 9]\nNAME = 'model'\n",
    "python/demo/table.py": b"".join(b"ROW_%d = %d\n" % (n, n) for n in range(20)),
    "python/demo/still.py": b"STILL = 1\n",
}
CORE_2 = CORE.replace(b"return 2\n", b"return 2 + 2\n")
TABLE = BASE["python/demo/table.py"].replace(b"ROW_5 = 5", b"ROW_5 = 50")
# What upstream does between the releases: subject, and the files that the commit writes.
UPSTREAM: list[tuple[str, Files]] = [
    ("Return more from f2 (#7)", {"python/demo/core.py": CORE_2}),
    ("Work far away", {"python/demo/core.py": CORE_2.replace(b"return 28", b"return -28")}),
    ("Name other sizes", {"python/demo/model.py": b"SIZES = [1, 2]\nNAME = 'model'\n"}),
    ("Give row 5 its value <b>now</b> @all (#19)", {"python/demo/table.py": TABLE}),
    ("Ask for more", {"python/pyproject.toml": BASE["python/pyproject.toml"].replace(b"0.6.3", b"0.6.7")}),
]
AFTER: dict[str, bytes] = {**BASE, **{name: data for _, files in UPSTREAM for name, data in files.items() if data}}

# What each patch writes on the old release, on top of the ones before it.
SERIES: dict[str, Files] = {
    "first": {"python/demo/core.py": CORE.replace(b"return 1\n", b"return 100\n")},
    "second": {"python/demo/still.py": b"STILL = 2\n"},
    "sizes": {"python/demo/model.py": b"SIZES = [8, 12]\nNAME = 'model'\n"},
    "row": {"python/demo/table.py": TABLE},
}
# And on the new one: the third as a person would resolve it, the fourth not at all.
MOVED: dict[str, Files] = {
    "first": {"python/demo/core.py": AFTER["python/demo/core.py"].replace(b"return 1\n", b"return 100\n")},
    "second": SERIES["second"],
    "sizes": {"python/demo/model.py": b"SIZES = [1, 12]\nNAME = 'model'\n"},
}
DROPPED = '      row: {reason: upstreamed, evidence: "the table has the row", by: rebase, from: v1.0}\n'
DOCUMENT = """\
version: 1
default: v1.0
upstream:
  name: demo
  git: {git}
  sdist: {{root: "python/", drop: [PKG-INFO]}}
  layout: {{"python/demo/": "demo/"}}
targets:
  v1.0:
    pin: {{commit: "{old}"}}
    patches: [{series}]
  v1.1:
    pin: {{commit: "{new}"}}
    patches: [{moved}]
{dropped}patches:
  first:
    title: Return a hundred
    why: one is too few
    owner: team-a
    upstream: {{status: submitted, url: "https://example.org/demo/demo/pull/7"}}
    drop_when: ">=1.1"
    expires: "2020-01-01"
    requires: {{flash-infer: ">=0.6.5"}}
  second: {{title: Stand still, why: a test, owner: team-b, upstream: {{status: pending}}}}
  sizes: {{title: Other sizes, why: a test, owner: team-b, upstream: {{status: pending}}}}
  row:
    title: A row
    why: a test
    owner: team-b
    upstream: {{status: backport, url: "https://example.org/demo/demo/pull/19"}}
"""


@dataclass(frozen=True)
class Yard:
    """The project, and the machine that its commands run on."""

    root: Path
    upstream: Path
    cache: Path

    def run(self, *args: str, text: bool = False) -> Run:
        return patchctl(*args, cwd=self.root, env=environment(PATCHCTL_CACHE=str(self.cache)), text=text)

    def report(self, name: str) -> bytes:
        return (self.root / f"build/reports/{OLD}..{NEW}/report.{name}").read_bytes()

    def change_lock(self, id: str, **changes: object) -> None:
        """Write something else about a patch of the new target into the lock."""
        path = self.root / "series.lock"
        lock = locking.read(path)
        assert lock is not None
        target = lock.targets[NEW]
        patches = tuple(
            replace(patch, **changes) if patch.id == id else patch  # type: ignore[arg-type]
            for patch in target.patches
        )
        locking.write(path, locking.Lock({**lock.targets, NEW: replace(target, patches=patches)}))

    def change_series(self, old: str, new: str) -> None:
        path = self.root / "series.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))


def make(folder: Path, moved: Mapping[str, Files] = MOVED, dropped: str = DROPPED) -> Yard:
    upstream = folder / "upstream"
    commits = _upstream(upstream)
    root = folder / "project"
    for tag, series in ((OLD, SERIES), (NEW, moved)):
        _patches(upstream, folder / "scratch", tag, series, root / "patches" / tag)
    text = DOCUMENT.format(
        git=upstream,
        old=commits[0],
        new=commits[1],
        series=", ".join(SERIES),
        moved=", ".join(moved),
        dropped=f"    dropped:\n{dropped}" if dropped else "",
    )
    (root / "series.yaml").write_text(text)
    yard = Yard(root, upstream, folder / "cache")
    locked = yard.run("lock", OLD, NEW)
    assert locked.code == 0, locked.words
    return yard


def copy(yard: Yard, folder: Path) -> Yard:
    """A project and a cache of a test's own."""
    shutil.copytree(yard.root, folder / "project")
    shutil.copytree(yard.cache, folder / "cache")
    return Yard(folder / "project", yard.upstream, folder / "cache")


def _upstream(root: Path) -> tuple[str, str]:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    first = _commit(root, "the first release", BASE)
    git(root, "tag", OLD)
    last = first
    for day, (subject, files) in enumerate(UPSTREAM, 1):
        last = _commit(root, subject, files, 1_700_000_000 + day * 86_400)
    git(root, "tag", NEW)
    return first, last


def _commit(root: Path, subject: str, files: Files, seconds: int = 1_700_000_000) -> str:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or b"")
    git(root, "add", "-A")
    when = {f"GIT_{who}_DATE": f"{seconds} +0000" for who in ("AUTHOR", "COMMITTER")}
    git(root, "commit", "-q", "-m", subject, **when)
    return git(root, "rev-parse", "HEAD").strip()


def _patches(upstream: Path, scratch: Path, tag: str, series: Mapping[str, Files], into: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    git(upstream, "clone", "-q", str(upstream), str(scratch))
    git(scratch, "checkout", "-q", "-B", "work", tag)
    into.mkdir(parents=True)
    for id, files in series.items():
        _commit(scratch, f"The patch {id}", files, 1_690_000_000)
        mail = git(scratch, "format-patch", "-1", "--stdout", "--full-index", "--zero-commit", "--no-signature")
        (into / f"{id}.patch").write_text(mail)
