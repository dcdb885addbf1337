"""The methods of Tensor that write in place: `x.add_(y)` and its like, PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.ops import Kind
from ..runtime.registry import ops
from . import storage
from .operand import Operand
from .tensor import Tensor

__all__: list[str] = []


def _scaled(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn(x, y)` with a factor `alpha` of y."""

    def compute(x: Any, other: Any, *, alpha: Any = 1) -> Any:
        return fn(x, other if alpha == 1 else other * alpha)

    return compute


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    return np.clip(x, min, max)


def _sigmoid(x: Any) -> Any:
    return x.sigmoid()


_COMPUTED: dict[str, Callable[..., Any]] = {
    "add": _scaled(np.add),
    "sub": _scaled(np.subtract),
    "mul": lambda x, other: np.multiply(x, other),
    "div": lambda x, other: np.true_divide(x, other),
    "pow": lambda x, exponent: np.power(x, exponent),
    "remainder": lambda x, other: np.remainder(x, other),
    "floor_divide": lambda x, other: np.floor_divide(x, other),
    "neg": lambda x: np.negative(x),
    "abs": lambda x: np.absolute(x),
    "sigmoid": _sigmoid,
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": lambda x, min: np.maximum(x, min),
    "clamp_max": lambda x, max: np.minimum(x, max),
    "round": lambda x, *, decimals=0: np.round(x, decimals),
    "lerp": lambda x, end, weight: x + weight * (end - x),
    "addcmul": lambda x, tensor1, tensor2, *, value=1: x + tensor1 * tensor2 * value,
    "addcdiv": lambda x, tensor1, tensor2, *, value=1: x + np.true_divide(tensor1, tensor2) * value,
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
}


def _in_place(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        sources = [v for v in (*args, *kwargs.values()) if isinstance(v, Operand)]
        return storage.update(self, lambda x: compute(x, *args, **kwargs), f"x.{name}()", *sources)

    method.__name__ = name
    method.__doc__ = f"`x.{name.removesuffix('_')}(...)`, written into this tensor, which it returns."
    return method


def zero_(self: Any) -> Any:
    """Write zeros into this tensor, which it returns."""
    storage.set_item(self, ..., 0, "x.zero_()", "Zero")
    return self


def fill_(self: Any, value: Any) -> Any:
    """Write one number (or 0-d tensor) into all elements of this tensor, which it returns."""
    storage.set_item(self, ..., value, "x.fill_(v)", "Fill")
    return self


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write the elements of `src`, broadcast and cast, into this tensor, which it returns."""
    storage.set_item(self, ..., src, "x.copy_(src)", "CopyBackwards")
    return self


def _install() -> None:
    computed = dict(_COMPUTED)
    for op in ops():
        if op.kind is Kind.elementwise and op.signature == "x" and isinstance(op.fn, np.ufunc):
            computed.setdefault(op.name, op.fn)
    for name, compute in computed.items():
        setattr(Tensor, f"{name}_", _in_place(f"{name}_", compute))
    for write in (zero_, fill_, copy_):
        setattr(Tensor, write.__name__, write)


_install()
