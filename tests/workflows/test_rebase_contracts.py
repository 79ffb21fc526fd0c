"""``rebase`` and the contracts that patches name: what upstream offers by itself, and what is missing all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.moving import Files, Move, World
from tests.target.checkouts import git

ENGINE = b"""class Engine:
    def __init__(self, model):
        self.model = model

    def start(self):
        return self.model.embed()
"""
HEAD = b"class Model:\n    def __init__(self):\n        self.a = 1\n"
BODY = b"\n    def forward(self):\n        return self.a\n"
OWN = b"\n    def embed(self):\n        return self.a\n"
OTHER = b"def helper():\n    return 1\n"
BASE: Files = {"demo/__init__.py": b"", "demo/engine.py": ENGINE, "demo/model.py": HEAD + BODY, "demo/other.py": OTHER}
MIXIN = b"class Embeds:\n    def embed(self):\n        return 2\n"
INHERITS = b"from demo.mixin import Embeds\n\n\n" + HEAD.replace(b"Model:", b"Model(Embeds):") + BODY
# What the releases after v1.0 are: upstream offers it by inheritance; asks for more; has no such class; is unclear.
RELEASES: dict[str, Files] = {
    "v1.1": {"demo/mixin.py": MIXIN, "demo/model.py": INHERITS},
    "v1.2": {
        "demo/mixin.py": None,
        "demo/model.py": b"import os\n\n\n" + HEAD + BODY,
        "demo/engine.py": ENGINE + b"\n    def stop(self):\n        self.model.release()\n",
    },
    "v1.3": {"demo/engine.py": b"class Motor:\n    pass\n"},
    "v1.4": {
        "demo/engine.py": ENGINE,
        "demo/model.py": b"from elsewhere import Base\n\n\n" + HEAD.replace(b"Model:", b"Model(Base):") + BODY,
    },
    "v1.5": {"demo/model.py": b"import os\n\n\n" + HEAD + BODY, "demo/engine.py": b"def (\n"},
}
PATCH: dict[str, Files] = {"embeds": {"demo/model.py": HEAD + BODY + OWN}}
CONTRACTS = """\
contracts:
  target:
    role: target
    provider: "demo/model.py:Model"
    consumers: [{in: "demo/engine.py:Engine", object: self.model}]
"""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("contracts"))
    world.upstream.mkdir()
    git(world.upstream, "init", "-q", "-b", "main")
    world.release("v1.0", BASE)
    for tag, files in RELEASES.items():
        world.release(tag, files)
    yield world


@pytest.fixture
def move(upstream: World, offline: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Move:
    for name, value in upstream.env.items():
        monkeypatch.setenv(name, value)
    return named(Move(upstream, tmp_path / "project"), PATCH)


def named(move: Move, series: Mapping[str, Files]) -> Move:
    """The project with a series whose patch ``embeds`` names a contract."""
    move.carry(series)
    path = move.project / "series.yaml"
    text = path.read_text().replace("title: The patch embeds\n", "title: The patch embeds\n    contracts: [target]\n")
    path.write_text(text + CONTRACTS)
    return move


def texts(said: dict[str, list[dict[str, str]]], where: str) -> list[str]:
    return [note["text"] for note in said[where] if note["kind"] == "contract"]


def test_a_patch_that_upstream_made_needless_by_inheritance_is_superseded(move: Move) -> None:
    said = move.begin()
    assert said.code == 3 and said.outcomes == {"embeds": "superseded"}
    (evidence,) = texts(said.patch("embeds"), "evidence")
    assert "v1.1 by itself offers all that the patch provides" in evidence
    assert "embed (inherited from Embeds, demo/mixin.py:2)" in evidence
    assert said.kinds == ["superseded"] and not (move.project / "patches/v1.1").exists()


def test_it_can_be_dropped(move: Move) -> None:
    assert move.begin().code == 3
    said = move.rebase("--drop", "embeds", "--reason", "upstream has it")
    assert said.code == 0 and said.document["done"]
    assert "embed (inherited from Embeds" in move.series["targets"]["v1.1"]["dropped"]["embeds"]["evidence"]


def test_it_can_be_kept(move: Move) -> None:
    assert move.begin().code == 3
    said = move.rebase("--keep", "embeds")
    assert said.code == 0 and said.outcomes == {"embeds": "kept"}
    assert move.applied("v1.1", "demo/model.py") == INHERITS + OWN


def test_a_patch_that_does_more_is_carried_with_a_review(move: Move) -> None:
    more = {"embeds": {**PATCH["embeds"], "demo/other.py": OTHER.replace(b"1", b"2")}}
    said = named(move, more).begin("--dry-run")
    assert said.code == 0 and said.outcomes["embeds"] in ("offset", "merged")
    assert any("The patch does more than that" in text for text in texts(said.patch("embeds"), "review"))


def test_a_later_patch_of_the_same_file_waits(move: Move) -> None:
    later = {**PATCH, "later": {"demo/model.py": HEAD.replace(b"= 1", b"= 3") + BODY + OWN}}
    said = named(move, later).begin("--dry-run")
    assert said.outcomes == {"embeds": "superseded", "later": "waiting"}


def test_what_is_missing_with_the_patch_on_is_said_with_its_site(move: Move) -> None:
    said = move.rebase("--to", "v1.2", "--dry-run")
    assert said.code == 0
    (note,) = [note for note in said.patch("embeds")["review"] if note["kind"] == "contract"]
    assert "target does not hold on v1.2: Model lacks release, and Engine.stop calls it" in note["text"]
    assert (note["file"], note["line"]) == ("demo/engine.py", 9)


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("v1.3", "A declared consumer is gone: demo/engine.py does not define Engine"),
        ("v1.4", "whether v1.4 by itself offers embed is not known"),
        ("v1.5", "it does not parse on this Python"),
    ],
)
def test_what_cannot_be_judged_is_no_silent_pass(move: Move, tag: str, words: str) -> None:
    said = move.rebase("--to", tag, "--dry-run")
    assert said.outcomes["embeds"] != "superseded"
    assert words in "\n".join(texts(said.patch("embeds"), "review"))


def test_what_is_missing_keeps_nobody_from_moving(move: Move) -> None:
    said = move.rebase("--to", "v1.2")
    assert said.code == 0 and said.document["done"] and "Model lacks release" in said.stderr


def test_a_patch_that_provides_nothing_is_told_of_its_contract_too(move: Move) -> None:
    only = {"embeds": {"demo/other.py": OTHER.replace(b"1", b"2")}}
    said = named(move, only).rebase("--to", "v1.3", "--dry-run")
    assert any("does not hold on v1.3" in text for text in texts(said.patch("embeds"), "review"))
