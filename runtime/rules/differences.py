"""Differences, the trapezoid rule and piecewise linear interpolation."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, alone, lifted, shifted
from ..memory import MAY, NEW, Memory
from ..ops import Kind
from ..registry import batching, forms, jumps, op, primitive, rule, singular_at
from .indexing import scatter
from .shaping import along
from .support import literal

linear, opaque = Kind.linear, Kind.opaque


def pad_axis(x: Any, axis: int, before: int, after: int) -> Any:
    """Zeros before and after along one axis; of a vector joined to it, since np.pad takes ten times as long."""
    if np.ndim(x) == 1 and x.dtype == np.float64 and before + after <= 2:
        parts = ([0.0] * before, x, [0.0] * after)
        return np.concatenate([part for part in parts if part is x or part])
    pairs = [(0, 0)] * np.ndim(x)
    pairs[axis] = (before, after)
    return np.pad(x, pairs)


op(  # of n = 0 NumPy gives back `x` itself
    np.diff, "x, n=1, axis=-1, prepend=NoValue, append=NoValue", linear,
    memory=lambda n: NEW if type(n) is int and n > 0 else Memory("may", ("x",)),
)  # fmt: skip
rule(
    np.diff,
    x=lambda g, n, axis, prepend, append, x_shape: undiff(g, n, axis, prepend, append, x_shape),
    prepend=lambda g, n, axis, prepend, append, x_shape: undiff(g, n, axis, prepend, append, x_shape, -1),
    append=lambda g, n, axis, prepend, append, x_shape: undiff(g, n, axis, prepend, append, x_shape, 1),
)


@batching(np.diff)
def batched_diff(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    x, axis = call.spread("x"), shifted(call["axis"], call.ndim("x"))
    ends = {}
    for name in ("prepend", "append"):
        ends[name] = call.spread(name) if np.ndim(call[name]) else call[name]
        if call.is_mapped(name) and not call.ndim(name):
            shape = [1 if k == axis % np.ndim(x) else n for k, n in enumerate(np.shape(x))]
            ends[name] = np.broadcast_to(lifted(call[name], call.ndim("x")), shape)
    return call.run(x=x, axis=axis, **ends)


def undiff(g: Any, n: int, axis: int, prepend: Any, append: Any, x_shape: Any, end: int = 0) -> Any:
    """The cotangent of what was differenced (or of an `end`): differenced again, between zeros, with the sign turned n times."""
    before, after = _length(prepend, axis), _length(append, axis)
    n = min(n, x_shape[axis] + before + after)
    if n == 1 and np.ndim(g) == 1 and g.dtype == np.float64 and not (end or before or after):
        return -np.diff(g, prepend=[0.0], append=[0.0])  # np.pad takes three times as long
    full = np.diff(pad_axis(g, axis, n, n), n, axis) if n else g
    if end:
        kept = full[along(axis, slice(0, before) if end < 0 else slice(before + x_shape[axis], None))]
    else:
        kept = full[along(axis, slice(before, before + x_shape[axis]))] if before or after else full
    return -kept if n % 2 else kept


def _length(extra: Any, axis: int) -> Any:
    if extra is np._NoValue:
        return 0
    return np.shape(extra)[axis] if np.ndim(extra) else 1


op(np.trapezoid, "y, x=None, dx=1.0, axis=-1", opaque, memory=NEW)
rule(
    np.trapezoid,
    y=lambda g, x, dx, axis, y_shape: untrapezoid(g, x, dx, axis, y_shape),
    x=lambda g, y, axis, x_shape: untrapezoid_x(beside(g, axis, np.ndim(y)) * halves(y, axis), axis, len(x_shape)),
    dx=lambda g, y, axis: g * np.sum(halves(y, axis), axis=axis),
)


@batching(np.trapezoid)
def batched_trapezoid(call: BatchedCall) -> Any:
    """Along an axis that is one further back; the points may be those of all examples."""
    if call.is_mapped("dx") and not call.ndim("dx") and call["x"] is None:
        axis = shifted(call["axis"], call.ndim("y"))
        return call.run(y=call.spread("y"), dx=1.0, axis=axis) * lifted(call["dx"], call.ndim("y") - 1)
    if not call.only("y", "x"):
        return NotImplemented
    ndim = call.ndim("y")
    axis = call["axis"] % ndim
    x = call["x"]
    if call.is_mapped("x"):
        if call.ndim("x") == 1:
            x = np.reshape(x, (call.size, *(1,) * axis, -1, *(1,) * (ndim - axis - 1)))
        x = lifted(x, ndim)
    elif x is not None and np.ndim(x) > 1:
        x = np.reshape(x, (1,) * (ndim + 1 - np.ndim(x)) + np.shape(x))
    return call.run(y=call.spread("y"), x=x, axis=axis + 1)


def untrapezoid(g: Any, x: Any, dx: Any, axis: int, y_shape: Any) -> Any:
    """The cotangent of the samples: half of each step for either end."""
    if 0 in y_shape:
        return np.zeros_like(g, shape=y_shape)
    half = beside(g, axis, len(y_shape)) / 2 * (dx if x is None else steps(x, axis, len(y_shape)))
    shape = list(y_shape)
    shape[axis] = shape[axis] - 1
    half = np.broadcast_to(half, tuple(shape))
    return pad_axis(half, axis, 0, 1) + pad_axis(half, axis, 1, 0)


def untrapezoid_x(g: Any, axis: int, ndim: int) -> Any:
    """The cotangent of the sample points."""
    found = -np.diff(pad_axis(g, axis, 1, 1), axis=axis)
    if ndim > 1 or np.ndim(found) == 1:
        return found
    k = axis % np.ndim(found)
    return np.sum(found, axis=tuple([a for a in range(np.ndim(found)) if a != k]))


def beside(g: Any, axis: int, ndim: int) -> Any:
    """A cotangent of sums along an axis, to be multiplied with what was added up."""
    return np.expand_dims(g, axis) if ndim > 1 else g


def halves(y: Any, axis: int) -> Any:
    """The mean of each sample and the next."""
    return (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]) / 2


def steps(x: Any, axis: int, ndim: int) -> Any:
    """The length of each step, in a shape that fits the samples."""
    if np.ndim(x) > 1:
        return np.diff(x, axis=axis)
    if ndim == 1:
        return np.diff(x)
    return np.reshape(np.diff(x), [1] * (axis % ndim) + [-1] + [1] * (ndim - axis % ndim - 1))


op(np.interp, "x, xp, fp, left=None, right=None", opaque, memory=NEW)
rule(
    np.interp,
    x=lambda g, x, xp, fp: np.where((x >= xp[0]) & (x < xp[-1]), g * slope(segment(x, xp), xp, fp), 0),
    xp=lambda g, x, xp, fp: uninterp_xp(g, x, xp, fp),
    fp=lambda g, x, xp, fp_shape, fp_dtype, left, right: uninterp(g, x, xp, left, right, fp_shape, fp_dtype),
    left=lambda g, x, xp: np.sum(np.where(np.less(x, xp[0]), g, 0)),
    right=lambda g, x, xp: np.sum(np.where(np.greater(x, xp[-1]), g, 0)),
)


@forms(np.interp)
def interp_around(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """With `period=`, the table of one turn, put in order, with its ends beside it."""
    if period is None:
        return NotImplemented
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    xp, fp = np.remainder(literal(xp, x, fp), period), literal(fp, x, xp)
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp, fp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period]), np.concatenate([fp[-1:], fp, fp[:1]])
    return np.interp(np.remainder(literal(x, xp, fp), period), xp, fp)


singular_at(np.interp, x=lambda x, xp: (x == entry(xp, segment(x, xp))) | (x == entry(xp, segment(x, xp) + 1)))
jumps(lambda x, xp: np.greater_equal(x, xp[0]) + 1 * np.greater(x, xp[-1]), np.interp)  # to `left` and `right`
batching(np.interp)(alone)  # each point by itself, where all examples share the table


@primitive("x, index", linear, memory=MAY)
def entry(x: Any, index: Any) -> Any:
    """The entries of a table at positions `index`; either may be a Tensor, which `x[index]` of an array would not notice."""
    return np.asarray(x)[index]


rule(entry, x=lambda g, index, x_shape, x_dtype: scatter(g, index, x_shape, x_dtype))


@batching(entry)
def batched_entry(call: BatchedCall) -> Any:
    """At the same positions of each example, or at each example's own of one table."""
    if call.is_mapped("x"):
        return np.take(call["x"], call["index"], axis=1) if call.only("x") else NotImplemented
    return call.run()


