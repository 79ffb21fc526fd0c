"""Every kind of change that a patch can make, through the command, and back: modes, links, renames, odd names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.projects import Upstream, environment, git, lock, patchctl, write
from tests.target import checkouts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Upstream, checkouts.Carried]:
    """A project with the series of :mod:`tests.target.checkouts`."""
    folder = tmp_path_factory.mktemp("changes")
    root = checkouts.make_upstream(folder / "upstream")
    git(root, "tag", "v1.0")
    upstream = Upstream(root, git(root, "rev-parse", "HEAD").strip())
    carried = checkouts.make_series(root, folder / "scratch")
    project = write(folder / "project", upstream, dict(carried.patches))
    text = (project / "series.yaml").read_text()
    (project / "series.yaml").write_text(text.replace('root: "python/"', 'root: ""'))
    lock(project, upstream, folder / "cache")
    return project, upstream, carried


@pytest.mark.parametrize("kind", ["tree", "checkout"])
@pytest.mark.parametrize("mask", ["022", "077"])
def test_forth_and_back(made: tuple[Path, Upstream, checkouts.Carried], tmp_path: Path, kind: str, mask: str) -> None:
    project, upstream, carried = made
    place, wanted = tmp_path / "place", tmp_path / "wanted"
    for folder in (place, wanted):
        git(upstream.root, "clone", "-q", str(upstream.root), str(folder))
    checkouts.am(wanted, carried, tmp_path / "mails")
    if kind == "tree":
        (place / ".git").rename(tmp_path / "away")
    before = checkouts.picture(place)
    done = patchctl("apply", "--into", place, cwd=project, env=environment(), mask=mask)
    assert done.code == 0, done.words
    found = {name: state for name, state in checkouts.picture(place).items() if not name.startswith(".patchctl/")}
    assert found == checkouts.picture(wanted)
    assert patchctl("status", "--into", place, cwd=project).code == 0
    assert patchctl("apply", "--into", place, cwd=project).outcomes == {id: "already" for id, _ in carried.patches}
    partly = patchctl("apply", "--up-to", "p4", "--into", place, cwd=project)
    assert partly.code == 0, partly.words
    assert patchctl("status", "--into", place, cwd=project).states["p5"] == "missing"
    assert patchctl("unapply", "--into", place, cwd=project).code == 0
    assert checkouts.picture(place) == before


def test_a_file_below_a_link_is_never_locked(made: tuple[Path, Upstream, checkouts.Carried], tmp_path: Path) -> None:
    """The release has pkg/current, a link: changing it and writing below it in one series is no way through."""
    _, upstream, _ = made
    turn = b"diff --git a/pkg/current b/pkg/current\nindex 1..2 120000\n--- a/pkg/current\n+++ b/pkg/current\n"
    turn += b"@@ -1 +1 @@\n-a.py\n\\ No newline at end of file\n+..\n\\ No newline at end of file\n"
    below = b"--- /dev/null\n+++ b/pkg/current/x.py\n@@ -0,0 +1 @@\n+x\n"
    below = b"diff --git a/pkg/current/x.py b/pkg/current/x.py\nnew file mode 100644\n" + below
    project = write(tmp_path / "project", upstream, {"turn": turn.replace(b"index 1..2 120000\n", b""), "below": below})
    done = patchctl("lock", cwd=project, env=environment(PATCHCTL_CACHE=str(tmp_path / "cache")))
    assert done.code == 5 and "pkg/current" in done.words, done.words
    assert not (project / "series.lock").exists()


def test_the_fresh_checkout(made: tuple[Path, Upstream, checkouts.Carried], tmp_path: Path) -> None:
    source, upstream, carried = made
    project = tmp_path / "project"
    shutil.copytree(source, project)
    env = environment(PATCHCTL_CACHE=str(source.parent / "cache"))
    looked = patchctl("apply", "--check", cwd=project, env=env)
    assert looked.code == 0 and not (project / "build").exists(), looked.words
    done = patchctl("apply", cwd=project, env=env)
    assert done.code == 0 and done.outcomes == looked.outcomes
    wanted = tmp_path / "wanted"
    git(upstream.root, "clone", "-q", str(upstream.root), str(wanted))
    checkouts.am(wanted, carried, tmp_path / "mails")
    assert checkouts.picture(Path(done.document["into"])) == checkouts.picture(wanted)
