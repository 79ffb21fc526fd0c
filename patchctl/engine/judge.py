"""The guards over a result that no merge has made: a person's resolution, a tool's, or one that is replayed.

Nothing is known of how such a text came to be, so it is compared with the sides that it had to unite: the file as
upstream has it, and what the patch made of its own base. What is so on either side is nobody's fault here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patchctl.engine import guards
from patchctl.engine.guards.finding import Finding
from patchctl.engine.guards.imports import Modules, gone, orphans
from patchctl.engine.lines import split
from patchctl.engine.merge.moved import Moves
from patchctl.engine.merge.report import scope_name
from patchctl.engine.merge.scope import kind_of
from patchctl.engine.merge.text import Text, indent_of, is_weak
from patchctl.engine.overlay import Entry, Overlay, Tree
from patchctl.engine.state import LINK, FileState

# Kinds for a reviewer; every other kind is a fault, and only a person can overrule it.
REVIEWED = frozenset({"unparsed"})

_MARKER = re.compile(rb"^(?:<{7,}|>{7,}|\|{7,})(?: [^\r\n]*)?\r?$", re.MULTILINE)
# Shorter lines stand in many places.
_TOLD = 12


@dataclass(frozen=True, slots=True)
class Sides:
    """One file that was resolved: its states in the base, after the patch there, in the new tree, and the result;
    None where there is no file. ``path`` is its name in the new tree, ``old_path`` that in the base."""

    path: str
    base: FileState | None
    patched: FileState | None
    onto: FileState | None
    result: FileState | None
    old_path: str | None = None


def check(files: Sequence[Sides], *, onto: Tree, base: Tree | None) -> tuple[Finding, ...]:
    """What is wrong with the results of ``files``, which together are one patch on the tree ``onto``.

    ``onto`` and ``base`` are the trees as they are before the patch, earlier patches of the series included; without
    ``base`` no name is looked for in other files. Kinds of findings: markers, syntax, defined-twice, name-gone,
    scope, folder-moved; superseded, where the result overwrites what upstream has in the place of a definition that
    the patch adds (a person who says ``--keep`` has decided that: ignore it there); and unparsed (see
    :data:`REVIEWED`). ``file`` is always set, ``line`` counts from 1 in the result. Raises what ``get`` raises.
    """
    here = Modules(_laid(onto, {each.path: each.result for each in files}))
    there = Modules(_laid(base, {each.old_path or each.path: each.patched for each in files})) if base else None
    found = []
    for each in files:
        found += [replace(item, file=each.path) for item in _judged(each, there, here)]
        if base is not None and each.onto is None and each.base is None and each.result is not None:
            found += _in_a_left_folder(each.path, base, onto)
    changed = {each.path: each.onto.data for each in files if each.onto is not None and each.path.endswith(".py")}
    if there is not None and changed:
        found += orphans(changed, there, here, onto.names())
    return tuple(found)


def resolutions(
    before: Mapping[str, FileState | None],
    after: Mapping[str, FileState | None],
    base_before: Mapping[str, FileState | None],
    base_after: Mapping[str, FileState | None],
    was: Mapping[str, str] | None = None,
) -> list[Sides]:
    """The files of a resolution as :func:`check` takes them. ``before`` and ``after`` go by the names of the new
    tree, the others by those of the base; ``was`` tells the old name of a file that upstream has moved."""
    out = []
    for path, result in after.items():
        old = (was or {}).get(path, path)
        out.append(Sides(path, base_before.get(old), base_after.get(old), before.get(path), result, old))
    return out


def markers(data: bytes) -> list[int]:
    """The lines (from 1) of ``data`` that are conflict markers: the first, the middle (diff3) and the last kind; the
    line of equal signs is none by itself, for prose underlines its headings with it."""
    return [data.count(b"\n", 0, found.start()) + 1 for found in _MARKER.finditer(data)]


def _laid(tree: Tree, files: Mapping[str, FileState | None]) -> Overlay:
    return Overlay(tree, {path: Entry(state) for path, state in files.items()})


def _judged(each: Sides, there: Modules | None, here: Modules) -> Iterator[Finding]:
    if each.result is None or each.result.mode == LINK:
        return
    result = each.result.data
    onto, base, patched = (_data(state) for state in (each.onto, each.base, each.patched))
    lines = markers(result)
    if len(lines) > max(len(markers(onto)), len(markers(patched))):
        yield Finding("markers", f"{each.path} still has conflict markers (line {lines[0]}).", lines[0])
        return
    if result in (onto, patched) and each.base == each.onto:
        return
    yield from guards.check(each.path, onto, result, base, patched)
    yield from _scopes(each.path, base, patched, onto, result)
    for item in guards.rivals(each.path, onto, base, patched):
        if _overwritten(each.path, onto, result, item):
            yield item
    if there is not None:
        added = _added(base, patched)
        yield from gone(each.path, (base, patched, onto, result), added, there, here, each.old_path)
    if onto != result:
        doubt = guards.unparsed(each.path, onto, patched)
        if doubt:
            yield doubt


def _data(state: FileState | None) -> bytes:
    return state.data if state is not None and state.mode != LINK else b""


def _added(old: bytes, new: bytes) -> list[bytes]:
    """The lines that ``new`` has more often than ``old``, in their order; no alignment, for none is needed."""
    left = Counter(split(old))
    out = []
    for line in split(new):
        if left[line] > 0:
            left[line] -= 1
        else:
            out.append(line)
    return out


def _scopes(path: str, base: bytes, patched: bytes, onto: bytes, result: bytes) -> Iterator[Finding]:
    """Lines that both the patch and the result add, in another function or class than the patch did.

    A scope that is no longer in the file has moved or was renamed: where its lines belong then is not for us to say.
    """
    if kind_of(path) in ("prose", "table", "yaml"):
        return
    wanted, made = _placed(base, patched), _placed(onto, result)
    known = _scope_names(result)
    for line, places in made.items():
        asked = wanted.get(line)
        if not asked or len(places) != 1:
            continue
        ((scope, at),) = places
        scopes = {name for name, _ in asked}
        if scope not in scopes and all(name is None or name in known for name in scopes):
            shown = line.decode("utf-8", "replace")[:60]
            text = f"'{shown}' stands in {scope or 'no function'}; the patch puts it into {_names(scopes)}."
            yield Finding("scope", text, at + 1)
            return


def _names(scopes: set[str | None]) -> str:
    return " and ".join(sorted(name or "no function" for name in scopes))


def _placed(old: bytes, new: bytes) -> dict[bytes, list[tuple[str | None, int]]]:
    """The lines that ``new`` adds to ``old`` and that say something, each with its scopes and indices."""
    text = Text(new)
    left = Counter(line.strip() for line in split(old))
    out: dict[bytes, list[tuple[str | None, int]]] = {}
    for at, line in enumerate(text.lines):
        told = line.strip()
        if left[told] or len(told) < _TOLD or is_weak(line) or told[:1] in (b"#", b"@"):
            continue
        out.setdefault(told, []).append((scope_name(text, at, indent_of(line)), at))
    return out


def _scope_names(data: bytes) -> frozenset[str | None]:
    text = Text(data)
    names = {scope_name(text, at, indent_of(line)) for at, line in enumerate(text.lines) if line.strip()}
    return frozenset(names)


def _overwritten(path: str, onto: bytes, result: bytes, item: Finding) -> bool:
    """Whether ``result`` has something else where the new tree has the definition that ``item`` is about."""
    lines = split(onto)
    head = (item.line or 1) - 1
    indent = indent_of(lines[head])
    end = head + 1
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) > indent):
        end += 1
    body = [line for line in lines[head:end] if line.strip()]
    there = [line for line in split(result) if line.strip()]
    return not any(there[at : at + len(body)] == body for at, line in enumerate(there) if line == body[0])


def _in_a_left_folder(path: str, base: Tree, onto: Tree) -> Iterator[Finding]:
    moved = Moves(base, onto).folder(path)
    if moved is not None:
        folder = path.rpartition("/")[0]
        text = f"All files of {folder} have moved to {moved}; nothing may read what is put there."
        yield Finding("folder-moved", text, file=path)
