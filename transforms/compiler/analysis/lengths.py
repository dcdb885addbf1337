"""Lengths: the axis of an input from which a value has its length, found through elementwise operations, rows and loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import SCAN, all_calls, is_region, regions_of
from ....runtime.ops import Kind

__all__ = ["input_axis"]


def input_axis(graph: Graph, value: Value, axis: int) -> tuple[Value, int] | None:
    """Return the input, and its axis, that axis `axis` of a value has its length from; None where nothing says it."""
    makers: dict[Value, Call] = {out: call for call in all_calls(graph) for out in call.outs}
    outside = _outside(graph)
    inputs = set(graph.inputs)
    while value not in inputs:
        call = makers.get(value)
        if call is None:
            if value not in outside:
                return None
            value = outside[value]
        elif call.op.base is GETITEM and _is_place(call.args[1]) and isinstance(call.args[0], Value):
            value, axis = call.args[0], axis + 1
        elif call.op.kind is Kind.elementwise or isinstance(call.op.base.fn, np.ufunc):
            behind, length = axis - len(value.type.shape), value.type.shape[axis]
            like = [v for v in call.reads if v.type.kind == "array" and len(v.type.shape) >= -behind]
            like = [v for v in like if v.type.shape[behind] == length]
            if not like:
                return None
            value, axis = like[0], len(like[0].type.shape) + behind
        else:
            return None
    return value, axis


def _is_place(index: Any) -> bool:
    """Whether an index is one whole number, so that what it reads is a row."""
    return index.type.kind != "array" if isinstance(index, Value) else type(index) is int


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
