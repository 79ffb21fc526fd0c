"""Series of any length for the benches: the difference between two releases, cut into patches."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from patchctl.series import project as projects
from patchctl.series.load import folder_name
from patchctl.series.patchfile import compose, render
from patchctl.upstream import pristine
from patchctl.upstream.cache import reference

ON, TOWARDS = "v0.5.9", "v0.5.8"
# The releases are fetched once, by their pins; the series' own is in series.yaml.
_PIN = {"sdist": "sha256:ecc0b88ac81272e0783c0fa3088e4205075dd8dc2f20c87ae4c73284dfa540a0"}
_DATE = "Thu, 1 Jan 2026 {:02}:{:02}:{:02} +0000"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Releases:
    """Both releases as commits of one repository."""

    git_dir: Path
    on: str
    towards: str


def releases(home: Path, work: Path) -> Releases:
    """The two releases, from the cache or by the index that pip is configured with. ``home`` is this project."""
    own = projects.load(home)
    pin = msgspec.to_builtins(own.series.targets[ON].pin)
    _write_project(home, work, {ON: (pin, {}), TOWARDS: (_PIN, {})})
    both = projects.load(work)
    trees = [pristine.open_tree(both, tag, "pypi", None) for tag in (ON, TOWARDS)]
    return Releases(trees[0].git_dir, trees[0].commit, trees[1].commit)


def by_file(found: Releases) -> list[bytes]:
    """The way from one release to the other, one diff per file; text files only."""
    command = ["git", "--git-dir", str(found.git_dir), "diff", "--no-renames", "--full-index", found.on, found.towards]
    diff = subprocess.run(command, check=True, capture_output=True).stdout
    sections = re.split(rb"(?m)^(?=diff --git )", diff)[1:]
    return [section for section in sections if b"\nBinary files " not in section]


def changed_lines(git_dir: Path, old: str, new: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The Python files that both commits have and that differ, each with the lines of ``old`` (from 0, the end
    excluded) that are not in ``new``; an insertion is an empty range."""
    command = [
        "git",
        "--git-dir",
        str(git_dir),
        "diff",
        "--no-renames",
        "--diff-filter=M",
        "-U0",
        old,
        new,
        "--",
        "*.py",
    ]
    diff = subprocess.run(command, check=True, capture_output=True).stdout
    for section in re.split(rb"(?m)^(?=diff --git )", diff)[1:]:
        path = section.partition(b"\n--- a/")[2].partition(b"\n")[0].decode()
        ranges = []
        for at in _HUNK.finditer(section):
            start, count = int(at[1]), int(at[2] or 1)
            ranges.append((start - 1, start - 1 + count) if count else (start, start))
        if path and ranges:
            yield path, ranges


def bring(found: Releases, repository: Path) -> None:
    """Have the release ON in ``repository``, a checkout of the other one."""
    ref = reference("pypi", ON)
    command = ["git", "fetch", "-q", str(found.git_dir), f"{ref}:refs/heads/upstream"]
    subprocess.run(command, cwd=repository, check=True)


def blob(git_dir: Path, commit: str, path: str) -> bytes:
    """The file ``path`` of ``commit``."""
    command = ["git", "--git-dir", str(git_dir), "cat-file", "blob", f"{commit}:{path}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def spread(sections: list[bytes], count: int) -> list[bytes]:
    """``count`` of ``sections``, from all over the tree."""
    taken = min(count, len(sections))
    return [sections[number * len(sections) // taken] for number in range(taken)]


def by_hunk(sections: list[bytes]) -> Iterator[bytes]:
    """The same way, one diff per hunk of a changed file, each on what those before it leave."""
    for section in sections:
        head, *hunks = re.split(rb"(?m)^(?=@@ )", section)
        if b"\nnew file" in head or b"\ndeleted file" in head or b"\nold mode" in head:
            continue
        # The blobs in between are nobody's.
        plain = re.sub(rb"(?m)^index .*\n", b"", head)
        for hunk in hunks:
            at = _HUNK.match(hunk)
            assert at is not None, "git writes such headers"
            _, old_count, new_start, new_count = (int(group or 1) for group in at.groups())
            if 0 in (old_count, new_count):
                continue
            numbers = b"@@ -%d,%d +%d,%d @@" % (new_start, old_count, new_start, new_count)
            yield plain + numbers + hunk[at.end() :]


def patches(diffs: list[bytes]) -> dict[str, bytes]:
    """Patch files by id, in order."""
    made = {}
    for number, diff in enumerate(diffs):
        date = _DATE.format(number // 3600, number // 60 % 60, number % 60)
        subject = f"Change number {number}"
        file = compose("A Bench <bench@example.org>", date, subject, "It differs between two releases.", (), diff)
        made[f"p{number:04}"] = render(file)
    return made


def make_project(home: Path, work: Path, series: dict[str, bytes], patchctl: str, tag: str = ON) -> None:
    """A project in ``work`` that carries ``series`` on the release ``tag``, locked."""
    own = projects.load(home)
    pins = {ON: msgspec.to_builtins(own.series.targets[ON].pin), TOWARDS: _PIN}
    _write_project(home, work, {tag: (pins[tag], series)})
    subprocess.run([patchctl, "-C", str(work), "-q", "lock"], check=True)


def _write_project(home: Path, work: Path, targets: dict[str, tuple[object, dict[str, bytes]]]) -> None:
    own = projects.load(home).series
    document = {
        "version": 1,
        "default": next(iter(targets)),
        "upstream": msgspec.to_builtins(own.upstream),
        "targets": {tag: {"pin": pin, "patches": list(series)} for tag, (pin, series) in targets.items()},
        "patches": {
            name: {"title": name, "why": "a bench", "owner": "nobody", "upstream": {"status": "inappropriate"}}
            for _, series in targets.values()
            for name in series
        },
    }
    work.mkdir(parents=True, exist_ok=True)
    (work / "series.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    for tag, (_, series) in targets.items():
        folder = work / "patches" / folder_name(tag)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in series.items():
            (folder / f"{name}.patch").write_bytes(data)
