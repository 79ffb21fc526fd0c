"""Texts that try to be more than text, and an upgrade that is made of nothing else."""

from __future__ import annotations

from patchctl.engine.outcome import FileRecord, HunkRecord
from patchctl.workflows.report.model import (
    Block,
    Commit,
    Decided,
    Excerpt,
    Finding,
    History,
    Interdiff,
    PatchStory,
    Requirement,
    Row,
    Upgrade,
    UpstreamFile,
    UpstreamHunk,
)

TEXTS = [
    "</code></pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onmouseover='alert(1)",
    "```\n</details>\n\n# A heading\n\n<h1>x</h1>",
    "``````````\n<b>x</b>",
    "~~~\n~~~~~~\n<b>x</b>",
    "| a | b |\n|---|---|\n| c | d |",
    "x \\| y \\\\| z | <u>w</u>",
    "[x](javascript:alert(1)) ![x](http://e.invalid/x.png) <http://e.invalid>",
    "javascript:alert(1)",
    "@team #1 GH-2 org/repo#3 http://e.invalid www.e.invalid a@b.invalid :tada: $x$ $$y$$",
    "*b* _i_ __u__ ~~s~~ `c` **bold**",
    "\u202eevil\u2066 \u200b\u00ad\u00a0 \ufeff",
    "a\x00b\x1b[31mred\x7f\x85\u2028\u2029end\r\nnext\rlast",
    "\udcff\udc80 bytes",
    "{{ 7 * 7 }} {% raw %} {{ upgrade }}",
    "&lt;script&gt; &#x3c;b> &amp;",
    "<!-- --> <![CDATA[ x ]]> <?php x ?>",
    "\n\n> quote\n\n- [ ] item\n\n1. one\n\n    indented\n\n---\n\n===",
    "<details open><summary>x",
    "a\U000e0041\ufe0f\u3164\u115f",
    "\t\t",
    "",
]  # fmt: skip


def upgrade(text: str, outcome: str = "conflict") -> Upgrade:
    """An upgrade in which ``text`` stands wherever text can."""
    t = text
    row, plain = Row("+", t, 1, 2), Row(" ", t, 3, 4)
    block = Block(t, (row, plain, Row("-", t, 5)), 3)
    excerpt = Excerpt(t, t, (row, plain))
    finding = Finding(t, t, t, 7, 1, t, excerpt, excerpt)
    told = Finding(t, t, t, 7, accepted=True, by=t, reason=t, date=t)
    commit = Commit("0" * 40, "2026-01-01", t, True, "https://example.org/commit/0")
    file = UpstreamFile(t, t + "2", "moved", (UpstreamHunk(block, 0, 1, 2),), 2, 1, (commit,), 4)
    story = PatchStory(
        "some-id", 1, outcome, Interdiff("changed", (block, block), 5), t, t, t, t, t, t, t, t, ((t, t),), t, True, t,
        block, Decided(t, t, t, t), (FileRecord(t, t, t, (HunkRecord(1, 2, t, 0.5, t),)),), (file,), (finding,),
        (finding, told), (finding,), (block,),
    )  # fmt: skip
    need = Requirement(t, (t,), (t,), t, t)
    return Upgrade(t, t, t, (story,), (need,), History(False, t, t), "2026-01-01")
