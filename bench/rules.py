"""How often each merge rule was right and wrong, on backports whose result is known.

Run it as ``python bench/rules.py`` with the corpora beside the project (``../shared``); the judge is the scorer's
own. A case counts for every rule that placed one of its hunks, so a wrong case weighs on each of them. The figures
are printed, never asserted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import multiprocessing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from patchctl.engine import port as engine
from patchctl.engine import reader
from patchctl.engine.model import FileState
from patchctl.engine.outcome import PatchReport

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
CORPORA = ("dev", "dev2", "adapted-dev")


class Files:
    """A tree of nothing but its files' texts."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._states = {path: FileState(data) for path, data in texts.items()}

    def get(self, path: str) -> FileState | None:
        return self._states.get(path)

    def below(self, path: str) -> Sequence[str]:
        return [name for name in self._states if name.startswith(f"{path}/")]

    def names(self) -> Sequence[str]:
        return list(self._states)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a case (right, wrong or conflict), by which rules, and whether somebody is asked to look."""

    state: str
    rules: frozenset[str]
    reviewed: bool


def judge(case: Mapping[str, Any], rules: str, off: frozenset[str]) -> Verdict:
    """Carry the case's patch over and compare with what people made of it."""
    sides = {side: _texts(case, side) for side in "PQB"}
    patches = reader.read(case["patch"].encode("utf-8", "surrogateescape"), case["id"])
    reports = engine.port(patches, Files(sides["Q"]), Files(sides["P"]), rules, options=engine.Options(off=off))
    used = frozenset(hunk.method for report in reports for file in report.files for hunk in file.hunks)
    reviewed = any(report.review for report in reports)
    if any(report.stuck for report in reports):
        return Verdict("conflict", used, reviewed)
    return Verdict("right" if _right(sides, reports) else "wrong", used, reviewed)


def _texts(case: Mapping[str, Any], side: str) -> dict[str, bytes]:
    found = {file["path"]: file[side] for file in case["files"]}
    return {path: text.encode("utf-8", "surrogateescape") for path, text in found.items() if text is not None}


def _right(sides: Mapping[str, Mapping[str, bytes]], reports: Sequence[PatchReport]) -> bool:
    result = dict(sides["Q"])
    for report in reports:
        for path, entry in report.changes.items():
            if entry.state is None:
                result.pop(path, None)
            else:
                result[path] = entry.state.data
    truth = sides["B"]
    differing = [path for path in result.keys() | truth.keys() if result.get(path) != truth.get(path)]
    scorer = _scorer()
    return all(scorer.alike(path, _text(result.get(path)), _text(truth.get(path))) for path in differing)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _scorer() -> Any:
    loader = SourceFileLoader("score_backports", str(SHARED / "score-backports"))
    spec = importlib.util.spec_from_loader("score_backports", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def cases(corpus: str) -> Iterator[dict[str, Any]]:
    with lzma.open(SHARED / "backports" / f"{corpus}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", default=CORPORA, help=f"of {', '.join(CORPORA)}")
    parser.add_argument("--rules", choices=("transport", "all"), default="all")
    parser.add_argument("--off", default="", help="rules not to ask, with commas between")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    off = frozenset(filter(None, options.off.split(",")))
    table: Counter[tuple[str, str, str]] = Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for corpus in options.corpora:
            seen: Counter[tuple[str, bool]] = Counter()
            for verdict in pool.imap(partial(judge, rules=options.rules, off=off), cases(corpus), 8):
                seen[verdict.state, verdict.reviewed] += 1
                table.update((rule, corpus, verdict.state) for rule in verdict.rules)
            _say(corpus, seen)
    print(f"\n{'right/wrong cases':24}" + "".join(f"{corpus:>16}" for corpus in options.corpora))
    for rule in sorted({rule for rule, _, _ in table} - {"conflict"}):
        counts = (f"{table[rule, corpus, 'right']}/{table[rule, corpus, 'wrong']}" for corpus in options.corpora)
        print(f"{rule:24}" + "".join(f"{text:>16}" for text in counts))


def _say(corpus: str, seen: Counter[tuple[str, bool]]) -> None:
    total = {state: seen[state, True] + seen[state, False] for state in ("right", "wrong", "conflict")}
    figures = ", ".join(f"{count} {state}" for state, count in total.items())
    print(f"{corpus}: {figures}; reviews on {seen['right', True]} of the right, {seen['wrong', True]} of the wrong")


if __name__ == "__main__":
    main()
