"""Names that a patch imports from another file of the tree, in which they no longer are.

A module is a file of the tree or somebody else's: only what the base tree really has at that name counts, and only
if the new tree has not. Where a module makes names in ways that its text does not show (``__getattr__``,
``globals()``, a star import from elsewhere), nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from patchctl.engine.guards.facts import Names, names, parse
from patchctl.engine.guards.finding import Finding
from patchctl.engine.state import LINK, FileState
from patchctl.errors import Refused

_IMPORT = re.compile(
    rb"[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+"
    rb"(?P<names>\((?:[^)#]|#[^\n]*)*\)|(?:[^\n\\#]|\\\r?\n)*)|import[ \t]+(?P<plain>[\w., \t]+))"
)
_COMMENT = re.compile(rb"#[^\n]*")
# A line that may be an import or a part of one, or that uses an attribute of what may be a module.
_HINT = re.compile(rb"\bimport\b|^\s+[\w ]+,?\s*(?:#.*)?$|(?<![\w.])(?!self\.|cls\.)[A-Za-z_]\w*\.[A-Za-z_]")
_ATTRIBUTE = re.compile(rb"(?<![\w.])(?!self\.|cls\.)([A-Za-z_]\w*)\.([A-Za-z_]\w*)")
_ROOTS = ("", "src/", "python/", "lib/")
_DEEPEST = 4
_CATCHES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException", ""})


class Tree(Protocol):
    """Where modules are looked for: a tree, or one with changes laid over it."""

    def get(self, path: str) -> FileState | None:
        """The file at ``path``, None if there is none."""


@dataclass(frozen=True, slots=True)
class Import:
    """``name`` of ``module``, bound to ``bound``; ``name`` is None for ``import module``."""

    module: str
    name: str | None
    bound: str


class Modules:
    """The Python modules of one tree; what was read is kept, so make one for a whole run."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._read: dict[str, bytes | None] = {}

    def data(self, path: str) -> bytes | None:
        """The text of the file at ``path``; None if there is none."""
        if path not in self._read:
            self._read[path] = self._get(path)
        return self._read[path]

    def _get(self, path: str) -> bytes | None:
        try:
            state = self._tree.get(path)
        except Refused:
            return None  # behind a link, where nothing is looked for
        return state.data if state is not None and state.mode != LINK else None

    def find(self, importer: str, module: str) -> str | None:
        """The file that the file ``importer`` means by ``module`` (dots of a relative import first); None: no file
        of this tree."""
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module[dots:].split(".") if part]
        if dots:
            folders = importer.split("/")[:-1]
            if dots - 1 > len(folders):
                return None
            return self._at("/".join([*folders[: len(folders) - dots + 1], *parts]))
        for root in self._roots(importer, parts[0]) if parts else ():
            found = self._at(root + "/".join(parts))
            if found:
                return found
        return None

    def has(self, path: str, name: str, depth: int = 0) -> bool | None:
        """Whether the module at ``path`` has ``name``; None: its text does not tell."""
        data = self.data(path)
        if data is None:
            return None
        if _evident(data, name):
            return True
        if path.endswith("/__init__.py") and self._at(path[: -len("__init__.py")] + name):
            return True
        told = names(data)
        if told is None:
            return None
        if name in told.top:
            return True
        return self._by_star(path, told, name, depth)

    def _by_star(self, path: str, told: Names, name: str, depth: int) -> bool | None:
        unknown = told.open
        for star in told.stars:
            other = self.find(path, star) if depth < _DEEPEST else None
            found = self._public(other, name, depth + 1) if other else None
            if found:
                return True
            unknown = unknown or found is None
        return None if unknown else False

    def _public(self, path: str, name: str, depth: int) -> bool | None:
        """Whether a star import of the module at ``path`` brings ``name``."""
        told = names(self.data(path) or b"")
        if told is not None and told.listed is not None:
            return name in told.listed
        return False if name.startswith("_") else self.has(path, name, depth)

    def _at(self, stem: str) -> str | None:
        for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi", f"{stem}.pyx"):
            if self.data(path) is not None:
                return path
        return None

    def _roots(self, importer: str, top: str) -> Iterator[str]:
        """Folders that the package ``top`` may lie in: those around the importing file, then the usual ones."""
        folders = importer.split("/")[:-1]
        if top in folders:
            yield "".join(f"{folder}/" for folder in folders[: folders.index(top)])
        for count in range(len(folders), 0, -1):
            yield "".join(f"{folder}/" for folder in folders[:count])
        yield from _ROOTS


def gone(
    path: str,
    texts: tuple[bytes, bytes, bytes, bytes],
    added: Sequence[bytes],
    there: Modules,
    here: Modules,
    old_path: str | None = None,
) -> list[Finding]:
    """What the result uses of other modules that the base tree (``there``) has and the new tree (``here``) has not.

    ``texts``: the file in the base, after the patch there, in the new tree, and the result. ``added``: the lines that
    the patch adds. ``path`` is the file's name in the new tree, ``old_path`` that in the base where it differs. Both
    trees are to be those that the patch goes onto, with what it makes of other files laid over.
    """
    if not path.endswith((".py", ".pyi")) or not any(_HINT.search(line) for line in added):
        return []
    base, patched, onto, result = texts
    mine = imports(patched)
    now = set(imports(result))
    new = [each for each in mine if each in now] if mine else []
    known = {*imports(base), *imports(onto)}
    found = [item for each in new if each not in known for item in _lost(path, each, there, here, old_path or path)]
    found += _attributes(path, added, new, onto, there, here, old_path or path)
    return [item for item in found if not _caught(result, item)]


