"""Who wrote a patch: From headers taken apart the way git does."""

from __future__ import annotations

import re


def person(author: str) -> tuple[str, str]:
    """Name and address of a From header, as git takes them apart; empty where there is none."""
    text = _unquoted(author)
    if "@" in text:
        found = re.search(r"<?([^\s<>]*@[^\s>]*)>?", text)
    else:
        found = re.search(r"<([^<>]*)>", text)
    if found is None:
        return _without_crud(text), ""
    name = " ".join((text[: found.start()] + " " + text[found.end() :]).split())
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1]
    return _without_crud(name), _without_crud(found.group(1))


def author_form(text: str) -> str:
    """A From header as ``Name <address>``, without quotes."""
    name, email = person(text)
    if name and email:
        return f"{name} <{email}>"
    return f"<{email}>" if email else name


def parts(author: str) -> tuple[str, str]:
    """Name and address of what :func:`author_form` gave, or of a From header as it stands."""
    found = re.fullmatch(r"([^\"].*?|) ?<([^<>]*)>", author)
    return (found.group(1), found.group(2)) if found else person(author)


def _unquoted(text: str) -> str:
    """Without the quotes of quoted parts, and without the backslashes in them."""
    return re.sub(r'"((?:[^"\\]|\\.)*)"', lambda match: re.sub(r"\\(.)", r"\1", match.group(1)), text)


def _without_crud(text: str) -> str:
    # git keeps these out of names and addresses, since they delimit the parts of its own records.
    return re.sub(r"[<>\n\0]", "", text.strip("\x00 \t\r\n.,:;<>\"\\'"))
