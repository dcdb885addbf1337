"""Means of small arrays as sums over sizes: `np.mean` takes three times as long.

Exact: NumPy adds in float32 and float64 as `np.sum` does, and divides once. It divides in float64, and so gives the same
float32 as long as float32 holds the size. Means over an axis stay as they are, and so does that of nothing, which warns.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import MEAN
from ....runtime.registry import require
from ....runtime.rules.control import count_of
from .rewrite import result, rewrite

__all__ = ["SMALL", "means"]

SMALL = 1 << 16  # bytes; beyond, the arithmetic takes most of the time


def means(graph: Graph) -> Graph:
    """The graph with sums over sizes in place of small means."""
    return rewrite(graph, _divided)


def _divided(call: Call) -> list[Call] | None:
    if call.op.base is not MEAN:
        return None
    positional, keywords = call.op.call_form(call.args)
    x = positional[0]
    if len(positional) > 1 or any(v is not None for v in keywords.values()) or not _is_small(x):
        return None
    add, divide, count = require(np.sum), require(operator.truediv), require(count_of)
    total, size = result(add, add.bind(x)), result(count, (x,))
    total.sites = call.outs[0].sites

    def made(op: Any, args: tuple[Any, ...], *outs: Value) -> Call:
        return Call(op, args, outs, call.site, call.backward, call.quiet)

    return [
        made(count, (x,), size),
        made(add, add.bind(x), total),
        made(divide, (total, size), *call.outs),
    ]


def _is_small(x: Any) -> bool:
    """Whether it is an array of floats: some, and not many."""
    if not isinstance(x, Value) or x.type.kind != "array" or x.type.dtype not in (np.float32, np.float64):
        return False
    return 0 < math.prod(x.type.shape) * x.type.dtype.itemsize < SMALL and bool(x.type.shape)
