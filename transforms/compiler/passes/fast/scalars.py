"""Functions of one float64 number come from `math`, which is four times as fast on one number.

| written                           | computed                            | where                                          |
|-----------------------------------|-------------------------------------|------------------------------------------------|
| `np.tanh(x)`                      | `math.tanh(x)`                      | `x` is a float64 number, and every use of the  |
| `np.arctan(x)`, `np.arcsinh(x)`   | `math.atan(x)`, `math.asinh(x)`     | result adds, subtracts, multiplies or divides  |
|                                   |                                     | it with something that is float64 by itself,   |
|                                   |                                     | since `math` gives a Python number             |

These take every number, infinities and NaN among them, and raise nothing. `math.exp`, `log`, `sqrt`, `sin` and `pow` are
left out: they raise where NumPy gives an infinity or NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value, values_in
from .....runtime.ir.known_ops import ADD, DIVIDE, FLOAT, MULTIPLY, SUBTRACT
from .....runtime.ops import Kind, Op
from .....runtime.registry import require
from .support import Walk

__all__ = ["scalars"]


def _op(fn: Any) -> Op:
    return Op(fn, "x", Kind.elementwise, path=f"math.{fn.__name__}")


_MATH = {
    require(np.tanh): _op(math.tanh), require(np.arctan): _op(math.atan), require(np.arcsinh): _op(math.asinh),
}  # fmt: skip
_ARITHMETIC = frozenset([ADD, SUBTRACT, MULTIPLY, DIVIDE])


def scalars(graph: Graph) -> Graph:
    """The graph with functions of one number from `math`, where they cannot raise and the result may be weak."""
    walk = Walk(graph)
    users: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in call.reads:
            users.setdefault(v, []).append(call)
    kept = set(values_in(graph.outputs))
    weak: dict[Value, Value] = {}  # NumPy's number -> Python's

    def strong(user: Call) -> bool:
        """Whether another operand makes the result NumPy's float64."""
        others = [a for a in user.reads if a not in weak and a.type.kind != "python" and a.type.dtype == np.float64]
        return user.op.base in _ARITHMETIC and len(user.args) == 2 and bool(others)

    for call in graph.calls:
        out = call.outs[0]
        if call.op.base in _MATH and _is_number(call.args[0]) and out.type[:3] == ("scalar", np.float64, ()):
            weak[out] = Value(out.type._replace(kind="python"))
            readers = users.get(out, [])
            if out in kept or out in walk.guarded or not all(u.op is FLOAT or strong(u) for u in readers):
                del weak[out]

    def step(call: Call) -> Any:
        out = call.outs[0]
        if out in weak:
            weak[out].cotangent_of, weak[out].sites = out.cotangent_of, out.sites
            return [Call(_MATH[call.op.base], call.args, (weak[out],), call.site, call.backward, call.quiet)]
        if call.op is FLOAT and call.args[0] in weak:
            return ("is", (weak[call.args[0]],))
        args = tuple([weak.get(a, a) if isinstance(a, Value) else a for a in call.args])
        return None if not any(a in weak for a in call.reads) else [call.with_args(args)]

    return walk.over(graph, step)


def _is_number(x: Any) -> bool:
    return isinstance(x, Value) and x.type.kind in ("scalar", "python") and x.type.dtype == np.float64
