"""From the engine's reports to the story: what a rebase hands over, and where upstream's changes are near."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from patchctl.engine import port as engine
from patchctl.engine import reader
from patchctl.engine.model import REGULAR, FileState
from patchctl.engine.outcome import FileRecord, HunkRecord, Note, PatchReport
from patchctl.engine.overlay import Entry
from patchctl.engine.render import Change, diff
from patchctl.series import project as projects
from patchctl.series.lock import Review
from patchctl.series.model import Dropped
from patchctl.workflows import report
from patchctl.workflows.report import stack
from patchctl.workflows.report.model import PatchStory, Upgrade
from tests.lintproject import make

TODAY = datetime.date(2026, 12, 1)


class Tree:
    """A tree in memory."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"{name}.py": FileState(data, REGULAR) for name, data in files.items()}

    def get(self, path: str) -> FileState | None:
        return self.files.get(path)

    def below(self, path: str) -> Sequence[str]:
        return [name for name in self.files if name.startswith(f"{path}/")]

    def names(self) -> Sequence[str]:
        return sorted(self.files)


def lines(count: int, **changed: str) -> bytes:
    """``line 1`` …, some of them with another text: ``l4="x"``; an empty one is left out."""
    texts = (changed.get(f"l{n}", f"line {n}") for n in range(1, count + 1))
    return "".join(f"{text}\n" for text in texts if text).encode()


def patch(name: str, old: bytes, new: bytes) -> bytes:
    return diff([Change(f"{name}.py", FileState(old, REGULAR), FileState(new, REGULAR))])


@pytest.fixture
def project(tmp_path: Path) -> projects.Project:
    return projects.load(make(tmp_path / "project"))


def moved(base: Tree, onto: Tree, old: dict[str, bytes], new: dict[str, bytes] | None = None) -> report.Moved:
    patches = [replace(reader.read(data, id)[0], name=id) for id, data in old.items()]
    reports = engine.port(patches, onto, base)
    carried = {id: old[id] for id in old if not next(r for r in reports if r.name == id).stuck}
    return report.Moved("v1", "v2", base, onto, reports, old, carried if new is None else new)


def tell(project: projects.Project, move: report.Moved) -> Upgrade:
    return report.tell(project, move, TODAY)


def only(project: projects.Project, base: bytes, ours: bytes, onto: bytes) -> PatchStory:
    move = moved(Tree(a=base), Tree(a=onto), {"one": patch("a", base, ours)})
    (story,) = tell(project, move).patches
    return story


def test_the_distance_of_upstream_s_changes(project: projects.Project) -> None:
    base, ours = lines(60), lines(60, l30="ours")
    (file,) = only(project, base, ours, lines(60, l25="a", l5="far", l55="far")).upstream
    assert [hunk.distance for hunk in file.hunks] == [4] and file.elsewhere == 2
    (file,) = only(project, base, ours, lines(60, l30="theirs")).upstream
    assert [hunk.distance for hunk in file.hunks] == [0]
    (file,) = only(project, base, ours, base).upstream
    assert file.state == "same" and not file.hunks


def test_lines_are_those_of_the_release_below_other_patches(project: projects.Project) -> None:
    """The second patch speaks of lines that the first has moved by thirty."""
    base = lines(60)
    first = b"".join(b"new %d\n" % n for n in range(30)) + base
    second = first.replace(b"line 50\n", b"ours\n")
    onto = lines(60, l48="theirs", l20="theirs")
    move = moved(Tree(a=base), Tree(a=onto), {"one": patch("a", base, first), "two": patch("a", first, second)})
    told = {story.id: story for story in tell(project, move).patches}
    (file,) = told["two"].upstream
    assert [hunk.distance for hunk in file.hunks] == [1] and file.elsewhere == 1


@pytest.mark.parametrize("span, expected", [((0, 1), (0, 0)), ((3, 4), (0, 1)), ((1, 2), (0, 0)), ((5, 5), (2, 2))])
def test_ranges_of_a_patched_file_in_the_pristine_one(span: tuple[int, int], expected: tuple[int, int]) -> None:
    pristine, patched = FileState(b"a\nb\nc\n", REGULAR), FileState(b"x\ny\nz\na\nb\nc\n", REGULAR)
    assert stack.Lines(pristine, patched).down(*span) == expected


def test_a_conflict_is_shown_with_its_regions(project: projects.Project) -> None:
    story = only(project, lines(20), lines(20, l9="ours"), lines(20, l9="theirs"))
    assert story.outcome == "conflict" and story.waits and story.problems
    texts = [row.text for block in story.conflicts for row in block.rows]
    assert "ours" in texts and "theirs" in texts and any(text.startswith("<<<<<<<") for text in texts)
    assert story.interdiff.kind == "old-only"


def test_a_review_shows_the_place_then_and_now(project: projects.Project) -> None:
    base, ours = lines(40), lines(40, l20="line 20\nours")
    onto = b"top\n" * 5 + base
    move = moved(Tree(a=base), Tree(a=onto), {"one": patch("a", base, ours)})
    (told,) = move.reports
    note = Note("a-rule", "Placed by a rule.", "a.py", 26)
    (story,) = tell(project, replace(move, reports=[replace(told, review=(note,))])).patches
    (found,) = story.open
    assert found.then is not None and found.now is not None
    assert [row.text for row in found.then.rows] == [row.text for row in found.now.rows]
    mine = [(row.new, row.text) for row in found.now.rows if row.sign == "+"]
    assert mine == [(26, "ours")] and [row.new for row in found.then.rows if row.sign == "+"] == [21]
    assert found.then.label == "v1 + one" and found.now.label == "v2 + one"


