"""For any tree and any edits: what git says about them, read and applied, gives the edited tree, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchctl.engine import reader, strict
from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState
from patchctl.errors import DecisionNeeded, Refused
from tests.engine.trees import Tree, applied, diff, git, refusal

# No name is a folder of another one, so that any set of them makes a tree.
NAMES = [
    "a.py", "pkg/mod.py", "pkg/sub/x.py", "my file.txt", "run b/tool.py", "caf\udce9.txt", "na\u00efve.py", 'quo"te.py',
    " lead", "trail ", "x y z", "b/b", "-dash", "tab\there",
]  # fmt: skip

LINES = st.one_of(
    st.sampled_from([b"", b"a", b"b", b"    return", b"\x0c", b"a\x0bb", b"\xe9", b"\xc2\x85", b"\xe2\x80\xa8--- a/x"]),
    st.sampled_from(
        [b"-- sql", b"++ b", b"-- a/x", b"@@ -1 +1 @@", b"x\ry", b"cr\r", b"\\ No newline", b"---", b"-- "]
    ),
    st.sampled_from([b"diff --git a/x b/x", b"+++ b/x"]),
    st.integers(0, 50).map(lambda number: b"line %d" % number),
)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 12)) == 0:
        return draw(st.binary(max_size=300))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    text = b"".join(line + end for line in draw(st.lists(LINES, max_size=25)))
    return text[: -len(end)] if text and draw(st.booleans()) else text


@st.composite
def files(draw: st.DrawFn) -> FileState:
    mode = draw(st.sampled_from([REGULAR, REGULAR, REGULAR, EXECUTABLE, LINK]))
    return FileState(draw(st.sampled_from([b"one", b"two/x"])) if mode == LINK else draw(contents()), mode)


@st.composite
def edited(draw: st.DrawFn, state: FileState) -> FileState:
    if state.mode == LINK or draw(st.integers(0, 5)) == 0:
        return draw(files())
    lines = state.data.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
    return FileState(b"\n".join(lines), draw(st.sampled_from([state.mode, state.mode, EXECUTABLE])))


@st.composite
def changes(draw: st.DrawFn) -> tuple[Tree, Tree]:
    before: Tree = draw(st.dictionaries(st.sampled_from(NAMES), files(), min_size=1, max_size=4))
    after = dict(before)
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        if name not in after:
            source = draw(st.sampled_from(sorted(before)))
            after[name] = draw(st.one_of(files(), st.just(before[source]), edited(before[source])))
            if draw(st.booleans()):
                after.pop(source, None)
        elif draw(st.booleans()):
            after[name] = draw(edited(after[name]))
        else:
            del after[name]
    return before, after


OPTIONS = st.tuples(
    st.sampled_from(["--no-renames", "-M", "-C", "--find-copies-harder", "-M20%"]),
    st.sampled_from(["-U3", "-U3", "-U1", "-U0", "-U8"]),
    st.sampled_from(["--full-index", "--abbrev=7", "--text"]),
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("repo")
    git(path, "init", "-q")
    yield path


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(change=changes(), options=OPTIONS, prefix=st.booleans())
def test_diff_read_apply_reverse(repo: Path, change: tuple[Tree, Tree], options: tuple[str, ...], prefix: bool) -> None:
    before, after = change
    data = diff(repo, before, after, *options, *([] if prefix else ["--no-prefix"]))
    if not data:
        assert before == after
        return
    (patch,) = reader.read(data, "p.patch", int(prefix))
    assert applied(patch, before) == after
    try:
        back = strict.reverse_patch(patch)
    except strict.Irreversible as error:
        assert error.section.change.value == "copy"
        return
    assert applied(back, after) == before
    assert {path for section in patch.files for path in section.paths} >= {
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    }


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(change=changes(), line=st.integers(0, 200), other=LINES)
def test_a_damaged_patch_never_brings_another_result_in_silence(
    repo: Path, change: tuple[Tree, Tree], line: int, other: bytes
) -> None:
    """One line dropped, doubled or replaced: refused, no fit, or a result that the full ids of git vouch for."""
    before, after = change
    lines = diff(repo, before, after, "--no-renames", "--full-index").split(b"\n")
    at = line % len(lines)
    for damaged in (lines[:at] + lines[at + 1 :], lines[: at + 1] + lines[at:], [*lines[:at], other, *lines[at + 1 :]]):
        try:
            patches = reader.read(b"\n".join(damaged), "p.patch", 1)
            result = before
            for patch in patches:
                result = applied(patch, result)
        except (Refused, DecisionNeeded) as fault:
            assert fault.problems
            continue
        allowed = {state.data for state in (*before.values(), *after.values())}
        for path, state in result.items():
            assert state.data in allowed or not _has_ids(patches, path)


def _has_ids(patches: list[reader.Patch], path: str) -> bool:
    return any(section.new_blob is not None for patch in patches for section in patch.files if section.new_path == path)


@settings(max_examples=300, deadline=None)
@given(data=st.lists(st.one_of(LINES, st.binary(max_size=20)), max_size=12).map(b"\n".join))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    head = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n"
    for text in (data, head + data, b"diff --git a/x b/x\n" + data, b"From: a\nSubject: b\n\n" + data + head):
        try:
            for patch in reader.read(text, "p.patch"):
                assert patch.files
        except Refused as refused:
            assert all(problem.message and problem.patch for problem in refused.problems)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_names_survive_quoting(repo: Path, raw: bytes) -> None:
    """Whatever git quotes is either read back as the same bytes or refused as unsafe."""
    quoted = b"".join(b"\\%03o" % byte for byte in raw)
    data = b'--- "a/%b"\n+++ "b/%b"\n@@ -1 +1 @@\n-a\n+b\n' % (quoted, quoted)
    try:
        (patch,) = reader.read(data, "p.patch", 1)
    except Refused as refused:
        assert {problem.kind for problem in refused.problems} <= {"unsafe-path", "strip"}
        return
    assert patch.files[0].path.encode("utf-8", "surrogateescape") == raw


def test_the_damage_test_would_notice(repo: Path) -> None:
    data = diff(repo, {"a.py": FileState(b"1\n2\n3\n")}, {"a.py": FileState(b"1\n2\n4\n")}, "--full-index")
    assert refusal(data.replace(b"+4\n", b""))[0].kind == "truncated"
