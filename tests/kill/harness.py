"""Killing a command at every step and at random moments, and looking at what it leaves.

A command is a function; it runs in a forked child, so that a hundred kills take seconds. What must hold after each
kill: the place is untouched, or complete, or marked by a journal, and the next run of a command puts it right.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Picture = dict[str, tuple[object, ...]]

UNTOUCHED, COMPLETE, MARKED = "untouched", "complete", "put right"


@dataclass(frozen=True)
class Subject:
    """Something to kill.

    ``make`` builds the place afresh, ``run`` is the command, ``again`` the next command (often the same). ``look``
    gives all that counts as content, ``marked`` says whether status would call the place interrupted.
    """

    name: str
    make: Callable[[], None]
    run: Callable[[], object]
    again: Callable[[], object]
    look: Callable[[], Picture]
    marked: Callable[[], bool]


@dataclass
class Tally:
    """How the kills of one subject ended."""

    name: str
    points: int = 0
    window: float = 0.0
    kills: int = 0
    survived: int = 0

    def __post_init__(self) -> None:
        self.outcomes: Counter[str] = Counter()

    def __str__(self) -> str:
        ends = ", ".join(f"{self.outcomes[kind]} {kind}" for kind in (UNTOUCHED, COMPLETE, MARKED))
        return f"{self.name}: {self.kills} kills ({ends}), {self.survived} ended before the kill"


def in_child(function: Callable[[], object], fault: str = "", log: Path | None = None) -> int:
    """Run ``function`` in a forked child with ``fault`` set; its exit status, negative for a signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        code = 99
        try:
            out = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            # pytest has its own, which write elsewhere.
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            os.environ["PATCHCTL_FAULT"] = fault
            result = function()
            code = result if isinstance(result, int) else 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def measure(subject: Subject, scratch: Path) -> tuple[int, float, Picture, Picture]:
    """How many points ``subject`` passes and in how many seconds, and the place before and after it."""
    subject.make()
    before = subject.look()
    count = scratch / "count"
    count.unlink(missing_ok=True)
    log = scratch / "log"
    assert in_child(subject.run, f"count:{count}", log) == 0, log.read_text()
    points, seconds = count.read_text().split()
    after = subject.look()
    assert before != after
    return int(points), float(seconds), before, after


def at_every_point(subject: Subject, scratch: Path, step: int = 1) -> Tally:
    """Kill ``subject`` once before every write, rename, link, unlink … it does."""
    points, window, before, after = measure(subject, scratch)
    tally = Tally(f"{subject.name}, at every point", points, window)
    for number in range(1, points + 1, step):
        _one(subject, f"kill:{number}", before, after, tally, scratch)
    assert tally.survived == 0, str(tally)
    return tally


def at_random(subject: Subject, scratch: Path, kills: int, seed: int = 1) -> Tally:
    """Kill ``subject`` ``kills`` times at random moments between its first and its last change."""
    points, window, before, after = measure(subject, scratch)
    tally = Tally(f"{subject.name}, at random", points, window)
    moments = _moments(window, random.Random(seed))
    while tally.kills < kills:
        assert tally.survived < 20 * kills, f"{tally}: the window is too short"
        _one(subject, f"random:{next(moments):.6f}", before, after, tally, scratch)
    return tally


def _moments(window: float, chance: random.Random) -> Iterator[float]:
    while True:
        yield chance.uniform(0, window)


def _one(subject: Subject, fault: str, before: Picture, after: Picture, tally: Tally, scratch: Path) -> None:
    subject.make()
    log = scratch / "log"
    log.unlink(missing_ok=True)
    status = in_child(subject.run, fault, log)
    if status == 0:
        tally.survived += 1
        assert subject.look() == after, fault
        return
    assert status == -signal.SIGKILL, (fault, status, log.read_text())
    tally.kills += 1
    marked = subject.marked()
    seen = subject.look()
    if marked:
        outcome = MARKED
    elif seen == before:
        outcome = UNTOUCHED
    else:
        assert seen == after, (fault, difference(seen, before), difference(seen, after))
        outcome = COMPLETE
    tally.outcomes[outcome] += 1
    assert in_child(subject.again, "", log) == 0, (fault, log.read_text())
    assert not subject.marked(), fault
    done = subject.look()
    assert done == after, (fault, difference(done, after))


def difference(one: Picture, other: Picture) -> dict[str, tuple[object, object]]:
    return {
        name: (one.get(name), other.get(name)) for name in sorted({*one, *other}) if one.get(name) != other.get(name)
    }


def files(root: Path, *, times: bool = False, skip: Callable[[str], bool] = lambda name: False) -> Picture:
    """Names, permissions and contents of all files below ``root`` (and times, if ``times``)."""
    seen: Picture = {}
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            short = str(path.relative_to(root))
            if skip(short):
                continue
            found = path.lstat()
            data = str(path.readlink()) if path.is_symlink() else path.read_bytes()
            seen[short] = (oct(found.st_mode), data, *([found.st_mtime_ns] if times else []))
    return seen
