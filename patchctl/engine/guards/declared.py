"""What a text declares, told from the beginnings of its lines: one pattern for each way in which a language does it.

Nothing is parsed. A pattern may take for a declaration what is none: only names count that a result has more often
than both sides have, in the very same scope, and for these a person is to decide anyway.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from patchctl.engine.merge.scope import Scopes, kind_of
from patchctl.engine.merge.text import Text

# The scope, and the name in it.
Key = tuple[str, ...]
# What a line must be, what the line that opens its scope must be (None: anything, or nothing), and what is declared.
_Pattern = tuple[re.Pattern[bytes], re.Pattern[bytes] | None]

_JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue", ".svelte")
_C = (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".m", ".in")
_SHELL = (".sh", ".bash", ".zsh")
_MARKUP = (".html", ".htm", ".jinja", ".jinja2")
_FENCE = (b"```", b"~~~")


def _pattern(line: bytes, opener: bytes | None = None) -> _Pattern:
    return re.compile(line), re.compile(opener) if opener is not None else None


_CASE = _pattern(rb"case\s+(?P<name>[^:]+):")
_FIELD = _pattern(
    rb"[\"']?(?P<name>(?!default\b|case\b|public\b|private\b)[\w$.-]+)[\"']?\s*\??:(?:\s|\Z)", rb".*[{(\[,]\Z"
)
_PATTERNS: tuple[tuple[tuple[str, ...], tuple[_Pattern, ...]], ...] = (
    (
        _JS,
        (
            _CASE,
            _FIELD,
            _pattern(
                rb"(?:(?:public|private|protected|static|async|override|readonly)\s+)*"
                rb"(?P<name>(?:[gs]et\s+)?(?!(?:if|for|while|switch|catch|function|with)\b)[\w$#]+)\s*\([^;]*\)"
                rb"\s*(?::[^;{]*)?\{\Z",
                rb".*\{\Z",
            ),
            _pattern(rb"(?:export\s+)?(?:const|let)\s+(?P<name>[\w$]+)\s*[:=]"),
        ),
    ),
    (
        (".go",),
        (
            _CASE,
            _FIELD,
            _pattern(rb"(?P<name>\w+)\s*:="),
            _pattern(rb"(?P<name>\w+)(?:\s|\Z)", rb"(?:(?:const|var)\s*\(|.*\bstruct\s*\{)\Z"),
        ),
    ),
    (
        _C,
        (
            _CASE,
            _pattern(rb"#\s*define\s+(?P<name>\w+)"),
            _pattern(rb"(?P<name>\.\w+)\s*=", rb".*\{\Z"),
            _pattern(rb"(?P<name>\w+)\s*(?:=[^;]*)?,?\Z", rb"(?:typedef\s+)?enum\b.*\{\Z"),
            _pattern(rb"\w[\w\s*<>:]*?(?P<name>\w+)\s*(?:\[[^;]*)?;", rb"(?:typedef\s+)?(?:struct|union)\b.*\{\Z"),
        ),
    ),
    ((".java", ".cs", ".kt", ".scala", ".swift"), (_CASE,)),
    ((".rs",), (_FIELD, _pattern(rb"(?P<name>\S.*?)\s*=>", rb".*\bmatch\b.*\{\Z"))),
    (
        _SHELL,
        (
            _pattern(rb"(?:function\s+)?(?P<name>[\w:-]+)\s*\(\)"),
            _pattern(rb"\(?(?P<name>[^\s()]+)\)(?:\s.*)?\Z", rb"case\s.*\sin\Z"),
        ),
    ),
    ((".env", ".properties"), (_pattern(rb"(?:export\s+)?(?P<name>[\w.-]+)\s*[=:]"),)),
    (
        (".proto",),
        (
            _pattern(rb"(?:\w[\w.]*\s+)+?(?P<name>\w+)\s*=\s*\d+"),
            _pattern(rb"[\w.\s<>,]+(?P<name>=\s*\d+)\s*(?:\[.*)?;", rb"(?:message|enum|oneof)\b.*\{\Z"),
        ),
    ),
    (
        (".sql",),
        (
            _pattern(
                rb"(?i)[\"`]?(?P<name>(?!(?:constraint|primary|foreign|unique|check|key|index)\b)\w+)[\"`]?\s+\w",
                rb"(?i)create\s.*\btable\b.*\(\Z",
            ),
            _pattern(rb"(?i)create\s+(?:\w+\s+)*?(?P<name>(?:table|index|view|type)\s+(?:if not exists\s+)?[\w.\"`]+)"),
        ),
    ),
    (_MARKUP, (_pattern(rb".*\bid=[\"'](?P<name>[\w-]+)[\"']"),)),
)
_REQUIREMENT = re.compile(rb"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=<>!~@][^;]*)?(?P<marker>;.*)?\Z")
_RECIPE = re.compile(rb"(?P<name>[\w./-]+)\s*:(?![:=])")
_STAGE = re.compile(rb"(?i)from\s.*\sas\s+(?P<name>\S+)")
_HEADING = re.compile(rb"(?P<level>#{1,6})\s+(?P<name>.*\S)")


def declared(path: str, text: Text) -> Iterator[tuple[Key, int]]:
    """What ``text`` declares, each with the lines that are open around it, and on which line (index)."""
    name = path.rpartition("/")[2].lower()
    if name.endswith((".txt", ".in")) and name.startswith(("requirements", "constraints")):
        yield from _requirements(text)
    elif name.endswith((".md", ".markdown")):
        yield from _headings(text)
    elif name in ("makefile", "gnumakefile") or name.endswith(".mk"):
        yield from _recipes(text)
    elif name.startswith("dockerfile") or name.endswith(".dockerfile"):
        for at, line in enumerate(text.lines):
            if found := _STAGE.match(line):
                yield ("stage", _shown(found["name"])), at
    else:
        patterns = next((patterns for endings, patterns in _PATTERNS if name.endswith(endings)), ())
        yield from _by_pattern(path, text, patterns)


def _by_pattern(path: str, text: Text, patterns: Sequence[_Pattern]) -> Iterator[tuple[Key, int]]:
    scopes = Scopes(text, kind_of(path))
    numbers = numbered(text) if patterns else []
    for at, line in enumerate(text.lines):
        told = line.strip()
        for number, (pattern, opener) in enumerate(patterns):
            found = pattern.match(told)
            if not found:
                continue
            chain = scopes.chain(at, max(text.indents[at], 0))
            if opener is not None and not (chain and opener.match(_code(text.lines[chain[-1]]))):
                continue
            shown = tuple(_shown(text.lines[above].strip()) for above in chain)
            yield (*shown, str(numbers[chain[-1]]) if chain else "", str(number), _shown(found["name"])), at


def _code(line: bytes) -> bytes:
    return line.partition(b"//")[0].strip()


def numbered(text: Text) -> list[int]:
    """For each line how many of the same text stand above it."""
    seen: Counter[bytes] = Counter()
    out = []
    for line in text.lines:
        out.append(seen[line])
        seen[line] += 1
    return out


def _requirements(text: Text) -> Iterator[tuple[Key, int]]:
    for at, line in enumerate(text.lines):
        found = _REQUIREMENT.match(line.partition(b" #")[0].strip())
        if found:
            marker = _shown(b"".join((found["marker"] or b"").split()))
            yield (marker, re.sub(r"[-_.]+", "-", _shown(found["name"]).lower())), at


def _recipes(text: Text) -> Iterator[tuple[Key, int]]:
    """Targets with a recipe: without one, a line only adds to what a target needs."""
    for at, line in enumerate(text.lines[:-1]):
        found = _RECIPE.match(line)
        if found and text.lines[at + 1].startswith(b"\t"):
            yield ("target", _shown(found["name"])), at


def _headings(text: Text) -> Iterator[tuple[Key, int]]:
    """The headings of Markdown below those that they stand under."""
    around: list[tuple[int, str]] = []
    fenced = False
    for at, line in enumerate(text.lines):
        fenced ^= line.lstrip().startswith(_FENCE)
        found = _HEADING.match(line) if not fenced else None
        if found:
            level = len(found["level"])
            while around and around[-1][0] >= level:
                around.pop()
            around.append((level, _shown(found["name"])))
            yield tuple(name for _, name in around), at


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
