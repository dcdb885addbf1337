"""Lengths: the axis of an input from which a value has its length, found through elementwise operations, rows and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import GETITEM, MATMUL, TRANSPOSE
from ....runtime.ir.opcodes import COND, SCAN, all_calls, is_region, regions_of
from ....runtime.ops import Kind
from ....runtime.registry import ops_of, require

__all__ = ["SAME_SHAPE", "input_axis", "source_axis"]

_EINSUM, _SOLVE = require(np.einsum), require(np.linalg.solve)
_REDUCTIONS = ops_of(np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std)
SAME_SHAPE = ops_of(np.cumsum, np.cumprod, np.flip, np.sort, np.roll)  # of vectors


def input_axis(graph: Graph, value: Value, axis: int) -> tuple[Value, int] | None:
    """Return the input, and its axis, that axis `axis` of a value has its length from; None where nothing says it."""
    makers: dict[Value, Call] = {out: call for call in all_calls(graph) for out in call.outs}
    outside = _outside(graph)
    inputs = set(graph.inputs)
    while value not in inputs:
        call = makers.get(value)
        if call is not None:
            before = _axis_before(call, value, axis)
        else:
            before = (outside[value], axis) if value in outside else None
        if before is None:
            return None
        value, axis = before
    return value, axis


def source_axis(value: Value, axis: int, makers: dict[Value, Call]) -> tuple[Value, int]:
    """Return the value furthest back, and its axis, that an axis of `value` has its length from; `makers` are the calls."""
    while (call := makers.get(value)) is not None and (before := _axis_before(call, value, axis)) is not None:
        value, axis = before
    return value, axis


def _axis_before(call: Call, out: Value, axis: int) -> tuple[Value, int] | None:
    """The operand of a call, and its axis, that an axis of the result has its length from; None where the op does not say."""
    ndim, args = len(out.type.shape), call.args
    x = args[0] if args else None
    if call.op is COND:
        (arm, _), _, ins = args  # both give the same shape
        end = arm.outputs[call.outs.index(out)]
        makers = {v: inner for inner in arm.calls for v in inner.outs}
        v, k = source_axis(end, axis, makers) if isinstance(end, Value) else (None, 0)
        return _axis_of(ins[arm.inputs.index(v)], k) if v in arm.inputs else None
    if call.op.kind is Kind.elementwise or isinstance(call.op.base.fn, np.ufunc):
        if call.op.base is MATMUL:
            x, y = args[:2]
            of_columns = isinstance(y, Value) and len(y.type.shape) == 2 and axis == ndim - 1
            return (y, 1) if of_columns else _axis_of(x, axis) if ndim <= 2 else None
        behind, length = axis - ndim, out.type.shape[axis]
        like = [v for v in call.reads if v.type.kind == "array" and len(v.type.shape) >= -behind]
        like = [v for v in like if v.type.shape[behind] == length]
        return (like[0], len(like[0].type.shape) + behind) if like else None
    if call.op.base is _EINSUM:
        inputs, arrow, result = str(x).replace(" ", "").partition("->")
        subscripts = [] if not arrow or "." in inputs else inputs.split(",")
        letters = zip(subscripts, args[1], strict=False)
        return next((_axis_of(v, word.index(result[axis])) for word, v in letters if result[axis] in word), None)
    if call.op.base is _SOLVE:
        return _axis_of(args[1], axis)
    if not isinstance(x, Value) or x.type.kind != "array":
        return None
    if call.op.base is GETITEM:
        kept = _kept_by(args[1], len(x.type.shape))
        return None if kept is None or kept[axis] is None else (x, kept[axis])
    if call.op.base in _REDUCTIONS:
        if ndim == len(x.type.shape):
            return x, axis
        over = range(len(x.type.shape)) if args[1] is None else args[1] if type(args[1]) is tuple else (args[1],)
        left = [k for k in range(len(x.type.shape)) if k not in [n % len(x.type.shape) for n in over]]
        return x, left[axis]
    if call.op.base is TRANSPOSE:
        axes = range(ndim)[::-1] if args[1] is None else args[1]
        return x, axes[axis] % ndim
    return (x, axis) if call.op.base in SAME_SHAPE and x.type.shape == out.type.shape and ndim == 1 else None


def _axis_of(v: Any, axis: int) -> tuple[Value, int] | None:
    """An axis of an operand, where it is an array that has it."""
    return (v, axis) if isinstance(v, Value) and axis < len(v.type.shape) else None


def _kept_by(index: Any, ndim: int) -> list[Any] | None:
    """Of each axis that an index leaves the axis of the array that it is whole; None for a new one, or a part of one."""
    parts = list(index) if type(index) is tuple else [index]
    if any(isinstance(p, Value) and p.type.kind == "array" for p in parts) or any(
        isinstance(p, (list, bool)) for p in parts
    ):
        return None
    if any(p is Ellipsis for p in parts):
        at = next(k for k, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (ndim - sum(p is not None for p in parts) + 1)
    kept: list[Any] = []
    axis = 0
    for p in parts:
        if p is None:
            kept.append(None)
            continue
        if isinstance(p, slice):
            kept.append(axis if p == slice(None) else None)
        axis += 1
    return kept + list(range(axis, ndim))


def _outside(graph: Graph) -> dict[Value, Value]:
    """Return what the inputs of loops and branches are at their start, where that is another value."""
    found: dict[Value, Value] = {}
    for call in filter(is_region, all_calls(graph)):
        starts, given = (call.args[1], call.args[3]) if call.op is SCAN else ((), call.args[2])
        for region in regions_of(call):
            pairs = [*zip(region.inputs[-len(given) :] if given else (), given, strict=True)]
            if call.op is SCAN and region is call.args[0].body:
                pairs += zip(region.inputs[1:], starts, strict=False)
            found.update((v, start) for v, start in pairs if isinstance(start, Value) and v is not start)
    return found
