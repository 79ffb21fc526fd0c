"""Writing values as YAML that every reader takes for the same thing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from patchctl.series.yamlscalar import is_text

_WIDTH = 100
# Words and simple sentences need no quotes; whatever might is quoted.
_BARE = re.compile(r"[A-Za-z0-9/(][A-Za-z0-9 _./()+,;=@'-]*(?<! )")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is laid out: its line end, the step of its indentation, how far list items stand in."""

    eol: str = "\n"
    step: int = 2
    dash: int = 2


def scalar(value: Any) -> str:
    """``value`` on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if _BARE.fullmatch(value) and is_text(value):
        return str(value)
    return quoted(value)


def quoted(text: str) -> str:
    """``text`` in double quotes; JSON's escapes are YAML's, too."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def flow(value: Any) -> str:
    """``value`` on one line, collections in braces and brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow_scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return _flow_scalar(value)


def entry(key: str, value: Any, indent: int, layout: Layout) -> list[str]:
    """The lines (without line ends) of a block mapping's entry."""
    pad = " " * indent
    name = f"{pad}{scalar(key)}:"
    if isinstance(value, dict) and value and not _is_short(name, value):
        lines = [name]
        for inner, item in value.items():
            lines += entry(inner, item, indent + layout.step, layout)
        return lines
    if isinstance(value, list) and value and (key == "patches" or not _is_short(name, value)):
        # One a line: two branches that add to the list can be merged.
        return [name, *(f"{pad}{' ' * layout.dash}- {flow(item)}" for item in value)]
    if isinstance(value, str) and "\n" in value and _is_simple_block(value):
        mark = "|" if value.endswith("\n") else "|-"
        body = value.removesuffix("\n").split("\n")
        return [f"{name} {mark}", *(f"{pad}{' ' * layout.step}{line}" if line else "" for line in body)]
    return [f"{name} {flow(value)}"]


def _flow_scalar(value: Any) -> str:
    text = scalar(value)
    # Inside braces a comma would end the value.
    return quoted(value) if isinstance(value, str) and not text.startswith('"') and "," in text else text


def _is_short(name: str, value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    if any(isinstance(item, dict) or (isinstance(item, str) and "\n" in item) for item in items):
        return False
    return len(name) + 1 + len(flow(value)) <= _WIDTH


def _is_simple_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    plain = all(line == line.rstrip() and not line.startswith((" ", "\t")) and line.isprintable() for line in lines)
    return plain and bool(lines[0]) and bool(lines[-1])
