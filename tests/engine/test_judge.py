"""The guards over a resolution: what a person may have overlooked, and what is theirs to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from patchctl.engine.judge import REVIEWED, Sides, check, markers, resolutions
from patchctl.engine.model import FileState

BASE = b"import os\n\n\nclass A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
PATCHED = BASE.replace(b"return 1", b"return os.getcwd() or 1")
ONTO = BASE.replace(b"return 1", b"return 10").replace(b"return 2", b"return 20")
GOOD = ONTO.replace(b"return 10", b"return os.getcwd() or 10")


class Tree:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def get(self, path: str) -> FileState | None:
        return FileState(self.files[path]) if path in self.files else None

    def names(self) -> Sequence[str]:
        return sorted(self.files)

    def below(self, path: str) -> Sequence[str]:
        return [name for name in sorted(self.files) if name.startswith(f"{path}/")]


def state(data: bytes | None) -> FileState | None:
    return FileState(data) if data is not None else None


def judged(result: bytes | None, *, base: bytes = BASE, patched: bytes = PATCHED, onto: bytes = ONTO) -> list[str]:
    sides = Sides("m.py", state(base), state(patched), state(onto), state(result))
    found = check([sides], onto=Tree({"m.py": onto}), base=Tree({"m.py": base}))
    assert all(item.file == "m.py" for item in found)
    return [item.kind for item in found]


def test_an_honest_resolution() -> None:
    assert judged(GOOD) == []
    assert judged(ONTO) == []  # the patch's side was left out: a person may
    assert judged(None) == []  # deleted


def test_markers_that_are_left() -> None:
    text = ONTO.replace(
        b"        return 10\n", b"<<<<<<< v2\n        return 10\n=======\n        return 1\n>>>>>>> p\n"
    )
    assert judged(text) == ["markers"]
    assert markers(b"Title\n=======\n\n<<<<<<<\n") == [4]


def test_markers_that_the_file_is_about() -> None:
    about = BASE + b'TEXT = """\n<<<<<<< ours\n>>>>>>> theirs\n"""\n'
    assert judged(about + b"x = 1\n", base=about, patched=about, onto=about) == []


def test_what_does_not_parse() -> None:
    assert judged(GOOD + b"(\n") == ["syntax"]


def test_what_stands_twice() -> None:
    assert judged(GOOD + b"\n    def f(self):\n        return 1\n") == ["defined-twice"]


def test_a_name_that_is_gone_here_or_elsewhere() -> None:
    assert judged(GOOD.replace(b"import os\n", b"")) == ["name-gone"]
    mine = b"from pkg.caps import ok\n"
    sides = Sides("pkg/m.py", state(b""), state(mine), state(b"x = 1\n"), state(mine + b"x = 1\n"))
    base = Tree({"pkg/caps.py": b"ok = 1\n", "pkg/m.py": b""})
    onto = Tree({"pkg/caps.py": b"fine = 1\n", "pkg/m.py": b"x = 1\n"})
    (item,) = check([sides], onto=onto, base=base)
    assert item.kind == "name-gone"
    assert "caps" in item.text
    assert check([sides], onto=onto, base=None) == ()
    caps = Sides("pkg/caps.py", state(b"ok = 1\n"), state(b"ok = 2\n"), state(b"fine = 1\n"), state(b"ok = 2\n"))
    assert check([sides, caps], onto=onto, base=base) == ()  # the same resolution brings it back


def test_a_line_in_another_function() -> None:
    wrong = ONTO.replace(b"return 20", b"return os.getcwd() or 1")
    assert judged(wrong) == ["scope"]


@pytest.mark.parametrize(
    "onto",
    [
        ONTO.replace(b"class A", b"class B"),  # the scope was renamed
        ONTO.replace(b"    def f(self):\n        return 10\n\n", b"").replace(b"def g", b"def h"),
    ],
)
def test_a_line_whose_scope_has_gone_may_stand_elsewhere(onto: bytes) -> None:
    result = onto.replace(b"return 10", b"return os.getcwd() or 1").replace(b"return 20", b"return os.getcwd() or 1")
    assert "scope" not in judged(result, onto=onto)


def test_what_upstream_has_by_itself() -> None:
    added = b"\n    def h(self):\n        return 3\n"
    theirs = b"\n    def h(self):\n        return 30\n"
    kept = judged(ONTO + theirs, patched=BASE + added, onto=ONTO + theirs)
    assert kept == []
    overwritten = judged(ONTO + added, patched=BASE + added, onto=ONTO + theirs)
    assert overwritten == ["superseded"]


def test_a_new_file_in_a_folder_that_everything_has_left() -> None:
    texts = {
        f"{name}.json": b'{"block": 64, "name": "%s", "warps": 8, "stages": 3}\n' % name.encode() for name in "abc"
    }
    base = Tree({f"old/{name}": data for name, data in texts.items()})
    onto = Tree({f"new/deep/{name}": data for name, data in texts.items()})
    sides = Sides("old/mine.json", None, state(b"{}\n"), None, state(b"{}\n"))
    (item,) = check([sides], onto=onto, base=base)
    assert item.kind == "folder-moved"
    assert "new/deep" in item.text
    still = Tree({**onto.files, "old/c.json": texts["c.json"]})
    assert check([sides], onto=still, base=base) == ()


def test_a_file_that_this_python_cannot_parse() -> None:
    old = b"print 'a'\n" + BASE
    kinds = judged(b"print 'a'\n" + GOOD, base=old, patched=b"print 'a'\n" + PATCHED, onto=b"print 'a'\n" + ONTO)
    assert kinds == ["unparsed"]
    assert set(kinds) <= REVIEWED


def test_resolutions_go_by_the_names_of_their_trees() -> None:
    one, two, three, four = (FileState(b"%d\n" % number) for number in range(4))
    (sides,) = resolutions({"new.py": one}, {"new.py": two}, {"old.py": three}, {"old.py": four}, {"new.py": "old.py"})
    assert sides == Sides("new.py", three, four, one, two, "old.py")


def test_what_upstreams_other_files_begin_to_import() -> None:
    base = Tree({"pkg/caps.py": b"ok = 1\nfine = 1\n"})
    onto = Tree({"pkg/caps.py": b"ok = 1\nfine = 1\nmore = 1\n", "pkg/user.py": b"from pkg.caps import ok\n"})
    mine, merged = state(b"fine = 1\n"), state(b"fine = 1\nmore = 1\n")
    sides = Sides("pkg/caps.py", base.get("pkg/caps.py"), mine, onto.get("pkg/caps.py"), merged)
    (item,) = check([sides], onto=onto, base=base)
    assert (item.kind, item.file) == ("name-gone", "pkg/user.py")
