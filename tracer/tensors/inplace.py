"""The methods of Tensor that write in place: `x.add_(y)` and its like, PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.registry import registered
from ...unpatched import np
from ..core.tensor_base import Operand
from ..memory import eager_writes
from . import torch_methods
from .tensor import Tensor

__all__: list[str] = []


def _by_name(name: str) -> Callable[..., Any]:
    """The method that gives a new tensor."""

    def compute(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    return compute


def _in_place(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        sources = [v for v in (*args, *kwargs.values()) if isinstance(v, Operand)]
        return eager_writes.update(self, lambda x: compute(x, *args, **kwargs), f"x.{name}()", *sources)

    method.__name__ = name
    method.__doc__ = f"`x.{name.removesuffix('_')}(...)`, written into this tensor, which it returns."
    return method


def zero_(self: Any) -> Any:
    """Write zeros into this tensor, which it returns."""
    eager_writes.set_item(self, ..., 0, "x.zero_()", "Zero")
    return self


def fill_(self: Any, value: Any) -> Any:
    """Write one number (or 0-d tensor) into all elements of this tensor, which it returns."""
    eager_writes.set_item(self, ..., value, "x.fill_(v)", "Fill")
    return self


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write the elements of `src`, broadcast and cast, into this tensor, which it returns."""
    eager_writes.set_item(self, ..., src, "x.copy_(src)", "CopyBackwards")
    return self


def _install() -> None:
    computed: dict[str, Callable[..., Any]] = {name: _by_name(name) for name in torch_methods.IN_PLACE.split()}
    computed |= {
        op.name: op.fn
        for op in registered()
        if op.signature == "x" and isinstance(op.fn, np.ufunc) and op.vjps.get("x") and op.n_out == 1
    }
    for name, compute in computed.items():
        setattr(Tensor, f"{name}_", _in_place(f"{name}_", compute))
    for write in (zero_, fill_, copy_):
        setattr(Tensor, write.__name__, write)


_install()
