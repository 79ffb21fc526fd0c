"""``lock``: what is recorded of a series, from which source ever, and what ``--check`` notices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from patchctl.cli.main import group
from patchctl.errors import DecisionNeeded, Refused
from patchctl.series import lock as locking
from patchctl.series import project as projects
from patchctl.workflows.lock import lock
from tests.upstream import releases
from tests.upstream.machine import machine

__all__ = ["machine"]

HEAD = b"From: A <a@example.org>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] %b\n\nWhy.\n---\n\n"

CORE = (
    HEAD % b"core"
    + b"""diff --git a/python/demo/core.py b/python/demo/core.py
--- a/python/demo/core.py
+++ b/python/demo/core.py
@@ -1,5 +1,5 @@
 def one():
-    return 1
+    return 10
{blank}{blank} def two():
""".replace(b"{blank}", b" \n")
)
AGAIN = CORE.replace(b"return 10", b"return 100").replace(b"return 1\n", b"return 10\n")
TOOL = (
    HEAD % b"tool"
    + b"""diff --git a/python/demo/tool.py b/python/demo/utility.py
similarity index 50%
rename from python/demo/tool.py
rename to python/demo/utility.py
index 1111111..2222222 100755
--- a/python/demo/tool.py
+++ b/python/demo/utility.py
@@ -1,2 +1,2 @@
 #!/usr/bin/env python3
-print('tool')
+print('utility')
diff --git a/python/demo/fresh.py b/python/demo/fresh.py
new file mode 100755
--- /dev/null
+++ b/python/demo/fresh.py
@@ -0,0 +1 @@
+fresh = 1
diff --git a/python/demo/__init__.py b/python/demo/__init__.py
deleted file mode 100644
--- a/python/demo/__init__.py
+++ /dev/null
@@ -1 +0,0 @@
-\"\"\"A demo.\"\"\"
"""
)
PATCHES = {"core": CORE, "core-again": AGAIN, "tool": TOOL}


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    releases.sdist(folder)
    releases.wheel(folder)
    return folder


@pytest.fixture
def it(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose releases lie in a folder of archives."""
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return make(tmp_path / "project", dist, PATCHES)


def make(folder: Path, dist: Path, patches: dict[str, bytes]) -> Path:
    sdist, wheel = (releases.sha256(dist / name) for name in ("demo-1.0.tar.gz", "demo-1.0-py3-none-any.whl"))
    pin = f'sdist: "sha256:{sdist}", wheels: ["sha256:{wheel}"]'
    return releases.project(folder, pypi="demo", git="../upstream", pin=pin, patches=patches)


def run(folder: Path, *args: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    done = CliRunner().invoke(group, ["-C", str(folder), "--json", *args], standalone_mode=False)
    return done.return_value or done.exit_code, json.loads(done.stdout)


def text(folder: Path) -> bytes:
    return (folder / "series.lock").read_bytes()


def edit(folder: Path, id: str, old: bytes, new: bytes) -> None:
    path = folder / "patches" / "v1.0" / f"{id}.patch"
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))


def test_the_footprint(it: Path) -> None:
    report = lock(projects.load(it))
    assert report.written and [target.target for target in report.targets] == ["v1.0"]
    entry = projects.load(it).lock.targets["v1.0"]  # type: ignore[union-attr]
    assert [patch.id for patch in entry.patches] == list(PATCHES)
    files = {patch.id: {file.path: (file.before, file.after) for file in patch.files} for patch in entry.patches}
    assert files["core"]["python/demo/core.py"][1] == files["core-again"]["python/demo/core.py"][0]
    modes = {path: tuple(s and s.mode for s in states) for path, states in files["tool"].items()}
    assert modes == {
        "python/demo/__init__.py": ("100644", None),
        "python/demo/fresh.py": (None, "100755"),
        "python/demo/tool.py": ("100755", None),
        "python/demo/utility.py": (None, "100755"),
    }
    assert not lock(projects.load(it)).written, "a second run changes no byte"


def test_every_source_gives_the_same_lock(it: Path, tmp_path: Path, dist: Path) -> None:
    lock(projects.load(it))
    expected = text(it)
    site = releases.unpacked(tmp_path / "site")
    for name in ("pyproject.toml", "PKG-INFO", "setup.cfg", "README.md"):
        (site / name).unlink()
    for path in site.rglob("*.py"):
        path.chmod(0o644)
    for source in (
        dist / "demo-1.0.tar.gz",
        dist / "demo-1.0-py3-none-any.whl",
        releases.repository(tmp_path / "upstream"),
        releases.unpacked(tmp_path / "tree"),
        site,
    ):
        (it / "series.lock").unlink()
        lock(projects.load(it), source=str(source))
        assert text(it) == expected, source
    (it / "series.lock").unlink()
    lock(projects.load(it), source="git")
    assert text(it) == expected


