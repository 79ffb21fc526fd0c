"""Where a link leads, followed through the links that lie on its way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from patchctl.engine.state import LINK, FileState
from patchctl.errors import Problem, Refused

_MOST_LINKS = 40  # as many as the system follows before it gives up


def check(paths: Iterable[str], get: Callable[[str], FileState | None], patch: str | None = None) -> None:
    """That no link among ``paths`` leads out of the tree that ``get`` shows, where it stands already.

    A link's own text was judged when it was made; what it leads through may be a link of upstream's that goes
    elsewhere. Raises Refused, naming ``patch``.
    """
    problems = []
    for path in paths:
        state = get(path)
        if state is not None and state.mode == LINK and _leaves(path, state.data, get):
            why = f"{path} is a link that leads out of the tree, through another link that stands in it."
            problems.append(Problem("unsafe-link", why, patch, path))
    if problems:
        raise Refused(problems)


def _leaves(path: str, target: bytes, get: Callable[[str], FileState | None]) -> bool:
    here = path.split("/")[:-1]
    left = deque(_components(target))
    followed = 0
    while left:
        component = left.popleft()
        if component == "/" or (component == ".." and not here):
            return True
        if component == "..":
            here.pop()
            continue
        state = get("/".join([*here, component]))
        if state is None or state.mode != LINK:
            here.append(component)
            continue
        followed += 1
        if followed > _MOST_LINKS:
            return False  # it leads nowhere
        left.extendleft(reversed(_components(state.data)))
    return False


def _components(target: bytes) -> list[str]:
    """The steps of a link's target; an absolute one begins with ``/``."""
    text = target.decode("utf-8", "surrogateescape")
    return (["/"] if text.startswith("/") else []) + [part for part in text.split("/") if part not in ("", ".")]
