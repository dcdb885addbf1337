"""Reductions and running sums: what takes elements together, and how a cotangent spreads over them again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import Kind
from ..registry import op, rule, undifferentiable
from .support import keep_axes, reduced_count, spread

reduction = Kind.reduction
_WORDS = "keepdims=NoValue, initial=NoValue, where=NoValue"

op(np.sum, f"x, axis=None, dtype=None, *, {_WORDS}", reduction)
op(np.prod, f"x, axis=None, dtype=None, *, {_WORDS}", reduction)
op(np.max, f"x, axis=None, *, {_WORDS}", reduction)
op(np.min, f"x, axis=None, *, {_WORDS}", reduction)
op(np.mean, "x, axis=None, dtype=None, *, keepdims=NoValue, where=NoValue", reduction)
op(np.var, "x, axis=None, dtype=None, *, ddof=0, keepdims=NoValue, where=NoValue", reduction)
op(np.std, "x, axis=None, dtype=None, *, ddof=0, keepdims=NoValue, where=NoValue", reduction)
op(np.nansum, "x, axis=None, dtype=None, *, keepdims=NoValue", reduction)
op(np.ptp, "x, axis=None, *, keepdims=NoValue", reduction)
op(np.cumsum, "x, axis=None, dtype=None", Kind.linear)
op(np.cumprod, "x, axis=None, dtype=None", Kind.opaque)
for _fn in (np.any, np.all):
    undifferentiable(_fn, "x, axis=None, *, keepdims=NoValue, where=NoValue", reduction)
for _fn in (np.argmax, np.argmin):
    undifferentiable(_fn, "x, axis=None, *, keepdims=NoValue", reduction)
undifferentiable(np.count_nonzero, "x, axis=None, *, keepdims=False", reduction)

rule(np.sum, x=lambda g, x_shape, axis, keepdims, where: under(where, spread(g, x_shape, axis, keepdims)), initial=lambda g: np.sum(g))
rule(np.mean, x=lambda g, x_shape, axis, keepdims, where: mean_back(g, x_shape, axis, keepdims, where))
rule(np.nansum, x=lambda g, x, x_shape, axis, keepdims: np.where(np.isnan(x), 0, spread(g, x_shape, axis, keepdims)))
rule(np.max, x=lambda g, out, x, x_shape, axis, keepdims, where: chosen(g, out, x, x_shape, axis, keepdims, where))
rule(np.min, x=lambda g, out, x, x_shape, axis, keepdims, where: chosen(g, out, x, x_shape, axis, keepdims, where))
rule(np.ptp, x=lambda g, x, x_shape, axis, keepdims: ptp_back(g, x, x_shape, axis, keepdims))
rule(np.var, x=lambda g, x, axis, ddof, keepdims, where: var_back(g, x, axis, ddof, keepdims, where))
rule(np.std, x=lambda g, out, x, axis, ddof, keepdims, where: var_back(g / (2 * out), x, axis, ddof, keepdims, where))
rule(np.prod, x=lambda g, x, axis, keepdims, initial, where: prod_back(g, x, axis, keepdims, initial, where))
rule(np.cumsum, x=lambda g, x_shape, axis: cumsum_back(g, x_shape, axis))
rule(np.cumprod, x=lambda g, x, x_shape, axis: cumprod_back(g, x, x_shape, axis))


def given(where: Any) -> bool:
    """Whether a mask was passed."""
    return where is not np._NoValue and where is not True  # type: ignore[attr-defined]


def under(where: Any, spread_g: Any) -> Any:
    """A spread cotangent, zero for what the mask left out."""
    return np.where(where, spread_g, 0) if given(where) else spread_g


def count(x_shape: Any, axis: Any, where: Any) -> Any:
    """How many elements were taken together, axes kept where a mask makes that differ from place to place."""
    if not given(where):
        return reduced_count(x_shape, axis)
    return np.sum(np.broadcast_to(where, x_shape), axis=axis, keepdims=True)


def mean_back(g: Any, x_shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent of a mean: an equal part for each element."""
    part = keep_axes(g, x_shape, axis, keepdims) / count(x_shape, axis, where)
    return under(where, np.broadcast_to(part, x_shape))


