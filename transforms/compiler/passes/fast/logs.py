"""Logarithms and exponentials that undo one another.

| written       | computed | where                                                                                |
|---------------|----------|--------------------------------------------------------------------------------------|
| `log(exp(x))` | `x`      | `x` is known to lie in ±700 (float64) or ±80 (float32), as `tanh(y)` does: elsewhere |
|               |          | `exp` is infinite or 0, the logarithm infinite, and `x` would be a number            |
| `exp(log(x))` | `x`      | `x` is known to be 0 or more, as `y ** 2` is: of less than 0 the logarithm is NaN    |

NaN stays NaN, and an infinite `x` stays infinite in the second. What is known follows from the operations that made `x`
(`ranges.py`). A result that the caller sees keeps memory of its own, so it is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph
from .....runtime.registry import require
from ..rewrite import seen_from_outside
from .ranges import bounds
from .support import Walk, is_real

__all__ = ["logs"]

_EXP = require(np.exp)
_LOG_EXP = {_EXP, require(np.log)}
_WITHIN = {np.dtype(np.float64): 700.0, np.dtype(np.float32): 80.0}


def logs(graph: Graph) -> Graph:
    """The graph without logarithms of exponentials, and exponentials of logarithms, of numbers in a known range."""
    walk, outside = Walk(graph), seen_from_outside(graph)

    def step(call: Call) -> Any:
        if call.op.base not in _LOG_EXP or call.outs[0] in outside:
            return None
        inner = walk.maker.get(call.args[0])
        if inner is None or {inner.op.base, call.op.base} != _LOG_EXP:
            return None
        x = inner.args[0]
        if not is_real(x) or x.type[:3] != call.outs[0].type[:3] or x.type.strides != call.outs[0].type.strides:
            return None
        low, high = bounds(x, walk)
        within = _WITHIN[x.type.dtype]
        fits = low >= 0 if call.op.base is _EXP else -within <= low and high <= within
        return ("is", (x,)) if fits else None

    return walk.over(graph, step)
