"""NumPy's functions that write into their first argument, where it or the written value is a Tensor."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...runtime.errors import GradientLossError
from ...runtime.registry import path_of, require
from ...runtime.rules.indexing import index_add_at, index_set
from ...runtime.rules.support import decided, literal
from ...unpatched import np
from ..core.dispatch import apply, unwrap
from ..core.site import blame
from ..core.tensor_base import Operand
from ..core.thread_state import refuse
from . import eager_writes

__all__ = ["WRITERS", "write_at"]


def _copyto(target: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    if casting == "unsafe" and hasattr(src, "astype"):
        src = src.astype(target.dtype)
    return src if where is True else np.where(where, src, target)


def _put(target: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    places: Any = np.ravel(ind)
    if mode != "raise":
        places = places % target.size if mode == "wrap" else np.clip(places, 0, target.size - 1)
    places = places.tolist() if isinstance(places, np.ndarray) else places
    return np.reshape(_cycled(np.ravel(target), places, v), target.shape)


def _putmask(target: Any, mask: Any, values: Any) -> Any:
    if np.size(values) != 1 and np.shape(values) != target.shape:
        values = np.reshape(np.ravel(values)[[k % np.size(values) for k in range(target.size)]], target.shape)
    return np.where(mask, values, target)


def _fill_diagonal(target: Any, val: Any, wrap: bool = False) -> Any:
    np.fill_diagonal(np.empty(target.shape), 0.0)  # NumPy's own errors
    shape = target.shape
    step = 1 + shape[-1] if len(shape) == 2 else 1 + sum([math.prod(shape[:k]) for k in range(1, len(shape))])
    end = shape[1] * shape[1] if len(shape) == 2 and not wrap else target.size
    return np.reshape(_cycled(np.ravel(target), list(range(target.size))[:end:step], val), shape)


def _cycled(flat: Any, places: Any, val: Any) -> Any:
    """A vector with `val` at some places, over and over as far as it goes."""
    values, count = np.ravel(literal(val, flat)), np.size(places)
    if np.size(values) not in (1, count) and count:
        values = values[[k % np.size(values) for k in range(count)]]
    return index_set(flat, places, values)


def _place(target: Any, mask: Any, vals: Any) -> Any:
    flat, chosen = np.ravel(vals), np.reshape(mask, target.shape)
    if not flat.size and chosen.any():
        raise ValueError("Cannot insert from an empty array!")
    turn = (np.cumsum(np.ravel(chosen)) - 1) % max(flat.size, 1)
    return np.where(chosen, np.reshape(np.take(flat, turn), target.shape), target)


def _put_along_axis(target: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return np.reshape(_put_along_axis(np.ravel(target), indices, values, 0), target.shape)
    shape = target.shape
    if np.ndim(indices) != len(shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    counts: list[Any] = [apply(require(np.arange), (n,), {}) for n in shape]
    at: list[Any] = [np.reshape(c, [-1 if j == k else 1 for j in range(len(shape))]) for k, c in enumerate(counts)]
    at[axis] = indices if isinstance(indices, Operand) else np.asarray(indices).tolist()
    return index_set(target, tuple(at) if len(at) > 1 else at[0], values)


def _writer(function: Callable[..., Any], exact: Callable[..., Any]) -> Callable[..., Any]:
    """`function` where a Tensor is among its arguments; `exact` gives what then stands in the first."""
    path = path_of(function)

    def call(target: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(target, Operand):
            refuse(f"writes in place into an array of unknown origin (`{path}`)")
            if any(t._node is not None for t in _tensors((args, kwargs))):
                raise blame(
                    GradientLossError(
                        f"{path} would write a Tensor that requires grad into a plain NumPy array, and its gradient "
                        "would be lost. Use np.where, np.stack or np.concatenate, write the tensor's numbers "
                        "(t.detach().numpy()), or put the code under gs.grad, where np.zeros gives what can hold them."
                    )
                )
            function(target, *unwrap(args), **{k: unwrap(v) for k, v in kwargs.items()})
            return
        eager_writes.may_write(target, path)
        eager_writes.write(target, exact(target, *args, **kwargs), path)

    return call


def write_at(ufunc: Any, target: Any, index: Any, *values: Any) -> None:
    """`ufunc.at`: np.add.at and np.subtract.at at once, the others occurrence by occurrence of each element."""
    known: dict[Any, Callable[..., Any]] = {
        np.add: lambda t, i, v: index_add_at(t, i, v),
        np.subtract: lambda t, i, v: index_add_at(t, i, -v),
    }

    def at(*args: Any) -> None:
        ufunc.at(*args)

    at.__name__, at.__module__ = f"{ufunc.__name__}.at", "numpy"
    _writer(at, known.get(ufunc) or functools.partial(_at, ufunc))(target, index, *values)


def _at(ufunc: Any, target: Any, index: Any, *values: Any) -> Any:
    """Return the target after `ufunc.at`: for an element that is named several times, each turn follows the one before."""
    named = np.arange(target.size).reshape(target.shape)[decided(index)]
    flat, order = np.ravel(target), named.ravel()
    turn = np.zeros(order.size, int)
    seen: dict[int, int] = {}
    for k, element in enumerate(order.tolist()):
        turn[k] = seen[element] = seen.get(element, -1) + 1
    given = [np.ravel(np.broadcast_to(literal(v, flat), named.shape)) for v in values]
    for k in range(int(turn.max(initial=-1)) + 1):
        now = np.flatnonzero(turn == k).tolist()
        places = order[now].tolist()
        made = ufunc(flat[places], *[v[now] for v in given])
        flat = index_set(flat, places, made if made.dtype == target.dtype else made.astype(target.dtype))
    return np.reshape(flat, target.shape)


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, Operand):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for v in parts for t in _tensors(v)]


_EXACT: dict[Any, Callable[..., Any]] = {
    np.copyto: _copyto, np.put: _put, np.putmask: _putmask, np.fill_diagonal: _fill_diagonal, np.place: _place,
    np.put_along_axis: _put_along_axis,
}  # fmt: skip
WRITERS = {function: _writer(function, exact) for function, exact in _EXACT.items()}
