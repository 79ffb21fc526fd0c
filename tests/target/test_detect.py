"""Which place a folder or an environment is, with environments made by the real pip."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patchctl.errors import EnvironmentFailed, InvalidInput, Refused
from patchctl.target import detect, environment
from patchctl.target.layout import Shape

from . import receipts, wheels
from .test_installed import AFTER, BEFORE

SHAPE = Shape("Tiny", "tiny", "python/", wheels.LAYOUT)


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


def site_of(env: Path) -> Path:
    return next((env / "lib").glob("python*/site-packages"))


@pytest.mark.parametrize("name", ["tiny", "TINY", "Tiny"])
def test_in_another_environment(env: Path, name: str) -> None:
    place, found = detect.open_installed(name, env / "bin/python", SHAPE)
    assert (place.root, place.kind) == (site_of(env), "installed")
    assert (found.name, found.version, found.dist_info) == ("tiny", "1.0", "tiny-1.0.dist-info")


@pytest.mark.parametrize("dist", ["Sg_Lang", "sg.lang", "SG__lang"])
def test_names_are_compared_as_pep_503_says(tmp_path: Path, dist: str) -> None:
    info = tmp_path / f"{dist}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {dist}\nVersion: 1.0+cu130\n\nName: other\n")
    found = environment.in_folder("sg-lang", tmp_path)
    assert found is not None
    assert (found.version, found.public_version) == ("1.0+cu130", "1.0")


def test_this_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: Path) -> None:
    monkeypatch.syspath_prepend(str(site_of(env)))
    assert environment.find("tiny").site == site_of(env)


def test_not_installed(env: Path) -> None:
    with pytest.raises(EnvironmentFailed) as failure:
        detect.open_installed("nothing", env / "bin/python", SHAPE)
    assert failure.value.problems[0].kind == "not-installed"


@pytest.mark.parametrize("exe", ["/no/such/python", "/etc/passwd", "/bin/false", "/etc"])
def test_no_interpreter(exe: str) -> None:
    with pytest.raises(EnvironmentFailed) as failure:
        environment.find("tiny", Path(exe))
    assert exe in failure.value.problems[0].message


def test_an_interpreter_that_chatters(env: Path) -> None:
    (site_of(env) / "sitecustomize.py").write_text("print('hello'); import atexit; atexit.register(print, 'bye')\n")
    assert environment.find("tiny", env / "bin/python").version == "1.0"


def test_an_old_interpreter(env: Path, tmp_path: Path) -> None:
    shim = shutil.which("python3.8")
    kept = sorted(Path(shim).parents[1].glob("versions/3.8*/bin/python3.8")) if shim else []  # where pyenv keeps them
    candidates = [str(path) for path in ([Path(shim)] if shim else []) + kept]
    works = (exe for exe in candidates if not subprocess.run([exe, "-V"], capture_output=True, check=False).returncode)
    old = next(works, None)
    if old is None:
        pytest.skip("no Python 3.8 on this machine")
    subprocess.run([old, "-m", "venv", "--without-pip", tmp_path / "old"], check=True)
    shutil.copytree(site_of(env), tmp_path / "old/lib/python3.8/site-packages", dirs_exist_ok=True)
    assert environment.find("tiny", tmp_path / "old/bin/python").site == tmp_path / "old/lib/python3.8/site-packages"


def test_installed_twice_the_first_wins(env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(site_of(env), tmp_path / "first")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "first"))
    found = environment.find("tiny", env / "bin/python")
    assert found.site == tmp_path / "first"
    assert str(site_of(env)) in found.notes[0]


def test_two_versions_in_one_folder(env: Path) -> None:
    shutil.copytree(site_of(env) / "tiny-1.0.dist-info", site_of(env) / "tiny-0.9.dist-info")
    with pytest.raises(Refused) as refused:
        environment.find("tiny", env / "bin/python")
    assert "tiny-0.9.dist-info" in refused.value.problems[0].message


def test_editable_by_pip(tmp_path: Path) -> None:
    source = tmp_path / "check out/python"
    (source / "tiny").mkdir(parents=True)
    (source / "tiny/__init__.py").touch()
    (source / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='tiny', version='1.0', packages=['tiny'])\n"
    )
    subprocess.run(["git", "init", "-q", str(source.parent)], check=True)
    wheels.environment(tmp_path / "env")
    try:
        import wheel  # noqa: F401
    except ImportError:
        # Without the package wheel, setuptools can't build here; what pip writes is known.
        info = site_of(tmp_path / "env") / "tiny-1.0.dist-info"
        info.mkdir()
        document = {"dir_info": {"editable": True}, "url": source.as_uri()}
        (info / "direct_url.json").write_text(json.dumps(document))
    else:
        wheels.pip(tmp_path / "env", "install", "--no-index", "--no-build-isolation", "-e", str(source))
    with pytest.raises(Refused) as refused:
        environment.find("tiny", tmp_path / "env/bin/python")
    problem = refused.value.problems[0]
    assert problem.kind == "editable"
    assert problem.next == f"patchctl apply --into {source.parent}"


def test_editable_the_older_ways(tmp_path: Path) -> None:
    (tmp_path / "tiny.egg-link").write_text("/src/tiny\n.\n")
    with pytest.raises(Refused) as refused:
        environment._not_editable("tiny", tmp_path, "tiny.egg-link")
    assert "/src/tiny" in refused.value.problems[0].message
    info = tmp_path / "tiny-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("__editable__.tiny-1.0.pth,sha256=x,1\n")
    (tmp_path / "__editable__.tiny-1.0.pth").write_text("/src/other\n")
    with pytest.raises(Refused) as refused:
        environment.in_folder("tiny", tmp_path)
    assert "/src/other" in refused.value.problems[0].message


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_without_dist_info(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    egg = tmp_path / "tiny-1.0-py3.11.egg-info"
    egg.mkdir() if kind == "folder" else egg.touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(Refused) as refused:
        environment.find("tiny")
    assert refused.value.problems[0].kind == "no-record"


@pytest.mark.parametrize(
    ("installed", "wanted", "same"),
    [
        ("0.5.9", "0.5.9", True),
        ("0.5.9+cu130", "0.5.9", True),
        ("0.5.9.0", "0.5.9", True),
        ("0.5.9.post1", "0.5.9", False),
        ("0.5.9rc1", "0.5.9", False),
        ("0.5.10", "0.5.9", False),
    ],
)
def test_versions(tmp_path: Path, installed: str, wanted: str, same: bool) -> None:
    distribution = environment.Distribution("tiny", installed, tmp_path, "x")
    if same:
        environment.check_version(distribution, wanted)
    else:
        with pytest.raises(Refused) as refused:
            environment.check_version(distribution, wanted)
        assert installed in refused.value.problems[0].message
        assert wanted in refused.value.problems[0].message


class TestFolders:
    def test_site_packages(self, env: Path) -> None:
        assert detect.open_place(site_of(env), SHAPE, BEFORE).kind == "installed"

    def test_a_tree_inside_a_repository(self, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        (tmp_path / "sub/tiny").mkdir(parents=True)
        (tmp_path / "sub/tiny/mod.py").touch()
        assert detect.open_place(tmp_path / "sub", SHAPE, BEFORE).kind == "tree"

    def test_a_checkout(self, tmp_path: Path) -> None:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        assert detect.open_place(tmp_path, SHAPE, BEFORE).kind == "checkout"

    def test_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentFailed):
            detect.open_place(tmp_path / "none", SHAPE, BEFORE)


class TestWithoutAProject:
    def test_the_receipt_tells(self, env: Path) -> None:
        place, _ = detect.open_installed("tiny", env / "bin/python", SHAPE)
        place.write(receipts.plan(place, BEFORE, AFTER))
        found, _ = detect.open_installed(None, env / "bin/python", None)
        assert found.receipt() is not None
        assert found.local("python/tiny/mod.py") == "tiny/mod.py"
        assert detect.open_place(site_of(env), None, ()).receipt() is not None

    def test_nothing_patched(self, env: Path) -> None:
        with pytest.raises(EnvironmentFailed):
            detect.open_installed(None, env / "bin/python", None)

    def test_several_patched(self, env: Path) -> None:
        for name in ("a-1", "b-1"):
            info = site_of(env) / f"{name}.dist-info"
            info.mkdir()
            (info / "patchctl-receipt.json").touch()
        with pytest.raises(InvalidInput):
            detect.open_installed(None, env / "bin/python", None)


def test_a_series_without_layout(env: Path) -> None:
    place, _ = detect.open_installed("tiny", env / "bin/python", Shape("tiny", "tiny", "python/"))
    assert place.local("python/tiny/mod.py") == "tiny/mod.py"
    assert place.local("python/README.md") is None
