"""Laws of a port with a base, whatever the texts are."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patchctl.engine import reader
from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.model import FileState
from patchctl.engine.outcome import PatchReport
from patchctl.engine.port import port
from patchctl.engine.render import Change, diff

# Few different lines, so that everything repeats; some say much, some nothing.
LINES = st.lists(
    st.sampled_from(
        ["def f():", "    a = 1", "    return a", "", "class C:", "    x: 2", "import os", "}", "word word"]
    ),
    min_size=1,
    max_size=14,
)
PATHS = st.sampled_from(["m.py", "m.yaml", "m.c", "m.txt", "m.go"])
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


class One:
    """A tree with one file."""

    def __init__(self, path: str, data: bytes) -> None:
        self._files = {path: FileState(data)}

    def get(self, path: str) -> FileState | None:
        return self._files.get(path)

    def below(self, path: str) -> Sequence[str]:
        return ()

    def names(self) -> Sequence[str]:
        return list(self._files)


def joined(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def patch_of(path: str, old: bytes, new: bytes) -> bytes:
    lines = split(old)
    origins: list[int] = []
    at = 0
    for edit in script(lines, split(new)):
        origins += [*range(at, edit.start), *[-1] * (edit.new_end - edit.new_start)]
        at = edit.end
    return diff([Change(path, FileState(old), FileState(new), [*origins, *range(at, len(lines))])])


def carried(path: str, base: bytes, patched: bytes, onto: bytes) -> PatchReport:
    assume(base != patched)
    patches = reader.read(patch_of(path, base, patched), "p")
    (report,) = port(patches, One(path, onto), One(path, base))
    return report


def result(report: PatchReport, path: str, onto: bytes) -> bytes:
    state = report.changes[path].state if path in report.changes else FileState(onto)
    assert state is not None
    return state.data


@given(PATHS, LINES, LINES)
@SLOW
def test_onto_its_own_base_a_patch_is_unchanged(path: str, base: list[str], patched: list[str]) -> None:
    report = carried(path, joined(base), joined(patched), joined(base))
    assert report.outcome == "unchanged"
    assert result(report, path, joined(base)) == joined(patched)


@given(PATHS, LINES, LINES)
@SLOW
def test_onto_its_own_result_it_is_there_already(path: str, base: list[str], patched: list[str]) -> None:
    report = carried(path, joined(base), joined(patched), joined(patched))
    assert report.outcome == "upstreamed"
    assert not report.changes


APART = [f"line {number} of what nobody touches" for number in range(8)]


@given(LINES, LINES, LINES)
@SLOW
def test_edits_apart_from_each_other_are_both_made(first: list[str], mine: list[str], theirs: list[str]) -> None:
    """``first`` stands twice, and the patch changes the one, upstream the other."""
    base, patched = joined([*first, *APART, *first]), joined([*mine, *APART, *first])
    report = carried("m.txt", base, patched, joined([*first, *APART, *theirs]))
    if report.outcome in ("unchanged", "offset", "merged", "structural"):
        assert result(report, "m.txt", b"") == joined([*mine, *APART, *theirs])


UNIQUE = [f"line {number} says something of its own" for number in range(40)]
# What becomes of a line: it stays, goes, is rewritten, or gets company.
EDITS = st.lists(st.tuples(st.integers(0, 16), st.sampled_from(["goes", "edited", "above", "below"])), max_size=4)


def edited(edits: Sequence[tuple[int, str]], first: int, who: str) -> list[str]:
    """``UNIQUE`` with edits by ``who``, counted from line ``first``."""
    out = []
    done = dict(edits)
    for number, line in enumerate(UNIQUE):
        how = done.get(number - first)
        out += [f"{who} above {number}"] if how == "above" else []
        out += [] if how == "goes" else [f"{who} was at {line}" if how == "edited" else line]
        out += [f"{who} below {number}"] if how == "below" else []
    return out


@given(EDITS, EDITS)
@SLOW
def test_lines_that_are_told_apart_never_conflict_from_afar(
    mine: list[tuple[int, str]], theirs: list[tuple[int, str]]
) -> None:
    patched, onto = edited(mine, 0, "patch"), edited(theirs, 22, "upstream")
    report = carried("m.txt", joined(UNIQUE), joined(patched), joined(onto))
    assert not report.stuck
    both = [line for line in onto if line not in UNIQUE] + [line for line in patched if line not in UNIQUE]
    made = result(report, "m.txt", joined(onto)).decode().splitlines()
    kept = [line for line in UNIQUE if line in patched and line in onto]
    assert sorted(made) == sorted([*both, *kept])
    assert [line for line in made if line not in onto] == [line for line in patched if line not in UNIQUE]
    assert [line for line in made if line not in patched] == [line for line in onto if line not in UNIQUE]


@given(EDITS, EDITS)
@SLOW
def test_there_and_back_is_the_identity(mine: list[tuple[int, str]], theirs: list[tuple[int, str]]) -> None:
    one, two, three = (joined(text) for text in (UNIQUE, edited(mine, 0, "patch"), edited(theirs, 22, "upstream")))
    made = result(carried("m.txt", one, two, three), "m.txt", three)
    back = carried("m.txt", three, made, one)
    assert not back.stuck
    assert result(back, "m.txt", one) == two


@given(PATHS, LINES, LINES, LINES)
@SLOW
def test_a_conflict_shows_where(path: str, base: list[str], patched: list[str], onto: list[str]) -> None:
    report = carried(path, joined(base), joined(patched), joined(onto))
    assert report.stuck == bool(report.problems)
    if report.stuck:
        state = report.proposals[path].state
        assert state is not None
        assert b"<<<<<<<" in state.data
        assert not report.changes


@given(LINES, LINES, LINES)
@SLOW
def test_there_and_back_by_arithmetic_is_the_identity(base: list[str], patched: list[str], onto: list[str]) -> None:
    one, two, three = joined(base), joined(patched), joined(onto)
    there = carried("m.txt", one, two, three)
    made = result(there, "m.txt", three) if there.outcome in ("unchanged", "offset") else three
    if made != three:
        back = carried("m.txt", three, made, one)
        if back.outcome in ("unchanged", "offset"):
            assert result(back, "m.txt", one) == two


@given(PATHS, LINES, LINES, LINES)
@SLOW
def test_origins_name_the_very_lines(path: str, base: list[str], patched: list[str], onto: list[str]) -> None:
    report = carried(path, joined(base), joined(patched), joined(onto))
    old = split(joined(onto))
    for entry in [*report.changes.values(), *report.proposals.values()]:
        assert entry.state is not None
        new = split(entry.state.data)
        if entry.origins is not None:
            assert len(entry.origins) == len(new)
            kept = [(origin, line) for origin, line in zip(entry.origins, new, strict=True) if origin >= 0]
            assert all(old[origin] == line for origin, line in kept)
            assert [origin for origin, _ in kept] == sorted({origin for origin, _ in kept})
