"""What a caller may settle for :func:`patchctl.engine.port.port`, and how patches of a series meet each other."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from patchctl.engine import reader
from patchctl.engine.merge.diff import script
from patchctl.engine.model import FileState, Patch
from patchctl.engine.options import Script
from patchctl.engine.outcome import PatchReport
from patchctl.engine.port import Decision, Names, Options, port

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


class Dict:
    """A tree of texts that counts how often its names were asked for."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {path: FileState(text.encode()) for path, text in files.items()}
        self.listed = 0

    def get(self, path: str) -> FileState | None:
        return self.files.get(path)

    def below(self, path: str) -> Sequence[str]:
        return [name for name in self.files if name.startswith(f"{path}/")]

    def names(self) -> Sequence[str]:
        self.listed += 1
        return list(self.files)


class Workshop:
    """Makes patches with git, each on top of the one before."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self._git("init", "-q")
        self.files: dict[str, str] = {}
        self.count = 0
        self.patch(files)
        self.base = Dict(files)
        self.count = 0

    def _git(self, *args: str) -> bytes:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *identity, *args], cwd=self.root, capture_output=True, check=True).stdout

    def patch(self, files: Mapping[str, str], gone: Sequence[str] = ()) -> Patch:
        """A patch ``p1``, ``p2``… that makes ``files`` what they are to be."""
        for path in gone:
            (self.root / path).unlink()
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "x")
        self.count += 1
        diff = self._git("show", "--format=", "-M", "HEAD")
        return reader.read(diff, f"p{self.count}")[0]


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, {"n.txt": TEXT, "other.txt": "a\n"})


def outcomes(reports: Sequence[PatchReport]) -> list[str]:
    return [report.outcome for report in reports]


def text(reports: Sequence[PatchReport], path: str) -> str:
    """What stands at ``path`` after all of the patches."""
    for report in reversed(reports):
        if path in report.changes:
            state = report.changes[path].state
            assert state is not None
            return state.data.decode()
    raise AssertionError(f"{path} is untouched")


ONTO = TEXT.replace("line 5\n", "line five\n")


def test_a_decided_patch_is_not_tried_and_holds_nobody_up(shop: Workshop) -> None:
    first = TEXT.replace("line 5\n", "line V\n")
    patches = [shop.patch({"n.txt": first}), shop.patch({"n.txt": first.replace("line 15\n", "line XV\n")})]
    onto = Dict({"n.txt": ONTO, "other.txt": "a\n"})
    assert outcomes(port(patches, onto, shop.base)) == ["conflict", "waiting"]
    settled = ONTO.replace("line five\n", "line five or V\n")
    decided = {"p1": Decision("resolved", {"n.txt": FileState(settled.encode())})}
    done = port(patches, onto, shop.base, options=Options(decided=decided))
    assert outcomes(done) == ["resolved", "unchanged"]
    assert text(done, "n.txt") == settled.replace("line 15\n", "line XV\n")


def test_what_builds_on_a_dropped_patch_is_tried_without_it(shop: Workshop) -> None:
    first = TEXT.replace("line 5\n", "line V\n")
    apart = first.replace("line 15\n", "line XV\n")
    patches = [shop.patch({"n.txt": first}), shop.patch({"n.txt": apart}), shop.patch({"n.txt": apart + "end\n"})]
    patches.append(shop.patch({"n.txt": (apart + "end\n").replace("line V\n", "line V!\n")}))
    onto = Dict({"n.txt": ONTO, "other.txt": "a\n"})
    done = port(patches, onto, shop.base, options=Options(decided={"p1": Decision("dropped")}))
    assert outcomes(done) == ["dropped", "unchanged", "unchanged", "conflict"]
    assert text(done, "n.txt") == ONTO.replace("line 15\n", "line XV\n") + "end\n"


def test_labels_name_both_releases_and_the_patch(shop: Workshop) -> None:
    patch = shop.patch({"n.txt": TEXT.replace("line 5\n", "line V\n")})
    names = Options(labels=Names("v2", "v1"))
    (report,) = port([patch], Dict({"n.txt": ONTO}), shop.base, options=names)
    state = report.proposals["n.txt"].state
    assert state is not None
    assert b"<<<<<<< v2\nline five\n||||||| v1\nline 5\n=======\nline V\n>>>>>>> p1\n" in state.data


def test_a_rule_that_is_off_is_not_asked(shop: Workshop) -> None:
    patch = shop.patch({"n.txt": TEXT.replace("line 5\n", "line 5\nadded here\n")})
    onto = Dict({"n.txt": TEXT.replace("line 5\n", "line 55\n")})
    assert outcomes(port([patch], onto, shop.base)) == ["merged"]
    off = Options(off=frozenset({"edited-neighbours"}))
    assert outcomes(port([patch], onto, shop.base, options=off)) == ["conflict"]


def test_a_finding_that_a_person_has_overruled(tmp_path: Path) -> None:
    code = "import os\n\n\ndef f():\n    a = 1\n    b = 2\n    c = 3\n    return os.name\n"
    shop = Workshop(tmp_path, {"m.py": code})
    patch = shop.patch({"m.py": code.replace("b = 2", "b = os.getcwd()")})
    onto = Dict({"m.py": code.replace("import os\n\n\n", "").replace("os.name", "None")})
    assert outcomes(port([patch], onto, shop.base)) == ["conflict"]
    accepted = Options(accepted={"p1": frozenset({"name-gone"})})
    (report,) = port([patch], onto, shop.base, options=accepted)
    assert report.outcome == "merged"
    assert [note.kind for note in report.review] == ["name-gone"]


def test_the_callers_edit_scripts_are_taken(shop: Workshop) -> None:
    asked = []

    def scripts(old: FileState, new: FileState) -> Script:
        asked.append((old, new))
        return script(old.data.splitlines(keepends=True), new.data.splitlines(keepends=True))

    patch = shop.patch({"n.txt": TEXT.replace("line 15\n", "line XV\n")})
    done = port([patch], Dict({"n.txt": ONTO}), shop.base, options=Options(scripts=scripts))
    assert outcomes(done) == ["unchanged"]
    assert len(asked) == 2
    assert outcomes(port([patch], Dict({"n.txt": ONTO}), shop.base, options=Options(scripts=lambda *_: None))) == [
        "unchanged"
    ]


def test_no_tree_is_listed_while_every_file_is_where_it_was(shop: Workshop) -> None:
    patch = shop.patch({"n.txt": TEXT.replace("line 15\n", "line XV\n")})
    onto = Dict({"n.txt": ONTO})
    assert outcomes(port([patch], onto, shop.base)) == ["unchanged"]
    assert (onto.listed, shop.base.listed) == (0, 0)


CODE = (
    "import os\n\n\ndef load_table(path):\n    with open(path) as stream:\n        return stream.read()\n\n\n"
    "def parse_rows(text):\n    rows = text.split(';')\n    return [row for row in rows if row]\n\n\n"
    "def all_names(root):\n    return sorted(os.listdir(root))\n"
)


def test_a_file_is_followed_through_a_series(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, {"old/load.py": CODE})
    first = CODE.replace("';'", "','")
    second = first.replace("sorted(", "reversed(")
    patches = [
        shop.patch({"old/load.py": first}),
        shop.patch({"old/reader.py": second}, ["old/load.py"]),
        shop.patch({"old/reader.py": second + "\n\nLAST = 1\n"}),
    ]
    done = port(patches, Dict({"new/load.py": "# moved\n" + CODE}), shop.base)
    assert outcomes(done) == ["relocated", "relocated", "relocated"]
    assert [[file.onto for file in report.files] for report in done] == [
        ["new/load.py"],
        ["new/reader.py"],
        ["new/reader.py"],
    ]
    assert text(done, "new/reader.py") == "# moved\n" + second + "\n\nLAST = 1\n"
    gone = done[1].changes["new/load.py"]
    assert gone.state is None


def test_a_creation_in_a_folder_that_moved_can_be_accepted(tmp_path: Path) -> None:
    config = '{"some": "longer text that says something", "and": [1, 2, 3, 4]}\n' * 5
    shop = Workshop(tmp_path, {"conf/a.json": config})
    patch = shop.patch({"conf/b.json": '{"new": 1}\n'})
    onto = Dict({"settings/a.json": config})
    (report,) = port([patch], onto, shop.base)
    assert (report.outcome, [note.kind for note in report.review]) == ("conflict", ["folder-moved"])
    assert report.problems[0].kind == "folder-moved"
    assert "conf/b.json" in report.proposals
    (report,) = port([patch], onto, shop.base, options=Options(accepted={"p1": frozenset({"folder-moved"})}))
    assert (report.outcome, [note.kind for note in report.review]) == ("unchanged", ["folder-moved"])
