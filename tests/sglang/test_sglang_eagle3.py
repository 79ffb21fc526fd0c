"""EAGLE-3 with Kimi-K2.5: the delegated methods, and the layers that go into the CUDA graphs."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest
from engine_source import Engine
from engine_stubs import calls, conditions, find, run

pytestmark = [pytest.mark.network, pytest.mark.slow]

WRAPPER = "KimiK25ForConditionalGeneration"
METHODS = ("get_embed_and_head", "set_embed_and_head", "set_eagle3_layers_to_capture")


class Language:
    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def get_embed_and_head(self) -> tuple[str, str]:
        return "embed", "head"

    def set_embed_and_head(self, embed: str, head: str) -> None:
        self.seen.append((embed, head))

    def set_eagle3_layers_to_capture(self, layer_ids: list[int] | None = None) -> None:
        self.seen.append((layer_ids,))


def wrapper(engine: Engine, language: Language) -> SimpleNamespace:
    source = engine.patched("models/kimi_k25.py")
    made = run([find(source, WRAPPER, name) for name in METHODS], {})
    self = SimpleNamespace(language_model=language)
    return SimpleNamespace(**{name: lambda *a, _f=made[name]: _f(self, *a) for name in METHODS})


def test_the_wrapper_delegates_all_three(engine: Engine) -> None:
    language = Language()
    model = wrapper(engine, language)
    assert model.get_embed_and_head() == ("embed", "head")
    model.set_embed_and_head("e", "h")
    model.set_eagle3_layers_to_capture()
    model.set_eagle3_layers_to_capture([0, 1, 3])
    assert language.seen == [("e", "h"), (None,), ([0, 1, 3],)]


def test_each_is_defined_once_and_not_in_the_pristine_release(engine: Engine) -> None:
    def defined(source: str) -> list[str]:
        body = find(source, WRAPPER).body  # type: ignore[attr-defined]
        return [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name in METHODS]

    assert sorted(defined(engine.patched("models/kimi_k25.py"))) == sorted(METHODS)
    assert defined(engine.pristine("models/kimi_k25.py")) == []


SITES = [
    ("model_executor/cuda_graph_runner.py", "CudaGraphRunner", "__init__", "capture"),
    ("model_executor/model_runner.py", "ModelRunner", "_dummy_run", None),
]


def layers_set(source: str, cls: str, function: str, ids: list[int] | None) -> list[tuple[Any, ...]]:
    """Runs the guarded call that stands ahead of the capture, for a draft that names ``ids``."""
    method = find(source, cls, function)
    (guarded,) = conditions(method, lambda node: bool(calls(node, "set_eagle3_layers_to_capture")))
    seen: list[tuple[Any, ...]] = []
    runner = SimpleNamespace(
        spec_algorithm=SimpleNamespace(is_eagle3=lambda: True),
        eagle_use_aux_hidden_state=True,
        eagle_aux_hidden_state_layer_ids=ids,
        model=SimpleNamespace(set_eagle3_layers_to_capture=lambda *args: seen.append(args)),
    )
    self = runner if cls == "ModelRunner" else SimpleNamespace(model_runner=runner)
    run([guarded], {"self": self, "model_runner": runner})
    return seen


@pytest.mark.parametrize(("path", "cls", "function", "before"), SITES)
@pytest.mark.parametrize("ids", [[0, 1, 3], None])
def test_the_named_layers_are_set(
    carried: Engine, path: str, cls: str, function: str, before: str | None, ids: list[int] | None
) -> None:
    source = carried.patched(path)
    assert layers_set(source, cls, function, ids) == [(ids,)]
    if before is not None:
        method = find(source, cls, function)
        (call,) = calls(method, "set_eagle3_layers_to_capture")
        assert call.lineno < calls(method, before)[0].lineno


@pytest.mark.parametrize(("path", "cls", "function", "before"), SITES)
def test_the_pristine_release_forgets_them(
    carried: Engine, path: str, cls: str, function: str, before: str | None
) -> None:
    assert layers_set(carried.pristine(path), cls, function, [0, 1, 3]) == [()]
