"""Names that a patch takes from other files of the tree, and what is none of a guard's business."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from patchctl.engine.guards.imports import Import, Modules, gone, imports, orphans
from patchctl.engine.model import FileState


class Tree:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def get(self, path: str) -> FileState | None:
        data = self.files.get(path)
        return FileState(data) if data is not None else None


BASE = {
    "python/pkg/__init__.py": b"from .api import load\n",
    "python/pkg/api.py": b"def load(): ...\ndef save(): ...\n",
    "python/pkg/caps.py": b"def ok(): ...\nclass Old: ...\n",
    "python/pkg/sub/__init__.py": b"from pkg.sub.deep import *\n",
    "python/pkg/sub/deep.py": b"__all__ = ['seen']\ndef seen(): ...\ndef unseen(): ...\n",
}
ME = "python/pkg/models/mine.py"
TEXT = b"import os\n\nx = 1\n"


def found(added: bytes, changed: Mapping[str, bytes | None], path: str = ME) -> list[str]:
    """What is said about a patch that puts ``added`` on top of a file, onto the base tree with ``changed``."""
    onto = {name: data for name, data in {**BASE, **changed}.items() if data is not None}
    onto_text = TEXT + b"y = 2\n"
    texts = (TEXT, added + TEXT, onto_text, added + onto_text)
    lines = added.splitlines(keepends=True)
    return [item.text for item in gone(path, texts, lines, Modules(Tree(BASE)), Modules(Tree(onto)))]


@pytest.mark.parametrize(
    ("added", "changed"),
    [
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from ..caps import ok\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from pkg.caps import (\n    Old,\n    ok as fine,\n)\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from pkg.caps import Old, \\\n    ok\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": None}),
        (b"import pkg.caps\n", {"python/pkg/caps.py": None}),
        (b"from pkg import caps\n", {"python/pkg/caps.py": None}),
        (b"import pkg.caps as c\nx = c.ok()\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from pkg import caps\nx = caps.ok()\n", {"python/pkg/caps.py": b"class Old: ...\n"}),
        (b"from pkg import load\n", {"python/pkg/__init__.py": b""}),
        (b"from pkg.sub import seen\n", {"python/pkg/sub/deep.py": b"__all__ = ['unseen']\ndef unseen(): ...\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"def f():\n    ok = 1\n"}),
    ],
)
def test_a_name_that_is_gone_elsewhere(added: bytes, changed: dict[str, bytes | None]) -> None:
    (text,) = found(added, changed)
    assert "any more" in text or "no longer" in text


@pytest.mark.parametrize(
    ("added", "changed"),
    [
        (b"from pkg.caps import ok\n", {}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"if 1:\n    from elsewhere import ok\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": None, "python/pkg/caps/__init__.py": b"ok = 1\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"def __getattr__(name): ...\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"from elsewhere import *\n"}),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"globals()['ok'] = 1\n"}),
        (
            b"from pkg.caps import ok\n",
            {"python/pkg/caps.py": b"from .api import *\n", "python/pkg/api.py": b"ok = 1\n"},
        ),
        (b"from pkg.caps import ok\n", {"python/pkg/caps.py": b"this is no python\n"}),
        (b"from pkg.caps import never\n", {"python/pkg/caps.py": b""}),
        (b"from torch import ok\n", {}),
        (b"from pkg.sub import unseen\n", {"python/pkg/sub/deep.py": b""}),  # the star never brought it
        (b"from pkg import sub\n", {"python/pkg/sub/deep.py": b""}),
        (b"try:\n    from pkg.caps import ok\nexcept ImportError:\n    ok = None\n", {"python/pkg/caps.py": b""}),
        (b'"""\nfrom pkg.caps import ok\n"""\n', {"python/pkg/caps.py": b""}),
        (b"caps = f()\nx = caps.ok\n", {"python/pkg/caps.py": b""}),
    ],
)
def test_what_is_there_or_open(added: bytes, changed: dict[str, bytes | None]) -> None:
    assert found(added, changed) == []


def test_what_upstream_imports_itself_is_upstreams() -> None:
    line = b"from pkg.caps import ok\n"
    texts = (TEXT, line + TEXT, line + TEXT, line + TEXT)
    here = Modules(Tree({**BASE, "python/pkg/caps.py": b""}))
    assert gone(ME, texts, [line], Modules(Tree(BASE)), here) == []


def test_a_file_that_has_moved_looks_from_its_new_place() -> None:
    line = b"from .caps import ok\n"
    texts = (TEXT, line + TEXT, TEXT, line + TEXT)
    there, here = Modules(Tree(BASE)), Modules(Tree(BASE))
    (item,) = gone("python/pkg/sub/mine.py", texts, [line], there, here, "python/pkg/mine.py")
    assert "no longer in the tree" in item.text


def test_imports_are_read_by_lines() -> None:
    text = b"import a, b.c as d\n  from .x import (y, # why\n    z as w)\nfrom q import *\nimportant = 1\n"
    assert imports(text) == [
        Import("a", None, "a"),
        Import("b.c", None, "d"),
        Import(".x", "y", "y"),
        Import(".x", "z", "w"),
    ]


def left(changed: Mapping[str, bytes | None], after: bytes) -> list[str]:
    """What is said about a patch that makes ``after`` of the file with the capabilities."""
    onto = {name: data for name, data in {**BASE, **changed}.items() if data is not None}
    here = Modules(Tree({**onto, "python/pkg/caps.py": after}))
    removed = {"python/pkg/caps.py": onto["python/pkg/caps.py"]}
    return [item.file or "" for item in orphans(removed, Modules(Tree(BASE)), here, sorted(onto))]


def test_what_the_patch_takes_away_and_upstream_has_begun_to_import() -> None:
    fresh = {"python/pkg/fresh.py": b"from pkg.caps import ok\n"}
    assert left(fresh, b"class Old: ...\n") == ["python/pkg/fresh.py"]
    assert left(fresh, b"from elsewhere import ok\nclass Old: ...\n") == []
    assert left({"python/pkg/fresh.py": b"from pkg.caps import Old\n"}, b"class Old: ...\n") == []
    assert left({"python/pkg/fresh.py": b"from other.caps import ok\n"}, b"class Old: ...\n") == []
    assert left({}, BASE["python/pkg/caps.py"] + b"x = 1\n") == []


def test_an_import_that_the_base_had_too_is_the_patchs_own_affair() -> None:
    user = {"python/pkg/user.py": b"from pkg.caps import ok\n"}
    here = Modules(Tree({**BASE, **user, "python/pkg/caps.py": b""}))
    removed = {"python/pkg/caps.py": BASE["python/pkg/caps.py"]}
    assert orphans(removed, Modules(Tree({**BASE, **user})), here, sorted([*BASE, *user])) == []
