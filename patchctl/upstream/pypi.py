"""Pristine releases from release archives: which one, proved by its pin, under the repository's own paths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchctl.engine.model import LINK, REGULAR
from patchctl.errors import EnvironmentFailed, InvalidInput, Problem, Refused
from patchctl.git import Git
from patchctl.series import versions
from patchctl.series.model import Pin, Upstream
from patchctl.upstream.cache import Cache, Progress, reference
from patchctl.upstream.importer import SourceFile, import_commit
from patchctl.upstream.mapping import Mapping, archive_kind, recipe

if TYPE_CHECKING:
    from packaging.version import Version

    from patchctl.upstream.index import Archive, Indexes, Offer


@dataclass(frozen=True, slots=True)
class Origin:
    """Which archive (file name, sha256 in hex) an imported commit holds; ``recipe`` is how it was taken apart."""

    archive: str
    sha256: str
    recipe: str

    @property
    def kind(self) -> str:
        return archive_kind(self.archive) or "sdist"

    @classmethod
    def here(cls, upstream: Upstream, archive: str, sha256: str) -> Origin:
        """An archive as it would be taken apart now."""
        return cls(archive, sha256, recipe(upstream, archive_kind(archive) or "sdist"))

    @classmethod
    def of(cls, message: str) -> Origin | None:
        """What the message of an imported commit says, None for another commit."""
        found = dict(re.findall(r"^(Archive|Sha256|Recipe): (.*)$", message, re.MULTILINE))
        return cls(found["Archive"], found["Sha256"], found["Recipe"]) if len(found) == 3 else None

    def message(self, upstream: Upstream, tag: str) -> str:
        lines = (f"Archive: {self.archive}", f"Sha256: {self.sha256}", f"Recipe: {self.recipe}")
        return f"{upstream.name} {tag}, as released in {self.archive}\n\n" + "\n".join(lines) + "\n"

    def allowed(self, pin: Pin, upstream: Upstream) -> bool:
        """Whether ``pin`` lets this archive stand for the release, and it was taken apart as it would be now."""
        return self.recipe == recipe(upstream, self.kind) and admitted(self.kind, self.sha256, pin)


def admitted(kind: str, sha256: str, pin: Pin) -> bool:
    """Whether an archive of this kind and hash (hex) is one that ``pin`` names, or ``pin`` names no archive at all."""
    if pin.sdist is None and not pin.wheels:
        return True
    named = [pin.sdist] if kind == "sdist" else pin.wheels
    return f"sha256:{sha256}" in named


def fetch(cache: Cache, git: Git, upstream: Upstream, tag: str, pin: Pin, progress: Progress | None) -> str:
    """Fetch the archive of ``tag`` into the cache, whose lock is held; returns the commit's id.

    Raises Refused when what the index has is not what is pinned, EnvironmentFailed when it can't be had,
    InvalidInput when the tag stands for no version.
    """
    if upstream.pypi is None:
        raise InvalidInput(Problem("no-source", "series.yaml names no package (upstream.pypi) to fetch from an index."))
    version = _version(tag, upstream)
    from patchctl.upstream import pipconfig
    from patchctl.upstream.index import Indexes

    if progress is not None:
        progress(f"looking for {upstream.pypi} {version}", 0, None)
    with Indexes(pipconfig.read()) as indexes, cache.workspace() as folder:
        chosen = _choose(indexes.offer(upstream.pypi, version), upstream.pypi, version, pin, tag)
        path = folder / f"archive{_suffix(chosen.filename)}"
        sha256 = _download(indexes, chosen, path, progress)
        prove(chosen.filename, sha256, pin)
        origin = Origin.here(upstream, chosen.filename, sha256)
        return store(git, reference("pypi", tag), upstream, tag, origin, path, progress)


def prove(name: str, sha256: str, pin: Pin) -> None:
    """Raise Refused when the archive ``name`` with this hash (hex) is not one that ``pin`` names."""
    kind = archive_kind(name) or "sdist"
    if not admitted(kind, sha256, pin):
        pins = ([pin.sdist] if pin.sdist else []) if kind == "sdist" else pin.wheels
        raise Refused(_mismatch(name, sha256, pins, "its bytes have"))


def store(
    git: Git, ref: str, upstream: Upstream, tag: str, origin: Origin, path: Path, progress: Progress | None
) -> str:
    """Import the archive at ``path``, which ``origin`` describes; returns the commit's id.

    Raises Refused for an archive that is unsafe, InvalidInput for a wheel whose files have no place in the repository.
    """
    if origin.kind == "wheel" and not upstream.layout:
        why = "series.yaml has no upstream.layout, so nothing says where a wheel's files stand in the repository."
        raise InvalidInput(Problem("no-layout", why, file=origin.archive))
    files = _files(path, origin.kind, Mapping.of(upstream), origin.archive)
    if progress is not None:
        files = _counted(files, progress, f"storing {origin.archive}")
    return import_commit(git, ref, origin.message(upstream, tag), files, origin.archive)


def sha256_of(path: Path) -> str:
    """The sha256 (hex) of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _version(tag: str, upstream: Upstream) -> Version:
    version = versions.version_of(tag, upstream.tag)
    if version is None:
        why = f"The tag {tag} does not follow upstream.tag ({upstream.tag}), so it stands for no version on an index."
        raise InvalidInput(Problem("no-version", why))
    return version


