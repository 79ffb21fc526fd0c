"""``rebase`` among links, signals, other processes and people who change things on the way."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.moving import CLASH, CORE, FRESH, LATER, NEXT, RIVAL, Files, Move
from tests.projects import picture

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")


# -- links and odd files


def test_a_state_folder_that_is_a_link_is_refused(move: Move, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (move.project / ".patchctl").symlink_to(outside)
    said = move.begin()
    assert said.code == 5 and list(outside.iterdir()) == []


def test_links_in_the_conflict_folder_lead_nowhere(move: Move, tmp_path: Path) -> None:
    move.begin()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "core.py").write_bytes(RESOLVED)
    path = move.conflict("clash")
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(outside)
    said = move.rebase("--continue")
    assert said.code in (3, 5) and said.outcomes.get("clash", "conflict") == "conflict"
    assert move.rebase("--abort").code == 0
    assert (outside / "core.py").read_bytes() == RESOLVED, "what lies behind a link is not ours to remove"


def test_a_resolution_that_is_a_link_is_guarded(move: Move) -> None:
    move.begin()
    path = move.conflict("clash")
    path.unlink()
    path.symlink_to("../../../../../../etc/passwd")
    said = move.rebase("--continue")
    assert said.code in (3, 5) and not (move.project / "patches/v1.1").exists()


def test_a_fifo_in_the_conflict_folder_does_not_hang(move: Move) -> None:
    move.begin()
    path = move.conflict("clash")
    path.unlink()
    os.mkfifo(path)
    said = move.rebase("--continue")
    assert said.code in (3, 5) and said.outcomes.get("clash", "conflict") == "conflict"


def test_a_conflict_folder_that_is_gone(move: Move) -> None:
    import shutil

    move.begin()
    shutil.rmtree(move.project / ".patchctl/conflicts/clash")
    said = move.rebase("--continue")
    assert said.code == 3 and said.needed == ["clash"]
    assert move.conflict("clash").exists(), "it is laid out anew"


def test_leftovers_of_editors_and_tools_do_not_count(move: Move) -> None:
    move.begin()
    move.conflict("clash").write_bytes(RESOLVED)
    for name in ("core.py.orig", "core.py~", ".core.py.swp", "core_BASE_123.py"):
        (move.conflict("clash").parent / name).write_bytes(b"x")
    assert move.rebase("--continue").code == 0


def test_a_patches_folder_that_is_a_link_is_refused(bare: Move, tmp_path: Path) -> None:
    bare.carry({"fresh": FRESH})
    outside = tmp_path / "outside"
    outside.mkdir()
    (bare.project / "patches/v1.1").symlink_to(outside)
    said = bare.begin()
    assert said.code == 5 and list(outside.iterdir()) == []
    assert "v1.1" not in bare.series["targets"]


@pytest.mark.parametrize("name", ["series.yaml", "series.lock"])
def test_a_file_to_be_written_that_is_a_link_is_refused_at_once(move: Move, name: str) -> None:
    (move.project / name).rename(move.project / "real")
    (move.project / name).symlink_to("real")
    said = move.begin()
    assert said.code == 5 and said.kinds == ["unsafe-path"] and not (move.project / ".patchctl").exists()


def test_a_state_that_somebody_wrote(move: Move) -> None:
    move.begin()
    path = move.project / ".patchctl/rebase.json"
    good = json.loads(path.read_text())
    for change in (
        {"schema": "patchctl.rebase-state/2"},
        {"decided": []},
        {"trees": ["git"]},
        {"conflicts": {"clash": {}}},
        {"decided": {"clash": {"outcome": "resolved", "files": {"../../x": {"mode": "100644", "text": "x"}}}}},
    ):
        path.write_text(json.dumps({**good, **change}))
        said = move.rebase("--continue")
        assert said.code == 5, change
        assert not (move.project.parent / "x").exists()
    assert move.rebase("--abort").code == 0


def test_a_resolver_in_a_state_that_came_with_a_copy_is_not_run(move: Move, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    move.begin("--resolver", f"touch {mark}; false")
    mark.unlink()
    copy = Move(move.world, tmp_path / "copy")
    shutil.copytree(move.project, copy.project)
    for project, runs in ((copy, False), (move, True)):
        shutil.rmtree(project.project / ".patchctl/conflicts")
        assert project.rebase("--continue").code == 3
        assert mark.exists() == runs


def test_abort_says_what_it_ended(move: Move) -> None:
    move.begin()
    said = move.rebase("--abort")
    assert (said.document["from"], said.document["to"]) == ("v1.0", "v1.1")


def test_a_forged_decision_writes_nothing_outside(move: Move) -> None:
    move.begin()
    path = move.project / ".patchctl/rebase.json"
    state = json.loads(path.read_text())
    for name in ("../../escape", "/tmp/escape", ".git/hooks/post-commit", "demo/core.py/below"):
        forged = {"outcome": "resolved", "reason": "", "evidence": "", "ground": {}, "memory": []}
        forged["files"] = {name: {"mode": "100755", "text": "x"}}  # type: ignore[assignment]
        path.write_text(json.dumps({**state, "decided": {"clash": forged, "later": forged}}))
        said = move.rebase("--continue")
        assert said.code in (3, 4, 5), name
        assert not (move.project / "patches/v1.1").exists()


# -- other processes


@contextmanager
def locked(project: Path) -> Iterator[None]:
    handle = os.open(project, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def test_two_at_once(move: Move) -> None:
    with locked(move.project):
        for args in (("--to", "v1.1"), ("--continue",), ("--abort",)):
            said = move.rebase(*args)
            assert said.code == 5 and said.kinds == ["busy"]
    assert move.begin().code == 3


def start(move: Move, *args: str, **env: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "patchctl", "-C", str(move.project), "--json", "rebase", *args]
    own = {**move.world.env, "PYTHONPATH": str(Path(__file__).parent.parent.parent), **env}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A shell that runs the tests in the background has them ignore interrupts.
    return subprocess.Popen(command, env=own, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **pipes)


def test_an_interrupt_while_a_resolver_runs(move: Move, tmp_path: Path) -> None:
    mark = tmp_path / "started"
    process = start(move, "--to", "v1.1", "--resolver", f"touch {mark}; sleep 60")
    while not mark.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130 and json.loads(out)["error"]["kind"] == "interrupted"
    said = move.rebase("--continue")
    assert said.code == 3 and said.needed == ["clash"], "what was laid out is there to go on with"
    move.conflict("clash").write_bytes(RESOLVED)
    assert move.rebase("--continue").code == 0


def test_an_interrupt_while_files_are_written_takes_all_back(bare: Move) -> None:
    bare.carry({"fresh": FRESH})
    before = bare.picture()
    for point in range(5, 200, 14):
        process = start(bare, "--to", "v1.1", PATCHCTL_FAULT=f"int:{point}")
        _, err = process.communicate(timeout=20)
        if process.returncode == 0:
            break
        assert process.returncode == 130, (point, err)
        assert bare.picture() == before, point
    else:
        pytest.fail("no point was the last")


@pytest.mark.parametrize("next_one", [("--abort",), ("--to", "v1.1")])
def test_what_was_killed_is_put_right_and_said(bare: Move, next_one: tuple[str, ...]) -> None:
    bare.carry({"fresh": FRESH})
    before = bare.picture()
    for number in range(36, 70):
        command = [sys.executable, "-m", "patchctl", "-C", str(bare.project), "rebase", "--to", "v1.1"]
        env = {**os.environ, "PATCHCTL_FAULT": f"kill:{number}"}
        assert subprocess.run(command, env=env, capture_output=True, check=False).returncode == -signal.SIGKILL
        journal = bare.project / ".patchctl/journal.json"
        if bare.picture() != before and journal.exists():
            break
        shutil.rmtree(bare.project / ".patchctl", ignore_errors=True)
    said = bare.rebase(*next_one)
    assert said.code == 0, said.document
    if next_one == ("--abort",):
        assert bare.picture() == before and not (bare.project / ".patchctl").exists()
    else:
        assert any("interrupted" in note for note in said.document["notes"])


def test_a_full_disk_changes_nothing(bare: Move) -> None:
    bare.carry({"fresh": FRESH, "clash": CLASH})
    before = picture(bare.project)
    seen = set()
    for point in range(1, 240, 17):
        process = start(bare, "--to", "v1.1", PATCHCTL_FAULT=f"full:{point}")
        _, err = process.communicate(timeout=20)
        seen.add(process.returncode)
        if process.returncode == 3:
            break
        assert process.returncode == 4 and b"Traceback" not in err, err
        assert {n: s for n, s in picture(bare.project).items() if not n.startswith(".patchctl")} == before
    assert seen == {3, 4}


# -- decisions that change the ground of others


def test_a_decision_that_changes_what_another_stood_on(bare: Move) -> None:
    again = {"demo/core.py": LATER["demo/core.py"].replace(b"return 7\n", b"return 700\n")}
    bare.carry({"clash": CLASH, "again": again})
    bare.begin()
    bare.conflict("clash").write_bytes(RESOLVED)
    said = bare.rebase("--continue")
    assert said.needed == ["again"]
    text = bare.conflict("again").read_bytes()
    assert b"return 333\n" in text
    bare.conflict("again").write_bytes(text + b"# my work\n")
    said = bare.rebase("--drop", "clash", "--reason", "not after all")
    assert said.code == 3 and said.outcomes == {"clash": "dropped", "again": "conflict"}
    assert "changed-conflict" in said.kinds
    assert b"return 333\n" not in bare.conflict("again").read_bytes()
    kept = bare.project / ".patchctl/conflicts/again~before/demo/core.py"
    assert kept.read_bytes().endswith(b"# my work\n")
    assert bare.rebase("--keep", "again").code == 0
    assert not (bare.project / ".patchctl").exists()


def test_a_resolution_falls_with_what_it_stood_on(bare: Move) -> None:
    again = {"demo/core.py": LATER["demo/core.py"].replace(b"return 7\n", b"return 700\n")}
    bare.carry(
        {
            "clash": CLASH,
            "again": again,
            "last": {"demo/core.py": again["demo/core.py"].replace(b"return 3", b"return 9")},
        }
    )
    bare.begin()
    bare.conflict("clash").write_bytes(RESOLVED)
    bare.rebase("--continue")
    bare.rebase("--keep", "again")
    said = bare.rebase("--continue")
    if said.code == 0:
        pytest.skip("nothing was left open to go back from")
    assert said.outcomes["again"] == "kept"
    said = bare.rebase("--drop", "clash", "--reason", "not after all")
    assert said.outcomes["again"] == "conflict", "it was resolved on top of what is gone now"
    assert CORE


def helped(move: Move) -> None:
    """``clash`` resolved with a name that ``helper`` gives it, and ``model`` still open."""
    helper = {"demo/quiet.py": b"A = 1\nB = 2\nC = 3\nHELP = 4\n"}
    user = {"demo/core.py": b"from demo.quiet import HELP\n" + CLASH["demo/core.py"]}
    move.carry({"helper": helper, "clash": user, "model": RIVAL})
    assert set(move.begin().needed) == {"clash", "model"}
    move.conflict("clash").write_bytes(b"from demo.quiet import HELP\n" + RESOLVED)
    assert move.rebase("--continue").outcomes["clash"] == "resolved"


def test_an_answer_falls_when_a_name_that_it_uses_goes(bare: Move) -> None:
    helped(bare)
    said = bare.rebase("--drop", "helper", "--reason", "not after all")
    assert said.code == 3 and said.outcomes["clash"] == "conflict" and "name-gone" in said.kinds
    assert bare.conflict("clash").read_bytes() == b"from demo.quiet import HELP\n" + RESOLVED, "the work is kept"
    assert bare.rebase("--keep", "model").needed == ["clash"]
    assert "name-gone" in bare.rebase("--continue").kinds
    bare.conflict("clash").write_bytes(RESOLVED)
    assert bare.rebase("--continue").code == 0


def test_an_answer_without_its_name_can_be_accepted(bare: Move) -> None:
    helped(bare)
    bare.rebase("--drop", "helper", "--reason", "not after all")
    assert bare.rebase("--accept", "clash", "--reason", "made at run time").outcomes["clash"] == "resolved"
    assert bare.rebase("--keep", "model").code == 0
    (review,) = bare.lock["v1.1"]["patches"][0]["reviews"]
    assert (review["kind"], review["reason"]) == ("name-gone", "made at run time")


def test_what_was_accepted_covers_no_other_finding_of_its_kind(bare: Move) -> None:
    quiet = b"A = 1\nB = 2\nC = 3\n"
    user = b'"""A demo."""\nfrom demo.quiet import HELP, MORE\n'
    helpers: dict[str, Files] = {
        "help": {"demo/quiet.py": quiet + b"HELP = 4\n"},
        "more": {"demo/quiet.py": quiet + b"HELP = 4\nMORE = 5\n"},
    }
    bare.carry({**helpers, "user": {"demo/__init__.py": user}, "model": RIVAL})
    bare.begin()
    bare.rebase("--drop", "more", "--reason", "no")
    said = bare.rebase("--accept", "user", "--reason", "made at run time")
    assert said.needed == ["model"], said.document
    said = bare.rebase("--drop", "help", "--reason", "no")
    assert said.needed == ["user", "model"] and "HELP" in said.document["error"]["message"]
    assert bare.rebase("--keep", "model").needed == ["user"]
    assert bare.rebase("--accept", "user", "--reason", "both").code == 0
    reviews = bare.lock["v1.1"]["patches"][0]["reviews"]
    assert {one["text"].split()[0]: one["reason"] for one in reviews} == {"HELP": "both", "MORE": "both"}


def test_work_on_a_decision_that_fell_is_kept(bare: Move) -> None:
    again = {"demo/core.py": LATER["demo/core.py"].replace(b"return 7\n", b"return 700\n")}
    bare.carry({"clash": CLASH, "again": again, "model": RIVAL})
    bare.begin()
    bare.conflict("clash").write_bytes(RESOLVED)
    assert bare.rebase("--continue").needed == ["again", "model"]
    mine = RESOLVED.replace(b"return 77\n", b"return 7070\n").replace(b"return 10\n", b"return 1000\n")
    bare.conflict("again").write_bytes(mine)
    assert bare.rebase("--continue").outcomes["again"] == "resolved"
    said = bare.rebase("--drop", "clash", "--reason", "not after all")
    assert said.outcomes["again"] == "conflict" and "changed-conflict" in said.kinds
    before = bare.project / ".patchctl/conflicts/again~before/demo/core.py"
    assert before.read_bytes() == mine
    assert bare.rebase("--continue").code == 3 and before.exists()


@pytest.mark.parametrize("kind", ["link", "file", "folder"])
def test_a_report_that_can_not_be_written_keeps_nobody_from_their_patches(
    bare: Move, tmp_path: Path, kind: str
) -> None:
    bare.carry({"fresh": FRESH})
    build = bare.project / "build"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        build.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        build.write_text("mine")
    else:
        (build / "reports/v1.0..v1.1/report.md").mkdir(parents=True)
    said = bare.begin()
    assert said.code == 0 and [one["kind"] for one in said.document["warnings"]] == ["no-report"]
    assert not any(name.startswith("build") for name in said.document["written"])
    assert (bare.project / "patches/v1.1/fresh.patch").exists()
    assert kind != "link" or not list((tmp_path / "elsewhere").iterdir())


def test_what_can_not_be_read_says_whose_it_is(move: Move) -> None:
    move.begin()
    with move.conflict("clash").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    said = move.rebase("--continue")
    assert said.code == 3 and said.kinds[0] == "too-large"
    assert said.document["error"]["patch"] == "clash" and said.document["error"]["next"]


def test_thousands_of_conflicts_need_no_process_each(bare: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    series = {f"p{n}": {f"demo/file{n}.txt": b"mine\n"} for n in range(40)}
    world = bare.world
    from tests.target.checkouts import git

    if "v0.4" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        world.release("v0.4", {f"demo/file{n}.txt": b"theirs\n" for n in range(40)})
        git(world.upstream, "checkout", "-q", "main")
    patches = bare.project / "patches/v1.0"
    patches.mkdir(parents=True)
    form = "diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+mine\n"
    for id, files in series.items():
        (patches / f"{id}.patch").write_text(form.format(*files))
    bare.write(series)
    assert bare.run("lock").code == 0
    began = time.monotonic()
    said = bare.rebase("--to", "v0.4")
    assert said.code == 3 and len(said.needed) == 40
    assert time.monotonic() - began < 10


def test_a_patch_that_became_unsafe(bare: Move) -> None:
    from tests.target.checkouts import git

    world = bare.world
    if "v0.8" not in world.commits:
        git(world.upstream, "checkout", "-q", "--detach", "v1.0")
        link = world.upstream / "demo/extra"
        link.symlink_to("../..")
        world.release("v0.8", {"README.md": b"a link\n"})
        git(world.upstream, "checkout", "-q", "main")
    bare.carry({"unsafe": {"demo/extra/new.py": b"NEW = 1\n"}, "clash": {"README.md": b"mine\n"}, "fresh": FRESH})
    before = bare.picture()
    said = bare.rebase("--to", "v0.8")
    assert said.code == 5 and said.outcomes == {"unsafe": "refused", "clash": "conflict", "fresh": "unchanged"}
    assert said.document["error"]["patch"] == "unsafe" and "--drop unsafe" in said.document["error"]["next"]
    assert said.needed == ["unsafe", "clash"] and bare.picture() == before
    assert bare.rebase("--keep", "unsafe").code == 2
    assert bare.rebase("--skip").code == 3
    said = bare.rebase("--keep", "clash")
    assert said.code == 0 and said.outcomes["unsafe"] == "dropped"
    assert bare.series["targets"]["v0.8"]["patches"] == ["clash", "fresh"]


def test_tags_with_a_slash(bare: Move) -> None:
    from tests.target.checkouts import git

    for version in ("v1.0", "v1.1"):
        git(bare.world.upstream, "tag", "-f", f"rel/{version[1:]}", version)
    bare.carry({"fresh": FRESH})
    text = (bare.project / "series.yaml").read_text().replace("v1.0", "rel/1.0")
    text = text.replace("  sdist:", '  tag: "rel/{version}"\n  sdist:', 1)
    (bare.project / "series.yaml").write_text(text)
    (bare.project / "patches/v1.0").rename(bare.project / "patches/rel__1.0")
    assert bare.run("lock").code == 0
    said = bare.rebase("--to", "rel/1.1")
    assert said.code == 0, said.document
    assert (bare.project / "patches/rel__1.1/fresh.patch").exists() and "rel/1.1" in bare.series["targets"]
    for version in ("1.0", "1.1"):
        git(bare.world.upstream, "tag", "-d", f"rel/{version}")