def test_decisions_and_accepted_reviews(project: projects.Project) -> None:
    base = lines(20)
    move = moved(Tree(a=base), Tree(a=base), {"one": patch("a", base, lines(20, l3="x"))})
    dropped = Dropped("no longer needed", "the boards are gone", "ada", "v1")
    (story,) = tell(project, replace(move, new={}, dropped={"one": dropped})).patches
    assert (story.outcome, story.engine) == ("dropped", "unchanged") and story.decided
    assert (story.decided.by, story.decided.reason) == ("ada", "no longer needed")
    review = Review("scope", "It is another function.", "a.py", "ada", "same code", "2026-11-30")
    (story,) = tell(project, replace(move, accepted={"one": (review,)})).patches
    assert not story.open and [found.reason for found in story.accepted] == ["same code"]


def test_a_rebase_writes_it_at_its_end(project: projects.Project) -> None:
    base = lines(20)
    move = moved(Tree(a=base), Tree(a=base), {"fix-a": patch("a", base, lines(20, l3="x"))})
    files = report.write(project, move, TODAY)
    assert sorted(files) == ["html", "json", "md"]
    assert json.loads(files["json"].read_bytes())["patches"][0]["title"] == "Count in digits"
    assert {path.relative_to(project.root).as_posix(): path.read_bytes() for path in files.values()} == report.render(
        tell(project, move)
    )


def test_a_tag_with_a_slash_stays_one_folder(project: projects.Project) -> None:
    base = lines(20)
    move = replace(moved(Tree(a=base), Tree(a=base), {}), to_tag="release/2")
    assert "build/reports/v1..release__2/report.md" in report.render(tell(project, move))


def test_a_long_series_keeps_to_the_room_of_a_pull_request(project: projects.Project) -> None:
    base = {f"f{n}": lines(200) for n in range(120)}
    onto = {name: lines(200, l100="theirs " * 40) for name in base}
    onto["f119"] = lines(200, l103="theirs")
    old = {f"p{n}": patch(name, data, lines(200, l103="ours")) for n, (name, data) in enumerate(base.items())}
    files = report.render(tell(project, moved(Tree(**base), Tree(**onto), old)))
    said = {name.rpartition(".")[2]: data.decode() for name, data in files.items()}
    assert len(said["md"]) < 65_536 and said["md"].count("More stands in the HTML report") > 60
    # Who has to decide reads all of it, however late in the series.
    assert "Conflict at" in said["md"] and said["html"].count("<article") == 120


def test_a_file_that_upstream_renamed(project: projects.Project) -> None:
    base, onto = lines(40), lines(40, l18="theirs")
    move = moved(Tree(a=base), Tree(b=onto), {"one": patch("a", base, lines(40, l20="ours"))})
    record = FileRecord("a.py", "b.py", "relocated", (HunkRecord(17, 17, "transport", 1.0, None),))
    told = PatchReport("one", "relocated", (record,))
    (story,) = tell(project, replace(move, reports=[told], new=move.old)).patches
    (file,) = story.upstream
    assert (file.path, file.onto, file.state) == ("a.py", "b.py", "moved") and len(file.hunks) == 1
    (story,) = tell(project, replace(move, onto=Tree(c=b""), reports=[told], new=move.old)).patches
    assert story.upstream[0].state == "gone" and story.upstream[0].onto is None


def test_new_and_binary_files(project: projects.Project) -> None:
    fresh = diff([Change("n.py", None, FileState(b"x\n", REGULAR))])
    binary = diff([Change("a.py", FileState(b"\0a", REGULAR), FileState(b"\0b", REGULAR))])
    move = moved(Tree(a=b"\0a"), Tree(a=b"\0a", n=b"theirs\n"), {"new": fresh, "binary": binary})
    told = {story.id: story for story in tell(project, move).patches}
    assert told["new"].upstream[0].state == "new" and told["binary"].upstream[0].state == "same"
    assert report.render(tell(project, move))


def test_what_the_engine_compared_is_not_compared_again(project: projects.Project) -> None:
    base, onto = lines(40), lines(40, l18="theirs")
    asked = []

    def scripts(old: FileState, new: FileState) -> list[tuple[int, int, int, int]]:
        asked.append((old.blob, new.blob))
        return [(17, 18, 17, 18)]

    move = moved(Tree(a=base), Tree(a=onto), {"one": patch("a", base, lines(40, l22="ours"))})
    (story,) = tell(project, replace(move, scripts=scripts)).patches
    assert len(asked) == 1 and [hunk.start for hunk in story.upstream[0].hunks] == [18]


def test_what_a_person_decided_stands_next_to_what_the_engine_left_open(project: projects.Project) -> None:
    """A rebase that goes on with a decision does not try the patch again; the report does, on what lies below it."""
    base, onto = lines(30), lines(30, l9="theirs")
    first, second = lines(30, l3="below"), lines(30, l3="below", l9="ours")
    move = moved(Tree(a=base), Tree(a=onto), {"one": patch("a", base, first), "two": patch("a", first, second)})
    below, mine = lines(30, l3="below", l9="theirs"), lines(30, l3="below", l9="both")
    settled = PatchReport("two", "resolved", changes={"a.py": Entry(FileState(mine, REGULAR))})
    new = {"one": patch("a", onto, below), "two": patch("a", below, mine)}
    told = {
        story.id: story for story in tell(project, replace(move, reports=[move.reports[0], settled], new=new)).patches
    }
    assert (told["two"].outcome, told["two"].engine) == ("resolved", "conflict")
    assert told["two"].problems and not told["two"].waits
    texts = [row.text for block in told["two"].conflicts for row in block.rows]
    assert "<<<<<<< v2" in texts and "theirs" in texts and "ours" in texts
    assert told["one"].engine is None
