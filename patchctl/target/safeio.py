"""Files below a folder, reached one component at a time and never through a link.

Every name here is relative to a :class:`Root`, with ``/`` between components. Each folder on the way is
opened with ``O_NOFOLLOW`` against the descriptor of the one before, so that a link that somebody puts in
the way, even between two calls, is met as a link and refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from patchctl.engine.state import EXECUTABLE, LINK, REGULAR, FileState
from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.target.faults import Faults

# Far above any source file, far below what would exhaust a machine.
LARGEST = 256 * 1024 * 1024

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20
# A transaction goes over its files five times; the folders of a large one fit, and few systems allow less.
_KEPT_OPEN = 128
_NOT_NAMES = frozenset({"", ".", ".."})


class Root:
    """A folder held open. Everything that changes something passes a fault point first."""

    def __init__(self, path: Path, descriptor: int, faults: Faults) -> None:
        self.path = path
        self.faults = faults
        self._fd = descriptor
        self._near: dict[str, int] = {}  # folders that were opened last; most calls come in groups

    @classmethod
    def open(cls, path: Path, faults: Faults | None = None, *, follow: bool = True) -> Root:
        """Open the folder ``path``. A link as its last component is followed only if ``follow``.

        Raises FileNotFoundError, NotADirectoryError and their like as the system does; Refused for a link.
        """
        try:
            descriptor = os.open(path, _FOLDER & ~os.O_NOFOLLOW if follow else _FOLDER)
        except OSError as error:
            if not follow and error.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink():
                raise Refused(_through_link(str(path), str(path))) from None
            raise
        return cls(path, descriptor, faults or Faults())

    def close(self) -> None:
        self.forget()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def fd(self) -> int:
        return self._fd

    # Looking

    def lstat(self, path: str) -> os.stat_result | None:
        """What stands at ``path`` (a link as itself), None if nothing does. Raises Refused for a link on the way."""
        with self.parent(path) as (folder, name):
            if folder is None:
                return None
            try:
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return None

    def read(self, path: str) -> FileState | None:
        """The file at ``path``; None where there is none (a folder is none: git knows only files).

        A link comes as a link, its target as data. Raises Refused where a link is on the way, for what is
        neither file, link nor folder, and for a file over LARGEST bytes.
        """
        with self.parent(path) as (folder, name):
            if folder is None:
                return None
            try:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return None
            if stat.S_ISDIR(found.st_mode):
                return None
            if stat.S_ISLNK(found.st_mode):
                return FileState(os.fsencode(os.readlink(name, dir_fd=folder)), LINK)
            if not stat.S_ISREG(found.st_mode):
                raise Refused(Problem("not-a-file", f"{path} is neither a file nor a link.", file=path))
            return self._read_file(folder, name, path)

    def names(self, path: str = "") -> list[str]:
        """The names in the folder ``path``, sorted; none if it isn't there. Raises Refused as :meth:`lstat`."""
        with self.folder(path) as folder:
            return [] if folder is None else sorted(entry.name for entry in os.scandir(folder))

    # Changing: one system call each, behind one fault point

    def write(self, path: str, data: bytes, permissions: int = 0o666) -> None:
        """Make a new file; it must not be there. ``permissions`` are subject to the umask."""
        self.faults.point("write", path)
        with self._present(path) as (folder, name):
            descriptor = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, permissions, dir_fd=folder
            )
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view[:_PIECE]) :]
            finally:
                os.close(descriptor)

    def symlink(self, path: str, target: bytes) -> None:
        """Make a link; nothing must be there."""
        self.faults.point("symlink", path)
        with self._present(path) as (folder, name):
            os.symlink(os.fsdecode(target), name, dir_fd=folder)

    def dress(self, path: str, permissions: int | None, mtime_ns: int | None, owner: tuple[int, int] | None) -> None:
        """Set a file's permissions, modification time and (as far as we may) owner; None leaves each alone."""
        self.faults.point("chmod", path)
        with self._present(path) as (folder, name):
            here = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if owner is not None and owner != (here.st_uid, here.st_gid):
                # Only root gives files away; for others the file is theirs, as it is with git and pip.
                with suppress(PermissionError):
                    os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(here.st_mode):
                permissions = None
            if permissions is not None:
                os.chmod(name, permissions, dir_fd=folder)
            if mtime_ns is not None:
                os.utime(name, ns=(here.st_atime_ns, mtime_ns), dir_fd=folder, follow_symlinks=False)

    def mkdir(self, path: str, permissions: int = 0o777) -> None:
        self.faults.point("mkdir", path)
        with self._present(path) as (folder, name):
            os.mkdir(name, permissions, dir_fd=folder)

    def rmdir(self, path: str) -> bool:
        """Remove the folder ``path`` if it is empty, and say whether it is gone."""
        self.forget()
        self.faults.point("rmdir", path)
        with self.parent(path) as (folder, name):
            if folder is None:
                return True
            try:
                os.rmdir(name, dir_fd=folder)
            except FileNotFoundError:
                return True
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY):
                    return False
                raise
            return True

    def unlink(self, path: str) -> None:
        """Remove a file or link; that it is gone already is fine."""
        self.faults.point("unlink", path)
        with self.parent(path) as (folder, name):
            if folder is not None:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)

    def sync_file(self, path: str) -> None:
        """Have a file's content and permissions reach the disk."""
        self.faults.point("fsync", path)
        with self._present(path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def sync(self, path: str = "") -> None:
        """Have the entries of the folder ``path`` reach the disk; a folder that is gone has none."""
        self.faults.point("fsync", path)
        with self.folder(path) as folder:
            if folder is not None:
                try:
                    os.fsync(folder)
                except OSError as error:
                    if error.errno not in (errno.EINVAL, errno.EBADF):  # a file system that can't, for folders
                        raise

    # The way down

    @contextmanager
    def folder(self, path: str) -> Iterator[int | None]:
        """The descriptor of the folder ``path`` ("" is the root), None if there is no such folder."""
        yield self._near.get(path) or self._descend(path)

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int | None, str]]:
        """The folder that ``path`` stands in and its last component; the folder is None if it isn't there."""
        above, _, name = path.rpartition("/")
        if name in _NOT_NAMES or "\0" in path:
            raise Refused(_unsafe(path))
        with self.folder(above) as descriptor:
            try:
                yield descriptor, name
            except OSError as error:
                if not str(error.filename).startswith("/"):  # the system call knew only the last component
                    error.filename = str(self.path / path)
                raise

    @contextmanager
    def _present(self, path: str) -> Iterator[tuple[int, str]]:
        with self.parent(path) as (folder, name):
            if folder is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            yield folder, name

    def _descend(self, path: str) -> int | None:
        if not path:
            return self._fd
        components = path.split("/")
        if not _NOT_NAMES.isdisjoint(components):
            raise Refused(_unsafe(path))
        current = self._fd
        for number, component in enumerate(components, 1):
            try:
                below = os.open(component, _FOLDER, dir_fd=current)
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                    raise
                if _is_link(current, component):
                    raise Refused(_through_link(path, "/".join(components[:number]))) from None
                return None
            finally:
                if current != self._fd:
                    os.close(current)
            current = below
        if len(self._near) == _KEPT_OPEN:
            os.close(self._near.pop(next(iter(self._near))))
        self._near[path] = current
        return current

    def forget(self) -> None:
        """Find every folder anew from now on: one that went away may have come back as another one."""
        while self._near:
            os.close(self._near.popitem()[1])

    def _read_file(self, folder: int, name: str, path: str) -> FileState:
        # O_NONBLOCK: should a pipe have taken the file's place since we looked, opening it must not wait.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if found.st_size > LARGEST:
                raise Refused(
                    Problem("too-large", f"{path} has {found.st_size:,} bytes; patchctl reads {LARGEST:,}.", file=path)
                )
            data = stream.read(LARGEST + 1)
        return FileState(data, EXECUTABLE if found.st_mode & stat.S_IXUSR else REGULAR)


