"""Input that is made to take long or to break off: every answer comes soon, and is a refusal or a result."""

from __future__ import annotations

import time

import pytest

from patchctl.engine import reader
from patchctl.errors import Refused

GOOD = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
SOON = 20.0  # seconds, on a slow machine; what these inputs took before grew with the square of their length


def nested(depth: int) -> bytes:
    """A mail whose parts lie in each other."""
    head = b"From: A <a@example.com>\nSubject: x\nMIME-Version: 1.0\n"
    opened = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(depth))
    return head + opened + b"Content-Type: text/plain\n\n" + GOOD


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"Files " + b"a and " * 100_000 + b"x\n" + GOOD, id="sides-that-differ"),
        pytest.param(b"diff --git a/x b/x\nindex 1111111..2222222 100644\n" * 20_000 + GOOD, id="headers-without-body"),
        pytest.param(b"1d\n" * 50_000 + GOOD, id="ed-commands"),
        pytest.param(b"From: A <a@example.com>\nSubject: x\n" + b" y\n" * 100_000 + b"\n" + GOOD, id="folded-header"),
        pytest.param(b"From: A <a@example.com>\nSubject: " + b"=?utf-8?q?x?= " * 20_000 + b"\n\n" + GOOD, id="words"),
        pytest.param(nested(3_000), id="nested-parts"),
    ],
)
def test_reading_takes_no_square(data: bytes) -> None:
    start = time.monotonic()
    try:
        reader.read(data, "hostile.patch")
    except Refused as refused:
        assert refused.problems[0].message
    assert time.monotonic() - start < SOON
