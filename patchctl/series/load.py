"""Reading series.yaml: syntax, shape, and what the parts say of each other.

Every error says ``series.yaml:LINE:COLUMN:``, and all that can be found is reported in one go.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from patchctl.series import versions, yamldoc
from patchctl.series.finding import FILE_NAME as FILE_NAME
from patchctl.series.model import Series
from patchctl.series.yamldoc import Document, Fault, Path


@dataclass(frozen=True, slots=True)
class Loaded:
    """A series, and the document it was read from (for the places of things)."""

    series: Series
    document: Document


def load(data: bytes, name: str = FILE_NAME) -> Loaded:
    """The series in ``data``. Raises InvalidInput for anything that is not a whole and sensible series."""
    from patchctl.series import shape

    document = yamldoc.parse(data, name)
    series = shape.convert(document)
    document.require(_Sense(series, document).faults())
    return Loaded(series, document)


def folder_name(tag: str) -> str:
    """The folder that a tag's patches lie in, below ``patches/``."""
    return tag.replace("/", "__")


class _Sense:
    """What no type can say: that names refer to something, and that texts are what they stand for."""

    def __init__(self, series: Series, document: Document) -> None:
        self._series = series
        self._document = document

    def faults(self) -> Iterator[Fault]:
        yield from self._upstream()
        yield from self._targets()
        yield from self._patches()
        yield from self._contracts()
        yield from self._verify()

    def _at(self, path: Path, message: str) -> Fault:
        return Fault(self._document.value_position(path), message)

    def _at_key(self, path: Path, message: str) -> Fault:
        return Fault(self._document.key_position(path), message)

    def _upstream(self) -> Iterator[Fault]:
        upstream = self._series.upstream
        if upstream.git is None and upstream.pypi is None:
            yield self._at_key(("upstream",), "upstream lacks both 'git' and 'pypi'; at least one is needed.")
        if upstream.git is not None:
            why = unsafe_url(upstream.git)
            if why:
                yield self._at(("upstream", "git"), f"upstream.git {why}.")
        if upstream.pypi is not None and not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", upstream.pypi):
            yield self._at(("upstream", "pypi"), f"'{upstream.pypi}' is no name of a package.")
        if upstream.tag.count("{version}") != 1:
            yield self._at(("upstream", "tag"), "upstream.tag must hold {version} once.")
        for place, text in (
            (("upstream", "sdist", "root"), upstream.sdist.root),
            *((("upstream", "layout", key), key) for key in upstream.layout),
            *((("upstream", "layout", key), value) for key, value in upstream.layout.items()),
        ):
            why = _unsafe_prefix(text)
            if why:
                yield self._at(place, f"'{text}' {why}.")

    def _targets(self) -> Iterator[Fault]:
        series = self._series
        if not series.targets:
            yield self._at(("targets",), "targets is empty; at least one is needed.")
        if series.default is not None and series.default not in series.targets:
            yield self._at(
                ("default",), f"default names '{series.default}', and targets holds {_names(series.targets)}."
            )
        folders: dict[str, str] = {}
        for tag, target in series.targets.items():
            path: Path = ("targets", tag)
            why = unsafe_tag(tag)
            text = versions.version_text(tag, series.upstream.tag)
            if why:
                yield self._at_key(path, f"the tag '{tag}' {why}.")
            elif text is None or not versions.is_version(text):
                form = series.upstream.tag
                yield self._at_key(path, f"'{tag}' does not have the form {form} with a PEP 440 version in it.")
            twin = folders.setdefault(folder_name(tag).casefold(), tag)
            if twin != tag:
                yield self._at_key(path, f"the patches of '{tag}' and of '{twin}' would lie in one folder.")
            pin = target.pin
            # A release that nothing is carried on yet may wait for its pin until it can be fetched.
            if target.patches and pin.sdist is None and pin.commit is None and not pin.wheels:
                yield self._at((*path, "pin"), f"the pin of {tag} is empty; it needs a commit, an sdist or wheels.")
            yield from self._listed(path, target.patches)
            for name in target.dropped:
                if name in target.patches:
                    yield self._at_key((*path, "dropped", name), f"'{name}' is both carried and dropped on {tag}.")

    def _listed(self, path: Path, ids: list[str]) -> Iterator[Fault]:
        seen: set[str] = set()
        for index, name in enumerate(ids):
            place = (*path, "patches", index)
            why = _awkward_id(name)
            if why:
                yield self._at(place, f"the patch id '{name}' {why}.")
            if name in seen:
                yield self._at(place, f"'{name}' is listed twice.")
            elif name not in self._series.patches:
                yield self._at(place, f"'{name}' has no entry under patches.{_nearest(name, self._series.patches)}")
            seen.add(name)

    def _patches(self) -> Iterator[Fault]:
        series = self._series
        for name, info in series.patches.items():
            path: Path = ("patches", name)
            status = info.upstream.status
            if info.upstream.url is None and status not in ("pending", "inappropriate"):
                yield self._at((*path, "upstream"), f"the status {status} needs a url.")
            url = info.upstream.url
            if url is not None and not (url.isprintable() and url == "".join(url.split())):
                yield self._at((*path, "upstream", "url"), "a url holds no blanks or control characters.")
            if "\n" in info.title.strip():
                yield self._at((*path, "title"), "a title is one line.")
            if info.expires is not None and not _is_date(info.expires):
                yield self._at((*path, "expires"), f"{info.expires} is no date.")
            for package, specifier in info.requires.items():
                if specifier and not versions.is_specifier(specifier):
                    yield self._at((*path, "requires", package), f"'{specifier}' is no version specifier.")
            for index, contract in enumerate(info.contracts):
                if contract not in series.contracts:
                    near = _nearest(contract, series.contracts)
                    yield self._at((*path, "contracts", index), f"there is no contract '{contract}'.{near}")
            for index, check in enumerate(info.smoke):
                if check not in series.verify.checks:
                    near = _nearest(check, series.verify.checks)
                    yield self._at((*path, "smoke", index), f"verify.checks holds no '{check}'.{near}")

    def _contracts(self) -> Iterator[Fault]:
        for name, contract in self._series.contracts.items():
            path: Path = ("contracts", name)
            if not re.fullmatch(r"[^:]+\.py:[A-Za-z_][\w.]*", contract.provider):
                yield self._at((*path, "provider"), f"'{contract.provider}' is not of the form FILE.py:CLASS.")
            for index, consumer in enumerate(contract.consumers):
                if consumer.when is not None and not versions.is_specifier(consumer.when):
                    place = (*path, "consumers", index, "when")
                    yield self._at(place, f"'{consumer.when}' is no version specifier.")

    def _verify(self) -> Iterator[Fault]:
        series, verify = self._series, self._series.verify
        for name, check in verify.checks.items():
            path: Path = ("verify", "checks", name)
            seconds = check.limits.seconds
            if seconds <= 0:
                yield self._at((*path, "limits", "seconds"), "a limit of seconds must be above 0.")
            band = check.limits.accept_length
            if band is not None and band[0] > band[1]:
                yield self._at((*path, "limits", "accept_length"), "a band is [low, high].")
            for index, patch in enumerate(check.teeth.without):
                if patch not in series.patches:
                    near = _nearest(patch, series.patches)
                    yield self._at((*path, "teeth", "without", index), f"there is no patch '{patch}'.{near}")
            for index, mutant in enumerate(check.teeth.mutants):
                if mutant not in verify.mutants:
                    near = _nearest(mutant, verify.mutants)
                    yield self._at((*path, "teeth", "mutants", index), f"there is no mutant '{mutant}'.{near}")
        for name, specifier in verify.pins.items():
            if not (versions.is_version(specifier) or versions.is_specifier(specifier)):
                yield self._at(("verify", "pins", name), f"'{specifier}' is neither a version nor a specifier.")
        for name, entry in verify.mutants.items():
            for index, tag in enumerate(entry.on):
                if tag not in series.targets:
                    place = ("verify", "mutants", name, "on", index)
                    yield self._at(place, f"there is no target '{tag}'; targets holds {_names(series.targets)}.")


