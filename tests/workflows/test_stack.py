"""The stack alone, without a place: what is live, the way back to the pristine bytes, and on again."""

from __future__ import annotations

import base64
import hashlib
import zlib

import pytest

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState, blob_id
from patchctl.errors import DecisionNeeded, Problem, Refused
from patchctl.series.receipt import Receipt, Stamp, TouchedFile
from patchctl.target.place import Step
from patchctl.workflows.motion import irreversible, put_on, take_back
from patchctl.workflows.stack import Chain, Layer, Stack, read_states, stamp

A, B, C, D = (Stamp(letter * 40, "100644") for letter in "abcd")


def state(text: str | None, mode: int = REGULAR) -> FileState | None:
    return None if text is None else FileState(text.encode(), mode)


def section(path: str, before: str | None, after: str | None) -> str:
    """A diff that replaces all of a file's lines."""
    old, new = (text.splitlines() if text else [] for text in (before, after))
    head = f"diff --git a/{path} b/{path}\n"
    head += "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
    names = (
        f"--- {'/dev/null' if before is None else f'a/{path}'}\n+++ {'/dev/null' if after is None else f'b/{path}'}\n"
    )
    at = [f"{1 if lines else 0},{len(lines)}" for lines in (old, new)]
    body = "".join(f"-{line}\n" for line in old) + "".join(f"+{line}\n" for line in new)
    return head + names + f"@@ -{at[0]} +{at[1]} @@\n{body}"


def layer(id: str, diff: str, **files: tuple[FileState | None, FileState | None]) -> Layer:
    """``files`` are by name without ``.py``: the states before and after."""
    data = diff.encode()
    touched = tuple(TouchedFile(f"{name}.py", stamp(before), stamp(after)) for name, (before, after) in files.items())
    return Layer(id, hashlib.sha256(data).hexdigest(), touched, data)


def edit(id: str, name: str, before: str | None, after: str | None) -> Layer:
    return layer(id, section(f"{name}.py", before, after), **{name: (state(before), state(after))})


RENAME = "diff --git a/old.py b/new.py\nsimilarity index 60%\nrename from old.py\nrename to new.py\n"
RENAMED = layer(
    "rename",
    RENAME + "--- a/old.py\n+++ b/new.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    old=(state("one\ntwo\n"), None),
    new=(None, state("one\n2\n")),
)
COPIED = layer(
    "copy",
    "diff --git a/old.py b/copy.py\nsimilarity index 60%\ncopy from old.py\ncopy to copy.py\n"
    "--- a/old.py\n+++ b/copy.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    copy=(None, state("one\n2\n")),
)


def one_way(before: bytes, after: bytes) -> str:
    """A binary change without the half that git needs to take it back."""
    packed = zlib.compress(after)
    line = chr(64 + len(packed)) + base64.b85encode(packed, pad=True).decode()
    index = f"index {blob_id(before)}..{blob_id(after)} 100644\n"
    return f"diff --git a/x.py b/x.py\n{index}GIT binary patch\nliteral {len(after)}\n{line}\n\n"


def located(stack: Stack, **found: FileState | None) -> dict[str, int]:
    places = {f"{name}.py": stack.chains[f"{name}.py"].locate(stamp(there)) for name, there in found.items()}
    assert None not in places.values()
    return {path: at for path, at in places.items() if at is not None}


class TestChain:
    def test_every_recorded_state_is_known(self) -> None:
        chain = Chain((A, B, C), (0, 1))
        assert [chain.locate(found) for found in (A, B, C)] == [0, 1, 2]
        assert chain.locate(D) is None and chain.locate(None) is None

    def test_a_mode_is_part_of_the_state(self) -> None:
        assert Chain((A, B), (0,)).locate(Stamp(B.blob, "100755")) is None

    def test_no_file_is_a_state(self) -> None:
        assert Chain((None, A, None), (0, 1)).locate(None) == 2
        assert Chain((A, None), (0,)).locate(None) == 1

    def test_a_series_that_comes_back_counts_as_whole(self) -> None:
        """Made and reverted: the pristine state is also the final one."""
        assert Chain((A, B, A), (0, 1)).locate(A) == 2
        assert Chain((A, B, A, C), (0, 1, 2)).locate(A) == 0

    def test_executable_bits_as_recorded(self) -> None:
        there = FileState(b"x", REGULAR)
        chain = Chain((Stamp(there.blob, "100755"), A), (0,))
        assert chain.as_recorded(there) == FileState(b"x", EXECUTABLE)
        assert chain.as_recorded(None) is None
        assert chain.as_recorded(FileState(b"y")) == FileState(b"y")
        assert chain.as_recorded(FileState(b"x", LINK)) == FileState(b"x", LINK)

    def test_mode_changes(self) -> None:
        assert Chain((A, Stamp(A.blob, "100755")), (0,)).changes_mode()
        assert not Chain((A, B), (0,)).changes_mode() and not Chain((None, B), (0,)).changes_mode()


