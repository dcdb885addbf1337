"""Constant factors and signs, multiplied with each other before an array; only where no rounding changes.

`a + -b` is `a - b`, `a + a` is `2.0 * a`, `-a * -b` is `a * b`, `-(c * x)` is `-c * x`, and `-a * (c * x)` is
`a * (-c * x)`: a sign is never rounded. `d * (c * x)` is `(d * c) * x` where c is a power of two of at least one and |d| is
at least one: then `c * x` is exact, or both are infinite. So it is where d is such a power and c a whole number. A power of
two goes into the constant of a product or quotient that is known to neither overflow nor lose digits near zero:
`2.0 * (0.5 / x.size)` is `1.0 / x.size`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.infer import fits, infer
from ....runtime.ir.known_ops import (
    ADD,
    BROADCAST_TO,
    DIVIDE,
    EXPAND_DIMS,
    MULTIPLY,
    NEGATIVE,
    SQRT,
    SUBTRACT,
    WHERE,
)
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.control import COUNT, SIZE
from .rewrite import result, rewrite

__all__ = ["scaling"]


class _Scaled(NamedTuple):
    """A multiplication by a constant."""

    constant: Any
    value: Value
    position: int  # of the constant


class _Magnitude(NamedTuple):
    """Between which powers of two all values of a kind lie that are neither zero nor infinite."""

    low: float
    high: float


_DEEPEST = 64  # calls that one magnitude is followed back through
_OF_A_SIZE = _Magnitude(0, 64)  # and of NumPy's ints
_OF_AN_INT = _Magnitude(0, 1000)  # of Python's, which has no largest one
_OF_A_ROOT = _Magnitude(-537, 512)
_NORMAL = {np.dtype(np.float32): _Magnitude(-126, 127), np.dtype(np.float64): _Magnitude(-1022, 1023)}


def scaling(graph: Graph) -> Graph:
    """The graph with constant factors and signs taken together where that is exact."""
    uses: dict[Value, int] = {}
    for v in (v for call in graph.calls for v in call.reads):
        uses[v] = uses.get(v, 0) + 1
    for v in values_in(graph.outputs):
        uses[v] = uses.get(v, 0) + 1
    magnitudes = _Magnitudes()
    maker = magnitudes.maker

    def once(v: Any, op: Op) -> Call | None:
        """The call that made `v`, if it is of that op and nothing else reads `v`."""
        call = maker.get(v) if isinstance(v, Value) and uses.get(v) == 1 else None
        return call if call is not None and call.op.base is op else None

    def step(call: Call) -> Any:
        found = _taken_in(call, magnitudes, once) or _rewritten(call, once)
        if isinstance(found, list) and not all(map(_lies_as_before, found)):
            found = None  # without its own memory a sign of what is one number everywhere leaves the order to other operands
        for made in found if isinstance(found, list) else [call]:
            for out in made.outs:
                maker[out] = made
                uses.setdefault(out, 1)
        return found

    return rewrite(graph, step)


def _lies_as_before(call: Call) -> bool:
    """Whether a call still gives results of the type and layout that its outputs have."""
    inferred = infer(call.op, call.args)
    return inferred is None or all(map(fits, [v.type for v in call.outs], inferred))


def _taken_in(call: Call, magnitudes: _Magnitudes, once: Callable[[Any, Op], Call | None]) -> Any:
    """A power of two times `c * x` or `c / x`, as one product or quotient; and `1.0 / x.size / 2.0` as `0.5 / x.size`."""
    halved = call.op.base is DIVIDE and _is_power_of_two(call.args[1])
    if (halved or call.op.base is NEGATIVE) and call.outs[0].type.dtype in _NORMAL:
        share = magnitudes.share(call.args[0])
        made = None if share is None else _times(1.0 / call.args[1] if halved else -1.0, share, magnitudes)
        if made is not None and result(made.op, made.args, call.outs[0].type).type == call.outs[0].type:
            return [Call(made.op, made.args, call.outs, call.site, call.backward, call.quiet)]
        return None
    if call.op.base is not MULTIPLY or call.outs[0].type.dtype not in _NORMAL:
        return None
    for k in (0, 1):
        power, other = call.args[k], call.args[1 - k]
        inner = once(other, MULTIPLY) or once(other, DIVIDE) or magnitudes.share(other)
        if inner is None or not _is_power_of_two(power) or inner.outs[0].type.dtype != call.outs[0].type.dtype:
            continue
        made = _times(power, inner, magnitudes)
        left = _without_one(made)
        if left is not None and left.type == call.outs[0].type:
            return ("is", (left,))
        if made is not None and result(made.op, made.args, call.outs[0].type).type == call.outs[0].type:
            return [Call(made.op, made.args, call.outs, call.site, call.backward, call.quiet)]
    return None


def _without_one(call: Call | None) -> Value | None:
    """Return the operand of a product with one."""
    if call is None or call.op.base is not MULTIPLY:
        return None
    return next(
        (v for c, v in (call.args, call.args[::-1]) if not isinstance(c, Value) and c == 1 and isinstance(v, Value)),
        None,
    )


def _times(power: float, call: Call, magnitudes: _Magnitudes) -> Call | None:
    """A product or quotient with its constant a power of two as large, where that is exact."""
    here, factor = magnitudes.of(call.outs[0]), math.log2(abs(power))
    normal = _NORMAL[call.outs[0].type.dtype]
    if here is None or not (normal.low <= here.low + min(factor, 0) and here.high + max(factor, 0) <= normal.high):
        return None
    places = (0,) if call.op.base is DIVIDE else (0, 1)
    for k in places:
        if _is_number(call.args[k]):
            args = list(call.args)
            args[k] = type(args[k])(args[k] * power) if isinstance(args[k], np.floating) else args[k] * power
            return call.with_args(tuple(args))
    return None


class _Magnitudes:
    """How great and how small values may be, where that follows from constants, sizes and roots."""

    def __init__(self) -> None:
        self.maker: dict[Value, Call] = {}  # the call behind each value, which the pass tells
        self._known: dict[Value, _Magnitude | None] = {}

    def share(self, v: Any) -> Call | None:
        """The call of a derivative that divides by a size, as a mean's does: it costs no more than a product with its result."""
        call = self.maker.get(v) if isinstance(v, Value) else None
        if call is None or call.op.base is not DIVIDE or not call.backward or not isinstance(call.args[1], Value):
            return None
        size = self.maker.get(call.args[1])
        return call if size is not None and size.op in (COUNT, SIZE) else None

    def of(self, v: Any, depth: int = 0) -> _Magnitude | None:
        """Return the magnitude of a value; None where nothing is known of it, or where it stems from too far away."""
        if not isinstance(v, Value):
            return _Magnitude(*[math.log2(abs(float(v)))] * 2) if _is_number(v) else None
        if v not in self._known:  # each once: of `y * y` of `y * y` there are many ways down
            self._known[v] = self._found(v, depth + 1) if depth < _DEEPEST else None
        return self._known[v]

    def _found(self, v: Value, depth: int) -> _Magnitude | None:
        call = self.maker.get(v)
        if call is not None and call.op in (SIZE, COUNT):
            return _OF_A_SIZE
        if v.type.kind == "python" and v.type.dtype.kind == "i":
            return _OF_AN_INT
        if v.type.dtype.kind in "iu":
            return _OF_A_SIZE
        if call is None:
            return None
        if call.op.base in (BROADCAST_TO, EXPAND_DIMS):
            return self.of(call.args[0], depth)
        if call.op.base is WHERE:
            sides = [self.of(a, depth) for a in call.args[1:] if isinstance(a, Value) or a != 0]
            known = [side for side in sides if side is not None]
            return (
                _Magnitude(min(m.low for m in known), max(m.high for m in known))
                if sides and len(known) == len(sides)
                else None
            )
        if call.op.base is SQRT and v.type.dtype in _NORMAL:
            return _OF_A_ROOT
        if call.op.base not in (MULTIPLY, DIVIDE) or len(call.args) != 2:
            return None
        left = self.of(call.args[0], depth)
        right = None if left is None else self.of(call.args[1], depth)
        if left is None or right is None:
            return None
        if call.op.base is MULTIPLY:
            return _Magnitude(left.low + right.low - 1, left.high + right.high + 1)
        return _Magnitude(left.low - right.high - 1, left.high - right.low + 1)


