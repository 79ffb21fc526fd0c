"""How long ``patchctl port --base`` takes for one patch, next to ``patchctl --version``.

Real backports of the corpus beside the project (``../shared``), some of every class, the hard one included. Whole
processes, by turns with ``--version``; the figures are printed, never asserted. Run it as ``python bench/port.py``.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Run, run

PATCHCTL = str(Path(sys.executable).parent / "patchctl")
CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "backports" / "dev.jsonl.xz"
MIB = 1 << 20
# Carried, a person must decide, refused: an answer each.
ANSWERS = ("0", "3", "5")


def sample(corpus: Path, count: int) -> list[dict[str, Any]]:
    """About ``count`` cases from all over the corpus, as many of each class as there are classes for."""
    by_class: dict[str, list[dict[str, Any]]] = {}
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            by_class.setdefault(case["class"], []).append(case)
    each = max(count // len(by_class), 1)
    return [case for cases in by_class.values() for case in _spread(cases, each)]


def _spread(cases: Sequence[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    taken = min(count, len(cases))
    yield from (cases[number * len(cases) // taken] for number in range(taken))


def lay_out(case: Mapping[str, Any], folder: Path) -> list[str]:
    """The two trees and the patch of ``case`` in ``folder``, and the command that carries it over."""
    for side, name in (("P", "base"), ("Q", "onto")):
        (folder / name).mkdir(parents=True)
        for file in case["files"]:
            if file[side] is not None:
                path = folder / name / file["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file[side].encode("utf-8", "surrogateescape"))
    patch = folder / "case.patch"
    patch.write_bytes(case["patch"].encode("utf-8", "surrogateescape"))
    return [PATCHCTL, "port", str(patch), "--base", str(folder / "base"), "--onto", str(folder / "onto")]


def line(name: str, runs: Sequence[Run], note: str = "") -> None:
    seconds = sorted(one.seconds for one in runs)
    processor = statistics.median(one.processor for one in runs)
    last = seconds[min(int(len(seconds) * 0.99), len(seconds) - 1)]
    figures = f"{statistics.median(seconds):7.3f} s {processor:7.3f} s cpu {last:7.3f} s {seconds[-1]:7.3f} s"
    print(f"{name:22} {figures} {max(one.memory for one in runs) / MIB:6.0f} MiB  {note}".rstrip(), flush=True)


def ratio(ours: Sequence[Run], plain: Sequence[Run]) -> str:
    """How many times as long as a start of the program a port takes: by the clock, and by the processor."""
    clock = statistics.median(one.seconds for one in ours) / statistics.median(one.seconds for one in plain)
    processor = statistics.median(one.processor for one in ours) / statistics.median(one.processor for one in plain)
    return f"{clock:.2f} times --version ({processor:.2f} by cpu)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=150, help="about how many backports")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    options = parser.parse_args()
    cases = sample(options.corpus, options.cases)
    kinds: dict[str, list[Run]] = {}
    plain: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="patchctl-bench-") as name:
        for number, case in enumerate(cases):
            work = Path(name) / str(number)
            command = lay_out(case, work / "case")
            plain.append(run([PATCHCTL, "--version"], work / "case"))
            kinds.setdefault(case["class"], []).append(run(command, work / "case", answers=ANSWERS))
    everything = [one for runs in kinds.values() for one in runs]
    print(f"{'':22} {'median':>9} {'':13} {'99 %':>9} {'worst':>9}")
    line("patchctl --version", plain)
    line(f"port, {len(everything)} patches", everything, ratio(everything, plain))
    for kind, runs in kinds.items():
        line(f"  {kind} ({len(runs)})", runs, ratio(runs, plain))


if __name__ == "__main__":
    main()
