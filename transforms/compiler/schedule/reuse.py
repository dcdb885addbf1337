"""Reuse of memory: calls that may write their result over an argument, if it is large or the user does so."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import SCAN, is_region
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.control import GUARD, SIZES
from ....runtime.rules.indexing import index_set, read_last
from ..analysis.memory import makes_new_memory, shares_with
from ..passes.rewrite import key_of
from .stores import STORE

__all__ = ["is_apart", "is_dense", "last_writers", "reads_first", "reused", "ufunc_of"]

INDEX_SET, _READ_LAST = require(index_set), require(read_last)

LARGE = 1 << 16  # bytes; below, a new array costs less than the keyword `out=`


def reused(graph: Graph, given: Collection[Value] = (), own: Collection[Value] = ()) -> dict[Call, Value]:
    """For each call that may take over the memory of an argument: that argument.

    Of the inputs only those `given`, where the user's code writes over them, and what is a region's `own`: what a loop
    carries, and adds to in the backward part, is written over whatever its size.

    The memory is the argument's own, of the very dtype, shape and strides that the result would have, and this call is the
    last to read it; so the bits stay, and the order of a plain call.
    """
    last: dict[Value, Call] = {}
    shown = set(values_in(graph.outputs))  # and what others may be views of
    for call in graph.calls:
        if call.op in SIZES:
            continue
        stored = list(values_in(call.args[1:])) if call.op is STORE else None
        last.update(dict.fromkeys(call.reads if stored is None else stored, call))
        shown.update(shares_with(call) if stored is None else stored)
    maker = {v: call for call in graph.calls for v in call.outs}
    results = set(values_in(graph.outputs))
    found: dict[Call, Value] = {}
    for call in graph.calls:
        ufunc = ufunc_of(call.op)
        if ufunc is None or ufunc.nout != 1:
            continue
        (out,) = call.outs
        for v in call.reads:
            fresh = makes_new_memory(maker[v]) if v in maker else v in own or (v in given and out.over is v)
            dead = fresh and v not in shown and last[v] is call
            added = v in own and out in results and bool(call.backward) and call.op.infix == "+"
            worth = added or out.over is v or math.prod(v.type.shape) * v.type.dtype.itemsize >= LARGE
            if dead and worth and v.type == out.type and is_dense(v) and not _is_put_back(maker.get(v), last.get(out)):
                found[call] = v
                break
    return found


def _is_put_back(read: Call | None, put: Call | None) -> bool:
    """Whether a value that is computed of `x[i]` is put at this place again: `x[i] += v` in one statement."""
    if read is None or put is None or read.op.base is not GETITEM or put.op is not INDEX_SET:
        return False
    return _is_of_the_place(read, put)


def _is_of_the_place(read: Call, put: Call) -> bool:
    """Whether `x[i]` or the like reads of the same array, at the same place, as `x[i] = v` writes."""
    return all(key_of(a) == key_of(b) for a, b in zip(read.args, put.args, strict=False))


def reads_first(graph: Graph) -> Graph:
    """The graph in which `x[i]` is read before another value is put at that place, so that this may happen in `x`."""
    calls = list(graph.calls)
    for call in graph.calls:
        if call.op is not INDEX_SET or not isinstance(call.args[0], Value):
            continue
        for read in calls[calls.index(call) + 1 :]:
            if read.op is GUARD:  # what follows may belong to another outcome
                break
            copied = _is_number_of(read) or read.op.base is _READ_LAST
            alike = (read.quiet, read.backward) == (call.quiet, call.backward) and copied
            if alike and _is_of_the_place(read, call):
                calls.remove(read)
                calls.insert(calls.index(call), read)
    return graph if calls == graph.calls else Graph(graph.inputs, calls, graph.outputs)


def last_writers(graph: Graph) -> dict[Value, Call]:
    """Of arrays that are read several times: the last reader, if it may write over one, and no other shares its memory.

    The backward part writes over nothing of the forward part: a cotangent has a name of its own.
    """
    forward = {v for call in graph.calls if not call.backward for v in call.outs}
    readers: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in dict.fromkeys(call.reads):
            readers.setdefault(v, []).append(call)
    shown = set(values_in(graph.outputs))
    place = {call: k for k, call in enumerate(graph.calls)}

    def is_done(call: Call, end: int) -> bool:
        """Whether nobody reads what a call gives, in memory of its argument, when that is written over."""
        if is_apart(call):
            return True
        if call.op.base is not GETITEM or call.outs[0] in shown:
            return False
        return all(place[r] < end and not is_region(r) and is_done(r, end) for r in readers.get(call.outs[0], ()))

    found: dict[Value, Call] = {}
    for v, (*others, last) in readers.items():
        if not others or v.type.kind != "array" or v in shown or (last.backward and v in forward):
            continue
        into = last.args[1 if last.op is SCAN else 2] if is_region(last) else last.args[:1] * bool(last.op.consuming)
        if v in values_in(into) and last.reads.count(v) == 1 and all(is_done(other, place[last]) for other in others):
            found[v] = last
    return found


def is_apart(call: Call) -> bool:
    """Whether the results of a call stay what they are when its arguments are written over."""
    return _is_number_of(call) or makes_new_memory(call)


def _is_number_of(call: Call) -> bool:
    """Whether a call reads one element of an array."""
    return call.op.base is GETITEM and call.outs[0].type.kind == "scalar"


def ufunc_of(op: Op) -> np.ufunc | None:
    """The element-by-element ufunc that an op is, by name or by sign; `**` is not one, since it has short cuts."""
    fn: Any = op.fn
    if op.infix is not None and op.infix != "**":
        fn = getattr(np, op.path.removeprefix("np."), None)
    return fn if isinstance(fn, np.ufunc) and fn.signature is None else None


def is_dense(v: Value) -> bool:
    """Whether an array has no gaps. Not complex ones: their products differ in the last bit over themselves."""
    kind, dtype, shape, strides = v.type
    if kind != "array" or dtype.kind == "c":
        return False
    steps = [dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    turned = [dtype.itemsize * math.prod(shape[:k]) for k in range(len(shape))]
    return strides in (tuple(steps), tuple(turned))
