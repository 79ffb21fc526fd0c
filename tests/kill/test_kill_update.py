"""Kills on the way from an older series to a newer one, in every kind of place; the counts are printed.

An ``apply`` after the series changed updates, removes and adds in one transaction: after a kill the place holds the
older series, the newer one, or a journal.
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


def subject(bench: Bench, kind: str) -> Subject:
    place = bench.place(kind)
    root = bench.root / {"checkout": "checkout", "tree": "tree", "installed": "env"}[kind]
    template = bench.root / "template"
    assert harness.in_child(lambda: command(place, bench.project, "apply")) == 0
    bench.change_series()
    shutil.copytree(root, template, symlinks=True)

    def make() -> None:
        # Only what a run may have changed: an environment's interpreter stays where it is.
        where, source = place.folder, template / place.folder.relative_to(root)
        shutil.rmtree(where)
        shutil.copytree(source, where, symlinks=True)

    return Subject(
        f"{kind}, apply of a changed series",
        make,
        run=lambda: command(place, bench.project, "apply"),
        again=lambda: command(place, bench.project, "apply"),
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
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_point(bench: Bench, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_every_point(subject(bench, kind), bench.root)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills == tally.points > 30