def rename(source: Root, old: str, target: Root, new: str) -> None:
    """Move a file over whatever file stands at ``new``, also from one root into another."""
    target.faults.point("rename", new)
    with source._present(old) as (from_folder, from_name), target._present(new) as (to_folder, to_name):
        os.replace(from_name, to_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)


def link(source: Root, old: str, target: Root, new: str) -> None:
    """Give the file (or link) ``old`` a second name ``new``, which must be free."""
    target.faults.point("link", new)
    with source._present(old) as (from_folder, from_name), target._present(new) as (to_folder, to_name):
        os.link(from_name, to_name, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)


def failed(error: OSError, doing: str, outcome: str = "") -> EnvironmentFailed:
    """What to tell of a disk that failed while ``doing`` (a phrase), and what became of it (``outcome``)."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else None
    kind, why, hint = _REASONS.get(error.errno or 0, ("disk", f"{error.strerror or error}", ""))
    at = f" at {name}" if name else ""
    message = " ".join(part for part in (f"{why[0].upper()}{why[1:]}{at}, while {doing}.", outcome, hint) if part)
    return EnvironmentFailed(Problem(kind, message, file=name))


_REASONS = {
    errno.ENOSPC: ("disk-full", "the disk is full", "Free some space and run the same command again."),
    errno.EDQUOT: ("disk-full", "the disk quota is used up", "Free some space and run the same command again."),
    errno.EROFS: ("read-only", "the file system is read-only", "Mount it writable and run the same command again."),
    errno.EACCES: ("permission", "permission denied", "Run the command as a user who may write there."),
    errno.EPERM: ("permission", "the system does not permit it", "Run the command as a user who may write there."),
}


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _unsafe(path: str) -> Problem:
    return Problem("unsafe-path", f"{path!r} is not a plain name below a folder.", file=path)


def _through_link(path: str, link_path: str) -> Problem:
    return Problem(
        "link-in-path", f"{path} would be reached through the link {link_path}: patchctl follows no links.", file=path
    )
