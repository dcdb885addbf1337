"""A product with a matrix that was repeated for each example (under gs.vmap): with the matrix itself.

`x @ np.broadcast_to(w, (n, *w.shape))[0]` reads the memory of `w` with its own strides, as `x @ w` does, and
`x @ np.swapaxes(repeated, 1, 2)[0]` that of `w.T`: the same bits.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import BROADCAST_TO, SWAPAXES
from ....runtime.registry import require
from ....runtime.rules.linalg import shared_matmul
from .rewrite import result, rewrite

__all__ = ["sharing"]

_SHARED_MATMUL = require(shared_matmul)


def sharing(graph: Graph) -> Graph:
    """The graph with products of what all examples share in place of products of its repetition."""
    repeated: dict[Value, Value] = {}  # the result of np.broadcast_to -> what it repeats
    turned: dict[Value, Value] = {}  # the same with its last two axes swapped -> what it repeats

    def step(call: Call) -> Any:
        out, source = call.outs[0], call.args[0] if call.args else None
        if not isinstance(source, Value):
            return None
        if call.op.base is BROADCAST_TO and 0 not in out.type.shape[:1] and out.type.shape[1:] == source.type.shape:
            repeated[out] = source
        elif call.op.base is SWAPAXES and call.args[1:3] == (1, 2) and source in repeated:
            turned[out] = repeated[source]
        elif call.op.base is _SHARED_MATMUL:
            w = call.args[1]
            if w in repeated:
                return [_product(call, repeated[w])]
            if w in turned:
                matrix = turned[w]
                transpose = require(np.transpose)
                bound = transpose.bind(matrix)
                flipped = result(transpose, bound)
                return [
                    Call(transpose, bound, (flipped,), call.site, call.backward, call.quiet),
                    _product(call, flipped),
                ]
        return None

    return rewrite(graph, step)


def _product(call: Call, w: Value) -> Call:
    return Call(require(operator.matmul), (call.args[0], w), call.outs, call.site, call.backward, call.quiet)
