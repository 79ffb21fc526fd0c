"""The page can be read: by everybody, on a phone, and with its template in the package."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from patchctl.workflows.report import page
from tests.workflows.report.hostile import upgrade

CSS = (page.TEMPLATES / "report.css").read_text()


def colours(scheme: str) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    assert light.keys() == dark.keys()
    return light if scheme == "light" else dark


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    found = colours(scheme)
    pairs = [(ink, paper) for ink in ("text", "dim", "link") for paper in ("paper", "raised")]
    pairs += [(ink, paper) for ink in ("text", "dim") for paper in ("add", "del", "look-paper")]
    pairs += [("add-sign", "add"), ("del-sign", "del"), ("bad", "raised"), ("good", "raised"), ("look", "raised")]
    pairs += [(tone, f"{tone}-paper") for tone in ("good", "bad", "look", "gone")]
    for ink, paper in pairs:
        low, high = sorted((luminance(found[ink]), luminance(found[paper])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


class Headings(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.scopes: list[str | None] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))


def test_structure() -> None:
    html = page.render(upgrade("x")).decode()
    found = Headings(html)
    assert found.levels[0] == 1 and found.levels.count(1) == 1
    assert found.scopes and set(found.scopes) == {"col", "row"}
    assert '<html lang="en">' in html and 'name="viewport"' in html and "<main>" in html
    # Signs, not colours alone.
    assert "<u>+</u>" in html and "<u>-</u>" in html and "✖" in html


def test_equal_values_give_equal_bytes() -> None:
    assert page.render(upgrade("x")) == page.render(upgrade("x"))
