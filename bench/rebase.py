"""How fast ``patchctl rebase`` is, next to ``git rebase --onto`` with the same patches.

200 patches of one line each, in files that upstream changed between two releases, about half of them within 20
lines of such a change. Both run with everything on: git as it comes, patchctl with its guards, its proof and its new
patch files. Whole processes, medians; the figures are printed, never asserted. Run it as ``python bench/rebase.py``.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import samples
from measure import Run, median

from patchctl.target.prepare import prepare

HOME = Path(__file__).resolve().parent.parent
PATCHCTL = str(Path(sys.executable).parent / "patchctl")
FROM, TO = samples.TOWARDS, samples.ON
MIB = 1 << 20
IDENTITY = {"GIT_COMMITTER_NAME": "Bench", "GIT_COMMITTER_EMAIL": "bench@example.org"}
_NEAR = 20  # lines; git calls edits on neighbouring lines a conflict, so never nearer than _APART
_APART = 4


@dataclass(frozen=True, slots=True)
class Spot:
    """A line (from 0) of a file to edit, and how far the nearest change of upstream is."""

    path: str
    line: int
    distance: int


def spots(found: samples.Releases, count: int) -> list[Spot]:
    """Lines to edit in ``count`` files, by turns as near to upstream's changes as git allows, and anywhere."""
    taken: list[Spot] = []
    for path, changed in samples.changed_lines(found.git_dir, found.towards, found.on):
        near = len(taken) % 2 == 0
        spot = _spot(path, samples.blob(found.git_dir, found.towards, path), changed, near)
        if spot is not None:
            taken.append(spot)
        if len(taken) == count:
            break
    return taken


def _spot(path: str, data: bytes, changed: list[tuple[int, int]], near: bool) -> Spot | None:
    ranked = sorted((_distance(line, changed), line) for line in _statements(data))
    ranked = [pair for pair in ranked if pair[0] >= _APART]
    if not ranked:
        return None
    distance, line = ranked[0] if near else ranked[len(ranked) // 2]
    return Spot(path, line, distance)


def _distance(line: int, changed: list[tuple[int, int]]) -> int:
    return min(max(start - line, line - end + 1, 0) for start, end in changed)


def _statements(data: bytes) -> Iterator[int]:
    """The lines that are a whole statement each, so that a comment can stand behind it."""
    try:
        tree = ast.parse(data)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.Return, ast.Import)) and node.lineno == node.end_lineno:
            yield node.lineno - 1


def commits(repository: Path, found: samples.Releases, edits: list[Spot]) -> list[Path]:
    """Commit each edit on its own on top of the older release, and give the commits as patch files."""
    for number, spot in enumerate(edits):
        file = repository / spot.path
        lines = file.read_bytes().split(b"\n")
        lines[spot.line] += b"  # carried"
        file.write_bytes(b"\n".join(lines))
        message = f"Change number {number}"
        subprocess.run(["git", "-c", "gc.auto=0", "commit", "-qam", message], cwd=repository, check=True)
    out = repository.parent / "mails"
    command = ["git", "format-patch", "-q", "--full-index", "-o", str(out), found.towards]
    subprocess.run(command, cwd=repository, check=True)
    return sorted(out.iterdir())


@dataclass(frozen=True)
class Bench:
    """A folder with both starting points to copy, and how often to run each thing."""

    work: Path
    times: int

    def copy(self, name: str) -> Path:
        target = self.work / "run"
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.work / name), str(target)], check=True)
        if name == "repository":
            subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=target, check=True)
        return target

    def git(self, onto: str, base: str) -> Run:
        command = ["git", "-c", "gc.auto=0", "rebase", "-q", "--onto", onto, base]
        return median(self.times, lambda: self.copy("repository"), command, IDENTITY)

    def patchctl(self, *options: str) -> Run:
        command = [PATCHCTL, "-C", str(self.work / "run"), "-q", "rebase", "--from", FROM, "--to", TO, *options]
        return median(self.times, lambda: self.copy("project"), command)


def line(name: str, run: Run, note: str = "") -> None:
    figures = f"{run.seconds:8.3f} s {run.processor:8.3f} s cpu {run.memory / MIB:7.0f} MiB"
    print(f"{name:32} {figures}  {note}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="runs per figure")
    parser.add_argument("--patches", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="patchctl-bench-") as folder:
        bench = Bench(Path(folder), options.times)
        found = samples.releases(HOME, bench.work / "releases")
        edits = spots(found, options.patches)
        near = sum(spot.distance <= _NEAR for spot in edits)
        print(f"{len(edits)} patches, {near} of them within {_NEAR} lines of a change of upstream's")
        repository = bench.work / "repository"
        prepare(found.git_dir, found.towards, repository, "bench")
        subprocess.run(["git", "config", "user.name", "A Bench"], cwd=repository, check=True)
        subprocess.run(["git", "config", "user.email", "bench@example.org"], cwd=repository, check=True)
        samples.bring(found, repository)
        mails = commits(repository, found, edits)
        series = {f"p{number:04}": file.read_bytes() for number, file in enumerate(mails)}
        samples.make_project(HOME, bench.work / "project", series, PATCHCTL, FROM)
        ours, git = bench.patchctl(), bench.git(found.on, found.towards)
        line("git rebase --onto", git)
        line("patchctl rebase", ours, f"git takes {git.seconds / ours.seconds:.1f} times as long")
        line("patchctl rebase --dry-run", bench.patchctl("--dry-run"))


if __name__ == "__main__":
    main()
