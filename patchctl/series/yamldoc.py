"""A strict reading of YAML: plain values, where each of them stands, and nothing that surprises.

PyYAML scans the text (its events, so that no alias is ever expanded); what the values mean is decided here.
YAML 1.1 turns ``no`` into False, ``0010`` into 8, ``1.10`` into 1.1 and ``2026-01-02`` into a date. Here an
unquoted word is text unless it is ``true``, ``false``, ``null`` or a number in plain decimals; whatever
some reader would take for another type is an error that says to quote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from patchctl.errors import InvalidInput, Problem
from patchctl.series import yamlscalar

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 32
MAX_FAULTS = 50

Path: TypeAlias = tuple["str | int", ...]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the text, counted from 1; columns count characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong at a place in the text."""

    position: Position
    message: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. ``start`` and ``end`` are offsets into the text; ``plain`` means written without quotes."""

    text: str
    value: Any
    plain: bool
    start: int
    end: int
    position: Position


@dataclass(slots=True)
class Sequence:
    """A list; ``flow`` means written in brackets."""

    start: int
    position: Position
    flow: bool
    end: int = 0
    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping:
    """Keys and values in the order they are written; ``flow`` means written in braces."""

    start: int
    position: Position
    flow: bool
    end: int = 0
    entries: list[tuple[Scalar, Node]] = field(default_factory=list)

    def get(self, key: str) -> Node | None:
        return next((value for name, value in self.entries if name.text == key), None)


Node: TypeAlias = "Scalar | Sequence | Mapping"


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read, with the name to call it by, and what is wrong with it as YAML.

    What a fault was found in is left out of the tree, or stands there as text.
    """

    name: str
    text: str
    root: Node
    faults: tuple[Fault, ...] = ()

    @property
    def value(self) -> Any:
        """The document as dicts, lists and scalars."""
        return plain(self.root)

    def find(self, path: Path) -> Node | None:
        """The node at ``path`` (keys and indexes from the root), None if there is none."""
        node: Node | None = self.root
        for step in path:
            if isinstance(node, Mapping) and isinstance(step, str):
                node = node.get(step)
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def key_position(self, path: Path) -> Position:
        """Where the key (or list item) that ``path`` ends with stands; of the nearest that exists above it."""
        for length in range(len(path), 0, -1):
            parent = self.find(path[: length - 1])
            step = path[length - 1]
            if isinstance(parent, Mapping):
                found = next((key.position for key, _ in parent.entries if key.text == step), None)
                if found:
                    return found
            elif isinstance(parent, Sequence) and isinstance(step, int) and step < len(parent.items):
                return parent.items[step].position
        return self.root.position

    def value_position(self, path: Path) -> Position:
        """Where the value at ``path`` begins; of the nearest that exists above it."""
        for length in range(len(path), -1, -1):
            node = self.find(path[:length])
            if node is not None:
                return node.position
        return self.root.position

    def require(self, faults: Iterable[Fault] = ()) -> None:
        """Raise InvalidInput if there are ``faults``, or faults of the document itself."""
        found: dict[Position, Fault] = {}
        for fault in (*self.faults, *faults):
            # Two faults at one place are the same mistake, seen twice.
            found.setdefault(fault.position, fault)
        if found:
            raise invalid(self.name, found.values())


