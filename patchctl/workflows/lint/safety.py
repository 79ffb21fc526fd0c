"""Rules about what a patch may touch, and where it can go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchctl.engine import strict
from patchctl.workflows.lint.findings import Carried, Context, Finding, Severity

_UNSAFE = frozenset({"unsafe-path", "unsafe-mode", "unsafe-link", "submodule"})


def unsafe(context: Context) -> Iterator[Finding]:
    """Paths, links and modes that patchctl refuses to write."""
    for carried in context.carried:
        yield from _refusals(carried, "unsafe", unsafe=True)
        for patch in carried.patches:
            for section in patch.files:
                for path in section.paths:
                    if context.project.series.upstream.layout and _runs_at_start(path):
                        why = f"{path} is run or read by Python itself wherever it is installed."
                        yield carried.finding("unsafe", why, line=section.line, file=path)


def unreadable(context: Context) -> Iterator[Finding]:
    """Patch files that can't be understood, or can't be taken back."""
    for carried in context.carried:
        yield from _refusals(carried, "unreadable", unsafe=False)
        if len(carried.patches) > 1:
            why = f"it holds {len(carried.patches)} mails; a series takes one patch per file."
            yield carried.finding("unreadable", why)
        for patch in carried.patches:
            for section in patch.files:
                try:
                    strict.reverse(section)
                except strict.Irreversible as error:
                    step = "make it again by git diff --binary --full-index"
                    yield carried.finding(
                        "unreadable", f"{error.reason}.", line=section.line, file=section.path, next=step
                    )


def wheel(context: Context) -> Iterator[Finding]:
    """Patches that an installed distribution can't take: compiled sources, and files outside of its layout."""
    layout = context.project.series.upstream.layout
    if not layout:
        return
    for carried in context.carried:
        paths = sorted({path for patch in carried.patches for section in patch.files for path in section.paths})
        compiled = [path for path in paths if _COMPILED.search(path)]
        outside = [path for path in paths if path not in compiled and not path.startswith(tuple(layout))]
        for files, why in ((compiled, "is compiled when a wheel is built"), (outside, "lies outside upstream.layout")):
            if files:
                more = f", and so are {len(files) - 1} more files" if len(files) > 1 else ""
                message = f"{files[0]} {why}{more}: apply --installed can't carry this patch."
                yield carried.finding("not-in-wheel", message, severity=Severity.WARNING, file=files[0])


_COMPILED = re.compile(
    r"\.(?:rs|c|cc|cpp|cxx|cu|cuh|h|hh|hpp|hip|pyx|pxd|s)$|(?:^|/)(?:Cargo\.(?:toml|lock)|CMakeLists\.txt|[^/]*\.cmake)$",
    re.IGNORECASE,
)


def _runs_at_start(path: str) -> bool:
    parts = path.casefold().split("/")
    return (
        parts[-1].endswith(".pth")
        or parts[-1] in ("sitecustomize.py", "usercustomize.py")
        or any(part.endswith(".dist-info") for part in parts)
    )


def _refusals(carried: Carried, rule: str, *, unsafe: bool) -> Iterator[Finding]:
    if carried.data is None or carried.refused is None:
        return
    for problem in carried.refused.problems:
        if (problem.kind in _UNSAFE) == unsafe:
            yield carried.finding(rule, problem.message, file=problem.file, hunk=problem.hunk, next=problem.next)
