"""``rebase`` onto a release that is a target already: compared, added to, never overwritten."""

from __future__ import annotations

from tests.moving import CLASH, FRESH, LATER, NEXT, RIVAL, SHIFTED, SMOOTH, STILL, TAKEN, Files, Move

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")


def carry(move: Move, series: dict[str, Files], first: list[str]) -> None:
    """A project whose v1.1 has been made with the patches ``first`` alone."""
    move.carry({id: files for id, files in series.items() if id in first})
    assert move.begin().code == 0
    kept = {path.name: path.read_bytes() for path in (move.project / "patches/v1.1").iterdir()}
    target, lock = move.series["targets"]["v1.1"], move.lock["v1.1"]
    move.carry(series)
    (move.project / "patches/v1.1").mkdir()
    for name, data in kept.items():
        (move.project / "patches/v1.1" / name).write_bytes(data)
    pin = target["pin"]["commit"]
    more = f'  v1.1:\n    pin: {{commit: "{pin}"}}\n    patches: [{", ".join(target["patches"])}]\n'
    text = (move.project / "series.yaml").read_text()
    (move.project / "series.yaml").write_text(text.replace("patches:\n  ", more + "patches:\n  ", 1))
    assert move.run("lock").code == 0
    assert [patch["id"] for patch in move.lock["v1.1"]["patches"]] == [patch["id"] for patch in lock["patches"]]


def test_patches_that_are_there_are_compared(bare: Move) -> None:
    carry(bare, dict(SMOOTH), list(SMOOTH))
    before = bare.picture()
    said = bare.begin()
    assert said.code == 0 and said.document["done"]
    assert {patch["id"]: patch["existing"] for patch in said.document["patches"]} == dict.fromkeys(SMOOTH, "equal")
    after = {name: seen for name, seen in bare.picture().items() if not name.startswith("build")}
    assert after == {name: seen for name, seen in before.items() if not name.startswith("build")}


def test_a_different_one_is_never_overwritten(bare: Move) -> None:
    carry(bare, dict(SMOOTH), list(SMOOTH))
    path = bare.project / "patches/v1.1/fresh.patch"
    path.write_bytes(bare.world.made("fresh", {}, {"demo/fresh.py": b"FRESH = 2\n"}, "v1.1"))
    assert bare.run("lock", "v1.1").code == 0
    mine = path.read_bytes()
    said = bare.begin()
    assert said.code == 0 and said.patch("fresh")["existing"] == "different"
    assert said.patch("still")["existing"] == "equal"
    assert path.read_bytes() == mine
    assert any(note["kind"] == "existing" for note in said.patch("fresh")["review"])


def test_one_that_the_engine_could_not_move_is_settled_by_the_file_that_is_there(bare: Move) -> None:
    bare.carry({"clash": CLASH})
    bare.begin()
    bare.conflict("clash").write_bytes(RESOLVED)
    assert bare.rebase("--continue").code == 0
    said = bare.begin()
    assert said.code == 0 and said.patch("clash")["existing"] == "different"
    assert said.outcomes == {"clash": "resolved"} and said.document["done"]


def test_others_are_refused_and_added_when_asked_for(bare: Move) -> None:
    series: dict[str, Files] = {"still": STILL, "shifted": SHIFTED, "fresh": FRESH}
    carry(bare, series, ["still"])
    before = bare.picture()
    said = bare.begin()
    assert said.code == 5 and said.kinds == ["target-exists", "target-exists"]
    assert "--into-existing" in said.document["error"]["next"] and bare.picture() == before
    said = bare.begin("--into-existing")
    assert said.code == 0
    assert bare.series["targets"]["v1.1"]["patches"] == ["still", "shifted", "fresh"]
    assert {patch["id"]: patch["existing"] for patch in said.document["patches"]} == {
        "still": "equal",
        "shifted": None,
        "fresh": None,
    }
    assert bare.run("lock", "--check", "v1.1").code == 0
    assert bare.applied("v1.1", "demo/fresh.py") == FRESH["demo/fresh.py"]
    assert bare.applied("v1.1", "demo/quiet.py") == STILL["demo/quiet.py"]


def test_a_conflict_on_the_way_into_an_existing_target(bare: Move) -> None:
    carry(bare, {"still": STILL, "clash": CLASH, "taken": TAKEN}, ["still"])
    said = bare.begin("--into-existing")
    assert said.code == 3 and said.needed == ["clash"]
    bare.conflict("clash").write_bytes(RESOLVED)
    said = bare.rebase("--continue")
    assert said.code == 0
    target = bare.series["targets"]["v1.1"]
    assert target["patches"] == ["still", "clash"] and target["dropped"]["taken"]["reason"] == "upstreamed"
    assert bare.applied("v1.1", "demo/core.py") == RESOLVED


def test_what_the_target_has_dropped_stays_dropped(bare: Move) -> None:
    bare.carry({"rival": RIVAL, "fresh": FRESH})
    bare.begin()
    assert bare.rebase("--drop", "rival", "--reason", "theirs is better").code == 0
    before = bare.picture()
    said = bare.begin("--into-existing")
    assert said.code == 0 and said.outcomes["rival"] == "dropped"
    assert "theirs is better" in said.patch("rival")["evidence"][0]["text"]
    written = {name for name in said.document["written"] if not name.startswith("build/")}
    assert written == set()
    assert {n: s for n, s in bare.picture().items() if not n.startswith("build")} == {
        n: s for n, s in before.items() if not n.startswith("build")
    }


def test_what_follows_a_patch_that_a_person_decided_is_compared_on_top_of_that(bare: Move) -> None:
    for decide in (("--continue",), ("--drop", "clash", "--reason", "no")):
        bare.carry({"clash": CLASH, "later": LATER})
        bare.begin()
        bare.conflict("clash").write_bytes(RESOLVED)
        assert bare.rebase(*decide).code == 0
        said = bare.begin()
        assert said.code == 0 and said.patch("later")["existing"] == "equal", said.document
