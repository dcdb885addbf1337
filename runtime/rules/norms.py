"""np.linalg's norms. At a point where a norm has a kink the rules give PyTorch's subgradient: 0, or even shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import Kind
from ..registry import op, rule
from .contraction import conj
from .support import keep_axes

opaque = Kind.opaque

op(np.linalg.norm, "x, ord=None, axis=None, keepdims=False", opaque)
rule(np.linalg.norm, x=lambda g, x, out, ord, axis, keepdims: norm_back(g, x, out, ord, axis, keepdims))

op(np.linalg.vector_norm, "x, *, axis=None, keepdims=False, ord=2", opaque)
rule(
    np.linalg.vector_norm,
    x=lambda g, x, out, ord, axis, keepdims: vector_back(
        keep_axes(g, x.shape, axis, keepdims), x, keep_axes(out, x.shape, axis, keepdims), ord, axis
    ),
)

op(np.linalg.matrix_norm, "x, *, keepdims=False, ord='fro'", opaque)
rule(np.linalg.matrix_norm, x=lambda g, x, out, ord, keepdims: norm_back(g, x, out, ord, (-2, -1), keepdims))


def norm_back(g: Any, x: Any, out: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of `np.linalg.norm`'s argument."""
    g, out = keep_axes(g, x.shape, axis, keepdims), keep_axes(out, x.shape, axis, keepdims)
    if ord is None or ord in ("f", "fro"):
        return vector_back(g, x, out, 2, axis)
    axes = axis if isinstance(axis, tuple) else (axis,) if axis is not None else tuple(range(x.ndim))
    return vector_back(g, x, out, ord, axes) if len(axes) == 1 else matrix_back(g, x, out, ord, axes)


def vector_back(g: Any, x: Any, out: Any, ord: Any, axis: Any) -> Any:
    """The cotangent under a vector norm; `g` and `out` keep the axes."""
    if ord == 2:
        return g * (conj(x) / np.where(out == 0, 1, out))
    unit = phase(x)
    if ord == 1:
        return g * unit
    if ord in (np.inf, -np.inf):
        return g * unit * shared(np.abs(x) == out, axis, x.dtype)
    if ord == 0:
        return np.zeros_like(x)
    return g * unit * (size(x) / np.where(out == 0, 1, out)) ** (ord - 1)


def size(x: Any) -> Any:
    """The absolute values, one where they are zero."""
    return np.where(x == 0, 1, np.abs(x))


def phase(x: Any) -> Any:
    """The derivative of the absolute value: the sign, or a complex number's conjugate phase; zero at zero."""
    return conj(x) / size(x) if x.dtype.kind == "c" else np.sign(x)


def shared(chosen: Any, axis: Any, dtype: Any) -> Any:
    """One, shared evenly among the chosen elements along an axis."""
    return chosen / np.sum(chosen, axis=axis, keepdims=True, dtype=dtype)


def matrix_back(g: Any, x: Any, out: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    """The cotangent under a matrix norm over two axes; `g` and `out` keep the axes."""
    if ord in (1, -1, np.inf, -np.inf):
        summed, chosen = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        return g * phase(x) * shared(sums == out, chosen, sums.dtype)
    if ord not in (2, -2, "nuc"):
        raise NotImplementedError(f"np.linalg.norm with ord={ord!r} has no gradient rule for matrices")
    u, s, vh = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), full_matrices=False)
    if ord != "nuc":
        extreme = np.max(s, axis=-1, keepdims=True) if ord == 2 else np.min(s, axis=-1, keepdims=True)
        u = u * np.expand_dims(shared(s == extreme, -1, s.dtype), -2)
    return g * np.moveaxis(conj(u @ vh), (-2, -1), axes)
