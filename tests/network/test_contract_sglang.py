"""The EAGLE-3 contract on real SGLang releases: every site, every guard, who answers, and what the series changes.

The expected answers were found by reading the releases, not by running patchctl. ``PATCHCTL_SGLANG_CACHE``, a filled
cache, spares the fetch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.network.test_real_release import copy_series
from tests.projects import Run, patchctl

pytestmark = [pytest.mark.network, pytest.mark.slow]
SRT = "python/sglang/srt/"
MODELS = f"{SRT}models/"
Ask = Callable[..., Run]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    folder = tmp_path_factory.mktemp("contract")
    project = copy_series(folder / "project")
    env = {**os.environ, "PATCHCTL_CACHE": os.environ.get("PATCHCTL_SGLANG_CACHE", str(folder / "cache"))}
    return lambda *args: patchctl("contract", *args, cwd=project, env=env)


def requirements(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in document["requirements"] if each["kind"] != "signature"}


def lines(requirement: dict[str, Any]) -> list[str]:
    return [f"{site['path'].removeprefix(SRT)}:{site['line']}" for site in requirement["sites"]]


def test_what_is_asked_of_the_target(ask: Ask) -> None:
    done = ask("eagle3-target", "--pristine")
    assert done.code == 1, done.words
    found = requirements(done.document)
    expected = {
        "get_embed_and_head": (
            "none",
            "target",
            [
                "speculative/eagle_worker.py:157",
                "speculative/eagle_worker_v2.py:194",
                "speculative/multi_layer_eagle_worker.py:149",
                "speculative/multi_layer_eagle_worker_v2.py:169",
            ],
        ),
        "set_eagle3_layers_to_capture": (
            "none",
            "target",
            ["model_executor/cuda_graph_runner.py:365"]
            + [f"model_executor/model_runner.py:{line}" for line in (622, 1906)],
        ),
        "start_layer": ("getattr-default", "any", ["model_executor/model_runner.py:520"]),
        "end_layer": ("getattr-default", "any", ["model_executor/model_runner.py:521"]),
        "routed_experts_weights_of_layer": ("none", "any", ["model_executor/model_runner.py:1104"]),
        "model": ("none", "any", [f"model_executor/model_runner.py:{line}" for line in (255, 2176)]),
    }
    for name, (guard, role, sites) in expected.items():
        assert (found[name]["guard"], found[name]["role"], lines(found[name])) == (guard, role, sites), name
    assert not {"set_embed", "hot_token_id", "set_embed_and_head"} & found.keys()
    signatures = [each for each in done.document["requirements"] if each["kind"] == "signature"]
    assert [lines(each) for each in signatures] == [[f"model_executor/model_runner.py:{line}" for line in (421, 2098)]]
    lost = {f"{each['path'].removeprefix(SRT)}:{each['line']}" for each in done.document["unresolved"]}
    assert "speculative/multi_layer_eagle_worker.py:155" in lost


def test_what_is_asked_of_the_draft(ask: Ask) -> None:
    done = ask("eagle3-draft", "--pristine")
    assert done.code == 0, done.words
    found = requirements(done.document)
    v1, v2 = "speculative/eagle_worker.py", "speculative/eagle_worker_v2.py"
    multi_layer = ["speculative/multi_layer_eagle_worker.py:176", "speculative/multi_layer_eagle_worker_v2.py:172"]
    expected = {
        "set_embed_and_head": ("none", [f"{v1}:166", f"{v1}:183", f"{v2}:202", f"{v2}:219", *multi_layer]),
        "set_embed": ("none", [f"{v1}:168", f"{v2}:204"]),
        "hot_token_id": ("none", [f"{v1}:171", f"{v1}:172", f"{v2}:207", f"{v2}:208"]),
        "load_lm_head_from_target": ("hasattr", [f"{v1}:163", f"{v1}:164", f"{v2}:199", f"{v2}:200"]),
    }
    for name, (guard, sites) in expected.items():
        assert (found[name]["guard"], found[name]["role"], lines(found[name])) == (guard, "draft", sites), name
    assert {name: found[name]["provided"]["how"] for name in expected} == {
        "set_embed_and_head": "inherited",
        "set_embed": "inherited",
        "hot_token_id": "own",
        "load_lm_head_from_target": "own",
    }


def test_without_the_series_it_crashes_and_with_it_it_does_not(ask: Ask) -> None:
    pristine = ask("eagle3-target", "--pristine")
    assert pristine.code == 1
    assert pristine.document["first"]["name"] == "set_eagle3_layers_to_capture"
    assert "model_executor/" in pristine.document["error"]["file"]
    assert {move["name"]: move["change"] for move in pristine.document["adds"]} == {
        "get_embed_and_head": "gained",
        "set_eagle3_layers_to_capture": "gained",
    }
    assert ask().code == 0
    names = "get_embed_and_head,set_embed_and_head,set_eagle3_layers_to_capture"
    patched = ask("eagle3-target", "--attr", names)
    assert patched.code == 0
    for each in patched.document["requirements"]:
        provided = each["provided"]
        assert (provided["how"], provided["via"]) == ("delegated", "self.language_model")
        assert provided["inner"]["class"] == "DeepseekV3ForCausalLM"
        assert provided["inner"]["provided"]["via"] == "DeepseekV2ForCausalLM"


def test_the_control_holds_without_the_series(ask: Ask) -> None:
    assert ask("eagle3-target-deepseek", "--pristine").code == 0


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("kimi_k25.py:KimiK25ForConditionalGeneration", "missing missing missing"),
        ("kimi_vl.py:KimiVLForConditionalGeneration", "missing missing missing"),
        ("deepseek_v2.py:DeepseekV2ForCausalLM", "own own own"),
        ("deepseek_v2.py:DeepseekV3ForCausalLM", "inherited inherited inherited"),
        ("llama.py:LlamaForCausalLM", "own own own"),
        ("mllama4.py:Llama4ForConditionalGeneration", "delegated delegated delegated"),
        ("qwen3_moe.py:Qwen3MoeForCausalLM", "own missing delegated"),
        ("mistral.py:Mistral3ForConditionalGeneration", "getattr getattr getattr"),
        ("pixtral.py:PixtralForConditionalGeneration", "delegated missing missing"),
        ("llama_eagle3.py:LlamaForCausalLMEagle3", "inherited inherited inherited"),
    ],
)
def test_providers(ask: Ask, provider: str, expected: str) -> None:
    names = "get_embed_and_head,set_embed_and_head,set_eagle3_layers_to_capture"
    done = ask("--pristine", "--provider", MODELS + provider, "--attr", names)
    found = [each["provided"] for each in done.document["requirements"]]
    assert " ".join(each["how"] for each in found) == expected
    if "mllama4" in provider:
        assert all(each["guarded"] for each in found)
    if "mistral" in provider:
        assert [each["holds"] for each in found] == [False] * 3


def test_over_releases(ask: Ask) -> None:
    done = ask("eagle3-target", "--targets", "v0.5.9,v0.5.10,v0.5.11,v0.5.12,v0.5.13")
    assert done.code == 0, done.words
    model = [requirements(step)["model"]["provided"] for step in done.document["targets"]]
    assert [each["how"] for each in model] == ["missing", "own", "missing", "missing", "own"]
    last = done.document["targets"][-1]
    moved = [move for move in last["moves"] if move["name"] == "get_embed_and_head"]
    assert moved[0]["change"] == "moved" and "eagle_worker.py" not in moved[0]["after"]


def test_a_worker_that_is_gone_names_its_successor(ask: Ask, tmp_path: Path) -> None:
    project = copy_series(tmp_path / "project")
    series = project / "series.yaml"
    series.write_text(series.read_text().replace('when: "<0.5.13"', 'when: "<0.6"'))
    env = {**os.environ, "PATCHCTL_CACHE": os.environ.get("PATCHCTL_SGLANG_CACHE", str(tmp_path / "cache"))}
    done = patchctl("contract", "eagle3-target", "--target", "v0.5.13", cwd=project, env=env)
    assert done.code == 1 and "consumer-gone" in done.kinds
    said = " ".join(problem["message"] for problem in done.document["problems"])
    assert "likely successor is python/sglang/srt/speculative/eagle_worker_v2.py" in said


def test_it_is_quick(ask: Ask) -> None:
    ask("eagle3-target", "--pristine")
    start = time.monotonic()
    ask("eagle3-target", "--pristine")
    assert time.monotonic() - start < 2  # 0.3 s on an idle machine
