"""What a caller may settle before patches are carried: see :func:`patchctl.engine.port.port`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from patchctl.engine.state import FileState

# From one text to another: (start, end, new start, new end) of each edit, indices from 0, ends excluded, in order.
Script = Sequence[tuple[int, int, int, int]]


@dataclass(frozen=True, slots=True)
class Names:
    """What conflict markers call the two trees: names of releases, for instance."""

    onto: str = "onto"
    base: str = "base"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person has settled about a patch. ``changes`` are the files as they are to be after it (None: deleted);
    without any, the patch is left out. ``outcome`` is what its report says: resolved, kept, dropped, replayed."""

    outcome: str
    changes: Mapping[str, FileState | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """``scripts`` gives the edit script from one state of a file to another, or None for the engine's own
    (:mod:`patchctl.engine.merge.diff`). ``decided``: by patch name, patches that are not tried any more. ``off``:
    names of merge rules that are not asked. ``accepted``: by patch name, the kinds of findings that a person has
    overruled for it."""

    scripts: Callable[[FileState, FileState], Script | None] | None = None
    decided: Mapping[str, Decision] = field(default_factory=dict)
    labels: Names = Names()
    off: frozenset[str] = frozenset()
    accepted: Mapping[str, frozenset[str]] = field(default_factory=dict)
