"""Streams that are full, folders that are gone, empty variables, and state files that somebody broke."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patchctl.errors import Refused
from patchctl.series import lock, receipt
from tests.projects import OWN, Bench, environment, patchctl

JUNK = (None, 0, -1, 10**30, True, "", "x", "\ud800", [], {}, "../../x", "/x", ".git/hooks/x", [None], {"": ""})


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    command = f"{sys.executable} -m patchctl"
    env = {**environment(), "PYTHONPATH": str(OWN)}
    done = subprocess.run(
        ["bash", "-c", script.replace("PATCHCTL", command)], cwd=cwd, env=env, capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("command", ["list", "--json list", "schema", "--help"])
def test_output_that_can_not_be_written_is_no_success(bench: Bench, command: str) -> None:
    assert shell(f"PATCHCTL {command} > /dev/full", bench.project).returncode == 4


def test_errors_that_can_not_be_written_keep_their_code(bench: Bench) -> None:
    assert shell("PATCHCTL nosuch 2> /dev/full", bench.project).returncode == 2
    assert shell("PATCHCTL status --into /nowhere 2> /dev/full", bench.project).returncode == 4


def test_a_current_folder_that_is_gone(bench: Bench) -> None:
    gone = "mkdir gone && cd gone && rmdir ../gone &&"
    done = shell(f"{gone} PATCHCTL --json list", bench.project)
    assert done.returncode == 4 and json.loads(done.stdout)["error"]["kind"] == "no-folder"
    assert shell(f"{gone} PATCHCTL -C {bench.project} list", bench.project).returncode == 0


@pytest.mark.parametrize(
    "args",
    [
        ("status", "--into", ""),
        ("status", "--into="),
        ("apply", "--into", " "),
        ("apply", "--source", ""),
        ("status", "--python", sys.executable),
        ("status", "--allow-missing"),
    ],
)
def test_a_gate_is_not_passed_by_a_variable_that_is_not_set(bench: Bench, args: tuple[str, ...]) -> None:
    done = patchctl(*args, cwd=bench.project)
    assert done.code == 2 and done.kinds == ["usage"]
    assert not (bench.project / "build").exists()


def test_a_lock_that_is_a_pipe(bench: Bench) -> None:
    (bench.project / "series.lock").unlink()
    os.mkfifo(bench.project / "series.lock")
    assert bench.run("list").code == 5


def _broken(good: Any, dice: random.Random) -> bytes:
    """The document ``good`` with one value in it replaced by something else."""
    document = json.loads(json.dumps(good))
    here: Any = document
    while True:
        key = dice.choice(list(here) if isinstance(here, dict) else range(len(here)))
        if not isinstance(here[key], dict | list) or not here[key] or dice.random() < 0.1:
            here[key] = dice.choice(JUNK)
            return json.dumps(document).encode()
        here = here[key]


def test_a_broken_receipt_or_lock_is_a_fault_of_its_own_kind(bench: Bench) -> None:
    place = bench.place("tree")
    assert bench.run("apply", *place.options).code == 0
    good = json.loads((place.folder / ".patchctl/receipt.json").read_bytes())
    locked = json.loads((bench.project / "series.lock").read_bytes())
    dice = random.Random(7)
    refused = 0
    for _ in range(500):
        try:
            receipt.load(_broken(good, dice))
        except ValueError:
            refused += 1
        try:
            lock.loads(_broken(locked, dice))
        except Refused:
            refused += 1
    assert refused > 100
    for deep in (b"[" * 200_000, b'{"a":' * 100_000):
        with pytest.raises(ValueError, match="deep"):
            receipt.load(deep)
