"""What several rules share: pieces of NumPy that run alike on arrays, on Tensors and under a recorder."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import Kind
from ..registry import primitive, rule


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` as sorted non-negative positions; None is all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(int(a) % ndim for a in axes))


def is_kept(keepdims: Any) -> bool:
    """Whether a reduction keeps its axes; NumPy's default is a marker that counts as true."""
    return keepdims is not np._NoValue and bool(keepdims)  # type: ignore[attr-defined]


def keep_axes(value: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduction's result (or its cotangent) with the reduced axes back in place, as length one."""
    if is_kept(keepdims) or not x_shape or np.ndim(value) == len(x_shape):
        return value
    if axis is None and np.ndim(value) == 0:  # a scalar broadcasts as it is
        return value
    return np.expand_dims(value, normal_axes(axis, len(x_shape)))


def spread(g: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The cotangent of a reduction, spread over what was reduced."""
    return np.broadcast_to(keep_axes(g, x_shape, axis, keepdims), x_shape)


def reduced_count(x_shape: tuple[int, ...], axis: Any) -> Any:
    """How many elements a reduction over `axis` takes together."""
    axes = normal_axes(axis, len(x_shape))
    count: Any = x_shape[axes[0]] if axes else 1
    for a in axes[1:]:
        count = count * x_shape[a]
    return count


@primitive("v, offset, axis1, axis2, shape, dtype", Kind.linear)
def place_diagonal(v: Any, offset: Any, axis1: Any, axis2: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` written on a diagonal: what `np.diagonal` read, put back."""
    out = np.zeros(shape, dtype)
    top, left = max(-offset, 0), max(offset, 0)
    k = np.arange(max(min(shape[axis1] - top, shape[axis2] - left), 0))
    np.moveaxis(out, (axis1, axis2), (0, 1))[k + top, k + left] = np.moveaxis(v, -1, 0)
    return out


rule(place_diagonal, v=lambda g, offset, axis1, axis2: np.diagonal(g, offset, axis1, axis2))
