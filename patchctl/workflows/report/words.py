"""What both renderings for people say, as plain text that each of them escapes in its own way."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.workflows.report.model import (
    Finding,
    PatchStory,
    Requirement,
    Upgrade,
    UpstreamFile,
)

OUTCOMES = {
    "unchanged": "It fits as it was.",
    "offset": "Only line numbers moved.",
    "merged": "Merged with what upstream changed.",
    "relocated": "It followed a renamed file or moved code.",
    "structural": "Merged by a rule about syntax.",
    "replayed": "A remembered resolution was used again.",
    "upstreamed": "Upstream has it now; it is not carried any more.",
    "partial": "Upstream has part of it; the rest is carried.",
    "superseded": "Upstream has its own version of what it adds; a person decides.",
    "conflict": "It meets a change of upstream's; a person decides.",
    "waiting": "It builds on a patch that is in conflict.",
    "refused": "It was refused.",
    "resolved": "A person resolved what the engine left open.",
    "kept": "A person decided to carry it although upstream has its own version.",
    "dropped": "A person decided not to carry it any more.",
    "added": "New on this release.",
    "missing": "It is neither carried nor dropped: nobody decided about it.",
}
# So that the outcome can be told without colour.
SIGNS = {
    "refused": "✖", "conflict": "✖", "superseded": "✖", "waiting": "✖", "missing": "✖",
    "partial": "!", "replayed": "!", "resolved": "●", "kept": "●", "structural": "~", "relocated": "~", "merged": "~",
    "offset": "✓", "unchanged": "✓", "upstreamed": "↑", "dropped": "−", "added": "+",
}  # fmt: skip
_KINDS = {
    "same": "unchanged",
    "numbers": "only line numbers",
    "changed": "changed",
    "old-only": "not carried",
    "new-only": "new",
}
_STATES = {
    "same": "not changed",
    "changed": "changed",
    "moved": "moved",
    "gone": "gone",
    "new": "there now, and was not before",
    "absent": "on neither release",
}
# Facts that are code rather than sentences.
CODE = frozenset({"upstream's URL", "file"})


def summary(upgrade: Upgrade) -> str:
    """One sentence about the whole."""
    total = plural(len(upgrade.patches), "patch", "patches")
    parts = ", ".join(f"{count} {outcome}" for outcome, count in upgrade.counts.items())
    waiting = sum(patch.stuck for patch in upgrade.patches)
    reviews = sum(len(patch.open) for patch in upgrade.patches)
    text = f"{total}: {parts}." if parts else f"{total}."
    text += f" {plural(waiting, 'waits', 'wait')} for a decision." if waiting else ""
    return text + (f" {plural(reviews, 'place', 'places')} to review." if reviews else "")


def plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def patch_text(patch: PatchStory) -> str:
    """How the patch's text changed, in a word or two."""
    return _KINDS[patch.interdiff.kind]


def near(patch: PatchStory) -> str:
    """What upstream did near to it, in a word or two."""
    moved = [file for file in patch.upstream if file.state in ("moved", "gone", "new")]
    parts = [f"{patch.near} near"] if patch.near else []
    parts += [f"{state(file)}" for file in moved[:1]]
    return ", ".join(parts) or ("elsewhere" if any(file.elsewhere for file in patch.upstream) else "none")


def state(file: UpstreamFile) -> str:
    return f"moved to {file.onto}" if file.state == "moved" else _STATES[file.state]


def upstream(file: UpstreamFile, upgrade: Upgrade) -> str:
    """What upstream did to a file, in sentences."""
    parts = []
    if file.state == "moved":
        parts.append(f"{file.path} is {file.onto} on {upgrade.to_tag}.")
    elif file.state != "changed":
        parts.append({
            "same": f"Upstream did not change it between {upgrade.from_tag} and {upgrade.to_tag}.",
            "gone": f"{upgrade.to_tag} does not have it any more.",
            "new": f"{upgrade.from_tag} did not have it; {upgrade.to_tag} does.",
            "absent": "Neither release has it.",
        }[file.state])  # fmt: skip
    if file.hunks or file.cut:
        parts.append(
            f"{plural(len(file.hunks) + file.cut, 'change', 'changes')} of upstream's near to the patch's lines."
        )
    if file.elsewhere:
        parts.append(f"{plural(file.elsewhere, 'change', 'changes')} elsewhere in the file.")
    return " ".join(parts) or "Only its mode or its bytes changed."


def asked(entry: Requirement) -> str:
    """What upstream asks of a package, then and now."""
    then, now = (text or "nothing" for text in (entry.upstream_then, entry.upstream_now))
    return then if then == now else f"{then}, now {now}"


def where(finding: Finding) -> str:
    """The place of a finding: file, line, hunk."""
    if finding.file is None:
        return ""
    text = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    return f"{text} (hunk {finding.hunk})" if finding.hunk is not None else text


def accepted(finding: Finding) -> str:
    by = f"by {finding.by}" if finding.by else ""
    on = f"on {finding.date}" if finding.date else ""
    return " ".join(part for part in (by, on) if part) + f": {finding.reason}"


def facts(patch: PatchStory, upgrade: Upgrade) -> Iterator[tuple[str, str]]:
    """What is known of a patch, as labels and text, in order; what is not known is left out."""
    found = [
        ("outcome", _outcome(patch)),
        ("decided", decided(patch)),
        ("patch text", _interdiff(patch, upgrade)),
        ("why", patch.why),
        ("owner", patch.owner),
        ("upstream", patch.upstream_status),
        ("upstream's URL", patch.upstream_url or ""),
        ("drop when", patch.drop_when or ""),
        ("expires", patch.expires or ""),
        ("written", patch.since or ""),
        ("needs", ", ".join(f"{name}{specifier}" for name, specifier in patch.requires)),
        ("file", patch.path or ""),
    ]
    return ((label, text) for label, text in found if text)


def gone(patch: PatchStory) -> str:
    """Why a patch is not carried any more."""
    return decided(patch) or "; ".join(note.text for note in patch.evidence) or OUTCOMES.get(patch.outcome, "")


def _outcome(patch: PatchStory) -> str:
    text = f"{patch.outcome}. {OUTCOMES.get(patch.outcome, '')}".strip()
    if patch.engine is not None:
        text += f" The engine alone says: {patch.engine}."
    if patch.differs:
        text += " What is carried differs from what the engine writes today: somebody edited it."
    return text


def decided(patch: PatchStory) -> str:
    """Who decided what about a patch, and why; nothing if nobody did."""
    entry = patch.decided
    if entry is None:
        return ""
    text = f"{entry.how} by {entry.by}" if entry.by else entry.how
    text += f". Reason: {entry.reason}" if entry.reason not in ("", entry.how) else ""
    return text + (f". Evidence: {entry.evidence}" if entry.evidence else "")


def problems(patch: PatchStory) -> str:
    """The heading over what the engine could not decide."""
    return "Open" if patch.stuck else "What the engine left open"


def _interdiff(patch: PatchStory, upgrade: Upgrade) -> str:
    kind = patch.interdiff.kind
    return {
        "same": "unchanged, byte for byte",
        "numbers": "unchanged but for line numbers and blob ids",
        "changed": f"differs between {upgrade.from_tag} and {upgrade.to_tag}",
        "old-only": f"not carried on {upgrade.to_tag}",
        "new-only": f"not carried on {upgrade.from_tag}",
    }[kind]
