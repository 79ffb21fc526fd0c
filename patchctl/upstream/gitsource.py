"""Pristine releases from a git repository, by tag: no more history than asked for, and all blobs of the release."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.git import Git, upload_pack
from patchctl.series.model import Pin
from patchctl.upstream.cache import Cache, Progress, reference
from patchctl.upstream.urls import redact

# A server that swallows packets would hold git for minutes; one that answers does so within seconds.
ANSWER_SECONDS = 20.0
# A transfer may take long, but not stand still.
_STALLED = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30")
_ALONE = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
_PROGRESS = re.compile(rb"(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+\d+% \((\d+)/(\d+)\)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A release to fetch: where from, its tag, the pin to enforce, and the cache's reference for it.

    ``by_commit`` takes the pinned commit where there is no such tag.
    """

    url: str
    tag: str
    pin: Pin
    ref: str
    by_commit: bool = False


def fetch(cache: Cache, git: Git, wanted: Wanted, progress: Progress | None) -> None:
    """Fetch what is wanted into the cache, whose lock is held.

    Raises Refused when the tag's commit is not
    the pinned one, EnvironmentFailed when there is no such tag, or the repository can't be reached.
    """
    url, tag = wanted.url, wanted.tag
    if progress is not None:
        progress(f"asking for {tag}", 0, None)
    name = f"refs/tags/{tag}"
    commit = commit_of(git, url, tag)
    if commit is None and wanted.by_commit and wanted.pin.commit is not None:
        commit = name = wanted.pin.commit
    if commit is None:
        why = f"There is no tag {tag} in the git repository at {redact(url)}."
        raise EnvironmentFailed(Problem("no-tag", why, next=f"git ls-remote --tags {redact(url)}"))
    _enforce(wanted.pin, commit, tag, url)
    if not cache.has(commit):
        _get(git, url, tag, progress, "--depth=1", name)
        # A tag that was moved between the question and the transfer gives another commit than the one enforced.
        if not cache.has(commit):
            why = f"{redact(url)} did not send commit {commit} for {tag}; the tag may just have been moved."
            raise EnvironmentFailed(Problem("git", why, next=f"patchctl fetch {tag}"))
    cache.publish(wanted.ref, commit)


def fetch_history(cache: Cache, git: Git, url: str, first: str, last: str, progress: Progress | None) -> None:
    """Fetch the commits that ``last`` has and ``first`` has not; both tags are in the cache already.

    Raises EnvironmentFailed when the server can't be reached or can't cut history short.
    """
    mark = f"refs/history/{first.replace('/', '__')}/{last.replace('/', '__')}"
    newest = cache.find(reference("git", last))[reference("git", last)].commit
    done = cache.find(mark).get(mark)
    if done is not None and done.commit == newest:
        return
    _get(git, url, last, progress, f"--shallow-exclude=refs/tags/{first}", f"refs/tags/{last}")
    cache.publish(mark, newest)


def commit_of(git: Git, url: str, tag: str) -> str | None:
    """The commit that ``tag`` names at ``url``, None when there is no such tag.

    Raises EnvironmentFailed when there is no answer.
    """
    ref = f"refs/tags/{tag}"
    ids = _listed(git, url, ref, f"{ref}^{{}}")
    # An annotated tag has an id of its own; the peeled line names the commit.
    return ids.get(f"{ref}^{{}}") or ids.get(ref)


def tags(git: Git, url: str) -> list[str]:
    """The names of all tags at ``url``. Raises EnvironmentFailed when there is no answer."""
    mark = "refs/tags/"
    return [name.removeprefix(mark) for name in _listed(git, url, f"{mark}*") if not name.endswith("^{}")]


def _listed(git: Git, url: str, *refs: str) -> dict[str, str]:
    """The references at ``url`` that fit ``refs``, and their ids."""
    try:
        said = _transfer(git, "ls-remote", *_serving(url), "--", url, *refs, seconds=ANSWER_SECONDS)
    except TimeoutError:
        why = f"The git repository at {redact(url)} does not answer within {ANSWER_SECONDS:.0f} seconds."
        raise EnvironmentFailed(Problem("network", why)) from None
    if said.returncode:
        raise _unreachable(url, said)
    lines = (line.partition("\t") for line in said.stdout.decode(errors="replace").splitlines())
    return {name: commit for commit, _, name in lines}


def _get(git: Git, url: str, tag: str, progress: Progress | None, depth: str, wanted: str) -> None:
    def show(line: bytes) -> None:
        step = _PROGRESS.match(line)
        if step and progress is not None:
            progress(f"fetching {tag}: {step[1].decode().lower()}", int(step[2]), int(step[3]))

    said = _transfer(
        git, *_STALLED, "fetch", "--progress", *_ALONE, *_serving(url), depth, "--", url, wanted, show=show
    )
    if said.returncode:
        raise _unreachable(url, said)


def _transfer(git: Git, *args: str, **options: object) -> CompletedProcess[bytes]:
    # Nobody sits at a prompt: a key without an agent or an unknown host must fail, not wait.
    ssh = (
        {}
        if os.environ.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"}
        else {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oServerAliveInterval=15"}
    )
    asking = Git(git.cwd, git.git_dir, {**git.env, **ssh})
    return asking.transfer(*args, **{"seconds": None, **options})  # type: ignore[arg-type]


def _serving(url: str) -> tuple[str, ...]:
    local = url.startswith("file://") or Path(url).is_absolute()
    return ("--upload-pack", upload_pack()) if local else ()


def _enforce(pin: Pin, commit: str, tag: str, url: str) -> None:
    if pin.commit is not None and pin.commit != commit:
        why = (
            f"{tag} at {redact(url)} is commit {commit}, but series.yaml pins {pin.commit}. "
            "Nothing was kept. Either the tag was moved, or the pin is wrong: find out which before you go on."
        )
        raise Refused(Problem("integrity", why))


def _unreachable(url: str, said: CompletedProcess[bytes]) -> EnvironmentFailed:
    lines = redact(said.stderr.decode(errors="replace")).replace("\r", "\n").splitlines()
    reasons = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:", "remote: error", "Permission"))]
    why = "; ".join(reasons[:3] or lines[-1:]) or f"git exited with {said.returncode}"
    return EnvironmentFailed(Problem("network", f"The git repository at {redact(url)} can't be fetched from: {why}."))
