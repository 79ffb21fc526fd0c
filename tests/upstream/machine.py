"""A machine of one's own for each test: an empty cache, and no settings of pip's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def machine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache. Tests that need the real index keep pip's settings."""
    if request.node.get_closest_marker("network") is None:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PATCHCTL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
