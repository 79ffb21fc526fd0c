"""Reading a pristine tree, and the cache that holds it."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import filelock
import pytest

from patchctl.errors import EnvironmentFailed, Refused
from patchctl.series import project as projects
from patchctl.upstream.cache import Cache
from patchctl.upstream.pristine import open_tree
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
