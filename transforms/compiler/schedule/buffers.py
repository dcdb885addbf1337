"""Buffers of loops: carried arrays that lie in memory of their own in each trip, so that they may be added into."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.opcodes import COND, SCAN
from ....runtime.ops import Kind
from ..analysis.memory import makes_new_memory
from ..passes.scans import Carry, Scan
from .reuse import is_apart, last_writers

if TYPE_CHECKING:
    from .blocks import Block

__all__ = ["is_consumed", "is_own", "is_steady", "own_carry"]


def own_carry(block: Block, call: Call) -> set[Value]:
    """Return the parameters of a loop's body that are its own.

    Such a value begins in fresh memory that nobody else reads; each trip gives it back, changed or fresh, and keeps it
    nowhere else. Where strides vary, it is only added to: what is in C order stays so, whatever the other operand is.
    """
    scan = Scan(call)
    return _kept_own(scan, lambda v: is_own(block, v, call), block.steady and is_steady(scan))


def is_steady(scan: Scan) -> bool:
    """Whether strides stay the same from trip to trip."""
    items = all(x.given.element is None or x.given.element.type == x.param.type for x in scan.xs)
    return items and all(map(_is_steady, scan.carry))


def is_own(block: Block, v: Any, reader: Call | None = None) -> bool:
    """Whether a value is in fresh memory, and read but once, or by `reader` last."""
    if not isinstance(v, Value) or v.type.kind != "array" or v in block.kept:
        return False
    if block.uses.get(v) != 1 and (reader is None or not block.is_last(v, reader)):
        return False
    if v not in block.maker:
        return v in block.own
    maker = block.maker[v]
    if not block.steady and _is_filled(maker):
        return True
    return _gives_own(maker, v, lambda u: is_own(block, u), block.steady)


def is_consumed(block: Block, v: Value, call: Call) -> bool:
    """Whether a value lies in a buffer that nobody else sees, and nobody reads behind `call`, which may write into it."""
    if v in block.outputs or v.type.kind != "array":
        return False
    if block.uses.get(v) != 1 and not block.is_last(v, call):
        return False
    maker = block.maker.get(v)
    if maker is None:
        return v in block.own
    if not maker.op.inline and call.outs[0].type != v.type:
        return False  # a copy would lie in memory in another order
    return makes_new_memory(maker) or (maker.op in (SCAN, COND) and is_own(block, v, call))


def _is_filled(call: Call) -> bool:
    """Whether a call makes an array of a shape and numbers, which lies in C order whatever was given."""
    of_arrays = any(v.type.kind == "array" for v in call.reads)
    return call.op.kind is Kind.creation and makes_new_memory(call) and not of_arrays


def _kept_own(scan: Scan, begins: Callable[[Value], bool], steady: bool) -> set[Value]:
    """The carried parameters that are own in each trip, where the loop `begins` with own values."""
    own: dict[Value, Carry] = {}
    for c in scan.carry:
        if isinstance(c.start, Value) and c.start.type.kind == "array" and begins(c.start):
            alike = isinstance(c.after, Value) and c.start.type == c.param.type == c.after.type
            if alike and (steady or _is_in_c_order(c.param)):
                own[c.param] = c
    while True:
        left = {v: c for v, c in own.items() if _is_own(scan.body, c.after, own.__contains__, steady)}
        if len(left) == len(own):
            return set(own)
        own = left


def _is_own(graph: Graph, v: Any, given: Callable[[Value], bool], steady: bool) -> bool:
    """Whether an output of a graph is in memory that nothing else sees, where that is so of the inputs that are `given`."""
    outputs = list(values_in(graph.outputs))
    if (
        not isinstance(v, Value)
        or outputs.count(v) != 1
        or not all(is_apart(call) for call in graph.calls if v in call.reads)
    ):
        return False
    if v in graph.inputs:
        return given(v)
    makers = {u: call for call in graph.calls for u in call.outs}
    written = last_writers(graph)

    def passed(u: Value) -> bool:
        if u in outputs or (u not in written and sum(call.reads.count(u) for call in graph.calls) != 1):
            return False
        return _gives_own(makers[u], u, passed, steady) if u in makers else given(u)

    return _gives_own(makers[v], v, passed, steady)


def _gives_own(maker: Call, v: Value, given: Callable[[Value], bool], steady: bool) -> bool:
    """Whether a call gives a result in memory of its own, where the arguments that are `given` are."""
    k = maker.outs.index(v)
    if maker.op is COND:
        branch, _, ins = maker.args

        def own_in(graph: Graph) -> Callable[[Value], bool]:
            places = dict(zip(graph.inputs, ins, strict=True))
            return lambda u: isinstance(places[u], Value) and given(places[u])

        return all(_is_own(graph, graph.outputs[k], own_in(graph), steady) for graph in branch)
    if maker.op is SCAN:
        scan = Scan(maker)
        return k < len(scan.carry) and scan.carry[k].param in _kept_own(scan, given, steady)
    if steady:
        return makes_new_memory(maker)
    first = maker.args[0] if maker.args else None
    adds = maker.op.infix == "+" or maker.op.consuming is not None
    return adds and isinstance(first, Value) and first.type == v.type and given(first)


def _is_steady(c: Carry) -> bool:
    """Whether a carried array lies in memory in the same way before and after each trip."""
    types = {v.type for v in (c.start, c.param, c.after, c.out) if isinstance(v, Value)}
    return c.param.type.kind != "array" or len(types) == 1


def _is_in_c_order(v: Value) -> bool:
    _, dtype, shape, strides = v.type
    return strides == tuple([dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))])
