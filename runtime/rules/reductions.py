"""Reductions and running sums: each rule spreads the cotangent back over the elements that were reduced."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, batched_reduction, lifted, shifted
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, on_arrays, op, rule, singular_at, undifferentiable
from ..result_types import along_axis
from .support import (
    cumprod_back,
    cumsum_back,
    deviation,
    keep_axes,
    masked,
    mean_back,
    not_nan,
    not_zero,
    prod_back,
    ptp_back,
    shared_back,
    spread,
    spread_nan,
    tied,
)

reduction, linear = Kind.reduction, Kind.linear

_SUM = "x, axis=None, dtype=None, out=None, keepdims=NoValue, initial=NoValue, where=NoValue"
_MEAN = "x, axis=None, dtype=None, out=None, keepdims=NoValue, *, where=NoValue"
_MAX = "x, axis=None, out=None, keepdims=NoValue, initial=NoValue, where=NoValue"
_VAR = (
    "x, axis=None, dtype=None, out=None, ddof=0, keepdims=NoValue, *, where=NoValue, mean=NoValue, correction=NoValue"
)

# Sums and means.

op(np.sum, _SUM, reduction)
rule(
    np.sum,
    x=lambda g, x_shape, axis, keepdims, where: masked(spread(g, x_shape, axis, keepdims), where),
    initial=lambda g: g,
)

op(np.nansum, _SUM, reduction)
rule(
    np.nansum,
    x=lambda g, x, x_shape, axis, keepdims, where: spread_nan(g, x, x_shape, axis, keepdims, where),
    initial=lambda g: g,
)

op(np.mean, _MEAN, reduction)
rule(
    np.mean,
    x=lambda g, x_shape, x_dtype, axis, keepdims, where: mean_back(g, x_shape, x_dtype, axis, keepdims, where),
)

op(np.nanmean, _MEAN, reduction)
rule(
    np.nanmean,
    x=lambda g, x, x_shape, x_dtype, axis, keepdims, where: mean_back(
        g, x_shape, x_dtype, axis, keepdims, not_nan(x, where)
    ),
)

# Extremes. Equal ones share, as in PyTorch's amax.

for _extreme in (np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin):
    op(_extreme, _MAX, reduction)
    rule(
        _extreme,
        x=lambda g, x, x_shape, x_dtype, out, axis, keepdims, initial, where: shared_back(
            g, x, x_shape, x_dtype, out, axis, keepdims, initial, where
        ),
    )
    singular_at(
        _extreme,
        x=lambda x, x_shape, out, axis, keepdims, where: tied(x, x_shape, out, axis, keepdims, where),
    )

op(np.ptp, "x, axis=None, out=None, keepdims=NoValue", reduction)
rule(
    np.ptp, x=lambda g, x, x_shape, x_dtype, axis, keepdims: ptp_back(g, x, x_shape, x_dtype, axis, keepdims)
)

singular_at(
    np.ptp,
    x=lambda x, x_shape, axis: (
        tied(x, x_shape, np.max(x, axis=axis, keepdims=True), axis, True)
        | tied(x, x_shape, np.min(x, axis=axis, keepdims=True), axis, True)
    ),
)

# Products, right where factors are zero.

op(np.prod, _SUM, reduction)
rule(
    np.prod,
    x=lambda g, x, x_shape, axis, keepdims, initial, where: prod_back(g, x, x_shape, axis, keepdims, initial, where),
)

op(np.nanprod, _SUM, reduction)
rule(
    np.nanprod,
    x=lambda g, x, x_shape, axis, keepdims, initial, where: prod_back(
        g, np.where(np.isnan(x), 1, x), x_shape, axis, keepdims, initial, not_nan(x, where)
    ),
)

# Spread.

op(np.var, _VAR, reduction)
rule(
    np.var,
    x=lambda g, x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction: deviation(
        2 * g, x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction
    ),
    mean=lambda g, x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction: -deviation(
        2 * g, x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction
    ),
)

op(np.std, _VAR, reduction)
rule(
    np.std,
    x=lambda g, x, x_shape, x_dtype, out, axis, ddof, keepdims, where, mean, correction: deviation(
        g / not_zero(out), x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction
    ),
    mean=lambda g, x, x_shape, x_dtype, out, axis, ddof, keepdims, where, mean, correction: -deviation(
        g / not_zero(out), x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction
    ),
)

op(np.nanvar, _VAR, reduction)
rule(
    np.nanvar,
    x=lambda g, x, x_shape, x_dtype, axis, ddof, keepdims, where, mean, correction: deviation(
        2 * g, x, x_shape, x_dtype, axis, ddof, keepdims, not_nan(x, where), mean, correction
    ),
)

op(np.nanstd, _VAR, reduction)
rule(
    np.nanstd,
    x=lambda g, x, x_shape, x_dtype, out, axis, ddof, keepdims, where, mean, correction: deviation(
        g / not_zero(out), x, x_shape, x_dtype, axis, ddof, keepdims, not_nan(x, where), mean, correction
    ),
)

for _deviation in (np.std, np.nanstd):
    singular_at(_deviation, x=lambda x_shape, out, axis, keepdims: keep_axes(out, x_shape, axis, keepdims) == 0)

# Running sums and products.

op(np.cumsum, "x, axis=None, dtype=None, out=None", linear, memory=NEW, types=along_axis)
rule(np.cumsum, x=lambda g, x_shape, axis: cumsum_back(g, x_shape, axis))

op(np.nancumsum, "x, axis=None, dtype=None, out=None", Kind.opaque, memory=NEW, types=along_axis)
rule(np.nancumsum, x=lambda g, x, x_shape, axis: np.where(np.isnan(x), 0, cumsum_back(g, x_shape, axis)))

op(np.cumprod, "x, axis=None, dtype=None, out=None", Kind.opaque, memory=NEW, types=along_axis)
rule(np.cumprod, x=lambda g, x, x_shape, out, axis: cumprod_back(g, x, x_shape, out, axis))

op(np.nancumprod, "x, axis=None, dtype=None, out=None", Kind.opaque, memory=NEW, types=along_axis)
rule(
    np.nancumprod,
    x=lambda g, x, x_shape, out, axis: np.where(
        np.isnan(x), 0, cumprod_back(g, np.where(np.isnan(x), 1, x), x_shape, out, axis)
    ),
)


@batching(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
def batched_running(call: BatchedCall) -> Any:
    """Along one axis; without one, along the flat array."""
    if call["axis"] is None or not call.ndim("x"):
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


# Questions about many: no derivative.

for _question in (np.any, np.all):
    undifferentiable(_question, "x, axis=None, out=None, keepdims=NoValue, *, where=NoValue", reduction)

for _position in (np.argmax, np.argmin):
    undifferentiable(_position, "x, axis=None, out=None, *, keepdims=NoValue", reduction)

for _position in (np.nanargmax, np.nanargmin):
    undifferentiable(_position, "x, axis=None, out=None, *, keepdims=NoValue", reduction)


@batching(np.argmax, np.argmin, np.nanargmax, np.nanargmin)
def batched_position(call: BatchedCall) -> Any:
    """As a reduction; over all axes it counts in the flat array."""
    ndim, keepdims = call.ndim("x"), call["keepdims"]
    if call["axis"] is not None and ndim:
        return batched_reduction(call)
    found = call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1, keepdims=np._NoValue)
    return lifted(found, ndim) if keepdims is not np._NoValue and keepdims else found


undifferentiable(np.count_nonzero, "x, axis=None, *, keepdims=False", reduction)

for _wrapper, _ufunc in (
    (np.sum, np.add), (np.prod, np.multiply), (np.max, np.maximum), (np.amax, np.maximum), (np.min, np.minimum),
    (np.amin, np.minimum),
):  # fmt: skip
    on_arrays(_wrapper, _ufunc.reduce, "axis")
on_arrays(np.mean, np.ndarray.mean, "axis")
on_arrays(np.std, np.ndarray.std, "axis")
on_arrays(np.var, np.ndarray.var, "axis")
