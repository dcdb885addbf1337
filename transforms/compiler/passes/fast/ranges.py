"""Between which bounds all numbers of a value lie, as far as the operations that made it tell; NaN may always be there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .....runtime.ir.graph import Call, Value
from .support import Walk

__all__ = ["Bounds", "bounds"]

_DEPTH = 24


class Bounds(NamedTuple):
    """The least and the largest number."""

    low: float
    high: float


ANY = Bounds(-math.inf, math.inf)
_UNIT = Bounds(-1.0, 1.0)
_POSITIVE = Bounds(0.0, math.inf)
_FIXED = {
    "np.tanh": _UNIT, "np.sin": _UNIT, "np.cos": _UNIT, "np.sign": _UNIT, "scipy.special.erf": _UNIT,
    "np.arctan": Bounds(-1.6, 1.6), "scipy.special.expit": Bounds(0.0, 1.0), "np.exp": _POSITIVE, "np.exp2": _POSITIVE,
    "np.absolute": _POSITIVE, "np.square": _POSITIVE, "np.sqrt": _POSITIVE, "np.cosh": Bounds(1.0, math.inf),
    "np.hypot": _POSITIVE,
}  # fmt: skip
_SAME = frozenset(
    ["np.transpose", "np.swapaxes", "np.expand_dims", "np.broadcast_to", "np.reshape", "np.copy", "np.mean"]
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
    path, title, args = call.op.path, call.op.title, call.args
    fixed = _FIXED.get(path)
    if fixed is not None:
        return fixed
    if path in _SAME or path == "operator.getitem":
        return bounds(args[0], walk, depth)
    if path == "np.sum":
        return _POSITIVE if bounds(args[0], walk, depth).low >= 0 else ANY
    if title == "Pow" and args[1] in (2, 4, 6, 8):
        return _POSITIVE
    if title == "Neg":
        a = bounds(args[0], walk, depth)
        return Bounds(-a.high, -a.low)
    if title not in ("Add", "Sub", "Mul", "Maximum", "Minimum") or len(args) != 2:
        return ANY
    if title == "Mul" and args[0] is args[1]:
        return _POSITIVE
    a, b = bounds(args[0], walk, depth), bounds(args[1], walk, depth)
    if title == "Add":
        return Bounds(a.low + b.low, a.high + b.high)
    if title == "Sub":
        return Bounds(a.low - b.high, a.high - b.low)
    if title == "Maximum":
        return Bounds(max(a.low, b.low), max(a.high, b.high))
    if title == "Minimum":
        return Bounds(min(a.low, b.low), min(a.high, b.high))
    if a.low >= 0 and b.low >= 0:
        return Bounds(a.low * b.low, a.high * b.high)
    ends = [p * q for p in a for q in b]
    return ANY if any(map(math.isnan, ends)) else Bounds(min(ends), max(ends))
