"""Additions before placement: values that are put and added at one place of a new array are added first, and put there once.

Exact: `zeros; out[i] = v; out[i] += w` leaves `v + w` at `i`, where `i` names each element once and both have its shape.
A number other than zero is put there, where it would be added to zeros: only -0.0 is another number then.
Few rows are added by `np.add.at` as they are, which is sooner done there than number by number, and gives the same bits.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.registry import require
from ....runtime.rules.indexing import add_place, index_add, place, scatter, scatter_rows
from .rewrite import key_of, result, rewrite

__all__ = ["placing"]

_PLACE, _ADD_PLACE, _INDEX_ADD = map(require, (place, add_place, index_add))
_SCATTER, _SCATTER_ROWS = map(require, (scatter, scatter_rows))
_FEW = 512  # numbers, up to which NumPy adds rows at least as fast as number by number


def placing(graph: Graph) -> Graph:
    """The graph with additions at the place of a `place` moved before it."""
    uses: dict[Value, int] = {}
    for v in (*[v for call in graph.calls for v in call.reads], *values_in(graph.outputs)):
        uses[v] = uses.get(v, 0) + 1
    places: dict[Value, Call] = {}

    def step(call: Call) -> Any:
        if (
            call.op.base is _SCATTER_ROWS
            and isinstance(call.args[0], Value)
            and math.prod(call.args[0].type.shape) <= _FEW
        ):
            return [Call(_SCATTER, call.args, call.outs, call.site, call.backward, call.quiet)]
        if call.op.base is _ADD_PLACE and _is_nonzero(call.args[0]):
            return [Call(_PLACE, call.args, call.outs, call.site, call.backward, call.quiet)]
        if call.op.base is _PLACE and uses.get(call.outs[0]) == 1:
            places[call.outs[0]] = call
        if call.op.base is not _INDEX_ADD or call.args[0] not in places:
            return None
        first = places[call.args[0]]
        v, index, shape, dtype = first.args
        w = call.args[2]
        if key_of(index) != key_of(call.args[1]) or not (_is_plain(v, dtype) and _is_plain(w, dtype)):
            return None
        if v.type.shape != w.type.shape:
            return None
        dead.add(first.outs[0])
        add = require(operator.add)
        total = result(add, (v, w), v.type)
        total.cotangent_of = v.cotangent_of
        placed = Call(first.op, (total, index, shape, dtype), call.outs, call.site, call.backward, call.quiet)
        if uses.get(call.outs[0]) == 1:
            places[call.outs[0]] = placed
        return [Call(add, add.bind(v, w), (total,), call.site, call.backward, call.quiet), placed]

    dead: set[Value] = set()
    found = rewrite(graph, step)
    return Graph(found.inputs, [c for c in found.calls if dead.isdisjoint(c.outs)], found.outputs)


def _is_plain(v: Any, dtype: Any) -> bool:
    """Whether a value is an array of that dtype, in C order without gaps."""
    if not isinstance(v, Value) or v.type.kind != "array" or v.type.dtype != dtype:
        return False
    shape, strides = v.type.shape, v.type.strides
    return 0 in shape or strides == tuple(
        [v.type.dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    )


def _is_nonzero(v: Any) -> bool:
    """Whether a value is a constant, a real number other than zero."""
    return isinstance(v, (float, np.floating)) and bool(v < 0 or v > 0)
