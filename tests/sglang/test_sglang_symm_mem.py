"""Symmetric memory on GPUs of capability 12, without multicast: simulated, on the real source."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from engine_source import Engine
from engine_stubs import BF16, FP16, Device, Tensor, find, run

pytestmark = [pytest.mark.network, pytest.mark.slow]

FOLDER = "distributed/device_communicators"
PLACES = {
    "v0.5.4": ("symm_mem", "SymmMemCommunicator"),
    "v0.5.9": ("torch_symm_mem", "TorchSymmMemCommunicator"),
    "v0.5.10": ("torch_symm_mem", "TorchSymmMemCommunicator"),
}
MIB = 1024 * 1024


@pytest.fixture(params=sorted(PLACES))
def target(request: pytest.FixtureRequest, engine_of) -> Engine:
    engine: Engine = engine_of(request.param)
    return engine


def build(device: Device, engine: Engine, *, sizes: str = "patched", code: str = "patched") -> Any:
    file, cls = PLACES[engine.tag]
    table = getattr(engine, sizes)(f"{FOLDER}/all_reduce_utils.py")
    return device.communicator(table, getattr(engine, code)(f"{FOLDER}/{file}.py"), file, cls)


@pytest.mark.parametrize("world", [2, 4, 6, 8])
def test_capability_12_takes_two_shot_without_multicast(target: Engine, world: int) -> None:
    device = Device(12, world, multicast=False)
    made = build(device, target)
    assert not made.disabled
    made.all_reduce(Tensor(7168))
    assert device.kernels == ["two_shot"]


def test_capability_12_takes_two_shot_with_multicast_too(target: Engine) -> None:
    device = Device(12, 8, multicast=True)
    build(device, target).all_reduce(Tensor(7168))
    assert device.kernels == ["two_shot"]


@pytest.mark.parametrize(("capability", "world"), [(12, 1), (12, 3), (12, 16), (11, 2), (8, 2), (13, 8)])
def test_what_no_table_knows_is_left_alone(target: Engine, capability: int, world: int) -> None:
    assert build(Device(capability, world, multicast=True), target).disabled


@pytest.mark.parametrize(
    ("capability", "world", "multicast", "kernels"),
    [
        (9, 2, True, ["two_shot"]),
        (9, 4, True, ["multimem"]),
        (9, 8, True, ["multimem"]),
        (10, 4, True, ["two_shot"]),
        (10, 8, True, ["multimem"]),
        (9, 2, False, ["two_shot"]),
        (9, 4, False, None),
        (10, 8, False, None),
    ],
)
def test_data_centre_gpus_choose_as_before(
    target: Engine, capability: int, world: int, multicast: bool, kernels: list[str] | None
) -> None:
    device = Device(capability, world, multicast=multicast)
    made = build(device, target)
    assert made.disabled == (kernels is None)
    if kernels is not None:
        made.all_reduce(Tensor(7168))
        assert device.kernels == kernels


def test_the_pristine_release_raises(target: Engine) -> None:
    with pytest.raises(KeyError, match="12"):
        build(Device(12, 2, multicast=False), target, sizes="pristine", code="pristine")


def test_the_table_alone_leaves_it_off_or_raises(target: Engine) -> None:
    assert build(Device(12, 2, multicast=False), target, code="pristine").disabled
    with pytest.raises(KeyError, match="12"):
        build(Device(12, 2, multicast=True), target, code="pristine").all_reduce(Tensor(7168))


def test_the_communicator_alone_is_off_without_an_error(target: Engine) -> None:
    assert build(Device(12, 2, multicast=False), target, sizes="pristine").disabled


class Group:
    """A coordinator whose collectives are recorded, around a real communicator."""

    def __init__(self, communicator: Any) -> None:
        self.pynccl_comm = None
        self.torch_symm_mem_comm = communicator
        self.device_group = "nccl"


@pytest.mark.parametrize(
    ("tensor", "path"),
    [
        (Tensor(7168), "two_shot"),
        (Tensor(7168, FP16), "nccl"),
        (Tensor(64 * MIB // 2 + 2, BF16), "nccl"),
        (Tensor(3), "nccl"),
    ],
    ids=["fits", "other dtype", "oversize", "odd size"],
)
def test_the_in_place_path_asks_first(carried: Engine, tensor: Tensor, path: str) -> None:
    assert in_place(carried.patched, carried, tensor) == [path]


def test_the_pristine_in_place_path_raises_or_drops_the_sum(carried: Engine) -> None:
    with pytest.raises(RuntimeError):
        in_place(carried.pristine, carried, Tensor(64 * MIB // 2 + 2))
    assert in_place(carried.pristine, carried, Tensor(7168, FP16)) == ["two_shot"]


def in_place(text, engine: Engine, tensor: Tensor) -> list[str]:
    device = Device(12, 2, multicast=False)
    communicator = build(device, engine)
    collectives = SimpleNamespace(all_reduce=lambda *_, **__: device.kernels.append("nccl"))
    method = find(text("distributed/parallel_state.py"), "GroupCoordinator", "_all_reduce_in_place")
    names = run([method], {"torch": SimpleNamespace(distributed=collectives)})
    names["_all_reduce_in_place"](Group(communicator), tensor)
    return device.kernels


def test_the_in_place_path_writes_into_its_input(carried: Engine) -> None:
    seen: list[Any] = []
    communicator = SimpleNamespace(
        disabled=False,
        should_torch_symm_mem_allreduce=lambda _: True,
        all_reduce=lambda tensor, *, out=None: seen.append((tensor, out)),
    )
    method = find(carried.patched("distributed/parallel_state.py"), "GroupCoordinator", "_all_reduce_in_place")
    tensor = Tensor(7168)
    run([method], {})["_all_reduce_in_place"](Group(communicator), tensor)
    assert seen == [(tensor, tensor)]
