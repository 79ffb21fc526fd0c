"""The comparison: what fails a contract, what does not, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from patchctl.contract import moves
from patchctl.contract.judge import ask
from patchctl.contract.model import Root
from patchctl.contract.story import story
from patchctl.contract.successor import successors
from tests.contract.texts import Texts, judged

USER = "class A:\n    def __init__(self, model):\n        self.model = model\n        {body}\n"
P = "class P:\n    {body}\n"


def kinds(user: str, provider: str = "pass", **more: object) -> list[str]:
    found = judged(Texts(a=USER.format(body=user), p=P.format(body=provider)), **more)  # type: ignore[arg-type]
    return [f"{fault.kind} {fault.name}" if fault.name else fault.kind for fault in found.faults]


def test_what_is_there_holds() -> None:
    assert kinds("model.go()", "def go(self): pass") == []


@pytest.mark.parametrize(
    ("user", "provider", "expected"),
    [
        ("model.go()", "pass", ["missing go"]),
        ("x = model.go", "pass", ["missing go"]),
        ("getattr(model, 'go', None)", "pass", []),
        ("x = hasattr(model, 'go') and model.go()", "pass", []),
        ("model.go = 1", "pass", []),
        ("model.go()", "def __getattr__(self, n): return f(n)", ["unknown go"]),
        ("getattr(model, 'go', None)", "def __getattr__(self, n): return f(n)", []),
        ("model.go()", "def go(self): return self.x.go()", []),
        ("pass", "pass", ["consumer-unused", "empty"]),
        ("inspect.signature(model.go)", "pass", ["missing go"]),
    ],
)
def test_faults(user: str, provider: str, expected: list[str]) -> None:
    assert kinds(user, provider) == expected


def test_a_delegation_to_what_lacks_it_fails_and_a_guarded_one_does_not() -> None:
    inner = "def __init__(self): self.i = I()\n    def go(self):\n        {body}\nclass I: pass"
    assert kinds("model.go()", inner.format(body="return self.i.go()")) == ["missing go"]
    guarded = inner.format(body="return getattr(self.i, 'go', None)")
    found = judged(Texts(a=USER.format(body="model.go()"), p=P.format(body=guarded)))
    assert found.faults == () and found.notes == ("go is delegated to self.i, and I lacks it.",)


def test_what_is_set_aside_is_shown_and_does_not_fail() -> None:
    source = Texts(a=USER.format(body="model.go()"), p=P.format(body="pass"))
    found = judged(source, ignore={"go": "only on Sundays", "other": "x"})
    assert found.faults == ()
    assert found.verdict.requirements[0].ignored == "only on Sundays"
    assert found.notes == ("ignore names other, which no consumer uses.",)


def test_the_weakest_use_stands_for_all_and_signatures_apart() -> None:
    lines = (
        "getattr(model, 'go', 1)",
        "if x: y = model.go",
        "model.go = 2",
        "inspect.signature(model.run)",
        "model.run()",
    )
    found = judged(Texts(a=USER.format(body="\n        ".join(lines)), p=P.format(body="pass")))
    assert [(each.name, each.kind, each.guard, len(each.sites)) for each in found.verdict.requirements] == [
        ("go", "read", "none", 3),
        ("run", "call", "none", 1),
        ("run", "signature", "none", 1),
    ]


def test_the_first_crash_is_that_of_whoever_stands_nearest_to_the_object() -> None:
    text = """
    class Runner:
        def __init__(self, model):
            self.model = model
            self.later()
        def later(self): self.model.two()
        def never(self): self.model.zero()
    class Worker:
        def __init__(self, runner: Runner):
            runner.model.one()
    """
    roots = [Root("a.py:Worker.__init__", "runner.model", "any"), Root("a.py:Runner", "self.model", "any")]
    found = judged(Texts(a=text, p="class P: pass\n"), roots=roots)
    assert [fault.name for fault in found.faults] == ["two", "one", "zero"]
    assert "This is the first crash." in found.faults[0].message
    assert "Runner.later calls it at a.py:6" in found.faults[0].message


def test_roles() -> None:
    user = "if is_draft_worker: model.one()\n        else: model.two()\n        model.three()"
    source = Texts(a=USER.format(body=user), p=P.format(body="pass"))
    names = {
        role: [each.name for each in judged(source, role=role).verdict.requirements]
        for role in ("draft", "target", "any")
    }
    assert names == {"draft": ["one", "three"], "target": ["three", "two"], "any": ["one", "three", "two"]}


def test_a_role_that_nobody_holds_is_an_empty_contract() -> None:
    source = Texts(a=USER.format(body="model.go()"), p=P.format(body="go = 1"))
    (fault,) = judged(source, role="draft", roots=[Root("a.py:A", "self.model", "target")]).faults
    assert (fault.kind, "no consumer holds the role draft" in fault.message) == ("empty", True)
    (none,) = judged(source, roots=[]).faults
    assert "no consumer is declared for this release" in none.message


def test_code_for_other_classes_asks_nothing() -> None:
    for test in ("model.__class__.__name__ == 'Q'", "type(model).__name__ in ('Q', 'R')", "isinstance(model, (Q, R))"):
        assert kinds(f"model.x\n        if {test}: model.go()", "x = 1") == [], test
    assert kinds("if isinstance(model, P): model.go()") == ["missing go"]
    assert kinds("name = type(model).__name__\n        if name == 'P': model.go()") == ["missing go"]


def test_code_behind_another_attribute_that_is_missing_asks_nothing() -> None:
    user = "model.x\n        if hasattr(model, 'fast'): model.go()"
    assert kinds(user, "x = 1") == []
    assert kinds(user, "x = fast = 1") == ["missing go"]


@pytest.mark.parametrize(
    ("provider", "says"),
    [("no.py:P", "there is no file no.py"), ("p.py:Q", "p.py defines no class Q"), ("bad.py:P", "does not parse")],
)
def test_a_provider_that_is_not_there(provider: str, says: str) -> None:
    source = Texts(a=USER.format(body="model.go()"), p=P.format(body="pass"), bad="class P(:\n")
    (fault,) = judged(source, provider=provider).faults
    assert fault.kind == "no-provider" and says in fault.message
    (asked,) = ask(source, provider, ["go"]).faults
    assert asked.kind == "no-provider"


def test_a_class_that_a_condition_defines() -> None:
    two = "if gpu:\n    class P:\n        go = both = 1\nelse:\n    class P:\n        both = 1\n"
    source = Texts(a=USER.format(body="model.go(); model.both()"), p=two)
    (fault,) = judged(source).faults
    assert (fault.kind, fault.name) == ("unknown", "go")
    assert "a condition decides: own, or missing" in fault.message


def test_a_class_of_the_same_name_in_another_file_is_another_class() -> None:
    source = Texts(a=USER.format(body="model.go()"), p="class P: pass\n", q="class P:\n    go = 1\n")
    assert [fault.name for fault in judged(source).faults] == ["go"]
    assert judged(source, provider="q.py:P").faults == ()


def test_a_folder_without_its_slash_is_told() -> None:
    source = Texts(d__a="x = 1\n", p=P.format(body="go = 1"))
    assert "d is a folder, which is written d/" in judged(source, roots=[Root("d", "self.x", "any")]).faults[0].message


def test_an_assumed_class_that_is_not_there() -> None:
    source = Texts(a=USER.format(body="model.go()"), p=P.format(body="def go(self): self.x.go()"))
    (fault,) = judged(source, assume={"self.x": "p.py:Gone"}).faults
    assert fault.kind == "no-provider" and "p.py defines no such class" in fault.message


def test_a_consumer_that_is_gone_names_its_successor() -> None:
    source = Texts(
        spec__worker_v2="class WorkerV2:\n    def __init__(self, model): model.go()\n",
        spec__other="x = 1\n",
        p=P.format(body="go = 1"),
    )
    found = judged(source, roots=[Root("spec/worker.py:Worker", "self.model", "any")])
    assert found.faults[0].kind == "consumer-gone"
    assert "Its likely successor is spec/worker_v2.py (it defines WorkerV2)" in found.faults[0].message
    root = Root("a/b/zebra.py:Z", "self.model", "any")
    assert successors(root, source) == []


# Over releases


def test_moves() -> None:
    old = judged(Texts(a=USER.format(body="model.one(); model.two(); model.four()"), p=P.format(body="one = two = 1")))
    new_user = "hasattr(model, 'one'); model.three(); model.four()"
    new = judged(Texts(a=USER.format(body=new_user), p=P.format(body="four = three = 1")))
    told = [(move.name, move.change) for move in moves.moves(old.verdict, new.verdict)]
    assert told == [("four", "gained"), ("one", "guard"), ("one", "lost"), ("three", "added"), ("two", "removed")]
    moved = judged(
        Texts(b=USER.format(body="model.four()"), p=P.format(body="four = 1")),
        roots=[Root("b.py:A", "self.model", "any")],
    )
    assert [each.change for each in moves.moves(new.verdict, moved.verdict) if each.name == "four"] == ["moved"]
    assert moves.moves(new.verdict, new.verdict) == []


# Stories


def test_a_story() -> None:
    provider = (
        "def __init__(self): self.i = I()\n    def go(self): return self.i.go()\nclass B:\n    go = 1\nclass I(B): pass"
    )
    found = judged(Texts(a=USER.format(body="if fast: model.go()"), p=P.format(body=provider)))
    assert story(found.verdict.requirements[0], "P") == [
        "go is asked of the model, and nothing declares it:",
        "  a.py:4 A.__init__ calls it, if fast",
        "P passes it on to self.i (p.py:3).",
        "  I inherits it from B (p.py:5).",
        "Without it: AttributeError: no attribute 'go' at a.py:4.",
    ]


def test_the_ends_of_stories() -> None:
    def end(user: str, provider: str = "pass", ignored: str | None = None) -> str:
        found = judged(Texts(a=USER.format(body=user), p=P.format(body=provider)))
        return story(replace(found.verdict.requirements[0], ignored=ignored), "P")[-1]

    assert end("model.go()") == "It fails: AttributeError: no attribute 'go' at a.py:4."
    assert end("getattr(model, 'go', 1)") == "Without it nothing crashes: every use is guarded."
    assert end("model.go = 1") == "Without it nothing happens: it is only set."
    assert end("model.go()", ignored="rare") == "It is set aside: rare."


def test_too_many_bases_are_unknown() -> None:
    chain = "\n".join(["class C0: pass", *(f"class C{n}(C{n - 1}): pass" for n in range(1, 3000))])
    found = ask(Texts(a=chain), "a.py:C2999", ["go"])
    assert [fault.kind for fault in found.faults] == ["unknown"]
    assert found.verdict.requirements[0].provided.holds is None
