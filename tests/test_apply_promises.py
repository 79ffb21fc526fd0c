"""What ``apply`` promises of every kind of place: a checkout, an unpacked tree, an installed distribution."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.series import lock as locking
from tests.projects import LATER, OWN, SERIES, TAG, Bench, environment, git, patchctl

KINDS = ("checkout", "tree", "installed")
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_there_and_back(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=kind == "installed")
    done = bench.run("apply", *place.options)
    assert done.code == 0, done.words
    assert done.document["schema"] == "patchctl.apply/1" and done.document["ok"] and done.document["error"] is None
    assert (done.document["target"], done.document["into"]) == (TAG, str(place.folder))
    assert done.document["source"] == kind and done.document["kind"] == kind
    assert done.outcomes == dict.fromkeys(SERIES, "applied")
    first = done.document["patches"][0]["files"]
    assert [file["path"] for file in first] == ["python/demo/core.py"]
    assert all(len(file["before"]) == len(file["after"]) == 40 for file in first)
    assert place.holds(SERIES)

    status = bench.run("status", *place.options)
    assert status.code == 0 and status.states == dict.fromkeys(SERIES, "live")
    after = place.picture(times=True)
    again = bench.run("apply", *place.options)
    assert again.code == 0 and again.outcomes == dict.fromkeys(SERIES, "already")
    assert place.picture(times=True) == after

    back = bench.run("unapply", *place.options)
    assert back.code == 0 and back.document["removed"] == list(SERIES)[::-1]
    assert place.picture(times=kind == "installed") == before
    assert bench.run("status", *place.options).code == 1
    assert bench.run("status", *place.options, "--allow-missing").code == 0
    nothing = bench.run("unapply", *place.options)
    assert nothing.code == 0 and nothing.document["removed"] == []
    assert bench.run("apply", *place.options).code == 0 and place.holds(SERIES)


@every_kind
def test_people_are_told_what_was_done(bench: Bench, kind: str) -> None:
    place = bench.place(kind)

    def said(*args: str) -> str:
        return patchctl(*args, *place.options, cwd=bench.project, text=True).stdout

    first = said("apply")
    assert all(id in first for id in SERIES) and "Proof" in first and str(place.folder) in first
    assert "Nothing to do" in said("apply")
    assert said("apply", "-q") == "" and said("status", "-q") == ""
    assert "All live" in said("status")
    assert "Pristine again" in said("unapply")
    assert "Nothing to do" in said("unapply")


@every_kind
def test_check_writes_nothing(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    done = bench.run("apply", "--check", *place.options)
    assert done.code == 0 and done.document["check"] and set(done.outcomes.values()) == {"applied"}
    assert place.picture(times=True) == before
    bench.run("apply", *place.options)
    bench.change_series()
    before = place.picture(times=True)
    done = bench.run("apply", "--check", *place.options)
    assert done.code == 0 and done.outcomes["first"] == "updated" and done.outcomes["sizes"] == "removed"
    assert place.picture(times=True) == before
    place_file = place / "python/demo/model.py"
    place_file.write_bytes(b"mine\n")
    assert bench.run("apply", "--check", *place.options).code == 5


@every_kind
def test_after_the_series_changed(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    bench.change_series()
    status = bench.run("status", *place.options)
    assert status.code == 1 and status.states["extra"] == "missing" and status.states["first"] == "modified"
    done = bench.run("apply", *place.options)
    assert done.code == 0, done.words
    assert done.outcomes == {
        "first": "updated",
        "renamed": "already",
        "removed": "already",
        "model": "already",
        "extra": "applied",
        "sizes": "removed",
    }
    assert place.holds(LATER) and not (place / "python/demo/sizes.py").exists()
    assert bench.run("status", *place.options).code == 0
    assert set(bench.run("apply", *place.options).outcomes.values()) == {"already"}
    bench.change_series(bench.lab.now)
    assert bench.run("apply", *place.options).code == 0 and place.holds(SERIES)
    assert bench.run("unapply", *place.options).code == 0 and place.holds({})


@every_kind
def test_somebodys_edit_is_never_overwritten(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    for name in ("python/demo/core.py", "python/demo/sizes.py"):
        with (place / name).open("ab") as file:
            file.write(b"# mine\n")
    before = place.picture(times=True)
    for command in ("apply", "unapply"):
        for change in (bench.lab.now, bench.lab.later):
            bench.change_series(change)
            done = bench.run(command, *place.options)
            assert done.code == 5, done.words
            files = {problem["file"] for problem in done.document["problems"]}
            assert {name.rpartition("/")[2] for name in files} >= {"core.py", "sizes.py"}
            assert place.picture(times=True) == before
    bench.change_series(bench.lab.now)
    status = bench.run("status", *place.options)
    assert status.code == 1
    assert status.states == {
        "first": "modified", "sizes": "modified", "renamed": "live", "removed": "live", "model": "live",
    }  # fmt: skip
    assert status.document["error"]["patch"] == "first" and status.document["error"]["file"] == "python/demo/core.py"


@every_kind
def test_a_foreign_file_names_file_and_patch(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    (place / "python/demo/model.py").write_bytes(b"another release\n")
    (place / "python/demo/gone.py").write_bytes(b"another\n")
    if kind == "checkout":
        git(place.folder, "commit", "-qam", "mine")
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5 and not done.document["ok"]
    named = {(problem["file"], problem["patch"]) for problem in done.document["problems"]}
    assert named == {("python/demo/model.py", "model"), ("python/demo/gone.py", "removed")}
    assert set(done.kinds) == {"unknown-state"} and done.document["error"]["kind"] == "unknown-state"
    assert place.picture(times=True) == before
    assert "python/demo/model.py" in patchctl("apply", *place.options, cwd=bench.project, text=True).stderr


@every_kind
def test_what_stands_in_the_way_of_a_new_file(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    (place / "python/demo/sizes.py").write_bytes(b"a leftover\n")
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5 and any("sizes.py" in str(problem["file"]) for problem in done.document["problems"])
    assert place.picture(times=True) == before
    (place / "python/demo/sizes.py").unlink()
    (place / "python/demo/sizes.py").mkdir()
    (place / "python/demo/sizes.py/inner").write_bytes(b"")
    assert bench.run("apply", *place.options).code == 5
    assert (place / "python/demo/sizes.py/inner").exists()


@every_kind
def test_a_tampered_patch(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    for id in ("first", "model"):
        path = bench.project / f"patches/{TAG}/{id}.patch"
        path.write_bytes(path.read_bytes().replace(b"12", b"13"))
        with path.open("ab") as file:
            file.write(b"\n")
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.kinds == ["tampered", "tampered"]
    assert [problem["patch"] for problem in done.document["problems"]] == ["first", "model"]
    assert all(problem["next"] for problem in done.document["problems"])
    assert place.picture(times=True) == before


@every_kind
def test_a_patch_file_that_is_missing(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    (bench.project / f"patches/{TAG}/model.patch").unlink()
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.document["error"]["patch"] == "model"
    assert place.picture(times=True) == before


@every_kind
def test_no_lock(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    text = (bench.project / "series.yaml").read_text()
    (bench.project / "series.yaml").write_text(text.replace("patches: [first,", "patches: [unlocked, first,"))
    with (bench.project / "series.yaml").open("a") as file:
        file.write("  unlocked: {title: t, why: w, owner: o, upstream: {status: pending}}\n")
    (bench.project / f"patches/{TAG}/unlocked.patch").write_bytes(b"")
    done = bench.run("apply", *place.options)
    assert done.code == 3 and done.kinds == ["no-lock"] and done.document["error"]["patch"] == "unlocked"
    (bench.project / "series.lock").unlink()
    done = bench.run("apply", *place.options)
    assert done.code == 3 and "patchctl lock" in done.document["error"]["next"]
    assert place.picture(times=True) == before


def relock(bench: Bench, id: str, old: bytes, new: bytes) -> None:
    """Change a patch file and its hash in the lock: what somebody would do who edits the lock by hand."""
    path = bench.project / f"patches/{TAG}/{id}.patch"
    before = path.read_bytes()
    after = re.sub(old, new, before)
    assert before != after
    path.write_bytes(after)
    text = (bench.project / "series.lock").read_text()
    sums = [hashlib.sha256(data).hexdigest() for data in (before, after)]
    (bench.project / "series.lock").write_text(text.replace(*sums))


@every_kind
def test_a_patch_that_does_not_fit_its_own_pre_image(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    relock(bench, "model", rb"-SIZES = \[8", b"-SIZES = [7")
    relock(bench, "first", rb" def f1", b" def g1")
    done = bench.run("apply", *place.options)
    assert done.code == 3, done.words
    # sizes builds on first: that it can't be told is no second fault.
    assert [(problem["patch"], problem["file"]) for problem in done.document["problems"]] == [
        ("first", "python/demo/core.py"),
        ("model", "python/demo/model.py"),
    ]
    assert set(done.kinds) == {"inexact"} and done.document["error"]["hunk"] == 1
    assert place.picture(times=True) == before


@every_kind
def test_a_patch_that_fits_and_makes_something_else(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    relock(bench, "model", rb"index \w+\.\.\w+ 100644\n(---.*\n.*\n.*\n.*\n\+SIZES = \[8), 12", rb"\1, 13")
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.kinds == ["integrity"] and done.document["error"]["patch"] == "model"
    assert place.picture(times=True) == before


@every_kind
def test_several_faults_at_once_are_all_listed_and_the_gravest_counts(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    with (bench.project / f"patches/{TAG}/model.patch").open("ab") as file:
        file.write(b"\n")
    (place / "python/demo/gone.py").write_bytes(b"another\n")
    text = (bench.project / "series.yaml").read_text()
    text = text.replace("patches: [first,", "patches: [unlocked, first,")
    text += "  unlocked: {title: t, why: w, owner: o, upstream: {status: pending}}\n"
    (bench.project / "series.yaml").write_text(text)
    (bench.project / f"patches/{TAG}/unlocked.patch").write_bytes(b"")
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5
    assert set(done.kinds) == {"tampered", "unknown-state", "no-lock"}
    assert done.document["error"]["kind"] in ("tampered", "unknown-state")
    assert place.picture(times=True) == before


@every_kind
def test_up_to(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    done = bench.run("apply", "--up-to", "sizes", *place.options)
    assert done.code == 0 and done.outcomes == {"first": "applied", "sizes": "applied"}
    assert place.holds({id: SERIES[id] for id in ("first", "sizes")})
    assert bench.run("status", *place.options).states["model"] == "missing"
    done = bench.run("apply", "--up-to", "first", *place.options)
    assert done.outcomes == {"first": "already", "sizes": "removed"} or done.outcomes["sizes"] == "removed"
    assert place.holds({"first": SERIES["first"]})
    assert bench.run("apply", *place.options).code == 0 and place.holds(SERIES)
    assert bench.run("unapply", *place.options).code == 0 and place.holds({})


@every_kind
def test_only(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    done = bench.run("apply", "--only", "sizes,model", *place.options)
    assert done.code == 3 and "sizes" in done.document["error"]["message"]
    assert "first" in done.document["error"]["message"]  # both are named
    assert place.picture(times=True) == before
    done = bench.run("apply", "--only", "model,renamed", *place.options)
    assert done.code == 0 and done.outcomes == {"renamed": "applied", "model": "applied"}
    assert place.holds({id: SERIES[id] for id in ("renamed", "model")})
    assert bench.run("apply", "--only", "nonsense", *place.options).code == 2
    assert bench.run("apply", "--up-to", "nonsense", *place.options).code == 2


@every_kind
def test_from_a_subfolder_and_with_another_folder_named(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    deep = bench.project / "patches" / TAG
    assert bench.run("apply", *place.options, cwd=deep).code == 0
    assert patchctl("-C", bench.project, "unapply", *place.options, cwd=Path("/")).code == 0
    assert patchctl("apply", *place.options, cwd=bench.root).code == 2


@every_kind
def test_patch_files_that_the_series_does_not_list(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    (bench.project / f"patches/{TAG}/forgotten.patch").write_bytes(b"")
    done = bench.run("apply", *place.options)
    assert done.code == 0 and [warning["kind"] for warning in done.document["warnings"]] == ["unlisted"]
    assert "forgotten.patch" in done.document["warnings"][0]["message"]
    assert "forgotten.patch" in patchctl("apply", *place.options, cwd=bench.project, text=True).stderr


@every_kind
def test_odd_machines(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    env = environment(LANG="de_DE.UTF-8", LC_ALL="de_DE.UTF-8", LANGUAGE="de", HOME=None)
    assert bench.run("apply", *place.options, env=env).code == 0
    assert bench.run("status", *place.options, env={**env, "LC_ALL": "C", "PYTHONUTF8": "0"}).code == 0
    assert bench.run("unapply", *place.options, env=env).code == 0 and place.holds({})


@every_kind
def test_umask(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    command = f"umask 077; exec {sys.executable} -m patchctl apply {' '.join(place.options)}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=bench.project, env={**environment(), "PYTHONPATH": str(OWN)}, check=False
    )
    assert done.returncode == 0
    for name in ("python/demo/core.py", "python/demo/tool.sh", "python/demo/model.py"):
        path = place / name
        if path.exists():
            assert path.stat().st_mode & 0o044 == 0o044, name
    assert bench.run("status", *place.options).code == 0


@every_kind
def test_two_at_once(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    command = [sys.executable, "-m", "patchctl", "--json", "apply", *place.options]
    env = {**environment(), "PYTHONPATH": str(OWN)}
    running = [
        subprocess.Popen(command, cwd=bench.project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    ends = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ends
    outcomes = [{patch["outcome"] for patch in json.loads(out)["patches"]} for out, _ in ends]
    assert sorted(map(sorted, outcomes)) == [["already"], ["already"], ["applied"]]
    assert place.holds(SERIES) and bench.run("status", *place.options).code == 0


@every_kind
@pytest.mark.parametrize("command", ["apply", "unapply"])
def test_a_killed_run(bench: Bench, kind: str, command: str) -> None:
    place = bench.place(kind)
    if command == "unapply":
        bench.run("apply", *place.options)
    before = bench.run("status", *place.options).states
    killed = subprocess.run(
        [sys.executable, "-m", "patchctl", command, *place.options],
        cwd=bench.project,
        env={**environment(), "PYTHONPATH": str(OWN), "PATCHCTL_FAULT": "kill:40"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -9
    for options in ([], ["--allow-missing"]):
        status = bench.run("status", *place.options, *options)
        assert status.code == 1 and status.document["error"]["kind"] == "interrupted"
        assert set(status.states.values()) == {"interrupted"}
    assert bench.run("apply", "--check", *place.options).code == 5
    done = bench.run(command, *place.options)
    assert done.code == 0 and done.document["recovered"]
    assert place.holds(SERIES if command == "apply" else {})
    assert bench.run("status", *place.options).states != before


@every_kind
@pytest.mark.parametrize("fault", ["full", "erofs", "eacces", "term", "int"])
def test_a_run_that_is_stopped_changes_nothing(bench: Bench, kind: str, fault: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=True)
    env = environment(PATCHCTL_FAULT=f"{fault}:{1 if fault == 'erofs' else 20}")
    done = bench.run("apply", *place.options, env=env)
    assert done.code == {"term": 143, "int": 130}.get(fault, 4), done.words
    if fault not in ("term",):
        assert done.document["error"]["message"]
    assert place.picture(times=True) == before
    assert bench.run("status", *place.options, "--allow-missing").code == 0
    assert bench.run("apply", *place.options).code == 0


@every_kind
def test_a_tree_that_leads_through_a_link(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    outside = bench.root / "outside"
    (place / "python/demo").rename(outside)
    (place / "python/demo").symlink_to(outside)
    if kind == "checkout":
        git(place.folder, "add", "-A")
        git(place.folder, "commit", "-qm", "link")
    before = {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()}
    done = bench.run("apply", *place.options)
    assert done.code == 5 and "demo" in done.document["error"]["message"]
    assert {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()} == before


def test_lock_entry_carries_what_the_document_says(bench: Bench) -> None:
    entry = locking.read(bench.project / "series.lock")
    assert entry is not None
    done = bench.run("apply", *bench.place("tree").options)
    assert done.document["lock_digest"] == entry.targets[TAG].digest()