def plain(node: Node) -> Any:
    """``node`` as dicts, lists and scalars."""
    if isinstance(node, Mapping):
        return {key.text: plain(value) for key, value in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def invalid(name: str, faults: Iterable[Fault]) -> InvalidInput:
    """The error that lists ``faults`` of the file ``name``, in the order of the text."""
    ordered = sorted(faults, key=lambda fault: (fault.position.line, fault.position.column))[:MAX_FAULTS]
    return InvalidInput(
        Problem(
            "invalid-series",
            f"{name}:{fault.position.line}:{fault.position.column}: {fault.message}",
            file=name,
        )
        for fault in ordered
    )


@lru_cache(maxsize=2)  # one edit reads the text before and after it, each more than once; nobody changes a document
def parse(data: bytes, name: str) -> Document:
    """The one document in ``data`` (UTF-8, at most MAX_BYTES).

    Duplicate keys, aliases, anchors, tags, merge keys and ambiguous unquoted scalars are noted in the document's
    ``faults``, so that they can be reported together with what is wrong in the values. Raises InvalidInput for
    what can't be read on from: bytes that are not UTF-8, control characters, syntax, several documents.
    """
    text = _decode(data, name)
    reader = _Reader()
    try:
        root = reader.read(text)
    except _Stopped:
        root = None
    if root is None:
        raise invalid(name, reader.faults)
    return Document(name, text, root, tuple(reader.faults))


def _decode(data: bytes, name: str) -> str:
    start = Position(1, 1)
    if len(data) > MAX_BYTES:
        size = f"{len(data) / 2**20:.0f} MiB; at most {MAX_BYTES // 2**20} MiB are read"
        raise invalid(name, [Fault(start, f"the file has {size}.")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8."
        raise invalid(name, [Fault(Position(line, column), message)]) from None
    odd = [
        Fault(position_of(text, match.start()), f"{_show(match.group())} must not stand in this file.")
        for match in _FORBIDDEN.finditer(text)
    ]
    if odd:
        raise invalid(name, odd)
    return text


# Characters that some readers break lines at and others don't, and those that no text file needs.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]|\r(?!\n)|(?<!^)\ufeff")


def _show(character: str) -> str:
    return f"the character U+{ord(character):04X}"


def position_of(text: str, offset: int) -> Position:
    """The position of a character offset in ``text``."""
    before = text.rfind("\n", 0, offset) + 1
    return Position(text.count("\n", 0, offset) + 1, offset - before + 1)


class _Stopped(Exception):
    """The text can't be read any further."""


class _Reader:
    """Builds nodes from PyYAML's events, noting every fault on the way."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._text = ""
        self._shift = 0

    def read(self, text: str) -> Node | None:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # PyYAML drops a byte order mark without counting it.
        self._shift = int(text.startswith("\ufeff"))
        self._text = text
        events = yaml.parse(text[self._shift :], Loader=loader)
        root: Node | None = None
        try:
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    if event.version or event.tags:
                        self._fault(event, "a % directive has no place here.")
                    if root is not None:
                        self._fault(event, "a second document begins here; the file must hold one.")
                        raise _Stopped
                elif isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent, yaml.AliasEvent)):
                    root = self._node(event, events, 0)
        except yaml.MarkedYAMLError as error:
            self.faults.append(_syntax_fault(error))
            raise _Stopped from None
        except yaml.YAMLError as error:
            self.faults.append(Fault(Position(1, 1), f"not YAML: {error}"))
            raise _Stopped from None
        if root is None:
            self.faults.append(Fault(Position(1, 1), "the file is empty."))
        return root

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            self._fault(event, f"the alias *{event.anchor} is not allowed; write the value itself.")
            return Scalar("", None, False, self._at(event.start_mark), self._at(event.end_mark), _position(event))
        if event.anchor:
            self._fault(event, f"the anchor &{event.anchor} is not allowed.")
        if event.tag is not None:
            self._fault(event, f"the tag {event.tag} is not allowed.")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if depth >= MAX_DEPTH:
            self._fault(event, f"more than {MAX_DEPTH} levels deep.")
            raise _Stopped
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, events, depth)
        return self._mapping(event, events, depth)

    def _sequence(self, event: Any, events: Iterator[Any], depth: int) -> Sequence:
        import yaml

        node = Sequence(self._at(event.start_mark), _position(event), bool(event.flow_style))
        for inner in events:
            if isinstance(inner, yaml.SequenceEndEvent):
                node.end = self._at(inner.end_mark)
                break
            node.items.append(self._node(inner, events, depth + 1))
        return node

    def _mapping(self, event: Any, events: Iterator[Any], depth: int) -> Mapping:
        import yaml

        node = Mapping(self._at(event.start_mark), _position(event), bool(event.flow_style))
        seen: dict[str, Position] = {}
        for inner in events:
            if isinstance(inner, yaml.MappingEndEvent):
                node.end = self._at(inner.end_mark)
                break
            key = self._key(inner, events, depth)
            value = self._node(next(events), events, depth + 1)
            if key is None:
                continue
            first = seen.setdefault(key.text, key.position)
            if first is not key.position:
                self.faults.append(Fault(key.position, f"the key '{key.text}' stands already in line {first.line}."))
                continue
            node.entries.append((key, value))
        return node

    def _key(self, event: Any, events: Iterator[Any], depth: int) -> Scalar | None:
        import yaml

        if not isinstance(event, yaml.ScalarEvent):
            self._fault(event, "a key must be a single word or a quoted text.")
            self._node(event, events, depth + 1)
            return None
        if event.anchor or event.tag is not None:
            self._fault(event, "anchors and tags are not allowed.")
        bare = not event.style
        if bare and event.value == "<<":
            self._fault(event, "merge keys (<<) are not allowed; write the entries themselves.")
        elif bare and not event.value:
            self._fault(event, "a key is missing here.")
        elif bare and event.value not in yamlscalar.WORDS and yamlscalar.is_other_type(event.value):
            self._fault(event, yamlscalar.quote_it(event.value))
        # Whatever the key looks like, it is the text as written.
        start, end = self._at(event.start_mark), self._at(event.end_mark)
        return Scalar(event.value, event.value, bare, start, end, _position(event))

    def _scalar(self, event: Any) -> Scalar:
        text: str = event.value
        bare = not event.style
        value: Any = text
        if bare:
            known, value = yamlscalar.plain_value(text)
            if not known and yamlscalar.is_other_type(text):
                self._fault(event, yamlscalar.quote_it(text))
        start, end = self._at(event.start_mark), self._at(event.end_mark)
        if event.style in ("|", ">"):
            # The scanner lets a block of text reach to the next token.
            end = start + len(self._text[start:end].rstrip())
        return Scalar(text, value, bare, start, end, _position(event))

    def _at(self, mark: Any) -> int:
        return int(mark.index) + self._shift

    def _fault(self, event: Any, message: str) -> None:
        self.faults.append(Fault(_position(event), message))
        if len(self.faults) > MAX_FAULTS:
            raise _Stopped


def _position(event: Any) -> Position:
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)


def _syntax_fault(error: Any) -> Fault:
    mark = error.problem_mark or error.context_mark
    said = " ".join(part for part in (error.context, error.problem) if part) or "not YAML"
    if "cannot start any token" in said and mark is not None:
        said = (
            "this character can't stand here; indent with spaces, and quote text that begins with a special character"
        )
    place = Position(mark.line + 1, mark.column + 1) if mark is not None else Position(1, 1)
    return Fault(place, f"{said}.")
