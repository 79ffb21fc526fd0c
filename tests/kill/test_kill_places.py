"""Kills over the places themselves: an unpacked tree and an installed distribution, forth and back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from patchctl.target.installed import Installed
from patchctl.target.place import Place
from patchctl.target.tree import Tree

from ..target import receipts, wheels
from ..target.test_installed import AFTER, BEFORE
from . import harness
from .harness import Subject


def forth(place: Place) -> None:
    with place.locked():
        if place.interrupted():
            place.recover()
        if place.receipt() is None:
            place.write(receipts.plan(place, BEFORE, AFTER))


def back(place: Place) -> None:
    with place.locked():
        if place.interrupted():
            place.recover()
        if place.receipt() is not None:
            place.write(receipts.back(place, BEFORE))


@pytest.fixture
def template(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "template"
    if request.param == "installed":
        site = wheels.environment(folder)
        wheels.install(folder, wheels.build(tmp_path))
        shutil.rmtree(site / "tiny/sub/__pycache__")
        return site
    for name, data in wheels.FILES.items():
        path = folder / "python" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def subject(template: Path, tmp_path: Path, kind: str, way: str) -> Subject:
    root = tmp_path / "place"

    def opened() -> Place:
        if kind == "installed":
            return Installed(root, "tiny-1.0.dist-info", wheels.LAYOUT)
        return Tree(root, {"": ""})

    def make() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        if way == "back":
            forth(opened())

    act = forth if way == "forth" else back
    return Subject(
        f"{kind}, {'apply' if way == 'forth' else 'unapply'}",
        make,
        run=lambda: act(opened()),
        again=lambda: act(opened()),
        look=lambda: harness.files(root),
        marked=lambda: opened().interrupted(),
    )


@pytest.mark.parametrize("way", ["forth", "back"])
@pytest.mark.parametrize(("template", "kind"), [("tree", "tree"), ("installed", "installed")], indirect=["template"])
def test_at_every_point(
    template: Path, tmp_path: Path, kind: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = harness.at_every_point(subject(template, tmp_path, kind, way), tmp_path)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills == tally.points > 30


@pytest.mark.slow
@pytest.mark.parametrize("way", ["forth", "back"])
@pytest.mark.parametrize(("template", "kind"), [("tree", "tree"), ("installed", "installed")], indirect=["template"])
def test_at_random(template: Path, tmp_path: Path, kind: str, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    tally = harness.at_random(subject(template, tmp_path, kind, way), tmp_path, kills=100)
    with capsys.disabled():
        print(f"\n{tally}")
    assert tally.kills >= 100
