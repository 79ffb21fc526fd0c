"""Release archives as streams of files, without unpacking them to disk.

Source archives are tar files (gzip, bzip2, xz) or zip files with one folder at the top; wheels are zip files.
Only regular files and links come out; names are checked where they are used (see :mod:`.importer`), sizes
here too, since a reader that believes a header may be made to fill the memory.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import itertools
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from patchctl.engine.model import EXECUTABLE, LINK, REGULAR
from patchctl.errors import Problem, Refused
from patchctl.upstream.importer import MAX_FILE, MAX_FILES, MAX_TOTAL

_CHUNK = 1 << 20
# A tar header may announce a name of any length, and tarfile reads it in one go.
_MAX_READ = 2 << 20
# What a tar file may come to, headers and padding included; files that nobody takes have to be inflated as well.
_MAX_INFLATED = 2 * MAX_TOTAL
# zipfile meets what it can't read in many ways: another method, encryption, fields cut short, an impossible seek.
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    struct.error,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its name there, its git mode, its size, and how to read it (before the next one)."""

    name: str
    mode: int
    size: int
    chunks: Callable[[], Iterable[bytes]]


def members(path: Path) -> Iterator[Member]:
    """The files of the archive at ``path``, in its order. Raises Refused for what is no sound archive."""
    with _sound(path.name):
        if path.name.lower().endswith((".whl", ".zip")):
            yield from _zip_members(path)
        else:
            yield from _tar_members(path)


@contextmanager
def _sound(name: str) -> Iterator[None]:
    """Refuse what turns out to be no archive, or a damaged one."""
    try:
        yield
    except _DAMAGE as error:
        _refuse(f"{name} is damaged or no archive: {error}")
    except OSError as error:
        # gzip says so of a damaged stream; a disk that fails has a number, and not that of an impossible position.
        if error.errno in (None, errno.EINVAL):
            _refuse(f"{name} is damaged: {error}")
        raise


def below_top(files: Iterable[Member], origin: str) -> Iterator[Member]:
    """The files of a source archive without the one folder that all of them stand in."""
    top = None
    for member in files:
        head, slash, rest = member.name.removeprefix("./").partition("/")
        if not slash or not rest:
            _refuse(f"{origin} has files beside its folder {top or head}", member.name)
        if top is None:
            top = head
        if head != top:
            _refuse(f"{origin} has two folders at the top, {top} and {head}", member.name)
        yield Member(rest, member.mode, member.size, member.chunks)


def _tar_members(path: Path) -> Iterator[Member]:
    with path.open("rb") as raw, _inflated(raw) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        seen: dict[str, tarfile.TarInfo] = {}
        for info in _tar_entries(archive, path.name):
            if info.isdir():
                continue
            if info.issym():
                yield _link(info.name, info.linkname)
                continue
            held = info
            if info.islnk():
                # A second name for a file that came before; it has that file's bytes.
                if info.linkname not in seen:
                    _refuse(f"{path.name} holds a hard link to {info.linkname}, which it does not hold", info.name)
                held = seen[info.linkname]
            elif not info.isreg():
                _refuse(f"{path.name} holds a device or a pipe", info.name)
            seen[info.name] = held
            mode = EXECUTABLE if held.mode & 0o100 else REGULAR
            yield Member(info.name, mode, held.size, lambda held=held: _tar_chunks(archive, held))  # type: ignore[misc]
        # Only at the very end is a compressed stream compared with its checksum.
        while stream.read(_CHUNK):
            pass


def _tar_entries(archive: tarfile.TarFile, name: str) -> Iterator[tarfile.TarInfo]:
    """The entries of ``archive`` in order, without keeping any: their headers may be far larger than the archive."""
    for count in itertools.count():
        info = archive.next()
        archive.members = []  # type: ignore[attr-defined]
        if info is None:
            return
        if count >= MAX_FILES:
            _refuse(f"{name} holds more than {MAX_FILES} entries")
        if sum(map(len, archive.pax_headers.values())) + len(archive.pax_headers) > _MAX_READ:
            _refuse(f"{name} has headers of unreasonable size")
        info.pax_headers = {}
        yield info


def _tar_chunks(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    # Read outside of members(), so guarded here once more.
    with _sound(info.name):
        stream = archive.extractfile(info)
        assert stream is not None
        while chunk := stream.read(_CHUNK):
            yield chunk


def _zip_members(path: Path) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if len(infos) > MAX_FILES:
            _refuse(f"{path.name} holds more than {MAX_FILES} entries")
        for info in infos:
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                _refuse(f"{path.name} is encrypted", info.filename)
            bits = info.external_attr >> 16
            kind = stat.S_IFMT(bits)
            if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
                _refuse(f"{path.name} holds something that is no file", info.filename)
            mode = LINK if kind == stat.S_IFLNK else EXECUTABLE if bits & 0o100 else REGULAR
            if info.file_size > MAX_FILE:
                _refuse(f"{path.name} holds a file larger than patchctl takes", info.filename)
            yield Member(info.filename, mode, info.file_size, lambda info=info: _zip_chunks(archive, info))  # type: ignore[misc]


def _zip_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _sound(info.filename), archive.open(info) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _link(name: str, target: str) -> Member:
    data = target.encode("utf-8", "surrogateescape")
    return Member(name, LINK, len(data), lambda: (data,))


def _inflated(raw: IO[bytes]) -> _Bounded:
    """The tar stream in ``raw``, by the file's first bytes."""
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return _Bounded(gzip.GzipFile(fileobj=raw))
    if magic.startswith(b"BZh"):
        return _Bounded(bz2.BZ2File(raw))
    if magic.startswith(b"\xfd7zXZ"):
        return _Bounded(lzma.LZMAFile(raw))
    return _Bounded(raw)


class _Bounded(io.BufferedIOBase):
    """A stream that refuses to be read in one huge piece, or without end."""

    def __init__(self, stream: Any) -> None:
        self._stream: IO[bytes] = stream

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _MAX_READ:
            _refuse("the archive has a header of unreasonable size")
        data = self._stream.read(size)
        if self._stream.tell() > _MAX_INFLATED:
            _refuse("the archive unpacks to more than patchctl takes")
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if offset > _MAX_INFLATED:
            _refuse("the archive unpacks to more than patchctl takes")
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _refuse(why: str, name: str | None = None) -> NoReturn:
    raise Refused(Problem("unsafe-archive", f"{why}.", file=name))
