"""Small trees of source texts, and short questions to them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from patchctl.contract.consume import Consumers, Found
from patchctl.contract.judge import judge
from patchctl.contract.model import Declaration, Judgement, Provided, Root
from patchctl.contract.program import Program
from patchctl.contract.provide import Providers


class Texts:
    """A source made of texts, which may be indented like the test around them.

    ``pkg__mod`` stands for pkg/mod.py, ``pkg__INIT`` for the package's own file.
    """

    def __init__(self, **files: str | bytes) -> None:
        self.files = {
            f"{name.replace('__', '/').replace('INIT', '__init__')}.py": text
            if isinstance(text, bytes)
            else textwrap.dedent(text).encode()
            for name, text in files.items()
        }

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def exists(self, path: str) -> bool:
        return path in self.files

    def names(self) -> Sequence[str]:
        return sorted(self.files)


def provided(name: str, cls: str = "a.py:A", *, assume: Mapping[str, str] | None = None, **files: str) -> Provided:
    """What the class ``cls`` says to ``name``."""
    program = Program(Texts(**files))
    path, _, wanted = cls.partition(":")
    found = program.find_class(path, wanted)
    assert found is not None
    assumed = {}
    for chain, where in (assume or {}).items():
        inner = program.find_class(*where.split(":"))
        assert inner is not None
        assumed[found, tuple(chain.split(".")[1:])] = inner
    return Providers.of(program, assumed).answer(found, name)


def how(name: str, text: str, **files: str) -> str:
    """The short answer of the class A in ``text``."""
    return provided(name, a=text, **files).how.value


def found(text: str, where: str = "a.py:A", object: str = "self.model", role: str = "any", **files: str) -> Found:
    """What one consumer does with its object."""
    program = Program(Texts(a=text, **files))
    return Consumers(program, Providers.of(program).typer).find([Root(where, object, role)])


def uses(text: str, where: str = "a.py:A", object: str = "self.model", **files: str) -> list[str]:
    """Each use as ``name kind guard``, in the order of the lines."""
    sites = found(text, where, object, **files).uses
    return [
        f"{name} {site.kind} {site.guard}"
        for name, site in sorted(sites, key=lambda each: (each[1].path, each[1].line))
    ]


def judged(
    source: Texts,
    provider: str = "p.py:P",
    roots: Sequence[Root] = (Root("a.py:A", "self.model", "any"),),
    **more: object,
) -> Judgement:
    """A contract held against ``source``."""
    declared = Declaration("demo", str(more.pop("role", "any")), provider, tuple(roots), **more)  # type: ignore[arg-type]
    return judge(source, declared)
