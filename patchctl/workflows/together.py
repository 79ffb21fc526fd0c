"""One run over several targets: go on past a fault, and report all of them in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from patchctl.workflows.faults import Faults

T = TypeVar("T")
R = TypeVar("R")


def each(items: Iterable[T], job: Callable[[T], R]) -> list[R]:
    """``job`` of every item. The faults of all that fail are raised as one, of the gravest kind among them."""
    done: list[R] = []
    faults = Faults()
    for item in items:
        with faults.noted():
            done.append(job(item))
    faults.settle()
    return done
