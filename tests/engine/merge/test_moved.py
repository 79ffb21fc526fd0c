"""What became of files, folders and definitions between two trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchctl.engine.merge.align import Edit
from patchctl.engine.merge.moved import Moves, portion
from patchctl.engine.model import FileState


def body(name: str, count: int = 30) -> bytes:
    return b"".join(
        b"    %s_%d = compute_%s(%d, scale=%d)\n" % (name.encode(), i, name.encode(), i, i * i) for i in range(count)
    )


def module(*names: str) -> bytes:
    return b"".join(b"def %s(x):\n%s    return x\n\n\n" % (name.encode(), body(name)) for name in names)


class Tree:
    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.read: list[str] = []

    def get(self, path: str) -> FileState | None:
        self.read.append(path)
        return FileState(self.files[path]) if path in self.files else None

    def names(self) -> Sequence[str]:
        return sorted(self.files)


REST = {f"pkg/other_{number}.py": module(f"other{number}") for number in range(40)}
OLD = module("alpha", "beta")


def moves(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> tuple[Moves, Tree]:
    onto = Tree({**REST, **new})
    return Moves(Tree({**REST, **old}), onto), onto


def test_a_file_that_was_renamed_is_read_first() -> None:
    fresh = {f"new/{number}.py": module(f"fresh{number}") for number in range(200)}
    changed = OLD.replace(b"scale=4)", b"factor=4)")
    found, onto = moves({"pkg/symm_mem.py": OLD}, {"pkg/torch_symm_mem.py": changed, **fresh})
    (moved,) = found.file("pkg/symm_mem.py", OLD)
    assert moved.path == "pkg/torch_symm_mem.py"
    assert moved.score > 0.9
    assert onto.read == ["pkg/torch_symm_mem.py"]


def test_a_module_that_became_a_package() -> None:
    found, _ = moves(
        {"pkg/utils.py": OLD}, {"pkg/utils/common.py": OLD + module("gamma"), "pkg/utils/__init__.py": b""}
    )
    (moved,) = found.file("pkg/utils.py", OLD)
    assert moved.path == "pkg/utils/common.py"


def test_a_file_with_another_name_altogether() -> None:
    found, _ = moves({"pkg/a.py": OLD}, {"lib/z.py": OLD})
    assert [moved.path for moved in found.file("pkg/a.py", OLD)] == ["lib/z.py"]


def test_a_file_that_was_put_into_another() -> None:
    found, _ = moves({"pkg/a.py": OLD}, {"pkg/other_1.py": REST["pkg/other_1.py"] + OLD})
    (moved,) = found.file("pkg/a.py", OLD)
    assert moved.path == "pkg/other_1.py"
    assert moved.into


def test_two_copies_are_no_answer() -> None:
    found, _ = moves({"pkg/a.py": OLD}, {"one/a.py": OLD, "two/a.py": OLD})
    assert len(found.file("pkg/a.py", OLD)) == 2


def test_a_deleted_file_has_gone_nowhere() -> None:
    found, _ = moves({"pkg/worker.py": OLD}, {"pkg/worker_v2.py": module("gamma", "delta")})
    assert found.file("pkg/worker.py", OLD) == []


def test_a_split_file_by_its_definitions() -> None:
    new = {"pkg/parts/one.py": module("alpha"), "pkg/other_3.py": REST["pkg/other_3.py"] + module("beta")}
    found, _ = moves({"pkg/a.py": OLD}, new)
    lines = OLD.split(b"\n")
    at = [
        lines.index(b"    alpha_3 = compute_alpha(3, scale=9)"),
        lines.index(b"    beta_3 = compute_beta(3, scale=9)"),
    ]
    one, two = found.homes("pkg/a.py", OLD, [(line, line + 1) for line in at])
    assert one is not None
    assert (one.path, one.into) == ("pkg/parts/one.py", False)
    assert two is not None
    assert (two.path, two.into) == ("pkg/other_3.py", True)


def test_a_name_alone_is_no_home() -> None:
    found, _ = moves({"pkg/a.py": OLD}, {"pkg/b.py": b"def alpha(x):\n    return None\n"})
    assert found.homes("pkg/a.py", OLD, [(1, 2)]) == [None]


def test_a_folder_that_everything_has_left() -> None:
    old = {f"pkg/configs/{name}.json": module(name) for name in "abcd"}
    new = {f"pkg/runner/configs/{name}.json": module(name) for name in "abcd"}
    assert moves(old, new)[0].folder("pkg/configs/mine.json") == "pkg/runner/configs"
    assert moves(old, {**new, "pkg/configs/d.json": b"{}"})[0].folder("pkg/configs/mine.json") is None
    assert moves(old, {})[0].folder("pkg/configs/mine.json") is None  # deleted
    assert moves(old, new)[0].folder("pkg/fresh/mine.json") is None


def test_the_part_of_a_patch_that_goes_into_one_file() -> None:
    base, patched = b"a\nb\nc\n", b"A\nb\nC\nd\n"
    assert portion(base, patched, [Edit(2, 3, 2, 4)]) == b"a\nb\nC\nd\n"
    assert portion(base, patched, []) == base


def test_a_new_folder_below_one_that_everything_has_left() -> None:
    old = {f"pkg/configs/v1/{name}.json": module(name) for name in "abcd"}
    new = {f"pkg/runner/configs/v1/{name}.json": module(name) for name in "abcd"}
    assert moves(old, new)[0].folder("pkg/configs/v2/mine.json") == "pkg/runner/configs"
    assert moves(old, {**new, "pkg/configs/v1/d.json": b"{}"})[0].folder("pkg/configs/v2/mine.json") is None
    assert moves({}, {})[0].folder("pkg/new/mine.json") is None
    assert moves({}, {})[0].folder("mine.json") is None
