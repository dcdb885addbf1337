"""`reduce`, `accumulate`, `reduceat` and `outer` of any ufunc: an op where there is one, else one operation after the other."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from ...runtime.registry import lookup, require
from ...runtime.rules.shaping import along
from ...runtime.rules.support import decided, is_given, normal_axes
from ...unpatched import np
from ..core import dispatch
from ..core.dispatch import apply, stacking, through_door

__all__ = ["METHODS", "method_of"]

_OPS: dict[tuple[Any, str], Any] = {
    (np.add, "reduce"): np.sum,
    (np.multiply, "reduce"): np.prod,
    (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min,
    (np.logical_and, "reduce"): np.all,
    (np.logical_or, "reduce"): np.any,
    (np.add, "accumulate"): np.cumsum,
    (np.multiply, "accumulate"): np.cumprod,
}


def _method(body: Callable[..., Any]) -> Callable[..., Any]:
    """A method as its op, or as `body`; either may write into `out`."""
    name = body.__name__.strip("_")

    def call(ufunc: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        whole = _OPS.get((ufunc, name))
        op = lookup(getattr(ufunc, name)) if whole is None else require(whole)
        out = kwargs.pop("out", None)
        out = out[0] if isinstance(out, tuple) else out
        if op is not None:
            if name != "reduceat" and not args:
                kwargs.setdefault("axis", 0)  # a ufunc's reduce goes over the first axis, np.sum over all
            return apply(op, (x, *args), kwargs if out is None else {**kwargs, "out": out})
        made = body(ufunc, x if hasattr(x, "dtype") else np.asarray(x), *args, **kwargs)
        if out is None:
            return made
        np.copyto(out, made)
        return out

    return call


def _probe(x: Any) -> Any:
    """An array of the same shape and dtype, on which NumPy raises its own errors."""
    return np.ones(np.shape(x), x.dtype)


def _reduce(
    ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: Any = np._NoValue, where: Any = True
) -> Any:  # fmt: skip
    words = {"initial": 1} if is_given(initial) else {}
    ufunc.reduce(
        _probe(x), axis, dtype, **words, **({} if where is True else {"where": np.ones(np.shape(where), bool)})
    )
    axes = normal_axes(axis, np.ndim(x))
    order = (*axes, *[k for k in range(np.ndim(x)) if k not in axes])
    count = math.prod([np.shape(x)[a] for a in axes])
    kept = tuple([np.shape(x)[k] for k in order[len(axes) :]])

    def rows(value: Any) -> list[Any]:
        flat = np.reshape(np.transpose(value, order), (count, *kept))
        return [flat[k] for k in range(count)]

    values = rows(x if dtype is None else x.astype(dtype))
    masks = [True] * count if where is True else rows(np.broadcast_to(where, np.shape(x)))
    if is_given(initial) or where is not True or not count:
        found = initial if is_given(initial) else ufunc.identity
        found = found if count else np.full(kept, found, x.dtype)
    else:
        found, values, masks = values[0], values[1:], masks[1:]
    for value, mask in zip(values, masks, strict=True):
        found = ufunc(found, value) if mask is True else np.where(mask, ufunc(found, value), found)
    return np.expand_dims(found, axes) if keepdims and axes else found


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    ufunc.accumulate(_probe(x), axis, dtype)
    x = x if dtype is None else x.astype(dtype)
    rows = [x[along(axis % np.ndim(x), k)] for k in range(np.shape(x)[axis])]
    return np.stack(list(itertools.accumulate(rows, ufunc)), axis=axis) if rows else x


def _reduceat(ufunc: Any, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    starts = decided(indices)
    ufunc.reduceat(_probe(x), starts, axis, dtype)
    starts = [int(i) for i in starts]
    stops = [max(b, a + 1) for a, b in itertools.pairwise([*starts, np.shape(x)[axis]])]
    pieces = [x[along(axis % np.ndim(x), slice(a, b))] for a, b in zip(starts, stops, strict=True)]
    return np.stack([METHODS["reduce"](ufunc, piece, axis, dtype) for piece in pieces], axis=axis)


def _outer(ufunc: Any, x: Any, y: Any, **kwargs: Any) -> Any:
    return ufunc(np.reshape(x, (*np.shape(x), *(1,) * np.ndim(y))), y, **kwargs)


METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _method(_reduce), "accumulate": _method(_accumulate), "reduceat": _method(_reduceat), "outer": _outer,
}  # fmt: skip


@functools.lru_cache(1_000)
def method_of(ufunc: Any, name: str) -> Callable[..., Any]:
    """A method of a ufunc as code in scope calls it: lists of Tensors are arrays, and what is an op comes to it at once."""
    whole, of_lists = _OPS.get((ufunc, name)), stacking(getattr(ufunc, name))
    if whole is None:
        return of_lists
    op = require(whole)

    @functools.wraps(of_lists)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is dispatch.tensor_class and "out" not in kwargs:
            words = kwargs if len(args) > 1 or "axis" in kwargs else {**kwargs, "axis": 0}
            found = through_door(op, args, words)
            if found is not NotImplemented:
                return found
        return of_lists(*args, **kwargs)

    return call
