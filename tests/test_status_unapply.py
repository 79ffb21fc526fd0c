"""``status`` and ``unapply``, with the project at hand and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.projects import LATER, SERIES, TAG, Bench, Installation, git, patchctl

every_kind = pytest.mark.parametrize("kind", ["checkout", "tree", "installed"])


def receipt(place: Installation) -> Path:
    return next(
        path
        for pattern in ("*.dist-info/patchctl-receipt.json", ".patchctl/receipt.json", ".git/patchctl/receipt.json")
        for path in place.folder.glob(pattern)
    )


@every_kind
def test_from_anywhere_by_the_receipt_alone(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture(times=kind == "installed")
    bench.run("apply", *place.options)
    (bench.root / "away").mkdir()
    (bench.project).rename(bench.root / "moved-away")
    status = bench.run("status", *place.options, cwd=bench.root / "away")
    assert status.code == 0 and status.states == dict.fromkeys(SERIES, "live"), status.words
    assert status.document["target"] == TAG and status.document["receipt"]
    (place / "python/demo/model.py").write_bytes(b"mine\n")
    status = bench.run("status", *place.options, cwd=bench.root / "away")
    assert status.code == 1 and status.states["model"] == "modified"
    assert bench.run("unapply", *place.options, cwd=bench.root / "away").code == 5
    (place / "python/demo/model.py").write_bytes(SERIES["model"]["python/demo/model.py"] or b"")
    done = bench.run("unapply", *place.options, cwd=bench.root / "away")
    assert done.code == 0 and done.document["removed"] == list(SERIES)[::-1]
    if kind == "installed":
        # All but the time of the file that was written by hand here.
        before = {name: state[:3] for name, state in before.items()}
        assert {name: state[:3] for name, state in place.picture(times=True).items()} == before
    else:
        assert place.picture() == before
    # Nothing says any more what should be live.
    assert bench.run("status", *place.options, cwd=bench.root / "away").code in (1, 4)


@every_kind
def test_the_receipt(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    found = json.loads(receipt(place).read_text())
    assert found["schema"] == "patchctl.receipt/1" and found["target"] == TAG and found["upstream"] == "demo"
    assert [patch["id"] for patch in found["patches"]] == list(SERIES)
    assert found["tool"].startswith("patchctl ") and found["python"].count(".") == 2 and len(found["lock_digest"]) == 64


@every_kind
@pytest.mark.parametrize("damage", ["cut", "later", "link", "empty"])
def test_a_damaged_receipt(bench: Bench, kind: str, damage: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    path = receipt(place)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "later":
        path.write_text(path.read_text().replace("receipt/1", "receipt/2"))
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        path.rename(bench.root / "elsewhere")
        path.symlink_to(bench.root / "elsewhere")
    before = place.picture(times=True)
    for command in ("apply", "unapply"):
        done = bench.run(command, *place.options)
        if damage == "link" and kind == "checkout":
            continue  # the git folder is git's and its user's own; links in it are followed
        assert done.code == 5 and done.document["error"]["kind"] == "receipt", done.words
        assert str(path) in done.document["error"]["message"]
        assert place.picture(times=True) == before
    status = bench.run("status", *place.options)
    assert status.code in (0, 1, 5) and (damage == "link" or status.code != 0), status.words


@every_kind
def test_half_live(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    (place / "python/demo/sizes.py").unlink()
    status = bench.run("status", *place.options)
    assert status.code == 1 and status.states["sizes"] == "half-live"
    assert {id: state for id, state in status.states.items() if id != "sizes"} == dict.fromkeys(
        (id for id in SERIES if id != "sizes"), "live"
    )
    assert status.document["error"]["kind"] == "half-live"
    assert "sizes.py" in status.document["error"]["file"]


@every_kind
def test_missing(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    status = bench.run("status", *place.options)
    assert status.code == 1 and status.states == dict.fromkeys(SERIES, "missing")
    assert bench.run("status", *place.options, "--allow-missing").code == 0
    bench.run("apply", "--up-to", "first", *place.options)
    status = bench.run("status", *place.options)
    assert status.code == 1 and status.states["first"] == "live" and status.states["model"] == "missing"
    assert bench.run("status", *place.options, "--allow-missing").code == 0


@every_kind
def test_the_gate_says_nothing(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    bench.run("apply", *place.options)
    good = patchctl("status", "-q", *place.options, cwd=bench.project, text=True)
    assert (good.code, good.words) == (0, "")
    (place / "python/demo/sizes.py").unlink()
    bad = patchctl("status", "-q", *place.options, cwd=bench.project, text=True)
    assert bad.code == 1 and bad.stdout == "" and "sizes" in bad.stderr


def test_without_a_place_the_series_at_a_glance(bench: Bench) -> None:
    done = patchctl("status", cwd=bench.project, text=True)
    assert done.code == 0 and all(id in done.stdout for id in SERIES)


def test_unapply_without_a_place(bench: Bench) -> None:
    assert bench.run("unapply").code == 2
    assert bench.run("unapply", cwd=Path("/")).code == 2
    assert bench.run("status", "--into", bench.root / "nowhere").code in (2, 4)


@every_kind
def test_unapply_restores_what_an_older_series_put_there(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    before = place.picture()
    bench.run("apply", *place.options)
    bench.change_series()
    for path in (bench.project / "patches" / TAG).iterdir():
        path.write_bytes(b"nothing that could be reversed\n")
    done = bench.run("unapply", *place.options)
    assert done.code == 0 and done.document["removed"] == list(SERIES)[::-1]
    assert place.picture() == before


def test_unapply_of_a_tree_that_lost_its_receipt(bench: Bench) -> None:
    """By the project's lock: hashes tell what is live."""
    place = bench.place("tree")
    before = place.picture()
    bench.run("apply", *place.options)
    receipt(place).unlink()
    receipt_folder = place.folder / ".patchctl"
    receipt_folder.rmdir()
    assert bench.run("status", *place.options).code == 0
    assert bench.run("unapply", *place.options).code == 0
    assert place.picture() == before


