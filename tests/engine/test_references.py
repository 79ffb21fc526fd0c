"""What the head of a patch says about upstream."""

from __future__ import annotations

import pytest

from patchctl.engine.model import Mail
from patchctl.engine.references import linked, references

BODY = """It dies without this.

Upstream-Status: backport
Link: https://example.invalid/owner/name/pull/19718.
Change-Id: I0123456789abcdef
(cherry picked from commit 0f3a9bc)
"""
MAIL = Mail(subject="[PATCH 2/3] Run it on capability 12", body=BODY)


def test_what_a_head_names() -> None:
    found = references(MAIL)
    assert found.subject == "run it on capability 12"
    assert found.urls == ("https://example.invalid/owner/name/pull/19718",)
    assert found.numbers == {"19718"}
    assert found.changes == {"I0123456789abcdef"}
    assert found.commits == {"0f3a9bc"}
    assert references(Mail()) == references(Mail(body="nothing"))


@pytest.mark.parametrize(
    ("commit", "message", "words"),
    [
        ("0f3a9bcd00", "Something else\n", "taken from"),
        ("aaaa", "Other words\n\nChange-Id: I0123456789abcdef\n", "same Change-Id"),
        ("aaaa", "Support it [SM120] (#19718)\n", "#19718"),
        ("aaaa", "Run it on capability 12 (#7)\n", "same subject"),
    ],
)
def test_a_commit_that_is_linked(commit: str, message: str, words: str) -> None:
    (sentence,) = linked(MAIL, [("bbbb", "Unrelated (#1971)\n"), (commit, message)])
    assert words in sentence


def test_nothing_is_linked_to_an_empty_head() -> None:
    assert linked(Mail(), [("aaaa", "\n"), ("bbbb", "Run it (#1)\n")]) == []
