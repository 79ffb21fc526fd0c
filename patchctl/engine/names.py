"""Which file names a patch may speak of.

The rules hold on every platform: a patch is reviewed on one machine and applied on others, so a name that
is harmless here and an escape there is refused everywhere. Nothing is repaired.
"""

from __future__ import annotations

import re
import unicodedata

# Longer ones fail half-way through a run, with ENAMETOOLONG (Linux' NAME_MAX and PATH_MAX, in bytes).
LONGEST_COMPONENT = 255
LONGEST_PATH = 4095

# Code points that HFS+ skips when it compares names, as git's is_hfs_dotgit() lists them.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF], None)

# Folders that belong to a version control system, and their short (8.3) names on NTFS, which also drops
# dots and blanks at the end.
_CONTROL_FOLDER = r"(?:\.(?:git|hg|svn)|(?:git|hg|svn)~\d+)[ .]*"

# Everything that could forge a line of a log or hide what a reviewer reads: C0 but for the tab (which ends no
# line and which git quotes), DEL, C1, the line and paragraph separators, and the controls of text direction.
_UNPRINTABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9_.+@=-]{0,99}){0,20}")


def check(path: str) -> str | None:
    """Say why ``path`` must not be touched, or None when it is safe.

    ``path`` is relative to the tree, with surrogate escapes for bytes that are not UTF-8. What stands in
    the tree (links on the way) is not this function's business.
    """
    if _PLAIN.fullmatch(path) and path.isascii():
        return None  # most names; none of the rules below can meet such a one
    if not path:
        return "the file name is missing"
    if _UNPRINTABLE.search(path):
        return f"{shown(path)} holds a control character"
    if path.startswith("/"):
        return f"{path} is an absolute path, which may lie outside the tree"
    if "\\" in path:
        return f"{path} holds a backslash, which separates folders on Windows and may lead outside the tree"
    if re.match(r"[A-Za-z]:", path):
        return f"{path} starts with a drive letter, which leads outside the tree on Windows"
    if ":" in path:
        return f"{path} holds a colon, which names an alternate stream on NTFS"
    if len(path.encode("utf-8", "surrogateescape")) > LONGEST_PATH:
        return f"{path[:60]}… is longer than {LONGEST_PATH} bytes"
    for component in path.split("/"):
        reason = _component(component, path)
        if reason:
            return reason
    return None


def check_installed(path: str) -> str | None:
    """The further rules for a site-packages folder: no file that Python or pip acts on by its mere presence."""
    for component in path.split("/"):
        folded = component.casefold()
        if folded.split(".")[0] in ("sitecustomize", "usercustomize"):
            return f"{path}: Python runs {component} at every start"
        if folded.endswith(".pth"):
            return f"{path}: Python runs lines of {component} at every start"
        if folded.endswith((".dist-info", ".egg-info", ".egg-link")):
            return f"{path}: {component} is the installer's own record"
    return None


def check_link(path: str, target: bytes) -> str | None:
    """Say why a link at ``path`` must not point to ``target``, or None when it stays inside the tree.

    Judged by the text alone. So ``..`` may only stand at its beginning, where it speaks of the folders that the link
    lies in: behind a name that is a link itself it would lead from where that one points.
    """
    name = target.decode("utf-8", "surrogateescape")
    if not name:
        return f"{path} is a link without a target"
    if name.startswith("/"):
        return f"{path} is a link to {shown(name)}, which lies outside the tree"
    depth = path.count("/")
    down = False
    for component in name.split("/"):
        if component == "..":
            if down:
                return f"{path} is a link to {shown(name)}, where '..' stands behind a name that may be a link itself"
            depth -= 1
            if depth < 0:
                return f"{path} is a link to {shown(name)}, which leads outside the tree"
        elif component not in ("", "."):
            down = True
            reason = check(component)
            if reason:
                return f"{path} is a link to {shown(name)}: {reason}"
    return None


def strip(path: str, count: int) -> str | None:
    """``path`` without its first ``count`` components, or None when it has no more than those."""
    parts = path.split("/", count)
    return parts[count] if len(parts) > count and parts[count] else None


def shown(name: str) -> str:
    """``name`` with control characters escaped, so that it fits on one line of a message."""
    return _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), name)


def _component(component: str, path: str) -> str | None:
    if component == "..":
        return f"{path} leads outside: '..' is not allowed in any part of a name"
    if component in ("", "."):
        return f"{path} has an empty or a '.' component, so that one file could have two spellings"
    if len(component.encode("utf-8", "surrogateescape")) > LONGEST_COMPONENT:
        return f"a component of {path[:60]}… is longer than {LONGEST_COMPONENT} bytes"
    bare = unicodedata.normalize("NFC", component.translate(_IGNORED)).casefold()
    if re.fullmatch(_CONTROL_FOLDER, bare):
        return f"{path} lies in a version control folder ({component!a})"
    return None
