"""Constant factors and signs meet before they meet an array; only where no rounding changes.

`a + -b` is `a - b`, `-a * -b` is `a * b`, `-(c * x)` is `-c * x`, and `-a * (c * x)` is `a * (-c * x)`: a sign is never
rounded. `d * (c * x)` is `(d * c) * x` where c is a power of two of at least one and |d| is at least one:
then `c * x` is exact, or both are infinite.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import ADD, MULTIPLY, NEGATIVE, SUBTRACT
from ....runtime.ops import Op
from ....runtime.registry import require
from .rewrite import rewrite

__all__ = ["scaling"]


class _Scaled(NamedTuple):
    """A multiplication by a constant."""

    constant: Any
    value: Value
    position: int  # of the constant


def scaling(graph: Graph) -> Graph:
    """The graph with constant factors and signs taken together where that is exact."""
    uses: dict[Value, int] = {}
    for v in (v for call in graph.calls for v in call.reads):
        uses[v] = uses.get(v, 0) + 1
    for v in values_in(graph.outputs):
        uses[v] = uses.get(v, 0) + 1
    maker: dict[Value, Call] = {}

    def once(v: Any, op: Op) -> Call | None:
        """The call that made `v`, if it is of that op and nothing else reads `v`."""
        call = maker.get(v) if isinstance(v, Value) and uses.get(v) == 1 else None
        return call if call is not None and call.op.base is op else None

    def step(call: Call) -> Any:
        found = _rewritten(call, once)
        for made in found or [call]:
            for out in made.outs:
                maker[out] = made
                uses.setdefault(out, 1)
        return found

    return rewrite(graph, step)


def _rewritten(call: Call, once: Any) -> list[Call] | None:
    if call.outs[0].type.dtype not in (np.float32, np.float64) or call.op.base not in (
        ADD,
        SUBTRACT,
        NEGATIVE,
        MULTIPLY,
    ):
        return None
    if call.op.base in (ADD, SUBTRACT):
        return _signs_of_a_sum(call, once)
    if call.op.base is NEGATIVE:
        inner = once(call.args[0], MULTIPLY)
        scaled = None if inner is None else _scaled(inner)
        return None if scaled is None or inner is None else [_with(inner, call, -scaled.constant, scaled)]
    outer = _scaled(call)
    if outer is not None:
        inner = once(outer.value, MULTIPLY)
        scaled = None if inner is None else _scaled(inner)
        if (
            inner is None
            or scaled is None
            or not _exact(outer.constant, scaled.constant, call.outs[0].type.dtype)
            or inner.quiet != call.quiet
        ):
            return None
        return [_with(inner, call, outer.constant * scaled.constant, scaled)]
    left, right = once(call.args[0], NEGATIVE), once(call.args[1], NEGATIVE)
    if left is not None and right is not None:
        return [call.with_args((left.args[0], right.args[0]))]
    for k in (0, 1):
        sign, product = once(call.args[k], NEGATIVE), once(call.args[1 - k], MULTIPLY)
        scaled = None if product is None else _scaled(product)
        if sign is None or product is None or scaled is None or sign.args[0] is scaled.value:
            continue
        turned = Value(product.outs[0].type)
        args = [turned, turned]
        args[k] = sign.args[0]
        return [_with(product, product, -scaled.constant, scaled, turned), call.with_args(tuple(args))]
    return None


def _signs_of_a_sum(call: Call, once: Any) -> list[Call] | None:
    """`a + -b` and `-b + a` are `a - b`; `a - -b` is `a + b`."""
    left, right = call.args[:2]
    if call.op.infix is None and not any(isinstance(a, Value) and a.type.kind != "python" for a in call.args):
        return None  # np.add gives a NumPy number even of two Python ones
    minus = once(right, NEGATIVE)
    if minus is not None:
        other = operator.sub if call.op.base is ADD else operator.add
        return [Call(require(other), (left, minus.args[0]), call.outs, call.site, call.backward, call.quiet)]
    minus = once(left, NEGATIVE) if call.op.base is ADD else None
    if minus is None:
        return None
    return [Call(require(operator.sub), (right, minus.args[0]), call.outs, call.site, call.backward, call.quiet)]


def _scaled(call: Call) -> _Scaled | None:
    """How a call multiplies by a constant other than zero."""
    for k in (0, 1):
        c, v = call.args[k], call.args[1 - k]
        if (
            isinstance(v, Value)
            and _is_number(c)
            and v.type.dtype == call.outs[0].type.dtype
            and v.type.kind == "array"
        ):
            return _Scaled(c.item() if isinstance(c, np.floating) else c, v, k)  # the array gives the dtype either way
    return None


def _is_number(c: Any) -> bool:
    return isinstance(c, (int, float, np.floating)) and not isinstance(c, bool) and bool(np.isfinite(c)) and c != 0


def _exact(outer: Any, inner: Any, dtype: Any) -> bool:
    """Whether outer * (inner * x) rounds once, like (outer * inner) * x."""
    fraction, _ = math.frexp(float(inner))
    product = float(outer) * float(inner)
    same_type = (
        type(outer) in (int, float) and type(inner) in (int, float) and abs(product) <= float(np.finfo(dtype).max)
    )
    return same_type and fraction == 0.5 and inner >= 1 and abs(outer) >= 1 and product / float(inner) == float(outer)


def _with(product: Call, place: Call, constant: Any, scaled: _Scaled, out: Value | None = None) -> Call:
    """The multiplication `product` by another constant, standing in the place of a call."""
    args = [scaled.value, scaled.value]
    args[scaled.position] = constant
    outs = place.outs if out is None else (out,)
    return Call(product.op, tuple(args), outs, place.site, place.backward, place.quiet)
