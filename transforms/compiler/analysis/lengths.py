"""Lengths: the axis of an input from which a value has its length, found through elementwise operations."""

from __future__ import annotations

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ops import Kind

__all__ = ["input_axis"]


def input_axis(graph: Graph, value: Value, axis: int) -> tuple[Value, int] | None:
    """Return the input, and its axis, that axis `axis` of a value has its length from; None where nothing says it."""
    makers: dict[Value, Call] = {out: call for call in graph.calls for out in call.outs}
    inputs = set(graph.inputs)
    while value not in inputs:
        call = makers.get(value)
        if call is None or not (call.op.kind is Kind.elementwise or isinstance(call.op.base.fn, np.ufunc)):
            return None
        behind, length = axis - len(value.type.shape), value.type.shape[axis]
        like = [v for v in call.reads if v.type.kind == "array" and len(v.type.shape) >= -behind]
        like = [v for v in like if v.type.shape[behind] == length]
        if not like:
            return None
        value, axis = like[0], len(like[0].type.shape) + behind
    return value, axis
