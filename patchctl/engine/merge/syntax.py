"""Whether a text is Python, told once per text by the Python that runs here."""

from __future__ import annotations

import ast
import warnings

# Larger files are tables and generated code; parsing them costs seconds and hundreds of megabytes.
_LARGEST = 1024 * 1024


def parse(data: bytes) -> ast.Module | None:
    """The syntax tree of ``data``; None if it has none, or is too large to ask."""
    if len(data) > _LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def parses(data: bytes) -> bool:
    """Whether ``data`` has a syntax tree."""
    return parse(data) is not None


def compiles(data: bytes) -> bool:
    """Whether ``data`` is more than a tree: no keyword given twice, ``await`` in asynchronous functions only."""
    tree = parse(data)
    if tree is None:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
