"""Addresses of upstream repositories: which ones git may be given, and how they are shown."""

from __future__ import annotations

import os
import re
from pathlib import Path

from patchctl.errors import EnvironmentFailed, Problem, Refused

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=://)")
_SCHEMES = frozenset({"https", "http", "ssh", "git", "file"})
# user@host:path, with the user left out at will; git takes no slash before the colon.
_SCP_LIKE = re.compile(r"(?:[A-Za-z0-9._~-]+@)?[A-Za-z0-9][A-Za-z0-9._-]*:(?!:)[^:].*")
_USER_INFO = re.compile(r"(?<=://)[^/@\s'\"]*@")
_QUERY = re.compile(r"(://[^\s'\"?]*\?)[^\s'\"]+")


def redact(text: str) -> str:
    """``text`` with user names, passwords and queries (which may hold a token) taken out of every URL in it."""
    return _QUERY.sub(r"\1…", _USER_INFO.sub("", text))


def git_address(url: str, base: Path) -> str:
    """``url`` as git may be given it; a local path is made absolute, relative ones from ``base``.

    Raises Refused for an address that would run a program, or that git could take for an option;
    EnvironmentFailed for a local path where nothing is.
    """
    if url.startswith("-") or any(ord(character) < 32 or ord(character) == 127 for character in url):
        _refuse(url, "it begins with a dash or holds a control character")
    scheme = _SCHEME.match(url)
    if scheme:
        if scheme.group().lower() not in _SCHEMES:
            _refuse(url, f"git may use {', '.join(sorted(_SCHEMES))} and local paths only")
        if re.match(r"[^:]+://(?:[^/@]*@)?-", url):
            _refuse(url, "its host begins with a dash")
        return url
    local = base / os.path.expanduser(url)  # noqa: PTH111 - an unknown ~user stays
    if local.exists():
        return os.path.abspath(local)  # noqa: PTH100 - links in a path are the user's affair
    if re.match(r"[A-Za-z0-9_-]+::", url):
        _refuse(url, "such an address names a program to run")
    if _SCP_LIKE.fullmatch(url):
        return url
    raise EnvironmentFailed(Problem("network", f"There is no git repository at {redact(url)}."))


def _refuse(url: str, why: str) -> None:
    raise Refused(Problem("unsafe-url", f"The address {redact(url)!r} is not used: {why}."))
