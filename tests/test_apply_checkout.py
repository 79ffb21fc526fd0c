"""``apply`` to git checkouts: commits, branches, dirt, and the fresh one in build/."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.projects import OWN, SERIES, TAG, Bench, Installation, environment, git, patchctl


@pytest.fixture
def place(bench: Bench) -> Installation:
    return bench.place("checkout")


def commits(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%H", f"-{len(SERIES)}").split()


def test_one_commit_per_patch_as_git_am_makes_it(bench: Bench, place: Installation) -> None:
    assert bench.run("apply", *place.options).code == 0
    assert git(place.folder, "status", "--porcelain", "--untracked-files=all") == ""
    assert git(place.folder, "symbolic-ref", "HEAD").strip() == "refs/heads/work"
    other = bench.lab.upstream.clone(bench.root / "other")
    git(other, "am", "-q", "--keep-non-patch", *(str(bench.project / f"patches/{TAG}/{id}.patch") for id in SERIES))
    what = "--format=%an%n%ae%n%ad%n%T%n%B"
    assert git(place.folder, "log", what, "-5") == git(other, "log", what, "-5")
    # Committer fixed, committer date = author date.
    for line in git(place.folder, "log", "--format=%at %ct %ce", "-5").splitlines():
        author, committer, address = line.split()
        assert author == committer and address.startswith("patchctl@")


def test_quilt_makes_the_same(bench: Bench, place: Installation) -> None:
    if shutil.which("quilt") is None:
        pytest.skip("quilt is not installed")
    tree = bench.tree()
    shutil.copytree(bench.project / "patches" / TAG, tree / "patches")
    # quilt can't do binary patches.
    ids = [id for id in SERIES if id != "model"]
    (tree / "patches/series").write_text("".join(f"{id}.patch\n" for id in ids))
    subprocess.run(["quilt", "push", "-a"], cwd=tree, check=True, capture_output=True, env=environment())
    assert bench.run("apply", "--up-to", ids[-1], *place.options).code == 0
    for name in {name for id in ids for name in SERIES[id]}:
        ours, theirs = place.folder / name, tree / name
        assert ours.exists() == theirs.exists(), name
        assert not ours.exists() or ours.read_bytes() == theirs.read_bytes()


def test_the_same_commits_everywhere(bench: Bench, place: Installation, tmp_path: Path) -> None:
    bench.run("apply", *place.options)
    first = commits(place.folder)
    other = bench.lab.upstream.clone(tmp_path / "elsewhere")
    git(other, "checkout", "-q", "--detach")
    later = environment(TZ="Asia/Tokyo", GIT_AUTHOR_NAME="Somebody", GIT_COMMITTER_DATE="1 January 2030")
    done = bench.run("apply", "--into", other, env=later)
    assert done.code == 0 and commits(other) == first
    assert [patch["commit"] for patch in done.document["patches"]] == first[::-1]
    built = bench.run("apply", env=bench.online)
    assert built.code == 0, built.words
    assert commits(Path(built.document["into"])) == first


def test_the_fresh_checkout_in_build(bench: Bench) -> None:
    done = bench.run("apply", "--check", env=bench.online)
    assert done.code == 0 and not (bench.project / "build").exists()
    done = bench.run("apply", env=bench.online)
    folder = bench.project / "build" / f"demo-{TAG}"
    assert done.code == 0 and done.document["into"] == str(folder) and done.document["source"] == "git"
    built = Installation("checkout", folder, ())
    assert built.holds(SERIES)
    # A second run needs neither cache nor network.
    again = bench.run("apply")
    assert again.code == 0 and set(again.outcomes.values()) == {"already"} and again.document["source"] == "git"
    assert bench.run("status", "--into", folder).code == 0
    assert bench.run("unapply").code == 0 and built.holds({})
    assert git(folder, "rev-list", "--count", "HEAD").strip() == "1"
    assert bench.run("apply").code == 0 and built.holds(SERIES)


def test_a_persons_commit_and_edit_in_build(bench: Bench) -> None:
    folder = Path(bench.run("apply", env=bench.online).document["into"])
    (folder / "README.md").write_bytes(b"mine\n")
    for command in ("apply", "unapply"):
        done = bench.run(command)
        assert done.code == 5 and done.kinds == ["dirty"]
    assert (folder / "README.md").read_bytes() == b"mine\n"
    git(folder, "commit", "-qam", "my own")
    head = git(folder, "rev-parse", "HEAD")
    done = bench.run("unapply")
    assert done.code == 5 and "my own" in done.document["error"]["message"]
    assert git(folder, "rev-parse", "HEAD") == head and (folder / "README.md").read_bytes() == b"mine\n"


@pytest.mark.parametrize("way", ["unstaged", "staged", "deleted", "mode"])
def test_dirt(bench: Bench, place: Installation, way: str) -> None:
    readme = place.folder / "README.md"
    if way == "deleted":
        readme.unlink()
    elif way == "mode":
        readme.chmod(0o755)
    else:
        readme.write_bytes(b"mine\n")
    if way == "staged":
        git(place.folder, "add", "-A")
    before, head = place.picture(times=True), git(place.folder, "rev-parse", "HEAD")
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.kinds == ["dirty"] and done.document["error"]["file"] == "README.md"
    assert (place.picture(times=True), git(place.folder, "rev-parse", "HEAD")) == (before, head)


def test_untracked_files_matter_only_where_the_series_writes(bench: Bench, place: Installation) -> None:
    (place.folder / "notes.txt").write_bytes(b"mine\n")
    assert bench.run("apply", *place.options).code == 0
    assert (place.folder / "notes.txt").read_bytes() == b"mine\n"


def test_no_commit(bench: Bench, place: Installation) -> None:
    head = git(place.folder, "rev-parse", "HEAD")
    done = bench.run("apply", "--no-commit", *place.options)
    assert done.code == 0 and place.holds(SERIES) and git(place.folder, "rev-parse", "HEAD") == head
    assert set(bench.run("apply", "--no-commit", *place.options).outcomes.values()) == {"already"}
    assert bench.run("status", *place.options).code == 0
    assert bench.run("apply", *place.options).code == 0  # commits follow
    assert len(git(place.folder, "rev-list", f"{head.strip()}..HEAD").split()) == len(SERIES)
    assert bench.run("unapply", *place.options).code == 0 and git(place.folder, "rev-parse", "HEAD") == head


def test_a_series_that_git_am_put_there(bench: Bench, place: Installation) -> None:
    git(place.folder, "am", "-q", str(bench.project / f"patches/{TAG}/first.patch"))
    before = git(place.folder, "rev-parse", "HEAD")
    done = bench.run("apply", *place.options)
    assert done.code == 5 and "foreign" in done.document["error"]["kind"]
    assert bench.run("unapply", *place.options).code == 5
    assert git(place.folder, "rev-parse", "HEAD") == before
    assert bench.run("status", *place.options).states["first"] == "live"


def test_without_git(bench: Bench, place: Installation, tmp_path: Path) -> None:
    env = {**bench.online, "PATH": str(tmp_path / "empty")}
    for args in (place.options, ()):
        done = bench.run("apply", *args, env=env)
        assert done.code == 4 and "git" in done.document["error"]["message"].lower()
        assert done.document["error"]["next"]


def test_without_a_network(bench: Bench) -> None:
    series = (bench.project / "series.yaml").read_text()
    away = series.replace(str(bench.lab.upstream.root), "http://127.0.0.1:9/demo.git")
    (bench.project / "series.yaml").write_text(away)
    done = bench.run("apply", env=environment(PATCHCTL_CACHE=str(bench.root / "cache")))
    assert done.code == 4, done.words
    said = " ".join(problem["message"] + str(problem["next"]) for problem in done.document["problems"])
    assert "127.0.0.1" in said and not (bench.project / "build").exists()


def test_a_tampered_patch_is_seen_before_anything_is_fetched(bench: Bench) -> None:
    with (bench.project / f"patches/{TAG}/first.patch").open("ab") as file:
        file.write(b"\n")
    done = bench.run("apply")  # there is no cache, and no network either
    assert done.code == 5 and done.kinds == ["tampered"] and not (bench.project / "build").exists()


def test_an_unknown_place_and_target(bench: Bench) -> None:
    assert bench.run("apply", "--into", bench.root / "nowhere").code in (2, 4)
    done = bench.run("apply", "--target", "v9.9")
    assert done.code == 2 and TAG in done.document["error"]["message"]
    assert bench.run("apply", "--into", bench.root, "--installed").code == 2
    assert bench.run("apply", "--python", sys.executable).code == 2


def test_source_from_a_folder(bench: Bench) -> None:
    tree = bench.tree()
    done = bench.run("apply", "--source", tree, env=environment(PATCHCTL_CACHE=str(bench.root / "cache")))
    # The pin is a commit's: a plain folder can't be proved by it, its files can.
    assert done.code in (0, 5), done.words
    if done.code == 0:
        assert Installation("checkout", Path(done.document["into"]), ()).holds(SERIES)


def test_hooks_and_configuration_of_the_user_play_no_part(bench: Bench, place: Installation) -> None:
    hook = place.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {bench.root}/ran\nexit 1\n")
    hook.chmod(0o755)
    for name in ("post-commit", "post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(hook, hook.with_name(name))
    git(place.folder, "config", "core.autocrlf", "true")
    git(place.folder, "config", "apply.whitespace", "fix")
    git(place.folder, "config", "commit.gpgsign", "true")
    done = bench.run("apply", *place.options)
    assert done.code == 0, done.words
    assert place.holds(SERIES) and not (bench.root / "ran").exists()


def test_json_is_the_only_thing_on_stdout(bench: Bench, place: Installation) -> None:
    for args in (("--json", "apply"), ("apply", "--json")):
        done = patchctl(*args, *place.options, cwd=bench.project, text=True)
        assert done.code == 0 and json.loads(done.stdout)["ok"]


def test_nothing_is_asked_on_stdin(bench: Bench, place: Installation) -> None:
    (place / "python/demo/core.py").unlink()
    git(place.folder, "commit", "-qam", "gone")
    read, write = os.pipe()  # a terminal that never answers
    process = subprocess.Popen(
        [sys.executable, "-m", "patchctl", "apply", *place.options],
        cwd=bench.project,
        env={**environment(), "PYTHONPATH": str(OWN)},
        stdin=read,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert process.wait(60) == 5
    os.close(read)
    os.close(write)