class TestLive:
    def test_each_layer_of_a_file(self) -> None:
        stack = Stack([edit("one", "f", "a\n", "b\n"), edit("two", "f", "b\n", "c\n")])
        for text, live in (("a\n", (False, False)), ("b\n", (True, False)), ("c\n", (True, True))):
            at = located(stack, f=state(text))
            assert (stack.live(at, 0), stack.live(at, 1)) == ({"f.py": live[0]}, {"f.py": live[1]})

    def test_unknown(self) -> None:
        stack = Stack([edit("one", "f", "a\n", "b\n")])
        assert stack.live({"f.py": None}, 0) == {"f.py": None}


class TestOrder:
    def test_a_lock_that_does_not_follow_the_series(self) -> None:
        with pytest.raises(DecisionNeeded) as caught:
            Stack([edit("two", "f", "b\n", "c\n"), edit("one", "f", "a\n", "b\n")])
        (problem,) = caught.value.problems
        assert (problem.kind, problem.patch, problem.file) == ("stale-lock", "one", "f.py")


class TestTakeBack:
    def test_from_every_state(self) -> None:
        stack = Stack([edit("one", "f", "a\n", "b\n"), edit("two", "f", "b\n", "c\n")])
        for text in ("a\n", "b\n", "c\n"):
            found = {"f.py": state(text)}
            assert take_back(stack, found, located(stack, f=state(text))) == {"f.py": state("a\n")}

    def test_files_that_have_come_to_different_points(self) -> None:
        both = layer(
            "both",
            section("f.py", "a\n", "b\n") + section("g.py", "x\n", "y\n"),
            f=(state("a\n"), state("b\n")),
            g=(state("x\n"), state("y\n")),
        )
        stack = Stack([both])
        found = {"f.py": state("b\n"), "g.py": state("x\n")}
        assert take_back(stack, found, {"f.py": 1, "g.py": 0}) == {"f.py": state("a\n"), "g.py": state("x\n")}

    def test_created_and_deleted(self) -> None:
        stack = Stack([edit("make", "f", None, "a\n"), edit("drop", "f", "a\n", None), edit("gone", "g", "x\n", None)])
        done = take_back(stack, {"f.py": None, "g.py": None}, located(stack, f=None, g=None))
        assert done == {"f.py": None, "g.py": state("x\n")}

    def test_a_rename(self) -> None:
        stack = Stack([RENAMED, edit("more", "new", "one\n2\n", "one\n3\n")])
        found = {"old.py": None, "new.py": state("one\n3\n")}
        done = take_back(stack, found, located(stack, old=None, new=state("one\n3\n")))
        assert done == {"old.py": state("one\ntwo\n"), "new.py": None}

    def test_half_a_rename(self) -> None:
        stack = Stack([RENAMED])
        with pytest.raises(Refused) as caught:
            take_back(stack, {"old.py": state("one\ntwo\n"), "new.py": state("one\n2\n")}, {"old.py": 0, "new.py": 1})
        assert caught.value.problems[0].kind == "half-live"

    def test_a_copy_goes_away_whole(self) -> None:
        stack = Stack([COPIED])
        assert take_back(stack, {"copy.py": state("one\n2\n")}, {"copy.py": 1}) == {"copy.py": None}

    def test_a_chain_that_ends_where_it_began(self) -> None:
        stack = Stack([edit("do", "f", "a\n", "b\n"), edit("undo", "f", "b\n", "a\n")])
        assert take_back(stack, {"f.py": state("a\n")}, located(stack, f=state("a\n"))) == {"f.py": state("a\n")}

    def test_binary_without_its_reverse_half(self) -> None:
        stack = Stack([layer("bin", one_way(b"y", b"\0"), x=(state("y"), state("\0")))])
        assert put_on(stack, {"x.py": state("y")}) == {"x.py": state("\0")}
        (problem,) = irreversible(stack)
        assert (problem.kind, problem.patch, problem.file) == ("irreversible", "bin", "x.py")
        with pytest.raises(Refused) as caught:
            take_back(stack, {"x.py": state("\0")}, {"x.py": 1})
        assert caught.value.problems[0].kind == "irreversible"

    def test_what_does_not_come_out_as_recorded(self) -> None:
        wrong = layer("one", section("f.py", "a\n", "b\n"), f=(state("other\n"), state("b\n")))
        with pytest.raises(Refused) as caught:
            take_back(Stack([wrong]), {"f.py": state("b\n")}, {"f.py": 1})
        assert (caught.value.problems[0].kind, caught.value.problems[0].file) == ("integrity", "f.py")


