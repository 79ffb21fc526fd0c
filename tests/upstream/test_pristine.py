"""The pristine tree, from every source: what the cache holds, what is proved, and what is refused."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
from pathlib import Path

import pytest

from patchctl import git as gits
from patchctl.engine.model import EXECUTABLE, REGULAR
from patchctl.errors import EnvironmentFailed, InvalidInput, Refused
from patchctl.series import project as projects
from patchctl.upstream import gitsource, pristine
from patchctl.upstream.pristine import PristineTree, open_tree
from tests.upstream import releases
from tests.upstream.releases import FILES, Index

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


# -- the package index


def test_a_source_archive(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        tree = open_tree(it, None)
        assert (tree.source, tree.archive, tree.pinned, tree.fresh) == ("pypi", "demo-1.0.tar.gz", True, True)
        asked = len(index.asked)
        again = open_tree(it, None)
        assert len(index.asked) == asked, "what is in the cache needs no network"
    assert again.commit == tree.commit and not again.fresh
    assert set(tree.names()) == SOURCES
    found = tree.read(["python/demo/tool.py", "python/demo/core.py", "python/demo/nothing", "new/x"])
    assert {path: state and state.mode for path, state in found.items()} == {
        "python/demo/tool.py": EXECUTABLE,
        "python/demo/core.py": REGULAR,
        "python/demo/nothing": None,
        "new/x": None,
    }
    assert refs(tree) == {"refs/upstream/pypi/v1.0": tree.commit}


def test_it_works_offline_once_filled(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), git="https://localhost:1/demo.git", pypi="demo")
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    tree = open_tree(it, None)
    assert tree.source == "pypi" and "localhost" in tree.notes[0], "it says that git could not be reached"

    def fail(*args: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(gitsource, "_transfer", fail)
    shutil.rmtree(dist)
    assert open_tree(it, None).commit == tree.commit
    assert open_tree(it, None, "pypi").commit == tree.commit


def test_the_wheel_when_only_wheels_are_pinned(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", dist.as_uri())
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    tree = open_tree(project(tmp_path, pins(dist, "wheels"), pypi="demo"), None)
    assert tree.archive == "demo-1.0-py3-none-any.whl" and not tree.modes
    assert set(tree.names()) == {name for name in SOURCES if name.startswith("python/demo/")}


def test_the_wheel_when_there_is_no_source_archive(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    (dist / "demo-1.0.tar.gz").unlink()
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        assert open_tree(it, None).archive == "demo-1.0-py3-none-any.whl"


def test_a_folder_in_the_form_of_an_index(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "simple" / "demo"
    page.mkdir(parents=True)
    (page / "index.html").write_text('<a href="../../dist/demo-1.0.tar.gz">demo-1.0.tar.gz</a>')
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).archive == "demo-1.0.tar.gz"


def test_the_extra_index_is_asked_too(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    with Index(tmp_path / "empty", status=500) as broken, Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", broken.url)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
        monkeypatch.setenv("PIP_RETRIES", "0")
        assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).pinned


@pytest.mark.parametrize("stated", ["true", "none"])
@pytest.mark.parametrize("kind", ["tampered", "pin"])
def test_other_bytes_are_refused(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, stated: str, kind: str, machine: Path
) -> None:
    """A tampered archive, or a wrong pin: whether the index states a hash or not."""
    name = "demo-1.0.tar.gz"
    index = Index(dist, stated={} if stated == "true" else {name: ""})
    pin = pins(dist)
    if kind == "tampered":
        (tmp_path / "other").mkdir()
        other = releases.sdist(tmp_path / "other", change={"demo/evil.py": (0o644, b"import os\n")})
        index.served[name] = other.read_bytes()
    else:
        pin = pin.replace(releases.sha256(dist / name), "ab" * 32)
    it = project(tmp_path, pin, pypi="demo")
    with index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(Refused) as caught:
            open_tree(it, None)
    assert caught.value.problems[0].kind == "integrity" and caught.value.problems[0].file == name
    assert not [entry for entry in machine.rglob("*") if entry.name in ("fetching", name) or entry.suffix == ".new"]
    for cache in machine.glob("*.git"):
        assert (
            releases.git(cache, "for-each-ref") == ""
            and releases.git(cache, "count-objects") == "0 objects, 0 kilobytes"
        )


def test_a_wrong_hash_on_the_index_is_refused(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(dist, stated={"demo-1.0.tar.gz": "cd" * 32}) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        for pin in (pins(dist), UNPINNED):
            with pytest.raises(Refused):
                open_tree(project(tmp_path, pin, pypi="demo"), None)


def test_a_release_that_is_not_there(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    for file in dist.iterdir():
        file.rename(file.with_name(file.name.replace("1.0", "2.0")))
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed, match=r"no release 1\.0 of demo") as caught:
            open_tree(it, None)
    assert caught.value.problems[0].next


@pytest.mark.parametrize("status", [404, 403, 500])
def test_an_index_that_says_no(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    with Index(dist, status=status) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed, match="no project" if status == 404 else str(status)):
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


def test_an_index_that_can_not_be_reached(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(dist) as index:
        url = index.url
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//me:secret@"))
    with pytest.raises(EnvironmentFailed, match="can't be reached") as caught:
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    said = caught.value.problems[0].message
    assert "secret" not in said and "PIP_INDEX_URL" in said and "refused" in said


def test_a_login_is_used_and_not_shown(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    with Index(dist, login="me:s3/cret") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:wrong@"))
        with pytest.raises(EnvironmentFailed, match="401") as caught:
            open_tree(it, None)
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:s3%2Fcret@"))
        assert open_tree(it, None).pinned


def test_plain_http_needs_trust(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    with pytest.raises(EnvironmentFailed, match="trusted"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


def test_another_recipe_is_another_tree(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    it = project(tmp_path, pins(dist), pypi="demo")
    open_tree(it, None)
    it.series_path.write_text(it.series_path.read_text().replace("setup.cfg, ", ""))
    assert "python/setup.cfg" in open_tree(projects.load(it.root), None).names()


def test_a_pin_that_changes_later_is_enforced(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    with pytest.raises(Refused):
        open_tree(project(tmp_path, f'sdist: "sha256:{"ab" * 32}"', pypi="demo"), None)


# -- git


@pytest.mark.parametrize("annotated", [True, False])
def test_git_by_tag(tmp_path: Path, annotated: bool) -> None:
    upstream = releases.repository(tmp_path / "upstream", annotated=annotated)
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    tree = open_tree(project(tmp_path, f"commit: {commit}", git="../upstream"), None)
    assert (tree.source, tree.commit, tree.pinned) == ("git", commit, True)
    assert set(tree.names()) == {*SOURCES, "README"}
    assert tree.git.run("rev-list", "--count", commit) == b"1\n", "no more history than needed"
    assert refs(tree) == {"refs/upstream/git/v1.0": commit}, "no other tags come along"
    shutil.rmtree(upstream)
    assert open_tree(project(tmp_path, f"commit: {commit}", git="../upstream"), None).read(["README"])["README"]


def test_a_moved_tag_is_refused(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    old, new = (releases.git(upstream, "rev-parse", f"{tag}^{{commit}}") for tag in ("v1.0", "v1.1"))
    releases.git(upstream, "tag", "-f", "v1.0", new)
    it = project(tmp_path, f"commit: {old}", git="../upstream", pypi="demo")
    with pytest.raises(Refused) as caught:
        open_tree(it, None)
    assert old in str(caught.value) and new in str(caught.value)


def test_history_on_request(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    it = project(
        tmp_path, UNPINNED.replace("0" * 40, releases.git(upstream, "rev-parse", "v1.0^{}")), git="../upstream"
    )
    open_tree(it, None)
    pristine.fetch_history(it, ("v0.9", "v1.1"))
    tree = open_tree(it, None)
    between = tree.git.run("log", "--format=%s", "refs/upstream/git/v0.9..refs/upstream/git/v1.1").decode()
    assert between.split("\n")[:3] == ["release v1.1", "release v1.0", "release None"]
    shutil.rmtree(upstream)
    upstream.mkdir()
    pristine.fetch_history(it, ("v0.9", "v1.1"))  # there already: nobody is asked


def test_a_release_inside_fetched_history_does_not_cut_it(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    it = project(
        tmp_path, UNPINNED.replace("0" * 40, releases.git(upstream, "rev-parse", "v1.0^{}")), git="../upstream"
    )
    pristine.fetch_history(it, ("v0.9", "v1.1"))
    tree = open_tree(it, None)
    assert tree.git.run("rev-list", "--count", "refs/upstream/git/v0.9..refs/upstream/git/v1.1") == b"3\n"


def test_no_such_tag(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    releases.git(upstream, "tag", "-d", "v1.0")
    with pytest.raises(EnvironmentFailed, match=r"no tag v1\.0"):
        open_tree(project(tmp_path, UNPINNED, git="../upstream"), None)


def test_a_server_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(gitsource, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/demo.git"
        with pytest.raises(EnvironmentFailed, match="does not answer"):
            open_tree(project(tmp_path, UNPINNED, git=url), None)


def test_a_repository_of_another_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git refuses it unless the user has said that it is safe; then so do we not."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    upstream = releases.repository(tmp_path / "upstream")
    for path in (upstream, upstream / ".git", *upstream.rglob("*")):
        os.lchown(path, 12345, 12345)
    commit = releases.git(
        tmp_path, "-c", f"safe.directory={upstream}", "-C", str(upstream), "rev-parse", "v1.0^{commit}"
    )
    it = project(tmp_path, f"commit: {commit}", git="../upstream")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailed, match="dubious ownership"):
        open_tree(it, None)
    gits._safe_directories.cache_clear()
    (tmp_path / ".gitconfig").write_text(f"[Safe]\n\tdirectory = {upstream}/.git\n\tdirectory = {upstream}\n")
    assert open_tree(it, None).commit == commit


# -- a path


def test_a_clone(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    it = project(tmp_path, f"commit: {commit}", git="https://localhost:1/demo.git")
    assert open_tree(it, None, str(upstream)).source == "git"
    assert open_tree(it, None).commit == commit, "what is proved is kept"


def test_a_clone_without_tags_has_the_pinned_commit(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    releases.git(upstream, "tag", "-d", "v1.0")
    assert open_tree(project(tmp_path, f"commit: {commit}", git="../nowhere"), None, str(upstream)).commit == commit


def test_a_shallow_clone(tmp_path: Path) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    releases.git(tmp_path, "clone", "-q", "--depth=1", "--branch=v1.0", upstream.as_uri(), "clone")
    commit = releases.git(upstream, "rev-parse", "v1.0^{commit}")
    it = project(tmp_path, f"commit: {commit}", git="../nowhere")
    assert set(open_tree(it, None, str(tmp_path / "clone")).names()) == {*SOURCES, "README"}


def test_what_nothing_proves_is_used_once(tmp_path: Path, dist: Path) -> None:
    it = project(tmp_path, pins(dist), git="../nowhere")
    upstream = releases.repository(tmp_path / "upstream")
    tree = releases.unpacked(tmp_path / "tree")
    for path in (upstream, tree):
        assert open_tree(it, None, str(path)).fresh
        with pytest.raises(EnvironmentFailed):
            open_tree(it, None)
    assert open_tree(it, None, str(tree), fill=True).fresh
    assert open_tree(it, None).source == "path"


SHAPES = ["sdist", "repository", "site"]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_unpacked_tree(tmp_path: Path, dist: Path, shape: str) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    top = releases.unpacked(
        tmp_path / "top", below="python" if shape == "repository" else "", generated=shape != "repository"
    )
    if shape == "site":
        for name in ("pyproject.toml", "PKG-INFO", "setup.cfg", "README.md"):
            (top / name).unlink()
        (top / "other").mkdir()
        (top / "other" / "not_ours.py").write_text("")
    (top / ".git").mkdir()
    (top / ".git" / "config").write_text("")
    shutil.rmtree(top / ".git")
    cached = top / ("python/demo" if shape == "repository" else "demo") / "__pycache__"
    cached.mkdir()
    (cached / "core.cpython-311.pyc").write_bytes(b"")
    tree = open_tree(it, None, str(top))
    expected = {name for name in SOURCES if shape != "site" or name.startswith("python/demo/")}
    assert set(tree.names()) == expected
    assert tree.modes is (shape != "site")
    assert tree.commit == open_tree(it, None, str(top)).commit


def test_an_archive_file(tmp_path: Path, dist: Path) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    assert open_tree(it, None, str(dist / "demo-1.0.tar.gz")).source == "pypi"
    kept = open_tree(it, None)
    assert kept.archive == "demo-1.0.tar.gz"
    assert open_tree(it, None, str(dist / "demo-1.0-py3-none-any.whl")).modes is False
    assert open_tree(it, None).commit == kept.commit, "a wheel that was named once does not take the place"
    (tmp_path / "other").mkdir()
    with pytest.raises(Refused):
        open_tree(it, None, str(releases.sdist(tmp_path / "other", change={"x": (0o644, b"")})))


def test_a_patched_tree_is_not_pristine(tmp_path: Path, dist: Path) -> None:
    tree = releases.unpacked(tmp_path / "tree")
    (tree / ".patchctl").mkdir()
    (tree / ".patchctl" / "receipt.json").write_text("{}")
    with pytest.raises(Refused, match="not the pristine release"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(tree))


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_odd_things_in_a_tree_are_refused(tmp_path: Path, dist: Path, kind: str) -> None:
    tree = releases.unpacked(tmp_path / "tree")
    if kind == "link":
        (tree / "demo" / "out").symlink_to("/etc/passwd")
    else:
        os.mkfifo(tree / "demo" / "out")
    with pytest.raises(Refused):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(tree))


@pytest.mark.parametrize("what", ["nothing", "file", "folder"])
def test_a_path_that_is_no_release(tmp_path: Path, dist: Path, what: str) -> None:
    path = tmp_path / "what"
    if what == "file":
        path.write_text("")
    elif what == "folder":
        path.mkdir()
    with pytest.raises(InvalidInput):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(path))


# -- reading


def test_what_is_no_file_is_refused(tmp_path: Path, dist: Path) -> None:
    tree = open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(dist / "demo-1.0.tar.gz"))
    for path in ("python/demo", "python/demo/core.py/below"):
        with pytest.raises(Refused) as caught:
            tree.read([path, "python/pyproject.toml"])
        assert caught.value.problems[0].file == path


def test_a_file_and_a_folder_that_may_give_way_to_each_other(tmp_path: Path, dist: Path) -> None:
    """A series may turn one into the other; whether it does is for the one who applies it to see."""
    tree = open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(dist / "demo-1.0.tar.gz"))
    for path in ("python/demo", "python/demo/core.py/below"):
        found = tree.read([path, "python/demo/core.py"])
        assert found[path] is None and found["python/demo/core.py"] is not None


def test_many_names(tmp_path: Path, dist: Path) -> None:
    tree = open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(dist / "demo-1.0.tar.gz"))
    found = tree.read([*(f"python/new/{n}" for n in range(500)), "python/demo/core.py"])
    assert [path for path, state in found.items() if state] == ["python/demo/core.py"]
    with pytest.raises(Refused):
        tree.read([*(f"python/new/{n}" for n in range(500)), "python/demo"])


# -- the cache itself


def test_a_damaged_cache_is_noticed(tmp_path: Path, dist: Path, machine: Path) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    tree = open_tree(it, None, str(dist / "demo-1.0.tar.gz"))
    for pack in [*tree.git_dir.glob("objects/pack/*"), *tree.git_dir.glob("objects/??/*")]:
        pack.chmod(stat.S_IRWXU)
        pack.write_bytes(b"")
    with pytest.raises(EnvironmentFailed, match="damaged") as caught:
        open_tree(it, None).read(["python/demo/core.py"])
    assert str(tree.git_dir) in (caught.value.problems[0].next or "")


def test_a_cache_that_can_not_be_written(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PATCHCTL_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFailed, match="PATCHCTL_CACHE"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None, str(dist / "demo-1.0.tar.gz"))


def _fetch(root: Path, gate: object, results: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    seen: list[str] = []
    tree = open_tree(projects.load(root), None, progress=lambda label, done, total: seen.append(label))
    results.put((tree.commit, tree.fresh, tree.read(["python/demo/core.py"])["python/demo/core.py"], seen))  # type: ignore[attr-defined]


@pytest.mark.parametrize("source", ["pypi", "git"])
def test_processes_that_fetch_at_once(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    upstream = releases.repository(tmp_path / "upstream")
    it = project(tmp_path, pins(dist), **({"pypi": "demo"} if source == "pypi" else {"git": str(upstream)}))
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(4), context.Queue()
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        workers = [context.Process(target=_fetch, args=(it.root, gate, results)) for _ in range(4)]
        for worker in workers:
            worker.start()
        found = [results.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
        assert sum("/files/" in path for path in index.asked) == (source == "pypi"), "one of them downloads"
    assert len({commit for commit, *_ in found}) == 1
    assert sum(fresh for _, fresh, *_ in found) == 1
    assert all(state is not None for _, _, state, _ in found)
