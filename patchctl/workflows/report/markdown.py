"""An upgrade as Markdown, for a job summary or the text of a pull request.

Everything that comes from a patch, from upstream or from series.yaml is text and stays it: what means something in
Markdown or HTML is written as an entity, code stands between fences longer than any run of backticks in it, and
nothing turns into a mention or a reference (a pull request would ping people and link issues of other repositories).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchctl.workflows.report import words
from patchctl.workflows.report.model import (
    Block,
    Excerpt,
    Finding,
    PatchStory,
    Requirement,
    Upgrade,
    UpstreamFile,
)
from patchctl.workflows.report.visible import one_line, visible

# A pull request's text holds 65,536 characters.
ROOM = 60_000
_ROWS = 200
_HUNKS = 6
_LEAST = 2500
_LINE = 90  # what is kept free for each patch, so that none goes without a word
_FINDINGS = 60
_EDGE = r"(?<![^\W_])_|_(?![^\W_])"  # an underscore that could begin or end something
_MEANING = re.compile(
    rf"[\\`*\[\]<>&|~$!^{{}}\"]|{_EDGE}"  # markup
    r"|[@#:](?=\S)|\b[Gg][Hh](?=-)|\b[Ww]{3}(?=\.)"  # mentions, references, addresses, emoji
)
_NOT_PLAIN = re.compile(rf"[^\w ./+,:;=…→·⟨⟩-]|{_EDGE}")
_SIMPLE = re.compile(r"[\w ./+,:;=<>@#()\[\]{}'\"…→·⟨⟩%&*!?$^~-]+")


def render(upgrade: Upgrade) -> bytes:
    """The report, about :data:`ROOM` characters at most: what is less urgent gives way first."""
    room = _Room(ROOM - _LINE * len(upgrade.patches))
    top = _Writer(room)
    for line in _top(upgrade):
        top.must(line)
    parts = {patch.id: _Writer(room) for patch in upgrade.patches}
    for patch in sorted(upgrade.patches, key=lambda patch: (not patch.stuck, not patch.waits)):
        _Patch(parts[patch.id], upgrade, patch).write()
    return "".join(part.text() for part in (top, *parts.values())).encode("utf-8")


def prose(text: str) -> str:
    """``text`` as running text of one line, without any meaning in Markdown."""
    return _MEANING.sub(_harmless, one_line(text))


def code(text: str) -> str:
    """``text`` as code in a line or a cell of a table."""
    line = one_line(text)
    return f"`{line}`" if _SIMPLE.fullmatch(line) else tagged(text)


def tagged(text: str) -> str:
    """``text`` as code where only HTML is understood."""
    line = one_line(text)
    return "<code>" + re.sub(r"[^\w ./+,;=…→·⟨⟩-]|_", _entity, line) + "</code>" if line else ""


def fenced(lines: Sequence[str], kind: str = "diff") -> str:
    """``lines`` as a block of code."""
    text = "\n".join(visible(line) for line in lines)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _harmless(found: re.Match[str]) -> str:
    if found[0] == "$":
        return "<span>$</span>"  # GitHub looks for formulas in the finished text, where an entity is a dollar again
    if found[0] in "@#:" or found[0].isalpha():
        return f"{found[0]}<!-- -->"
    return _entity(found)


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"


@dataclass
class _Room:
    """The characters that are left for all parts together."""

    left: int


class _Writer:
    """Lines, with as much of what may be left out as there is room for."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self._lines: list[str] = []

    def must(self, line: str = "") -> None:
        self._lines.append(line)
        self._room.left -= len(line) + 1

    def fold(self, summary: str, body: Sequence[str]) -> None:
        """A part that is folded up, or a word that it is left out. ``summary`` is safe as HTML already."""
        size = sum(len(line) + 1 for line in body)
        if size > self._room.left:
            self.must(f"_{summary}: left out here for want of room; it stands in the HTML report._")
            self.must()
            return
        end = len(body)
        while end and not body[end - 1]:
            end -= 1
        for line in ("<details>", f"<summary>{summary}</summary>", "", *body[:end], "", "</details>", ""):
            self.must(line)

    def has(self, room: int) -> bool:
        return self._room.left >= room

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


