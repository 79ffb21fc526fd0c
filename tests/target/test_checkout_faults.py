"""A checkout whose run is cut short: at every single operation, at random, and by a disk that fails."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, PatchctlError, Refused
from patchctl.target.checkout import Checkout
from patchctl.target.faults import Faults
from patchctl.target.worktree import Worktree
from tests.target.checkouts import BARE_USER, Carried, apply, git, make_series, make_upstream, standing


@pytest.fixture(scope="module", autouse=True)
def bare_user() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(name)
        for name, value in BARE_USER.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_upstream(tmp_path_factory.mktemp("upstream") / "repo")


@pytest.fixture(scope="module")
def series(upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Carried:
    return make_series(upstream, tmp_path_factory.mktemp("series") / "work").only(0, 1, 2, 4, 5, 6, 7, 10)


def ways(series: Carried) -> dict[str, tuple[Carried | None, Carried | None, bool]]:
    """New series, old series, and whether there are commits."""
    return {
        "apply": (series, None, True),
        "unapply": (None, series, True),
        "update": (series.only(0, 1, 2), series, True),
        "no-commit": (series, None, False),
        "commit-later": (series, series, True),
    }


pytestmark = pytest.mark.slow

WAYS = ("apply", "unapply", "update", "no-commit", "commit-later")


class Lab:
    """Copies of a checkout before a run, and what it must be after one."""

    def __init__(self, upstream: Path, folder: Path, way: tuple[Carried | None, Carried | None, bool], first: bool):
        self.new, self.old, self.commit = way
        self.template = folder / "template"
        self.root = folder / "root"
        self.folder = folder
        git(upstream, "clone", "-q", str(upstream), str(self.template))
        if self.old is not None:
            apply(Checkout.open(self.template), self.old, commit=first)
        self.fresh()
        self.before = standing(self.root)
        apply(Checkout.open(self.root), self.new, self.old, commit=self.commit)
        self.after = standing(self.root)

    def fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.template, self.root, symlinks=True)

    def run(self, spec: str) -> int:
        """Do it in another process, with a fault; returns the status as :func:`os.waitpid` gives it."""
        self.fresh()
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1]
        code = 99
        try:
            place = Checkout(Worktree.open(self.root), Faults(spec))
            apply(place, self.new, self.old, commit=self.commit)
            code = 0
        except PatchctlError as error:
            code = error.exit_code
        except KeyboardInterrupt:
            code = 130
        finally:
            os._exit(code)

    def points(self) -> int:
        counted = self.folder / "count"
        assert self.run(f"count:{counted}") == 0
        return int(counted.read_text().split()[0])

    def verdict(self) -> str:
        """What a kill has left; puts it right, and finishes the job, where it is marked."""
        place = Checkout.open(self.root)
        if not place.interrupted():
            now = standing(self.root)
            if now == self.after:
                return "complete"
            assert now == self.before
            return "untouched"
        with place.locked():
            place.recover()
        now = standing(self.root)
        assert now in (self.before, self.after)
        if now == self.before:
            apply(Checkout.open(self.root), self.new, self.old, commit=self.commit)
            assert standing(self.root) == self.after
        return "put right"


@pytest.fixture(scope="module", params=WAYS)
def lab(
    request: pytest.FixtureRequest, upstream: Path, series: Carried, tmp_path_factory: pytest.TempPathFactory
) -> Lab:
    way = ways(series)[request.param]
    return Lab(upstream, tmp_path_factory.mktemp(request.param), way, request.param != "commit-later")


def died(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def test_kill_at_every_point(lab: Lab) -> None:
    points = lab.points()
    assert points > 20
    verdicts = []
    for number in range(1, points + 1):
        assert died(lab.run(f"kill:{number}")), number
        verdicts.append(lab.verdict())
    print({verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))})
    assert verdicts.count("put right") > 10


def test_kill_at_random(lab: Lab) -> None:
    counted = lab.folder / "count"
    lab.run(f"count:{counted}")
    seconds = float(counted.read_text().split()[1])
    chance = random.Random(2)
    verdicts = []
    for _ in range(25):
        status = lab.run(f"random:{chance.uniform(0, seconds):.6f}")
        if status == 0:
            continue  # it was faster than the blow
        assert died(status)
        time.sleep(0.05)  # a git that it had started may still be writing
        verdicts.append(lab.verdict())
    print({verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))})
    assert verdicts


@pytest.mark.parametrize("kind", ["enospc", "full", "eacces", "term", "int"])
def test_a_fault_leaves_all_as_it_was(lab: Lab, kind: str) -> None:
    points = lab.points()
    outcomes = set()
    for number in range(1, points + 1, 2 if kind == "full" else 5):
        status = lab.run(f"{kind}:{number}")
        code = os.waitstatus_to_exitcode(status)
        outcomes.add(code)
        place = Checkout.open(lab.root)
        marked = place.interrupted()
        if marked:  # clearing up failed at its very end; what counts is that the next run sees it
            place.recover()
        now = standing(lab.root)
        assert now == lab.before or (now == lab.after and (marked or code == 0)), (kind, number, code)
    assert outcomes - {0}


class TestSomebodyMeddles:
    """What people do between a kill and the next run."""

    @pytest.fixture
    def killed(self, upstream: Path, series: Carried, tmp_path: Path) -> Callable[[str], Lab]:
        lab = Lab(upstream, tmp_path, (series, None, True), True)

        def kill(at: str) -> Lab:
            """Kill right before the operation on ``at``."""
            assert died(lab.run(f"kill:{_points(lab).index(at) + 1}"))
            return lab

        return kill

    def test_an_edit_of_a_patched_file(self, killed: Callable[[str], Lab]) -> None:
        lab = killed("refs/heads/main")
        (lab.root / "pkg/a.py").write_text("mine\n")
        before = standing(lab.root)
        place = Checkout.open(lab.root)
        with pytest.raises(Refused) as caught:
            place.recover()
        assert [problem.file for problem in caught.value.problems] == ["pkg/a.py"]
        assert standing(lab.root) == before and place.interrupted()

    def test_removes_our_lock_and_stages_something(self, killed: Callable[[str], Lab]) -> None:
        lab = killed("refs/heads/main")
        (lab.root / ".git/index.lock").unlink()
        (lab.root / "mine.txt").write_text("mine\n")
        git(lab.root, "add", "mine.txt")
        Checkout.open(lab.root).recover()
        assert git(lab.root, "status", "--porcelain") == "A  mine.txt\n"

    def test_commits(self, killed: Callable[[str], Lab]) -> None:
        lab = killed("refs/heads/main")
        (lab.root / ".git/index.lock").unlink()
        git(lab.root, "commit", "-q", "-m", "all of it")
        with pytest.raises(Refused) as caught:
            Checkout.open(lab.root).recover()
        assert [problem.kind for problem in caught.value.problems] == ["foreign-commits"]

    def test_another_git_at_work(self, killed: Callable[[str], Lab]) -> None:
        lab = killed("index.lock")
        (lab.root / ".git/index.lock").write_bytes(b"DIRC")
        place = Checkout.open(lab.root)
        place.recover()
        assert (lab.root / ".git/index.lock").exists()
        with pytest.raises(EnvironmentFailed):
            place.in_the_way({})


def _points(lab: Lab) -> list[str]:
    """The names that the points of a run are about, in order."""
    seen: list[str] = []

    class Watching(Faults):
        def point(self, operation: str, name: str) -> None:
            seen.append(name)

    lab.fresh()
    apply(Checkout(Worktree.open(lab.root), Watching()), lab.new, lab.old)
    return seen
