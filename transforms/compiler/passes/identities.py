"""Identities that are exact: what changes no bit, no dtype and no memory that the caller sees.

`x * 1` and `x / 1` keep every real float (also -0.0, infinities and NaN; a complex infinity they do not);
`x + 0` is left alone, since it loses -0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir import Call, Graph, Value
from .rewrite import rewrite, seen_from_outside

__all__ = ["identities"]


def identities(graph: Graph) -> Graph:
    """The graph without multiplications and divisions by one, and without conversions to what a value already is."""
    outside = seen_from_outside(graph)

    def step(call: Call) -> Any:
        out = call.outs[0]
        if out in outside:  # the caller gets memory of its own
            return None
        same = _same_as(call)
        if same is None or same.type != out.type:
            return None
        return ("is", (same,))

    return rewrite(graph, step)


def _same_as(call: Call) -> Value | None:
    """The argument that a call returns unchanged."""
    name, args = call.op.title, call.args
    if name in ("Mul", "Div") and call.outs[0].type.dtype.kind == "c":
        return None
    if name == "Mul":
        x, y = args[:2]
        if _is_one(y) and isinstance(x, Value):
            return x
        if _is_one(x) and isinstance(y, Value):
            return y
    elif (
        (name == "Div" and _is_one(args[1]) and isinstance(args[0], Value))
        or (
            call.op.path == "np.broadcast_to"
            and isinstance(args[0], Value)
            and args[0].type.shape == call.outs[0].type.shape
        )
        or (call.op.name == "astype" and isinstance(args[0], Value) and args[0].type.dtype == call.outs[0].type.dtype)
    ):
        return args[0]
    return None


def _is_one(x: Any) -> bool:
    return isinstance(x, (int, float, np.floating, np.integer)) and not isinstance(x, bool) and x == 1
