"""``patchctl rebase`` as a user meets it: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.moving import (
    CLASH,
    CORE,
    FRESH,
    NEXT,
    RIVAL,
    SMOOTH,
    STILL,
    TAKEN,
    Move,
)
from tests.target.checkouts import git

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")


# -- a series that moves by itself


def test_a_series_without_a_conflict_moves_at_once(bare: Move) -> None:
    bare.carry(SMOOTH)
    before = bare.picture()
    said = bare.begin()
    assert said.code == 0 and said.document["ok"] and said.document["done"]
    assert said.outcomes["still"] == "unchanged" and said.outcomes["fresh"] == "unchanged"
    assert said.outcomes["shifted"] in ("offset", "merged")
    assert said.needed == []
    assert bare.patch("still") == bare.patch("still", "v1.0"), "an unchanged patch keeps its bytes"
    assert bare.applied("v1.1", "demo/other.py") == (NEXT["demo/other.py"] or b"").replace(
        b"return 5\n", b"return 55\n"
    )
    assert bare.applied("v1.0", "demo/quiet.py") == STILL["demo/quiet.py"]
    after = bare.picture()
    old = {name: seen for name, seen in after.items() if name in before and not name.startswith("build")}
    same = {name for name in before if before[name] == old.get(name)}
    assert set(before) - same == {"series.yaml", "series.lock"}, "the old target stands as it did"
    assert not (bare.project / ".patchctl").exists()


def test_the_document(bare: Move) -> None:
    bare.carry(SMOOTH)
    said = bare.begin()
    found = said.document
    assert found["schema"] == "patchctl.rebase/1" and (found["from"], found["to"]) == ("v1.0", "v1.1")
    assert found["error"] is None
    shifted = said.patch("shifted")
    assert set(shifted) >= {"id", "outcome", "files", "review", "evidence", "existing"}
    (file,) = shifted["files"]
    assert (file["path"], file["onto"]) == ("demo/other.py", "demo/other.py")
    (hunk,) = file["hunks"]
    assert set(hunk) == {"old_start", "new_start", "method", "score", "scope"}
    assert hunk["new_start"] == hunk["old_start"] + 1
    assert {"patches/v1.1/still.patch", "series.yaml", "series.lock"} <= set(found["written"])
    assert any(name.startswith("build/reports/v1.0..v1.1/report.") for name in found["written"])


def test_the_new_target_its_pin_its_lock_and_the_comments(bare: Move) -> None:
    bare.carry(SMOOTH)
    assert bare.begin().code == 0
    text = (bare.project / "series.yaml").read_text()
    assert text.startswith("# A comment that stays.\n")
    target = bare.series["targets"]["v1.1"]
    assert target["pin"] == {"commit": bare.world.commits["v1.1"]}
    assert target["patches"] == ["still", "shifted", "fresh"]
    assert bare.series["default"] == "v1.0", "which target is the default is a person's choice"
    entry = bare.lock["v1.1"]
    assert {patch["id"]: patch["provenance"]["from"] for patch in entry["patches"]} == dict.fromkeys(SMOOTH, "v1.0")
    assert bare.run("lock", "--check", "v1.1").code == 0
    written = (bare.project / "series.lock").read_bytes()
    assert bare.run("lock", "v1.1").code == 0
    assert (bare.project / "series.lock").read_bytes() == written, "lock finds the same, and keeps where it came from"
    patch = bare.project / "patches/v1.1/still.patch"
    patch.write_bytes(patch.read_bytes().replace(b"What it is for.", b"What it is good for."))
    assert bare.run("lock", "v1.1").code == 0
    known = {entry["id"]: entry.get("provenance") for entry in bare.lock["v1.1"]["patches"]}
    assert known["still"] is None and known["shifted"], "an edited patch is not the one that was moved"


def test_a_second_move_goes_on_from_the_first(bare: Move) -> None:
    bare.carry(SMOOTH)
    assert bare.begin().code == 0
    said = bare.rebase("--from", "v1.1", "--to", "1.2", "--drop", "still")
    assert said.code == 2, "two commands at once"
    said = bare.rebase("--from", "v1.1", "--to", "1.2")
    assert said.document["to"] == "v1.2", "a version stands for its tag"
    assert said.outcomes["still"] == "conflict" or said.code == 0
    if said.code:
        assert bare.rebase("--drop", "still", "--reason", "upstream went on").code == 0
    assert bare.applied("v1.2", "demo/fresh.py") == FRESH["demo/fresh.py"]


def test_an_empty_series_moves(bare: Move) -> None:
    bare.carry({})
    said = bare.begin()
    assert said.code == 0 and said.document["patches"] == []
    assert bare.series["targets"]["v1.1"]["patches"] == []


def test_latest_is_the_newest_release_and_no_candidate(bare: Move) -> None:
    bare.carry({"fresh": FRESH})
    said = bare.rebase("--to", "latest")
    assert said.code == 0 and said.document["to"] == "v1.2"
    text = (bare.project / "series.yaml").read_text().replace("default: v1.0", "default: v1.2")
    (bare.project / "series.yaml").write_text(text)
    said = bare.rebase("--to", "latest")
    assert said.code == 0 and said.document["written"] == [] and "newest" in said.document["notes"][0]


def test_upstreamed_is_dropped_with_evidence(bare: Move) -> None:
    bare.carry({"taken": TAKEN, "fresh": FRESH})
    said = bare.begin()
    assert said.code == 0 and said.outcomes == {"taken": "upstreamed", "fresh": "unchanged"}
    entry = bare.series["targets"]["v1.1"]["dropped"]["taken"]
    assert (entry["reason"], entry["by"], entry["from"]) == ("upstreamed", "rebase", "v1.0") and entry["evidence"]
    assert bare.series["targets"]["v1.1"]["patches"] == ["fresh"]
    assert bare.series["targets"]["v1.0"]["patches"] == ["taken", "fresh"]
    assert not (bare.project / "patches/v1.1/taken.patch").exists()
    assert bare.applied("v1.1", "demo/fresh.py") == FRESH["demo/fresh.py"]


# -- conflicts


def test_every_patch_is_tried_and_nothing_is_written(move: Move) -> None:
    before = move.picture()
    said = move.begin()
    assert said.code == 3 and not said.document["done"]
    assert said.outcomes == {
        "still": "unchanged",
        "shifted": said.outcomes["shifted"],
        "clash": "conflict",
        "later": "waiting",
        "fresh": "unchanged",
    }
    assert said.needed == ["clash"]
    assert said.document["written"] == [] and move.picture() == before
    error = said.document["error"]
    assert (error["patch"], error["file"], error["hunk"]) == ("clash", "demo/core.py", 1)
    assert all(problem["next"] for problem in said.document["problems"])


def test_the_markers_name_both_releases_and_the_patch(move: Move) -> None:
    move.begin()
    text = move.conflict("clash").read_bytes()
    assert (
        b"<<<<<<< v1.1\n    return 33\n||||||| v1.0\n    return 3\n=======\n    return 300\n"
        b">>>>>>> clash: The patch clash\n" in text
    )


def test_a_conflict_is_resolved_in_an_editor(move: Move) -> None:
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    said = move.rebase("--continue")
    assert said.code == 0, said.document
    assert said.outcomes["clash"] == "resolved" and said.outcomes["later"] in ("merged", "offset")
    assert not (move.project / ".patchctl").exists()
    assert move.applied("v1.1", "demo/core.py") == RESOLVED.replace(b"return 10\n", b"return 1000\n")
    outcomes = {patch["id"]: patch["provenance"]["outcome"] for patch in move.lock["v1.1"]["patches"]}
    assert outcomes["clash"] == "resolved"


def test_a_conflict_is_resolved_with_plain_git(move: Move) -> None:
    move.begin()
    folder = move.project / ".patchctl/conflicts/clash"
    assert git(folder, "status", "--porcelain") == "UU demo/core.py\n"
    assert git(folder, "show", ":1:demo/core.py").encode() == CORE
    assert git(folder, "show", ":3:demo/core.py").encode() == CLASH["demo/core.py"]
    git(folder, "checkout", "--theirs", "demo/core.py")
    assert move.conflict("clash").read_bytes() == CLASH["demo/core.py"]
    git(folder, "checkout", "--merge", "demo/core.py")
    assert b"<<<<<<<" in move.conflict("clash").read_bytes()
    assert "markers" in move.rebase("--continue").kinds
    git(folder, "checkout", "--theirs", "demo/core.py")
    git(folder, "add", "demo/core.py")
    assert git(folder, "status", "--porcelain") == "M  demo/core.py\n"
    said = move.rebase("--continue")
    assert said.outcomes["clash"] == "resolved"
    (review,) = [note for note in said.patch("clash")["review"] if note["kind"] == "reverted"]
    assert "2 changes of v1.1" in review["text"], "the file as a whole was taken, upstream's other changes undone"


def test_markers_that_are_left_are_no_resolution(move: Move) -> None:
    move.begin()
    path = move.conflict("clash")
    for left in (b"<<<<<<< v1.1\n", b"||||||| v1.0\n", b">>>>>>> clash: The patch clash\n", b"<<<<<<< HEAD\n"):
        path.write_bytes(left + RESOLVED)
        said = move.rebase("--continue")
        assert said.code == 3 and said.kinds[0] == "markers", left
        assert str(path.relative_to(move.project)) in said.document["error"]["file"]
    path.write_bytes(RESOLVED.replace(b"    return 333\n", b"    return 333\n=======\n"))
    assert move.rebase("--continue").kinds[0] == "markers"


def test_what_stands_as_proposed_is_no_resolution(move: Move) -> None:
    move.begin()
    said = move.rebase("--continue")
    assert said.code == 3 and said.needed == ["clash"]


def test_some_resolved_and_some_not(bare: Move) -> None:
    bare.carry({"clash": CLASH, "rival": RIVAL, "fresh": FRESH})
    assert bare.begin().needed == ["clash", "rival"]
    bare.conflict("clash").write_bytes(RESOLVED)
    said = bare.rebase("--continue")
    assert said.code == 3 and said.outcomes["clash"] == "resolved" and said.needed == ["rival"]
    assert not bare.conflict("clash").exists() and bare.conflict("rival", "demo/model.py").exists()
    said = bare.rebase("--drop", "rival", "--reason", "upstream's is as good")
    assert said.code == 0 and said.outcomes["rival"] == "dropped"
    entry = bare.series["targets"]["v1.1"]["dropped"]["rival"]
    assert entry["reason"] == "upstream's is as good" and entry["from"] == "v1.0"


# -- the verbs


def test_skip_leaves_the_first_behind(move: Move) -> None:
    move.begin()
    said = move.rebase("--skip")
    assert said.outcomes["clash"] == "dropped"
    assert said.outcomes["later"] in ("merged", "offset"), "what built on it is tried without it"
    assert said.code == 0
    assert move.series["targets"]["v1.1"]["dropped"]["clash"]["reason"] == "skipped"
    assert move.applied("v1.1", "demo/core.py") == (NEXT["demo/core.py"] or b"").replace(
        b"return 10\n", b"return 1000\n"
    )


def test_drop_any_patch(move: Move) -> None:
    move.begin()
    assert move.rebase("--drop", "fresh", "--reason", "no need").code == 3
    said = move.rebase("--drop", "clash", "--reason", "no need either")
    assert said.code == 0 and said.outcomes["fresh"] == said.outcomes["clash"] == "dropped"
    assert move.series["targets"]["v1.1"]["patches"] == ["still", "shifted", "later"]


def test_keep_carries_the_patchs_own_side(move: Move) -> None:
    move.begin()
    said = move.rebase("--keep", "clash")
    assert said.code == 0 and said.outcomes["clash"] == "kept"
    text = move.applied("v1.1", "demo/core.py") or b""
    assert b"return 300\n" in text and b"return 77\n" in text and text.startswith(b"import os\n")


def test_keep_takes_the_files_as_edited(move: Move) -> None:
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    said = move.rebase("--keep", "clash")
    assert said.code == 0 and said.outcomes["clash"] == "kept"
    assert b"return 333\n" in (move.applied("v1.1", "demo/core.py") or b"")


def test_a_guard_is_overruled_by_accept_alone(bare: Move) -> None:
    bare.carry({"clash": CLASH})
    bare.begin()
    twice = RESOLVED + b"\n\ndef f5():\n    return 5\n"
    bare.conflict("clash").write_bytes(twice)
    said = bare.rebase("--continue")
    assert said.code == 3 and said.kinds == ["defined-twice"]
    assert "--accept clash" in said.document["error"]["next"]
    assert bare.rebase("--keep", "clash").kinds == ["defined-twice"]
    assert bare.rebase("--accept", "clash").code == 2, "a reason must be given"
    bare.introduce("Ada", "ada@example.org")
    said = bare.rebase("--accept", "clash", "--reason", "it is meant to be")
    assert said.code == 0, said.document
    (patch,) = bare.lock["v1.1"]["patches"]
    (review,) = patch["reviews"]
    assert (review["kind"], review["reason"]) == ("defined-twice", "it is meant to be")
    assert review["by"] == "Ada <ada@example.org>" and review["file"] == "demo/core.py" and review["date"]
    assert bare.applied("v1.1", "demo/core.py") == twice
    assert bare.run("lock", "--check", "v1.1").code == 0


def test_abort_goes_back_to_the_exact_old_state(move: Move) -> None:
    before = move.picture()
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    move.rebase("--drop", "fresh", "--reason", "no need")
    said = move.rebase("--abort")
    assert said.code == 0 and said.document["schema"] == "patchctl.rebase/1"
    assert move.picture() == before and not (move.project / ".patchctl").exists()
    assert move.rebase("--abort").code == 2


def test_abort_works_where_nothing_else_does(move: Move) -> None:
    move.begin()
    (move.project / ".patchctl/rebase.json").write_text("{")
    said = move.rebase("--continue")
    assert said.code == 5 and "--abort" in said.document["error"]["next"]
    (move.project / "series.lock").write_text("{")
    assert move.rebase("--abort").code == 0 and not (move.project / ".patchctl").exists()


def test_a_dry_run_writes_nothing_at_all(move: Move) -> None:
    before = move.picture()
    said = move.begin("--dry-run")
    assert said.code == 3 and said.document["dry_run"] and said.outcomes["clash"] == "conflict"
    assert move.picture() == before and not (move.project / ".patchctl").exists()
    assert move.rebase("--continue").code == 2


def test_a_dry_run_without_a_conflict(bare: Move) -> None:
    bare.carry(SMOOTH)
    before = bare.picture()
    said = bare.begin("--dry-run")
    assert said.code == 0 and not said.document["done"] and said.document["written"] == []
    assert bare.picture() == before


def test_rules_transport_leaves_more_to_a_person(bare: Move) -> None:
    bare.carry(SMOOTH)
    said = bare.begin("--rules", "transport")
    assert said.code in (0, 3) and said.outcomes["still"] == "unchanged"


# -- what is wrong usage, and what is refused


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--continue",),
        ("--skip",),
        ("--keep", "clash"),
        ("--drop", "clash", "--reason", "x"),
        ("--accept", "clash", "--reason", "x"),
        ("--abort",),
        ("--to", "v1.1", "--continue"),
        ("--continue", "--skip"),
        ("--dry-run",),
        ("--dry-run", "--continue"),
        ("--to", "v1.1", "--reason", "x"),
        ("--drop", "clash"),
        ("--drop", "clash", "--reason", "  "),
        ("--to", "v1.0"),
        ("--to", "1.0"),
        ("--to", "v9.9"),
        ("--to", "rel/v9"),
        ("--to", "../up"),
        ("--to", "no-version"),
        ("--to", "v1.1", "--from", "v0.1"),
        ("--to", "v1.1", "--rules", "none"),
        ("--to", "v1.1", "--keep", ""),
        ("--to", "", "--abort"),
        ("--to", "v1.1", "--resolver", " "),
    ],
    ids=" ".join,
)
def test_wrong_usage(move: Move, args: tuple[str, ...]) -> None:
    before = move.picture()
    said = move.rebase(*args)
    assert said.code == 2, said.document
    assert move.picture() == before and not (move.project / ".patchctl").exists()


def test_wrong_usage_of_a_rebase_under_way(move: Move) -> None:
    move.begin()
    for args in (("--keep", "nosuch"), ("--keep", "fresh"), ("--drop", "nosuch", "--reason", "x"), ("--keep", "later")):
        said = move.rebase(*args)
        assert said.code == 2 and said.document["error"]["patch"] == args[1], args
    said = move.rebase("--accept", "fresh", "--reason", "x")
    assert said.code == 2
    assert move.rebase("--continue").needed == ["clash"]


def test_a_second_rebase_is_refused_while_one_runs(move: Move) -> None:
    move.begin()
    said = move.begin()
    assert said.code == 5 and said.kinds == ["rebase-running"]


def test_a_series_that_nobody_locked(move: Move) -> None:
    (move.project / "series.lock").unlink()
    said = move.begin()
    assert said.code == 3 and said.kinds == ["no-lock"]


def test_a_patch_file_that_is_not_the_locked_one(move: Move) -> None:
    path = move.project / "patches/v1.0/still.patch"
    path.write_bytes(path.read_bytes() + b"\n")
    assert move.begin().kinds == ["tampered"]


def test_inputs_must_not_change_on_the_way(move: Move) -> None:
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    for name, verb in (
        ("series.yaml", ("--continue",)),
        ("patches/v1.0/still.patch", ("--skip",)),
        ("series.lock", ("--keep", "clash")),
    ):
        path = move.project / name
        old = path.read_bytes()
        path.write_bytes(old.replace(b"\n", b"\n\n", 1))
        said = move.rebase(*verb)
        assert said.code == 5 and said.document["error"]["file"] == name, name
        assert "--abort" in said.document["error"]["next"]
        path.write_bytes(old)
    assert move.rebase("--continue").code == 0


def test_a_file_in_the_way_is_not_overwritten(bare: Move) -> None:
    bare.carry(SMOOTH)
    (bare.project / "patches/v1.1").mkdir()
    (bare.project / "patches/v1.1/fresh.patch").write_bytes(b"mine\n")
    before = bare.picture()
    said = bare.begin()
    assert said.code == 5 and said.document["error"]["file"] == "patches/v1.1/fresh.patch"
    assert bare.picture() == before


# -- text


def text(move: Move, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "patchctl", "-C", str(move.project), "rebase", *args]
    own = {**move.world.env, "PYTHONPATH": str(Path(__file__).parent.parent), **(env or {})}
    return subprocess.run(command, env=own, capture_output=True, text=True, check=False)


def test_what_a_person_reads(move: Move) -> None:
    said = text(move, "--to", "v1.1")
    assert said.returncode == 3 and "Traceback" not in said.stderr
    for words in ("v1.0 → v1.1", "conflict", "waiting", ".patchctl/conflicts/clash/", "--continue", "--abort"):
        assert words in said.stdout, words
    move.conflict("clash").write_bytes(RESOLVED)
    said = text(move, "--continue")
    assert said.returncode == 0 and "patchctl apply --target v1.1" in said.stdout


def test_a_next_command_works_from_where_one_stands(move: Move) -> None:
    below = move.project / "patches"
    said = text(move, "--to", "v1.1")
    assert said.returncode == 3
    command = [sys.executable, "-m", "patchctl", "rebase", "--continue"]
    own = {**move.world.env, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(command, cwd=below, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "../.patchctl/conflicts/clash/demo/core.py" in done.stderr


def test_keep_does_not_throw_away_what_upstream_has(bare: Move) -> None:
    """The patch's side of a whole region, upstream's other definitions in it included, is more than a person meant."""
    bare.carry({"rival": RIVAL})
    world = bare.world
    if "v0.5" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.1")
        more = b"\n    def other(self):\n        return 'needed'\n"
        world.release("v0.5", {"demo/model.py": (NEXT["demo/model.py"] or b"") + more})
        git(world.upstream, "checkout", "-q", "main")
    said = bare.rebase("--to", "v0.5")
    assert said.code == 3 and said.outcomes == {"rival": "superseded"}
    said = bare.rebase("--keep", "rival")
    if said.code == 0:
        assert b"def other" in (bare.applied("v0.5", "demo/model.py") or b"")
        return
    assert said.kinds == ["lost"] and "Model.other" in said.document["error"]["message"]
    assert bare.rebase("--accept", "rival", "--reason", "nobody needs it").code == 0
    (patch,) = bare.lock["v0.5"]["patches"]
    assert patch["provenance"]["outcome"] == "kept" and "lost" in {review["kind"] for review in patch["reviews"]}


# -- what leads upstream


def test_a_commit_that_a_patch_names_is_evidence(bare: Move, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHCTL_CACHE", str(tmp_path / "own-cache"))
    bare.carry({"still": STILL})
    patch = bare.project / "patches/v1.0/still.patch"
    commit = bare.world.commits["v1.1"]
    named = b"What it is for.\n\nUpstream-Commit: " + commit[:12].encode()
    patch.write_bytes(patch.read_bytes().replace(b"What it is for.", named))
    assert bare.run("lock").code == 0
    without = bare.begin("--dry-run").patch("still")
    assert "link" not in [note["kind"] for note in without["evidence"]]
    assert bare.run("fetch", "--history", "v1.0..v1.1").code == 0
    said = bare.begin("--dry-run").patch("still")
    (link,) = (note["text"] for note in said["evidence"] if note["kind"] == "link")
    assert commit[:12] in link and "taken from" in link
    assert said["outcome"] == "unchanged", "a link decides nothing"


def test_a_patch_that_is_dropped_twice_keeps_the_evidence(move: Move) -> None:
    move.begin()
    assert move.rebase("--drop", "still", "--reason", "one").code == 3
    assert move.rebase("--drop", "still", "--reason", "two").code == 3
    assert move.rebase("--skip").code == 0
    dropped = move.series["targets"]["v1.1"]["dropped"]["still"]
    assert dropped["reason"] == "two" and dropped["evidence"] == "it would have been unchanged"
