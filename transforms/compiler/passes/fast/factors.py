"""Constant factors are taken together, and a division by a constant becomes a multiplication.

| written        | computed        | where                                                                             |
|----------------|-----------------|-----------------------------------------------------------------------------------|
| `x / c`        | `x * (1 / c)`   | abs(c) is 1 or more, and `1 / c` is a normal float: neither can overflow          |
| `(x * a) * b`  | `x * (a * b)`   | abs(a) and abs(b) are at most 1, and `a * b` is a normal float: where one of them |
|                |                 | is larger, `x * a` can overflow and `x * (a * b)` not                             |

`x` is an array of float32 or float64, the constants are Python's. NaN and infinities pass through every form.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.known_ops import DIVIDE, MULTIPLY
from .support import Walk, is_real, made, number

__all__ = ["factors"]


class _Scaled(NamedTuple):
    """A multiplication by a constant of at most 1."""

    x: Value
    factor: float
    divides: bool


def factors(graph: Graph) -> Graph:
    """The graph with divisions by constants as multiplications, and products of small constants computed now."""
    walk = Walk(graph)

    def step(call: Call) -> Any:
        outer = _scaled(call)
        if outer is None:
            return None
        inner_call = walk.once(outer.x)
        inner = None if inner_call is None or inner_call.quiet != call.quiet else _scaled(inner_call)
        if inner is not None and _is_normal(outer.factor * inner.factor, outer.x.type.dtype):
            return [made(call, operator.mul, outer.factor * inner.factor, inner.x)]
        return [made(call, operator.mul, outer.x, outer.factor)] if outer.divides else None

    return walk.over(graph, step)


def _scaled(call: Call) -> _Scaled | None:
    op, out = call.op.base, call.outs[0].type
    if op not in (MULTIPLY, DIVIDE) or out.kind != "array" or out.dtype not in (np.float32, np.float64):
        return None
    x, c = call.args[:2]
    if op is MULTIPLY and not isinstance(x, Value):
        x, c = c, x
    factor = number(c)
    if factor is None or factor == 0 or not is_real(x) or x.type.kind != "array" or x.type.dtype != out.dtype:
        return None
    factor = 1 / factor if op is DIVIDE else factor
    return _Scaled(x, factor, op is DIVIDE) if abs(factor) <= 1 and _is_normal(factor, out.dtype) else None


def _is_normal(c: float, dtype: Any) -> bool:
    return abs(c) >= float(np.finfo(dtype).tiny)
