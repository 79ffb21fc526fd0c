"""What a start costs: the modules that a command imports, since nearly all of its time goes there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.projects import OWN, Bench, environment

HEAVY = {"yaml", "ruamel", "msgspec", "rich", "packaging", "requests", "pypi_simple", "pydantic", "unidiff", "filelock"}
MAIN = (
    "import sys; from patchctl.cli.main import run\ntry: run(sys.argv[1:])\nexcept SystemExit as end: code = end.code\n"
)
TELL = "import os; print(code or 0, *sorted(m for m in sys.modules if m), file=sys.stderr)"


def imported(*args: str, cwd: Path, python: str = sys.executable) -> set[str]:
    libraries = sysconfig.get_path("purelib")  # an environment of a test's own has none
    done = subprocess.run(
        [python, "-c", MAIN + TELL, *args],
        cwd=cwd,
        env={**environment(), "PYTHONPATH": f"{OWN}{os.pathsep}{libraries}"},
        capture_output=True,
        text=True,
        check=True,
    )
    code, *modules = done.stderr.split()
    assert code == "0", done.stderr
    return set(modules)


def test_version_and_help_import_no_library_but_click(tmp_path: Path) -> None:
    for args in (["--version"], ["--help"]):
        assert not HEAVY & imported(*args, cwd=tmp_path)


@pytest.mark.parametrize("kind", ["tree", "installed"])
def test_the_gate_needs_the_standard_library_alone(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    found = imported("status", "-q", *place.options, cwd=Path("/"))
    assert not HEAVY & found
    # It compares hashes: neither are patches read, nor does git run, nor is anything written.
    unneeded = {"engine.reader", "engine.strict", "engine.model", "git", "series.project", "workflows.apply"}
    assert not {f"patchctl.{name}" for name in unneeded} & found


def test_the_gate_in_a_project_reads_series_and_lock_only(bench: Bench) -> None:
    place = bench.place("installed")
    bench.run("apply", *place.options)
    found = imported("status", "-q", *place.options, cwd=bench.project)
    assert not (HEAVY - {"yaml", "msgspec", "packaging"}) & found
    assert not {"patchctl.engine.reader", "patchctl.engine.strict", "patchctl.git"} & found


def test_an_entrypoint_in_a_project_reads_the_lock_only(bench: Bench) -> None:
    """As it stands in a container: patchctl is installed beside the engine."""
    place = bench.place("installed")
    bench.run("apply", *place.options)
    found = imported("status", "-q", "--installed", cwd=bench.project, python=place.options[-1])
    assert not HEAVY & found and "patchctl.series.lock" in found
