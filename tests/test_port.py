"""``patchctl port`` as a whole: folders, files and links on disk, what is written and what is said."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.cli.main import run
from tests.porting import port, snapshot

EDIT = "--- a/n.txt\n+++ b/n.txt\n@@ -2,3 +2,3 @@\n l2\n-l3\n+three\n l4\n"
TEXT = "l1\nl2\nl3\nl4\nl5\n"
EDITED = TEXT.replace("l3", "three")


@pytest.fixture
def onto(tmp_path: Path) -> Path:
    folder = tmp_path / "onto"
    folder.mkdir()
    (folder / "n.txt").write_text(TEXT)
    return folder


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    path = tmp_path / "edit.patch"
    path.write_text(EDIT)
    return path


def create(name: str, text: str = "x", mode: str = "100644") -> str:
    return f"diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}\n"


def test_the_document(onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (onto / "n.txt").write_text("top\n" + TEXT)
    done = port(capfd, patch, "--onto", onto, "--output", tmp_path / "out")
    assert done.code == 0
    assert done.document["schema"] == "patchctl.port/1"
    assert done.document["written"] == ["n.txt"]
    assert done.document["deleted"] == []
    assert done.document["error"] is None
    (told,) = done.document["patches"]
    assert (told["file"], told["outcome"], told["review"], told["evidence"]) == ("edit.patch", "offset", [], [])
    hunk = {"old_start": 2, "new_start": 3, "method": "offset", "score": 1.0, "scope": None}
    assert told["files"] == [{"path": "n.txt", "onto": "n.txt", "method": "offset", "hunks": [hunk]}]
    assert (tmp_path / "out/n.txt").read_text() == "top\n" + EDITED


def test_without_output_a_diff_that_git_applies(
    onto: Path, patch: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    before = snapshot(onto)
    with pytest.raises(SystemExit) as stop:
        run(["port", str(patch), "--onto", str(onto)])
    out = capfdbinary.readouterr().out
    assert not stop.value.code
    assert snapshot(onto) == before
    subprocess.run(["git", "apply", "-"], cwd=onto, input=out, check=True)
    assert (onto / "n.txt").read_text() == EDITED


def test_the_diff_in_the_document(onto: Path, patch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = port(capfd, patch, "--onto", onto)
    assert "\n-l3\n+three\n" in done.document["diff"]
    assert done.document["written"] == ["n.txt"]


def test_text_for_people(onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (onto / "n.txt").write_text("top\n" + TEXT)
    with pytest.raises(SystemExit):
        run(["port", str(patch), "--onto", str(onto), "--output", str(tmp_path / "out")])
    out = capfd.readouterr().out
    assert "offset     edit.patch" in out
    assert "n.txt: hunk 1 (offset) starts at line 3" in out
    assert "wrote      n.txt" in out


def test_a_conflict_says_what_to_do(onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (onto / "n.txt").write_text(TEXT.replace("l3", "drei"))
    done = port(capfd, patch, "--onto", onto, "--output", tmp_path / "out")
    assert done.code == 3
    error = done.document["error"]
    assert (error["kind"], error["patch"], error["file"], error["hunk"]) == ("context", "edit.patch", "n.txt", 1)
    assert "--base" in error["next"]
    assert (tmp_path / "out/n.txt").read_text() == (
        "l1\nl2\n<<<<<<< onto\ndrei\n||||||| what edit.patch expects\nl3\n=======\nthree\n>>>>>>> edit.patch\nl4\nl5\n"
    )


def test_every_misfit_is_told_at_once(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (onto / "n.txt").write_text(TEXT.replace("l3", "drei"))
    (onto / "m.txt").write_text("m\n")
    other = tmp_path / "other.patch"
    other.write_text("--- a/m.txt\n+++ b/m.txt\n@@ -1 +1 @@\n-M\n+N\n")
    done = port(capfd, patch, other, "--onto", onto)
    assert [problem["patch"] for problem in done.document["problems"]] == ["edit.patch", "other.patch"]
    assert done.document["written"] == ["n.txt"], "only the first conflict is proposed"


def test_a_refusal_writes_nothing_though_others_fit(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (onto / "up").symlink_to("..")
    bad = tmp_path / "bad.patch"
    bad.write_text(create("up/outside.txt"))
    done = port(capfd, patch, bad, "--onto", onto, "--output", tmp_path / "out")
    assert done.code == 5
    assert done.document["error"]["patch"] == "bad.patch"
    assert done.outcomes == ["unchanged", "refused"]
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", ".git/x", ".GIT/x", "a/../../x", "C:\\x", "git~1/x", "a//x"])
def test_unsafe_names(name: str, onto: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.patch"
    bad.write_text(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n")
    before = snapshot(tmp_path)
    done = port(capfd, bad, "--onto", onto, "--output", tmp_path / "out")
    assert done.code == 5
    assert done.document["error"]["message"]
    assert snapshot(tmp_path) == before


def test_modes_do_not_depend_on_the_umask(onto: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    many = tmp_path / "many.patch"
    many.write_text(EDIT + create("deep/er/run", mode="100755") + create("plain"))
    previous = os.umask(0o077)
    try:
        assert port(capfd, many, "--onto", onto, "--output", tmp_path / "out").code == 0
    finally:
        os.umask(previous)
    modes = {name: (tmp_path / "out" / name).stat().st_mode & 0o777 for name in ("n.txt", "deep/er/run", "plain")}
    assert modes == {"n.txt": 0o644, "deep/er/run": 0o755, "plain": 0o644}


def test_names_that_are_not_utf8(onto: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (onto / name).write_text(TEXT)
    odd = tmp_path / os.fsdecode(b"p\xe9.patch")
    odd.write_bytes(EDIT.encode().replace(b"a/n.txt", b'"a/caf\\351.txt"').replace(b"b/n.txt", b'"b/caf\\351.txt"'))
    done = port(capfd, odd, "--onto", onto, "--output", tmp_path / "out")
    assert done.document["written"] == [name]
    assert (tmp_path / "out" / name).read_text() == EDITED


def test_a_pipe_in_the_tree_is_not_opened(onto: Path, patch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (onto / "n.txt").unlink()
    os.mkfifo(onto / "n.txt")
    done = port(capfd, patch, "--onto", onto)
    assert done.code == 5
    assert done.document["error"]["file"] == "n.txt"


@pytest.mark.parametrize("where", ["onto", "onto/deep/er"])
def test_output_never_lies_in_the_tree(
    where: str, onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(tmp_path)
    assert port(capfd, patch, "--onto", onto, "--output", tmp_path / where).code == 5
    assert snapshot(tmp_path) == before


def test_output_in_use_is_not_overwritten(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "n.txt").write_text("mine\n")
    assert port(capfd, patch, "--onto", onto, "--output", out).code == 5
    assert (out / "n.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    "arguments", [["none.patch"], ["folder"], ["edit.patch", "--onto", "none"], ["edit.patch", "--base", "none"]]
)
def test_wrong_usage(
    arguments: list[str],
    onto: Path,
    patch: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    done = port(capfd, "--onto", onto, *arguments)
    assert done.code == 2
    assert done.document["error"]["message"]


def test_a_mailbox_counts_as_several(onto: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mail = (
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
        "From: A <a@b.invalid>\nSubject: [PATCH] {}\n\n---\n{}-- \n2.39.5\n\n"
    )
    box = tmp_path / "two.mbox"
    box.write_text(
        mail.format("one", EDIT) + mail.format("two", EDIT.replace("three", "drei").replace("-l3", "-three"))
    )
    done = port(capfd, box, "--onto", onto, "--output", tmp_path / "out")
    assert done.outcomes == ["unchanged", "unchanged"]
    assert (tmp_path / "out/n.txt").read_text() == TEXT.replace("l3", "drei")


def test_standard_input(onto: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(EDIT.encode())))
    assert port(capfd, "-", "--onto", onto).code == 0


def test_standard_input_is_left_alone(onto: Path, patch: Path) -> None:
    (onto / "n.txt").unlink()
    reading, writing = os.pipe()  # never closed by the other side: reading from it would hang
    try:
        command = [sys.executable, "-m", "patchctl", "port", patch, "--onto", onto]
        done = subprocess.run(command, stdin=reading, capture_output=True, timeout=60, check=False)
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 5


def test_second_runs_change_nothing(onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    port(capfd, patch, "--onto", onto, "--output", tmp_path / "one")
    for number in range(3):
        done = port(capfd, patch, "--onto", tmp_path / "one", "--output", tmp_path / f"again{number}")
        assert (done.code, done.outcomes, done.document["written"]) == (0, ["upstreamed"], [])


def test_a_full_disk_leaves_nothing(onto: Path, patch: Path, tmp_path: Path) -> None:
    (onto / "n.txt").write_text(TEXT + "".join(f"{number}\n" for number in range(100_000)))
    more = tmp_path / "more.patch"
    more.write_text(create("first.txt"))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-m", "patchctl", "port", more, patch, "--onto", onto, "--output", tmp_path / "out"],
        capture_output=True, preexec_fn=limit, check=False,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_rules_transport_takes_no_place_by_a_rule(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "n.txt").write_text("first line\nthe total is 1\nlast line\n")
    (onto / "n.txt").write_text("first line\nthe total is 12\nlast line\n")
    patch.write_text("--- a/n.txt\n+++ b/n.txt\n@@ -1,3 +1,4 @@\n first line\n the total is 1\n+added\n last line\n")
    done = port(capfd, patch, "--onto", onto, "--base", base)
    assert done.outcomes == ["merged"]
    assert [note["kind"] for note in done.document["patches"][0]["review"]] == ["edited-neighbours"]
    done = port(capfd, patch, "--onto", onto, "--base", base, "--rules", "transport")
    assert done.outcomes == ["conflict"]
    assert done.document["error"]["kind"] == "rules"
    assert "edited-neighbours" in done.document["error"]["message"]


def test_changes_at_both_ends_of_a_file_leave_the_middle_alone(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "n.txt").write_text("a\n" + TEXT + "b\n")
    (onto / "n.txt").write_text("A\n" + TEXT + "B\n")
    patch.write_text(EDIT.replace("-2,3 +2,3", "-3,3 +3,3"))
    assert port(capfd, patch, "--onto", onto, "--base", base, "--rules", "transport").outcomes == ["unchanged"]


def test_a_hand_full_of_hunks_moves_by_arithmetic(
    onto: Path, patch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "n.txt").write_text(TEXT)
    (onto / "n.txt").write_text("l0\n" + TEXT)
    done = port(capfd, patch, "--onto", onto, "--base", base, "--rules", "transport")
    assert done.outcomes == ["offset"]


BLOCKS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), min_size=1, max_size=25)
SIDE = st.tuples(st.integers(0, 24), st.integers(0, 2), st.lists(st.sampled_from("abcxyz"), max_size=3))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=BLOCKS, mine=SIDE, theirs=SIDE)
def test_a_clean_port_with_base_is_both_edits(
    lines: list[str],
    mine: tuple[int, int, list[str]],
    theirs: tuple[int, int, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Edits two lines apart: whatever is called clean holds both; and onto its own base a patch is unchanged."""
    (at, count, new), (other, gone, fresh) = mine, theirs
    numbered = [f"{text}{number}\n" for number, text in enumerate(lines)]
    at, other = min(at, len(lines)), min(other, len(lines))
    end, stop = min(at + count, len(lines)), min(other + gone, len(lines))
    if not (end + 1 < other or stop + 1 < at):
        return
    root = tmp_path_factory.mktemp("p")

    def edited(edits: list[tuple[int, int, list[str]]]) -> str:
        out = list(numbered)
        for start, finish, texts in sorted(edits, reverse=True):
            out[start:finish] = [f"{text}\n" for text in texts]
        return "".join(out)

    for name, text in {
        "base": edited([]),
        "mine": edited([(at, end, new)]),
        "onto": edited([(other, stop, fresh)]),
    }.items():
        (root / name).mkdir()
        (root / name / "f.txt").write_text(text)
    made = subprocess.run(
        ["git", "diff", "--no-index", "base/f.txt", "mine/f.txt"], cwd=root, capture_output=True, check=False
    )
    if not made.stdout:
        return
    (root / "p.patch").write_bytes(made.stdout.replace(b"a/base/", b"a/").replace(b"b/mine/", b"b/"))
    same = port(capfd, root / "p.patch", "--onto", root / "base", "--output", root / "same")
    assert same.outcomes == ["unchanged"]
    assert (root / "same/f.txt").read_text() == edited([(at, end, new)])
    done = port(capfd, root / "p.patch", "--onto", root / "onto", "--base", root / "base", "--output", root / "out")
    assert done.code in (0, 3)
    if done.code == 0 and done.document["written"]:
        assert (root / "out/f.txt").read_text() == edited([(at, end, new), (other, stop, fresh)])
