"""Finds the sections of a diff among prose, and refuses what looks like a change but can't be read as one."""

from __future__ import annotations

import re
from collections.abc import Callable

from patchctl.engine import filepatch, headers
from patchctl.engine.filepatch import Scan
from patchctl.engine.quoting import text
from patchctl.engine.source import Source
from patchctl.errors import Refused

# Lines outside a section that need a look, by how they begin; all else there is prose.
_NOTABLE = re.compile(
    rb"diff --git |diff --cc |diff --combined |--(?:-| ?\r?$)|@@|\*\*\* |Binary files? |Files |GIT binary patch"
    rb"|Cannot display: |Index: |Property changes on: |Submodule |Only in |\x1b\[|\d+(?:,\d+)?[acdis]"
    rb"|(?:new|deleted) file mode \d{6}|(?:old|new) mode \d{6}|(?:rename|copy) (?:from|to) "
)
_NORMAL = rb"\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?"
_ED = rb"\d+(?:,\d+)?[acdi]\r?"
_SUBMODULE = rb"Submodule (\S+) (?:[0-9a-f]{7,}\.{2,3}[0-9a-f]{7,}|contains |\(new submodule\)).*"
_LONE_HEADER = rb"(?:new file|deleted file|old|new) mode \d{6}\r?|(?:rename|copy) (?:from|to) .+"

# What a text is that holds no section, by a line in it; the first that fits names it.
_OTHER_FORMATS = (
    (re.compile(rb"\s*<(?:!doctype|html|head|\?xml)", re.IGNORECASE), "a web page"),
    (re.compile(rb"\s+(?:diff --git |--- \S|@@ -\d)"), "an indented diff"),
    (re.compile(rb"(?:> ?)+(?:diff --git |--- \S|@@ -\d)"), "a quoted diff"),
    (re.compile(rb"[<>] "), "a normal diff (made without -u)"),
)


