"""Sorting and searching: what permutes carries its cotangent back, what gives positions has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import Kind
from ..registry import op, rule, undifferentiable
from .indexing import scatter
from .support import is_kept, normal_axes

opaque = Kind.opaque


def unsort(g: Any, x: Any, out: Any, axis: Any) -> Any:
    """The cotangent of `x` that was permuted along `axis` into `out`: both are sorted, and so matched."""
    if axis is None:
        return np.reshape(unsort(g, np.ravel(x), out, 0), np.shape(x))
    sorted_g = np.take_along_axis(g, np.argsort(out, axis=axis, kind="stable"), axis)
    ranks = np.argsort(np.argsort(x, axis=axis, kind="stable"), axis=axis)
    return np.take_along_axis(sorted_g, ranks, axis)


def unsort_back(g: Any, x: Any, axis: Any) -> Any:
    """The cotangent of `x` that was sorted along `axis`."""
    if axis is None:
        return np.reshape(unsort_back(g, np.ravel(x), 0), np.shape(x))
    return np.take_along_axis(g, np.argsort(np.argsort(x, axis=axis, kind="stable"), axis=axis), axis)


op(np.sort, "x, axis=-1, kind=None, order=None, *, stable=None", opaque)
rule(np.sort, x=lambda g, x, axis: unsort_back(g, x, axis))

op(np.partition, "x, kth, axis=-1, kind='introselect', order=None", opaque)
rule(np.partition, x=lambda g, x, out, axis: unsort(g, x, out, axis))

_OPTIONS = "axis=None, out=None, overwrite_input=False, keepdims=False"
_METHODS = "axis=None, out=None, overwrite_input=False, method='linear', keepdims=False, *, weights=None"

op(np.median, f"x, {_OPTIONS}", opaque)
rule(np.median, x=lambda g, x, axis, keepdims: unranked(g, x, 0.5, axis, keepdims, "linear", None))

op(np.quantile, f"x, q, {_METHODS}", opaque)
rule(
    np.quantile,
    x=lambda g, x, q, axis, keepdims, method, weights: unranked(g, x, q, axis, keepdims, method, weights),
)

op(np.percentile, f"x, q, {_METHODS}", opaque)
rule(
    np.percentile,
    x=lambda g, x, q, axis, keepdims, method, weights: unranked(
        g, x, np.true_divide(q, 100), axis, keepdims, method, weights
    ),
)


def unranked(g: Any, x: Any, q: Any, axis: Any, keepdims: Any, method: str, weights: Any) -> Any:
    """The cotangent of what lies at the ranks `q` (from 0 to 1) of sorted axes: it goes to the one or two numbers there."""
    if method not in ("linear", "lower", "higher", "midpoint") or weights is not None:
        odd = f"method={method!r}" if weights is None else "weights"
        raise NotImplementedError(f"quantiles with {odd} have no gradient rule; use 'linear', 'lower', 'higher' or 'midpoint'")
    axes = normal_axes(axis, np.ndim(x))
    kept = [k for k in range(np.ndim(x)) if k not in axes]
    flat = np.reshape(np.transpose(x, (*kept, *axes)), (*[np.shape(x)[k] for k in kept], -1))
    ranks = np.argsort(np.argsort(flat, axis=-1, kind="stable"), axis=-1)
    if is_kept(keepdims):
        g = np.squeeze(g, tuple([a - np.ndim(x) for a in axes]))
    found: Any = 0
    q = np.array(q) if isinstance(q, (list, tuple)) else q
    for k in np.ndindex(np.shape(q)):
        at, shares = weighed(float(q[k] if k else q), np.shape(flat)[-1], method)
        v = np.stack([(g[k] if k else g) * share for share in shares], axis=-1)
        found = found + scatter(v, (Ellipsis, at), np.shape(flat), x.dtype)
    back = np.take_along_axis(found, ranks, -1)
    return np.transpose(np.reshape(back, [np.shape(x)[k] for k in (*kept, *axes)]), np.argsort([*kept, *axes]).tolist())


def weighed(q: float, n: int, method: str) -> tuple[list[int], list[float]]:
    """Which of `n` sorted numbers a quantile takes, and what share of each."""
    low = min(int(q * (n - 1)), max(n - 2, 0))
    share = q * (n - 1) - low
    if method != "linear" and 0.0 < share < 1.0:
        share = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5}[method]
    return [low, min(low + 1, n - 1)], [1.0 - share, share]


undifferentiable(np.argsort, "x, axis=-1, kind=None, order=None, *, stable=None", opaque)
undifferentiable(np.argpartition, "x, kth, axis=-1, kind='introselect', order=None", opaque)
undifferentiable(np.searchsorted, "x, v, side='left', sorter=None", opaque)
undifferentiable(np.nonzero, "x", opaque, n_out=None)
undifferentiable(np.flatnonzero, "x", opaque)
undifferentiable(np.argwhere, "x", opaque)
