"""Running pieces of the engine without its dependencies: no torch, no GPU, only the text under test is real."""

from __future__ import annotations

import ast
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any


def module(name: str, **names: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    return made


@contextmanager
def imports(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Makes ``modules`` importable for a while; parents become empty packages."""
    everything: dict[str, ModuleType] = {}
    for name, made in modules.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            everything.setdefault(".".join(parts[:end]), module(parts[end - 1]))
        everything[name] = made
    for name, made in everything.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(everything[parent], child, made)
    before = {name: sys.modules.get(name) for name in everything}
    sys.modules.update(everything)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                del sys.modules[name]
            else:
                sys.modules[name] = old


def find(source: str, *path: str) -> ast.stmt:
    """The definition at ``path`` (module to class to function), or the assignment of that name."""
    body = ast.parse(source).body
    for name in path:
        node = next(node for node in body if name in _names(node))
        body = getattr(node, "body", [])
    return node


def run(nodes: list[ast.stmt], names: dict[str, Any]) -> dict[str, Any]:
    """Executes statements taken out of a module, with ``names`` as their globals; returns the globals."""
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module(body=[*future, *nodes], type_ignores=[]), "<engine>", "exec"), names)
    return names


def conditions(tree: ast.AST, accept: Callable[[ast.If], bool]) -> list[ast.If]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.If) and accept(node)]


def calls(tree: ast.AST, method: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]


class Device:
    """A process group of ``world`` ranks on GPUs of one capability, with or without multicast; records the kernels."""

    def __init__(self, capability: int, world: int, *, multicast: bool) -> None:
        self.kernels: list[str] = []
        self.log = logging.getLogger(f"engine.{id(self)}")
        handle = SimpleNamespace(multicast_ptr=4096 if multicast else 0)
        ops = SimpleNamespace(
            multimem_all_reduce_=lambda *_: self.kernels.append("multimem"),
            two_shot_all_reduce_=lambda *_: self.kernels.append("two_shot"),
        )
        cuda = SimpleNamespace(set_device=lambda _: None, get_device_capability=lambda _=None: (capability, 0))
        self.symmetric = module("_symmetric_memory", empty=lambda n, **_: Tensor(n), rendezvous=lambda *_: handle)
        self.distributed = module("distributed", ProcessGroup=object, get_world_size=lambda _: world)
        self.torch = module(
            "torch",
            bfloat16=BF16,
            cuda=cuda,
            device=lambda text: text,
            ops=SimpleNamespace(symm_mem=ops),
            empty_like=lambda t: Tensor(t.count, t.dtype),
            Tensor=object,
        )

    def communicator(self, sizes: str, source: str, file: str, cls: str) -> Any:
        """Builds the communicator of ``source`` on this device, with the size table of ``sizes``."""
        table = module("all_reduce_utils")
        exec(sizes, vars(table))
        package = "sglang.srt.distributed.device_communicators"
        utils = module("utils", is_cuda=lambda: True, is_hip=lambda: False)
        stubs = {
            "torch": self.torch,
            "torch.distributed": self.distributed,
            "torch.distributed._symmetric_memory": self.symmetric,
            f"{package}.all_reduce_utils": table,
            "sglang.srt.utils": utils,
        }
        made = module(f"{package}.{file}")
        with imports(stubs):
            exec(compile(source, file, "exec"), vars(made))
        vars(made)["logger"] = self.log
        return getattr(made, cls)(SimpleNamespace(group_name="tp"), 0)


BF16 = SimpleNamespace(name="bfloat16", itemsize=2)
FP16 = SimpleNamespace(name="float16", itemsize=2)


class Tensor:
    """Just the shape and dtype that the communicator looks at."""

    def __init__(self, count: int, dtype: Any = BF16) -> None:
        self.count, self.dtype, self.shape = count, dtype, (count,)

    def numel(self) -> int:
        return self.count

    def element_size(self) -> int:
        size: int = self.dtype.itemsize
        return size

    def __getitem__(self, part: slice) -> Tensor:
        return Tensor(min(part.stop, self.count), self.dtype)

    def view(self, *_: Any) -> Tensor:
        return self

    def copy_(self, other: Tensor) -> Tensor:
        if other.count != self.count:
            raise RuntimeError("size mismatch")
        return self


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
