"""Having a command resolve a conflict: it is told what the conflict is, and edits the files where they lie."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchctl.engine.model import FileState
from patchctl.errors import InvalidInput, Problem
from patchctl.workflows.rebase import conflicts
from patchctl.workflows.rebase.conflicts import Laid
from patchctl.workflows.rebase.ground import Ground
from patchctl.workflows.rebase.plan import Step

VARIABLE = "PATCHCTL_RESOLVER_SECONDS"
_SECONDS = 600.0
_SHOWN = 400
SCHEMA = "patchctl.conflict/1"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command ended: why it failed (None: it did not), and the last that it said."""

    fault: str | None
    said: str


def seconds() -> float:
    """How long the command may take for one conflict. Raises InvalidInput for a setting that is no time."""
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text) if text else _SECONDS
    except ValueError:
        found = 0.0
    if not 0 < found < 86400 * 7:
        raise InvalidInput(Problem("usage", f"{VARIABLE}={text!r} is no number of seconds."))
    return found


def describe(ground: Ground, step: Step, laid: Laid) -> dict[str, Any]:
    """The conflict as the document that the command reads. Bytes that are no UTF-8 are surrogate-escaped."""
    info = ground.project.series.patches[step.id]
    root = ground.project.root / conflicts.folder(step.id)
    return {
        "schema": SCHEMA,
        "patch": step.id,
        "title": info.title,
        "why": info.why,
        "subject": step.carried.patch.mail.subject,
        "from": ground.start,
        "to": ground.goal.tag,
        "folder": str(root),
        "files": [
            {
                "path": path,
                "conflict": str(root / path),
                "base": _text(laid.sides[path].base),
                "ours": _text(laid.sides[path].onto),
                "theirs": _text(laid.sides[path].patch),
            }
            for path in laid.unsettled
        ],
        "problems": [
            {"kind": problem.kind, "text": problem.message, "file": problem.file, "hunk": problem.hunk}
            for problem in step.report.problems
        ],
    }


def run(command: str, folder: Path, document: Mapping[str, Any]) -> Ran:
    """Run ``command`` by the shell in ``folder``. It is ended, with all it started, when its time is over.

    It talks with files, not pipes: what it leaves running in the background could hold those open for long.
    """
    limit = seconds()
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        told.write(json.dumps(document).encode())
        told.seek(0)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder,
            stdin=told,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return Ran(f"it was not done within {limit:g} seconds", "")
        finally:
            _end(process)  # what it left running must not write on
        said.seek(max(0, said.seek(0, os.SEEK_END) - _SHOWN))
        last = said.read().decode("utf-8", "backslashreplace").strip()
    if code:
        return Ran(f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}", last)
    return Ran(None, last)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _text(state: FileState | None) -> str | None:
    return None if state is None else state.data.decode("utf-8", "surrogateescape")
