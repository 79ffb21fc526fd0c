"""Where a repository's files stand in a place: prefix mappings, and finding out which one a folder follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from patchctl.errors import Problem, Refused

IDENTITY: Mapping[str, str] = {"": ""}


@dataclass(frozen=True, slots=True)
class Shape:
    """What series.yaml says of how upstream is packed: the distribution's name on the index, the folder of the
    repository that an archive holds (``python/``), and the prefixes of what gets installed."""

    name: str
    pypi: str | None = None
    sdist_root: str = ""
    layout: Mapping[str, str] = field(default_factory=dict)


def local(layout: Mapping[str, str], path: str) -> str | None:
    """``path`` of the repository under the longest prefix of ``layout`` that fits; None if none does."""
    for prefix in sorted(layout, key=len, reverse=True):
        if path.startswith(prefix):
            return layout[prefix] + path[len(prefix) :] or None
    return None


def candidates(shape: Shape) -> dict[str, Mapping[str, str]]:
    """The mappings that an unpacked tree may follow, by what people call them."""
    found: dict[str, Mapping[str, str]] = {"the repository itself": IDENTITY}
    if shape.sdist_root:
        found[f"a source archive of {shape.sdist_root}"] = {shape.sdist_root: ""}
    if shape.layout and dict(shape.layout) not in found.values():
        found["an unpacked wheel"] = shape.layout
    return found


def choose(
    shape: Shape, footprint: Iterable[str], is_file: Callable[[str], bool], is_folder: Callable[[str], bool], where: str
) -> Mapping[str, str]:
    """The mapping under which most of the files of ``footprint`` stand in the folder ``where``.

    A wrong choice could not do harm, every file is proved by its hash before it is touched; but it would be
    reported as a foreign tree. Where no file stands (a series that only adds some), their folders count.
    Raises Refused, saying what was tried, if nothing fits or two mappings fit equally well.
    """
    paths = list(dict.fromkeys(footprint))
    tried = candidates(shape)
    if not paths:
        return IDENTITY
    for stands in (is_file, lambda name: "/" in name and is_folder(name.rpartition("/")[0])):
        scores = {label: _score(layout, paths, stands) for label, layout in tried.items()}
        best = max(scores.values())
        if best:
            winners = [label for label, score in scores.items() if score == best]
            if not _alike([tried[label] for label in winners], paths):
                raise Refused(_ambiguous(where, winners))
            # Where only a wheel's mapping agrees, it's a copy of installed files unless it has an archive's own.
            archive = any(is_file(name) for name in ("pyproject.toml", "setup.py", "PKG-INFO"))
            return tried[winners[0 if archive else -1]]
    raise Refused(_nothing(where, paths, tried))


def _score(layout: Mapping[str, str], paths: list[str], stands: Callable[[str], bool]) -> int:
    names = (local(layout, path) for path in paths)
    return sum(name is not None and stands(name) for name in names)


def _alike(layouts: list[Mapping[str, str]], paths: list[str]) -> bool:
    """Whether the mappings agree on every path that all of them carry."""
    return all(len({local(layout, path) for layout in layouts} - {None}) <= 1 for path in paths)


def _ambiguous(where: str, labels: list[str]) -> Problem:
    return Problem("ambiguous-tree", f"{where} looks like {' and like '.join(labels)}: patchctl can't tell which.")


def _nothing(where: str, paths: list[str], tried: Mapping[str, Mapping[str, str]]) -> Problem:
    names = ", ".join(f"{name} ({label})" for label, layout in tried.items() if (name := local(layout, paths[0])))
    message = f"{where} holds none of the files that the series touches; looked, for instance, for {names}."
    return Problem("not-the-upstream", message, file=paths[0])
