"""Kills over ``patchctl rebase``: at every write, rename, link and unlink of a start, a decision, an end and an abort.

After each the project is as before, or the rebase is under way and goes on, or it is done; the next command puts
right what a killed one left.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.moving import CLASH, FRESH, NEXT, RIVAL, Move

from . import harness
from .harness import Picture, Subject

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")


def command(project: Path, *args: str) -> int:
    from patchctl.cli.main import run

    try:
        run(["-C", str(project), "-q", "rebase", *args])
    except SystemExit as end:
        # Decisions that are needed are no failure here.
        return 0 if end.code == 3 else int(end.code or 0)


def look(project: Path) -> Picture:
    """The whole project; of the state folder only what is no litter: a rebase under way, and its conflicts."""
    seen = harness.files(project, skip=lambda name: name.startswith((".patchctl/", "build/")))
    state = project / ".patchctl"
    if (state / "rebase.json").exists():
        found = json.loads((state / "rebase.json").read_text())
        seen["rebase.json"] = (found,)
        for id in found["conflicts"]:
            seen |= harness.files(state / "conflicts" / id, skip=lambda name: name.startswith(".git/"))
    return seen


def marked(project: Path) -> bool:
    from patchctl.target import traces

    # A state folder without anything in it is a place's mark; here it only says that the last step was not reached.
    return any((project / ".patchctl" / name).exists() for name in (traces.STANDING, traces.DONE, traces.DRAFT))


def subject(move: Move, name: str, ready: Callable[[], None], args: tuple[str, ...], again: tuple[str, ...]) -> Subject:
    template = move.project.parent / "template"
    ready()
    shutil.copytree(move.project, template, symlinks=True)

    def make() -> None:
        shutil.rmtree(move.project)
        shutil.copytree(template, move.project, symlinks=True)

    def go_on() -> int:
        """What a person would do next: the same again, where that is still to do."""
        state = (move.project / ".patchctl/rebase.json").exists()
        if args == ("--abort",):
            return command(move.project, "--abort") if state else 0
        if args[0] == "--to":
            if (move.project / "patches/v1.1").exists() and not marked(move.project):
                return 0
            return 0 if state else command(move.project, *args)
        return command(move.project, *again)

    return Subject(
        f"rebase {name}",
        make,
        run=lambda: command(move.project, *args),
        again=go_on,
        look=lambda: look(move.project),
        marked=lambda: marked(move.project),
    )


def test_a_move_without_conflicts(bare: Move, capsys: pytest.CaptureFixture[str]) -> None:
    bare.carry({"fresh": FRESH})
    one = subject(bare, "that ends at once", lambda: None, ("--to", "v1.1"), ())
    _all(one, bare, capsys)


def test_a_start(bare: Move, capsys: pytest.CaptureFixture[str]) -> None:
    bare.carry({"clash": CLASH, "fresh": FRESH})
    one = subject(bare, "with a conflict", lambda: None, ("--to", "v1.1"), ())
    _all(one, bare, capsys)


def test_a_decision_that_is_not_the_last(bare: Move, capsys: pytest.CaptureFixture[str]) -> None:
    bare.carry({"clash": CLASH, "rival": RIVAL})

    def ready() -> None:
        bare.begin()
        bare.conflict("clash").write_bytes(RESOLVED)

    one = subject(bare, "--continue with another open", ready, ("--continue",), ("--continue",))
    _all(one, bare, capsys)


def test_an_abort(bare: Move, capsys: pytest.CaptureFixture[str]) -> None:
    bare.carry({"clash": CLASH})
    one = subject(bare, "--abort", lambda: bool(bare.begin()) and None, ("--abort",), ("--abort",))  # type: ignore[func-returns-value]
    _all(one, bare, capsys)


@pytest.mark.slow
def test_the_last_decision(bare: Move, capsys: pytest.CaptureFixture[str]) -> None:
    bare.carry({"clash": CLASH, "fresh": FRESH})

    def ready() -> None:
        bare.begin()
        bare.conflict("clash").write_bytes(RESOLVED)

    def again() -> int:
        code = command(bare.project, "--continue")
        return 0 if code == 2 else code  # there is nothing to continue where the end was reached

    one = subject(bare, "--continue to the end", ready, ("--continue",), ("--continue",))
    one = Subject(one.name, one.make, one.run, again, one.look, one.marked)
    _all(one, bare, capsys)


def _all(one: Subject, move: Move, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_every_point(one, move.project.parent)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills == tally.points > 3
