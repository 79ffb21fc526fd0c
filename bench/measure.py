"""Whole processes, timed: wall clock, processor time, and the most memory that one process of the run held.

Run as a script, this file is the launcher that does the measuring: Linux counts the memory of whoever forks
as the child's own, so that must be a small process, not the bench with its two releases in memory.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """Seconds of wall clock and of processor time, and bytes of resident memory."""

    seconds: float
    processor: float
    memory: int


def run(command: Sequence[str], cwd: Path, env: dict[str, str] | None = None, answers: Sequence[str] = ("0",)) -> Run:
    """Run ``command`` in ``cwd``; ``answers`` are the exit codes of a run that did its work.

    Raises SystemExit with its output when it fails: a fast failure is no result.
    """
    import subprocess

    result, output = cwd.parent / "bench.result", cwd.parent / "bench.out"
    with output.open("wb") as said:
        subprocess.run(
            [sys.executable, "-I", "-S", __file__, str(result), *command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    code, seconds, processor, memory = result.read_text().split()
    if code not in answers:
        text = output.read_bytes().decode(errors="replace")[-4000:]
        raise SystemExit(f"{' '.join(command[:6])} … ended with {code}:\n{text}")
    return Run(float(seconds), float(processor), int(memory))


def median(times: int, prepare: Callable[[], Path], command: Sequence[str], env: dict[str, str] | None = None) -> Run:
    """The median of ``times`` runs, each in a folder that ``prepare`` makes anew; the memory is the highest."""
    runs = [run(command, prepare(), env) for _ in range(times)]
    return Run(
        statistics.median(one.seconds for one in runs),
        statistics.median(one.processor for one in runs),
        max(one.memory for one in runs),
    )


def _launch(result: str, command: Sequence[str]) -> None:
    start = time.perf_counter()
    child = os.fork()
    if not child:
        os.execvp(command[0], list(command))
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    Path(result).write_text(f"{code} {seconds} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss * 1024}\n")


if __name__ == "__main__":
    _launch(sys.argv[1], sys.argv[2:])
