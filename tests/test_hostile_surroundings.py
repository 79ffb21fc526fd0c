"""Streams that are full, folders that are gone, signals, places and state files that are not what they seem."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from patchctl.errors import Refused
from patchctl.series import lock, receipt
from tests.projects import OWN, SERIES, Bench, environment, patchctl
from tests.target.checkouts import git

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


def test_a_locale_in_which_files_would_have_other_names(bench: Bench) -> None:
    bench.carry({"odd": {"python/demo/näme.py": b"X = 1\n"}})
    env = {**environment(), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    place = bench.place("checkout")
    odd = bench.run("apply", *place.options, env=env)
    assert odd.code == 0 and (place / "python/demo/näme.py").read_bytes() == b"X = 1\n"
    bench.run("unapply", *place.options)
    again = bench.run("apply", *place.options)
    assert again.document["patches"] == odd.document["patches"]


# A place that is not what it seems


@pytest.mark.parametrize("how", ["path entry", "zip", "compiled", "package"])
def test_what_python_passes_by_is_not_live(bench: Bench, how: str) -> None:
    place = bench.place("installed")
    assert bench.run("apply", *place.options).code == 0
    assert bench.run("status", *place.options).code == 0
    if how == "path entry":
        (bench.root / "first/demo").mkdir(parents=True)
        (bench.root / "first/demo/__init__.py").write_text("")
        (place.folder / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(bench.root / 'first')!r})\n")
    elif how == "zip":
        with zipfile.ZipFile(bench.root / "demo.egg", "w") as egg:
            egg.writestr("demo/__init__.py", "")
        (place.folder / "egg.pth").write_text(f"import sys; sys.path.insert(0, {str(bench.root / 'demo.egg')!r})\n")
    elif how == "compiled":
        (place.folder / "demo/core.abi3.so").write_bytes(b"")
    else:
        (place.folder / "demo/core").mkdir()
        (place.folder / "demo/core/__init__.py").write_text("")
    done = bench.run("status", *place.options)
    assert done.code == 1 and set(done.kinds) == {"hidden"}
    assert "python/demo/core.py" in {problem["file"] for problem in done.document["problems"]}
    again = bench.run("apply", *place.options)
    assert again.code == 0 and "hidden" in {warning["kind"] for warning in again.document["warnings"]}


@pytest.mark.parametrize("answer", ["5", "[", "[" * 20_000, '{"a": 1}', '["rel", "a\\\\u0000b", 7]'])
def test_an_interpreter_that_lies(bench: Bench, answer: str) -> None:
    liar = bench.root / "liar"
    liar.write_text(f"#!/bin/sh\necho 'patchctl {answer}'\n")
    liar.chmod(0o755)
    done = bench.run("status", "--installed", "--python", liar)
    assert done.code == 4 and done.kinds[0] in ("no-python", "not-installed")


def test_a_commit_that_stands_for_another(bench: Bench) -> None:
    """With refs/replace/, git would find a worktree clean that does not hold what its commit's id says."""
    place = bench.place("checkout")
    base = git(place.folder, "rev-parse", "HEAD").strip()
    git(place.folder, "checkout", "-q", "-b", "other")
    (place / "README.md").write_text("something else\n")
    git(place.folder, "commit", "-q", "-a", "-m", "other")
    git(place.folder, "replace", base, "HEAD")
    git(place.folder, "checkout", "-q", "work")
    before = place.picture()
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.kinds == ["dirty"]
    assert place.picture() == before


def test_a_pipe_in_the_place_of_git_s_folder(bench: Bench) -> None:
    os.mkfifo(bench.tree() / ".git")
    done = bench.run("apply", "--into", bench.root / "tree")
    assert done.code == 5 and done.kinds == ["not-a-checkout"]


