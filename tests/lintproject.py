"""A small project on disk, with an upstream of two files, for tests of lint, list and show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from patchctl.engine.model import blob_id
from patchctl.series import lock, patchfile
from patchctl.series.receipt import Stamp, TouchedFile

COMMIT = "1" * 40
OLD = b"one\ntwo\nthree\n"
NEW = b"one\n2\nthree\n"
FILE = "python/thing/a.py"
DIFF = (
    f"diff --git a/{FILE} b/{FILE}\nindex {blob_id(OLD)}..{blob_id(NEW)} 100644\n".encode()
    + f"--- a/{FILE}\n+++ b/{FILE}\n".encode()
    + b"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
)
SERIES = """\
version: 1
upstream:
  name: thing
  git: https://example.invalid/thing.git
  layout: {"python/thing/": "thing/"}
targets:
  v1.0:
    pin: {commit: "1111111111111111111111111111111111111111"}
    patches: [fix-a]
patches:
  fix-a:
    title: Count in digits
    why: words are slow
    owner: team
    upstream: {status: submitted, url: "https://example.org/pull/1"}
    expires: "2030-01-01"
"""


def patch_text(diff: bytes = DIFF, **changes: object) -> bytes:
    """A patch file whose head has nothing to complain of."""
    parts: dict[str, object] = {
        "author": "Ada <ada@example.org>",
        "date": "Tue, 6 Jan 2026 10:00:00 +0100",
        "subject": "Count in digits",
        "why": "Words are slow.",
        "trailers": patchfile.upstream_trailers("submitted", "https://example.org/pull/1"),
    }
    return patchfile.render(patchfile.compose(**{**parts, **changes}, diff=diff))  # type: ignore[arg-type]


def make(root: Path, series: str = SERIES, patches: Mapping[str, bytes] | None = None, *, locked: bool = True) -> Path:
    """Write the project; ``patches`` are files below patches/v1.0/. The lock is that of patch_text()'s change."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "series.yaml").write_text(series)
    folder = root / "patches/v1.0"
    folder.mkdir(parents=True)
    found = {"fix-a": patch_text()} if patches is None else patches
    for name, data in found.items():
        (folder / f"{name}.patch").write_bytes(data)
    if locked:
        write_lock(root, found)
    return root


def write_lock(root: Path, patches: Mapping[str, bytes]) -> None:
    footprint = (TouchedFile(FILE, Stamp(blob_id(OLD), "100644"), Stamp(blob_id(NEW), "100644")),)
    entries = tuple(
        lock.LockedPatch(name, hashlib.sha256(data).hexdigest(), footprint) for name, data in patches.items()
    )
    lock.write(root / "series.lock", lock.Lock({"v1.0": lock.LockedTarget(lock.Pin(commit=COMMIT), entries)}))
