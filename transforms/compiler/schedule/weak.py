"""Weak numbers: those of a graph that may be Python's own in the text, `1.0 / x.size` for `np.float64(1.0) / x.size`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, values_in
from ....runtime.ir.known_ops import WHERE
from ....runtime.registry import ops_of
from ....runtime.rules.control import COUNT, SIZE

__all__ = ["SPREADING", "is_plain_size", "weak_numbers"]

SPREADING = ops_of(np.broadcast_to, np.expand_dims, np.full)  # of a Python float they make float64
_WEAKLY = frozenset(["+", "-", "*", "/"])


def weak_numbers(graph: Graph) -> set[Value]:
    """float64 numbers computed from constants and Python numbers, where it makes no difference that they are weak.

    It makes none where every use combines them with something that is float64 anyway, or gives another such number,
    and where no division by zero can come up, which raises in Python.
    """
    outputs = set(values_in(graph.outputs))
    makers = {v: call for call in graph.calls for v in call.outs}
    users: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in call.reads:
            users.setdefault(v, []).append(call)
    found: set[Value] = set()

    def strengthened(out: Value, user: Call) -> bool:
        if user.op.base in SPREADING or user.op.stores is not None or user.outs[0] in found:
            return True
        others = [a for a in user.args if isinstance(a, Value) and a is not out and a not in found]
        if user.op.base is WHERE:
            dtypes = [a.type.dtype for a in user.args[1:3] if isinstance(a, Value)]
            return all(dtype == np.float64 for dtype in dtypes) and not any(
                isinstance(a, np.generic) for a in user.args
            )
        return user.op.infix in _WEAKLY and any(_makes_float64(a.type) for a in others)

    for call in reversed(graph.calls):
        out = call.outs[0]
        if out.type.kind != "scalar" or out.type.dtype != np.float64 or call.op.infix not in _WEAKLY or out in outputs:
            continue
        values = [a for a in call.args if isinstance(a, Value)]
        numbers = all(
            v.type.kind == "python" or (v.type.kind == "scalar" and v.type.dtype == np.float64) for v in values
        )
        if not values or not numbers or (call.op.infix == "/" and not _is_size(call.args[1], makers)):
            continue
        if all(strengthened(out, user) for user in users.get(out, [])):
            found.add(out)
    return found


def _makes_float64(type: Type) -> bool:
    """Whether what is combined with a value of this type is float64, be it a Python float: arrays of integers, too."""
    return (type.kind != "python" and type.dtype == np.float64) or (type.kind == "array" and type.dtype.kind in "biu")


def is_plain_size(call: Call, users: list[Call]) -> bool:
    """Whether `1.0 * n` may be written `n`: a size that only meets arrays of float64."""
    if call.op.infix != "*" or not (type(call.args[0]) in (float, np.float64) and call.args[0] == 1):
        return False
    n = call.args[1]
    if not isinstance(n, Value) or n.type.kind != "python" or n.type.dtype.kind != "i":
        return False
    return all(
        user.op.infix in _WEAKLY
        and len(user.args) == 2
        and any(isinstance(a, Value) and a.type.kind == "array" and a.type.dtype == np.float64 for a in user.args)
        for user in users
    )


def _is_size(x: Any, makers: dict[Value, Call]) -> bool:
    """Whether an argument is a number of elements, or a constant, and not zero."""
    if type(x) in (int, float):
        return bool(x != 0)
    maker = makers.get(x) if isinstance(x, Value) else None
    if maker is None or x.type.kind != "python":
        return False
    if maker.op in (COUNT, SIZE):
        return 0 not in maker.args[0].type.shape
    return maker.op.infix == "*" and all(_is_size(a, makers) for a in maker.args)
