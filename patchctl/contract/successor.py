"""Where the code of a consumer went that is not there any more: a likely answer for a person, never taken by itself."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from patchctl.contract.model import Root
from patchctl.contract.syntax import Source

_MOST = 3
# Files are read only if their name or folder speaks for them: a tree has thousands.
_CANDIDATES = 40


@dataclass(frozen=True, slots=True)
class Successor:
    """A file that may hold what another one held, and why it is thought so."""

    path: str
    reason: str
    score: float


def successors(root: Root, source: Source, attributes: Sequence[str] = ()) -> list[Successor]:
    """The files that most likely took over from ``root``, the best first.

    Told by the name of the file, by a class or function of the name that was declared, and by the object's last
    attribute and ``attributes`` being used in it.
    """
    names = [name for name in source.names() if name.endswith(".py") and name != root.path]
    near = sorted(names, key=lambda name: -_likeness(root.path, name))[:_CANDIDATES]
    found = [_judge(root, name, source, attributes) for name in near]
    found = [each for each in found if each.score >= 1.0]
    return sorted(found, key=lambda each: (-each.score, each.path))[:_MOST]


def _likeness(old: str, new: str) -> float:
    """How alike two paths are: the stems first, then the folders."""
    old_folder, _, old_stem = old.removesuffix(".py").rpartition("/")
    new_folder, _, new_stem = new.removesuffix(".py").rpartition("/")
    stems = difflib.SequenceMatcher(None, old_stem, new_stem, autojunk=False)
    if stems.real_quick_ratio() < 0.4:
        return 0.0
    inside = old_stem in new_stem or new_stem in old_stem
    below = new_folder == old_folder or new_folder.startswith(f"{old_folder}/")
    return stems.ratio() + (0.5 if inside else 0.0) + (0.5 if below else 0.0)


def _judge(root: Root, name: str, source: Source, attributes: Sequence[str]) -> Successor:
    text = (source.read(name) or b"").decode("utf-8", "replace")
    score, reasons = _likeness(root.path, name), []
    wanted = root.name.rpartition(".")[2]
    if wanted and re.search(rf"^\s*(?:class|def|async def) {re.escape(wanted)}\b", text, re.MULTILINE):
        score += 1.0
        reasons.append(f"it defines {wanted}")
    elif wanted:
        kin = re.findall(rf"^(?:class|def) (\w*{re.escape(wanted)}\w*)\b", text, re.MULTILINE)
        if kin:
            score += 0.7
            reasons.append(f"it defines {kin[0]}")
    last = root.object.rpartition(".")[2]
    used = [attr for attr in attributes if re.search(rf"\b{re.escape(attr)}\b", text)]
    if used:
        score += 0.8
        reasons.append(f"it uses {', '.join(used[:3])}")
    elif re.search(rf"\.{re.escape(last)}\b", text):
        score += 0.2
    return Successor(name, " and ".join(reasons) or "its name is alike", score)