def _is_power_of_two(c: Any) -> bool:
    return type(c) in (int, float, np.float64, np.float32) and _is_number(c) and math.frexp(abs(float(c)))[0] == 0.5


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
    """`a + -b` and `-b + a` are `a - b`; `a - -b` is `a + b`; `a + a` is `2.0 * a`."""
    left, right = call.args[:2]
    if call.op.infix is None and not any(isinstance(a, Value) and a.type.kind != "python" for a in call.args):
        return None  # np.add gives a NumPy number even of two Python ones
    if call.op.base is ADD and left is right and len(call.args) == 2 and isinstance(left, Value):
        return [Call(require(operator.mul), (2.0, left), call.outs, call.site, call.backward, call.quiet)]
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
            and (v.type.kind == "array" or (v.type.kind == "scalar" and type(c) in (int, float)))
        ):
            return _Scaled(c.item() if isinstance(c, np.floating) else c, v, k)  # the array gives the dtype either way
    return None


def _is_number(c: Any) -> bool:
    return isinstance(c, (int, float, np.floating)) and not isinstance(c, bool) and bool(np.isfinite(c)) and c != 0


def _exact(outer: Any, inner: Any, dtype: Any) -> bool:
    """Whether outer * (inner * x) rounds once, like (outer * inner) * x."""
    product = float(outer) * float(inner)
    if type(outer) not in (int, float) or type(inner) not in (int, float) or abs(product) > float(np.finfo(dtype).max):
        return False
    if not (abs(outer) >= 1 and abs(inner) >= 1 and product / float(inner) == float(outer)):
        return False
    # a whole number times what lies near zero is exact; so is a power of two there, but for what overflows either way
    return (inner >= 1 and _is_power_of_two(inner)) or (_is_power_of_two(outer) and float(inner).is_integer())


def _with(product: Call, place: Call, constant: Any, scaled: _Scaled, out: Value | None = None) -> Call:
    """The multiplication `product` by another constant, standing in the place of a call."""
    args = [scaled.value, scaled.value]
    args[scaled.position] = constant
    outs = place.outs if out is None else (out,)
    return Call(product.op, tuple(args), outs, place.site, place.backward, place.quiet)
