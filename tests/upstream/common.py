"""What the tests of the sources share: the release's archives, and a project that carries them."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchctl.series import project as projects
from patchctl.upstream.pristine import PristineTree
from tests.upstream import releases
from tests.upstream.releases import FILES

SOURCES = {f"python/{name}" for name in FILES}
UNPINNED = 'commit: "' + "0" * 40 + '"'


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A folder with the release's archives."""
    folder = tmp_path / "dist"
    folder.mkdir()
    releases.sdist(folder)
    releases.wheel(folder)
    return folder


def pins(dist: Path, *kinds: str) -> str:
    sdist = f'sdist: "sha256:{releases.sha256(dist / "demo-1.0.tar.gz")}"'
    wheels = f'wheels: ["sha256:{releases.sha256(dist / "demo-1.0-py3-none-any.whl")}"]'
    return ", ".join({"sdist": sdist, "wheels": wheels}[kind] for kind in kinds or ("sdist", "wheels"))


def project(tmp_path: Path, pin: str, **sources: str) -> projects.Project:
    folder = releases.project(tmp_path / "project", pin=pin, patches={}, **sources)
    return projects.load(folder)


def refs(tree: PristineTree) -> dict[str, str]:
    lines = tree.git.run("for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
    return dict(line.split(" ") for line in lines)  # type: ignore[misc]
