"""Rules about what series.yaml says of patches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchctl.series import versions
from patchctl.workflows.lint.findings import Context, Finding, Severity
from patchctl.workflows.listing import is_past


def unused(context: Context) -> Iterator[Finding]:
    """Entries under patches that no target carries or dropped."""
    series = context.project.series
    used = {name for target in series.targets.values() for name in (*target.patches, *target.dropped)}
    for name in series.patches:
        if name not in used:
            why = f"no target carries '{name}', and none says that it was dropped."
            where = ("patches", name)
            yield context.in_series("unused-entry", why, where, key=True, severity=Severity.WARNING, patch=name)


def expired(context: Context) -> Iterator[Finding]:
    """Patches whose day to be looked at again is over."""
    carried = {patch.id for patch in context.carried}
    for name, info in context.project.series.patches.items():
        if name in carried and is_past(info.expires, context.today):
            why = f"'{name}' expired on {info.expires}: {info.owner} decides whether it stays."
            step = "drop the patch, or give it a new date"
            yield context.in_series("expired", why, ("patches", name, "expires"), patch=name, next=step)


def drop_when(context: Context) -> Iterator[Finding]:
    """Patches that a target still carries though its version is one they were to be dropped at."""
    series = context.project.series
    for name, info in series.patches.items():
        wish = info.drop_when
        if wish is None:
            continue
        if not versions.is_specifier(wish):
            if re.match(r"\s*[<>=!~]", wish):
                why = f"'{wish}' looks like a version specifier and is none, so nobody checks it."
                yield context.in_series("drop-when", why, ("patches", name, "drop_when"), patch=name)
            continue
        for tag, target in series.targets.items():
            version = versions.version_of(tag, series.upstream.tag)
            if name in target.patches and version is not None and versions.satisfies(version, wish):
                why = f"'{name}' was to be dropped at {wish}, and {tag} carries it."
                where = ("targets", tag, "patches", target.patches.index(name))
                yield context.in_series("drop-when", why, where, target=tag, patch=name)
