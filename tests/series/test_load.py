"""series.yaml: what is taken, and what the message says of what is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchctl.errors import InvalidInput
from patchctl.series import load
from tests.series.samples import SERIES, changed


def messages(data: bytes) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        load.load(data)
    return [problem.message for problem in caught.value.problems]


def test_a_valid_file() -> None:
    series = load.load(SERIES.encode()).series
    assert series.default == "v1.1"
    assert series.targets["v1.1"].patches == ["fix-a", "fix-b"]
    assert series.targets["v1.1"].dropped["old-one"].from_ == "v1.0"
    assert series.patches["fix-b"].why == "it is broken, too, and nobody noticed\n"
    assert series.patches["fix-b"].requires == {"numpy": ">=1.2"}
    assert series.contracts["thing-target"].consumers[0].in_ == "thing/b.py"
    assert series.verify.checks["runs"].limits.accept_length == (1.0, 2.5)
    assert series.upstream.sdist.drop == ["PKG-INFO", "setup.cfg", "*.egg-info/**"]


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_a_byte_order_mark_or_crlf_changes_nothing(change) -> None:  # type: ignore[no-untyped-def]
    loaded = load.load(change(SERIES).encode())
    assert loaded.series == load.load(SERIES.encode()).series
    assert loaded.document.value_position(("targets", "v1.1", "patches", 1)).line == 19


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # what YAML would turn into another type
        (
            "default: v1.1",
            "default: 1.10",
            '2:10: default must be text, and 1.10 is read as another type; write "1.10"',
        ),
        ("patches: [fix-a]", "patches: [0010]", "12:15: 0010 without quotes is not text"),
        ("patches: [fix-a]", "patches: [no]", "12:15: no without quotes is not text"),
        ("title: Fix a", "title: 2026-01-02", "25:12: 2026-01-02 without quotes"),
        ("title: Fix a", "title: 1e10", "25:12: 1e10 without quotes"),
        ("title: Fix a", "title: 1_000", "25:12: 1_000 without quotes"),
        ("title: Fix a", "title: 1:30", "25:12: 1:30 without quotes"),
        ("title: Fix a", "title: 0x1F", "25:12: 0x1F without quotes"),
        ("title: Fix a", "title: true", "25:12: patches.fix-a.title must be text, and true is read as another type"),
        ("title: Fix a", "title: 7", "25:12: patches.fix-a.title must be text, and 7"),
        ("title: Fix a", "title:", "patches.fix-a.title must be text, and nothing is there"),
        ('"1111111111111111111111111111111111111111"', "1111111111111111111111111111111111111111", "11:19: 11111"),
        ("  v1.0:\n", "  1.10:\n", "10:3: 1.10 without quotes"),
        ("weights: false", "weights: no", "no without quotes"),
        ("seconds: 10", 'seconds: "10"', "limits.seconds must be a number"),
        # what YAML allows and we don't
        ("  fix-b:\n", "  fix-a:\n", "29:3: the key 'fix-a' stands already in line 24"),
        ("version: 1\n", "version: 1\nversion: 1\n", "2:1: the key 'version' stands already in line 1"),
        (
            "owner: team\n    upstream: {status: pending}",
            "owner: &o team\n    upstream: {status: pending}",
            "27:12: the anchor &o",
        ),
        ("title: Fix a", "title: *x", "25:12: the alias *x"),
        ("title: Fix a", "title: !!str x", "25:12: the tag"),
        ("title: Fix a", "<<: {title: x}", "25:5: merge keys"),
        ("version: 1\n", "version: 1\n---\n", "2:1: a second document"),
        ("version: 1\n", "%YAML 1.1\n---\nversion: 1\n", "directive"),
        ("    title: Fix a", "\ttitle: Fix a", "25:1: this character can't stand here"),
        ("title: Fix a", "title: 'Fix a", "while"),
        ("title: Fix a", "title: Fix\u2028a", "25:15: the character U+2028"),
        ("title: Fix a", "title: Fix\x07a", "25:15: the character U+0007"),
        # the shape
        ("version: 1\n", "version: 2\n", "1:10: version must be 1."),
        ("version: 1\n", "", "1:1: the file lacks 'version'"),
        (
            "owner: team\n    upstream: {status: pending}",
            "ownr: team\n    upstream: {status: pending}",
            "27:5: patches.fix-a has no key 'ownr'; did you mean 'owner'?",
        ),
        ("status: pending", "status: pend", "28:24: patches.fix-a.upstream.status must be one of"),
        ("patches: [fix-a]", "patches: fix-a", "12:14: targets.v1.0.patches must be a list"),
        ("patches: [fix-a]", "patches: [Fix_A]", "12:15: targets.v1.0.patches[0] must be a patch id"),
        ("  fix-b:\n", "  fix_b:\n", "the key 'fix_b' must be a patch id"),
        (
            '"2222222222222222222222222222222222222222"',
            "abc",
            "15:15: targets.v1.1.pin.commit must be a whole commit id",
        ),
        ("patches: [fix-a]", 'patches: ["fix-a\\n"]', "12:15: targets.v1.0.patches[0] must be a patch id"),
        ('222222"', '222222\\n"', "must be a whole commit id"),
        ('"https://example.org/pull/2"', '"https://x y"', "a url holds no blanks"),
        ("accept_length: [1, 2.5]", "accept_length: [1]", "must be a list of 2 values"),
        ("verify:\n", "verify: x\nhosts:\n", "verify must be a mapping of keys to values, and a single value is there"),
        # the sense
        ("default: v1.1", "default: v1.2", "2:10: default names 'v1.2', and targets holds 'v1.0', 'v1.1'"),
        ("patches: [fix-a]", "patches: [fix-a, fix-a]", "12:22: 'fix-a' is listed twice"),
        ("patches: [fix-a]", "patches: [fix-aa]", "12:15: 'fix-aa' has no entry under patches. Did you mean 'fix-a'?"),
        ("patches: [fix-a]", "patches: [a..b]", "the patch id 'a..b' must not hold '..'"),
        ("  git: https://example.org/thing.git\n", "", "3:1: upstream lacks both 'git' and 'pypi'"),
        ("git: https", "git: ext::sh -c x", "5:8: upstream.git must not name a remote helper"),
        ("git: https://example.org/thing.git", "git: --upload-pack=x", "must not begin with '-'"),
        ('"python/thing/": "thing/"', '"../x/": "thing/"', "must not hold '.' or '..'"),
        ('"python/thing/": "thing/"', '"python/thing/": "/abs/"', "must be relative"),
        ("  v1.0:\n", "  x1.0:\n", "10:3: 'x1.0' does not have the form v{version}"),
        ("  v1.0:\n", "  vanilla:\n", "'vanilla' does not have the form"),
        ("  v1.0:\n", "  v1/../0:\n", "10:3: the tag 'v1/../0' holds '..'"),
        ("  v1.0:\n", "  -v1.0:\n", "must not begin with '-'"),
        ('commit: "1111111111111111111111111111111111111111"', "", "11:10: the pin of v1.0 is empty"),
        ("old-one: {", "fix-a: {", "'fix-a' is both carried and dropped on v1.1"),
        ('      url: "https://example.org/pull/2"\n', "", "the status submitted needs a url"),
        ('"2027-06-30"', '"2027-02-30"', "2027-02-30 is no date"),
        ('{numpy: ">=1.2"}', '{numpy: "about 1"}', "'about 1' is no version specifier"),
        ("[thing-target]", "[thing-taget]", "there is no contract 'thing-taget'. Did you mean 'thing-target'?"),
        ("smoke: [runs]", "smoke: [run]", "verify.checks holds no 'run'. Did you mean 'runs'?"),
        ('when: "<2"', 'when: "2 and up"', "'2 and up' is no version specifier"),
        ('"thing/a.py:Thing"', "thing/a.py", "is not of the form FILE.py:CLASS"),
        ("without: [fix-b]", "without: [fix-c]", "there is no patch 'fix-c'"),
        ("mutants: [broken]", "mutants: [brokn]", "there is no mutant 'brokn'. Did you mean 'broken'?"),
        ("on: [v1.1]", "on: [v1.2]", "there is no target 'v1.2'"),
        ("seconds: 10", "seconds: 0", "above 0"),
        ("accept_length: [1, 2.5]", "accept_length: [3, 2.5]", "[low, high]"),
    ],
)
def test_what_is_refused(old: str, new: str, expected: str) -> None:
    found = messages(changed(old, new))
    assert any(expected in message for message in found), found
    assert all(message.startswith("series.yaml:") for message in found)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "1:1: the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"- a\n- b\n", "must be a mapping of keys to values, and a list is there"),
        (b"just words\n", "must be a mapping of keys to values, and a single value is there"),
        (b"version: 1\nname: caf\xe9\n", "2:10: byte 0xe9 is not UTF-8"),
        (SERIES.encode("utf-16"), "1:1: byte 0xff is not UTF-8"),
        (b"a: " + b"[" * 100_000, "level"),
        (b"a: " + b"{b: " * 50, "more than 32 levels"),
        (b"x" * (9 * 1024 * 1024), "the file has 9 MiB; at most 8 MiB are read"),
        (b"? [a, b]\n: c\n", "a key must be a single word"),
        (b"? \n: c\n", "a key is missing here"),
        (b"a: &x [*x, *x]\nb: *x\n", "the anchor &x"),
    ],
)
def test_other_files(data: bytes, expected: str) -> None:
    assert any(expected in message for message in messages(data))


def test_all_mistakes_are_listed_at_once_in_the_order_of_the_text() -> None:
    text = SERIES.replace("default: v1.1", "default: 1.10").replace("patches: [fix-a]", "patches: [0010]")
    text = text.replace("title: Fix a", "titel: Fix a").replace("status: submitted", "status: sent")
    found = messages(text.encode())
    assert [message.split(":")[1] for message in found] == ["2", "12", "24", "25", "36"]


def test_an_alias_bomb_costs_nothing() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "alias" in "".join(messages(f"l0: &l0 [x]\n{levels}".encode()))


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, len(SERIES)), junk=st.text(max_size=6), cut=st.integers(0, 20))
def test_a_damaged_file_gives_a_message_or_a_series(at: int, junk: str, cut: int) -> None:
    data = (SERIES[:at] + junk + SERIES[at + cut :]).encode("utf-8", "surrogatepass")
    try:
        load.load(data)
    except InvalidInput as error:
        assert all(problem.message.startswith("series.yaml:") for problem in error.problems)
