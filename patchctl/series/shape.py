"""Does a document have the shape of series.yaml? Every misfit, each at its place.

msgspec stops at the first misfit and gives a path that leaves dictionary keys out. So it converts what is
right, and this walk over the same types explains what is wrong.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

import msgspec
from msgspec import inspect

from patchctl.series import model
from patchctl.series.yamldoc import Document, Fault, Path, Scalar

_PATTERNS = {
    model.PATCH_ID: "a patch id: small letters, digits, '.' and '-', beginning with a letter or a digit",
    model.SHA256: "'sha256:' and 64 hex digits",
    model.COMMIT_ID: "a whole commit id (40 hex digits)",
    model.ISO_DATE: 'a date like "2027-06-30"',
    model.NAME: "a name of letters, digits, '.', '_' and '-'",
    model.TAG_FORM: "a text with {version} in it",
}


def convert(document: Document) -> model.Series:
    """``document`` as a Series. Raises InvalidInput that lists all misfits, and the document's own faults."""
    value = document.value
    try:
        return msgspec.convert(value, model.Series)
    except msgspec.ValidationError as error:
        walk = _Walk(document)
        walk.check(value, inspect.type_info(model.Series), ())
        document.require(walk.faults or [Fault(document.root.position, f"{error}.")])
        raise


class _Walk:
    def __init__(self, document: Document) -> None:
        self.faults: list[Fault] = []
        self._document = document

    def check(self, value: Any, info: inspect.Type, path: Path) -> None:
        """Note all that keeps ``value``, at ``path``, from being what ``info`` describes."""
        if isinstance(info, inspect.Metadata):
            info = info.type
        if isinstance(info, inspect.UnionType):
            self._union(value, info, path)
        elif isinstance(info, inspect.StructType):
            self._struct(value, info, path)
        elif isinstance(info, inspect.DictType):
            self._dict(value, info, path)
        elif isinstance(info, (inspect.ListType, inspect.TupleType)):
            self._list(value, info, path)
        elif isinstance(info, inspect.StrType):
            self._string(value, info, path)
        elif isinstance(info, inspect.LiteralType):
            if value not in info.values or isinstance(value, bool):
                self._wrong(path, f"must be {_either(info.values)}")
        elif not _is_scalar(value, info):
            self._wrong(path, f"must be {_wanted(info)}")

    def _union(self, value: Any, info: inspect.UnionType, path: Path) -> None:
        members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
        if value is None and len(members) < len(info.types):
            return
        if len(members) == 1:
            self.check(value, members[0], path)
        elif not any(_is_scalar(value, member) for member in members):
            self._wrong(path, f"must be {_wanted(members[0])}")

    def _struct(self, value: Any, info: inspect.StructType, path: Path) -> None:
        if not self._is(value, dict, "a mapping of keys to values", path):
            return
        fields = {field.encode_name: field for field in info.fields}
        for key, item in value.items():
            if key in fields:
                self.check(item, fields[key].type, (*path, key))
            else:
                self.faults.append(
                    Fault(self._document.key_position((*path, key)), _unknown(key, list(fields), _name(path)))
                )
        for name, field in fields.items():
            if field.required and name not in value:
                place = self._document.key_position(path) if path else self._document.root.position
                self.faults.append(Fault(place, f"{_name(path)} lacks '{name}'."))

    def _dict(self, value: Any, info: inspect.DictType, path: Path) -> None:
        if not self._is(value, dict, "a mapping of names to values", path):
            return
        for key, item in value.items():
            if isinstance(info.key_type, inspect.StrType):
                pattern = info.key_type.pattern
                if pattern and not re.search(pattern, key):
                    place = self._document.key_position((*path, key))
                    self.faults.append(Fault(place, f"the key {_quote(key)} must be {_PATTERNS[pattern]}."))
            self.check(item, info.value_type, (*path, key))

    def _list(self, value: Any, info: inspect.ListType | inspect.TupleType, path: Path) -> None:
        if not self._is(value, list, "a list", path):
            return
        if isinstance(info, inspect.TupleType):
            if len(value) != len(info.item_types):
                self._wrong(path, f"must be a list of {len(info.item_types)} values")
                return
            kinds = info.item_types
        else:
            kinds = (info.item_type,) * len(value)
        for index, (item, kind) in enumerate(zip(value, kinds, strict=True)):
            self.check(item, kind, (*path, index))

    def _string(self, value: Any, info: inspect.StrType, path: Path) -> None:
        if not isinstance(value, str):
            node = self._document.find(path)
            if value is not None and isinstance(node, Scalar):
                self._wrong(path, f'must be text, and {node.text} is read as another type; write "{node.text}"')
            else:
                self._wrong(path, "must be text, and nothing is there" if value is None else "must be text")
        elif info.pattern and not re.search(info.pattern, value):
            self._wrong(path, f"must be {_PATTERNS[info.pattern]}, not {_quote(value)}")
        elif info.min_length and len(value) < info.min_length:
            self._wrong(path, "must not be empty")

    def _is(self, value: Any, kind: type, wanted: str, path: Path) -> bool:
        if isinstance(value, kind):
            return True
        self._wrong(path, f"must be {wanted}, and {_kind(value)} is there")
        return False

    def _wrong(self, path: Path, message: str) -> None:
        self.faults.append(Fault(self._document.value_position(path), f"{_name(path)} {message}."))


def _is_scalar(value: Any, info: inspect.Type) -> bool:
    if isinstance(info, inspect.BoolType):
        return isinstance(value, bool)
    if isinstance(info, inspect.IntType):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(info, inspect.FloatType):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(info, inspect.StrType) and isinstance(value, str)


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a single value"


def _wanted(info: inspect.Type) -> str:
    if isinstance(info, inspect.BoolType):
        return "true or false"
    return "a number"


def _either(values: tuple[Any, ...]) -> str:
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"one of {', '.join(words)}"


def _unknown(key: str, known: list[str], where: str) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}."
    return f"{where} has no key {_quote(key)}; {hint}"


def _quote(text: str) -> str:
    return f"'{text}'" if text.isprintable() else json.dumps(text)


def _name(path: Path) -> str:
    """A path as people write it: ``targets.v0.5.9.patches[2]``."""
    if not path:
        return "the file"
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else step
    return name