def chosen(g: Any, out: Any, x: Any, x_shape: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent of a maximum or minimum, shared evenly among equal elements."""
    hit = under(where, x == keep_axes(out, x_shape, axis, keepdims))
    shares = np.sum(hit, axis=axis, keepdims=True) if x_shape else hit
    return np.where(hit, keep_axes(g, x_shape, axis, keepdims) / np.where(shares == 0, 1, shares).astype(g.dtype), 0)


def ptp_back(g: Any, x: Any, x_shape: Any, axis: Any, keepdims: Any) -> Any:
    """The cotangent of a range: to the largest, and with the other sign to the smallest."""
    high, low = np.max(x, axis=axis, keepdims=True), np.min(x, axis=axis, keepdims=True)
    wide = keep_axes(g, x_shape, axis, keepdims)
    no = np._NoValue  # type: ignore[attr-defined]
    return chosen(wide, high, x, x_shape, axis, True, no) - chosen(wide, low, x, x_shape, axis, True, no)


def var_back(g: Any, x: Any, axis: Any, ddof: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent of a variance: twice the deviation over the degrees of freedom."""
    words = {"where": where} if given(where) else {}
    scale = keep_axes(g, x.shape, axis, keepdims) * 2 / (count(x.shape, axis, where) - ddof)
    return under(where, scale * (x - np.mean(x, axis=axis, keepdims=True, **words)))


def prod_back(g: Any, x: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """The cotangent of a product: the product of the others, from both sides, so that zeros are right."""
    if not x.shape:
        return g if not given(initial) else g * initial
    wide = keep_axes(g, x.shape, axis, keepdims)
    if initial is not np._NoValue:  # type: ignore[attr-defined]
        wide = wide * initial
    factors = np.where(where, x, 1) if given(where) else x
    return under(where, wide * products_of_others(factors, axis))


def products_of_others(x: Any, axis: Any) -> Any:
    """For each element the product of the others along `axis`: exclusive running products from both ends."""
    if axis is None:
        return np.reshape(products_of_others(np.reshape(x, (-1,)), 0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if len(axes) > 1:
        ndim = len(x.shape)
        order = [a for a in range(ndim) if a not in [b % ndim for b in axes]] + [b % ndim for b in axes]
        moved = np.transpose(x, tuple(order))
        kept = moved.shape[: ndim - len(axes)]
        flat = products_of_others(np.reshape(moved, (*kept, -1)), -1)
        return np.transpose(np.reshape(flat, moved.shape), tuple(np.argsort(order).tolist()))
    (axis,) = axes
    first = [slice(None)] * len(x.shape)
    first[axis] = slice(0, 1)
    ones = np.ones_like(x[tuple(first)])
    but_last, but_first = list(first), list(first)
    but_last[axis], but_first[axis] = slice(None, -1), slice(1, None)
    before = np.cumprod(np.concatenate([ones, x[tuple(but_last)]], axis=axis), axis=axis)
    after = np.flip(np.cumprod(np.flip(np.concatenate([x[tuple(but_first)], ones], axis=axis), axis), axis=axis), axis)
    return before * after


def reverse_cumsum(g: Any, axis: Any) -> Any:
    """The running sum from the end."""
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


def cumsum_back(g: Any, x_shape: Any, axis: Any) -> Any:
    """The cotangent of a running sum: the running sum from the end."""
    if axis is None:
        return np.reshape(reverse_cumsum(g, 0), x_shape)
    return reverse_cumsum(g, axis) if x_shape else np.reshape(g, x_shape)


def cumprod_back(g: Any, x: Any, x_shape: Any, axis: Any) -> Any:
    """The cotangent of a running product: each prefix product without the element, weighted; right at zeros too."""
    if axis is None or not x_shape:
        return np.reshape(cumprod_back(g, np.reshape(x, (-1,)), (-1,), 0), x_shape)
    axis = axis % len(x.shape)
    n = int(x.shape[axis])
    x = np.moveaxis(x, axis, -1)
    g = np.moveaxis(g, axis, -1)
    rows = np.expand_dims(x, -2) * np.ones((n, 1), dtype=x.dtype)  # row i: x with element i replaced by one
    eye = np.eye(n, dtype=bool)
    prefix = np.cumprod(np.where(eye, 1, rows), axis=-1)
    weights = np.expand_dims(g, -2) * np.tri(n, dtype=bool).T
    return np.moveaxis(np.sum(weights * prefix, axis=-1), -1, axis)