class _Scanner:
    """Walks over one text; ``mail`` says that a ``---`` line ends a message there."""

    def __init__(self, source: Source, mail: bool) -> None:
        self.source = source
        self.mail = mail
        self.scan = Scan()
        self.index: tuple[int, str] | None = None  # an svn or CVS ``Index:`` line that waits for its section
        self.signed = False
        self._last: dict[str, int] = {}  # where the last line of a kind stands; what follows is asked for often

    def run(self, at: int) -> Scan:
        lines = self.source.lines
        while at < len(lines):
            if not _NOTABLE.match(lines[at]):
                at += 1
                continue
            line = self.source.header(at)
            if line.startswith(b"diff --git "):
                self._settle_index()
                at = filepatch.read_git(self.source, at, self.scan)
            elif line.startswith(b"---"):
                at = self._dashes(at, line)
            elif line.startswith(b"--"):
                self.signed = bool(self.scan.files)  # a mail's signature behind the diff: the rest is footers
                at += 1
            else:
                at = self._other(at, line)
        self._settle_index()
        return self.scan

    def _dashes(self, at: int, line: bytes) -> int:
        if headers.starts_pair(self.source, at):
            after = filepatch.read_plain(self.source, at, self.scan)
            self._check_index()
            return after
        if line.rstrip() == b"---" and self.mail and not self.signed and self.scan.files:
            names = ", ".join(file.path for file in self.scan.files)
            raise self.source.refused(
                "diff-in-message",
                f"the message, above its '---' line, holds a diff that would change {names}; indent it or take it out",
                self.scan.files[0].path,
            )
        return at + 1

    def _other(self, at: int, line: bytes) -> int:
        source = self.source
        if line.startswith((b"diff --cc ", b"diff --combined ", b"@@@")):
            name = text(line.split(b" ", 2)[-1].rstrip(b"\r")) if line.startswith(b"diff") else None
            raise source.refused(
                "combined", f"line {source.number(at)}: a combined diff of a merge fits no single tree", name
            )
        if line.startswith(b"@@ -"):
            raise source.refused("junk", f"line {source.number(at)}: a hunk without a file header above it")
        if line.startswith(b"\x1b["):
            raise source.refused(
                "colours", f"line {source.number(at)} begins with a colour code: make the diff with --color=never"
            )
        if line.startswith(b"*** ") and self._context_diff(at):
            raise source.refused("context-diff", f"line {source.number(at)}: a context diff; make it with diff -u")
        if line.startswith(b"Property changes on: "):
            return self._properties(at, line)
        if line.startswith(b"Index: "):
            self._settle_index()
            self.index = (at, text(line[7:].rstrip(b"\r")))
        elif line.startswith(b"Only in "):
            self.scan.notes.append(f"line {source.number(at)}: {text(line.rstrip())}; the diff does not hold that file")
        elif line.startswith(b"Cannot display: "):
            raise filepatch.omitted(source, self.index[1] if self.index else "a file")
        elif line.startswith(b"GIT binary patch"):
            raise source.refused("junk", f"line {source.number(at)}: a binary patch without a file header above it")
        else:
            self._suspicious(at, line)
        return at + 1

    def _suspicious(self, at: int, line: bytes) -> None:
        source, lines = self.source, self.source.lines
        differing = filepatch.differing(line)
        if differing is not None:
            raise filepatch.omitted(source, text(differing))
        submodule = re.fullmatch(_SUBMODULE, line.rstrip(b"\r"))
        if submodule:
            name = text(submodule.group(1))
            raise source.refused("submodule", f"{name} is a submodule, which patchctl does not change", name)
        if (self.scan.files or self.scan.notes) and re.fullmatch(_LONE_HEADER, line):
            raise source.refused("junk", f"line {source.number(at)} belongs to a header, but stands outside of one")
        following = lines[at + 1] if at + 1 < len(lines) else b""
        if re.fullmatch(_NORMAL, line) and following.startswith((b"< ", b"> ")):
            raise source.refused(
                "normal-diff", f"line {source.number(at)}: a normal diff, which names no file; make it with diff -u"
            )
        if re.fullmatch(_ED, line) and self._is_ed(at):
            raise source.refused("ed-script", f"line {source.number(at)}: an ed script, which is never run")

    def _context_diff(self, at: int) -> bool:
        lines = self.source.lines
        return at + 2 < len(lines) and lines[at + 1].startswith(b"--- ") and lines[at + 2].startswith(b"*" * 15)

    def _is_ed(self, at: int) -> bool:
        """Whether an ed command at ``at`` is one: its text ends with a dot, or (``d``) there is no diff at all."""
        if self.source.lines[at].rstrip().endswith(b"d"):
            begins = self._last_of("diff", lambda line: line.startswith((b"diff --git ", b"--- ")))
            return not self.scan.files and begins <= at
        return self._last_of("dot", lambda line: line.rstrip() == b".") > at

    def _last_of(self, kind: str, is_one: Callable[[bytes], bool]) -> int:
        """The index of the last line that ``is_one`` of a ``kind``; -1 for none."""
        if kind not in self._last:
            lines = self.source.lines
            self._last[kind] = next((at for at in range(len(lines) - 1, -1, -1) if is_one(lines[at])), -1)
        return self._last[kind]

    def _properties(self, at: int, line: bytes) -> int:
        """Skip an svn property section, which ends where the next file begins."""
        name = text(line[len(b"Property changes on: ") :].rstrip(b"\r"))
        self.scan.notes.append(f"property changes on {name} were not applied: only svn has such")
        self.index = None
        lines = self.source.lines
        at += 1
        while at < len(lines) and not lines[at].startswith((b"Index: ", b"diff --git ", b"Property changes on: ")):
            if headers.starts_pair(self.source, at):
                break
            at += 1
        return at

    def _check_index(self) -> None:
        """The section just read must be the one that the ``Index:`` line above it announced."""
        section = self.scan.files[-1]
        if self.index is not None:
            index = self.index[1]
            names = [name for name in (section.old_path, section.new_path) if name]
            if not any(name == index or name.endswith("/" + index) for name in names):
                reason = f"the Index: line names {index}, the ---/+++ lines name {section.path}"
                raise self.source.refused("names-differ", reason, section.path)
        self.index = None

    def _settle_index(self) -> None:
        if self.index is not None:
            at, name = self.index
            raise self.source.refused("no-hunks", f"line {self.source.number(at)}: {name} has no diff behind it", name)


def scan(source: Source, start: int = 0, mail: bool = False) -> Scan:
    """The sections of the text from line index ``start`` on. May find none. Raises Refused."""
    return _Scanner(source, mail).run(start)


def nothing_found(source: Source) -> Refused:
    """The fault for a text without a section, saying what it seems to be instead."""
    if not any(line.strip() for line in source.lines):
        return source.refused("empty", "the patch is empty")
    for line in source.lines:
        for pattern, what in _OTHER_FORMATS:
            if pattern.match(line):
                return source.refused("junk", f"there is no diff in it: it looks like {what}")
    return source.refused("junk", "there is no diff in it")
