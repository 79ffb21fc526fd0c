"""Finding out what the names of a patch mean: which of their leading components are a prefix.

A patch says it itself: two sides that differ in their first component (``a/x`` and ``b/x``, ``i/`` and ``w/``,
``old/`` and ``new/``) have a prefix of one component; two equal ones have none; renames and copies show it. What
a patch says is taken if the tree has at least one of the files that it needs. Otherwise the layout of a series
may map the names (``python/sglang/`` to ``sglang/``). Anything else is refused, naming what would fit: to drop
components until some file matches finds the wrong file sooner or later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from patchctl.engine.model import Change, FilePatch, Patch
from patchctl.engine.reader import stripped
from patchctl.errors import Problem, Refused

# git's own prefixes: the default, and those of diff.mnemonicPrefix.
_CONVENTIONAL = frozenset("abciow12")
_DEEPEST = 12


def settle(
    patch: Patch, exists: Callable[[str], bool], folder: Callable[[str], bool], layout: Callable[[], Mapping[str, str]]
) -> Patch:
    """``patch`` with the names of the tree, in which ``exists`` looks for files and ``folder`` for folders.

    ``layout`` gives, if it comes to that, which prefixes of repository names stand for which of the tree's.
    Raises Refused (``prefix``).
    """
    stated = _stated(patch, folder)
    if stated is None:
        raise Refused([_open(patch, section) for section in patch.files])
    try:
        plain = stripped(patch, stated)
    except Refused as error:
        if not all(problem.kind in ("strip", "names-differ") for problem in error.problems):
            raise
        plain = None
    missing = list(_missing(plain, exists)) if plain is not None else [section.path for section in patch.files]
    if plain is not None and not missing:
        return _created(plain, folder, layout) or plain
    others = [count for count in range(_DEEPEST) if count != stated and _fits(patch, count, exists)]
    if plain is not None and not others and len(missing) < len(list(_needed(plain))):
        return plain
    mapped = _mapped(plain, layout()) if plain is not None else None
    if mapped is not None and not list(_missing(mapped, exists)):
        return mapped
    raise Refused([_problem(patch, section, stated, others) for section in _lost(patch, plain, missing)])


def _created(plain: Patch, folder: Callable[[str], bool], layout: Callable[[], Mapping[str, str]]) -> Patch | None:
    """``plain`` by the names of the layout, if it only creates files, in folders that the tree has by those names."""
    tops = {section.path.partition("/")[0] for section in plain.files}
    if any(section.change is not Change.CREATE for section in plain.files) or any(map(folder, tops)):
        return None
    mapped = _mapped(plain, layout())
    if mapped is None or not all(folder(section.path.partition("/")[0]) for section in mapped.files):
        return None
    return mapped


def _stated(patch: Patch, folder: Callable[[str], bool]) -> int | None:
    """How many components the patch itself shows to be a prefix; None if that is open."""
    for section in patch.files:
        if section.prefix is not None:
            return section.prefix
    both = [s for s in patch.files if s.old_path is not None and s.new_path is not None]
    if both:
        return 1 if any(section.old_path != section.new_path for section in both) else 0
    # Only creations and deletions, which name one side each, but for git's own header line.
    sided = {section.sided for section in patch.files}
    if sided in ({True}, {False}):
        return int(sided.pop() or False)
    if not all(section.path.partition("/")[0] in _CONVENTIONAL and "/" in section.path for section in patch.files):
        return 0
    return None if any(folder(section.path.partition("/")[0]) for section in patch.files) else 1


def _needed(patch: Patch) -> Iterator[FilePatch]:
    """The sections that start from a file which no section above them makes."""
    made: set[str] = set()
    for section in patch.files:
        if section.change is not Change.CREATE and section.old_path not in made:
            yield section
        if section.new_path is not None and section.change is not Change.MODIFY:
            made.add(section.new_path)


def _missing(patch: Patch, exists: Callable[[str], bool]) -> Iterator[str]:
    for section in _needed(patch):
        assert section.old_path is not None
        if section.change is Change.DELETE:
            continue  # gone already, perhaps
        if exists(section.old_path) or (section.change is Change.RENAME and exists(section.path)):
            continue
        yield section.path


def _fits(patch: Patch, count: int, exists: Callable[[str], bool]) -> bool:
    try:
        reading = stripped(patch, count)
    except Refused:
        return False
    needed = [section for section in _needed(reading) if section.change is not Change.DELETE]
    return bool(needed) and not list(_missing(reading, exists))


def _mapped(patch: Patch, layout: Mapping[str, str]) -> Patch | None:
    files = []
    for section in patch.files:
        names = [_map(name, layout) if name is not None else "" for name in (section.old_path, section.new_path)]
        if None in names:
            return None
        files.append(replace(section, old_path=names[0] or None, new_path=names[1] or None))
    return replace(patch, files=tuple(files))


def _map(name: str, layout: Mapping[str, str]) -> str | None:
    for prefix in sorted(layout, key=len, reverse=True):
        if name.startswith(prefix):
            return layout[prefix] + name[len(prefix) :]
    return None


def _lost(patch: Patch, plain: Patch | None, missing: list[str]) -> list[FilePatch]:
    if plain is None:
        return list(patch.files)
    return [raw for raw, section in zip(patch.files, plain.files, strict=True) if section.path in missing]


def _problem(patch: Patch, section: FilePatch, stated: int, others: list[int]) -> Problem:
    name = section.old_path or section.path
    rest = name.split("/", stated)[-1]
    looked = f"{name} is not in the tree" + (f" (looked for {rest})" if rest != name else "")
    if others:
        candidate = name.split("/", others[0])[-1]
        looked += f"; {candidate} is there, with {others[0]} leading components taken off instead of {stated}"
    return Problem("prefix", f"{looked}.", patch.name, rest)


def _open(patch: Patch, section: FilePatch) -> Problem:
    first, _, rest = section.path.partition("/")
    text = f"{section.path} may mean {rest}, or {section.path} itself: the tree has a folder {first}."
    return Problem("prefix", text, patch.name, section.path)
