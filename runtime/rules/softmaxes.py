"""Softmax, its logarithm, and the elements that class indices pick from rows of them."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, shifted
from ..ops import Kind
from ..registry import batching, primitive, rule
from .support import not_zero

# As compositions these keep exp(z) beside the result, and eagerly take half as long again (32 x 10 by benchmarks/losses.py).
# Compiled, at 256 x 100, that of softmax takes as long or longer, that of log_softmax 0.9 times as long.


@primitive("x, axis", Kind.opaque)
def softmax(x: Any, axis: Any) -> Any:
    """exp(x) over its sum along an axis."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    out = e / np.sum(e, axis=axis, keepdims=True)
    return out


rule(softmax, x=lambda g, out, axis: out * (g - np.sum(g * out, axis=axis, keepdims=True)))


@primitive("x, axis", Kind.opaque)
def log_softmax(x: Any, axis: Any) -> Any:
    """The logarithm of exp(x) over its sum along an axis."""
    z = x - np.max(x, axis=axis, keepdims=True)
    out = z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))
    return out


rule(log_softmax, x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True))


# What is subtracted and added again has no derivative, and needs none.
@primitive("x, axis", Kind.reduction)
def peak(x: Any, axis: Any) -> Any:
    """The maximum along an axis, which stays, as a constant."""
    return np.max(x, axis=axis, keepdims=True)


rule(peak, x=None)


def batched_along_axes(call: BatchedCall) -> Any:
    """As a reduction, also where the result has the shape of the argument."""
    x = call["x"]
    if not call.ndim("x"):
        return call.run(x=np.expand_dims(x, 1), axis=1)[:, 0]
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


batching(softmax, log_softmax, peak)(batched_along_axes)


def logsumexp(x: Any, axis: Any) -> Any:
    """log(sum(exp(x))) along axes, which stay, without an overflow; of nothing but -inf it is -inf."""
    top = peak(x, axis)
    total = np.sum(np.exp(x - np.where(np.isfinite(top), top, 0)), axis=axis, keepdims=True)
    return np.log(not_zero(total)) + top


# `x[np.arange(n), index]` names each element once, which the rule of indexing cannot know: np.add.at takes 20 times as long.


def _add_into(acc: Any, index: Any, v: Any) -> Any:
    acc[np.arange(len(index)), index] += v
    return acc


@primitive("x, index", Kind.linear)
def picked(x: Any, index: Any) -> Any:
    """Of each row of `x` the element at its `index`."""
    return x[np.arange(len(index)), index]


@primitive("v, index, shape, dtype", Kind.linear, stores=0)
def place_picked(v: Any, index: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape, with one element of `v` in each row, at its `index`."""
    out = np.zeros(shape, dtype)
    out[np.arange(len(index)), index] = v
    return out


@primitive("acc, index, v", Kind.linear, consuming=_add_into, stores=2)
def add_picked(acc: Any, index: Any, v: Any) -> Any:
    """A copy of `acc`, with one element of `v` added in each row, at its `index`."""
    out = np.array(acc)
    out[np.arange(len(index)), index] += v
    return out


rule(
    picked,
    x=lambda g, index, acc, x_shape, x_dtype: (
        place_picked(g, index, x_shape, x_dtype) if acc is None else add_picked(acc, index, g)
    ),
)
rule(place_picked, v=lambda g, index: picked(g, index))
rule(add_picked, acc=lambda g: g, v=lambda g, index: picked(g, index))


def _rows(x: Any) -> Any:
    """The first two axes as one."""
    return np.reshape(x, (np.shape(x)[0] * np.shape(x)[1], *np.shape(x)[2:]))


@batching(picked)
def batched_picked(call: BatchedCall) -> Any:
    """One element of each row of each example."""
    index = call.spread("index")
    return np.reshape(call.run(x=_rows(call.spread("x")), index=_rows(index)), np.shape(index))


@batching(place_picked)
def batched_place_picked(call: BatchedCall) -> Any:
    """One element in each row of each example."""
    n, classes = call["shape"]
    v, index = call.spread("v"), call.spread("index")
    found = call.run(v=_rows(v), index=_rows(index), shape=(call.size * n, classes))
    return np.reshape(found, (call.size, n, classes))


@batching(add_picked)
def batched_add_picked(call: BatchedCall) -> Any:
    """One element more in each row of each example."""
    acc = call.spread("acc")
    found = call.run(acc=_rows(acc), v=_rows(call.spread("v")), index=_rows(call.spread("index")))
    return np.reshape(found, np.shape(acc))
