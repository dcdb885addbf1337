"""Spread late: a scalar's cotangent is broadcast by the operation that uses it, not beforehand.

`op(np.broadcast_to(a, s), y)` is `op(a, y)` where `y` has shape `s` already: elementwise operations broadcast by
themselves, to the same bits. Where all operands are spread numbers, the number is computed first and spread after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir import Call, Graph, Type, Value
from ....runtime.registry import require
from .rewrite import is_elementwise, rewrite, seen_from_outside

__all__ = ["spreading"]

# Rounded as IEEE 754 says, whatever the strides: NumPy's loops for other functions differ between one number and many.
_EXACT = frozenset(["Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sign", "Sqrt", "Square", "Maximum", "Minimum", "Pos"])
_ANY_STRIDES = frozenset(
    ["np.sum", "np.mean", "shape", "size", "count"]
)  # what gives the same bits of spread numbers too


def spreading(graph: Graph) -> Graph:
    """The graph with broadcasts of cotangents folded into the elementwise operations that use them."""
    outside = seen_from_outside(graph)
    strided = {v for c in graph.calls if not is_elementwise(c) and c.op.path not in _ANY_STRIDES for v in c.reads}
    spread: dict[Value, tuple[Any, Any]] = {}  # the result of np.broadcast_to -> (what was spread, the shape argument)

    def step(call: Call) -> Any:
        out = call.outs[0]
        if call.op.path == "np.broadcast_to" and out not in outside:
            spread[out] = (call.args[0], call.args[1])
            return None
        if call.op.title not in _EXACT or not is_elementwise(call):
            return None
        hit = [a for a in call.args if isinstance(a, Value) and a in spread]
        if not hit:
            return None
        args = tuple([spread[a][0] if isinstance(a, Value) and a in spread else a for a in call.args])
        full = [a for a in call.args if isinstance(a, Value) and a not in spread and a.type.kind == "array"]
        if any(a.type.shape == out.type.shape for a in full) and _dtype(args) == out.type.dtype:
            return [call.with_args(args)]
        if (
            full
            or out in outside
            or out in strided
            or not all(_is_number(a) for a in args)
            or _dtype(args) != out.type.dtype
        ):
            return None
        wide = next((a for a in hit if a.type.shape == out.type.shape), None)
        if wide is None:
            return None
        number = Value(Type("scalar", out.type.dtype, (), ()))
        number.cotangent_of = out.cotangent_of
        before = Call(call.op, args, (number,), call.site, call.backward, call.quiet)
        broadcast = require(np.broadcast_to)
        shape = spread[wide][1]
        after = Call(broadcast, broadcast.bind(number, shape), (out,), call.site, call.backward, call.quiet)
        spread[out] = (number, shape)
        return [before, after]

    return rewrite(graph, step)


def _is_number(a: Any) -> bool:
    return a.type.kind == "scalar" if isinstance(a, Value) else isinstance(a, (int, float, complex, np.generic))


def _dtype(args: tuple[Any, ...]) -> Any:
    """The dtype that an arithmetic operation of these operands has."""
    known = [
        (a.type.dtype if a.type.kind != "python" else a.type.dtype.type(1).item()) if isinstance(a, Value) else a
        for a in args
    ]
    return np.result_type(*known)