# The top


def _top(upgrade: Upgrade) -> Iterator[str]:
    yield f"# {prose(upgrade.name)}: {prose(upgrade.from_tag)} → {prose(upgrade.to_tag)}"
    yield ""
    yield prose(words.summary(upgrade))
    yield ""
    rows = (
        (
            str(patch.order),
            code(patch.id),
            f"{words.SIGNS.get(patch.outcome, '·')} {prose(patch.outcome)}",
            prose(words.patch_text(patch)),
            prose(words.near(patch)),
            str(len(patch.open)) if patch.open else "",
            prose(patch.owner),
        )
        for patch in upgrade.patches
    )
    yield from _table(("#", "patch", "outcome", "patch text", "upstream nearby", "to review", "owner"), rows)
    yield from _waiting(upgrade.patches)
    yield from _settled(upgrade)
    yield from _requires(upgrade)
    if not upgrade.history.there and upgrade.history.text:
        how = f" To have them here: {code(upgrade.history.next)}" if upgrade.history.next else ""
        yield f"{prose(upgrade.history.text)}{how}"
        yield ""


def _waiting(patches: Sequence[PatchStory]) -> Iterator[str]:
    waiting = [patch for patch in patches if patch.waits]
    if not waiting:
        yield "Nothing waits for a decision or a review."
        yield ""
        return
    yield "## What waits for a person"
    yield ""
    lines: list[str] = []
    for patch in waiting:
        findings = (*patch.problems, *patch.open) if patch.stuck else patch.open
        lines += (f"- {code(patch.id)} {_finding(finding)}" for finding in findings)
        if patch.stuck and not patch.problems:
            lines.append(f"- {code(patch.id)} {prose(words.OUTCOMES.get(patch.outcome, patch.outcome))}")
    yield from lines[:_FINDINGS]
    yield from (f"- {line}" for line in _cut(len(lines) - _FINDINGS, "findings"))
    yield ""


def _settled(upgrade: Upgrade) -> Iterator[str]:
    """What is over: patches that are not carried any more, and findings that somebody accepted."""
    gone = [f"- {code(patch.id)} {prose(words.gone(patch))}" for patch in upgrade.gone]
    accepted = [f"- {code(patch.id)} {_finding(one)}" for patch in upgrade.patches for one in patch.accepted]
    for title, lines in (("Not carried any more", gone), ("Accepted", accepted)):
        if lines:
            yield from (f"## {title}", "", *lines[:_FINDINGS])
            yield from (f"- {line}" for line in _cut(len(lines) - _FINDINGS, "of them"))
            yield ""


def _requires(upgrade: Upgrade) -> Iterator[str]:
    if not upgrade.requires:
        return
    yield "## What patches need at run time"
    yield ""
    yield from _table(
        ("package", upgrade_cell(upgrade.from_tag), upgrade_cell(upgrade.to_tag), "upstream asks for"),
        (_requirement(entry) for entry in upgrade.requires),
    )


def upgrade_cell(tag: str) -> str:
    return prose(f"on {tag}")


def _requirement(entry: Requirement) -> tuple[str, ...]:
    asked = words.asked(entry)
    name = code(entry.package)
    then, now = (prose("; ".join(side)) or "nothing" for side in (entry.then, entry.now))
    return (f"**{name}** (changed)" if entry.changed else name, then, now, prose(asked))


# A patch


