"""Ranges: bounds of all numbers of a value, as far as the operations that made it tell; NaN may always be there."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from .....runtime.ir.graph import Call, Value
from .....runtime.ir.known_ops import ADD, MAXIMUM, MINIMUM, MULTIPLY, NEGATIVE, SUBTRACT, SUM
from .....runtime.registry import ops_of
from .support import Walk

__all__ = ["Bounds", "bounds"]

_DEPTH = 24


class Bounds(NamedTuple):
    """The least and the largest number."""

    low: float
    high: float


ANY = Bounds(-math.inf, math.inf)
_POSITIVE = Bounds(0.0, math.inf)
_POWERS = ops_of(np.power, math.pow)
_SAME = ops_of(
    np.transpose, np.swapaxes, np.expand_dims, np.broadcast_to, np.reshape, np.copy, np.mean, operator.getitem
)


def bounds(x: Any, walk: Walk, depth: int = 0) -> Bounds:
    """The bounds of an argument; infinite ones where nothing is known."""
    if type(x) in (int, float) or isinstance(x, np.floating):
        return ANY if math.isnan(x) else Bounds(float(x), float(x))
    call = walk.maker.get(x) if isinstance(x, Value) and depth < _DEPTH else None
    if call is None or call.outs[0].type.dtype not in (np.float32, np.float64):
        return ANY
    found = _of_call(call, walk, depth + 1)
    return ANY if math.isnan(found.low) or math.isnan(found.high) else found


def _of_call(call: Call, walk: Walk, depth: int) -> Bounds:
    op, args = call.op.base, call.args
    if op.bounds is not None:
        return Bounds(*op.bounds)
    if op in _SAME:
        return bounds(args[0], walk, depth)
    if op is SUM:
        return _POSITIVE if bounds(args[0], walk, depth).low >= 0 else ANY
    if op in _POWERS and args[1] in (2, 4, 6, 8):
        return _POSITIVE
    if op is NEGATIVE:
        a = bounds(args[0], walk, depth)
        return Bounds(-a.high, -a.low)
    if op not in (ADD, SUBTRACT, MULTIPLY, MAXIMUM, MINIMUM) or len(args) != 2:
        return ANY
    if op is MULTIPLY and args[0] is args[1]:
        return _POSITIVE
    a, b = bounds(args[0], walk, depth), bounds(args[1], walk, depth)
    if op is ADD:
        return Bounds(a.low + b.low, a.high + b.high)
    if op is SUBTRACT:
        return Bounds(a.low - b.high, a.high - b.low)
    if op is MAXIMUM:
        return Bounds(max(a.low, b.low), max(a.high, b.high))
    if op is MINIMUM:
        return Bounds(min(a.low, b.low), min(a.high, b.high))
    if a.low >= 0 and b.low >= 0:
        return Bounds(a.low * b.low, a.high * b.high)
    ends = [p * q for p in a for q in b]
    return ANY if any(map(math.isnan, ends)) else Bounds(min(ends), max(ends))
