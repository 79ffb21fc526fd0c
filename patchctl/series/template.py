"""The files of a new patch repository."""

from __future__ import annotations

import re
from dataclasses import dataclass

from patchctl.series import versions, yamlemit
from patchctl.series.lock import Pin

GITIGNORE = """\
# patchctl's checkouts and working state
build/
.patchctl/
"""

WORKFLOW = """\
name: patches
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install patchctl
      # The pristine releases are worth keeping between runs.
      - uses: actions/cache@v4
        with: {path: ~/.cache/patchctl, key: "upstream-${{ hashFiles('series.yaml') }}"}
      - run: patchctl lint --format github
      - run: patchctl lock --check
"""


@dataclass(frozen=True, slots=True)
class Start:
    """What a new series begins with. ``note`` says why the pin is empty, if it is."""

    name: str
    git: str
    pypi: str | None
    tag: str
    template: str
    pin: Pin
    note: str = ""


def tag_template(tag: str) -> str | None:
    """The template that ``tag`` follows: the longest part at its end that is a version becomes ``{version}``."""
    for match in re.finditer(r"[0-9]", tag):
        if versions.is_version(tag[match.start() :]):
            return tag[: match.start()] + "{version}"
    return None


def series_text(start: Start) -> str:
    """series.yaml for a target without patches, with comments that say what goes where."""
    pin = {
        key: value
        for key, value in (("commit", start.pin.commit), ("sdist", start.pin.sdist), ("wheels", [*start.pin.wheels]))
        if value
    }
    pins = "\n".join(yamlemit.entry("pin", pin, 4, yamlemit.Layout()))
    waiting = f"\n    # {start.note}" if start.note else ""
    pypi = (
        f"  pypi: {yamlemit.scalar(start.pypi)}" if start.pypi else "  # pypi: the name of its package, if it has one"
    )
    tag = yamlemit.scalar(start.tag)
    return f"""\
# What is carried on {start.name}: on which releases, in which order, and why.
# `patchctl schema` prints the schema of this file, `patchctl lint` checks it and the patches.
version: 1
default: {tag}

upstream:
  name: {yamlemit.scalar(start.name)}
  git: {yamlemit.scalar(start.git)}
{pypi}
  tag: {yamlemit.quoted(start.template)}
  # Where a source archive lies in the repository, and what of it the repository does not have:
  # sdist: {{root: "python/", drop: [PKG-INFO, setup.cfg, "*.egg-info/**"]}}
  # Where the repository's folders are installed, for apply --installed:
  # layout: {{"python/{start.name}/": "{start.name}/"}}

targets:
  {tag}:
    # What the release must be; each source is held to its own pin.{waiting}
{pins}
    # The ids of the patches in order of application; each is patches/<tag>/<id>.patch
    patches: []

# One entry per id, for example:
#   fix-the-thing:
#     title: Fix the thing
#     why: it breaks on our machines
#     owner: our-team
#     upstream: {{status: submitted, url: "https://..."}}   # or pending, accepted, backport, denied, inappropriate
#     drop_when: ">=1.2"
#     expires: "2030-12-31"
patches: {{}}
"""