def _files(path: Path, kind: str, mapping: Mapping, name: str) -> Iterator[SourceFile]:
    from patchctl.upstream import archive as archives

    members = archives.members(path)
    if kind == "sdist":
        members = archives.below_top(members, name)
    way = mapping.sdist if kind == "sdist" else mapping.wheel
    for member in members:
        placed = way(member.name)
        if placed is not None:
            # A wheel carries no executable bits worth the name; what it says of modes is its builder's habit.
            mode = member.mode if kind == "sdist" or member.mode == LINK else REGULAR
            yield SourceFile(placed, mode, member.size, member.chunks)


def _choose(offer: Offer, project: str, version: Version, pin: Pin, tag: str) -> Archive:
    """The archive to take: the pinned one; source before wheel."""
    source = sorted((a for a in offer.archives if a.kind == "sdist"), key=lambda a: not a.filename.endswith(".tar.gz"))
    wheels = [archive for archive in offer.archives if archive.kind == "wheel"]
    unpinned = pin.sdist is None and not pin.wheels
    for found, pins in ((source, [pin.sdist] if pin.sdist else []), (_by_platform(wheels), pin.wheels)):
        if not found or not (pins or unpinned):
            continue
        for candidate in found:
            if unpinned or candidate.sha256 is None or f"sha256:{candidate.sha256}" in pins:
                return candidate
        if pins:
            wrong = found[0]
            assert wrong.sha256 is not None
            raise Refused(_mismatch(wrong.filename, wrong.sha256, pins, "the index has"))
    raise EnvironmentFailed(_none_found(offer, project, version, tag))


def _by_platform(wheels: Sequence[Archive]) -> list[Archive]:
    """Wheels for any machine first, then those for this one, then the rest by name."""
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    here = set(sys_tags())

    def key(wheel: Archive) -> tuple[int, str]:
        try:
            tags = parse_wheel_filename(wheel.filename)[3]
        except InvalidWheelFilename:
            return 3, wheel.filename
        return (0 if any(tag.platform == "any" for tag in tags) else 1 if tags & here else 2), wheel.filename

    return sorted(wheels, key=key)


def _download(indexes: Indexes, chosen: Archive, path: Path, progress: Progress | None) -> str:
    label = f"fetching {chosen.filename}"

    def show(done: int, total: int | None) -> None:
        if progress is not None:
            progress(label, done, total)

    return indexes.fetch(chosen, path, show)


def _counted(files: Iterator[SourceFile], progress: Progress, label: str) -> Iterator[SourceFile]:
    for count, file in enumerate(files):
        if count % 100 == 0:
            progress(label, count, None)
        yield file


def _suffix(name: str) -> str:
    return next((end for end in (".whl", ".zip") if name.lower().endswith(end)), ".tar")


def _mismatch(name: str, sha256: str, pins: Sequence[str], what: str) -> Problem:
    expected = ", ".join(pins) if pins else "no archive of this kind"
    why = (
        f"{name} is not the archive that series.yaml pins: {what} sha256:{sha256}, pinned is {expected}. "
        "Nothing was kept. Either somebody changed the archive, or the pin is wrong: find out which before you go on."
    )
    return Problem("integrity", why, file=name)


def _none_found(offer: Offer, project: str, version: Version, tag: str) -> Problem:
    other = f"patchctl fetch {tag} --source PATH, with a clone, an unpacked release or an archive file on this machine"
    if offer.archives:
        names = ", ".join(sorted(archive.filename for archive in offer.archives))
        why = f"Of {project} {version}, the index has only {names}, and none of these is pinned in series.yaml."
        return Problem("no-release", why, next=other)
    if not offer.asked:
        why = "pip is told to use no index (no-index) and no find-links, so there is nowhere to look."
        return Problem("network", why, next=other)
    if len(offer.failures) < len(offer.asked) or all("has no project" in failure for failure in offer.failures):
        why = f"There is no release {version} of {project} on {', '.join(offer.asked)}."
        if offer.failures:
            why += f" ({'; '.join(offer.failures)})"
        return Problem("no-release", why, next=other)
    why = (
        f"No package index can be asked for {project} {version}: {'; '.join(offer.failures)}. "
        "Check the network, or pip's settings (PIP_INDEX_URL, PIP_PROXY, PIP_CERT, pip.conf), which patchctl uses."
    )
    return Problem("network", why, next=other)
