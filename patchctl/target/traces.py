"""The names that a transaction's journal goes by, for those who only ask whether one stands."""

from __future__ import annotations

import os
from pathlib import Path

STANDING, DONE, DRAFT = "journal.json", "journal.done", "journal.new"
STAGE = "stage"


def stand(state: Path) -> bool:
    """Whether an unfinished run's traces stand in the state folder: a journal, complete or not, or nothing at all (a
    run that was killed right after it made the folder, or right before it removed it)."""
    try:
        names = {entry.name for entry in os.scandir(state)}
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not names or not names.isdisjoint((STANDING, DONE, DRAFT))