def imports(data: bytes) -> list[Import]:
    """The imports of a module, as far as lines tell; star imports left out."""
    out = []
    for found in _statements(data):
        if found["plain"] is not None:
            for item in found["plain"].split(b","):
                module, _, alias = (part.strip().decode() for part in item.partition(b" as "))
                if module:
                    out.append(Import(module, None, alias or module))
            continue
        module = found["module"].decode()
        for item in _COMMENT.sub(b"", found["names"]).strip(b"() \t\r\n").replace(b"\\", b" ").split(b","):
            words = item.decode("utf-8", "replace").split()
            if words and words[0] != "*":
                out.append(Import(module, words[0], words[-1]))
    return out


def _statements(data: bytes) -> Iterator[re.Match[bytes]]:
    """The statements of ``data`` that look like imports; a search for the word is faster than one for its lines."""
    at = data.find(b"import")
    while at >= 0:
        found = _IMPORT.match(data, data.rfind(b"\n", 0, at) + 1)
        if found:
            yield found
        at = data.find(b"import", max(at + 6, found.end() if found else 0))


def _lost(path: str, each: Import, there: Modules, here: Modules, old_path: str) -> Iterator[Finding]:
    before = there.find(old_path, each.module)
    if before is None or (each.name is not None and there.has(before, each.name) is not True):
        return
    after = here.find(path, each.module)
    if after is None:
        what = f"{each.name} is imported from {each.module}" if each.name else f"{each.module} is imported"
        yield Finding("name-gone", f"{what}, but that module is no longer in the tree ({before}).", file=path)
    elif each.name is not None and here.has(after, each.name) is False:
        text = f"{each.name} is imported from {each.module}, but {after} has no such name any more."
        yield Finding("name-gone", text, file=path)


def _attributes(
    path: str, added: Iterable[bytes], mine: Iterable[Import], onto: bytes, there: Modules, here: Modules, old_path: str
) -> Iterator[Finding]:
    """Attributes of imported modules that the patch begins to use, as in ``import a.b as c`` and ``c.name``."""
    used = {(one.decode(), two.decode()) for line in added for one, two in _ATTRIBUTE.findall(line)}
    if not used:
        return
    bound = {each.bound: each for each in mine}
    for one, two in sorted(used):
        each = bound.get(one)
        if each is None or f"{one}.{two}".encode() in onto:
            continue
        module = each.module if each.name is None else _joined(each.module, each.name)
        before, after = there.find(old_path, module), here.find(path, module)
        if before and after and there.has(before, two) is True and here.has(after, two) is False:
            yield Finding("name-gone", f"{one}.{two} is used, but {after} has no {two} any more.", file=path)


def _joined(module: str, name: str) -> str:
    return module + name if module.endswith(".") else f"{module}.{name}"


def _evident(data: bytes, name: str) -> bool:
    """Whether a line at the margin of ``data`` binds ``name``, so that nothing needs to be parsed."""
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    if word not in data:
        return False
    pattern = rb"(?m)^(?:(?:async[ \t]+)?def|class)[ \t]+%b\b|^%b[ \t]*(?::[^=\n]+)?=[^=]"
    return re.search(pattern % (word, word), data) is not None


def _caught(result: bytes, item: Finding) -> bool:
    """Whether the import that ``item`` is about is no import at all, or one whose failure is provided for."""
    tree = parse(result)
    name = item.text.split(" ")[0]
    if tree is None or ("." in name and "is used" in item.text):
        return False
    guarded = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.Try) and any(_catches(handler) for handler in outer.handlers)
        for inner in outer.body
        for node in ast.walk(inner)
    }
    mine = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and any(alias.name == name for alias in node.names)
    ]
    return all(id(node) in guarded for node in mine)


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds: Sequence[ast.expr | None] = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any((ast.unparse(kind) if kind else "") in _CATCHES for kind in kinds)


def orphans(removed: Mapping[str, bytes | None], there: Modules, here: Modules, listed: Sequence[str]) -> list[Finding]:
    """Files of the new tree that import, since the base, what the patch takes away.

    ``removed``: the Python files of the patch, by their names in the new tree, as they were in it before the patch
    (``here`` shows them after it); ``listed``: the names of all files of the new tree. The whole tree is read, but
    only if the patch takes a name away from a module.
    """
    lost = {path: names_ for path, data in removed.items() if (names_ := _taken(data, here.data(path)))}
    if not lost:
        return []
    words = [name.encode() for names_ in lost.values() for name in names_]
    stems = [path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2].encode() for path in lost]
    found = []
    for other in listed:
        data = here.data(other) if other.endswith(".py") and other not in removed else None
        if not data or not any(word in data for word in words) or not any(stem in data for stem in stems):
            continue
        before = set(imports(there.data(other) or b""))
        for each in imports(data):
            module = here.find(other, each.module) if each.name and each not in before else None
            if module and each.name and each.name in lost.get(module, ()) and here.has(module, each.name) is False:
                text = f"The patch takes {each.name} away from {module}; upstream's {other} imports it now."
                found.append(Finding("name-gone", text, file=other))
    return found


def _taken(before: bytes | None, after: bytes | None) -> frozenset[str]:
    """The names that a module had and has no more."""
    old, new = names(before or b""), names(after or b"")
    return old.top - new.top if old is not None and new is not None else frozenset()
