"""Reading archives: what comes out, and what is refused."""

from __future__ import annotations

import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR
from patchctl.errors import Refused
from patchctl.git import Git
from patchctl.upstream import archive, importer
from tests.upstream import releases


def tar(path: Path, *entries: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as out:  # type: ignore[call-overload]
        for info, data in entries:
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


def entry(name: str, data: bytes = b"x\n", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def read(path: Path) -> dict[str, tuple[int, bytes]]:
    return {m.name: (m.mode, b"".join(m.chunks())) for m in archive.below_top(archive.members(path), path.name)}


def test_a_source_archive(tmp_path: Path) -> None:
    found = read(releases.sdist(tmp_path))
    assert found["demo/tool.py"] == (EXECUTABLE, releases.FILES["demo/tool.py"][1])
    assert found["demo/core.py"][0] == REGULAR
    assert set(found) == {*releases.FILES, *releases.GENERATED}


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_each_compression(tmp_path: Path, mode: str) -> None:
    assert read(tar(tmp_path / "a.tar.gz", entry("top/a"), mode=mode)) == {"a": (REGULAR, b"x\n")}


def test_links_and_second_names(tmp_path: Path) -> None:
    found = read(
        tar(
            tmp_path / "a.tar.gz",
            entry("top/a", mode=0o755),
            entry("top/b", b"", type=tarfile.LNKTYPE, linkname="top/a"),
            entry("top/c", b"", type=tarfile.SYMTYPE, linkname="a"),
        )
    )
    assert found == {"a": (EXECUTABLE, b"x\n"), "b": (EXECUTABLE, b"x\n"), "c": (LINK, b"a")}


@pytest.mark.parametrize(
    "entries",
    [
        [entry("top/a"), entry("other/b")],
        [entry("top/a"), entry("b")],
        [entry("top/a", b"", type=tarfile.FIFOTYPE)],
        [entry("top/a", b"", type=tarfile.CHRTYPE)],
        [entry("top/a", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
    ],
)
def test_odd_archives_are_refused(tmp_path: Path, entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    path = tar(tmp_path / "a.tar.gz", *entries)
    with pytest.raises(Refused):
        read(path)


@pytest.mark.parametrize("keep", [0, 1, 30, 200, 400])
def test_truncated_archives_are_refused(tmp_path: Path, keep: int) -> None:
    for whole in (releases.sdist(tmp_path), releases.wheel(tmp_path)):
        whole.write_bytes(whole.read_bytes()[:keep])
        with pytest.raises(Refused):
            read(whole)


def test_a_flipped_byte_is_refused(tmp_path: Path) -> None:
    whole = releases.sdist(tmp_path)
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 0x55
    whole.write_bytes(data)
    with pytest.raises(Refused):
        read(whole)


def test_a_header_that_announces_a_huge_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        info = tarfile.TarInfo("././@LongLink")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 32
        assert out.fileobj is not None
        out.fileobj.write(info.tobuf(tarfile.GNU_FORMAT))
        out.fileobj.write(b"a" * 1024)
    with pytest.raises(Refused, match="unreasonable size"):
        read(path)


UNSAFE = ["top/../../out", "top/.git/hooks/post-checkout", "top/a/.GIT/config", "top//etc/passwd", "top/a\nb"]


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_unsafe_names_never_reach_the_cache(tmp_path: Path, git: Git, name: str, form: str) -> None:
    if form == "tar":
        path = tar(tmp_path / "a.tar.gz", entry("top/ok"), entry(name))
    else:
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("top/ok", b"x")
            out.writestr(name, b"x")
    with pytest.raises(Refused):
        store(git, path)
    assert git.run("for-each-ref") == b""
    assert not list(git.cwd.glob("fast_import_crash_*"))


@pytest.mark.parametrize("target", ["/etc/passwd", "../../out", "../a/../../..", ".git/config", ""])
def test_links_that_lead_out_are_refused(tmp_path: Path, git: Git, target: str) -> None:
    path = tar(tmp_path / "a.tar.gz", entry("top/d/link", b"", type=tarfile.SYMTYPE, linkname=target))
    with pytest.raises(Refused):
        store(git, path)


@pytest.mark.parametrize(
    "names", [["top/a", "top/a"], ["top/a", "top/a/b"], ["top/a/b", "top/a"], ["top/l/x", "top/l"]]
)
def test_two_things_of_one_name_are_refused(tmp_path: Path, git: Git, names: list[str]) -> None:
    with pytest.raises(Refused):
        store(git, tar(tmp_path / "a.tar.gz", *map(entry, names)))


def test_a_file_below_a_link_is_refused(tmp_path: Path, git: Git) -> None:
    link = entry("top/l", b"", type=tarfile.SYMTYPE, linkname="d")
    with pytest.raises(Refused):
        store(git, tar(tmp_path / "a.tar.gz", link, entry("top/l/x")))


def test_a_bomb_is_refused(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_TOTAL", 1 << 20)
    path = tar(tmp_path / "a.tar.gz", *(entry(f"top/{n}", bytes(1 << 18)) for n in range(8)))
    assert path.stat().st_size < 1 << 14
    with pytest.raises(Refused, match="more than patchctl takes"):
        store(git, path)


def test_the_same_files_give_the_same_commit(tmp_path: Path, git: Git) -> None:
    one = store(git, tar(tmp_path / "a.tar.gz", entry("top/a", mtime=1), entry("top/b")))
    two = store(git, tar(tmp_path / "b.tar.gz", entry("top/b"), entry("top/a", mtime=2)))
    assert one == two
    assert git.run("show", "-s", "--format=%an <%ae> %at %P", one) == b"patchctl <patchctl@invalid> 946684800 \n"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    folder = tmp_path / "store.git"
    folder.mkdir()
    Git(folder).run("init", "-q", "--bare", str(folder))
    return Git(folder, folder)


def store(git: Git, path: Path) -> str:
    files = (
        importer.SourceFile(m.name, m.mode, m.size, m.chunks)
        for m in archive.below_top(archive.members(path), path.name)
    )
    return importer.import_commit(git, "refs/x", "m", files, path.name)


def test_a_damaged_end_is_noticed(tmp_path: Path) -> None:
    """A tar reader stops at the tar's own end, before the stream's checksum."""
    path = tar(tmp_path / "a.tar.gz", entry("top/a", bytes(range(256)) * 64))
    data = path.read_bytes()
    for broken in (data[:-4], data[:-8] + bytes(8)):
        path.write_bytes(broken)
        with pytest.raises(Refused, match="damaged"):
            read(path)


def _wheel(path: Path, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as out:
        for number in range(4):
            out.writestr(f"demo/{number}\xe9.py", b"print(1)\n" * 50)
    return path.read_bytes()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_whatever_is_wrong_with_a_zip_is_refused(tmp_path: Path, method: int) -> None:
    """Another method, encryption, a future version, positions before the file: zipfile has a fault for each."""
    path, dice = tmp_path / "a.whl", random.Random(method)
    good = _wheel(path, method)
    refused = 0
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(dice.choice((1, 4, 16))):
            bad[dice.randrange(len(bad))] = dice.randrange(256)
        path.write_bytes(bad)
        try:
            for member in archive.members(path):
                for _ in member.chunks():
                    pass
        except Refused:
            refused += 1
    assert refused > 100


def test_headers_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody takes has to be inflated all the same: an archive may be all headers, or all padding."""
    headers = {"comment": "x" * (1 << 20)}
    path = tar(tmp_path / "a.tar.gz", *(entry(f"top/{n}", pax_headers=headers) for n in range(8)))
    assert path.stat().st_size < 1 << 16
    assert len(read(path)) == 8
    monkeypatch.setattr(archive, "_MAX_INFLATED", 4 << 20)
    with pytest.raises(Refused, match="more than patchctl takes"):
        read(path)


def test_endless_global_headers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as out:
        for number in range(4):
            assert out.fileobj is not None
            out.fileobj.write(tarfile.TarInfo.create_pax_global_header({f"k{number}": "x" * (1 << 20)}))
            info, data = entry(f"top/{number}")
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    with pytest.raises(Refused, match="unreasonable size"):
        read(path)
