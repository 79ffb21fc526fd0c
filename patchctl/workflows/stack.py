"""A series on its target as a stack of layers, each with the footprint that was recorded for it.

The stack knows every state that each touched file may honestly be in, and finds from what stands in a place how
far each file has come. Only hashes are compared here; :mod:`patchctl.workflows.motion` moves the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from patchctl.engine.state import LINK, FileState
from patchctl.errors import DecisionNeeded, Problem, Refused
from patchctl.series.receipt import AppliedPatch, Receipt, Stamp, TouchedFile

if TYPE_CHECKING:
    from patchctl.engine.model import Patch

States = Mapping[str, "FileState | None"]


def stamp(state: FileState | None) -> Stamp | None:
    """The identity of ``state`` as lock and receipt write it."""
    return None if state is None else Stamp(state.blob, f"{state.mode:o}")


@dataclass(frozen=True)
class Layer:
    """A patch with its footprint: what each file it touches must be before and after it.

    A layer with a footprint is a patch file that was locked: the hash of its text has been compared.
    """

    id: str
    sha256: str
    files: tuple[TouchedFile, ...]
    data: bytes

    def read(self) -> Patch:
        """The patch as read, anew at every call: those of a long series need not all be held.

        Raises Refused when its file is unsafe or holds more than one.
        """
        from patchctl.engine import reader  # the gate of an entrypoint compares hashes alone, and has no time for it

        found = reader.read(self.data, self.id, strip=1, known=self.files != ())
        if len(found) != 1:
            raise Refused(Problem("mailbox", f"A series takes one patch per file; here are {len(found)}.", self.id))
        return found[0]

    @cached_property
    def after(self) -> dict[str, Stamp | None]:
        return {file.path: file.after for file in self.files}


@dataclass(frozen=True)
class Chain:
    """The states of one file: pristine, then after each layer that touches it (``layers[i]`` makes ``stamps[i+1]``)."""

    stamps: tuple[Stamp | None, ...]
    layers: tuple[int, ...]

    def locate(self, found: Stamp | None) -> int | None:
        """How many of the file's layers are on it when it is ``found``; None for a state that nobody recorded.

        Where a state comes back later in the chain, the whole chain counts before none of it, and none of it
        before a part.
        """
        last = len(self.stamps) - 1
        if found == self.stamps[last]:
            return last
        return next((at for at, known in enumerate(self.stamps) if known == found), None)

    def as_recorded(self, state: FileState | None) -> FileState | None:
        """``state`` with the executable bit as recorded for these bytes, for places that don't carry that bit.

        A wheel, and so an installed distribution, has no executable files: there the bit tells nothing, unless a
        patch of the series changes it and nothing else.
        """
        if state is None or state.mode == LINK:
            return state
        modes = [int(stamp.mode, 8) for stamp in self.stamps if stamp is not None and stamp.blob == state.blob]
        if not modes or state.mode in modes or modes[0] == LINK:
            return state
        return FileState(state.data, modes[0])

    def changes_mode(self) -> bool:
        """Whether the layers as a whole change the file's mode."""
        first, last = self.stamps[0], self.stamps[-1]
        return first is not None and last is not None and first.mode != last.mode


class Stack:
    """Layers in order of application."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        self.layers: Sequence[Layer] = tuple(layers)
        self.chains = _chains(self.layers)

    @classmethod
    def of_receipt(cls, receipt: Receipt) -> Stack:
        """What a receipt says is live, with the patches that it carries."""
        return cls(
            Layer(patch.id, patch.sha256, patch.files, patch.text.encode("utf-8", "surrogateescape"))
            for patch in receipt.patches
        )

    def applied(self) -> tuple[AppliedPatch, ...]:
        """The layers as a receipt carries them."""
        return tuple(
            AppliedPatch(layer.id, layer.sha256, layer.files, layer.data.decode("utf-8", "surrogateescape"))
            for layer in self.layers
        )

    def pristine(self, path: str) -> Stamp | None:
        return self.chains[path].stamps[0]

    def final(self, path: str) -> Stamp | None:
        return self.chains[path].stamps[-1]

    def live(self, at: Mapping[str, int | None], index: int) -> dict[str, bool | None]:
        """For each file of layer ``index``: is the layer on it? None where the file is in no recorded state.

        ``at`` is each path's place in its chain, as :meth:`Chain.locate` gives it.
        """
        answer: dict[str, bool | None] = {}
        for file in self.layers[index].files:
            place = at[file.path]
            answer[file.path] = None if place is None else place > self.chains[file.path].layers.index(index)
        return answer


def _chains(layers: Sequence[Layer]) -> dict[str, Chain]:
    stamps: dict[str, list[Stamp | None]] = {}
    touched: dict[str, list[int]] = {}
    for index, layer in enumerate(layers):
        for file in layer.files:
            chain = stamps.setdefault(file.path, [file.before])
            if chain[-1] != file.before:
                raise DecisionNeeded(
                    Problem(
                        "stale-lock",
                        "The lock does not follow the order of the series: what this patch was recorded on is not "
                        "what the patches before it leave.",
                        layer.id,
                        file.path,
                        next="patchctl lock",
                    )
                )
            chain.append(file.after)
            touched.setdefault(file.path, []).append(index)
    return {path: Chain(tuple(stamps[path]), tuple(touched[path])) for path in stamps}


def read_states(
    paths: Iterable[str], read: Callable[[str], FileState | None]
) -> tuple[dict[str, FileState | None], list[Problem]]:
    """What stands at ``paths`` now, and why some of them can't be read honestly; those are left out."""
    states: dict[str, FileState | None] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            states[path] = read(path)
        except Refused as refused:
            problems += refused.problems
    return states, problems
