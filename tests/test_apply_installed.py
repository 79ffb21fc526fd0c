"""``apply --installed``: the right distribution, RECORD, bytecode, and pip's own view of it."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.projects import OWN, SERIES, TAG, Bench, Installation, Run, environment, patchctl, wheel
from tests.target import wheels


@pytest.fixture
def place(bench: Bench) -> Installation:
    return bench.place("installed")


def python(place: Installation) -> str:
    return place.options[-1]


def record(place: Installation) -> dict[str, tuple[str, str]]:
    text = next(place.folder.glob("demo-*.dist-info/RECORD")).read_text()
    return {name: (sums, size) for name, sums, size in csv.reader(text.splitlines())}


def check_record(place: Installation) -> None:
    """Every line is true, and every file of the package has one."""
    listed = record(place)
    for name, (sums, size) in listed.items():
        path = place.folder / name
        assert path.exists(), name
        if sums:
            kind, _, digest = sums.partition("=")
            data = path.read_bytes()
            assert (digest, int(size)) == (
                base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).rstrip(b"=").decode(),
                len(data),
            ), name
    for folder in ("demo", next(place.folder.glob("demo-*.dist-info")).name):
        for path in (place.folder / folder).rglob("*"):
            short = str(path.relative_to(place.folder))
            assert path.is_dir() or "__pycache__" in short or short in listed, short


def test_record_and_uninstall(bench: Bench, place: Installation) -> None:
    check_record(place)
    before = record(place)
    assert bench.run("apply", *place.options).code == 0
    check_record(place)
    assert record(place) != before and "demo/sizes.py" in record(place) and "demo/gone.py" not in record(place)
    wheels.pip(bench.root / "env", "uninstall", "-y", "demo")
    left = sorted(path.name for path in place.folder.iterdir())
    assert not [name for name in left if "demo" in name.lower() or "patchctl" in name], left


def test_upgrade_by_pip_leaves_nothing_of_ours(bench: Bench, place: Installation) -> None:
    bench.run("apply", *place.options)
    wheels.install(bench.root / "env", wheel(bench.root, "1.1"))
    assert not (place.folder / "demo/sizes.py").exists() and not (place.folder / "demo/sub").exists()
    assert bench.run("status", *place.options).code == 5


def test_stale_bytecode(bench: Bench, place: Installation) -> None:
    """Same size, same time: Python would take the bytecode of the old text."""
    model = place / "python/demo/model.py"
    os.utime(model, (1_500_000_000, 1_500_000_000))
    wanted = "import demo.model; print(len(demo.model.SIZES))"
    subprocess.run([python(place), "-c", wanted], check=True, capture_output=True)
    subprocess.run([python(place), "-m", "compileall", "-q", str(place.folder / "demo")], check=True)
    bench.run("apply", *place.options)
    os.utime(model, (1_500_000_000, 1_500_000_000))
    ask = "import demo.model, demo.core; print(demo.model.SIZES, demo.core.f1(), demo.core.f9())"
    said = subprocess.run([python(place), "-c", ask], capture_output=True, text=True, check=True)
    assert said.stdout.split("\n")[0] == "[8, 12] 100 900"
    assert not list(place.folder.rglob("demo/__pycache__/gone.*.pyc"))


def test_the_version_decides_the_target(bench: Bench, place: Installation) -> None:
    for version, code in (("1.0+cu130", 0), ("1.0.post1", 5), ("1.1", 5)):
        wheels.install(bench.root / "env", wheel(bench.root, version), "--force-reinstall")
        done = bench.run("apply", *place.options)
        assert done.code == code, (version, done.words)
        if code:
            assert done.kinds == ["wrong-version"] and version in done.document["error"]["message"]
            assert bench.run("apply", "--target", TAG, *place.options).code == 5
        else:
            assert done.document["target"] == TAG
            assert bench.run("unapply", *place.options).code == 0


def test_not_installed(bench: Bench) -> None:
    env = wheels.environment(bench.root / "bare").parents[2]
    done = bench.run("apply", "--installed", "--python", env / "bin/python")
    assert done.code == 4 and "demo" in done.document["error"]["message"]
    assert bench.run("apply", "--installed", "--python", bench.root / "no-such-python").code == 4


def test_an_editable_installation_names_its_sources(bench: Bench) -> None:
    env = bench.root / "editable"
    folder = wheels.environment(env)
    source = bench.root / "source"
    source.mkdir()
    info = folder / "demo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    (info / "RECORD").write_text("")
    (info / "direct_url.json").write_text(f'{{"url": "file://{source}", "dir_info": {{"editable": true}}}}')
    done = bench.run("apply", "--installed", "--python", env / "bin/python")
    assert done.code == 5 and str(source) in done.document["error"]["message"]
    assert "--into" in done.document["error"]["next"]


def test_files_outside_of_the_layout(bench: Bench, place: Installation) -> None:
    before = place.picture(times=True)
    bench.carry({**SERIES, "docs": {"README.md": b"patched\n"}, "build": {"python/pyproject.toml": b"[x]\n"}})
    done = bench.run("apply", *place.options)
    assert done.code == 5 and set(done.kinds) == {"outside-layout"}
    assert {problem["file"] for problem in done.document["problems"]} == {"README.md", "python/pyproject.toml"}
    assert place.picture(times=True) == before
    assert bench.run("apply", "--up-to", "model", *place.options).code == 0


def test_no_git_no_cache_no_network(bench: Bench, place: Installation, tmp_path: Path) -> None:
    env = {**environment(), "PATH": str(tmp_path / "empty")}
    for command in ("apply", "status", "unapply"):
        assert bench.run(command, *place.options, env=env).code == 0


def test_what_patches_need(bench: Bench, place: Installation) -> None:
    needs = {"model": '    requires: {flashinfer-python: ">=0.6.9", tiny: ">=2"}\n'}
    wheels.install(bench.root / "env", wheels.build(bench.root))  # tiny 1.0
    bench.carry(SERIES, needs)
    done = bench.run("apply", *place.options)
    assert done.code == 0
    assert [warning["kind"] for warning in done.document["warnings"]] == ["requires", "requires"]
    first, second = (warning["message"] for warning in done.document["warnings"])
    assert "flashinfer-python" in first and ">=0.6.9" in first and "not installed" in first
    assert "tiny" in second and ">=2" in second and "1.0" in second
    assert done.document["warnings"][0]["patch"] == "model"
    said = patchctl("apply", *place.options, cwd=bench.project, text=True)
    assert "flashinfer-python" in said.stderr
    assert bench.run("apply", "--up-to", "first", *place.options).document["warnings"] == []


def test_hard_links_and_modes(bench: Bench, place: Installation) -> None:
    path, twin = place / "python/demo/core.py", bench.root / "twin"
    path.chmod(0o640)
    twin.hardlink_to(path)
    before = twin.read_bytes()
    bench.run("apply", *place.options)
    assert twin.read_bytes() == before != path.read_bytes() and path.stat().st_mode & 0o777 == 0o640


def test_without_the_option_it_is_this_environment(bench: Bench) -> None:
    """``--installed`` alone asks the interpreter that runs patchctl; here that has no demo."""
    done = bench.run("apply", "--installed")
    assert done.code == 4 and "demo" in done.document["error"]["message"]


@pytest.mark.parametrize("what", ["RECORD", "dist-info"])
def test_broken_installations(bench: Bench, place: Installation, what: str) -> None:
    info = next(place.folder.glob("demo-*.dist-info"))
    if what == "RECORD":
        (info / "RECORD").unlink()
    else:
        shutil.copytree(info, info.with_name("demo-0.9.dist-info"))
    before = place.picture(times=True)
    done = bench.run("apply", *place.options)
    assert done.code == 5 and done.document["error"]["next"]
    assert place.picture(times=True) == before


def test_a_patch_that_would_run_at_every_start(bench: Bench, place: Installation) -> None:
    bench.carry({"evil": {"python/demo/x.pth": b"import os\n"}})
    done = bench.run("apply", *place.options)
    assert done.code == 5 and not list(place.folder.rglob("x.pth"))


def inside(bench: Bench, place: Installation, *args: str) -> Run:
    """patchctl as if it were installed beside the distribution: ``--installed`` is its own environment."""
    path = os.pathsep.join([str(OWN), sysconfig.get_path("purelib")])
    command = [python(place), "-m", "patchctl", "--json", *args, "--installed"]
    done = subprocess.run(
        command, cwd=bench.project, env={**environment(), "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Run(done.returncode, done.stdout, done.stderr)


def test_in_its_own_environment(bench: Bench, place: Installation) -> None:
    assert inside(bench, place, "status").code == 1
    assert inside(bench, place, "apply").code == 0
    done = inside(bench, place, "status")
    assert done.code == 0 and done.states == dict.fromkeys(SERIES, "live") and done.document["target"] == TAG
    # What differs from the lock is seen, whichever way it is found out.
    inside(bench, place, "apply", "--up-to", "first")
    assert inside(bench, place, "status").states["model"] == "missing"
    inside(bench, place, "apply")
    (place / "python/demo/model.py").write_bytes(b"mine\n")
    assert inside(bench, place, "status").states["model"] == "modified"
    (place / "python/demo/model.py").write_bytes(SERIES["model"]["python/demo/model.py"] or b"")
    bench.change_series()
    done = inside(bench, place, "status")
    assert done.code == 1 and done.states["extra"] == "missing"
    bench.change_series(bench.lab.now)
    (bench.project / "series.lock").unlink()
    assert inside(bench, place, "status").code == 3
    bench.change_series(bench.lab.now)
    assert inside(bench, place, "status").code == 0
    assert inside(bench, place, "unapply").code == 0
    assert inside(bench, place, "status").code == 1


def test_a_patched_one_that_is_hidden_by_another(bench: Bench, place: Installation) -> None:
    """Python takes the first on its path; that the second is patched must not make the gate open."""
    bench.run("apply", *place.options)
    front = bench.root / "front"
    wheels.pip(bench.root / "env", "install", "-q", "--no-deps", "--no-index", "-t", str(front), str(wheel(bench.root)))
    path = os.pathsep.join([str(front), str(OWN), sysconfig.get_path("purelib")])
    command = [python(place), "-m", "patchctl", "--json", "status", "--installed"]
    done = subprocess.run(command, cwd=bench.project, env={**environment(), "PYTHONPATH": path}, capture_output=True)
    assert done.returncode == 1
