"""Finding the project, apart from reading it: commands that work without one look for it at every start."""

from __future__ import annotations

import os
from pathlib import Path

from patchctl.errors import InvalidInput, Problem

FILE_NAME = "series.yaml"


def find(start: Path) -> Path:
    """The nearest folder at or above ``start`` that holds series.yaml. Raises InvalidInput if there is none."""
    # abspath, not resolve: somebody who came here by a link looks for the project along that way.
    here = Path(os.path.abspath(start))  # noqa: PTH100
    for folder in (here, *here.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise InvalidInput(
        Problem(
            "no-project",
            f"There is no {FILE_NAME} in {here} or above it.",
            next="patchctl init DIR --upstream-git URL --target TAG",
        )
    )
