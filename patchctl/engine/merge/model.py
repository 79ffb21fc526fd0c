"""The words of the merge: what the patch changed, where that goes, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchctl.engine.lines import Lines
from patchctl.engine.merge import renames, syntax
from patchctl.engine.merge.align import Alignment, Edit
from patchctl.engine.merge.outline import Outline
from patchctl.engine.merge.scope import Scopes, calm, is_heading, kind_of, same_scope
from patchctl.engine.merge.text import Text, first_indent, is_weak
from patchctl.engine.scopes import name_of

# Questions to rules; a merge of 2,000 hunks asks some 10,000.
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the patch: lines ``start`` to ``end`` of the base (none for an insertion) give way to ``new``,
    which begins at line ``new_start`` of the patched text."""

    start: int
    end: int
    new: tuple[bytes, ...]
    new_start: int

    @property
    def inserts(self) -> bool:
        return self.start == self.end


@dataclass(frozen=True, slots=True)
class Put:
    """Lines ``start`` to ``end`` of the new file give way to ``new``; with equal indices, ``new`` goes in before."""

    start: int
    end: int
    new: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a change went: ``puts`` ([] if the file has it already), by which ``rule``, how certainly (0 to 1).

    ``at`` is a line of the new file to look at; ``doubt`` is what a reviewer must look at, if anything.
    """

    rule: str
    puts: tuple[Put, ...]
    at: int
    score: float = 1.0
    doubt: str | None = None


class Exhausted(Exception):
    """The merge has cost more steps than any honest one does."""


class Context:
    """The three texts and their alignment, as every rule gets them."""

    def __init__(
        self,
        path: str,
        base: bytes,
        onto: bytes,
        patched: bytes,
        upstream: Sequence[Edit],
        elsewhere: Callable[[Sequence[bytes]], bool] | None = None,
        added: Sequence[bytes] = (),
    ) -> None:
        self.path = path
        self.kind = kind_of(path)
        self.base = Text(base)
        self.onto = Text(onto)
        self.align = Alignment(self.base, self.onto, upstream)
        self.renames = self.all_renames(added) if added else {}
        self.patched = Text(renames.translate(patched, self.renames))
        self._elsewhere = elsewhere
        self._steps = 0

    def all_renames(self, lines: Sequence[bytes]) -> dict[bytes, bytes]:
        """What the names in ``lines`` are called in the new file, as far as upstream renamed them."""
        if self.kind in ("prose", "table") or not self.align.script:
            return {}
        return renames.renamed(self.align, renames.names_in(lines))

    def spend(self, steps: int) -> None:
        """Count steps; raises Exhausted beyond a limit, which depends on nothing but the texts."""
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise Exhausted

    @cached_property
    def old_scopes(self) -> Scopes:
        return Scopes(self.base, self.kind)

    @cached_property
    def new_scopes(self) -> Scopes:
        return Scopes(self.onto, self.kind)

    @cached_property
    def onto_lines(self) -> Lines:
        """The new file without its blank lines, to look for blocks in."""
        return Lines([line for line in self.onto.lines if line.strip()])

    @cached_property
    def onto_numbers(self) -> list[int]:
        """The indices of the lines that are not blank."""
        return [at for at, line in enumerate(self.onto.lines) if line.strip()]

    @cached_property
    def old_outline(self) -> Outline:
        return Outline(self.base, self.path)

    @cached_property
    def new_outline(self) -> Outline:
        return Outline(self.onto, self.path)

    @cached_property
    def patched_outline(self) -> Outline:
        return Outline(self.patched, self.path)

    @cached_property
    def parses(self) -> bool:
        """Whether both the base and the new file are Python to the Python that runs here."""
        return self.path.endswith((".py", ".pyi")) and syntax.parses(self.base.data) and syntax.parses(self.onto.data)

    def moved_away(self, start: int, end: int) -> bool:
        """Whether base lines ``start`` to ``end`` stand in another file, or elsewhere in this one: code was moved."""
        told = [line for line in self.base.lines[start:end] if not is_weak(line) and len(line.strip()) > 8]
        if not told:
            return False
        if self._elsewhere is not None and self._elsewhere(told):
            return True
        return sum(line in self._news for line in told) * 2 > len(told)

    @cached_property
    def _news(self) -> frozenset[bytes]:
        """The lines of the new file that have no counterpart in the base."""
        return frozenset(line for at, line in enumerate(self.onto.lines) if at not in self.align.back)

    def scope_renamed(self, old_place: int, new_place: int, lines: Sequence[bytes]) -> bool:
        """Whether ``lines`` stand in a definition or table, before line ``new_place``, that had another name before
        line ``old_place`` of the base."""
        indent = first_indent(lines)
        if self.kind not in ("python", "code", "c") or calm(self.align, old_place, new_place, indent):
            return False
        here = self.old_scopes.chain(old_place, indent)
        there = self.new_scopes.chain(new_place, indent)
        pairs = zip(here, there, strict=False)
        return any(name_of(self.base.lines[one]) != name_of(self.onto.lines[two]) for one, two in pairs)

    def fits(self, old_place: int, new_place: int, lines: Sequence[bytes]) -> bool:
        """Whether ``lines`` are in the same scope before line ``old_place`` of the base and ``new_place`` here."""
        if self.kind == "prose" and is_heading(lines):
            return True  # it brings its own section
        indent = first_indent(lines)
        if self.kind in ("python", "code") and calm(self.align, old_place, new_place, indent):
            return True
        here = self.old_scopes.chain(old_place, indent)
        there = self.new_scopes.chain(new_place, indent)
        return same_scope(self.align, self.old_scopes, self.new_scopes, here, there)
