"""Transactions: all or nothing, whatever fails, and nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR, FileState
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.target import journal as journals
from patchctl.target import safeio, traces, transaction
from patchctl.target.faults import Faults
from patchctl.target.safeio import Root
from patchctl.target.transaction import Change


def state(text: str, mode: int = REGULAR) -> FileState:
    return FileState(text.encode(), mode)


BEFORE = {
    "pkg/a.py": state("a = 1\n"),
    "pkg/run.sh": state("#!/bin/sh\n", EXECUTABLE),
    "pkg/deep/er/gone.py": state("gone\n"),
    "pkg/sub/stays.py": state("stays\n"),
    "swap": state("a file\n"),
    "fold/inner": state("inner\n"),
    "link": state("pkg/a.py", LINK),
}
AFTER = {
    "pkg/a.py": state("a = 2\n"),
    "pkg/run.sh": state("#!/bin/sh\n", REGULAR),
    "pkg/sub/stays.py": state("stays\n"),
    "new/folder/b.py": state("b\n", EXECUTABLE),
    "swap/now/a/folder": state("inside\n"),
    "fold": state("a file now\n"),
    "link": state("pkg/run.sh", LINK),
    "link2": state("link", LINK),
}


def build(root: Path, files: dict[str, FileState]) -> None:
    for name, file in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if file.mode == LINK:
            path.symlink_to(os.fsdecode(file.data))
        else:
            path.write_bytes(file.data)
            path.chmod(0o755 if file.mode == EXECUTABLE else 0o644)


def picture(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything that stands below ``root``: inodes, times, modes, contents."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        found = path.lstat()
        name = str(path.relative_to(root))
        if stat.S_ISDIR(found.st_mode):
            seen[name] = ("folder", stat.S_IMODE(found.st_mode))
        else:
            data = str(path.readlink()) if path.is_symlink() else path.read_bytes()
            seen[name] = (found.st_ino, found.st_nlink, stat.S_IMODE(found.st_mode), found.st_mtime_ns, data)
    return seen


def without_inodes(seen: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    return {name: facts if facts[0] == "folder" else facts[2:] for name, facts in seen.items()}


def changes() -> list[Change]:
    names = sorted({*BEFORE, *AFTER})
    return [Change(name, BEFORE.get(name), AFTER.get(name)) for name in names]


def contents(root: Path) -> dict[str, FileState | None]:
    with Root.open(root) as opened:
        return {
            name: opened.read(name)
            for name in sorted(str(path.relative_to(root)) for path in root.rglob("*"))
            if opened.read(name) is not None
        }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    build(root, BEFORE)
    (root / "pkg/deep/er/gone.pyc").write_bytes(b"bytecode")
    (root / "pkg/deep").chmod(0o711)
    return root


def act(root: Path, spec: str = "", **kwargs: object) -> None:
    with Root.open(root, Faults(spec)) as opened:
        transaction.run(
            opened,
            root / ".state",
            [*changes(), Change("receipt.json", None, state("{}"), of_state=True)],
            discard=["pkg/deep/er/gone.pyc", "pkg/not-there.pyc"],
            **kwargs,  # type: ignore[arg-type]
        )


def back(root: Path, spec: str = "") -> None:
    with Root.open(root, Faults(spec)) as opened:
        transaction.recover(opened, root / ".state")


def points(root: Path, tmp_path: Path) -> int:
    act(root, f"count:{tmp_path / 'count'}")
    return int((tmp_path / "count").read_text().split()[0])


def test_all_of_it(tree: Path) -> None:
    act(tree)
    assert contents(tree) == {**AFTER, ".state/receipt.json": state("{}")}
    assert sorted(path.name for path in (tree / ".state").iterdir()) == ["receipt.json"]
    assert not (tree / "pkg/deep").exists()
    assert not transaction.interrupted(tree / ".state")


def test_nothing_to_do_leaves_nothing(tree: Path) -> None:
    before = picture(tree)
    with Root.open(tree) as opened:
        transaction.run(opened, tree / ".state", [Change("pkg/a.py", BEFORE["pkg/a.py"], BEFORE["pkg/a.py"])])
    assert picture(tree) == before


def test_refuses_what_stands_otherwise_and_names_all(tree: Path) -> None:
    (tree / "pkg/a.py").write_text("mine\n")
    (tree / "link2").write_text("mine too\n")
    before = picture(tree)
    with pytest.raises(Refused) as refused:
        act(tree)
    assert [problem.file for problem in refused.value.problems] == ["link2", "pkg/a.py"]
    assert picture(tree) == before


@pytest.mark.parametrize("kind", ["enospc", "eacces", "full"])
def test_a_failure_at_any_point_changes_nothing(tmp_path: Path, kind: str) -> None:
    build(tmp_path / "dry", BEFORE)
    total = points(tmp_path / "dry", tmp_path)
    assert total > 50
    failures = 0
    for number in range(1, total + 1):
        root = tmp_path / f"at-{number}"
        build(root, BEFORE)
        before = picture(root)
        try:
            act(root, f"{kind}:{number}")
        except EnvironmentFailed as error:
            failures += 1
            if transaction.interrupted(root / ".state"):
                back(root)
            after = picture(root)
            if (root / ".state").exists():
                # The clearing up failed after the transaction counted: complete is as good as untouched.
                assert contents(root) == {**AFTER, ".state/receipt.json": state("{}")}, number
            else:
                assert after == before, (number, error)
        else:
            assert contents(root) == {**AFTER, ".state/receipt.json": state("{}")}, number
    assert failures > total / 3


def test_a_disk_that_turns_read_only_leaves_a_journal(tmp_path: Path) -> None:
    build(tmp_path / "dry", BEFORE)
    total = points(tmp_path / "dry", tmp_path)
    interrupted = 0
    for number in range(1, total):
        root = tmp_path / f"at-{number}"
        build(root, BEFORE)
        before = picture(root)
        try:
            act(root, f"erofs:{number}")
        except EnvironmentFailed as error:
            assert error.problems[0].kind == "read-only"
            interrupted += transaction.interrupted(root / ".state")
        back(root)
        if (root / ".state/receipt.json").exists():
            assert contents(root) == {**AFTER, ".state/receipt.json": state("{}")}, number
        else:
            if (root / ".state").exists():  # empty: not even removing it was possible
                (root / ".state").rmdir()
            assert picture(root) == before, number
    assert interrupted > total / 2


CHILD = """
import sys
from pathlib import Path
from typing import Any
sys.path.insert(0, sys.argv[1])
import test_transaction as t
t.act(Path(sys.argv[2]), sys.argv[3]) if sys.argv[4] == "act" else t.back(Path(sys.argv[2]), sys.argv[3])
"""


def child(root: Path, spec: str, what: str = "act") -> int:
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), str(root), spec, what]
    return subprocess.run(command, check=False).returncode


@pytest.mark.slow
def test_a_kill_at_any_point_is_put_right(tmp_path: Path) -> None:
    build(tmp_path / "dry", BEFORE)
    total = points(tmp_path / "dry", tmp_path)
    for number in range(1, total + 1, 3):
        root = tmp_path / f"at-{number}"
        build(root, BEFORE)
        before = picture(root)
        assert child(root, f"kill:{number}") == -signal.SIGKILL
        # The way back is killed as well, at a different point each time.
        child(root, f"kill:{number % 17 + 1}", "back")
        back(root)
        if (root / ".state/receipt.json").exists():
            assert contents(root) == {**AFTER, ".state/receipt.json": state("{}")}, number
        else:
            if (root / ".state").exists():
                (root / ".state").rmdir()
            assert picture(root) == before, number


@pytest.mark.parametrize("kind", ["int", "term"])
def test_a_signal_takes_everything_back(tree: Path, kind: str) -> None:
    before = picture(tree)
    for number in (1, 5, 30, 50):
        code = child(tree, f"{kind}:{number}")
        assert code in ((1, -signal.SIGINT, 130) if kind == "int" else (128 + signal.SIGTERM,))
        assert picture(tree) == before


def test_a_signal_in_process_is_a_keyboard_interrupt(tree: Path) -> None:
    before = picture(tree)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        act(tree, "int:40")
    assert picture(tree) == before
    assert signal.getsignal(signal.SIGINT) is handler


def test_files_changed_since_the_kill_are_not_overwritten(tmp_path: Path) -> None:
    build(tmp_path / "dry", BEFORE)
    total = points(tmp_path / "dry", tmp_path)
    for number in range(total, 0, -1):
        root = tmp_path / f"at-{number}"
        build(root, BEFORE)
        child(root, f"kill:{number}")
        if (root / ".state/journal.json").exists() and (root / "link2").is_symlink():
            break
    (root / "pkg/a.py").write_text("edited since\n")
    (root / "link2").unlink()
    (root / "link2").write_text("edited too\n")
    before = picture(root)
    with pytest.raises(Refused) as refused:
        back(root)
    assert sorted(problem.file or "" for problem in refused.value.problems) == ["link2", "pkg/a.py"]
    assert picture(root) == before
    original = next(p.message for p in refused.value.problems if p.file == "pkg/a.py").split("before it is ")[1]
    assert Path(original.split(". ")[0]).read_text() == "a = 1\n"


def test_then_is_part_of_it(tree: Path) -> None:
    before = picture(tree)
    undone: list[object] = []

    def fails() -> None:
        assert (tree / "pkg/a.py").read_text() == "a = 2\n"
        raise EnvironmentFailed([])

    with pytest.raises(EnvironmentFailed):
        act(tree, then=fails, note={"ref": "x"}, undo=undone.append)
    assert undone == [{"ref": "x"}]
    assert picture(tree) == before


def test_hard_links_are_not_written_through(tree: Path, tmp_path: Path) -> None:
    os.link(tree / "pkg/a.py", tmp_path / "cache.py")
    act(tree)
    assert (tmp_path / "cache.py").read_text() == "a = 1\n"
    assert (tmp_path / "cache.py").stat().st_nlink == 1


def test_permissions_and_times(tree: Path) -> None:
    (tree / "pkg/a.py").chmod(0o664)
    (tree / "pkg/run.sh").chmod(0o750)
    act(tree)
    assert stat.S_IMODE((tree / "pkg/a.py").stat().st_mode) == 0o664
    assert stat.S_IMODE((tree / "pkg/run.sh").stat().st_mode) == 0o640


def test_a_fresh_time_is_in_a_later_second(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("1\n")
    for number in range(1, 4):
        old = file.stat().st_mtime_ns // transaction.SECOND
        with Root.open(tmp_path) as root:
            change = Change("a.py", state(f"{number}\n"), state(f"{number + 1}\n"))
            transaction.run(root, tmp_path / ".state", [change])
        assert file.stat().st_mtime_ns // transaction.SECOND > old


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM])
def test_without_hard_links_or_on_another_file_system(tree: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def cannot(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", cannot)
    if number == errno.EXDEV:
        real = os.replace

        def within(old: str, new: str, **kwargs: int) -> None:
            if old.startswith(("new-", "old-")) != new.startswith(("new-", "old-")):
                raise OSError(number, os.strerror(number))
            real(old, new, **kwargs)

        monkeypatch.setattr(os, "replace", within)
    before = picture(tree)
    with pytest.raises(EnvironmentFailed):
        act(tree, then=lambda: (_ for _ in ()).throw(EnvironmentFailed([])))
    assert without_inodes(picture(tree)) == without_inodes(before)
    act(tree)
    assert contents(tree) == {**AFTER, ".state/receipt.json": state("{}")}
    assert not list(tree.rglob(".patchctl-*"))


def test_another_mount(tmp_path: Path) -> None:
    mount(tmp_path / "state", "size=1m")
    try:
        root = tmp_path / "tree"
        build(root, BEFORE)
        with Root.open(root) as opened:
            transaction.run(opened, tmp_path / "state/x", changes())
        assert contents(root) == AFTER
    finally:
        umount(tmp_path / "state")


def mount(at: Path, options: str) -> None:
    at.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(at)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {done.stderr.decode().strip()}")


def umount(at: Path) -> None:
    subprocess.run(["umount", "-l", str(at)], check=True)


def test_a_full_disk(tmp_path: Path) -> None:
    root = tmp_path / "small"
    mount(root, "size=256k")
    try:
        build(root, BEFORE)
        (root / "ballast").write_bytes(b"x" * 100 * 1024)
        before = picture(root)
        big = Change("pkg/sub/stays.py", BEFORE["pkg/sub/stays.py"], FileState(b"y" * 200 * 1024))
        with Root.open(root) as opened, pytest.raises(EnvironmentFailed) as failure:
            transaction.run(opened, root / ".state", [*changes(), big])
        assert failure.value.problems[0].kind == "disk-full"
        assert picture(root) == before
    finally:
        umount(root)


def test_a_read_only_folder(tmp_path: Path) -> None:
    root = tmp_path / "small"
    mount(root, "size=256k")
    try:
        build(root, BEFORE)
        before = picture(root)
        subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
        with pytest.raises(EnvironmentFailed) as failure:
            act(root)
        assert failure.value.problems[0].kind == "read-only"
        assert str(root) in failure.value.problems[0].message
        assert picture(root) == before
    finally:
        umount(root)


class TestSafeReading:
    def test_links_on_the_way_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out/secret").write_text("s")
        (tmp_path / "root/a").mkdir(parents=True)
        (tmp_path / "root/a/way").symlink_to("../../out")
        with Root.open(tmp_path / "root") as root:
            for call in (root.read, root.lstat, root.unlink, root.mkdir, root.rmdir, lambda p: root.write(p, b"")):
                with pytest.raises(Refused) as refused:
                    call("a/way/secret")
                assert refused.value.problems[0].kind == "link-in-path"
        assert (tmp_path / "out/secret").read_text() == "s"

    @pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "a//b", ".", "", "a/."])
    def test_names_that_lead_elsewhere(self, tmp_path: Path, name: str) -> None:
        with Root.open(tmp_path) as root, pytest.raises(Refused):
            root.read(name)

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("x")
        with Root.open(tmp_path) as root:
            assert root.read("folder") is None
            assert root.read("file/below") is None
            assert root.read("none/at/all") is None
            with pytest.raises(Refused):
                root.read("pipe")

    def test_a_file_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(safeio, "LARGEST", 10)
        (tmp_path / "big").write_bytes(b"x" * 11)
        with Root.open(tmp_path) as root, pytest.raises(Refused):
            root.read("big")

    def test_a_state_folder_that_is_a_link(self, tree: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tree / ".state").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Refused):
            act(tree)
        assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": "patchctl.journal/9"}', '{"schema": "patchctl.journal/1", "entries": [1]}']
)
def test_a_journal_that_is_none(tree: Path, text: str) -> None:
    (tree / ".state").mkdir()
    (tree / ".state" / traces.STANDING).write_text(text)
    with pytest.raises(Refused):
        back(tree)


@pytest.mark.parametrize(
    "broken", [{"phase": "other"}, {"made": [5]}, {"made": None}, {"token": "\ud800"}, {"note": 1}]
)
def test_a_broken_journal_is_not_cleared_away(tmp_path: Path, broken: dict[str, Any]) -> None:
    folder = tmp_path / ".patchctl"
    folder.mkdir()
    whole = {"schema": journals.SCHEMA, "phase": "ready", "token": "", "entries": [], "made": [], "folders": {}}
    (folder / "journal.json").write_text(json.dumps({**whole, "note": {}, **broken}))
    with Root.open(tmp_path) as root, pytest.raises(Refused, match="not a journal"):
        transaction.recover(root, folder)
    assert (folder / "journal.json").exists()