def test_unapply_leaves_other_files_alone(bench: Bench) -> None:
    place = bench.place("tree")
    bench.run("apply", *place.options)
    (place / "python/demo/sub/mine.py").write_bytes(b"mine\n")
    assert bench.run("unapply", *place.options).code == 0
    assert (place / "python/demo/sub/mine.py").read_bytes() == b"mine\n"


def test_a_checkout_that_went_on(bench: Bench) -> None:
    """Another branch has nothing to do with what was applied on the first."""
    place = bench.place("checkout")
    bench.run("apply", *place.options)
    tip = git(place.folder, "rev-parse", "HEAD").strip()
    git(place.folder, "checkout", "-q", "-b", "other", TAG)
    assert bench.run("status", *place.options).code == 1
    assert bench.run("unapply", *place.options).document["removed"] == []
    assert bench.run("apply", *place.options).code == 0
    assert git(place.folder, "rev-parse", "other").strip() == tip == git(place.folder, "rev-parse", "work").strip()


@pytest.mark.parametrize("kind", ["checkout", "tree"])
def test_a_place_that_is_a_link_itself(bench: Bench, kind: str) -> None:
    place = bench.place(kind)
    link = bench.root / "link"
    link.symlink_to(place.folder)
    assert bench.run("apply", "--into", link).code == 0 and place.holds(SERIES)
    assert bench.run("status", "--into", place.folder).code == 0
    assert bench.run("unapply", "--into", link).code == 0 and place.holds({})


@every_kind
def test_the_place_says_which_target_it_is_patched_for(bench: Bench, kind: str) -> None:
    """Another default target in the project does not make a patched place look wrong."""
    place = bench.place(kind)
    bench.run("apply", *place.options)
    path = bench.project / "series.yaml"
    text = path.read_text().replace("default: v1.0", "default: v2.0")
    path.write_text(text.replace("targets:\n", 'targets:\n  v2.0: {pin: {commit: "' + "2" * 40 + '"}, patches: []}\n'))
    status = bench.run("status", *place.options)
    assert status.code == 0 and status.document["target"] == TAG, status.words
    done = bench.run("unapply", *place.options)
    assert done.code == 0 and done.document["removed"] == list(SERIES)[::-1]


def test_without_commits_forth_and_back(bench: Bench) -> None:
    place = bench.place("checkout")
    before = (place.picture(), git(place.folder, "rev-parse", "HEAD"), git(place.folder, "ls-files", "-s"))
    assert bench.run("apply", "--no-commit", *place.options).code == 0
    bench.change_series()
    assert bench.run("apply", "--no-commit", *place.options).code == 0 and place.holds(LATER)
    assert bench.run("status", *place.options).code == 0
    assert bench.run("unapply", *place.options).code == 0
    assert (place.picture(), git(place.folder, "rev-parse", "HEAD"), git(place.folder, "ls-files", "-s")) == before
    assert git(place.folder, "status", "--porcelain") == ""


def test_a_patch_that_nobody_locked_is_not_passed_over(bench: Bench) -> None:
    place = bench.place("installed")
    assert bench.run("apply", *place.options).code == 0
    series = bench.project / "series.yaml"
    entry = "  novel:\n    title: New\n    why: a test\n    owner: me\n    upstream: {status: pending}\n"
    series.write_text(series.read_text().replace("patches: [", "patches: [novel, ") + entry)
    assert bench.run("status", "-q", *place.options).code == 1
    run = bench.run("status", "--json", *place.options)
    assert run.code == 1 and run.states["novel"] == "missing" and "no-lock" in run.kinds
