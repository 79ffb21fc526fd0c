"""``fetch`` from the command line, and what becomes of the cache when it is killed on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from patchctl.cli.main import group
from patchctl.series import project as projects
from patchctl.series.lock import LockedPatch
from patchctl.upstream.pristine import open_tree
from patchctl.workflows.lock import lock
from tests.upstream import releases
from tests.upstream.machine import machine

__all__ = ["machine"]

OWN = Path(__file__).parent.parent


def run(folder: Path, *args: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    done = CliRunner().invoke(group, ["-C", str(folder), "--json", *args], standalone_mode=False)
    return done.return_value or done.exit_code, json.loads(done.stdout)


@pytest.fixture
def it(tmp_path: Path) -> Path:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    return releases.project(tmp_path / "project", git="../upstream", pin=f"commit: {commit}", patches={})


def test_fetch_says_what_it_did(it: Path, machine: Path) -> None:
    code, said = run(it, "fetch")
    assert code == 0 and said["schema"] == "patchctl.fetch/1" and said["ok"]
    (target,) = said["targets"]
    assert (target["target"], target["source"], target["pinned"], target["fetched"]) == ("v1.0", "git", True, True)
    assert Path(said["cache"]).parent == machine
    assert run(it, "fetch", "1.0")[1]["targets"][0]["fetched"] is False


def test_unknown_names_are_usage(it: Path) -> None:
    assert run(it, "fetch", "v7")[0] == 2
    assert run(it, "fetch", "--history", "v1.0")[0] == 2
    assert run(it, "fetch", "--source", "nowhere")[0] == 2
    assert run(it, "fetch", "--source", "pypi")[0] == 2


def test_history(it: Path) -> None:
    code, said = run(it, "fetch", "--history", "v0.9..v1.1")
    assert code == 0 and said["history"] == ["v0.9", "v1.1"]
    assert (
        releases.git(Path(said["cache"]), "rev-list", "--count", "refs/upstream/git/v0.9..refs/upstream/git/v1.1")
        == "3"
    )


def test_what_is_not_pinned_is_said(it: Path) -> None:
    series = it / "series.yaml"
    series.write_text(re.sub("commit: [0-9a-f]+", f'sdist: "sha256:{"a" * 64}"', series.read_text()))
    code, said = run(it, "fetch")
    assert code == 0 and said["warnings"][0]["kind"] == "unpinned" and "commit: " in said["warnings"][0]["message"]


def test_a_moved_tag_is_5(it: Path, tmp_path: Path) -> None:
    releases.git(tmp_path / "upstream", "tag", "-f", "v1.0", "v1.1^{}")
    code, said = run(it, "fetch")
    assert code == 5 and said["error"]["kind"] == "integrity"


def test_without_a_network_it_is_4_and_says_what_to_do(it: Path) -> None:
    series = it / "series.yaml"
    series.write_text(series.read_text().replace("../upstream", "https://me:secret@localhost:1/demo.git"))
    code, said = run(it, "fetch")
    assert code == 4 and said["error"]["kind"] == "network" and "secret" not in json.dumps(said)


def test_without_git_it_is_4(it: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    code, said = run(it, "fetch")
    assert code == 4 and said["error"]["kind"] == "git-missing"


def test_a_damaged_cache_is_4_and_says_what_to_do(it: Path) -> None:
    cache = Path(run(it, "fetch")[1]["cache"])
    for file in [*cache.glob("objects/??/*"), *cache.glob("objects/pack/*")]:
        file.unlink()
    code, said = run(it, "fetch")
    assert code == 4 and said["error"]["kind"] == "cache-broken" and "rm -r" in said["error"]["next"]


def test_killed_at_any_moment_the_next_run_succeeds(it: Path, tmp_path: Path, machine: Path) -> None:
    """SIGKILL after growing delays: what stands in the cache then is never taken for a release."""
    dist = tmp_path / "dist"
    dist.mkdir()
    path = releases.sdist(dist, change={f"demo/m{n}.py": (0o644, os.urandom(2000)) for n in range(400)})
    pin = f'sdist: "sha256:{releases.sha256(path)}"'
    folder = releases.project(tmp_path / "other", pypi="demo", pin=pin, patches={})
    environ = {**os.environ, "PIP_FIND_LINKS": str(dist), "PIP_NO_INDEX": "1"}
    killed = 0
    for step in range(12):
        command = [sys.executable, "-m", "patchctl", "-C", str(folder), "fetch"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.05 + step * 0.06)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        refs = [releases.git(cache, "for-each-ref") for cache in machine.glob("*.git")]
        if any(refs):
            break
    assert killed
    done = subprocess.run([sys.executable, "-m", "patchctl", "-C", str(folder), "fetch"], env=environ, check=False)
    assert done.returncode == 0
    (cache,) = machine.glob("*.git")
    assert releases.git(cache, "fsck", "--full") == ""
    assert not [*cache.glob("fetching"), *cache.glob("objects/pack/tmp_*"), *machine.glob("*.new")] or refs


@pytest.mark.network
@pytest.mark.skipif(not (OWN / "series.yaml").is_file(), reason="this copy has no series of its own")
def test_the_real_release_from_every_source(tmp_path: Path) -> None:
    """sglang 0.5.9 as source archive, as wheel, and as a git repository made of it: one footprint."""
    tag = "v0.5.9"
    folder = tmp_path / "project"
    shutil.copytree(OWN / "patches" / tag, folder / "patches" / tag)
    series = (OWN / "series.yaml").read_text()
    (folder / "series.yaml").write_text(series)
    tree = open_tree(projects.load(folder), tag, "pypi")
    assert tree.archive == "sglang-0.5.9.tar.gz" and tree.pinned
    assert len(tree.names()) == 1942 and "python/sglang/_version.py" not in tree.names()
    entries = tree.git.tree(tree.commit)
    assert sum(entry.mode == 0o100755 for entry in entries.values()) == 12
    expected = footprint(folder, tag, "pypi")

    clone = tmp_path / "clone"
    clone.mkdir()
    releases.git(clone, "init", "-q")
    releases.git(clone, "fetch", "-q", str(tree.git_dir), f"refs/upstream/pypi/{tag}")
    releases.git(clone, "tag", tag, "FETCH_HEAD")
    assert footprint(folder, tag, str(clone)) == expected

    # Without a pin for it the source archive does not count, and the wheel is taken.
    pin = projects.load(folder).series.targets[tag].pin.sdist
    (folder / "series.yaml").write_text(series.replace(f'sdist: "{pin}"', "", 1))
    wheel = open_tree(projects.load(folder), tag, "pypi")
    assert wheel.archive == "sglang-0.5.9-py3-none-any.whl" and not wheel.modes
    files = {path: entry.id for path, entry in wheel.git.tree(wheel.commit).items() if entry.mode == 0o100644}
    assert len(files) == 1935 and files == {path: entries[path].id for path in files}
    assert footprint(folder, tag, "pypi") == expected


def footprint(folder: Path, tag: str, source: str) -> tuple[LockedPatch, ...]:
    """What a fresh lock records of the patches."""
    (folder / "series.lock").unlink(missing_ok=True)
    lock(projects.load(folder), [tag], source=source)
    entry = projects.load(folder).locked(tag)
    assert entry is not None
    return entry.patches
