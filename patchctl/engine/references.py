"""What a patch's own head says about upstream: links that are evidence, and never an outcome by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from patchctl.engine.model import Mail

_CHANGE = re.compile(r"(?m)^Change-Id:\s*(I[0-9a-f]{8,40})\s*$")
_PICKED = re.compile(r"\(cherry picked from commit ([0-9a-f]{7,40})\)|(?m:^Upstream-Commit:\s*([0-9a-f]{7,40})\s*$)")
_URL = re.compile(r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:]")
_NUMBER = re.compile(r"/(?:pull|merge_requests|pulls|issues|c|\+)/(\d+)\b")
_TAG = re.compile(r"^(?:\[[^\]]*\]\s*)+")
_MENTION = re.compile(r"#(\d+)\b")


@dataclass(frozen=True, slots=True)
class References:
    """``subject`` without tags in brackets; ``urls``; the ``numbers`` of the pull requests among them; change ids
    and commit ids that the head names."""

    subject: str
    urls: tuple[str, ...] = ()
    numbers: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    commits: frozenset[str] = frozenset()


def references(mail: Mail) -> References:
    """What ``mail`` names."""
    urls = tuple(dict.fromkeys(_URL.findall(mail.body)))
    picked = frozenset(one or two for one, two in _PICKED.findall(mail.body))
    numbers = frozenset(found[1] for url in urls if (found := _NUMBER.search(url)))
    return References(_bare(mail.subject), urls, numbers, frozenset(_CHANGE.findall(mail.body)), picked)


def linked(mail: Mail, log: Iterable[tuple[str, str]], url: str | None = None) -> list[str]:
    """Sentences about the upstream commits that ``mail`` names, or that are named as it is.

    ``log`` gives commit ids and full messages, subject first, of what upstream did between the two releases. ``url``
    is a link that is known of the patch besides those in its head.
    """
    mine = references(replace(mail, body=f"{mail.body}\n{url}\n") if url else mail)
    out = []
    for commit, message in log:
        subject, _, body = message.partition("\n")
        why = _why(mine, commit, subject, body)
        if why:
            out.append(f"Upstream's commit {commit[:12]}, '{subject.strip()}', {why}.")
    return out


def _why(mine: References, commit: str, subject: str, body: str) -> str | None:
    if any(commit.startswith(each) for each in mine.commits):
        return "is the one that the patch was taken from"
    if mine.changes.intersection(_CHANGE.findall(body)):
        return "has the same Change-Id"
    numbers = mine.numbers.intersection(_MENTION.findall(subject))
    if numbers:
        return f"is of the pull request #{min(numbers)} that the patch names"
    if mine.subject and _bare(_MENTION.sub("", subject).replace("()", "")) == mine.subject:
        return "has the same subject"
    return None


def _bare(subject: str) -> str:
    return " ".join(_TAG.sub("", subject).split()).casefold()
