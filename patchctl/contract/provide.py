"""The provider's side: whether a class offers an attribute, and by which way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from patchctl.contract import external
from patchctl.contract.forward import Forward, chains_of, forwards, forwards_any, only_refuses
from patchctl.contract.instance import Instances
from patchctl.contract.lineage import Lineages
from patchctl.contract.members import Bodies, Member
from patchctl.contract.model import How, Inner, Provided
from patchctl.contract.program import ClassRef, External, Program
from patchctl.contract.typer import Typer


@dataclass
class Providers:
    """Answers about the classes of one program; ``assumed`` as :class:`patchctl.contract.typer.Typer` takes it."""

    program: Program
    instances: Instances
    typer: Typer
    _known: dict[tuple[ClassRef, str], Provided] = field(default_factory=dict)

    @classmethod
    def of(
        cls, program: Program, assumed: Mapping[tuple[ClassRef, tuple[str, ...]], ClassRef] | None = None
    ) -> Providers:
        instances = Instances(program, Lineages(program), Bodies(program))
        return cls(program, instances, Typer(program, instances, dict(assumed or {})))

    def answer(self, cls: ClassRef, name: str) -> Provided:
        """Whether objects of ``cls`` have the attribute ``name``."""
        key = (cls, name)
        if key not in self._known:
            # Asked for again on the way to the answer: a delegation in a circle never finds anything.
            self._known[key] = Provided(How.UNKNOWN, note=f"{cls.name} asks itself for {name}")
            try:
                self._known[key] = self._answer(cls, name)
            except RecursionError:
                self._known[key] = Provided(How.UNKNOWN, path=cls.path, note="the code is nested too deeply to be read")
        return self._known[key]

    def _answer(self, cls: ClassRef, name: str) -> Provided:
        found = self._in_order(cls, name)
        if found is not None:
            return found
        if external.of_object(name):
            return Provided(How.INHERITED, "object")
        return self._asked(cls, name) or self._absent(cls, name)

    # -- where Python looks first

    def _in_order(self, cls: ClassRef, name: str) -> Provided | None:
        """What the class, its bases and its methods give, in the order in which Python would find it."""
        assigned = self.instances.of(cls).assigned.get(name, ())
        for each in self.instances.lineages.of(cls).order:
            if isinstance(each, External):
                if external.offers(each, name):
                    return Provided(How.INHERITED, each.name)
                continue
            member = self.instances.bodies.of(each).members.get(name)
            if member is not None and not member.condition:
                return self._member(cls, each, member)
            for assignment in assigned:
                if assignment.owner == each:
                    how = How.OWN if each == cls else How.INHERITED
                    note = f"set by {assignment.frame.function.name}()" if assignment.frame.function else None
                    later = all(other.later for other in assigned)
                    via = None if each == cls else each.name
                    return Provided(how, via, each.path, assignment.line, note=note if later else None)
        return None

    def _member(self, cls: ClassRef, owner: ClassRef, member: Member) -> Provided:
        own = owner == cls
        found = Provided(
            How.OWN if own else How.INHERITED,
            None if own else owner.name,
            owner.path,
            _line(member),
            note=_note(member),
        )
        passed = forwards(member.function, member.name) if member.function is not None else []
        if not passed:
            return found
        chain = next(chains_of(passed))
        inner, note = self._inner(cls, passed, member.name)
        found = replace(found, inner=inner, guarded=all(each.guarded for each in passed), note=note)
        return replace(found, how=How.DELEGATED, via="self." + ".".join(chain)) if own else found

    # -- delegation

    def _inner(self, cls: ClassRef, passed: Sequence[Forward], name: str) -> tuple[Inner, str | None]:
        """What the objects that are delegated to say, and what a person should know of it."""
        answers: list[tuple[ClassRef, Provided]] = []
        complete = True
        for chain in chains_of(list(passed)):
            kinds = self.typer.chain(cls, chain)
            complete &= kinds.complete and bool(kinds.classes)
            answers += [(each, self.answer(each, name)) for each in sorted(kinds.classes, key=lambda each: each.key)]
        if not answers:
            where = ".".join(passed[0].chain)
            return Inner(None, None, None), f"the class of self.{where} is not known"
        lacking = [each for each in answers if each[1].holds is False]
        having = [each for each in answers if each[1].holds is True]
        inner, answer = (having or lacking or answers)[0]
        note = None
        if having and lacking:
            note = f"{', '.join(each.name for each, _ in lacking)} would lack it"
        elif lacking and not complete:
            return Inner(None, None, None), f"self.{'.'.join(passed[0].chain)} may be of a class that is not known"
        elif lacking:
            note = f"{inner.name} lacks it"
        return Inner(inner.name, inner.path, answer), note

    # -- __getattr__

    def _asked(self, cls: ClassRef, name: str) -> Provided | None:
        """What ``__getattr__`` makes of ``name``; None if there is none that could find it."""
        hidden = self.instances.effective(cls, "__getattribute__")
        if hidden is not None:
            return Provided(How.UNKNOWN, note=f"{hidden[0].name}.__getattribute__ decides when it runs")
        found = self.instances.effective(cls, "__getattr__")
        if found is None or (name.startswith("__") and name.endswith("__")):
            return None
        owner, function = found
        passed = forwards_any(function, name)
        if not passed:
            if passed is None or not only_refuses(function):
                return Provided(How.UNKNOWN, path=owner.path, note=f"{owner.name}.__getattr__ decides when it runs")
            return None
        inner, note = self._inner(cls, passed, name)
        via = "self." + ".".join(passed[0].chain)
        if inner.provided is None or inner.provided.holds is None:
            note = note or f"what {via} makes of it is not known"
            return Provided(How.UNKNOWN, via, owner.path, function.lineno, inner, note=note)
        return Provided(How.GETATTR, via, owner.path, function.lineno, inner, note=note)

    # -- nothing found

    def _absent(self, cls: ClassRef, name: str) -> Provided:
        """``missing``, or ``unknown`` where something might still offer it; with the reason."""
        for each in self.instances.lineages.of(cls).classes:
            member = self.instances.bodies.of(each).members.get(name)
            if member is not None:
                via = None if each == cls else each.name
                note = f"defined only if {member.condition}"
                return Provided(How.UNKNOWN, via, each.path, _line(member), note=note)
        patterns = [*self.instances.of(cls).dynamic]
        for each in self.instances.lineages.of(cls).classes:
            patterns += self.instances.bodies.of(each).dynamic
        if any(re.fullmatch(pattern, name) for pattern in patterns):
            return Provided(How.UNKNOWN, note="attributes are set by computed names")
        doubts = self.instances.lineages.of(cls).doubts
        if doubts:
            return Provided(How.UNKNOWN, note=doubts[0])
        return Provided(How.MISSING)


def _line(member: Member) -> int:
    return member.line


def _note(member: Member) -> str | None:
    value = getattr(member.value, "value", member)
    return "it is None" if value is None else None