class _Patch:
    def __init__(self, out: _Writer, upgrade: Upgrade, patch: PatchStory) -> None:
        self.out = out
        self.upgrade = upgrade
        self.patch = patch

    def write(self) -> None:
        """The whole of it, or a line where there is no room."""
        patch, out = self.patch, self.out
        if not out.has(_LEAST):
            out.must(f"- {code(patch.id)}: {prose(patch.outcome)}. More stands in the HTML report.")
            out.must()
            return
        out.must(f"## {patch.order}. {code(patch.id)}: {prose(patch.outcome)}")
        out.must()
        out.must(prose(patch.title))
        out.must()
        for label, text in words.facts(patch, self.upgrade):
            out.must(f"- **{label}:** {code(text) if label in words.CODE else prose(text)}")
        out.must()
        self._findings(words.problems(patch), patch.problems)
        self._findings("To review", patch.open)
        self._findings("Accepted", patch.accepted)
        self._findings("Evidence", patch.evidence)
        for block in patch.conflicts:
            self._block(f"Conflict at {tagged(block.heading)}", block)
        self._interdiff()
        for file in patch.upstream:
            self._upstream(file)
        self._hunks()

    def _findings(self, title: str, findings: Sequence[Finding]) -> None:
        if not findings:
            return
        self.out.must(f"**{title}**")
        self.out.must()
        for finding in findings:
            self.out.must(f"- {_finding(finding)}")
        self.out.must()
        for finding in findings:
            sides = [side for side in (finding.then, finding.now) if side is not None]
            if sides:
                where = tagged(f"{finding.file}:{finding.line}")
                self.out.fold(f"{where} then and now", [line for side in sides for line in _excerpt(side)])

    def _block(self, summary: str, block: Block) -> None:
        rows = [f"{row.new or '':>5} {row.text}" for row in block.rows[:_ROWS]]
        self.out.fold(summary, [fenced([*rows, *_cut(len(block.rows) + block.cut - len(rows))], "text")])

    def _interdiff(self) -> None:
        inter = self.patch.interdiff
        if inter.kind != "changed":
            return
        lines: list[str] = []
        for block in inter.blocks:
            lines.append(f"@@ {block.heading} @@")
            lines += (f"{row.sign}{row.text}" for row in block.rows)
        kept = lines[:_ROWS]
        tags = f"{prose(self.upgrade.from_tag)} and {prose(self.upgrade.to_tag)}"
        text = fenced([*kept, *_cut(len(lines) - len(kept) + inter.cut)])
        self.out.fold(f"Old against new patch ({tags})", [text])

    def _upstream(self, file: UpstreamFile) -> None:
        if file.state in ("same", "absent"):
            self.out.must(f"Upstream in {code(file.path)}: {prose(words.state(file))}.")
            self.out.must()
            return
        body = [prose(words.upstream(file, self.upgrade)), ""]
        for commit in file.commits:
            mark = "**near** " if commit.near else ""
            body.append(f"- {mark}{code(commit.id[:12])} {commit.date} {prose(commit.subject)}")
        if file.commits:
            body += [*(f"- {line}" for line in _cut(file.commits_cut, "commits")), ""]
        for hunk in file.hunks[:_HUNKS]:
            rows = [f"{row.sign}{row.text}" for row in hunk.block.rows]
            body += [fenced([hunk.block.heading, *rows, *_cut(hunk.block.cut)]), ""]
        more = len(file.hunks) - _HUNKS + file.cut
        body += _cut(more, "changes nearby") if more > 0 else []
        self.out.fold(f"Upstream in {tagged(file.path)}: {prose(words.state(file))}", body)

    def _hunks(self) -> None:
        rows = [
            (
                code(file.onto or file.path),
                str(hunk.old_start),
                str(hunk.new_start or ""),
                prose(hunk.method),
                f"{hunk.score:g}",
                code(hunk.scope or ""),
            )
            for file in self.patch.files
            for hunk in file.hunks
        ]
        if rows:
            head = ("file", "line then", "line now", "method", "score", "scope")
            self.out.fold("Where each hunk landed", list(_table(head, rows)))


def _finding(finding: Finding) -> str:
    where = words.where(finding)
    text = f"{prose(finding.kind)}: {prose(finding.text)}"
    if where:
        text = f"{code(where)} {text}"
    if finding.accepted:
        text += f" Accepted {prose(words.accepted(finding))}"
    return f"{text} Next: {code(finding.next)}" if finding.next else text


def _excerpt(side: Excerpt) -> list[str]:
    rows = [f"{row.sign} {row.new or '':>5} {row.text}" for row in side.rows]
    return [f"{prose(side.label)}, {code(side.file)}", "", fenced(rows), ""]


def _cut(count: int, what: str = "lines") -> list[str]:
    return [f"… {count} more {what}"] if count > 0 else []
