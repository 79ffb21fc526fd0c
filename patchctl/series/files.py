"""Reading and replacing the project's own files: never half written, never through a link to elsewhere."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path

from patchctl.errors import Problem, Refused


def replace_file(path: Path, data: bytes) -> bool:
    """Replace ``path`` by ``data`` in one step, keeping its mode; returns False (and writes nothing) if it holds it.

    A link is followed to the file it stands for. Raises OSError; then the old file stands.
    """
    import tempfile

    path = Path(os.path.realpath(path))
    try:
        if path.read_bytes() == data:
            return False
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        mode = 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    return True


def read_inside(root: Path, path: Path, limit: int, *, patch: str | None = None) -> bytes:
    """The bytes of the regular file ``path``, which must lie below ``root`` also after following links.

    ``patch`` is the patch to name in errors. Raises Refused when it is missing, leads outside, is no regular
    file, or has more than ``limit`` bytes.
    """
    name = os.path.relpath(path, root)
    real = os.path.realpath(path)
    if real != str(path) and not Path(real).is_relative_to(os.path.realpath(root)):
        raise Refused(Problem("unsafe-path", f"{name} is a link that leads out of the project.", patch, name))
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused(Problem("unsafe-path", f"{name} is a link that leads to itself.", patch, name)) from None
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise
        raise Refused(Problem("missing-patch", f"{name} does not exist.", patch, name, next="patchctl lint")) from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise Refused(Problem("unsafe-path", f"{name} is not a regular file.", patch, name))
        if found.st_size > limit:
            size = f"{found.st_size / 2**20:.0f} MiB; at most {limit // 2**20} MiB are read"
            raise Refused(Problem("too-large", f"{name} has {size}.", patch, name))
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _umask() -> int:
    # Linux tells it without the detour of setting it, which other threads would see.
    with contextlib.suppress(OSError):
        found = re.search(r"^Umask:\s*([0-7]+)", Path("/proc/self/status").read_text(), re.MULTILINE)
        if found:
            return int(found.group(1), 8)
    return 0o022
