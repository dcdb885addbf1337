"""Ops that make arrays: nothing to differentiate but the values that they are filled with."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, lifted, shifted
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, op, primitive, rule, undifferentiable
from ..result_types import BY_VALUE, LENGTHS, RUN

creation = Kind.creation

for _new in (np.zeros, np.ones, np.empty):
    undifferentiable(
        _new, "shape, dtype=None, order='C'", creation, types=lambda shape, dtype, order: np.empty(shape, dtype, order)
    )  # fmt: skip

for _same in (np.zeros_like, np.ones_like, np.empty_like):
    undifferentiable(
        _same, "x, dtype=None, order='K', subok=True, shape=None", creation,
        types=lambda x, dtype, order, shape: np.empty_like(x, dtype, order, shape=shape),
    )  # fmt: skip


@batching(np.zeros_like, np.ones_like, np.empty_like)
def batched_like(call: BatchedCall) -> Any:
    """Of the shape of all examples."""
    shape = call["shape"]
    return call.run() if shape is None else call.run(shape=(call.size, *_listed(shape)))


op(np.arange, "start, stop=None, step=1, *, dtype=None", creation, types=BY_VALUE)
rule(
    np.arange,
    start=lambda g, stop: np.zeros_like(np.sum(g)) if stop is None else np.sum(g),  # of one number it is the stop
    stop=None,
    step=lambda g: count_sum(g),
)


@primitive("x", Kind.linear)
def count_sum(x: Any) -> Any:
    """The sum along the last axis, weighted by 0, 1, 2, ..."""
    return np.dot(x, np.arange(x.shape[-1], dtype=x.dtype))


rule(count_sum, x=lambda g, x_shape: np.linspace(np.zeros_like(g), g * (x_shape[-1] - 1), x_shape[-1], axis=-1))


@batching(count_sum)
def batched_count_sum(call: BatchedCall) -> Any:
    """Along the last axis, which it is for all examples, too."""
    return call.run()


undifferentiable(
    np.eye, "N, M=None, k=0, dtype=float, order='C'", creation,
    types=lambda N, M, dtype, order: np.empty((N, N if M is None else M), dtype, order),
)  # fmt: skip
undifferentiable(np.identity, "n, dtype=None", creation, types=lambda n, dtype: np.empty((n, n), dtype))
undifferentiable(
    np.tri, "N, M=None, k=0, dtype=float", creation, types=lambda N, M, dtype: np.empty((N, N if M is None else M), dtype)
)  # fmt: skip
undifferentiable(np.indices, "dimensions, dtype=int, sparse=False", creation)

for _triangle in (np.tril_indices, np.triu_indices):
    undifferentiable(_triangle, "n, k=0, m=None", creation, n_out=2)
undifferentiable(np.diag_indices, "n, ndim=2", creation, n_out=None, memory=MAY)  # the same array for each axis

for _window in (np.bartlett, np.blackman, np.hamming, np.hanning):
    undifferentiable(_window, "M", creation)
op(np.kaiser, "M, beta", creation)
rule(np.kaiser, M=None)

op(
    np.full, "shape, fill_value, dtype=None, order='C'", creation,
    types=lambda shape, fill_value, dtype, order: np.empty(
        shape, np.asarray(fill_value).dtype if dtype is None else dtype, order
    ),
)  # fmt: skip
rule(np.full, fill_value=lambda g: g)


@batching(np.full)
def batched_full(call: BatchedCall) -> Any:
    """Filled with what each example gives."""
    shape = _listed(call["shape"])
    return call.run(shape=(call.size, *shape), fill_value=lifted(call["fill_value"], len(shape)))


op(
    np.full_like, "x, fill_value, dtype=None, order='K', subok=True, shape=None", creation,
    types=lambda x, dtype, order, shape: np.empty_like(x, dtype, order, shape=shape),
)  # fmt: skip
rule(np.full_like, x=None, fill_value=lambda g: g)


@batching(np.full_like)
def batched_full_like(call: BatchedCall) -> Any:
    """Filled with what each example gives."""
    shape = call["shape"]
    listed = np.shape(call["x"])[int(call.is_mapped("x")) :] if shape is None else _listed(shape)
    fill = call["fill_value"]
    fill = lifted(fill, len(listed)) if call.is_mapped("fill_value") else fill
    return call.run(x=call.spread("x"), fill_value=fill, shape=None if shape is None else (call.size, *listed))


def _listed(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


op(
    np.array, "x, dtype=None, *, copy=True, order='K', subok=False, ndmin=0", creation,
    memory=lambda copy: NEW if copy is True else MAY,
)  # fmt: skip
rule(np.array, x=lambda g, x_shape, ndmin: np.reshape(g, x_shape) if ndmin > len(x_shape) else g)


@batching(np.array)
def batched_array(call: BatchedCall) -> Any:
    """A copy, with as many axes as are asked for."""
    return lifted(call.run(ndmin=0), call["ndmin"]) if call.mapped[0] is True else NotImplemented


def _like(x: Any) -> Any:
    """Arrays have the lengths of the array that they are made of."""
    return LENGTHS if isinstance(x, np.ndarray) else RUN


def _taken(x: Any) -> Any:
    """An array is passed on as it is."""
    return x if isinstance(x, np.ndarray) else RUN


for _as in (np.asarray, np.asanyarray):
    op(
        _as, "x, dtype=None, order=None, *, copy=None", Kind.shaping, memory=MAY,
        types=lambda x, dtype, order, copy: _taken(x) if (dtype, order, copy) == (None, None, None) else _like(x),
    )  # fmt: skip
    rule(_as, x=lambda g: g)


@batching(np.asarray, np.asanyarray)
def batched_same(call: BatchedCall) -> Any:
    """Each example is what it was."""
    return call.run() if call.mapped[0] is True else NotImplemented


for _laid in (np.ascontiguousarray, np.asfortranarray):
    op(_laid, "x, dtype=None", Kind.shaping, memory=MAY, types=lambda x: _like(x))
    rule(_laid, x=lambda g, x_shape: g if x_shape else np.reshape(g, x_shape))  # a 0-d array becomes 1-d


@batching(np.ascontiguousarray, np.asfortranarray)
def batched_laid_out(call: BatchedCall) -> Any:
    """Each example is what it was; a number becomes a vector."""
    return lifted(call.run(), 1)


op(np.linspace, "start, stop, num=50, endpoint=True, *, dtype=None, axis=0", creation)
rule(
    np.linspace,
    start=lambda g, num, endpoint, axis: _falling(g, num, endpoint, axis),
    stop=lambda g, num, endpoint, axis: ramp_sum(g, num, endpoint, axis),
)


def _falling(g: Any, num: Any, endpoint: Any, axis: Any) -> Any:
    """The sum of `g` along an axis, weighted by a ramp from 1 to 0."""
    return np.sum(g, axis=axis) - ramp_sum(g, num, endpoint, axis)


@primitive("x, num, endpoint, axis", Kind.linear)
def ramp_sum(x: Any, num: Any, endpoint: Any, axis: Any) -> Any:
    """The sum of `x` along an axis, weighted by a ramp from 0 to 1."""
    return np.tensordot(np.linspace(0, 1, num, endpoint).astype(x.dtype), x, (0, axis))


rule(ramp_sum, x=lambda g, num, endpoint, axis: np.linspace(np.zeros_like(g), g, num, endpoint, axis=axis))


@batching(ramp_sum)
def batched_ramp_sum(call: BatchedCall) -> Any:
    """The batch axis behind the axis of the ramp."""
    axis = shifted(call["axis"], call.ndim("x"))
    return call.run(x=np.moveaxis(call["x"], axis, 0), axis=0)


op(np.logspace, "start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0", creation)
rule(
    np.logspace,
    start=lambda g, out, num, endpoint, base, axis: _falling(g * out * np.log(base).astype(g.dtype), num, endpoint, axis),
    stop=lambda g, out, num, endpoint, base, axis: ramp_sum(g * out * np.log(base).astype(g.dtype), num, endpoint, axis),
)

op(np.geomspace, "start, stop, num=50, endpoint=True, dtype=None, axis=0", creation)
rule(
    np.geomspace,
    start=lambda g, out, start, num, endpoint, axis: _falling(g * out, num, endpoint, axis) / start,
    stop=lambda g, out, stop, num, endpoint, axis: ramp_sum(g * out, num, endpoint, axis) / stop,
)


@batching(np.linspace, np.logspace, np.geomspace)
def batched_linspace(call: BatchedCall) -> Any:
    """Along a new axis that is one further back."""
    if not call.only("start", "stop"):
        return NotImplemented
    ndim = max(call.ndim("start"), call.ndim("stop"))
    ends = {name: lifted(call[name], ndim) if call.is_mapped(name) else call[name] for name in ("start", "stop")}
    return call.run(axis=shifted(call["axis"], ndim + 1), **ends)
