"""`np.where(mask, x, 0.0)` of a large array, without its branches: the bits of `x` times the mask.

NumPy looks at one element after the other, and where True and False alternate by chance, a processor guesses wrong at
every second one: 16 times the time of a product (262,144 elements). Exact: 1 times the bits of a number are its bits, NaN
and infinity among them, and 0 times them are those of 0.0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Value
from ..schedule.reuse import LARGE, is_dense
from .variables import name_tree

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["selected"]

_UNSIGNED = {2: "np.uint16", 4: "np.uint32", 8: "np.uint64"}


def selected(walk: Walk, call: Call) -> Any:
    """`(x.view(np.uint64) * mask).view(np.float64)` for such a call, or None."""
    mask, x, y = call.args
    chosen = y if _is_zero(x) else x
    if not walk.facts.steady or _is_zero(x) == _is_zero(y) or not isinstance(chosen, Value):
        return None
    out, dtype = call.outs[0].type, chosen.type.dtype
    bits = _UNSIGNED.get(dtype.itemsize) if dtype.kind == "f" else None
    if bits is None or dtype != out.dtype or out.kind != "array" or math.prod(out.shape) * dtype.itemsize < LARGE:
        return None
    if not isinstance(mask, Value) or mask.type.kind != "array" or mask.type.dtype != bool:
        return None
    if not (_is_packed(chosen) if chosen.type == out else _is_spread(chosen, mask, call.outs[0])):
        return None
    keep = walk.tree(mask, call)
    if chosen is y:
        keep = gast.UnaryOp(op=gast.Invert(), operand=keep)
    product = gast.BinOp(left=_viewed(walk.tree(chosen, call), bits), op=gast.Mult(), right=keep)
    found = _viewed(product, f"np.{dtype}")
    found.is_selection = True
    return found


def _is_packed(x: Value) -> bool:
    """Whether an array has no gaps, in whatever order its axes lie in memory: that of a product with it is the same."""
    if 1 in x.type.shape:
        return is_dense(x)
    step = x.type.dtype.itemsize
    for stride, length in sorted(zip(x.type.strides, x.type.shape, strict=True)):
        if stride != step:
            return False
        step *= length
    return True


def _is_spread(x: Value, mask: Value, out: Value) -> bool:
    """Whether an array without gaps, or one number, is spread over a mask, all in C order."""
    return (
        x.type.kind == "array"
        and mask.type.shape == out.type.shape
        and all(map(_in_c_order, (mask, out)))
        and (_in_c_order(x) or not any(x.type.strides))
    )


def _in_c_order(x: Value) -> bool:
    return is_dense(x) and x.type.strides[-1:] in ((), (x.type.dtype.itemsize,))


def _is_zero(x: Any) -> bool:
    """Whether an argument is 0 or 0.0, and not -0.0."""
    return isinstance(x, (int, float, np.floating)) and type(x) is not bool and x == 0 and not np.signbit(x)


def _viewed(tree: Any, dtype: str) -> Any:
    """`x.view(dtype)`: the same bits, read otherwise."""
    return gast.Call(
        func=gast.Attribute(value=tree, attr="view", ctx=gast.Load()), args=[name_tree(dtype)], keywords=[]
    )
