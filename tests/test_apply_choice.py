"""What ``apply`` makes of a choice that contradicts itself, and of a build/ that a person has worked in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import SERIES, Bench, environment, git


def build(bench: Bench) -> Path:
    return bench.project / "build" / "demo-v1.0"


@pytest.mark.parametrize("only", ["", " , "])
def test_an_empty_choice_takes_nothing_out(bench: Bench, only: str) -> None:
    place = bench.place("tree")
    assert bench.run("apply", *place.options).code == 0
    run = bench.run("apply", "--only", only, *place.options)
    assert run.code == 2 and "--only" in run.words
    assert place.holds(SERIES)


def test_a_choice_that_leaves_nothing_is_wrong_usage(bench: Bench) -> None:
    place = bench.place("tree")
    assert bench.run("apply", *place.options).code == 0
    run = bench.run("apply", "--only", "model", "--up-to", "first", *place.options)
    assert run.code == 2 and "model" in run.words and "first" in run.words
    assert place.holds(SERIES)


def test_a_persons_commit_in_build_is_not_built_upon(bench: Bench) -> None:
    assert bench.run("apply", env=bench.online).code == 0
    assert bench.run("unapply", env=bench.online).code == 0
    git(build(bench), "commit", "-q", "--allow-empty", "-m", "my work")
    mine = git(build(bench), "rev-parse", "HEAD")
    run = bench.run("apply", "--json", env=bench.online)
    assert run.code == 5 and run.kinds == ["foreign-commits"]
    assert git(build(bench), "rev-parse", "HEAD") == mine


def test_the_source_of_build_is_remembered(bench: Bench) -> None:
    first = bench.run("apply", "--json", env=bench.online).document["source"]
    bench.run("unapply", env=bench.online)
    assert bench.run("apply", "--json", env=bench.online).document["source"] == first == "git"
    run = bench.run("apply", "--json", "--source", "pypi", env=bench.online)
    assert run.code == 5 and run.kinds == ["other-source"]


def test_a_folder_in_build_that_patchctl_did_not_make(bench: Bench) -> None:
    bench.lab.upstream.clone(build(bench))
    run = bench.run("apply", "--json", env=bench.online)
    assert run.code == 5 and run.kinds == ["not-ours"]


def test_the_next_step_names_the_same_place_and_project(bench: Bench) -> None:
    place = bench.place("tree")
    run = bench.run("-C", bench.project, "status", "--json", *place.options, cwd=bench.root)
    step = run.document["error"]["next"]
    assert step == f"patchctl -C {bench.project} apply --into {place.folder}"


def test_a_wrong_usage_is_told_of_the_command_it_was_for(bench: Bench) -> None:
    document = bench.run("--json", "port", "--onto").document
    assert document["schema"] == "patchctl.port/1" and document["error"]["next"] == "patchctl port --help"


def test_nothing_there_is_said_once(bench: Bench) -> None:
    run = bench.run("status", "--json", *bench.place("tree").options)
    assert run.code == 1 and run.kinds == ["missing"]
    assert set(run.states.values()) == {"missing"}


def test_commits_that_were_begun_and_given_up_leave_nothing(bench: Bench) -> None:
    place = bench.place("checkout")
    (place / "README.md").write_bytes(b"mine\n")
    before = git(place.folder, "for-each-ref"), git(place.folder, "rev-parse", "HEAD")
    assert bench.run("apply", *place.options).code == 5
    assert (git(place.folder, "for-each-ref"), git(place.folder, "rev-parse", "HEAD")) == before
    assert not list((place.folder / ".git").glob("fast_import_crash_*"))
    assert not list((place.folder / ".git").rglob("tmp_*"))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_without_standard_streams_the_work_is_done_all_the_same(bench: Bench, closed: str) -> None:
    place = bench.place("tree")
    command = [sys.executable, "-m", "patchctl", "--json", "apply", *place.options]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], cwd=bench.project, env=environment(), check=False
    )
    assert done.returncode == 0
    assert place.holds(SERIES)
