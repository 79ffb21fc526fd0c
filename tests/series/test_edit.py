"""Edits of series.yaml: the change, and nothing but the change."""

from __future__ import annotations

import difflib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.errors import InvalidInput
from patchctl.series import load
from patchctl.series.edit import SeriesEditor
from patchctl.series.model import Dropped, PatchInfo, Pin, Target, UpstreamStatus
from tests.series.samples import SERIES

Edit = Callable[[SeriesEditor], None]

COMMIT = "3" * 40
INFO = PatchInfo(
    title="Fix c: the third",
    why="first line\nsecond line\n",
    owner="team",
    upstream=UpstreamStatus("backport", "https://example.org/pull/3"),
    expires="2028-01-01",
)
FULL = SERIES.replace("      - fix-b\n", "      - fix-b\n      - fix-c\n").replace(
    "  fix-b:\n", "  fix-c: {title: c, why: w, owner: o, upstream: {status: pending}}\n  fix-b:\n"
)


def edited(text: str, *edits: Edit) -> str:
    editor = SeriesEditor(text.encode())
    for edit in edits:
        edit(editor)
    return editor.finish().decode()


def changes(old: str, new: str) -> list[str]:
    """The lines taken out and put in, as a diff shows them."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda e: e.add_patch("v1.1", "fix-c"), ["-      - fix-c", "+      - fix-c"]),
        (
            lambda e: e.set_default("v1.0"),
            ["-default: v1.1  # the one in production", "+default: v1.0  # the one in production"],
        ),
        (lambda e: e.add_patch("v1.0", "fix-b"), ["-    patches: [fix-a]", "+    patches: [fix-a, fix-b]"]),
        (
            lambda e: e.add_patch("v1.0", "fix-b", before="fix-a"),
            ["-    patches: [fix-a]", "+    patches: [fix-b, fix-a]"],
        ),
        (lambda e: e.remove_patch("v1.0", "fix-a"), ["-    patches: [fix-a]", "+    patches: []"]),
        (lambda e: e.remove_patch("v1.1", "fix-a"), ["-      - fix-a   # needs to come first"]),
        (lambda e: e.set_patches("v1.1", []), None),
        (
            lambda e: e.move_patch("v1.1", "fix-b", before="fix-a"),
            ["-      - fix-a   # needs to come first", "+      - fix-a   # needs to come first"],
        ),
        (lambda e: e.set_pin("v1.0", Pin(commit=COMMIT)), None),
        (
            lambda e: e.set_pin("v1.1", Pin(commit="2" * 40, sdist="sha256:" + "a" * 64)),
            ['+      sdist: "sha256:' + "a" * 64 + '"'],
        ),
        (
            lambda e: e.drop("v1.1", "fix-b", Dropped("upstreamed: yes", by="rebase")),
            ["-      - fix-b", '+      fix-b: {reason: "upstreamed: yes", by: rebase}'],
        ),
        (
            lambda e: e.drop("v1.0", "fix-a", Dropped("no longer needed")),
            ["-    patches: [fix-a]", "+    patches: []", "+    dropped:", "+      fix-a: {reason: no longer needed}"],
        ),
        (
            lambda e: e.add_target("v1.2", Target(Pin(commit=COMMIT), ["fix-a", "fix-b"])),
            ["+  v1.2:", '+    pin: {commit: "' + COMMIT + '"}', "+    patches:", "+      - fix-a", "+      - fix-b"],
        ),
        (
            lambda e: e.set_info("fix-d", INFO),
            [
                "+  fix-d:",
                '+    title: "Fix c: the third"',
                "+    why: |",
                "+      first line",
                "+      second line",
                "+    owner: team",
                '+    upstream: {status: backport, url: "https://example.org/pull/3"}',
                '+    expires: "2028-01-01"',
            ],
        ),
    ],
)
def test_only_the_change_changes(edit: Edit, expected: list[str] | None, eol: str) -> None:
    text = SERIES.replace("\n", eol)
    if expected and "fix-c" in expected[0]:
        text = FULL.replace("\n", eol)
        assert edited(text, edit) == text
        return
    result = edited(text, edit)
    if expected is not None:
        assert changes(text.replace("\r\n", "\n"), result.replace("\r\n", "\n")) == expected
    assert result.count("\n") == result.count(eol)
    assert result != text


def test_the_whole_text_after_many_edits() -> None:
    result = edited(
        FULL,
        lambda e: e.move_patch("v1.1", "fix-c", before="fix-a"),
        lambda e: e.remove_patch("v1.1", "fix-a"),
        lambda e: e.set_pin("v1.1", Pin(commit=COMMIT, wheels=["sha256:" + "b" * 64])),
        lambda e: e.remove_target("v1.0"),
        lambda e: e.add_target("v1.2", Target(Pin(commit=COMMIT), ["fix-c"], {"fix-b": Dropped("gone", from_="v1.1")})),
    )
    assert result.split("\npatches:\n")[0] == (
        SERIES.split("targets:")[0]
        + "targets:\n"
        + "  # the old one\n"
        + "  v1.1:\n    pin:\n"
        + f'      commit: "{COMMIT}"\n      wheels: ["sha256:{"b" * 64}"]\n'
        + "    patches:\n      - fix-c\n      # on top of it\n      - fix-b\n"
        + '    dropped:\n      old-one: {reason: upstreamed, evidence: "commit abc", by: rebase, from: v1.0}\n'
        + f'  v1.2:\n    pin: {{commit: "{COMMIT}"}}\n    patches:\n      - fix-c\n'
        + "    dropped:\n      fix-b: {reason: gone, from: v1.1}\n"
    )


@pytest.mark.parametrize(
    "edit",
    [
        lambda e: e.set_default("v1.1"),
        lambda e: e.add_patch("v1.1", "fix-a"),
        lambda e: e.set_patches("v1.1", ["fix-a", "fix-b"]),
        lambda e: e.move_patch("v1.1", "fix-b", before=None),
        lambda e: e.remove_patch("v1.0", "fix-b"),
        lambda e: e.set_pin("v1.1", Pin(commit="2" * 40)),
        lambda e: e.drop("v1.1", "old-one", Dropped("upstreamed", "commit abc", "rebase", "v1.0")),
        lambda e: e.set_info("fix-b", load.load(SERIES.encode()).series.patches["fix-b"]),
        lambda e: e.add_target("v1.0", load.load(SERIES.encode()).series.targets["v1.0"]),
        lambda e: e.remove_target("v9"),
    ],
)
def test_what_is_so_already_changes_no_byte(edit: Edit) -> None:
    odd = "\ufeff" + SERIES.replace("title: Fix a", "title:   'Fix a'   # so").rstrip("\n")
    for text in (SERIES, odd, SERIES.replace("\n", "\r\n")):
        assert edited(text, edit) == text


def test_a_file_without_a_last_line_end_can_grow() -> None:
    text = (
        "version: 1\nupstream: {name: a, git: 'https://x'}\ntargets:\n  v1:\n    pin: {commit: '"
        + "1" * 40
        + "'}\n    patches: []"
    )
    result = edited(text, lambda e: e.set_info("a", INFO), lambda e: e.add_patch("v1", "a"))
    assert load.load(result.encode()).series.targets["v1"].patches == ["a"]
    assert result.startswith(text.removesuffix(" []"))


def test_a_change_that_breaks_the_series_is_refused() -> None:
    editor = SeriesEditor(SERIES.encode())
    editor.remove_info("fix-b")
    with pytest.raises(InvalidInput, match="'fix-b' has no entry"):
        editor.finish()


LISTS = [
    "[{}]",
    "[{},]",
    "[ {} ]  # why",
    "block",
]


def spelled(style: str, ids: list[str]) -> str:
    if style == "block":
        return "".join(f"\n      # above {name}\n      - {name}  # beside {name}" for name in ids) if ids else " []"
    if not ids:
        return " []"
    return " " + style.format(", ".join(ids))


names = st.lists(st.sampled_from(["a", "b", "c", "d.1", "e-2"]), unique=True, max_size=5)


@settings(max_examples=300, deadline=None)
@given(style=st.sampled_from(LISTS), old=names, new=names)
def test_any_list_becomes_any_other(style: str, old: list[str], new: list[str]) -> None:
    infos = "".join(
        f"  {name}: {{title: t, why: w, owner: o, upstream: {{status: pending}}}}\n"
        for name in ("a", "b", "c", "d.1", "e-2")
    )
    text = (
        "version: 1\nupstream: {name: a, git: 'https://x'}\ntargets:\n  v1:\n"
        f"    patches:{spelled(style, old)}\n    # the end\n    pin: {{commit: '{'1' * 40}'}}\npatches:\n{infos}"
    )
    result = edited(text, lambda e: e.set_patches("v1", new))
    assert load.load(result.encode()).series.targets["v1"].patches == new
    assert "# the end\n    pin" in result
    if style == "block":
        for name in set(old) & set(new):
            assert f"- {name}  # beside {name}\n" in result
        assert all(f"# above {name}" in result for name in old)