def segment(x: Any, xp: Any) -> Any:
    """The number of the segment that each point lies on."""
    return np.clip(np.searchsorted(xp, x, "right") - 1, 0, np.shape(xp)[0] - 2)


def slope(k: Any, xp: Any, fp: Any) -> Any:
    """The slope of segment `k`."""
    return (entry(fp, k + 1) - entry(fp, k)) / (entry(xp, k + 1) - entry(xp, k))


def uninterp(g: Any, x: Any, xp: Any, left: Any, right: Any, fp_shape: Any, fp_dtype: Any) -> Any:
    """The cotangent of the values: shared between the two ends of each point's segment."""
    if left is not None:
        g = np.where(np.less(x, xp[0]), 0, g)
    if right is not None:
        g = np.where(np.greater(x, xp[-1]), 0, g)
    k = segment(x, xp)
    start = entry(xp, k)
    share = np.clip((x - start) / (entry(xp, k + 1) - start), 0, 1)
    return scatter(g * (1 - share), k, fp_shape, fp_dtype) + scatter(g * share, k + 1, fp_shape, fp_dtype)


def uninterp_xp(g: Any, x: Any, xp: Any, fp: Any) -> Any:
    """The cotangent of the places: moving either end of a segment takes its share of the slope away."""
    k = segment(x, xp)
    start, shape, dtype = entry(xp, k), np.shape(xp), xp.dtype
    share = (x - start) / (entry(xp, k + 1) - start)
    lost = np.where((x >= xp[0]) & (x < xp[-1]), -g * slope(k, xp, fp), 0)
    return scatter(lost * (1 - share), k, shape, dtype) + scatter(lost * share, k + 1, shape, dtype)
