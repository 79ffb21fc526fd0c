"""Changing a YAML text in one place and no other.

A library that loads and dumps a document lays it out anew: other quotes, shifted comments, null turned into
nothing, comments lost with the item they follow. Here the text is cut where the change is, by the offsets
that reading it gave; every other byte stays. Whether the result means what was intended is checked by
reading it again after each step.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from patchctl.errors import InvalidInput, Problem, Refused
from patchctl.series import yamldoc, yamlemit
from patchctl.series.yamldoc import Mapping, Node, Path, Scalar, Sequence
from patchctl.series.yamlemit import Layout


class Editor:
    """Holds a text that is read as YAML. Paths are keys and indexes from the root."""

    def __init__(self, data: bytes, name: str) -> None:
        self._document = yamldoc.parse(data, name)
        self._document.require()
        self._layout = _layout(self._document)

    @property
    def data(self) -> bytes:
        """The text as it is now."""
        return self._document.text.encode()

    @property
    def value(self) -> Any:
        """What the text says now."""
        return self._document.value

    def get(self, path: Path) -> Any:
        """The value at ``path``, None if there is none."""
        node = self._document.find(path)
        return None if node is None else yamldoc.plain(node)

    def set(self, path: Path, value: Any) -> None:
        """Make the value at ``path`` be ``value``; what says so already stays as it is written.

        The parent of ``path`` must exist. In mappings, entries that ``value`` does not have are removed.
        """
        node = self._document.find(path)
        if node is None:
            self._add_entry(path, value)
        elif yamldoc.plain(node) == value and type(yamldoc.plain(node)) is type(value):
            return
        elif isinstance(node, Mapping) and isinstance(value, dict) and node.entries:
            for key, item in value.items():
                self.set((*path, key), item)
            for key in [key.text for key, _ in node.entries if key.text not in value]:
                self.remove((*path, key))
        elif isinstance(node, Sequence) and isinstance(value, list) and node.items:
            self._set_items(path, value)
        else:
            self._replace(path, value)

    def remove(self, path: Path) -> None:
        """Take the entry or item at ``path`` out, with the comment on its line; comments above it stay."""
        intended = _without(self.value, path)
        parent = self._parent(path)
        if parent.flow:
            self._apply(_cut_flow(self._text, _spans(parent), _index(parent, path[-1])), intended, path)
            return
        start, end = _spans(parent)[_index(parent, path[-1])]
        start, end = self._line_start(start), self._line_end(end)
        if len(_spans(parent)) > 1:
            self._apply([(start, end, "")], intended, path)
        else:
            # An empty block can't be written; the brackets go where the value began: behind the parent's key.
            empty = "{}" if isinstance(parent, Mapping) else "[]"
            at = self._behind_key(path[:-1])
            self._apply([(at, at, f" {empty}"), (start, end, "")], intended, path)

    def insert(self, path: Path, index: int, value: Any) -> None:
        """Put ``value`` into the list at ``path`` so that it has ``index`` afterwards."""
        node = self._document.find(path)
        assert isinstance(node, Sequence), f"no list at {path}"
        intended = _at(self.value, path, lambda items: [*items[:index], value, *items[index:]])
        text = yamlemit.flow(value)
        if not node.flow and node.items:
            pad = " " * (self._dash(node.items[0]) - self._line_start(node.items[0].start))
            self._apply([self._new_line(node, index, f"{pad}- {text}")], intended, path)
        elif not node.items:
            self._replace(path, [value])
        elif index < len(node.items):
            at = node.items[index].start
            self._apply([(at, at, f"{text}, ")], intended, path)
        else:
            at = _end(node.items[-1])
            self._apply([(at, at, f", {text}")], intended, path)

    def move(self, path: Path, old: int, new: int) -> None:
        """Move an item of the list at ``path``, with its comments, from index ``old`` to ``new``."""
        node = self._document.find(path)
        assert isinstance(node, Sequence), f"no list at {path}"
        items = yamldoc.plain(node)
        if node.flow:
            self.remove((*path, old))
            self.insert(path, new, items[old])
            return
        rest = [item for at, item in enumerate(items) if at != old]
        intended = _at(self.value, path, lambda _: [*rest[:new], items[old], *rest[new:]])
        start, end = self._item_lines(node, old)
        lines = self._text[start:end]
        lines = lines if lines.endswith("\n") else lines + self._layout.eol
        at, _, added = self._new_line(node, new if new < old else new + 1, lines.removesuffix(self._layout.eol))
        self._apply([(start, end, ""), (at, at, added)], intended, path)

    # -- the cuts ------------------------------------------------------------------------------------------

    @property
    def _text(self) -> str:
        return self._document.text

    def _apply(self, cuts: list[tuple[int, int, str]], intended: Any, path: Path) -> None:
        text = self._text
        for start, end, new in sorted(cuts, reverse=True):
            text = text[:start] + new + text[end:]
        try:
            document = yamldoc.parse(text.encode(), self._document.name)
            right = not document.faults and document.value == intended
        except InvalidInput:
            right = False
        if not right:
            place = self._document.value_position(path)
            raise Refused(
                Problem(
                    "edit",
                    f"{self._document.name}:{place.line}:{place.column}: patchctl can't edit this spot without "
                    "touching more of it; please edit it by hand.",
                    file=self._document.name,
                )
            )
        self._document = document

    def _replace(self, path: Path, value: Any) -> None:
        node = self._document.find(path)
        assert node is not None, f"nothing at {path}"
        intended = _at(self.value, path, lambda _: value)
        start, end = node.start, _end(node)
        if isinstance(node, Scalar) and isinstance(value, str) and self._text[start:end].startswith(('"', "'")):
            text = yamlemit.quoted(value)
            if self._text[start] == "'" and value.isprintable():
                text = "'" + value.replace("'", "''") + "'"
            self._apply([(start, end, text)], intended, path)
        elif self._in_flow(path) or not isinstance(value, (dict, list)):
            gap = "" if self._text[start - 1 : start].isspace() or start == 0 else " "
            self._apply([(start, end, gap + yamlemit.flow(value))], intended, path)
        else:
            self._replace_block(path, node, value, intended)

    def _replace_block(self, path: Path, node: Node, value: Any, intended: Any) -> None:
        key = path[-1]
        assert isinstance(key, str), "lists in lists are not edited"
        at = self._behind_key(path)
        indent = self._document.key_position(path).column - 1
        lines = yamlemit.entry(key, value, indent, self._layout)
        # The first line repeats the key, which stands already.
        first = lines[0].split(":", 1)[1]
        rest = "".join(self._layout.eol + line for line in lines[1:])
        end = _end(node)
        if "\n" in self._text[at : node.start]:
            cuts = [(at, at, first), (self._line_start(node.start), self._line_end(end), rest[len(self._layout.eol) :])]
            if rest:
                cuts[1] = (cuts[1][0], cuts[1][1], cuts[1][2] + self._layout.eol)
        else:
            tail = self._line_end(end)
            kept = self._text[end:tail].rstrip("\r\n")
            line_end = self._text[end + len(kept) : tail]
            cuts = [(at, tail, first + kept + rest + line_end)]
        self._apply(cuts, intended, path)

    def _add_entry(self, path: Path, value: Any) -> None:
        node = self._document.find(path[:-1])
        key = path[-1]
        assert isinstance(key, str), f"{path} does not end in a key"
        if isinstance(node, Scalar) and node.value is None:
            self._replace(path[:-1], {key: value})
            return
        assert isinstance(node, Mapping), f"no mapping at {path[:-1]}"
        intended = _at(self.value, path[:-1], lambda entries: {**entries, key: value})
        if not node.entries:
            self._replace(path[:-1], {key: value})
        elif node.flow:
            at = _end(node.entries[-1][1])
            self._apply([(at, at, f", {yamlemit.flow({key: value})[1:-1]}")], intended, path)
        else:
            first = node.entries[0][0]
            lines = yamlemit.entry(key, value, first.position.column - 1, self._layout)
            gap = self._layout.eol if self._has_gap(node) else ""
            at, _, text = self._new_line(node, len(node.entries), self._layout.eol.join(lines))
            self._apply([(at, at, gap + text)], intended, path)

    def _set_items(self, path: Path, wanted: list[Any]) -> None:
        for index in reversed(range(len(self.get(path)))):
            if self.get((*path, index)) not in wanted and len(self.get(path)) > 1:
                self.remove((*path, index))
        for index, item in enumerate(wanted):
            now = self.get(path)
            if index < len(now) and now[index] == item:
                continue
            if item in now[index:]:
                self.move(path, now.index(item, index), index)
            else:
                self.insert(path, index, item)
        for index in reversed(range(len(wanted), len(self.get(path)))):
            self.remove((*path, index))

    # -- where things are ------------------------------------------------------------------------------------

    def _parent(self, path: Path) -> Mapping | Sequence:
        node = self._document.find(path[:-1])
        assert isinstance(node, (Mapping, Sequence)), f"nothing at {path}"
        return node

    def _in_flow(self, path: Path) -> bool:
        nodes = (self._document.find(path[:length]) for length in range(len(path)))
        return any(isinstance(node, (Mapping, Sequence)) and node.flow for node in nodes)

    def _new_line(self, node: Mapping | Sequence, index: int, line: str) -> tuple[int, int, str]:
        """The cut that puts ``line`` before the entry ``index`` of a block (its comments stay with it), or last."""
        spans = _spans(node)
        if index < len(spans):
            at = self._above_comments(self._line_start(spans[index][0])) if index else self._line_start(spans[0][0])
            return at, at, line + self._layout.eol
        at = self._line_end(spans[-1][1])
        if self._text[:at].endswith("\n"):
            return at, at, line + self._layout.eol
        return at, at, self._layout.eol + line

    def _item_lines(self, node: Sequence, index: int) -> tuple[int, int]:
        start = self._line_start(node.items[index].start)
        # What stands above the first item speaks of the list.
        return (self._above_comments(start) if index else start), self._line_end(_end(node.items[index]))

    def _above_comments(self, start: int) -> int:
        """The start of the comment lines right above the line that starts at ``start``."""
        while start:
            above = self._line_start(start - 1)
            if not self._text[above:start].lstrip().startswith("#"):
                break
            start = above
        return start

    def _has_gap(self, node: Mapping) -> bool:
        """Whether the entries of a block mapping are set apart by an empty line."""
        if len(node.entries) < 2:
            return False
        start = self._above_comments(self._line_start(node.entries[-1][0].start))
        return self._text[self._line_start(start - 1) : start].strip() == ""

    def _behind_key(self, path: Path) -> int:
        parent, key = self._parent(path), path[-1]
        assert isinstance(parent, Mapping), f"{path} is no entry"
        found = next(name for name, _ in parent.entries if name.text == key)
        return self._text.index(":", found.end) + 1

    def _dash(self, item: Node) -> int:
        return self._text.rindex("-", 0, item.start)

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """Behind the line end of the line that the character before ``at`` stands in."""
        found = self._text.find("\n", at)
        return len(self._text) if found < 0 else found + 1


def _end(node: Node) -> int:
    """Where the written value really ends; the scanner lets a block reach to the next token."""
    if isinstance(node, Scalar) or node.flow:
        return node.end
    last = node.entries[-1][1] if isinstance(node, Mapping) else node.items[-1]
    return _end(last)


def _spans(node: Mapping | Sequence) -> list[tuple[int, int]]:
    if isinstance(node, Mapping):
        return [(key.start, _end(value)) for key, value in node.entries]
    return [(item.start, _end(item)) for item in node.items]


def _index(node: Mapping | Sequence, step: str | int) -> int:
    if isinstance(node, Sequence):
        assert isinstance(step, int), "items have numbers"
        return step
    return next(at for at, (key, _) in enumerate(node.entries) if key.text == step)


def _cut_flow(text: str, spans: list[tuple[int, int]], index: int) -> list[tuple[int, int, str]]:
    """The cuts that take an element out of brackets, with one of the commas beside it."""
    start, end = spans[index]
    if len(spans) == 1:
        trailing = re.compile(r"\s*,").match(text, end)
        return [(start, trailing.end() if trailing else end, "")]
    if index:
        before = spans[index - 1][1]
        comma = text.index(",", before)
        if text[before:start].replace(",", "", 1).strip():
            return [(comma, comma + 1, ""), (start, end, "")]
        return [(before, end, "")]
    comma = text.index(",", end)
    while text[comma + 1 : comma + 2] == " ":
        comma += 1
    return [(start, comma + 1, "")]


def _at(value: Any, path: Path, change: Any) -> Any:
    """A copy of ``value`` with ``change`` made of what stands at ``path``."""
    if not path:
        return change(value)
    changed = copy.copy(value)
    changed[path[0]] = _at(value[path[0]], path[1:], change)
    return changed


def _without(value: Any, path: Path) -> Any:
    def change(parent: Any) -> Any:
        changed = copy.copy(parent)
        del changed[path[-1]]
        return changed

    return _at(value, path[:-1], change)


def _layout(document: yamldoc.Document) -> Layout:
    """How the document is laid out, by its first examples."""
    eol = "\r\n" if "\r\n" in document.text else "\n"
    steps: list[int] = []
    dashes: list[int] = []

    def walk(node: Node) -> None:
        if isinstance(node, Scalar) or node.flow:
            return
        if isinstance(node, Sequence):
            for item in node.items:
                walk(item)
            return
        for key, value in node.entries:
            indent = key.position.column - 1
            if isinstance(value, Mapping) and not value.flow:
                steps.append(value.position.column - 1 - indent)
            elif isinstance(value, Sequence) and not value.flow:
                dashes.append(value.position.column - 1 - indent)
            walk(value)

    walk(document.root)
    return Layout(eol, steps[0] if steps else 2, dashes[0] if dashes else 2)
