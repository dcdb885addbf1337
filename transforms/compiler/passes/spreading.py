"""Spread late: a scalar's cotangent is broadcast by the operation that uses it, not beforehand.

`op(np.broadcast_to(a, s), y)` is `op(a, y)` where that has shape `s` anyway: elementwise operations broadcast by
themselves, to the same bits; so do `np.where` and writes into places. Where all operands are spread numbers, the number
is computed first and spread after.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import BROADCAST_TO, EXPAND_DIMS, GETITEM, MEAN, SUM, WHERE
from ....runtime.ops import Op
from ....runtime.registry import ops_of, require
from ....runtime.rules.control import SIZES
from .rewrite import is_elementwise, result, retyped, rewrite, seen_from_outside, with_type

__all__ = ["spreading"]

# Rounded as IEEE 754 says, whatever the strides: NumPy's loops for other functions differ between one number and many.
_EXACT = ops_of(
    np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute, np.sign, np.sqrt, np.square,
    np.maximum, np.minimum,
)  # fmt: skip
_ANY_STRIDES = SIZES | {SUM, MEAN}  # what gives the same bits of spread numbers too


def spreading(graph: Graph) -> Graph:
    """The graph with broadcasts of cotangents folded into the elementwise operations that use them."""
    outside = seen_from_outside(graph)
    strided: set[Value] = set()  # read by what may see the strides
    for call in reversed(graph.calls):
        widened = call.op.base in (EXPAND_DIMS, BROADCAST_TO) and call.outs[0] not in strided
        blind = (is_elementwise(call) or _ignores_strides(call)) and all(map(_in_rows, call.reads))
        exact = call.op.base in _EXACT and is_elementwise(call) and all(map(_in_order, call.reads))
        if not (blind or exact or widened):
            strided.update(call.reads)
        elif call.op.stores and _partly_spread(call.args[0]):  # what it copies
            strided.add(call.args[0])
    spread: dict[Value, tuple[Any, Any]] = {}  # the result of np.broadcast_to -> (what was spread, the shape argument)

    def step(call: Call) -> Any:
        out = call.outs[0]
        if call.op.base is BROADCAST_TO and out not in outside:
            inner = call.args[0]
            spread[out] = (spread[inner][0] if isinstance(inner, Value) and inner in spread else inner, call.args[1])
            return None
        if call.op.base is EXPAND_DIMS and out not in outside:
            number: Any = call.args[0]
            if isinstance(number, Value) and number in spread:
                number = spread[number][0]
            if _is_number(number):
                spread[out] = (number, None)
            return None
        if call.op.base is GETITEM and call.args[0] in spread and out.type.kind == "scalar":
            number = spread[call.args[0]][0]
            return ("is", (number,)) if _is_number(number) and _dtype((number,)) == out.type.dtype else None
        if _takes_numbers(call.op):
            return _selected(call, spread)
        if call.op.base not in _EXACT or not is_elementwise(call):
            return None
        hit = [a for a in call.args if isinstance(a, Value) and a in spread]
        if not hit:
            return None
        args = tuple([spread[a][0] if isinstance(a, Value) and a in spread else a for a in call.args])
        full = [a for a in call.args if isinstance(a, Value) and a not in spread and a.type.kind == "array"]
        if any(a.type.shape == out.type.shape for a in full) and _dtype(args) == out.type.dtype:
            # the stride of an axis of length 1 says in which order NumPy went through all operands
            return None if 1 in out.type.shape and not all(map(_in_rows, full)) else [call.with_args(args)]
        if 1 not in out.type.shape and _together(args) == out.type.shape and _dtype(args) == out.type.dtype:
            return [call.with_args(args)]
        small = spread[hit[0]][0] if len(hit) == 1 else None  # rows, of which a number is a factor
        if (
            full
            or out in outside
            or out in strided
            or not all(_is_number(a) for a in args if a is not small)
            or _dtype(args) != out.type.dtype
        ):
            return None
        wide = next((a for a in hit if a.type.shape == out.type.shape), None)
        if wide is None or spread[wide][1] is None:
            return None
        if out.type.kind != "array" and any(isinstance(a, Value) for a in args):
            spread[out] = (out, spread[wide][1])
            return [call.with_args(args)]  # a number already; of constants it is folded, and stays an array of no axes
        number = result(call.op, args)
        if number.type.kind == "array" and 1 in out.type.shape:
            return None  # the stride of such an axis is seen
        number.cotangent_of = out.cotangent_of
        before = Call(call.op, args, (number,), call.site, call.backward, call.quiet)
        broadcast = require(np.broadcast_to)
        shape = spread[wide][1]
        made = with_type(out, out.type._replace(strides=(0,) * len(out.type.shape)))
        after = Call(broadcast, broadcast.bind(number, shape), (made,), call.site, call.backward, call.quiet)
        spread[made] = (number, shape)
        return ("is", (made,), [before, after])

    return retyped(rewrite(graph, step), graph)


def _together(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that an elementwise operation of these operands gives."""
    return np.broadcast_shapes(*[a.type.shape if isinstance(a, Value) else np.shape(a) for a in args])


