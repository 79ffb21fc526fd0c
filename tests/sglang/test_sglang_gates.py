"""What capability 12 is given: the MoE runner of GPT-OSS MXFP4, and FlashInfer's fused all-reduce."""

from __future__ import annotations

import ast
import logging
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from engine_source import Engine
from engine_stubs import conditions, find, imports, module, run
from packaging.version import Version

pytestmark = [pytest.mark.network, pytest.mark.slow]


def moe_runner(source: str, capability: int, *, kernels: bool = True, quant: str | None = "mxfp4", ep: int = 1) -> str:
    """The runner picked for GPT-OSS when none is asked for."""
    branch = conditions(ast.parse(source), lambda node: ast.unparse(node.test) == "model_arch in ['GptOssForCausalLM']")
    (choice,) = conditions(branch[0], lambda node: ast.unparse(node.test) == "self.moe_runner_backend == 'auto'")
    args = SimpleNamespace(moe_runner_backend="auto", ep_size=ep, quantization=None)
    names: dict[str, Any] = {
        "self": args,
        "logger": logging.getLogger("engine"),
        "is_mxfp4_quant_format": quant == "mxfp4",
        "is_blackwell_supported": lambda: capability in (10, 11, 12),
        "is_sm100_supported": lambda: capability == 10,
        "is_sm120_supported": lambda: capability == 12,
        "is_hip": lambda: False,
        "get_bool_env_var": lambda _: False,
        "is_triton_kernels_available": lambda: kernels,
    }
    run([choice], names)
    runner: str = args.moe_runner_backend
    return runner


def test_gpt_oss_mxfp4_on_capability_12_leaves_trtllm_gen(engine: Engine) -> None:
    assert moe_runner(engine.pristine("server_args.py"), 12) == "flashinfer_mxfp4"
    assert moe_runner(engine.patched("server_args.py"), 12) == "triton_kernel"


@pytest.mark.parametrize(("kernels", "ep"), [(False, 1), (True, 2)])
def test_gpt_oss_on_capability_12_has_no_other_runner(engine: Engine, kernels: bool, ep: int) -> None:
    assert moe_runner(engine.patched("server_args.py"), 12, kernels=kernels, ep=ep) == "triton_kernel"


def test_gpt_oss_mxfp4_on_capability_11_leaves_trtllm_gen(engine: Engine) -> None:
    assert moe_runner(engine.pristine("server_args.py"), 11) == "flashinfer_mxfp4"
    assert moe_runner(engine.patched("server_args.py"), 11) == "triton_kernel"
    assert moe_runner(engine.patched("server_args.py"), 11, kernels=False) == "auto"


@pytest.mark.parametrize("capability", [9, 10])
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("quant", ["mxfp4", None])
def test_other_capabilities_choose_as_before(engine: Engine, capability: int, kernels: bool, quant: str | None) -> None:
    before, after = (
        moe_runner(source, capability, kernels=kernels, quant=quant)
        for source in (engine.pristine("server_args.py"), engine.patched("server_args.py"))
    )
    assert before == after


def swizzle(engine: Engine, capability: int) -> tuple[list[tuple[str, dict[str, Any]]], list[dict[str, Any]]]:
    """The layouts (value, scale) that MXFP4 weights get, and the constraints put on the kernel."""
    layouts: list[tuple[str, dict[str, Any]]] = []
    constraints: list[dict[str, Any]] = []

    def convert(tensor: Any, layout: str, **options: Any) -> Any:
        layouts.append((layout, options))
        return tensor

    layout = module(
        "layout",
        StridedLayout="strided",
        make_default_matmul_mxfp4_w_layout=lambda **_: ("default value", {"axis": 1}),
        make_default_matmul_mxfp4_w_scale_layout=lambda **_: ("default scale", {"axis": 1}),
    )
    tensor = module("tensor", FP4="fp4", convert_layout=convert, wrap_torch_tensor=lambda tensor, dtype=None: tensor)
    stubs = {
        "triton_kernels.matmul_ogs_details.opt_flags": module(
            "opt_flags", update_opt_flags_constraints=constraints.append
        ),
        "triton_kernels.numerics": module("numerics", InFlexData=lambda: None),
        "triton_kernels.tensor": tensor,
        "triton_kernels.tensor_details.layout": layout,
    }
    names: dict[str, Any] = {f"is_sm{major}0_supported": partial(capability.__eq__, major) for major in (9, 10, 12)}
    function = find(engine.patched("layers/quantization/mxfp4.py"), "_swizzle_mxfp4")
    weights = SimpleNamespace(transpose=lambda *_: weights)
    with imports(stubs):
        run([function], names)["_swizzle_mxfp4"](weights, weights, 8)
    return layouts, constraints


