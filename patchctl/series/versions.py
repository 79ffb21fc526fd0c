"""Tags and versions of an upstream: ``v0.5.9`` and ``0.5.9``, in the order of releases (PEP 440)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version

_MARK = "{version}"


def version_text(tag: str, template: str) -> str | None:
    """The part of ``tag`` that stands where ``template`` has ``{version}``, None if the tag has another form."""
    head, _, tail = template.partition(_MARK)
    if not (tag.startswith(head) and tag.endswith(tail)) or len(tag) <= len(head) + len(tail):
        return None
    return tag[len(head) : len(tag) - len(tail)]


def version_of(tag: str, template: str) -> Version | None:
    """The PEP 440 version that ``tag`` stands for, None if it stands for none."""
    from packaging.version import InvalidVersion, Version

    text = version_text(tag, template)
    if text is None:
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def tag_of(version: Version | str, template: str) -> str:
    """The tag of ``version``."""
    return template.replace(_MARK, str(version))


def sort_tags(tags: Iterable[str], template: str) -> list[str]:
    """``tags`` from the oldest release to the newest; those without a version come first, by name."""
    from packaging.version import Version

    zero = Version("0")

    def key(tag: str) -> tuple[bool, Version, str]:
        version = version_of(tag, template)
        return version is not None, version or zero, tag

    return sorted(tags, key=key)


# The forms nearly everybody writes; packaging (11 ms to import) is asked about the others.
_USUAL_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?")
_USUAL_SPECIFIER = re.compile(rf"\s*(?:<|<=|>|>=|==|!=)\s*{_USUAL_VERSION.pattern}\s*")


def is_version(text: str) -> bool:
    """Whether ``text`` is a PEP 440 version."""
    if _USUAL_VERSION.fullmatch(text):
        return True
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def is_specifier(text: str) -> bool:
    """Whether ``text`` is a PEP 440 specifier set that says something (``>=0.5.10,<0.6``)."""
    if not text.strip():
        return False
    if all(_USUAL_SPECIFIER.fullmatch(part) for part in text.split(",")):
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def satisfies(version: Version | str, specifier: str) -> bool:
    """Whether ``version`` lies in ``specifier``; pre-releases count like any version."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=True)
