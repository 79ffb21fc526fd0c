"""The places a series lands in, seen from the jobs that use them.

A place knows where a repository's file stands in it, what is there now, and how to move a set of files
from one state to another as one transaction. What the states should be, it does not decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from patchctl.engine.state import FileState
from patchctl.errors import Problem
from patchctl.series.receipt import Receipt

if TYPE_CHECKING:
    from patchctl.engine.model import Mail
    from patchctl.target.commits import Draft


@dataclass(frozen=True, slots=True)
class Move:
    """A file's way from what stands there to what shall stand there; ``None`` is no file."""

    before: FileState | None
    after: FileState | None


@dataclass(frozen=True, slots=True)
class Step:
    """One patch of the series: its head, for a commit's author and message, and the files as it leaves them."""

    id: str
    mail: Mail
    files: Mapping[str, FileState | None]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """All that one transaction writes. Paths are the repository's.

    ``moves`` is the net effect on the files. ``steps`` is the whole series as it shall stand, from the pristine
    tree on; a checkout makes one commit of each, other places ignore it. ``draft`` are those commits, if they were
    begun while the steps were worked out; then ``steps`` need not be held. ``receipt`` is what the place shall say of
    itself afterwards, None for nothing.
    """

    moves: Mapping[str, Move]
    steps: tuple[Step, ...] = ()
    receipt: Receipt | None = None
    commit: bool = True
    pristine: Mapping[str, FileState | None] = field(default_factory=dict)
    draft: Draft | None = None


class Place(Protocol):
    """A checkout, an unpacked tree, or an installed distribution."""

    @property
    def kind(self) -> str:
        """``checkout``, ``tree`` or ``installed``."""

    @property
    def root(self) -> Path:
        """The folder that was named, or site-packages."""

    @property
    def carries_modes(self) -> bool:
        """Whether executable bits mean something here; in what came out of a wheel they don't."""

    def local(self, path: str) -> str | None:
        """Where the repository's ``path`` stands below ``root``; None where the layout can't carry it."""

    def read(self, path: str) -> FileState | None:
        """What stands at the repository's ``path`` now, None if nothing.

        Raises Refused where the way leads through a link, or something stands there that is no file.
        """

    def receipt(self) -> Receipt | None:
        """What was recorded here last. Raises Refused for one that can't be read."""

    def locked(self) -> AbstractContextManager[None]:
        """Keeps other patchctl processes out of this place; waits for them."""

    def interrupted(self) -> bool:
        """Whether an earlier run was killed on the way and its journal stands."""

    def recover(self) -> None:
        """Take an interrupted run back: the files stand again as before it.

        Raises Refused naming the files that somebody changed since.
        """

    def in_the_way(self, paths: Mapping[str, FileState | None]) -> tuple[Problem, ...]:
        """What forbids writing ``paths`` here (local edits, foreign commits, untracked files, links), all of it.

        The mapping gives the state each path is expected in.
        """

    def draft(self) -> Draft | None:
        """Begin the commits that the next :meth:`write` will want; None where there are none to make."""

    def write(self, plan: WritePlan) -> Receipt | None:
        """Do all of ``plan`` or none of it, read the result back, and return the receipt as it was stored.

        Raises EnvironmentFailed when the disk fails (everything is as before), Refused when a file is not in
        the state the plan expects.
        """