def _in_rows(v: Value) -> bool:
    """Whether a value lies row by row, so that the strides of a result do not depend on those of another operand."""
    if v.type.kind != "array":
        return True
    expected = v.type.dtype.itemsize
    for n, stride in zip(reversed(v.type.shape), reversed(v.type.strides), strict=True):
        if n != 1 and stride not in (0, expected):
            return False
        expected *= n
    return True


def _in_order(v: Value) -> bool:
    """Whether the axes of a value lie in memory as they are counted, so that what NumPy computes of it lies row by row."""
    if v.type.kind != "array":
        return True
    strides = [stride for n, stride in zip(v.type.shape, v.type.strides, strict=True) if n != 1 and stride]
    return all(a > b for a, b in itertools.pairwise([*strides, 0]))


def _partly_spread(v: Any) -> bool:
    """Whether a copy of a value has its axes in another order, those that repeat one number first."""
    strides = v.type.strides if isinstance(v, Value) and v.type.kind == "array" else ()
    return any(strides) and not all(strides)


def _ignores_strides(call: Call) -> bool:
    """Whether a call gives the same bits, and strides, of spread numbers as of many alike."""
    if call.op.base is WHERE:
        return isinstance(call.args[0], Value) and call.args[0].type.shape == call.outs[0].type.shape
    return call.op.stores is not None or call.op.base in _ANY_STRIDES


def _takes_numbers(op: Op) -> tuple[int, ...]:
    """The arguments of which a number does as well as an array full of it; np.where needs a condition of the full shape."""
    return (1, 2) if op.base is WHERE else () if op.stores is None else (op.stores,)


def _selected(call: Call, spread: dict[Value, tuple[Any, Any]]) -> list[Call] | None:
    """The call with numbers in place of spread ones, where it takes either."""
    places = _takes_numbers(call.op)
    args = tuple([spread[a][0] if k in places and a in spread else a for k, a in enumerate(call.args)])
    if all(a is b for a, b in zip(args, call.args, strict=True)):
        return None
    out = call.outs[0]
    if call.op.base is WHERE:
        condition = args[0]
        if (
            not isinstance(condition, Value)
            or condition.type.shape != out.type.shape
            or _dtype(args[1:]) != out.type.dtype
            or (1 in out.type.shape and not all(map(_in_rows, call.reads)))
        ):
            return None
    return [call.with_args(args)]


def _is_number(a: Any) -> bool:
    return a.type.kind == "scalar" if isinstance(a, Value) else isinstance(a, (int, float, complex, np.generic))


def _dtype(args: tuple[Any, ...]) -> Any:
    """The dtype that an arithmetic operation of these operands has."""
    known = [
        (a.type.dtype if a.type.kind != "python" else a.type.dtype.type(1).item()) if isinstance(a, Value) else a
        for a in args
    ]
    return np.result_type(*known)
