"""Names that a text would define twice, told without a parser of its language.

JSON is parsed; YAML, TOML and code are read by their lines: which keys a mapping or table has, and which functions,
types and includes stand in one scope. What is open to doubt is left out, and only what neither side has counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

from patchctl.engine.guards.declared import Key, declared, numbered
from patchctl.engine.guards.finding import Finding
from patchctl.engine.merge.outline import Outline
from patchctl.engine.merge.scope import Scopes, kind_of
from patchctl.engine.merge.text import Text

_KEY = re.compile(rb"\s*(?:- )?([\"']?[\w.:/$@-]+[\"']?)\s*:(?:\s|\Z)")
_INCLUDE = re.compile(rb"\s*(?:#\s*include|import|use|require(?:_relative)?)\b.*\w.*")
_SECTION = re.compile(rb"(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:[#;].*)?\Z")
_SETTING = re.compile(rb"([\w.-]+|\"[^\"]+\"|'[^']+')\s*=")
_FUNCTION = re.compile(rb"[A-Za-z_][\w\s*]*?[\s*](\w+)\s*\([^;]*\Z")
_NO_FUNCTION = frozenset({b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"defined", b"typedef"})
_DECLARED = "declared"  # begins the keys of what only the beginning of a line tells
_MOST_LINES = 20_000
_LARGEST = 4 * 1024 * 1024
# Languages in which one name is reopened on purpose, or has many bodies.
_REOPENED = re.compile(rb"\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:impl|mod|module|namespace)\b")


def check(path: str, before: bytes, after: bytes, patched: bytes | None) -> Iterator[Finding]:
    """What ``after`` defines twice though neither ``before`` nor ``patched`` does; for JSON also whether it parses."""
    if path.endswith((".json", ".webmanifest", ".ipynb")):
        yield from _json(path, before, after, patched)
        return
    texts = [Text(data) for data in (before, patched if patched is not None else before, after)]
    if max(map(len, texts)) > _MOST_LINES:
        return
    old, made, new = (_defined(path, text) for text in texts)
    for key, lines in new.items():
        if len(lines) > 1 and len(lines) > max(len(old.get(key, ())), len(made.get(key, ()))):
            text = f"{key[-1]} would stand {len(lines)} times in one place."
            yield Finding("defined-twice", text, lines[-1] + 1)


def _defined(path: str, text: Text) -> dict[Key, list[int]]:
    """What ``text`` defines, by scope, and on which lines (indices)."""
    out: dict[Key, list[int]] = {}
    for key, at in _names(path, text):
        out.setdefault(key, []).append(at)
    return out


def _names(path: str, text: Text) -> Iterator[tuple[Key, int]]:
    kind = kind_of(path)
    if kind != "python":
        yield from (((_DECLARED, *key), at) for key, at in declared(path, text))
    if kind == "yaml":
        yield from _yaml(text)
    elif path.endswith((".toml", ".ini", ".cfg")):
        yield from _settings(text)
    elif kind in ("code", "c", "python"):
        for item in Outline(text, path).all:
            bodiless = kind == "c" and not _has_body(text, item.head)  # a type is named in many places of C
            if not bodiless and not _REOPENED.match(text.lines[item.head]):
                yield (*item.scope, item.name), item.head
        for at, line in enumerate(text.lines):
            if text.indents[at] == 0 and _INCLUDE.match(line):
                yield ("import", line.strip().decode("utf-8", "surrogateescape")), at
        if path.endswith((".c", ".h")):
            yield from _functions(text)


def _yaml(text: Text) -> Iterator[tuple[Key, int]]:
    """The keys of mappings with the lines that are open around them (their numbers: equal texts are not equal)."""
    scopes = Scopes(text, "yaml")
    numbers = numbered(text)
    for at, line in enumerate(text.lines):
        found = _KEY.match(line)
        if not found or line.lstrip().startswith((b"#", b"- ", b"{")):
            continue
        chain = scopes.chain(at, text.indents[at])
        shown = tuple(text.lines[above].strip().decode("utf-8", "surrogateescape") for above in chain)
        yield (*shown, str(numbers[chain[-1]]) if chain else "", found[1].decode("utf-8", "surrogateescape")), at


def _settings(text: Text) -> Iterator[tuple[Key, int]]:
    """The tables of a TOML file or the sections of a configuration, and the keys at the start of a line in each."""
    section = ""
    inside: bytes | None = None
    for at, line in enumerate(text.lines):
        if inside:
            inside = None if inside in line else inside
            continue
        told = line.strip()
        found = _SECTION.match(told)
        if found and line[:1] == b"[":
            name = found[2].decode("utf-8", "surrogateescape")
            section = f"{name} {at}" if found[1] == b"[[" else name
            if found[1] != b"[[":
                yield ("[]", name), at
        elif setting := _SETTING.match(line):
            yield (section, setting[1].decode("utf-8", "surrogateescape")), at
            rest = line[setting.end() :]
            opened = next((mark for mark in (b'"""', b"'''") if rest.count(mark) == 1), None)
            inside = opened


def _functions(text: Text) -> Iterator[tuple[Key, int]]:
    """The functions of a C file that begin at the margin, by the conditions of the preprocessor around them."""
    scopes = Scopes(text, "c")
    for at, line in enumerate(text.lines):
        found = _FUNCTION.match(line.rstrip()) if text.indents[at] == 0 and b"(" in line else None
        if not found or found[1] in _NO_FUNCTION or line.split()[0] in _NO_FUNCTION or not _has_body(text, at):
            continue
        around = (text.lines[above].strip().decode("utf-8", "surrogateescape") for above in scopes.chain(at, 0))
        yield (*around, "()", found[1].decode("utf-8", "surrogateescape")), at


def _has_body(text: Text, at: int) -> bool:
    """Whether a head that begins at ``at`` is followed by a brace, not by the end of a declaration."""
    for line in text.lines[at : at + 12]:
        told = line.strip()
        if told.endswith(b";"):
            return False
        if b"{" in told:
            return True
    return False


def _json(path: str, before: bytes, after: bytes, patched: bytes | None) -> Iterator[Finding]:
    if len(after) > _LARGEST:
        return
    old, new = _doubled(before), _doubled(after)
    made = _doubled(patched) if patched is not None else Counter[str]()
    if old is None or made is None:
        return
    if new is None:
        yield Finding("syntax", f"{path} is no valid JSON any more.")
        return
    for key, count in new.items():
        if count > max(old[key], made[key]):
            yield Finding("defined-twice", f"The key {key} would stand twice in one object.")


def _doubled(data: bytes) -> Counter[str] | None:
    """The keys that some object has twice, and in how many objects; None if ``data`` is no JSON."""
    out: Counter[str] = Counter()

    def seen(pairs: list[tuple[str, object]]) -> None:
        out.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)

    try:
        json.loads(data, object_pairs_hook=seen)
    except (ValueError, RecursionError):
        return None
    return out
