"""Powers by multiplication.

| written               | computed                              | where                                                 |
|-----------------------|---------------------------------------|-------------------------------------------------------|
| `x ** 3` to `x ** 8`  | squares and products, `x**2 * x`      | always                                                |
| `x ** -2` to `x ** -8`| the same of `1 / x`                   | always                                                |
| `np.power(x, -1)`     | `1 / x`                               | always                                                |
| `x ** 1.5`            | `x * np.sqrt(x)`                      | `x` is known to be 0 or more: of -inf the square root |
|                       |                                       | is NaN, the power infinite                            |
| `x ** -0.5`           | `1 / np.sqrt(x)`                      | `x` is known to be more than 0: of -0.0 it is -inf    |

`x` is float32 or float64. A product of this length overflows wherever the power does, to the last float before
infinity (`test_fastmath.py` looks), because the smaller products are exact or grow with it; `1 / x` comes first for
negative powers, so that no intermediate overflows where the power is a number. It is at most a few last digits off.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value
from .....runtime.ir.known_ops import POWER
from .ranges import bounds
from .support import Walk, is_real, made

__all__ = ["powers"]


def powers(graph: Graph) -> Graph:
    """The graph with small constant powers as products, reciprocals and square roots."""
    walk = Walk(graph)

    def step(call: Call) -> Any:
        if call.op.base is not POWER:
            return None
        x, n = call.args[:2]
        if not is_real(x) or x.type.dtype != call.outs[0].type.dtype or type(n) not in (int, float):
            return None
        calls: list[Call] = []

        def add(fn: Any, *args: Any) -> Value:
            calls.append(made(call, fn, *args, type=call.outs[0].type))
            return calls[-1].outs[0]

        if n in (-1, *range(3, 9), *range(-8, -1)) and not (n == -1 and call.op.infix):
            _product(add(operator.truediv, 1, x) if n < 0 else x, abs(int(n)), add)
        elif n == 1.5 and bounds(x, walk).low >= 0:
            add(operator.mul, x, add(np.sqrt, x))
        elif n == -0.5 and bounds(x, walk).low > 0:
            add(operator.truediv, 1, add(np.sqrt, x))
        else:
            return None
        last = calls.pop()
        return [*calls, Call(last.op, last.args, call.outs, call.site, call.backward, call.quiet)]

    return walk.over(graph, step)


def _product(x: Value, n: int, add: Any) -> Value:
    """The calls for `x ** n`."""
    if n == 1:
        return x
    if n % 2:
        return add(operator.mul, _product(x, n - 1, add), x)  # type: ignore[no-any-return]
    root = _product(x, n // 2, add)
    if root.type.kind == "array":
        return add(operator.pow, root, 2)  # type: ignore[no-any-return]  # NumPy squares
    return add(operator.mul, root, root)  # type: ignore[no-any-return]
