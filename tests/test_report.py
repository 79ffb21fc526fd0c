"""``report`` from the command line: what a reviewer of an upgrade reads, after the fact."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from patchctl.series.lock import Provenance, Review
from tests.upgrades import MOVED, NEW, OLD, Yard, copy, make


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return make(tmp_path_factory.mktemp("yard"))


@pytest.fixture
def yard(made: Yard, tmp_path: Path) -> Yard:
    return copy(made, tmp_path)


def patches(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {patch["id"]: patch for patch in document["patches"]}


def test_every_patch_has_its_outcome(yard: Yard) -> None:
    done = yard.run("report", "--from", OLD, "--to", NEW)
    assert done.code == 0 and done.document["schema"] == "patchctl.report/1" and done.document["ok"]
    assert (done.document["from"], done.document["to"]) == (OLD, NEW)
    told = patches(done.document)
    assert told["first"]["outcome"] in ("unchanged", "merged", "offset")
    assert told["second"]["outcome"] == "unchanged" and told["second"]["interdiff"]["kind"] == "same"
    # The engine leaves it open, and it is carried: so a person must have done it.
    assert told["sizes"]["outcome"] == "resolved" and told["sizes"]["engine"] == "conflict"
    assert told["row"]["outcome"] == "upstreamed" and told["row"]["decided"]["evidence"] == "the table has the row"
    assert done.document["decisions_needed"] == []


def test_old_against_new_patch(yard: Yard) -> None:
    told = patches(yard.run("report").document)
    (block,) = told["sizes"]["interdiff"]["blocks"]
    rows = [row["sign"] + row["text"] for row in block["rows"]]
    assert "--SIZES = [8, 9]" in rows and "+-SIZES = [1, 2]" in rows and "++SIZES = [1, 12]" in rows
    assert block["heading"] == "python/demo/model.py"
    assert told["first"]["interdiff"]["kind"] in ("same", "numbers", "changed")
    assert told["row"]["interdiff"]["kind"] == "old-only"


def test_upstream_changes_near_the_patch(yard: Yard) -> None:
    (file,) = patches(yard.run("report").document)["first"]["upstream"]
    assert file["state"] == "changed" and file["elsewhere"] == 1
    (hunk,) = file["hunks"]
    assert 0 < hunk["distance"] < 10 and hunk["block"]["heading"].endswith(" f2")
    assert {"sign": "+", "text": "    return 2 + 2", "old": None, "new": 10} in hunk["block"]["rows"]


def test_why_owner_and_what_is_overdue(yard: Yard) -> None:
    told = patches(yard.run("report").document)["first"]
    assert (told["title"], told["owner"], told["since"]) == ("Return a hundred", "team-a", "2023-07-22")
    assert {finding["kind"] for finding in told["review"]} >= {"drop-when", "expired"}
    assert told["waits"]


def test_requirements_and_what_upstream_asks(yard: Yard) -> None:
    (entry,) = yard.run("report").document["requires"]
    assert (entry["package"], entry["upstream_then"], entry["upstream_now"]) == ("flash-infer", "==0.6.3", "==0.6.7")
    assert entry["changed"] and entry["now"] == ["first >=0.6.5"]


def test_commits_where_history_is_there(yard: Yard) -> None:
    before = yard.run("report").document
    assert before["history"]["next"] == f"patchctl fetch --history {OLD}..{NEW}"
    assert not patches(before)["first"]["upstream"][0]["commits"]
    assert yard.run("fetch", "--history", f"{OLD}..{NEW}").code == 0
    told = patches(yard.run("report").document)
    commits = {commit["subject"]: commit["near"] for commit in told["first"]["upstream"][0]["commits"]}
    assert commits == {"Return more from f2 (#7)": True, "Work far away": False}
    # The first commit behind the old release has no parent here, and made none of the files it holds.
    assert [commit["subject"] for commit in told["sizes"]["upstream"][0]["commits"]] == ["Name other sizes"]
    assert told["second"]["upstream"][0]["commits"] == []
    links = [note for note in told["row"]["evidence"] if note["kind"] == "link"]
    assert len(links) == 1 and "#19" in links[0]["text"]


def test_the_lock_says_where_it_came_from_and_who_accepted(yard: Yard) -> None:
    review = Review(
        "superseded", "Upstream has its own.", "python/demo/model.py", "ada", "ours is faster", "2026-11-30"
    )
    yard.change_lock("sizes", provenance=Provenance(OLD, "kept"), reviews=(review,))
    document = yard.run("report", "--to", "1.1").document
    assert document["from"] == OLD
    told = patches(document)["sizes"]
    assert told["outcome"] == "kept" and told["decided"]["how"] == "kept"
    (found,) = [finding for finding in told["review"] if finding["accepted"]]
    assert (found["by"], found["reason"]) == ("ada", "ours is faster")
    page = yard.report("html").decode()
    assert "ours is faster" in page and "ours is faster" in yard.report("md").decode()


def test_a_patch_that_nobody_decided_about(tmp_path: Path) -> None:
    yard = make(tmp_path, {id: files for id, files in MOVED.items() if id == "first"}, dropped="")
    done = yard.run("report")
    told = patches(done.document)
    assert done.code == 0
    assert told["sizes"]["outcome"] == "conflict" and told["sizes"]["conflicts"]
    assert told["second"]["outcome"] == "missing"
    assert set(done.document["decisions_needed"]) >= {"sizes", "second"}
    text = yard.run("report", text=True).stdout
    assert "<<<<<<< v1.1" in text and "What waits for a person" in text


def test_a_patch_that_somebody_edited(yard: Yard) -> None:
    path = yard.root / f"patches/{NEW}/second.patch"
    path.write_bytes(re.sub(rb"index .*\n", b"", path.read_bytes()).replace(b"+STILL = 2", b"+STILL = 3"))
    told = patches(yard.run("report").document)["second"]
    assert told["differs"] and told["outcome"] == "unchanged" and not told["waits"]
    assert "somebody edited it" in yard.report("md").decode()


def test_a_patch_that_does_not_fit_where_it_is_carried(yard: Yard) -> None:
    path = yard.root / f"patches/{NEW}/second.patch"
    path.write_bytes(path.read_bytes().replace(b"-STILL = 1", b"-STILL = 7"))
    told = patches(yard.run("report").document)["second"]
    (found,) = told["review"]
    assert found["kind"] == "inexact" and found["next"] == f"patchctl lock {NEW}" and told["waits"]


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_it_prints_what_it_writes(yard: Yard, form: str) -> None:
    done = yard.run("report", "--format", form, text=True)
    assert done.code == 0 and done.stderr == ""
    if form == "json":
        printed, written = json.loads(done.stdout), json.loads(yard.report("json"))
        assert {**written, "written": printed["written"]} == printed
        assert printed["written"] == [f"build/reports/{OLD}..{NEW}/report.{name}" for name in ("md", "html", "json")]
    else:
        assert done.stdout.encode() == yard.report(form)
    again = yard.report(form)
    yard.run("report")
    assert yard.report(form) == again


def test_the_page_needs_nothing_else(yard: Yard) -> None:
    yard.run("report")
    page = yard.report("html").decode()
    assert "<script" not in page and "src=" not in page and "@import" not in page and "url(" not in page
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors and "patch-first" in anchors


def test_faults_are_said(yard: Yard) -> None:
    assert yard.run("report", "--to", "v9").code == 2
    same = yard.run("report", "--from", OLD, "--to", OLD)
    assert same.code == 2 and same.document["error"]["kind"] == "same-target"
    assert yard.run("report", "--to", OLD).document["error"]["kind"] == "no-target"
    (yard.root / f"patches/{OLD}/first.patch").unlink()
    assert yard.run("report").code == 5


def test_a_folder_that_can_not_be_written_is_a_warning(yard: Yard) -> None:
    (yard.root / "build").write_text("a file\n")
    done = yard.run("report")
    assert done.code == 0 and done.document["warnings"][0]["kind"] == "not-written" and done.document["written"] == []
    assert len(done.document["patches"]) == 4


def test_a_link_out_of_the_project_is_refused(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (yard.root / "build").symlink_to(tmp_path / "elsewhere")
    done = yard.run("report")
    assert done.code == 5 and done.document["error"]["kind"] == "unsafe-path"
    assert not list((tmp_path / "elsewhere").iterdir())
