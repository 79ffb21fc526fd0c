"""What an unquoted word means in YAML, and to whom.

YAML 1.1 and 1.2 disagree on it, and readers follow either. What all of them take alike is taken; the rest is
to be quoted.
"""

from __future__ import annotations

import re
from typing import Any

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")


def plain_value(text: str) -> tuple[bool, Any]:
    """What unquoted ``text`` stands for, and whether that is another type than text."""
    if text in ("", "~", "null"):
        return True, None
    if text in ("true", "false"):
        return True, text == "true"
    if _INTEGER.fullmatch(text):
        return True, int(text)
    if _DECIMAL.fullmatch(text):
        return True, float(text)
    return False, text


WORDS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false")
    for form in (word, word.capitalize(), word.upper())
)
_NULLS = frozenset({"~", "null", "Null", "NULL", "=", "<<"})
_NUMBER_LIKE = re.compile(
    r"""
      [-+]?0b[01_]+ | [-+]?0o?[0-7_]+ | [-+]?0x[0-9A-Fa-f_]+          # other bases
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?                 # base 60
    | [-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?
    | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\s].*)?                      # a date or a time stamp
    """,
    re.VERBOSE,
)


def is_other_type(text: str) -> bool:
    """Whether some YAML reader takes unquoted ``text`` for something else than text."""
    return text in WORDS or text in _NULLS or _NUMBER_LIKE.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Whether every YAML reader takes unquoted ``text`` for text."""
    return not plain_value(text)[0] and not is_other_type(text)


def quote_it(text: str) -> str:
    """What to say of unquoted ``text`` that readers take for different things."""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return (
        f'{shown} without quotes is not text to every YAML reader (a number, a date, or yes and no): write "{shown}" '
        "if it is text, a plain decimal if it is a number."
    )
