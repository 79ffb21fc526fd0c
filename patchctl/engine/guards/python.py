"""The guards of a Python file: syntax, doubles, names that are gone, and definitions that upstream has too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from patchctl.engine.guards.facts import LARGEST, Facts, facts, line_of, names
from patchctl.engine.guards.finding import Finding

# What a patch adds, where there is no base to compare with.
_ADDED = re.compile(rb"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_DEFINITIONS = frozenset({"class", "function", "method"})


def check(path: str, before: bytes, after: bytes, base: bytes | None, patched: bytes | None) -> list[Finding] | None:
    """Findings in ``after``; None if the Python that runs here can't parse what it must be compared with."""
    if max(len(before), len(after)) > LARGEST:
        return []
    old, new = facts(before), facts(after)
    made = facts(patched) if patched is not None else None
    if new is None and old is not None and (patched is None or made is not None):
        return [Finding("syntax", f"{path} is no valid Python any more.")]
    if new is None or old is None or (patched is not None and made is None):
        return None
    found = list(_twice(old, new, made))
    if base is not None and patched is not None:
        found += _gone(before, patched, after)
    return found


def _twice(old: Facts, new: Facts, made: Facts | None) -> Iterator[Finding]:
    for key, count in new.defined.items():
        if count > 1 and count > max(old.defined[key], made.defined[key] if made is not None else 0):
            kind, line = new.kinds[key], new.lines[key]
            yield Finding("defined-twice", f"{kind} {shown(key)} would be defined {count} times.", line)


def shown(key: tuple[str, str]) -> str:
    """The name of a definition, with the scope that it stands in."""
    scope, name = key[0].partition("{")[0], key[1]
    return f"{name} of {scope}" if scope else name


def _gone(before: bytes, patched: bytes, after: bytes) -> Iterator[Finding]:
    """Names that nothing in the result binds, though each side binds what it uses of them."""
    new = names(after)
    if new is None or new.stars or not new.free:
        return  # who knows what a star import brings
    old, made = names(before), names(patched)
    if old is None or made is None:
        return
    for name in sorted(new.free - old.free - made.free):
        text = f"{name} is used, but nothing in the file defines or imports it any more."
        yield Finding("name-gone", text, line_of(after, name))


def rivals(path: str, onto: bytes, base: bytes, patched: bytes) -> list[Finding]:
    """Definitions that the patch makes of ``base`` and that ``onto`` has got by itself, in the same scope."""
    if not path.endswith((".py", ".pyi")):
        return []
    here, there, made = facts(onto), facts(base), facts(patched)
    if here is None or there is None or made is None:
        return []
    found = []
    for key, kind in made.kinds.items():
        if kind in _DEFINITIONS and here.kinds.get(key) in _DEFINITIONS and key not in there.defined:
            text = (
                f"The tree has its own {kind} {shown(key)}, which the patch adds: "
                "upstream seems to have taken it, with changes."
            )
            found.append(Finding("superseded", text, here.lines[key]))
    return found


def namesakes(path: str, onto: bytes, added: Iterable[bytes], removed: Iterable[bytes]) -> list[Finding]:
    """Functions and classes that are new on the lines ``added`` and stand somewhere in ``onto`` already."""
    if not path.endswith((".py", ".pyi")):
        return []
    mine = {found[1] for found in map(_ADDED.match, added) if found}
    mine -= {found[1] for found in map(_ADDED.match, removed) if found}
    here = facts(onto) if mine else None
    if here is None:
        return []
    return [
        Finding("defined-already", f"{kind} {key[1]}, which the patch adds, is there already.", here.lines[key])
        for key, kind in here.kinds.items()
        if kind in _DEFINITIONS and key[1].encode() in mine
    ]
