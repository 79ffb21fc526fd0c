"""Finding the project, apart from reading it: commands that work without one look for it at every start."""

from __future__ import annotations

import os
import re
from pathlib import Path

from patchctl.errors import InvalidInput, Problem

FILE_NAME = "series.yaml"


def find(start: Path) -> Path:
    """The nearest folder at or above ``start`` that holds series.yaml. Raises InvalidInput if there is none."""
    # abspath, not resolve: somebody who came here by a link looks for the project along that way.
    here = Path(os.path.abspath(start))  # noqa: PTH100
    for folder in (here, *here.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise InvalidInput(
        Problem(
            "no-project",
            f"There is no {FILE_NAME} in {here} or above it.",
            next="patchctl init DIR --upstream-git URL --target TAG",
        )
    )


def listed(root: Path, tag: str) -> tuple[str, ...] | None:
    """The patches that series.yaml in ``root`` lists for the target ``tag``, told from its lines alone.

    Reading it as YAML costs a gate more time than all its hashing. None where the list does not stand in the file the
    way people and patchctl write it; then the reader has to tell.
    """
    try:
        lines = (root / FILE_NAME).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    keys = ["targets:", f"{tag}:", "patches:"]
    for at, line in enumerate(lines):
        text = _bare(line)
        depth = len(text) - len(text.lstrip(" "))
        if text and depth < 2 * (3 - len(keys)):
            return None
        key, _, rest = text.strip().partition(" ")
        if depth == 2 * (3 - len(keys)) and key.replace('"', "").replace("'", "") == keys[0]:
            del keys[0]
            if not keys:
                return _items([rest, *map(_bare, lines[at + 1 :])])
            if rest:
                return None
    return None


def _items(lines: list[str]) -> tuple[str, ...] | None:
    """The items of a list of plain words, in brackets or one a line; None for anything else."""
    if lines[0].startswith("["):
        inside, closed, _ = " ".join(lines).partition("]")
        items = [item.strip() for item in inside[1:].split(",")] if closed else [""]
    else:
        found = [line for line in lines if line]
        block = found[: next((at for at, line in enumerate(found) if not _ITEM.match(line)), len(found))]
        items = [line.split("- ", 1)[1].strip() for line in block]
    return tuple(items) if items and all(map(_WORD.fullmatch, items)) else None


def _bare(line: str) -> str:
    """``line`` without its comment."""
    return re.sub(r"(?:^|\s)#.*", "", line).rstrip()


_ITEM = re.compile(r"    (?:  )?- ")
_WORD = re.compile(r"[a-z0-9][a-z0-9.-]*")
