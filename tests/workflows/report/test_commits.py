"""Upstream's commits, whatever their messages and files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchctl.git import Git
from patchctl.workflows.report.commits import Log
from patchctl.workflows.report.model import Block, UpstreamFile, UpstreamHunk
from tests.target.checkouts import git

ODD = "a \"b'\té\n.py"


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    root = tmp_path / "upstream"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for number, subject in enumerate(["base", "\x01\x1b[31m odd (#5)", "side", "last <b>"]):
        for name in ("plain.py", ODD) if number != 2 else (ODD,):
            (root / name).write_text("".join(f"{n if n != 9 else number}\n" for n in range(30)))
        git(root, "add", "-A")
        git(root, "commit", "-q", "--cleanup=verbatim", "-m", subject)
        git(root, "tag", f"t{number}")
    git(root, "checkout", "-q", "-b", "other", "t1")
    (root / "third").write_text("x\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "on a branch")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "merge it", "other")
    return root


def log(root: Path, web: str | None = None) -> Log:
    ids = [git(root, "rev-parse", name).strip() for name in ("t0", "main")]
    return Log(Git(root / ".git", root / ".git"), ids[0], ids[1], web)


def told(found: Log, file: UpstreamFile) -> list[tuple[str, bool]]:
    found.read([file])
    return [(commit.subject, commit.near) for commit in found.fill(file).commits]


def hunk(start: int, end: int) -> UpstreamHunk:
    return UpstreamHunk(Block("", ()), 0, start, end)


def test_commits_of_a_file_and_of_its_lines(upstream: Path) -> None:
    near = UpstreamFile("plain.py", "plain.py", "changed", (hunk(10, 10), hunk(20, 21)))
    subjects = [("last <b>", True), ("\x01\x1b[31m odd (#5)", True)]
    assert told(log(upstream), near) == subjects
    far = UpstreamFile("plain.py", "plain.py", "changed", (hunk(20, 21),))
    assert told(log(upstream), far) == [(subject, False) for subject, _ in subjects]
    assert told(log(upstream), UpstreamFile("plain.py", "plain.py", "same")) == []


def test_odd_names(upstream: Path) -> None:
    found = log(upstream)
    assert [subject for subject, _ in told(found, UpstreamFile(ODD, ODD, "changed"))] == [
        "last <b>",
        "side",
        "\x01\x1b[31m odd (#5)",
    ]
    assert told(log(upstream), UpstreamFile("*.py", "*.py", "changed")) == []
    assert [subject for subject, _ in told(log(upstream), UpstreamFile("third", "third", "new"))] == ["on a branch"]


def test_whole_messages(upstream: Path) -> None:
    found = log(upstream).messages
    assert "\x01\x1b[31m odd (#5)" in [message.partition("\n")[0] for _, message in found]
    assert all(len(id) == 40 for id, _ in found)
