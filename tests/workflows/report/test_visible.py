"""What can't be seen is shown."""

from __future__ import annotations

import pytest

from patchctl.workflows.report.visible import one_line, pieces, visible


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain\tand\nmore", "plain\tand\nmore"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\x1b[31m", "⟨U+001B⟩[31m"),
        ("\udcff", "⟨byte FF⟩"),
        ("\r\n", "⟨U+000D⟩\n"),
        ("\u00a0\u2003\u3000", "⟨U+00A0⟩⟨U+2003⟩⟨U+3000⟩"),
        ("\U000e0041\ufe0f\u3164\u2800", "⟨U+E0041⟩⟨U+FE0F⟩⟨U+3164⟩⟨U+2800⟩"),
        ("né ✓ 漢字", "né ✓ 漢字"),
        ("\ue000\ud800", "⟨U+E000⟩⟨U+D800⟩"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert "".join(piece for piece, _ in pieces(text)) == shown
    visible(text).encode("utf-8")


def test_one_line() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert one_line("a\n\u00a0b é") == "a ⟨U+00A0⟩b é"
