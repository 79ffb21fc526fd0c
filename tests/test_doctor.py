"""``doctor``: every fault becomes a line that says what to do, and an exit code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from patchctl.cli.main import group
from patchctl.series import project as projects
from patchctl.workflows.lock import lock
from tests.upstream import releases
from tests.upstream.machine import machine

__all__ = ["machine"]


def doctor(folder: Path, *args: str) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """The exit code, and per name the states and messages."""
    done = CliRunner().invoke(group, ["-C", str(folder), "--json", "doctor", *args], standalone_mode=False)
    said = json.loads(done.stdout)
    code = done.return_value or done.exit_code
    assert said["schema"] == "patchctl.doctor/1" and (code == 0) == said["ok"] == (said["error"] is None)
    found: dict[str, list[tuple[str, str]]] = {}
    for check in said["checks"]:
        found.setdefault(check["name"], []).append((check["state"], check["message"]))
    return code, found


@pytest.fixture
def it(tmp_path: Path) -> Path:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    folder = releases.project(
        tmp_path / "project", git="../upstream", pypi="demo", pin=f"commit: {commit}", patches={"fix": PATCH}
    )
    lock(projects.load(folder))
    return folder


PATCH = b"""From: A <a@example.org>
Subject: [PATCH] fix

diff --git a/README b/README
--- a/README
+++ b/README
@@ -1 +1 @@
-top, once more
+top
"""


def test_all_is_well(it: Path) -> None:
    code, found = doctor(it)
    assert code == 0
    assert {name: states[0][0] for name, states in found.items()} == dict.fromkeys(
        ("python", "git", "series", "lock", "cache", "index"), "ok"
    )
    assert "git v1.0" in found["cache"][0][1]


def test_without_a_project(tmp_path: Path) -> None:
    code, found = doctor(tmp_path)
    assert code == 0 and found["series"][0][0] == "warn"


def test_without_git(it: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, found = doctor(it)
    assert code == 4 and found["git"][0][0] == "fail"


def test_an_invalid_series(it: Path) -> None:
    (it / "series.yaml").write_text("version: 2\n")
    code, found = doctor(it)
    assert code == 1 and found["series"][0][0] == "fail"


def test_a_broken_lock(it: Path) -> None:
    (it / "series.lock").write_text("<<<<<<< ours\n")
    code, found = doctor(it)
    assert code == 1 and found["lock"][0][0] == "fail"


def test_a_stale_and_a_missing_lock(it: Path) -> None:
    (it / "patches" / "v1.0" / "fix.patch").write_bytes(PATCH + b"\n")
    assert doctor(it)[0] == 1
    (it / "series.lock").unlink()
    code, found = doctor(it)
    assert code == 1 and "not in series.lock" in found["lock"][0][1]


def test_a_damaged_cache(it: Path, machine: Path) -> None:
    (cache,) = machine.glob("*.git")
    blob = next(file for file in sorted(cache.glob("objects/??/*")))
    blob.chmod(0o644)
    blob.write_bytes(b"\0" + blob.read_bytes()[1:])
    code, found = doctor(it)
    assert code == 4 and "damaged" in found["cache"][0][1]


def test_a_cache_that_can_not_be_written(it: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PATCHCTL_CACHE", str(tmp_path / "file" / "cache"))
    code, found = doctor(it)
    assert code == 4 and "PATCHCTL_CACHE" in found["cache"][0][1]


def test_online(it: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    releases.sdist(dist)
    with releases.Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:secret@"))
        code, found = doctor(it, "--online")
        assert code == 0 and "demo-1.0.tar.gz" in found["index"][0][1] and "secret" not in str(found)
        assert found["upstream"][0][0] == "ok"
    monkeypatch.setenv("PIP_RETRIES", "0")
    releases.git(tmp_path / "upstream", "tag", "-f", "v1.0", "v1.1^{}")
    code, found = doctor(it, "--online")
    assert code == 1 and found["index"][0][0] == "warn" and found["upstream"][0][0] == "fail"


@pytest.mark.parametrize(("there", "state"), [("0.6.9+cu130", "ok"), ("0.6.4", "fail"), (None, "fail")])
def test_what_patches_need(it: Path, tmp_path: Path, there: str | None, state: str) -> None:
    series = it / "series.yaml"
    series.write_text(series.read_text() + '\n    requires: {Flash-Thing: ">=0.6.9"}\n')
    code, found = doctor(it)
    assert code == 0 and "not installed" in found["requires"][0][1], "this is not the engine's environment"
    site = tmp_path / "site"
    for name, version in (("demo", "1.0"), *([("flash_thing", there)] if there else [])):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
        (info / "RECORD").write_text("")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    code, found = doctor(it, "--python", str(python))
    assert (code, found["requires"][0][0]) == (int(state == "fail"), state)
    assert doctor(it, "--python", os.devnull)[0] == 4