def test_mxfp4_weights_on_capability_12_are_strided(engine: Engine) -> None:
    layouts, constraints = swizzle(engine, 12)
    assert layouts == [("strided", {}), ("strided", {})]
    assert constraints == [{"is_persistent": False, "block_k": 128, "num_stages": 1}]


@pytest.mark.parametrize(
    ("capability", "expected"),
    [(9, [{"split_k": 1}]), (10, [{"is_persistent": True, "epilogue_subtile": 1}]), (8, [])],
)
def test_mxfp4_weights_elsewhere_are_as_before(engine: Engine, capability: int, expected: list[dict[str, Any]]) -> None:
    layouts, constraints = swizzle(engine, capability)
    assert [layout for layout, _ in layouts] == ["default value", "default scale"]
    assert constraints == expected


GATE = (
    "FUSE_ALLREDUCE_MAX_BATCH_SIZE",
    "FLASHINFER_SM120_FUSION_MIN_VERSION",
    "_is_flashinfer_fusion_available_on_sm120",
    "_is_sm120_fusion_available",
    "apply_flashinfer_allreduce_fusion",
)


def fusion(carried: Engine, capability: int, flashinfer: str | None, *, flag: bool = True, batch: int = 8) -> bool:
    source = carried.patched("layers/communicator.py")
    names: dict[str, Any] = {
        "logger": logging.getLogger("engine.fusion"),
        "_is_flashinfer_available": flashinfer is not None,
        "check_pkg_version_at_least": lambda _, least: Version(flashinfer or "0") >= Version(least),
        "is_dp_attention_enabled": lambda: False,
        "is_flashinfer_allreduce_unavailable": lambda: False,
        "get_global_server_args": lambda: SimpleNamespace(enable_flashinfer_allreduce_fusion=flag, attn_cp_size=1),
    }
    names |= {f"_is_sm{major}0_supported": capability == major for major in (9, 10, 12)}
    made = run([find(source, name) for name in GATE], names)
    return bool(made["apply_flashinfer_allreduce_fusion"](batch))


@pytest.mark.parametrize("version", ["0.6.17", "0.6.18+cu130", "0.7.4"])
def test_fusion_is_admitted_where_flashinfer_builds_it(
    carried: Engine, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert fusion(carried, 12, version)
    assert not fusion(carried, 12, version, flag=False)
    assert not fusion(carried, 12, version, batch=0)
    assert not caplog.records


@pytest.mark.parametrize("version", ["0.6.3", "0.6.4", "0.6.16.post4", "0.6.17rc5"])
def test_fusion_stays_off_with_an_older_flashinfer_and_says_so(
    carried: Engine, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert not fusion(carried, 12, version)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "0.6.17" in caplog.text


@pytest.mark.parametrize(("capability", "admitted"), [(9, True), (10, True), (8, False), (11, False)])
def test_fusion_elsewhere_is_as_before(
    carried: Engine, capability: int, admitted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert fusion(carried, capability, "0.6.3") is admitted
    assert not fusion(carried, 12, None)
    assert not caplog.records