def test_check_notices_everything(it: Path) -> None:
    assert run(it, "lock", "--check")[0] == 1
    assert not (it / "series.lock").exists()
    assert run(it, "lock")[0] == 0
    assert run(it, "lock", "--check")[0] == 0
    before = text(it)
    edit(it, "core-again", b"return 100", b"return 1000")
    code, said = run(it, "lock", "--check")
    assert code == 1 and said["error"]["kind"] == "stale-lock" and said["error"]["patch"] == "core-again"
    assert {problem["file"] for problem in said["problems"]} == {None, "python/demo/core.py"}
    assert text(it) == before


def test_a_comment_makes_another_file_and_the_same_footprint(it: Path) -> None:
    lock(projects.load(it))
    edit(it, "core", b"Why.", b"Why so.")
    report = lock(projects.load(it), check=True)
    assert [(problem.patch, problem.file) for problem in report.differences] == [("core", None)]


def test_order_pins_and_lists_count(it: Path) -> None:
    lock(projects.load(it))
    series = it / "series.yaml"
    whole = series.read_text()
    for old, new, word in (
        ("[core, core-again, tool]", "[tool, core, core-again]", "order"),
        ("[core, core-again, tool]", "[core, core-again]", "has not"),
        (', wheels: ["sha256:', ', wheels: ["sha256:' + "0" * 64 + '", "sha256:', "pins"),
    ):
        assert old in whole
        series.write_text(whole.replace(old, new))
        report = lock(projects.load(it), check=True)
        assert any(word in problem.message for problem in report.differences), word


def test_misfits_are_all_named(it: Path) -> None:
    edit(it, "core", b"return 1\n", b"return 7\n")
    edit(it, "tool", b"-print('tool')", b"-print('other')")
    code, said = run(it, "lock")
    assert code == 3 and not (it / "series.lock").exists()
    named = [(p["kind"], p["patch"], p["file"], p["hunk"]) for p in said["problems"]]
    assert named == [
        ("inexact", "core", "python/demo/core.py", 1),
        ("not-judged", "core-again", "python/demo/core.py", None),
        ("inexact", "tool", "python/demo/utility.py", 1),
    ]


def test_a_patch_for_what_a_folder_is_is_refused(it: Path) -> None:
    edit(it, "tool", b"python/demo/fresh.py", b"python/demo/core.py/fresh.py")
    with pytest.raises(Refused):
        lock(projects.load(it))


def test_a_missing_patch_file_is_named(it: Path) -> None:
    (it / "patches" / "v1.0" / "tool.patch").unlink()
    code, said = run(it, "lock")
    assert code in (2, 5) and said["error"]["patch"] == "tool"


def test_other_targets_are_locked_when_they_changed(it: Path, dist: Path) -> None:
    """Without a name the default is proved, and whatever else looks stale; nothing else is fetched."""
    releases.sdist(dist, "0.9")
    series = it / "series.yaml"
    pin = releases.sha256(dist / "demo-0.9.tar.gz")
    older = f'  v0.9:\n    pin: {{sdist: "sha256:{pin}"}}\n    patches: [core]\npatches:\n'
    series.write_text(series.read_text().replace("patches:\n", older, 1))
    (it / "patches" / "v0.9").mkdir()
    (it / "patches" / "v0.9" / "core.patch").write_bytes(CORE)
    assert [target.target for target in lock(projects.load(it)).targets] == ["v1.0", "v0.9"]
    (dist / "demo-0.9.tar.gz").unlink()
    assert [target.target for target in lock(projects.load(it)).targets] == ["v1.0"]
    (it / "patches" / "v0.9" / "core.patch").write_bytes(CORE + b"\n")
    report = lock(projects.load(it), check=True)
    assert [problem.patch for problem in report.differences] == ["core"]
    series.write_text(series.read_text().replace(older, "patches:\n"))
    report = lock(projects.load(it))
    assert report.written and "v0.9" not in locking.read(it / "series.lock").targets  # type: ignore[union-attr]


def test_reviews_hold_for_the_text_they_were_given_for(it: Path) -> None:
    lock(projects.load(it))
    found = projects.load(it).lock
    assert found is not None
    from dataclasses import replace

    review = locking.Review("scope", "it lands elsewhere", "python/demo/core.py", "me", "it is meant to")
    entry = found.targets["v1.0"]
    kept = replace(entry, patches=tuple(replace(patch, reviews=(review,)) for patch in entry.patches))
    locking.write(it / "series.lock", locking.Lock({"v1.0": kept}))
    edit(it, "core", b"Why.", b"Why so.")
    lock(projects.load(it))
    reviews = {patch.id: patch.reviews for patch in projects.load(it).lock.targets["v1.0"].patches}  # type: ignore[union-attr]
    assert reviews == {"core": (), "core-again": (review,), "tool": (review,)}


def test_a_mailbox_is_no_patch_of_a_series(it: Path) -> None:
    path = it / "patches" / "v1.0" / "core.patch"
    mark = b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
    path.write_bytes(mark + CORE + mark + TOOL)
    with pytest.raises((Refused, DecisionNeeded)):
        lock(projects.load(it))
