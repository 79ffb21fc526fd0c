"""What must not be wrong with a file after a patch went into a text that it was not made for.

A finding turns a success into a decision. Only what the result alone has counts: what is so in the file before, or
in the patch's own result, is not the guards' business. :mod:`patchctl.engine.judge` asks them about a person's
resolution, :mod:`patchctl.engine.merge.checks` about a merge.

=================  ==============================================================================
``syntax``         the result does not parse, and both sides do
``defined-twice``  a function, class, method, import, key or constant that each side has once
``name-gone``      a name that nothing binds any more, here or in the file that it is imported from
``superseded``     a definition that the patch adds and that the new tree has by itself
=================  ==============================================================================
"""

from __future__ import annotations

from patchctl.engine.guards import doubles, python
from patchctl.engine.guards.facts import facts
from patchctl.engine.guards.finding import Finding as Finding
from patchctl.engine.guards.python import namesakes as namesakes
from patchctl.engine.guards.python import rivals as rivals


def check(
    path: str, before: bytes, after: bytes, base: bytes | None = None, patched: bytes | None = None
) -> list[Finding]:
    """Findings in ``after``, which a patch made from ``before``; with ``base`` it made ``patched`` from that.

    ``path`` is the file's name in the new tree: its ending tells the language. Names that other files must have are
    asked for by :mod:`patchctl.engine.guards.imports`, which needs the trees.
    """
    if path.endswith((".py", ".pyi")):
        found = python.check(path, before, after, base, patched)
        if found is not None:
            return found
    return list(doubles.check(path, before, after, patched))


def unparsed(path: str, *texts: bytes | None) -> Finding | None:
    """What a reviewer is told where one of the ``texts`` of a Python file is none to the Python that runs here, so
    that nothing but lines was compared; None where all of them parse. Parses: ask only where it matters."""
    if not path.endswith((".py", ".pyi")) or all(text is None or facts(text) is not None for text in texts):
        return None
    return Finding("unparsed", f"{path} can't be parsed by the Python that runs here: only its lines were compared.")
