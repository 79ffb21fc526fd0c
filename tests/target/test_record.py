"""RECORD: edits that keep every other byte, and restore all of them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchctl.errors import Refused
from patchctl.target import record


def line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    quoted = io.StringIO()
    csv.writer(quoted, lineterminator="\n").writerow([name, f"sha256={digest}", len(data)])
    return quoted.getvalue()[:-1]


RECORD = "\n".join(
    [
        "../../../bin/tiny,sha256=abc,10",
        line("tiny/__init__.py", b""),
        "tiny/__pycache__/mod.cpython-311.pyc,,",
        line('tiny/a,"b".py', b"odd"),
        line("tiny/mod.py", b"1\n"),
        "tiny-1.dist-info/RECORD,,",
        "",
    ]
)


def roundtrip(before: bytes, changed: dict[str, bytes], gone: list[str], new: dict[str, bytes]) -> tuple[bytes, bytes]:
    after, undo = record.edit(before, changed, gone, new)
    return after, record.original(after, json.loads(json.dumps(undo)))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("ended", [True, False])
def test_an_edit_and_its_way_back(end: str, ended: bool) -> None:
    text = RECORD if ended else RECORD.rstrip("\n")
    before = text.replace("\n", end).encode()
    after, again = roundtrip(
        before,
        {"tiny/mod.py": b"22\n", 'tiny/a,"b".py': b"changed"},
        ["tiny/__pycache__/mod.cpython-311.pyc", "tiny/not-listed.pyc"],
        {"tiny/né,w.py": b"new", "tiny-1.dist-info/patchctl-receipt.json": b"{}"},
    )
    assert again == before
    wanted = [
        "../../../bin/tiny,sha256=abc,10",
        line("tiny/__init__.py", b""),
        line('tiny/a,"b".py', b"changed"),
        line("tiny/mod.py", b"22\n"),
        "tiny-1.dist-info/RECORD,,",
        line("tiny/né,w.py", b"new"),
        line("tiny-1.dist-info/patchctl-receipt.json", b"{}"),
        "",
    ]
    assert after == end.join(wanted).encode()


def test_names_as_csv_reads_them() -> None:
    assert record.names(RECORD.encode()) == [row[0] for row in csv.reader(io.StringIO(RECORD))]


def test_lines_that_others_added_since_stay() -> None:
    after, undo = record.edit(RECORD.encode(), {"tiny/mod.py": b"x"}, ["tiny/__init__.py"], {"new": b""})
    assert record.original(b"tiny/REQUESTED,,\n" + after, undo).splitlines()[1:] != []
    restored = record.original(after + b"tiny/REQUESTED,,\n", undo)
    assert restored == RECORD.encode() + b"tiny/REQUESTED,,\n"


def test_an_open_quotation_mark() -> None:
    with pytest.raises(Refused):
        record.names(b'"tiny/mod.py,sha256=abc,1\n')


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=8)


@given(st.data())
def test_any_edit_comes_back(data: st.DataObject) -> None:
    names = data.draw(st.lists(NAMES, unique=True, max_size=8))
    text = "".join(line(name, name.encode()) + "\n" for name in names)
    if data.draw(st.booleans()):
        text = text[:-1]
    split = {name: data.draw(st.sampled_from(["stay", "change", "go"])) for name in names}
    new = data.draw(st.lists(NAMES.filter(lambda name: name not in names), unique=True, max_size=3))
    after, again = roundtrip(
        text.encode(),
        {name: b"changed" for name, how in split.items() if how == "change"},
        [name for name, how in split.items() if how == "go"],
        dict.fromkeys(new, b"new"),
    )
    assert again == text.encode()
    assert sorted(row[0] for row in csv.reader(io.StringIO(after.decode(), newline=""))) == sorted(
        [name for name in names if split[name] != "go"] + new
    )


def test_a_name_that_stands_twice_comes_back_twice() -> None:
    before = b"a.py,sha256=one,1\nb.py,,\na.py,sha256=two,2\n"
    after, undo = record.edit(before, {"a.py": b"new\n"}, [], {})
    assert record.original(after, undo) == before