class TestPutOn:
    def test_each_step(self) -> None:
        stack = Stack([edit("one", "f", "a\n", "b\n"), RENAMED, edit("two", "f", "b\n", "c\n")])
        steps: list[Step] = []
        put_on(stack, {"f.py": state("a\n"), "old.py": state("one\ntwo\n"), "new.py": None}, steps.append)
        assert [step.files for step in steps] == [
            {"f.py": state("b\n")},
            {"old.py": None, "new.py": state("one\n2\n")},
            {"f.py": state("c\n")},
        ]

    def test_all_misfits_are_listed_but_not_what_follows_from_them(self) -> None:
        good = edit("good", "g", "x\n", "y\n")
        misfit = layer("bad", section("f.py", "else\n", "b\n"), f=(state("a\n"), state("b\n")))
        other = layer("worse", section("h.py", "else\n", "b\n"), h=(state("a\n"), state("b\n")))
        stack = Stack([misfit, good, edit("after", "f", "b\n", "c\n"), other])
        with pytest.raises(DecisionNeeded) as caught:
            put_on(stack, {"f.py": state("a\n"), "g.py": state("x\n"), "h.py": state("a\n")})
        assert [(problem.patch, problem.kind) for problem in caught.value.problems] == [
            ("bad", "inexact"),
            ("worse", "inexact"),
        ]

    def test_the_gravest_fault_decides(self) -> None:
        misfit = layer("bad", section("f.py", "else\n", "b\n"), f=(state("a\n"), state("b\n")))
        lying = layer("lying", section("g.py", "x\n", "y\n"), g=(state("x\n"), state("z\n")))
        with pytest.raises(Refused) as caught:
            put_on(Stack([misfit, lying]), {"f.py": state("a\n"), "g.py": state("x\n")})
        assert [problem.kind for problem in caught.value.problems] == ["integrity", "inexact"]

    def test_a_file_that_the_lock_does_not_name(self) -> None:
        sneaky = layer(
            "sneaky", section("f.py", "a\n", "b\n") + section("g.py", None, "z\n"), f=(state("a\n"), state("b\n"))
        )
        with pytest.raises(Refused) as caught:
            put_on(Stack([sneaky]), {"f.py": state("a\n")})
        assert [(problem.kind, problem.file) for problem in caught.value.problems] == [("integrity", "g.py")]

    def test_an_unsafe_patch(self) -> None:
        evil = layer("evil", section("../f.py", None, "z\n"), f=(None, state("z\n")))
        with pytest.raises(Refused):
            put_on(Stack([evil]), {"f.py": None})

    def test_a_mailbox_is_no_layer(self) -> None:
        mail = "From 1 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] x\n\n---\n"
        two = mail + section("f.py", "a\n", "b\n") + "-- \n2\n\n" + mail + section("f.py", "b\n", "c\n")
        with pytest.raises(Refused) as caught:
            put_on(Stack([layer("two", two, f=(state("a\n"), state("c\n")))]), {"f.py": state("a\n")})
        assert caught.value.problems[0].kind == "mailbox"


def test_a_receipt_gives_the_same_stack() -> None:
    layers = [edit("one", "f", "a\n", "b\n"), RENAMED]
    stack = Stack(layers)
    found = Stack.of_receipt(Receipt("u", "v1", "tree", "0", "t", "3", stack.applied()))
    assert list(found.layers) == layers and found.chains == stack.chains
    odd = Layer("odd", "0", (), b"\xff not utf-8\r\n")
    assert (
        Stack.of_receipt(Receipt("u", "v1", "tree", "0", "t", "3", Stack([odd]).applied())).layers[0].data == odd.data
    )


def test_all_that_can_not_be_read_is_told_at_once() -> None:
    def read(path: str) -> FileState | None:
        if path != "good":
            raise Refused(Problem("link", path, file=path))
        return state("x")

    states, problems = read_states(["bad", "good", "worse"], read)
    assert states == {"good": state("x")} and [problem.file for problem in problems] == ["bad", "worse"]


class TestFolders:
    LINK = layer(
        "link",
        "diff --git a/up.py b/up.py\nnew file mode 120000\n--- /dev/null\n+++ b/up.py\n@@ -0,0 +1 @@\n+a\n"
        "\\ No newline at end of file\n",
        up=(None, FileState(b"a", LINK)),
    )

    def test_a_file_below_a_link_that_a_patch_made(self) -> None:
        inside = Layer(
            "inside",
            "0",
            (TouchedFile("up.py/x", None, stamp(state("x\n"))),),
            section("up.py/x", None, "x\n").encode(),
        )
        with pytest.raises(Refused) as caught:
            put_on(Stack([self.LINK, inside]), {"up.py": None, "up.py/x": None})
        assert ("inside", "up.py/x") in [(problem.patch, problem.file) for problem in caught.value.problems]

    def test_a_file_that_gives_way_to_a_folder(self) -> None:
        files = (TouchedFile("f.py/x", None, stamp(state("x\n"))),)
        inside = Layer("inside", "0", files, section("f.py/x", None, "x\n").encode())
        stack = Stack([edit("gone", "f", "a\n", None), inside])
        assert put_on(stack, {"f.py": state("a\n"), "f.py/x": None}) == {"f.py": None, "f.py/x": state("x\n")}
        with pytest.raises(Refused):
            put_on(Stack([inside, edit("other", "f", "a\n", "b\n")]), {"f.py": state("a\n"), "f.py/x": None})
