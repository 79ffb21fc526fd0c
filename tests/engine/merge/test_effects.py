"""What upstream did in its own words, and what only looks like it."""

from __future__ import annotations

import pytest

from patchctl.engine.lines import split
from patchctl.engine.merge.diff import script
from patchctl.engine.merge.effects import Effect, same_effect
from patchctl.engine.merge.model import Change, Context

BASE = b"""\
from caps import is_cuda, is_old

OLD = is_cuda() and is_old()


def pick(args):
    log.info("start")
    args.size = 1
    if OLD:
        args.kernel = "old"
        args.block = 64
    elif args.wide:
        args.kernel = "wide"
    finish(args)


def other(args):
    args.size = 1
"""
PATCHED = BASE.replace(b"is_cuda, is_old\n", b"is_cuda, is_new, is_old\n")
PATCHED = PATCHED.replace(
    b"OLD = is_cuda() and is_old()\n", b"OLD = is_cuda() and is_old()\nNEW = is_cuda() and is_new()\n"
)
PATCHED = PATCHED.replace(
    b"    finish(args)\n",
    b"    elif NEW:\n        # no wide one\n        args.kernel, args.block = 'plain', 128\n    finish(args)\n",
)
UPSTREAM = BASE.replace(b"is_cuda, is_old\n", b"is_new, is_old\n").replace(b"OLD = is_cuda() and is_old()\n", b"")
UPSTREAM = UPSTREAM.replace(
    b"    if OLD:\n",
    b"    if is_new():\n"
    b"        log.info(1)\n        args.kernel = 'plain'\n        args.block = 128\n    elif is_old():\n",
)


def effect(onto: bytes, patched: bytes = PATCHED, base: bytes = BASE, path: str = "m.py") -> Effect:
    old, new = split(base), split(patched)
    ctx = Context(path, base, onto, patched, script(old, split(onto)))
    changes = [Change(e.start, e.end, tuple(new[e.new_start : e.new_end]), e.new_start) for e in script(old, new)]
    return same_effect(ctx, changes)


def test_the_same_in_other_words() -> None:
    found = effect(UPSTREAM)
    assert found.proved
    (sentence,) = found.evidence
    assert "in pick, lines 10 to 11" in sentence
    assert "if caps.is_new()" in sentence


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"args.block = 128", b"args.block = 256"),  # another value
        (b"        args.block = 128\n", b""),  # half of it
        (b"if is_new():", b"if is_new() and args.wide:"),  # under more conditions
        (b"if is_new():", b"if is_old() or is_new():"),  # under others
        (b"    if is_new():", b"    if args.wide:"),  # without the patch's condition
    ],
)
def test_what_is_not_the_same(old: bytes, new: bytes) -> None:
    assert old in UPSTREAM
    assert not effect(UPSTREAM.replace(old, new)).proved


def test_a_twin_in_another_function_proves_nothing() -> None:
    assert not effect(UPSTREAM.replace(b"def pick", b"def chosen")).proved


def test_a_twin_that_was_there_before_proves_nothing() -> None:
    base = BASE.replace(b"    finish(args)\n", b"    finish(args)\n    prepare(args)\n")
    patched = base.replace(b"    args.size = 1\n    if", b"    prepare(args)\n    args.size = 1\n    if")
    onto = base.replace(b"finish(args)", b"finish(args, 1)")
    assert not effect(onto, patched, base).proved


def test_another_order_is_another_effect() -> None:
    patched = BASE.replace(b"    args.size = 1\n    if", b"    prepare(args)\n    args.size = 1\n    if")
    same = BASE.replace(b'    log.info("start")\n', b"    prepare(args)\n    log.info('go')\n")
    late = BASE.replace(b"    finish(args)\n", b"    finish(args)\n    prepare(args)\n")
    assert effect(same, patched).proved
    assert not effect(late, patched).proved


def test_a_statement_that_only_moves_is_not_read_as_nothing() -> None:
    patched = BASE.replace(b"    args.size = 1\n    if", b"    if").replace(
        b"    finish(", b"    args.size = 1\n    finish("
    )
    assert not effect(BASE + b"\nx = 1\n", patched).proved


def test_a_deletion_alone_is_not_proved() -> None:
    patched = BASE.replace(b"        args.block = 64\n", b"")
    assert not effect(BASE.replace(b"args.block = 64", b"args.block = 32"), patched).proved


def test_what_upstream_does_for_a_case_that_the_patch_takes_out() -> None:
    base = BASE.replace(b"if OLD:", b"if is_old():")
    patched = base.replace(b"is_old\n", b"is_old, is_new\n").replace(b"if is_old():", b"if is_old() and not is_new():")
    onto = base.replace(b"is_old\n", b"is_old, is_new\n").replace(
        b"    elif args.wide",
        b"    elif is_new():\n        args.kernel = 'plain'\n        args.block = 128\n    elif args.wide",
    )
    onto = onto.replace(b"if is_old():", b"if is_oldest():")
    found = effect(onto, patched, base)
    assert not found.proved
    assert any("a branch of its own" in sentence for sentence in found.own)


def test_what_does_not_parse_proves_nothing() -> None:
    assert not effect(UPSTREAM + b"(\n").proved
    assert not effect(UPSTREAM, path="m.c").proved
