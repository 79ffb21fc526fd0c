"""Reading a pristine tree, and the cache that holds it."""

from __future__ import annotations

import multiprocessing
import shutil
import stat
import zlib
from pathlib import Path

import filelock
import pytest

from patchctl.errors import EnvironmentFailed, Refused
from patchctl.series import project as projects
from patchctl.upstream import cache as caches
from patchctl.upstream.cache import Cache
from patchctl.upstream.pristine import PristineTree, open_tree
from patchctl.workflows import fetch as fetching
from tests.upstream import releases
from tests.upstream.common import pins, project
from tests.upstream.releases import Index


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


def test_who_has_to_wait_says_so(tmp_path: Path, dist: Path, machine: Path) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    archive = str(dist / "demo-1.0.tar.gz")
    seen: list[str] = []

    def show(label: str, done: int, total: int | None) -> None:
        if label.startswith("waiting"):
            seen.append(label)
            held.release()

    machine.mkdir()
    held = filelock.FileLock(Cache(it.series.upstream).path.with_suffix(".lock"))
    held.acquire()
    assert open_tree(it, None, archive, progress=show).fresh
    assert seen == ["waiting for another patchctl"]


def test_what_a_killed_writer_left_is_swept(tmp_path: Path, dist: Path) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    cache = open_tree(it, None, str(dist / "demo-1.0.tar.gz")).git_dir
    left = [
        cache / "fetching" / "archive.tar",
        cache / "objects" / "pack" / "tmp_pack_a",
        cache / "fast_import_crash_1",
    ]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    open_tree(it, None, str(dist / "demo-1.0-py3-none-any.whl"))
    assert not [path for path in left if path.exists()]


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


def unpacked(tree: PristineTree) -> None:
    """Every object of the cache as a file of its own."""
    for pack in list(tree.git_dir.glob("objects/pack/*.pack")):
        data = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        tree.git.run("unpack-objects", "-q", data=data)


@pytest.mark.parametrize("path", ["python/demo/core.py", "python/demo"])
def test_an_object_that_was_replaced(tmp_path: Path, path: str) -> None:
    """git reads what lies under a name; that the name is its hash, it believes."""
    upstream = releases.repository(tmp_path / "upstream")
    it = project(tmp_path, f"commit: {releases.git(upstream, 'rev-parse', 'v1.0^{commit}')}", git=str(upstream))
    tree = open_tree(it, None)
    assert tree.read(["python/demo/core.py"])
    unpacked(tree)
    id = tree.git.text("rev-parse", f"{tree.commit}:{path}")
    kind = tree.git.text("cat-file", "-t", id)
    data = tree.git.run("cat-file", kind, id)
    data = data.replace(b"core.py", b"c0re.py") if kind == "tree" else data + b"evil()\n"
    file = tree.git_dir / "objects" / id[:2] / id[2:]
    file.chmod(0o644)
    file.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data))
    with pytest.raises(EnvironmentFailed, match="damaged"):
        open_tree(it, None).read(["python/demo/core.py"])
    with pytest.raises(EnvironmentFailed, match="damaged"):
        fetching.fetch(it)


def test_a_commit_that_stands_for_another(tmp_path: Path) -> None:
    """refs/replace/ would put any content under the pinned id."""
    upstream = releases.repository(tmp_path / "upstream")
    it = project(tmp_path, f"commit: {releases.git(upstream, 'rev-parse', 'v1.0^{commit}')}", git=str(upstream))
    tree = open_tree(it, None)
    before = tree.read(["python/demo/core.py"])
    other = releases.git(tree.git_dir, "hash-object", "-t", "tree", "-w", "--stdin")
    evil = releases.git(tree.git_dir, "commit-tree", "-m", "evil", other)
    releases.git(tree.git_dir, "update-ref", f"refs/replace/{tree.commit}", evil)
    assert open_tree(it, None).read(["python/demo/core.py"]) == before


SETTINGS = [
    "[core]\n\tsshCommand = touch PWNED\n",
    "[core] fsmonitor = touch PWNED\n",
    '[remote "x"]\n\tpromisor = true\n\tuploadpack = touch PWNED\n',
    "[include]\n\tpath = /x\n",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_that_somebody_put_into_the_cache(tmp_path: Path, dist: Path, text: str) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    tree = open_tree(it, None, str(dist / "demo-1.0.tar.gz"))
    with (tree.git_dir / "config").open("a") as config:
        config.write(text)
    with pytest.raises(EnvironmentFailed, match="did not write"):
        open_tree(it, None)
    with pytest.raises(EnvironmentFailed, match="did not write"):
        fetching.fetch(it)


@pytest.mark.parametrize("how", ["ref", "HEAD", "file"])
def test_a_broken_cache_says_what_to_remove(tmp_path: Path, dist: Path, how: str) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    tree = open_tree(it, None, str(dist / "demo-1.0.tar.gz"))
    if how == "ref":
        (tree.git_dir / "refs/upstream/pypi/v1.0").write_text("no id\n")
    elif how == "HEAD":
        (tree.git_dir / "HEAD").unlink()
    else:
        shutil.rmtree(tree.git_dir)
        tree.git_dir.write_text("")
    with pytest.raises(EnvironmentFailed, match="damaged") as caught:
        open_tree(it, None, str(dist / "demo-1.0.tar.gz"))
    assert str(tree.git_dir) in (caught.value.problems[0].next or "")


def test_a_home_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHCTL_CACHE", "~nobody-of-this-name/cache")
    assert caches.root().is_absolute()
    monkeypatch.delenv("PATCHCTL_CACHE")

    def nowhere(*args: object, **options: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr("platformdirs.user_cache_path", nowhere)
    with pytest.raises(EnvironmentFailed, match="PATCHCTL_CACHE"):
        caches.root()