def test_an_order_that_nobody_locked(bench: Bench) -> None:
    place = bench.place("tree")
    assert bench.run("apply", *place.options).code == 0
    text = (bench.project / "series.yaml").read_text()
    (bench.project / "series.yaml").write_text(text.replace("removed, model", "model, removed"))
    before = place.picture()
    done = bench.run("status", *place.options)
    assert done.code == 1 and done.kinds == ["stale-lock"]
    done = bench.run("apply", *place.options)
    assert done.code == 3 and done.kinds == ["stale-lock"]
    assert place.picture() == before


def test_a_folder_that_is_not_there_means_no_project_above_it(bench: Bench) -> None:
    done = bench.run("-C", "nosuch", "list")
    assert done.code == 4 and done.kinds == ["no-folder"]


def test_a_name_can_not_fake_a_line(bench: Bench) -> None:
    tree = bench.tree()
    odd = tree.rename(bench.root / "x\nNothing to do: every patch is live\n")
    done = patchctl("apply", "--into", f"{odd}y", cwd=bench.project, text=True)
    assert done.code == 4
    assert not [line for line in done.words.splitlines() if line.startswith("Nothing to do")]


# Signals


def test_a_signal_before_anything_is_written_leaves_all_as_it_was(bench: Bench) -> None:
    """Asking another interpreter takes its time; nobody may be told then that what was written was not."""
    bench.carry(SERIES, {"first": '    requires: {nosuch: ">=1"}\n'})
    place = bench.place("installed")
    asked = bench.root / "asked"
    exe = bench.root / "exe"
    exe.write_text(f'#!/bin/sh\necho >> {asked}\nkill -INT $PPID\nexec {place.options[2]} "$@"\n')
    exe.chmod(0o755)
    before = place.picture()
    done = bench.run("apply", "--installed", "--python", exe)
    assert asked.exists() and done.code == 130
    assert place.picture() == before


def _while_git(bench: Bench, command: str, signals: str) -> tuple[int, Any]:
    """Run apply in a process group of its own that is sent SIGINT, as a terminal does, when git does ``command``."""
    fake = bench.root / "bin"
    fake.mkdir()
    real = shutil.which("git")
    (fake / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" {command} "*) {signals};; esac\nexec {real} "$@"\n',
    )
    (fake / "git").chmod(0o755)
    env = {**environment(), "PYTHONPATH": str(OWN), "PATH": f"{fake}:{os.environ['PATH']}"}
    args = [sys.executable, "-m", "patchctl", "--json", "apply", "--into", str(bench.root / "checkout")]
    done = subprocess.run(args, cwd=bench.project, env=env, capture_output=True, check=False, start_new_session=True)
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("command", ["status", "update-index", "update-ref"])
def test_a_signal_from_the_terminal_is_answered_by_us_alone(bench: Bench, command: str) -> None:
    """It goes to the whole group. A git that it kills first would pass for the reason (4)."""
    place = bench.place("checkout")
    before, head = place.picture(), git(place.folder, "rev-parse", "HEAD")
    code, document = _while_git(bench, command, "kill -s INT -- -$PPID; sleep 0.2")
    assert code in (130, -signal.SIGINT) and document["error"]["kind"] == "interrupted"
    assert place.picture() == before and git(place.folder, "rev-parse", "HEAD") == head
    assert not (place.folder / ".git/index.lock").exists()


def test_a_signal_once_it_is_done_changes_no_answer(bench: Bench) -> None:
    place = bench.place("tree")
    script = (
        "import os, signal, sys\n"
        "from patchctl.cli import apply\n"
        "from patchctl.cli.main import run\n"
        "told = apply._document\n"
        "def late(report):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return told(report)\n"
        "apply._document = late\n"
        "run(sys.argv[1:])\n"
    )
    args = [sys.executable, "-c", script, "--json", "apply", *place.options]
    env = {**environment(), "PYTHONPATH": str(OWN)}
    done = subprocess.run(args, cwd=bench.project, env=env, capture_output=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["ok"]
    assert place.holds(SERIES)
