"""Helpers of the fast passes: a walk that leaves alone what a guard depends on, new calls, and who reads a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Type, Value, values_in
from .....runtime.registry import require
from .....runtime.rules.control import GUARD
from ..regions import decides
from ..rewrite import result, rewrite

__all__ = ["Walk", "decided", "is_real", "made", "number"]


class Walk:
    """Facts about the graph that a step walks: the call that makes a value, and how often the value is read."""

    def __init__(self, graph: Graph) -> None:
        self.maker: dict[Value, Call] = {v: call for call in graph.calls for v in call.outs}
        self.uses: dict[Value, int] = {}
        for v in [v for call in graph.calls for v in call.reads] + list(values_in(graph.outputs)):
            self.uses[v] = self.uses.get(v, 0) + 1
        self.guarded = _guarded(graph)

    def over(self, graph: Graph, step: Callable[[Call], Any]) -> Graph:
        """`step` applied to each call that no guard, test or condition depends on: which branch is taken stays eager's choice."""

        def known(call: Call) -> Any:
            found = None if self.guarded.intersection(call.outs) else step(call)
            for new in found if isinstance(found, list) else [call]:
                self.maker.update(dict.fromkeys(new.outs, new))
                for out in new.outs:
                    self.uses.setdefault(out, 1)
            return found

        return rewrite(graph, known)

    def once(self, v: Any) -> Call | None:
        """The call that made `v`, if nothing else reads `v` and no guard depends on it."""
        return self.maker.get(v) if isinstance(v, Value) and self.uses.get(v) == 1 and v not in self.guarded else None


def decided(graph: Graph) -> list[Call]:
    """The loops and branches whose values decide what runs, in them or behind them: they stay as eager has them."""
    guarded = _guarded(graph)
    return [call for call in graph.calls if decides(call) or not guarded.isdisjoint(call.outs)]


def _guarded(graph: Graph) -> set[Value]:
    found: set[Value] = set()
    for call in reversed(graph.calls):
        if call.op is GUARD or decides(call) or found.intersection(call.outs):
            found.update(call.reads)
    return found


def made(like: Call, fn: Callable[..., Any], *args: Any, out: Value | None = None, type: Type | None = None) -> Call:
    """The call of `fn` in the place of another: with its result, `out`, or a new one; `type` has what infer leaves open."""
    op = require(fn)
    bound = op.bind(*args)
    value = out if out is not None else like.outs[0] if type is None else result(op, bound, type)
    return Call(op, bound, (value,), like.site, like.backward, like.quiet)


def is_real(x: Any) -> bool:
    """Whether `x` is a traced float32 or float64 of NumPy's own."""
    return isinstance(x, Value) and x.type.kind != "python" and x.type.dtype in (np.float32, np.float64)


def number(x: Any) -> float | None:
    """A finite constant that takes the dtype of the array it meets."""
    return float(x) if type(x) in (int, float) and abs(x) < 1e300 else None
