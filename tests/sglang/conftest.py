"""The patched engine, for the tests that read or run its text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_source import Engine, apply


@pytest.fixture(scope="session")
def engine_of(tmp_path_factory: pytest.TempPathFactory):
    """tag -> Engine. ``PATCHCTL_SGLANG_CHECKOUTS``, a folder of patched checkouts named by tag, spares the fetch."""
    made: dict[str, Engine] = {}

    def engine(tag: str) -> Engine:
        if tag not in made:
            given = os.environ.get("PATCHCTL_SGLANG_CHECKOUTS")
            root = Path(given) / tag if given else apply(tag, tmp_path_factory.mktemp("sglang"))
            made[tag] = Engine(tag, root)
        return made[tag]

    return engine


@pytest.fixture
def engine(engine_of) -> Engine:
    return engine_of("v0.5.9")


@pytest.fixture(params=["v0.5.9", "v0.5.10"])
def carried(request: pytest.FixtureRequest, engine_of) -> Engine:
    """The releases that carry what is tested: the one that the patches were made for, and where they were moved."""
    engine: Engine = engine_of(request.param)
    return engine
