"""Sorting and searching: ops that permute put the cotangent back in order, ops that give positions have none."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, shifted
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, op, rule, singular_at, undifferentiable
from ..result_types import BY_VALUE, along_axis

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


def has_equals(out: Any, axis: Any) -> Any:
    """Tell where a result that is sorted along an axis has equal elements."""
    return np.any(np.diff(out, axis=-1 if axis is None else axis) == 0, axis=axis, keepdims=axis is not None)


op(np.sort, "x, axis=-1, kind=None, order=None, *, stable=None", opaque, memory=NEW, types=along_axis)
rule(np.sort, x=lambda g, x, axis: unsort_back(g, x, axis))
singular_at(np.sort, x=lambda out, axis: has_equals(out, axis))

op(np.partition, "x, kth, axis=-1, kind='introselect', order=None", opaque, memory=NEW, types=along_axis)
rule(np.partition, x=lambda g, x, out, axis: unsort(g, x, out, axis))

undifferentiable(np.argsort, "x, axis=-1, kind=None, order=None, *, stable=None", opaque, memory=NEW, types=along_axis)
undifferentiable(np.argpartition, "x, kth, axis=-1, kind='introselect', order=None", opaque, memory=NEW, types=along_axis)
undifferentiable(np.searchsorted, "x, v, side='left', sorter=None", opaque, memory=NEW)
undifferentiable(np.nonzero, "x", opaque, n_out=None, memory=NEW, types=BY_VALUE)
undifferentiable(np.flatnonzero, "x", opaque, memory=NEW, types=BY_VALUE)
undifferentiable(np.argwhere, "x", opaque, memory=NEW, types=BY_VALUE)


@batching(np.sort, np.argsort, np.partition, np.argpartition)
def batched_ordered(call: BatchedCall) -> Any:
    """Along one axis; without one, along the flat array."""
    if not call.only("x") or not call.ndim("x"):
        return NotImplemented
    if call["axis"] is None:
        return call.run(x=call.flat("x"), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.searchsorted)
def batched_searchsorted(call: BatchedCall) -> Any:
    """Each value by itself, where all examples search the same array."""
    return call.run() if call.only("v") else NotImplemented
