"""Small merges: texts in, the text out, or why there is none."""

from __future__ import annotations

from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.merge.merge import How, Merged, merge


def merged(base: str, onto: str, patched: str, path: str = "m.py", how: How | None = None) -> Merged:
    """Carry what makes ``patched`` of ``base`` onto ``onto``."""
    old, new, wanted = base.encode(), onto.encode(), patched.encode()
    lines = split(old)
    return merge(path, old, new, wanted, script(lines, split(new)), script(lines, split(wanted)), how=how or How())


def text(found: Merged) -> str:
    """The result of ``found``, which must be one."""
    assert found.result is not None, found.objections
    return found.result.data.decode()


def rules(found: Merged) -> list[str | None]:
    """The rule that placed each change; None for those without a place."""
    return [placed.rule if placed else None for _, placed in found.parts]


def kinds(found: Merged) -> list[str]:
    """The kinds of what speaks against a result."""
    return [item.kind for item in found.objections]


def reviews(found: Merged) -> list[str]:
    return [hint.kind for hint in found.review]
