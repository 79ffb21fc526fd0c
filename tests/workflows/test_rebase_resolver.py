"""``rebase --resolver``: a command that is asked once per conflict, and believed no more than a person."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.moving import CLASH, CORE, FRESH, LATER, NEXT, Move

RESOLVED = (NEXT["demo/core.py"] or b"").replace(b"return 33\n", b"return 333\n")

SCRIPT = """\
import json, os, re, sys
told = json.load(sys.stdin)
open({log!r}, "a").write(json.dumps({{**told, "cwd": os.getcwd()}}) + "\\n")
for file in told["files"]:
    text = open(file["conflict"]).read()
    {action}
    open(file["conflict"], "w").write(text)
"""
THEIRS = r'text = re.sub(r"(?s)<<<<<<< .*?\n=======\n(.*?)>>>>>>> [^\n]*\n", r"\1", text)'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def command(tmp_path: Path, log: Path, action: str) -> str:
    script = tmp_path / "resolver.py"
    script.write_text(SCRIPT.format(log=str(log), action=action))
    return f"{sys.executable} {script}"


def told(log: Path) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_it_resolves_and_the_rebase_ends(move: Move, tmp_path: Path, log: Path) -> None:
    said = move.begin("--resolver", command(tmp_path, log, THEIRS))
    assert said.code == 0, said.document
    assert said.outcomes["clash"] == "resolved" and said.outcomes["later"] in ("merged", "offset")
    assert b"return 300\n" in (move.applied("v1.1", "demo/core.py") or b"")
    (one,) = told(log)
    assert (one["patch"], one["title"], one["from"], one["to"]) == ("clash", "The patch clash", "v1.0", "v1.1")
    (file,) = one["files"]
    assert file["path"] == "demo/core.py" and file["conflict"] == str(move.conflict("clash"))
    assert file["base"].encode() == CORE and file["ours"].encode() == NEXT["demo/core.py"]
    assert file["theirs"].encode() == CLASH["demo/core.py"]
    assert one["cwd"] == one["folder"] == str(move.project / ".patchctl/conflicts/clash")
    assert one["problems"][0]["kind"] == "context"


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("sys.exit(7)", "resolver"),
        ("pass", "markers"),
        ("text = text.replace('<<<<<<<', '')", "markers"),
        (f"{THEIRS}; text += 'def f5():\\n    return 5\\n'", "defined-twice"),
        (f"{THEIRS}; text += ')'", "syntax"),
        (f"{THEIRS}; open('stray.txt', 'w').write('x')", "stray"),
        (f"{THEIRS}; os.remove(file['conflict']); os.symlink('/etc/passwd', file['conflict']); break", None),
        ("os.kill(os.getpid(), 9)", "resolver"),
    ],
)
def test_it_is_believed_no_more_than_a_person(
    move: Move, tmp_path: Path, log: Path, action: str, kind: str | None
) -> None:
    before = move.picture()
    said = move.begin("--resolver", command(tmp_path, log, action))
    assert said.code in (3, 5) and said.outcomes["clash"] == "conflict"
    assert said.needed == ["clash"] and move.picture() == before
    if kind is not None:
        assert kind in said.kinds
    assert len(told(log)) == 1, "once per conflict"
    move.rebase("--continue")
    assert len(told(log)) == 1, "once per conflict"


def test_one_that_hangs_is_ended_with_all_it_started(
    move: Move, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHCTL_RESOLVER_SECONDS", "0.5")
    mark = tmp_path / "still-alive"
    began = time.monotonic()
    said = move.begin("--resolver", f"(sleep 2; touch {mark}) & sleep 60")
    assert time.monotonic() - began < 15
    assert said.code == 3 and said.kinds[0] == "resolver" and "0.5 seconds" in said.document["error"]["message"]
    time.sleep(2)
    assert not mark.exists()
    monkeypatch.setenv("PATCHCTL_RESOLVER_SECONDS", "soon")
    move.rebase("--abort")
    assert move.begin("--resolver", "true").code == 2


def test_one_that_writes_into_the_project_ends_it(move: Move) -> None:
    said = move.begin("--resolver", f"echo '# more' >> {move.project}/series.yaml")
    assert said.code == 5 and said.kinds == ["changed"]
    assert move.rebase("--continue").code == 5
    assert move.rebase("--abort").code == 0


def test_what_it_says_does_not_disturb_the_document(move: Move) -> None:
    said = move.begin("--resolver", "echo hello; echo world >&2; exit 1")
    assert said.code == 3 and "hello" in said.document["error"]["message"]


def test_it_is_asked_about_what_only_then_is_a_conflict(bare: Move, tmp_path: Path, log: Path) -> None:
    again = {"demo/core.py": LATER["demo/core.py"].replace(b"return 7\n", b"return 700\n")}
    bare.carry({"clash": CLASH, "later": LATER, "again": again, "fresh": FRESH})
    said = bare.begin("--resolver", command(tmp_path, log, THEIRS))
    assert said.code == 0, said.document
    assert [one["patch"] for one in told(log)] == ["clash", "again"]


def test_a_dry_run_does_not_run_it(move: Move, tmp_path: Path, log: Path) -> None:
    assert move.begin("--dry-run", "--resolver", command(tmp_path, log, THEIRS)).code == 3
    assert not log.exists()


@pytest.mark.parametrize("left", ["sleep 30 &", "setsid sleep 30 & echo $! >{mark}"])
def test_what_it_leaves_running_is_not_waited_for(
    move: Move, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    monkeypatch.setenv("PATCHCTL_RESOLVER_SECONDS", "20")
    mark = tmp_path / "pid"
    began = time.monotonic()
    said = move.begin("--resolver", f"{command(tmp_path, log, THEIRS)}; {left.format(mark=mark)}")
    assert said.code == 0 and time.monotonic() - began < 15
    if mark.exists():
        os.kill(int(mark.read_text()), signal.SIGKILL)


def test_one_that_reads_nothing_and_says_much(move: Move) -> None:
    said = move.begin("--resolver", "exec <&-; head -c 5000000 /dev/urandom; echo last; exit 9")
    assert said.code == 3 and said.kinds[0] == "resolver"
    message = said.document["error"]["message"]
    assert message.endswith("last") and len(message) < 4000
