"""A file's state, apart from all that a patch is: what only compares files needs no more, and starts sooner."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

REGULAR = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
MODES = frozenset({REGULAR, EXECUTABLE, LINK})


def blob_id(data: bytes) -> str:
    """The git object id (SHA-1, 40 hex digits) of ``data`` as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it stands in some tree. That there is none is ``None``, never an empty state."""

    data: bytes
    mode: int = REGULAR
    _blob: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def blob(self) -> str:
        # Every proof asks for it, a dozen times on a file's way; the bytes can't change meanwhile.
        if self._blob is None:
            object.__setattr__(self, "_blob", blob_id(self.data))
        return self._blob  # type: ignore[return-value]
