"""NumPy's functions that write into their first argument, where that or what is written is a Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.errors import GradientLossError, NoRuleError
from ..runtime.registry import path_of
from ..runtime.rules.indexing import index_add_at, index_set
from . import storage
from .dispatch import unwrap
from .operand import Operand, wrap
from .site import blame

__all__ = ["WRITERS", "write_at"]


def _copyto(target: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    if casting == "unsafe" and hasattr(src, "astype"):
        src = src.astype(target.dtype)
    return src if where is True else np.where(where, src, target)


def _put(target: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    places: Any = np.ravel(ind)
    if mode != "raise":
        places = places % target.size if mode == "wrap" else np.clip(places, 0, target.size - 1)
    values = np.ravel(v)
    if values.size != places.size and values.size != 1:
        values = values[np.arange(places.size) % values.size]
    if isinstance(places, np.ndarray):
        places = places.tolist()
    return np.reshape(index_set(np.ravel(target), places, values), target.shape)


def _putmask(target: Any, mask: Any, values: Any) -> Any:
    flat = np.ravel(values)
    every = np.arange(target.size) % flat.size
    return np.where(mask, np.reshape(flat[every], target.shape), target)


def _fill_diagonal(target: Any, val: Any, wrap: bool = False) -> Any:
    if wrap or np.ndim(val):
        raise blame(NoRuleError("np.fill_diagonal with `wrap` or with an array: write a[i, i] = values in its place"))
    k = list(range(min(target.shape)))
    return index_set(target, (k,) * target.ndim, val)


def _writer(function: Callable[..., Any], exact: Callable[..., Any] | None) -> Callable[..., Any]:
    """`function` where a Tensor is among its arguments; `exact` gives what then stands in the first."""
    path = path_of(function)

    def call(target: Any, *args: Any, **kwargs: Any) -> None:
        differentiated = any(t._node is not None for t in _tensors((args, kwargs)))
        if not isinstance(target, Operand):
            if differentiated:
                raise blame(
                    GradientLossError(
                        f"{path} would write a Tensor that requires grad into a plain NumPy array, and its gradient "
                        "would be lost. Use np.where, np.stack or np.concatenate, write the tensor's numbers "
                        "(t.detach().numpy()), or put the code under gs.grad, where np.zeros gives what can hold them."
                    )
                )
            function(target, *unwrap(args), **{k: unwrap(v) for k, v in kwargs.items()})
            return
        storage.may_write(target, path)
        if exact is not None:
            storage.write(target, exact(target, *args, **kwargs), path)
        elif differentiated or target._node is not None:
            raise blame(NoRuleError(f"{path} has no gradient rule in gradscribe. Write a[index] = v, or use np.where."))
        else:
            new = np.array(target._value)  # a node may have saved the old one
            function(new, *unwrap(args), **{k: unwrap(v) for k, v in kwargs.items()})
            storage.write(target, wrap(new), path)

    return call


def write_at(ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`: the gradient of np.add.at and np.subtract.at is known, the others take constants only."""
    known: dict[Any, Callable[..., Any]] = {
        np.add: lambda t, i, v: index_add_at(t, i, v),
        np.subtract: lambda t, i, v: index_add_at(t, i, -v),
    }

    def at(*args: Any) -> None:
        ufunc.at(*args)

    at.__name__, at.__module__ = f"{ufunc.__name__}.at", "numpy"
    _writer(at, known.get(ufunc))(target, index, *values)


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, Operand):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for v in parts for t in _tensors(v)]


_EXACT: dict[Any, Callable[..., Any] | None] = {
    np.copyto: _copyto, np.put: _put, np.putmask: _putmask, np.fill_diagonal: _fill_diagonal, np.place: None,
    np.put_along_axis: None,
}  # fmt: skip
WRITERS = {function: _writer(function, exact) for function, exact in _EXACT.items()}
