"""Divisors that are one where they would be zero, as the gradient of a norm has them, taken as they are where that is the same.

`d * (x / np.where(n == 0, 1, n))` is `d * (x / n)` where `d` has itself been divided by n, by a product with it, or by a power of
it: at n = 0 it is infinite or NaN, and so are both products, to the same sign. `x` is a vector whose norm is n, so that it
is 0 there but for what is too small to be squared. The quotient is then often one that the forward part has.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import ADD, DIVIDE, MULTIPLY, NEGATIVE, POWER, SQUEEZE, SUBTRACT, WHERE
from ....runtime.registry import require
from .rewrite import adds_axes, rewrite

__all__ = ["guarded_divisors"]

_EQUAL, _NORMS = require(np.equal), (require(np.linalg.norm), require(np.linalg.vector_norm))


def guarded_divisors(graph: Graph) -> Graph:
    """The graph whose quotients are by norms as they are, where their cotangents tell of a norm of zero already."""
    maker = {v: call for call in graph.calls for v in call.outs}
    readers: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in call.reads:
            readers.setdefault(v, []).append(call)
    given_back = set(values_in(graph.outputs))
    divided = {(call.args[0], _root(n, maker), _shape(n)): n for call, n in _quotients(graph)}

    def step(call: Call) -> list[Call] | None:
        out = call.outs[0]
        if not call.backward or call.op.base is not DIVIDE or out.type.dtype.kind != "f" or out in given_back:
            return None
        n = _guarded(call.args[1], maker)
        if n is None or not _is_norm(n, maker):
            return None
        for reader in readers.get(out, ()):
            if reader.op.base is not MULTIPLY:
                return None
            others = [x for x in reader.args[:2] if x is not out]
            if len(others) != 1 or not isinstance(others[0], Value) or _shape(others[0]) != _shape(n):
                return None
            if not _tells(others[0], _root(n, maker), maker):
                return None
        n = divided.get((call.args[0], _root(n, maker), _shape(n)), n)  # as the forward part has it, to be shared
        return [call.with_args((call.args[0], n, *call.args[2:]))]

    return rewrite(graph, step)


def _quotients(graph: Graph) -> Iterator[tuple[Call, Value]]:
    """The divisions by an array, each with it."""
    for call in graph.calls:
        if call.op.base is DIVIDE and isinstance(call.args[0], Value) and isinstance(call.args[1], Value):
            yield call, call.args[1]


def _guarded(divisor: Any, maker: dict[Value, Call]) -> Value | None:
    """What a divisor is where it is not zero: `n` of `np.where(n == 0, 1, n)`."""
    made = maker.get(divisor) if isinstance(divisor, Value) else None
    if made is None or made.op.base is not WHERE or isinstance(made.args[1], Value) or made.args[1] != 1:
        return None
    test, n = maker.get(made.args[0]), made.args[2]
    if test is None or test.op.base is not _EQUAL or test.args[0] is not n or isinstance(test.args[1], Value):
        return None
    same = isinstance(n, Value) and (n.type.dtype, n.type.shape) == (divisor.type.dtype, divisor.type.shape)
    return n if same and test.args[1] == 0 else None


def _root(x: Any, maker: dict[Value, Call]) -> Any:
    """The value whose axes alone are others in this one."""
    while isinstance(x, Value) and x in maker and (maker[x].op.base is SQUEEZE or adds_axes(maker[x])):
        x = maker[x].args[0]
    return x


def _is_norm(n: Value, maker: dict[Value, Call]) -> bool:
    made = maker.get(_root(n, maker))
    return made is not None and made.op.base in _NORMS


def _tells(x: Any, n: Any, maker: dict[Value, Call]) -> bool:
    """Whether `x` is infinite or NaN wherever `n` is zero; all between them have its elements in its order."""
    made = maker.get(_root(x, maker))
    if made is None or _long_axes(made.outs[0]) != _long_axes(n):
        return False
    if made.op.base is DIVIDE:
        return _vanishes(made.args[1], n, maker) or _tells(made.args[0], n, maker)
    if made.op.base is NEGATIVE:
        return _tells(made.args[0], n, maker)
    return made.op.base in (ADD, SUBTRACT, MULTIPLY) and any(_tells(arg, n, maker) for arg in made.args[:2])


def _vanishes(divisor: Any, n: Any, maker: dict[Value, Call]) -> bool:
    """Whether a divisor is zero, or NaN, wherever `n` is zero."""
    divisor = _root(divisor, maker)
    made = maker.get(divisor) if divisor is not n else None
    if made is None or _long_axes(made.outs[0]) != _long_axes(n):
        return divisor is n
    if made.op.base is POWER:
        return _is_positive(made.args[1]) and _vanishes(made.args[0], n, maker)
    return made.op.base is MULTIPLY and any(_vanishes(arg, n, maker) for arg in made.args[:2])


def _shape(x: Value) -> tuple[int, ...]:
    """The shape without the axes of length 1 in front, which broadcasting adds."""
    return tuple(itertools.dropwhile((1).__eq__, x.type.shape))


def _long_axes(x: Value) -> list[int]:
    return [length for length in x.type.shape if length != 1]


def _is_positive(power: Any) -> bool:
    return isinstance(power, (int, float)) and power > 0
