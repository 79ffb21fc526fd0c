"""An upgrade as one HTML page that needs nothing else: no script, no font, no picture, no network.

All text passes through one place (:func:`_finished`), which escapes it and shows what can't be seen: a template can't
forget either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from patchctl.workflows.report import words
from patchctl.workflows.report.model import Row, Upgrade
from patchctl.workflows.report.visible import pieces, visible

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def render(upgrade: Upgrade) -> bytes:
    """The page."""
    text: str = _environment().get_template("report.html.j2").render(upgrade=upgrade)
    return text.encode("utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finished,
    )
    made.filters.update(anchor=_anchor, link=_link, tone=_tone, lines=_lines, changes=_changes, numbered=_numbered)
    made.globals.update(words=words)
    return made


def _finished(value: Any) -> Any:
    """What is printed of ``value``: text escaped, with signs for what can't be seen in a frame of their own."""
    if type(value) is not str:
        return "" if value is None else value
    if value.isascii() and value.isprintable():
        return value
    parts = (Markup("<b class=odd>{}</b>").format(piece) if odd else escape(piece) for piece, odd in pieces(value))
    return Markup("").join(parts)


# Rows are nine tenths of a page; a loop of the template takes several times as long over them.


def _lines(rows: Iterable[Row]) -> Markup:
    """The lines of a patch as it stands, which begin with their sign."""
    return _joined((row, "") for row in rows)


def _changes(rows: Iterable[Row]) -> Markup:
    """The lines of a difference, each behind its sign."""
    return _joined((row, f"<u>{escape(row.sign)}</u>") for row in rows)


def _numbered(rows: Iterable[Row]) -> Markup:
    """The same, with the numbers of the lines on both sides."""
    numbers = ((row, "".join(f"<i>{_number(at)}</i>" for at in (row.old, row.new))) for row in rows)
    return _joined((row, f"{both}<u>{escape(row.sign)}</u>") for row, both in numbers)


def _joined(rows: Iterable[tuple[Row, str]]) -> Markup:
    texts = (f'<span class="row {_class(row)}">{head}{escape(_finished(row.text))}\n</span>' for row, head in rows)
    return Markup("".join(texts))


def _class(row: Row) -> str:
    return "add" if row.sign == "+" else "del" if row.sign == "-" else "same"


def _number(count: int | None) -> str:
    return "" if count is None else str(count)


def _anchor(name: str) -> Markup:
    """``name`` as part of an id."""
    return Markup(re.sub(r"[^A-Za-z0-9.-]", lambda found: f"_{ord(found[0]):x}", name))


def _link(url: str | None) -> Any:
    """``url`` as a link, if it is one to a page; other text stays text."""
    if url is None or not re.fullmatch(r"https?://[\x21-\x7e]+", url):
        return url
    return Markup('<a href="{0}" rel="noreferrer noopener">{1}</a>').format(url, escape(visible(url)))


def _tone(outcome: str) -> str:
    """The class that an outcome is coloured by."""
    if outcome in ("refused", "conflict", "superseded", "waiting", "missing"):
        return "bad"
    if outcome in ("partial", "replayed", "resolved", "kept"):
        return "look"
    return "gone" if outcome in ("upstreamed", "dropped") else "good"
