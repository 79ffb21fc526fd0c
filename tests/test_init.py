"""init: a new repository that loads, or nothing at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.errors import InvalidInput, Refused
from patchctl.series import load, template
from patchctl.workflows import init

FILES = [".github/workflows/patchctl.yml", ".gitignore", "patches/.gitkeep", "series.yaml"]


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    folder = tmp_path / "thing.git"
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder)]
    folder.mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "release"], check=True)
    subprocess.run([*git, "tag", "-a", "-m", "annotated", "v1.0"], check=True)
    return folder


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def head(upstream: Path) -> str:
    done = subprocess.run(["git", "-C", str(upstream), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_new_repository(tmp_path: Path, upstream: Path) -> None:
    root = tmp_path / "new/patches-of-thing"
    report = init.init(root, str(upstream), None, "v1.0")
    assert files(root) == FILES
    series = load.load((root / "series.yaml").read_bytes()).series
    assert series.default == "v1.0"
    assert (series.upstream.name, series.upstream.git, series.upstream.tag) == ("thing", str(upstream), "v{version}")
    # The tag is annotated: what is pinned is the commit, not the tag's own object.
    assert series.targets["v1.0"].pin.commit == head(upstream)
    assert series.targets["v1.0"].patches == []
    assert report.warnings == ()


def test_an_upstream_that_does_not_answer_leaves_the_pin_open(tmp_path: Path) -> None:
    report = init.init(tmp_path / "new", "file:///nonexistent/thing.git", None, "release-1.0")
    series = load.load((tmp_path / "new/series.yaml").read_bytes()).series
    assert series.upstream.tag == "release-{version}"
    assert series.targets["release-1.0"].pin.commit is None
    assert [problem.kind for problem in report.warnings] == ["network"]
    assert "run patchctl fetch release-1.0" in (tmp_path / "new/series.yaml").read_text()


def test_the_index_gives_the_hashes_of_the_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: Path
) -> None:
    index = tmp_path / "index/thing"
    index.mkdir(parents=True)
    links = "".join(
        f'<a href="{name}#sha256={digit * 64}">{name}</a>'
        for name, digit in (("thing-1.0.tar.gz", "a"), ("thing-1.0-py3-none-any.whl", "b"), ("thing-1.1.tar.gz", "c"))
    )
    (index / "index.html").write_text(f"<html><body>{links}</body></html>")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "index").as_uri())
    report = init.init(tmp_path / "new", str(upstream), "thing", "v1.0")
    assert (report.pin.sdist, report.pin.wheels) == ("sha256:" + "a" * 64, ("sha256:" + "b" * 64,))
    target = load.load((tmp_path / "new/series.yaml").read_bytes()).series.targets["v1.0"]
    assert target.pin.sdist == report.pin.sdist
    assert target.pin.wheels == list(report.pin.wheels)


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(tmp_path: Path, upstream: Path, name: str) -> None:
    root = tmp_path / "new"
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text("mine")
    with pytest.raises(Refused, match="overwrites nothing"):
        init.init(root, str(upstream), None, "v1.0")
    assert files(root) == [name]
    assert (root / name).read_text() == "mine"


@pytest.mark.parametrize(
    ("url", "target", "error"),
    [
        ("ext::sh -c id", "v1.0", Refused),
        ("--upload-pack=id", "v1.0", Refused),
        ("ssh://-oProxyCommand=id/x", "v1.0", Refused),
        ("https://example.invalid/x\n", "v1.0", Refused),
        ("{upstream}", "v2.0", InvalidInput),
        ("{upstream}", "--v1.0", InvalidInput),
        ("{upstream}", "../v1.0", InvalidInput),
        ("{upstream}", "main", InvalidInput),
    ],
)
def test_what_cannot_be_is_not_written(
    tmp_path: Path, upstream: Path, url: str, target: str, error: type[Exception]
) -> None:
    root = tmp_path / "new"
    with pytest.raises(error):
        init.init(root, url.format(upstream=upstream), None, target)
    assert not root.exists()


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, upstream: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    (root / ".github").write_text("a file where a folder has to be")
    with pytest.raises(OSError, match="Not a directory"):
        init.init(root, str(upstream), None, "v1.0")
    assert files(root) == [".github"]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("v0.5.9", "v{version}"),
        ("1.2.0rc1", "{version}"),
        ("release/1.0", "release/{version}"),
        ("py3-v1.0", "py3-v{version}"),
        ("main", None),
    ],
)
def test_templates_of_tags(tag: str, expected: str | None) -> None:
    assert template.tag_template(tag) == expected


def test_the_command(tmp_path: Path, upstream: Path) -> None:
    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "patchctl", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("init", "new", "--upstream-git", str(upstream), "--target", "v1.0", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["ok"]) == (0, "patchctl.init/1", True)
    assert sorted(document["files"]) == FILES
    again = run("init", "new", "--upstream-git", str(upstream), "--target", "v1.0")
    assert again.returncode == 5
    assert run("-C", "new", "lint").returncode == 0
    assert run("-C", "new", "list").returncode == 0
