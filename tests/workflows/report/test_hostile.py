"""Nothing that stands in a patch, in upstream's history or in series.yaml breaks out of a report."""

from __future__ import annotations

import json
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from patchctl.workflows.report import document, markdown, page
from tests.workflows.report.hostile import TEXTS, upgrade

VOID = {"meta", "br", "hr"}


class Tree(HTMLParser):
    """The tags of a page, its attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text += data


def unseen(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c)[0] == "C" and c not in "\n\t"]


def in_page(text: str, outcome: str = "conflict") -> Tree:
    html = page.render(upgrade(text, outcome)).decode("utf-8")
    assert not unseen(html)
    return Tree(html)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("outcome", ["conflict", "merged", "<b>odd</b>"])
def test_page(text: str, outcome: str) -> None:
    found, harmless = in_page(text, outcome), in_page("harmless", outcome)
    assert not found.open
    allowed = {*harmless.tags, "b"}
    assert set(found.tags) <= allowed
    marks = found.tags.count("b") - harmless.tags.count("b")
    links = found.tags.count("a") - harmless.tags.count("a")
    assert links <= 0  # nothing became a link
    if text:
        # Conditional parts aside, what is there is the same page with marks for what can't be seen.
        assert [tag for tag in found.tags if tag != "b"] == [tag for tag in harmless.tags if tag != "b"] and marks >= 0
    for name, value in found.attributes:
        assert not name.startswith("on") and name != "src" and "javascript:" not in value
        if name == "href":
            assert value.startswith(("#", "https://example.org/"))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("outcome", ["conflict", "merged", "<b>odd</b>"])
def test_markdown(text: str, outcome: str) -> None:
    written = markdown.render(upgrade(text, outcome)).decode("utf-8")
    assert not unseen(written)
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found, harmless = Tree(reader.render(written)), Tree(reader.render(markdown.render(upgrade("harmless")).decode()))
    assert not found.open
    assert set(found.tags) <= {*harmless.tags, "span"}  # no link, no picture, no script, no emphasis of its own
    for tag in ("h1", "h2", "table", "tr", "td", "th", "pre", "details", "ul"):
        assert not text or found.tags.count(tag) == harmless.tags.count(tag), tag
    assert {name for name, _ in found.attributes} <= {"class"}


@pytest.mark.parametrize("text", TEXTS)
def test_json_gives_the_very_text_back(text: str) -> None:
    data = document.render(upgrade(text))
    data.decode("ascii")
    (patch,) = json.loads(data)["patches"]
    assert patch["title"] == text and patch["review"][0]["now"]["rows"][0]["text"] == text


def test_nothing_turns_into_a_mention_or_a_reference() -> None:
    text = "@team fixes #12, GH-3, a/b#4 :tada: https://e.invalid www.e.invalid"
    said = re.sub(r"```.*?```", "", markdown.render(upgrade(text)).decode(), flags=re.DOTALL)
    prose = re.sub(r"`[^`]*`|<code>.*?</code>", "", said)
    assert not re.search(r"[@#]\w|GH-\d|:\w+:|https?://|www\.", prose)


def test_what_can_not_be_seen_is_shown() -> None:
    html = page.render(upgrade("a\u202eb\udcff")).decode()
    assert "<b class=odd>⟨U+202E⟩</b>" in html and "⟨byte FF⟩" in html
    assert "a⟨U+202E⟩b⟨byte FF⟩" in markdown.render(upgrade("a\u202eb\udcff")).decode()


def test_only_addresses_of_pages_become_links() -> None:
    from dataclasses import replace

    for url, linked in (("https://example.org/pull/1", True), ("javascript:alert(1)", False), ("https://x/ y", False)):
        told = upgrade("x")
        told = replace(told, patches=(replace(told.patches[0], upstream_url=url),))
        hrefs = [value for name, value in Tree(page.render(told).decode()).attributes if name == "href"]
        assert (url in hrefs) is linked
