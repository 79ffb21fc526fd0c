"""Installed distributions, as pip installs them: sources, bytecode, RECORD, and everything back again."""

from __future__ import annotations

import csv
import os
import py_compile
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from patchctl.engine.model import EXECUTABLE, LINK, FileState
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.target import transaction
from patchctl.target.installed import Installed

from . import receipts, wheels

BEFORE = {
    "python/tiny/mod.py": FileState(b"VALUE = 1\n"),
    "python/tiny/gone.py": FileState(b"GONE = 1\n"),
    "python/tiny/sub/only.py": FileState(b"ONLY = 1\n"),
    "python/tiny/sub/__init__.py": FileState(b""),
    "python/tiny/new/fresh.py": None,
    "python/tiny/data.json": FileState(b"{}\n"),
}
AFTER = {
    "python/tiny/mod.py": FileState(b"VALUE = 2\n"),
    "python/tiny/gone.py": None,
    "python/tiny/sub/only.py": None,
    "python/tiny/sub/__init__.py": None,
    "python/tiny/new/fresh.py": FileState(b"FRESH = 1\n", EXECUTABLE),
    "python/tiny/data.json": FileState(b'{"a": 1}\n'),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("env")
    wheels.environment(folder / "env")
    wheels.install(folder / "env", wheels.build(folder))
    return folder / "env"


@pytest.fixture
def env(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "env", symlinks=True)
    return tmp_path / "env"


@pytest.fixture
def site(env: Path) -> Path:
    return next((env / "lib").glob("python*/site-packages"))


def opened(site: Path) -> Installed:
    return Installed(site, "tiny-1.0.dist-info", wheels.LAYOUT)


def apply(site: Path) -> None:
    place = opened(site)
    place.write(receipts.plan(place, BEFORE, AFTER))


def unapply(site: Path) -> None:
    place = opened(site)
    place.write(receipts.back(place, BEFORE))


def picture(site: Path) -> dict[str, tuple[object, ...]]:
    """Names, permissions, times to the nanosecond, and contents of everything in site-packages."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in sorted(site.rglob("*")):
        found = path.lstat()
        name = str(path.relative_to(site))
        mode = stat.S_IMODE(found.st_mode)
        seen[name] = ("folder", mode) if path.is_dir() else (mode, found.st_mtime_ns, path.read_bytes())
    return seen


def rows(site: Path) -> dict[str, tuple[str, str]]:
    with (site / "tiny-1.0.dist-info/RECORD").open(newline="") as stream:
        return {name: (hash, size) for name, hash, size in csv.reader(stream)}


def value(env: Path, expression: str = "VALUE", module: str = "tiny.mod") -> str:
    code = f"import {module} as m; print(m.{expression})"
    return subprocess.run([env / "bin/python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_record_is_right_after_apply(site: Path) -> None:
    apply(site)
    listed = rows(site)
    for name, (hash, size) in listed.items():
        if hash:
            data = (site / name).read_bytes()
            assert (hash, size) == (f"sha256={wheels.digest(data)}", str(len(data))), name
        else:
            assert (site / name).exists(), name
    there = {str(path.relative_to(site)) for path in (site / "tiny").rglob("*") if path.is_file()}
    there |= {str(path.relative_to(site)) for path in site.glob("tiny-1.0.dist-info/**/*") if path.is_file()}
    assert {name for name in listed if not name.startswith("../")} == there
    assert not (site / "tiny/sub").exists()


def test_unapply_restores_every_byte_and_time(site: Path) -> None:
    (site / "tiny/gone.py").chmod(0o664)
    before = picture(site)
    apply(site)
    assert picture(site) != before
    unapply(site)
    assert picture(site) == before


def test_bytecode_of_all_kinds_goes_and_comes_back(env: Path, site: Path) -> None:
    cache = site / "tiny/__pycache__"
    (cache / "mod.cpython-38.pyc").write_bytes(b"made by another interpreter")
    (cache / "mod.cpython-311.opt-1.pyc").write_bytes(b"made with -O")
    (cache / "mod.extra.cpython-311.pyc").write_bytes(b"of a module called mod.extra")
    (site / "tiny/mod.pyc").write_bytes(b"beside")
    source = site / "tiny/gone.py"
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    before = picture(site)
    apply(site)
    left = {path.name for path in cache.iterdir()}
    assert not {name for name in left if name.startswith(("mod.cpython", "gone."))}
    assert "mod.extra.cpython-311.pyc" in left
    assert not (site / "tiny/mod.pyc").exists()
    assert value(env) == "2"
    unapply(site)
    after = picture(site)
    assert after == before
    assert value(env) == "1"
    assert picture(site) == before, "Python took the restored bytecode as it is"


def test_same_size_same_second(env: Path, site: Path) -> None:
    """The trap: the source changes within the second it was written and compiled in, to the same size."""
    for _ in range(3):
        assert value(env) == "1"
        apply(site)
        assert value(env) == "2"
        assert value(env, "FRESH", "tiny.new.fresh") == "1"
        unapply(site)
    assert value(env) == "1"
    assert not (site / "tiny/new").exists()


def test_on_to_another_state(env: Path, site: Path) -> None:
    before = picture(site)
    apply(site)
    assert value(env) == "2"
    place = opened(site)
    again = {
        "python/tiny/mod.py": FileState(b"VALUE = 3\n"),
        "python/tiny/other.py": FileState(b"OTHER = 3\n"),
        "python/tiny/new/fresh.py": FileState(b"FRESH = 3\n"),
    }
    pristine = {**BEFORE, "python/tiny/other.py": FileState(b"OTHER = 1\n")}
    moves = receipts.plan(place, pristine, {**BEFORE, **again}).moves
    place.write(receipts.WritePlan(moves, receipt=receipts.receipt(pristine, again)))
    assert (value(env), value(env, "OTHER", "tiny.other"), value(env, "FRESH", "tiny.new.fresh")) == ("3", "3", "3")
    assert value(env, "GONE", "tiny.gone") == "1"
    for name, (hash, size) in rows(site).items():
        if hash:
            data = (site / name).read_bytes()
            assert (hash, size) == (f"sha256={wheels.digest(data)}", str(len(data))), name
    place = opened(site)
    place.write(receipts.back(place, {path: pristine[path] for path in again}))
    assert picture(site) == before


def test_pip_uninstall_leaves_nothing(env: Path, site: Path) -> None:
    empty = {path.name for path in site.iterdir()} - {"tiny", "tiny-1.0.dist-info"}
    apply(site)
    assert value(env, "FRESH", "tiny.new.fresh") == "1"
    wheels.pip(env, "uninstall", "-y", "tiny")
    assert {path.name for path in site.iterdir()} == empty
    assert not (env / "bin/tiny-tool").exists()


def test_reinstall_after_apply(env: Path, site: Path, tmp_path: Path) -> None:
    apply(site)
    wheels.install(env, wheels.build(tmp_path), "--force-reinstall")
    assert opened(site).receipt() is None
    assert value(env) == "1"
    apply(site)
    assert value(env) == "2"


def test_hard_links_into_a_cache_are_not_written_through(site: Path, tmp_path: Path) -> None:
    cached = [site / "tiny/mod.py", site / "tiny/gone.py", site / "tiny-1.0.dist-info/RECORD"]
    for number, path in enumerate(cached):
        os.link(path, tmp_path / f"cached-{number}")
    contents = [(tmp_path / f"cached-{number}").read_bytes() for number in range(len(cached))]
    apply(site)
    unapply(site)
    assert [(tmp_path / f"cached-{number}").read_bytes() for number in range(len(cached))] == contents


@pytest.mark.parametrize(
    ("path", "layout"),
    [
        ("python/tiny/evil.pth", wheels.LAYOUT),
        ("python/evil.PTH", {"python/": ""}),
        ("python/sitecustomize.py", {"python/": ""}),
        ("python/usercustomize.py", {"python/": ""}),
        ("python/tiny-1.0.dist-info/METADATA", {"python/": ""}),
        ("python/other-2.Dist-Info/entry_points.txt", {"python/": ""}),
    ],
)
def test_names_that_no_patch_may_touch(site: Path, path: str, layout: dict[str, str]) -> None:
    before = picture(site)
    place = Installed(site, "tiny-1.0.dist-info", layout)
    with pytest.raises(Refused):
        place.read(path)
    assert [problem.kind for problem in place.in_the_way({path: None})] == ["forbidden"]
    move = receipts.Move(None, FileState(b"import os\n"))
    with pytest.raises(Refused):
        place.write(receipts.WritePlan({path: move}, receipt=receipts.receipt({path: None}, {path: move.after})))
    assert picture(site) == before


def test_outside_the_layout(site: Path) -> None:
    place = opened(site)
    assert place.local("README.md") is None
    assert place.in_the_way({"README.md": None})[0].kind == "outside-layout"
    move = receipts.Move(None, FileState(b""))
    with pytest.raises(Refused):
        place.write(receipts.WritePlan({"README.md": move, "python/tiny/x.py": move}))
    assert not (site / "tiny/x.py").exists()


def test_links_are_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_bytes(b"VALUE = 1\n")
    (site / "tiny/mod.py").unlink()
    (site / "tiny/mod.py").symlink_to(tmp_path / "mod.py")
    shutil.move(site / "tiny/sub", tmp_path / "sub")
    (site / "tiny/sub").symlink_to(tmp_path / "sub")
    problems = opened(site).in_the_way(BEFORE)
    assert {problem.kind for problem in problems} == {"link", "link-in-path"}
    with pytest.raises(Refused):
        apply(site)
    assert (tmp_path / "mod.py").read_bytes() == b"VALUE = 1\n"
    assert (tmp_path / "sub/only.py").exists()


def test_a_patch_that_makes_a_link(site: Path) -> None:
    place = opened(site)
    with pytest.raises(Refused):
        place.write(receipts.plan(place, {"python/tiny/l": None}, {"python/tiny/l": FileState(b"/etc", LINK)}))
    assert not (site / "tiny/l").is_symlink()


def test_without_a_record(site: Path) -> None:
    (site / "tiny-1.0.dist-info/RECORD").unlink()
    assert opened(site).in_the_way({})[0].kind == "no-record"
    with pytest.raises(Refused):
        apply(site)
    assert (site / "tiny/mod.py").read_bytes() == b"VALUE = 1\n"


def test_a_receipt_that_is_none(site: Path) -> None:
    (site / "tiny-1.0.dist-info/patchctl-receipt.json").write_text("{}")
    with pytest.raises(Refused):
        opened(site).receipt()


def test_a_failure_at_any_point_restores_everything(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    monkeypatch.setenv("PATCHCTL_FAULT", f"count:{tmp_path / 'count'}")
    apply(copy)
    total = int((tmp_path / "count").read_text().split()[0])
    before = picture(site)
    complete = 0
    for number in range(1, total + 1):
        monkeypatch.setenv("PATCHCTL_FAULT", f"enospc:{number}")
        try:
            apply(site)
        except EnvironmentFailed:
            monkeypatch.delenv("PATCHCTL_FAULT")
            if opened(site).interrupted():
                opened(site).recover()
            if opened(site).receipt() is None:
                assert picture(site) == before, number
                continue
        monkeypatch.delenv("PATCHCTL_FAULT", raising=False)
        complete += 1
        assert opened(site).receipt() is not None
        unapply(site)
        assert picture(site) == before, number
    assert complete < total / 4


def test_a_read_only_environment(site: Path, tmp_path: Path) -> None:
    target = tmp_path / "ro"
    target.mkdir()
    for command in (["mount", "--bind", site, target], ["mount", "-o", "remount,bind,ro", target]):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting needs root")
    try:
        with pytest.raises(EnvironmentFailed) as failure:
            apply(target)
        assert failure.value.problems[0].kind == "read-only"
    finally:
        subprocess.run(["umount", "-l", target], check=True)
    assert not transaction.interrupted(site / "tiny-1.0.dist-info/.patchctl")