def unsafe_url(url: str) -> str | None:
    """Why git must not be given ``url``; None if it may."""
    if url.startswith("-"):
        return "must not begin with '-'"
    if not url.isprintable() or url != url.strip():
        return "must not hold blanks at its ends or control characters"
    if re.match(r"[A-Za-z0-9+.-]*::", url):
        return "must not name a remote helper (::), which runs a program"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", url)
    if scheme and scheme.group(1).lower() not in ("https", "http", "ssh", "git", "file"):
        return f"has the scheme {scheme.group(1)}; https, http, ssh, git and file are known"
    if scheme and re.match(r"[A-Za-z+]+://(?:[^/@]*@)?-", url):
        return "names a host that begins with '-'"
    return None


def unsafe_tag(tag: str) -> str | None:
    """Why ``tag`` can't be a tag in git and a folder's name; None if it can."""
    if tag.startswith("-"):
        return "must not begin with '-'"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+!/-]*", tag):
        return "may hold letters, digits, '.', '_', '+', '!', '-' and '/' only, and begins with a letter or a digit"
    parts = tag.split("/")
    if ".." in tag or "__" in tag or any(not part or part.startswith(".") or part.endswith(".lock") for part in parts):
        return "holds '..', '__', or a part that is empty, begins with '.' or ends in '.lock'"
    if tag.endswith("."):
        return "must not end in '.'"
    if tag.casefold() == "resolutions":
        return "is the name of the folder of remembered resolutions"
    return None


def _awkward_id(name: str) -> str | None:
    if ".." in name or name.endswith("."):
        return "must not hold '..' or end in '.'"
    if name.endswith(".patch"):
        return "must not end in '.patch'; ids are written without it"
    if len(name) > 120:
        return "is longer than 120 characters"
    return None


def _unsafe_prefix(text: str) -> str | None:
    if not text.isprintable():
        return "must not hold control characters"
    if text.startswith("/") or "\\" in text:
        return "must be relative, with '/' between its parts"
    if any(part in (".", "..") for part in text.split("/")):
        return "must not hold '.' or '..'"
    if text and not text.endswith("/"):
        return "must end in '/'"
    return None


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "nothing"
