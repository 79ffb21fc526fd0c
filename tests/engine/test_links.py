"""Where links lead, through the links that a tree has already."""

from __future__ import annotations

import pytest

from patchctl.engine import links
from patchctl.engine.state import LINK, FileState
from patchctl.errors import Refused


def tree(**targets: str) -> dict[str, FileState]:
    """Links by name, with ``__`` for the slashes in it."""
    return {name.replace("__", "/"): FileState(target.encode(), LINK) for name, target in targets.items()}


@pytest.mark.parametrize(
    "files",
    [
        tree(new="ven/passwd", ven="/etc"),
        tree(new="ven", ven="../outside"),
        tree(new="one", one="two/x", two="sub/three", sub__three="../../.."),
        tree(a__new="../ven/x", ven="a/up", a__up="../.."),
    ],
)
def test_a_link_that_leads_out_through_another(files: dict[str, FileState]) -> None:
    path = next(name for name in files if name.endswith("new"))
    with pytest.raises(Refused) as caught:
        links.check([path], files.get, "mine")
    (problem,) = caught.value.problems
    assert (problem.kind, problem.patch, problem.file) == ("unsafe-link", "mine", path)


@pytest.mark.parametrize(
    "files",
    [
        tree(new="lib.so.1", **{"lib.so.1": "lib.so.1.2"}),
        tree(a__b__new="../../ven/x", ven="a"),
        tree(a__new="up/a/x", a__up=".."),
        tree(new="new"),
        tree(new="nowhere/at/all"),
    ],
)
def test_a_link_that_stays(files: dict[str, FileState]) -> None:
    links.check([name for name in files if name.endswith("new")], files.get)
