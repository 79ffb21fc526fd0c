"""How fast ``patchctl apply`` is, next to ``git am`` and ``quilt push -a`` on the same patches.

Whole processes, medians; each run starts on a fresh copy whose index git has just refreshed. The figures are
printed, never asserted: they belong to one machine and one hour. Run it as ``python bench/apply.py``; the two
releases come from patchctl's cache, or through the package index that pip is configured with.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import samples
from measure import Run, median

from patchctl.series import project as projects
from patchctl.series.load import folder_name
from patchctl.target.prepare import prepare

HOME = Path(__file__).resolve().parent.parent
PATCHCTL = str(Path(sys.executable).parent / "patchctl")
MIB = 1 << 20
IDENTITY = {"GIT_COMMITTER_NAME": "Bench", "GIT_COMMITTER_EMAIL": "bench@example.org"}


@dataclass(frozen=True)
class Bench:
    """A folder with a pristine checkout to copy, and how often to run each thing."""

    work: Path
    times: int

    @property
    def template(self) -> Path:
        return self.work / "template"

    def checkout(self) -> Path:
        """A fresh copy of the pristine checkout."""
        target = self._copy()
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=target, check=True)
        return target

    def quilted(self, series: Path) -> Path:
        """A fresh copy of the tree, with ``series`` where quilt looks for it."""
        target = self._copy()
        shutil.rmtree(target / ".git")
        (target / "patches").symlink_to(series)
        return target

    def _copy(self) -> Path:
        target = self.work / "run"
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.template), str(target)], check=True)
        return target

    def apply(self, project: Path) -> Run:
        command = [PATCHCTL, "-C", str(project), "-q", "apply", "--into", str(self.work / "run")]
        return median(self.times, self.checkout, command)

    def am(self, files: list[Path]) -> Run:
        return median(self.times, self.checkout, ["git", "am", "-q", *map(str, files)], IDENTITY)

    def quilt(self, files: list[Path]) -> Run:
        (files[0].parent / "series").write_text("".join(f"{file.name}\n" for file in files))
        return median(self.times, lambda: self.quilted(files[0].parent), ["quilt", "push", "-a", "-q"])


def compare(bench: Bench, label: str, project: Path, files: list[Path]) -> None:
    ours, am = bench.apply(project), bench.am(files)
    line(label, "patchctl apply", ours)
    line(label, "git am", am, f"{am.seconds / ours.seconds:.1f} times as long as patchctl")
    if shutil.which("quilt"):
        quilt = bench.quilt(files)
        line(label, "quilt push -a", quilt, f"{quilt.seconds / ours.seconds:.1f} times as long as patchctl")
    else:
        print("quilt is not installed: not compared")


def length(bench: Bench, sections: list[bytes], longest: int) -> None:
    """How the cost of a patch grows with the length of the series."""
    hunks = list(samples.by_hunk(sections))
    for count in (20, 200, 2000):
        if count > min(longest, len(hunks)):
            print(f"{count} patches: not measured ({len(hunks)} hunks, at most {longest} asked for)")
            continue
        project = bench.work / f"project-{count}"
        samples.make_project(HOME, project, samples.patches(hunks[:count]), PATCHCTL)
        ours = bench.apply(project)
        line(f"{count} one-hunk patches", "patchctl apply", ours, f"{1000 * ours.seconds / count:.2f} ms a patch")


def start(bench: Bench) -> None:
    """What it costs to start."""
    here = bench.work / "template"
    times = max(bench.times, 11)
    nothing = median(times, lambda: here, [sys.executable, "-c", "pass"])
    version = median(times, lambda: here, [PATCHCTL, "--version"])
    line("start", "python -c pass", nothing)
    line("start", "patchctl --version", version, f"{version.seconds / nothing.seconds:.1f} times python -c pass")


def carried(bench: Bench) -> None:
    """The series that this project carries."""
    own = projects.load(HOME)
    tag, target = own.target(samples.ON)
    files = [own.patch_path(tag, name) for name in target.patches]
    ours, am = bench.apply(HOME), bench.am(files)
    line(f"{len(files)} carried patches", "git am", am)
    line(f"{len(files)} carried patches", "patchctl apply", ours, f"{ours.seconds / am.seconds:.1f} times git am")


def line(label: str, name: str, run: Run, note: str = "") -> None:
    figures = f"{run.seconds:8.3f} s {run.processor:8.3f} s cpu {run.memory / MIB:7.0f} MiB"
    print(f"{label:24} {name:20} {figures}  {note}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="runs per figure")
    parser.add_argument("--patches", type=int, default=200, help="length of the series in the comparison")
    parser.add_argument("--longest", type=int, default=2000, help="the longest series for the cost of a patch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="patchctl-bench-") as folder:
        bench = Bench(Path(folder), options.times)
        found = samples.releases(HOME, bench.work / "releases")
        prepare(found.git_dir, found.on, bench.template, "bench")
        sections = samples.by_file(found)
        project = bench.work / "project"
        series = samples.patches(samples.spread(sections, options.patches))
        samples.make_project(HOME, project, series, PATCHCTL)
        patches = project / "patches" / folder_name(samples.ON)
        start(bench)
        compare(bench, f"{len(series)} patches", project, [patches / f"{name}.patch" for name in series])
        carried(bench)
        length(bench, sections, options.longest)


if __name__ == "__main__":
    main()
