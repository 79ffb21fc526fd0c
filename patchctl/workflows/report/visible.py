"""Characters that a reader would not see, or that would turn the text around, made visible."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# Seen as nothing or as a blank, though Unicode counts them among the letters and marks.
_EMPTY = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """``text`` in pieces, each with whether it is a sign that stands for what can't be seen.

    Such are control, format, private and unassigned characters, blanks other than the common one, selectors of
    variants, and bytes that are no UTF-8 (surrogate escapes). Tabs and line ends stay.
    """
    plain: list[str] = []
    for character in text:
        sign = _sign(character)
        if sign is None:
            plain.append(character)
            continue
        if plain:
            yield "".join(plain), False
            plain = []
        yield sign, True
    if plain:
        yield "".join(plain), False


def visible(text: str) -> str:
    """``text`` with signs such as ⟨U+202E⟩ or ⟨byte FF⟩ in place of what can't be seen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(piece for piece, _ in pieces(text))


def one_line(text: str) -> str:
    """:func:`visible`, with runs of blanks and line ends made one blank."""
    return visible(" ".join(text.split(None)) if text.isascii() else " ".join(_split(text)))


def _split(text: str) -> list[str]:
    # str.split also takes odd blanks away, which are to be seen.
    for character in "\t\r\n":
        text = text.replace(character, " ")
    return [part for part in text.split(" ") if part]


@lru_cache(maxsize=4096)
def _sign(character: str) -> str | None:
    if character in "\t\n" or " " <= character < "\x7f":
        return None
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"⟨byte {code - 0xDC00:02X}⟩"
    hidden = unicodedata.category(character)[0] in "CZ" or character in _EMPTY
    selector = 0xFE00 <= code <= 0xFE0F or 0x180B <= code <= 0x180F or 0xE0100 <= code <= 0xE01EF
    return f"⟨U+{code:04X}⟩" if hidden or selector else None
