"""Kills over ``patchctl apply`` and ``unapply`` themselves, in every kind of place; the counts are printed.

What the tests of the places do for a transaction alone is done here for the whole command: reading the project,
comparing, writing, and what the next command makes of the rest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.projects import BARE_USER, Bench, Installation, git

from . import harness
from .harness import Picture, Subject

KINDS = ("checkout", "tree", "installed")


@pytest.fixture(autouse=True)
def bare_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith(("GIT_", "PATCHCTL_"))]:
        monkeypatch.delenv(name)
    for name, value in BARE_USER.items():
        monkeypatch.setenv(name, value)
    yield


def command(place: Installation, project: Path, *args: str) -> int:
    from patchctl.cli.main import run

    try:
        run(["-C", str(project), "-q", *args, *place.options])
    except SystemExit as end:
        return int(end.code or 0)


def look(place: Installation) -> Picture:
    """All files, the receipt included; of git's what git says of it, since its index holds times."""
    seen: Picture = dict(harness.files(place.folder, skip=lambda name: name.startswith(".git/")))
    if place.kind == "checkout":
        state = place.folder / ".git/patchctl/receipt.json"
        seen["(git)"] = (
            git(place.folder, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"),
            git(place.folder, "ls-files", "-s"),
            git(place.folder, "status", "--porcelain", "--untracked-files=all"),
            state.read_bytes() if state.exists() else b"",
            (place.folder / ".git/index.lock").exists(),
        )
    return seen


def subject(bench: Bench, kind: str, verb: str) -> Subject:
    place = bench.place(kind)
    root = bench.root / {"checkout": "checkout", "tree": "tree", "installed": "env"}[kind]
    template = bench.root / "template"
    if verb == "unapply":
        assert harness.in_child(lambda: command(place, bench.project, "apply")) == 0
    shutil.copytree(root, template, symlinks=True)

    def make() -> None:
        # Only what a run may have changed: an environment's interpreter stays where it is.
        where, source = place.folder, template / place.folder.relative_to(root)
        shutil.rmtree(where)
        shutil.copytree(source, where, symlinks=True)

    return Subject(
        f"{kind}, {verb}",
        make,
        run=lambda: command(place, bench.project, verb),
        again=lambda: command(place, bench.project, verb),
        look=lambda: look(place),
        marked=lambda: _marked(place, bench.project),
    )


def _marked(place: Installation, project: Path) -> bool:
    """What status says: is the place called interrupted?"""
    from patchctl.workflows.places import Where, find_stack
    from patchctl.workflows.status import status

    into = None if place.kind == "installed" else place.folder
    python = Path(place.options[-1]) if place.kind == "installed" else None
    found, stack = find_stack(project, Where(into, into is None, python), None)
    return any(problem.kind == "interrupted" for problem in status(found.place, found.tag, stack).problems)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["apply", "unapply"])
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_point(bench: Bench, kind: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_every_point(subject(bench, kind, verb), bench.root)
    with capsys.disabled():
        print(f"\npatchctl {tally}")
    assert tally.kills == tally.points > 30


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["apply", "unapply"])
@pytest.mark.parametrize("kind", KINDS)
def test_at_random(bench: Bench, kind: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_random(subject(bench, kind, verb), bench.root, kills=100)
    with capsys.disabled():
        print(f"\npatchctl {tally}")
    assert tally.kills >= 100
