"""lint: each rule finds what it is for, at its place, and nothing in a clean project."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from patchctl.series import project as projects
from patchctl.upstream import pristine
from patchctl.workflows import lint as linting
from patchctl.workflows import lock as locking
from patchctl.workflows.lint.findings import Finding, Severity
from tests.lintproject import COMMIT, DIFF, FILE, OLD, SERIES, make, patch_text, write_lock

TODAY = datetime.date(2026, 12, 1)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHCTL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def lint(root: Path, *, fix: bool = False, today: datetime.date = TODAY) -> linting.LintReport:
    return linting.lint(projects.load(root, with_lock=False), today, fix=fix)


def found(root: Path, **options: object) -> list[tuple[str, str, int]]:
    return [(finding.rule, finding.path, finding.line) for finding in lint(root, **options).grave]  # type: ignore[arg-type]


def only(root: Path) -> Finding:
    (finding,) = lint(root).grave
    return finding


def with_patch(root: Path, data: bytes) -> Path:
    return make(root / "p", patches={"fix-a": data})


def added(line: bytes, **head: object) -> bytes:
    """A patch whose one added line is ``line``."""
    lines = DIFF.replace(b"+2\n", b"+" + line + b"\n").split(b"\n")
    # Without its index line, so that the change need not be the one in the lock.
    return patch_text(b"\n".join(lines[:1] + lines[2:]), **head)


def test_a_clean_project(tmp_path: Path) -> None:
    report = lint(make(tmp_path / "p"))
    assert [finding for finding in report.findings if finding.severity is not Severity.NOTE] == []
    assert not report.failed
    assert report.patches == 1


def test_what_could_not_be_checked_is_a_note(tmp_path: Path) -> None:
    (note,) = lint(make(tmp_path / "p")).findings
    assert (note.rule, note.severity, note.line) == ("inexact", Severity.NOTE, 7)
    assert "not in the cache" in note.message


# -- files


def test_a_listed_patch_without_a_file(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    (root / "patches/v1.0/fix-a.patch").unlink()
    finding = only(root)
    assert (finding.rule, finding.path, finding.line, finding.column) == ("missing-file", "series.yaml", 9, 15)
    assert "patches/v1.0/fix-a.patch does not exist" in finding.message


def test_a_patch_file_that_leads_out_of_the_project(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    outside = tmp_path / "outside.patch"
    outside.write_bytes(patch_text())
    (root / "patches/v1.0/fix-a.patch").unlink()
    (root / "patches/v1.0/fix-a.patch").symlink_to(outside)
    assert "leads out of the project" in only(root).message


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("v1.0/other.patch", "patches/v1.0/other.patch"),
        ("v1.0/0001-fix-a.diff", "patches/v1.0/0001-fix-a.diff"),
        ("stray.patch", "patches/stray.patch"),
        ("v0.9/fix-a.patch", "patches/v0.9"),
    ],
)
def test_a_patch_file_that_nobody_lists(tmp_path: Path, path: str, reported: str) -> None:
    root = make(tmp_path / "p")
    (root / "patches" / path).parent.mkdir(exist_ok=True)
    (root / "patches" / path).write_bytes(patch_text())
    assert found(root) == [("unlisted-file", reported, 1)]


def test_remembered_resolutions_and_other_files_may_lie_there(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    (root / "patches/resolutions").mkdir()
    (root / "patches/resolutions/x.patch").write_bytes(b"")
    (root / "patches/README.md").write_text("")
    assert found(root) == []


def test_one_change_under_two_names(tmp_path: Path) -> None:
    series = SERIES.replace("[fix-a]", "[fix-a, fix-b]") + SERIES.split("patches:\n")[1].replace("fix-a", "fix-b")
    root = make(tmp_path / "p", series, {"fix-a": patch_text(), "fix-b": patch_text(subject="Another name")})
    assert ("duplicate", "patches/v1.0/fix-b.patch", 1) in found(root)


# -- series.yaml


def test_an_entry_that_no_target_uses(tmp_path: Path) -> None:
    entry = "  fix-z: {title: z, why: z, owner: o, upstream: {status: pending}}\n"
    finding = only(make(tmp_path / "p", SERIES + entry))
    assert (finding.rule, finding.line, finding.severity) == ("unused-entry", 17, Severity.WARNING)


def test_a_dropped_patch_may_keep_its_entry(tmp_path: Path) -> None:
    series = SERIES.replace("[fix-a]", "[fix-a]\n    dropped: {fix-z: {reason: upstreamed}}")
    assert (
        found(make(tmp_path / "p", series + "  fix-z: {title: z, why: z, owner: o, upstream: {status: pending}}\n"))
        == []
    )


def test_an_expired_patch(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    assert found(root, today=datetime.date(2030, 1, 1)) == []
    assert found(root, today=datetime.date(2030, 1, 2)) == [("expired", "series.yaml", 16)]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        ('">=0.9"', [("drop-when", "series.yaml", 9)]),
        ('">=1.0,<2"', [("drop-when", "series.yaml", 9)]),
        ('">1.0"', []),
        ('">=1.x"', [("drop-when", "series.yaml", 17)]),
        ("the table has a row for 12", []),
    ],
)
def test_a_patch_that_was_to_be_dropped(tmp_path: Path, wish: str, expected: list[tuple[str, str, int]]) -> None:
    assert found(make(tmp_path / "p", SERIES + f"    drop_when: {wish}\n")) == expected


# -- heads


@pytest.mark.parametrize(
    ("data", "rule", "word"),
    [
        (patch_text(author=""), "header", "no From"),
        (patch_text(author="nobody"), "header", "not of the form Name <address>"),
        (patch_text(date=""), "header", "no Date"),
        (patch_text(date="yesterday"), "header", "can't be read"),
        (patch_text(why=""), "header", "why"),
        (patch_text(trailers=()), "upstream-status", "no trailer Upstream-Status"),
        (
            patch_text(trailers=(("Upstream-Status", "pending"), ("Link", "https://example.org/pull/1"))),
            "upstream-status",
            "series.yaml says submitted",
        ),
        (patch_text(trailers=(("Upstream-Status", "submitted"),)), "upstream-status", "Link"),
        (
            patch_text(trailers=(("Upstream-Status", "submitted https://example.org/pull/2"),)),
            "upstream-status",
            "Link",
        ),
    ],
)
def test_heads_that_lack_something(tmp_path: Path, data: bytes, rule: str, word: str) -> None:
    finding = only(with_patch(tmp_path, data))
    assert finding.rule == rule
    assert word in finding.message
    assert finding.path == "patches/v1.0/fix-a.patch"


def test_status_and_link_may_stand_in_one_trailer(tmp_path: Path) -> None:
    trailers = (("Upstream-Status", "Submitted [https://example.org/pull/1]"),)
    assert found(with_patch(tmp_path, patch_text(trailers=trailers))) == []


def test_a_bare_diff_has_no_head_at_all(tmp_path: Path) -> None:
    rules = [rule for rule, _, _ in found(with_patch(tmp_path, DIFF))]
    assert rules == ["header"] * 4 + ["upstream-status"]


def test_a_head_that_git_am_would_change(tmp_path: Path) -> None:
    data = patch_text().replace(b"Subject: [PATCH] Count", b"Subject: [PATCH] [Fix] Count")
    assert only(with_patch(tmp_path, data)).rule == "portable-head"


# -- text


@pytest.mark.parametrize(
    ("line", "rule", "word"),
    [
        (b"2 ", "whitespace", "blanks at its end"),
        (b"2\t", "whitespace", "blanks at its end"),
        (b" \t2", "whitespace", "before a tab"),
        (b"2\r", "whitespace", "carriage return"),
        ("2\u202e".encode(), "hidden-text", "U+202E (right-to-left override)"),
        ("2\u200b3".encode(), "hidden-text", "U+200B"),
        ("\ufeff2".encode(), "hidden-text", "U+FEFF"),
        (b"2\x1b[1m", "hidden-text", "U+001B"),
        (b"2\r3", "hidden-text", "U+000D"),
        (b"2\x00", "hidden-text", "U+0000"),
        ("2\u2028".encode(), "hidden-text", "U+2028"),
    ],
)
def test_damaged_or_hidden_text(tmp_path: Path, line: bytes, rule: str, word: str) -> None:
    data = added(line)
    finding = only(with_patch(tmp_path, data))
    assert (finding.rule, finding.file, finding.hunk) == (rule, FILE, 1)
    assert word in finding.message
    assert data.split(b"\n")[finding.line - 1] == b"+" + line


@pytest.mark.parametrize("line", [b"2", b"\t2", b"\x0c2", "größer".encode(), b"\xff", b""])
def test_text_that_is_fine(tmp_path: Path, line: bytes) -> None:
    assert found(with_patch(tmp_path, added(line))) == []


def test_a_file_in_crlf_may_stay_so(tmp_path: Path) -> None:
    data = patch_text(
        f"diff --git a/{FILE} b/{FILE}\n--- a/{FILE}\n+++ b/{FILE}\n".encode()
        + b"@@ -1,3 +1,3 @@\n one\r\n-two\r\n+2\r\n three\r\n"
    )
    assert found(with_patch(tmp_path, data)) == []


def test_many_lines_with_one_fault_are_one_finding(tmp_path: Path) -> None:
    data = patch_text(
        b"diff --git a/python/thing/n.py b/python/thing/n.py\nnew file mode 100644\n--- /dev/null\n"
        b"+++ b/python/thing/n.py\n@@ -0,0 +1,3 @@\n+a \n+b \n+c \n"
    )
    finding = only(with_patch(tmp_path, data))
    assert "and 2 more lines" in finding.message


def test_hidden_text_in_the_head(tmp_path: Path) -> None:
    finding = only(with_patch(tmp_path, patch_text(why="Words are \u202eslow.")))
    assert (finding.rule, finding.line) == ("hidden-text", 6)


def test_hidden_text_in_the_series(tmp_path: Path) -> None:
    finding = only(make(tmp_path / "p", SERIES.replace("words are slow", "words are \u202eslow")))
    assert (finding.rule, finding.path, finding.line) == ("hidden-text", "series.yaml", 13)


# -- safety


@pytest.mark.parametrize(
    "path", ["../outside.py", "/etc/passwd", "python/.GIT/hooks/x", "python/thing/a.pth", "python/sitecustomize.py"]
)
def test_unsafe_paths(tmp_path: Path, path: str) -> None:
    data = patch_text(DIFF.replace(FILE.encode(), path.encode()))
    assert "unsafe" in [rule for rule, _, _ in found(with_patch(tmp_path, data))]


def test_an_unsafe_mode(tmp_path: Path) -> None:
    data = patch_text(
        b"diff --git a/python/thing/n.py b/python/thing/n.py\nnew file mode 104755\n--- /dev/null\n"
        b"+++ b/python/thing/n.py\n@@ -0,0 +1 @@\n+a\n"
    )
    assert [rule for rule, _, _ in found(with_patch(tmp_path, data))] == ["unsafe"]


@pytest.mark.parametrize("diff", [b"", DIFF[:-8], DIFF.replace(b"-1,3", b"-1,4"), b"not a diff\n"])
def test_patch_files_that_cannot_be_read(tmp_path: Path, diff: bytes) -> None:
    data = patch_text() if diff is None else patch_text().replace(DIFF, diff)
    assert "unreadable" in [rule for rule, _, _ in found(with_patch(tmp_path, data))]


def test_two_mails_in_one_file(tmp_path: Path) -> None:
    rules = {rule for rule, _, _ in found(with_patch(tmp_path, patch_text() + patch_text(subject="Two")))}
    assert "unreadable" in rules


def test_empty_and_binary_junk(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"\x00\xff" * 100, b"\x1f\x8b\x08")):
        assert "unreadable" in [rule for rule, _, _ in found(with_patch(tmp_path / str(number), data))]


@pytest.mark.parametrize("path", ["rust/src/lib.rs", "python/thing/x.cu", "python/thing/Cargo.toml", "docs/x.md"])
def test_patches_that_no_wheel_carries(tmp_path: Path, path: str) -> None:
    root = make(tmp_path / "p", patches={"fix-a": patch_text(DIFF.replace(FILE.encode(), path.encode()))}, locked=False)
    rules = {(finding.rule, finding.file) for finding in lint(root).grave if finding.rule != "lock"}
    assert rules == {("not-in-wheel", path)}
    (root / "series.yaml").write_text(SERIES.replace('  layout: {"python/thing/": "thing/"}\n', ""))
    assert "not-in-wheel" not in [rule for rule, _, _ in found(root)]


def test_a_patch_sets_a_rule_aside_with_a_reason(tmp_path: Path) -> None:
    keep = (*(("Upstream-Status", "submitted"), ("Link", "https://example.org/pull/1")),)
    for number, (value, allowed) in enumerate(
        (("whitespace markdown needs it", 1), ("whitespace", 0), ("lock why not", 0))
    ):
        report = lint(with_patch(tmp_path / str(number), added(b"2 ", trailers=(*keep, ("Lint-Allow", value)))))
        assert (report.allowed, len(report.grave)) == (allowed, 1 - allowed)


# -- the lock


def test_a_lock_that_is_not_up_to_date(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    (root / "series.lock").unlink()
    assert found(root) == [("lock", "series.lock", 1)]
    write_lock(root, {"fix-a": b"other"})
    assert found(root) == [("lock", "patches/v1.0/fix-a.patch", 1)]
    write_lock(root, {})
    assert found(root) == [("lock", "series.lock", 1)]
    (root / "series.lock").write_text('{"schema": "patchctl.lock/9"}')
    assert "newer patchctl" in only(root).message
    (root / "series.lock").write_text("<<<<<<< a\n")
    assert "merge conflict" in only(root).message


def test_index_lines_that_contradict_the_lock(tmp_path: Path) -> None:
    data = patch_text(DIFF.replace(b"index " + DIFF.split(b"index ")[1][:40], b"index " + b"a" * 40))
    finding = only(with_patch(tmp_path, data))
    assert (finding.rule, finding.file, finding.path) == ("inexact", FILE, "patches/v1.0/fix-a.patch")
    assert data.split(b"\n")[finding.line - 1].startswith(b"diff --git")


# -- mending


def test_heads_are_completed_from_the_series(tmp_path: Path) -> None:
    head = b"From: Ada <ada@example.org>\nDate: Tue, 6 Jan 2026 10:00:00 +0100\n\nSigned-off-by: Ada <a@b.org>\n---\n"
    root = with_patch(tmp_path, head + DIFF)
    report = lint(root, fix=True)
    assert report.fixed == ("patches/v1.0/fix-a.patch",)
    assert {finding.rule for finding in report.grave} == {"lock"}
    data = (root / "patches/v1.0/fix-a.patch").read_bytes()
    assert data.endswith(DIFF)
    assert b"Subject: [PATCH] Count in digits\n\nwords are slow\n\nSigned-off-by: Ada <a@b.org>\n" in data
    assert b"\nUpstream-Status: submitted\nLink: https://example.org/pull/1\n---\n" in data
    assert lint(root, fix=True).fixed == ()
    assert (root / "patches/v1.0/fix-a.patch").read_bytes() == data


def test_other_links_stay_when_the_status_is_mended(tmp_path: Path) -> None:
    others = (("Link", "https://example.org/talk"), ("Upstream-Status", "pending"), ("Cc", "Bob <b@example.org>"))
    root = with_patch(tmp_path, patch_text(trailers=others))
    assert lint(root, fix=True).fixed == ("patches/v1.0/fix-a.patch",)
    assert (
        b"\nLink: https://example.org/talk\nCc: Bob <b@example.org>\nUpstream-Status: submitted\n"
        b"Link: https://example.org/pull/1\n---\n"
    ) in (root / "patches/v1.0/fix-a.patch").read_bytes()


def test_nothing_to_mend_changes_no_byte(tmp_path: Path) -> None:
    foreign = patch_text().replace(b"---\n\ndiff", b"---\n a.py | 2 +-\n\ndiff") + b"-- \n2.39.5\n\n"
    root = with_patch(tmp_path, foreign)
    assert lint(root, fix=True).fixed == ()
    assert (root / "patches/v1.0/fix-a.patch").read_bytes() == foreign


# -- the command


def run(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "patchctl", "-C", str(root), *args], capture_output=True, text=True, check=False
    )


def test_exit_codes_and_documents(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    assert run(root, "lint").returncode == 0
    (root / "patches/v1.0/x.patch").write_bytes(b"")
    text = run(root, "lint")
    assert text.returncode == 1
    assert "patches/v1.0/x.patch:1:" in text.stderr
    for args in (("lint", "--json"), ("--json", "lint"), ("lint", "--format", "json")):
        done = run(root, *args)
        document = json.loads(done.stdout)
        assert done.returncode == 1
        assert (document["schema"], document["ok"]) == ("patchctl.lint/1", False)
        assert document["error"]["kind"] == "unlisted-file"
        assert [finding["rule"] for finding in document["findings"] if finding["severity"] != "note"] == [
            "unlisted-file"
        ]
    log: Mapping[str, object] = json.loads(run(root, "lint", "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    assert (
        "::error file=patches/v1.0/x.patch,line=1,col=1,title=unlisted-file::"
        in run(root, "lint", "--format", "github").stdout
    )


def test_an_invalid_series_is_wrong_usage(tmp_path: Path) -> None:
    root = make(tmp_path / "p", SERIES.replace("owner: team", "owner: no"))
    done = run(root, "lint")
    assert done.returncode == 2
    assert "series.yaml:14:12:" in done.stderr


def test_exactness_on_the_release_itself(tmp_path: Path) -> None:
    upstream = tmp_path / "upstream"
    (upstream / "python/thing").mkdir(parents=True)
    (upstream / FILE).write_bytes(OLD)
    git(upstream, "init", "-q")
    git(upstream, "add", ".")
    git(upstream, "commit", "-qm", "release")
    git(upstream, "tag", "v1.0")
    series = SERIES.replace("https://example.invalid/thing.git", str(upstream))
    series = series.replace(COMMIT, git(upstream, "rev-parse", "HEAD"))
    root = make(tmp_path / "p", series)
    pristine.open_tree(projects.load(root, with_lock=False), "v1.0")
    locking.lock(projects.load(root))
    assert lint(root).findings == ()
    shifted = DIFF.replace(b" one\n", b" uno\n")
    (root / "patches/v1.0/fix-a.patch").write_bytes(patch_text(shifted))
    assert {(finding.rule, finding.file, finding.hunk) for finding in lint(root).grave} == {
        ("lock", None, None),
        ("inexact", FILE, 1),
    }


def git(cwd: Path, *args: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *args], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()
