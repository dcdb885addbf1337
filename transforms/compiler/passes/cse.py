"""Common subexpressions: the same op on the same arguments is computed once."""

from __future__ import annotations

from typing import Any

from ....runtime.ir.graph import Call, Graph
from ....runtime.ir.opcodes import is_effect
from ....runtime.rules.control import GUARD
from ..analysis.memory import makes_new_memory
from .rewrite import Region, is_number, key_of, rewrite, seen_from_outside

__all__ = ["common_subexpressions"]


def common_subexpressions(graph: Graph) -> Graph:
    """The graph with repeated calls merged; what the caller sees keeps memory of its own."""
    outside = seen_from_outside(graph, graph.shown if isinstance(graph, Region) else None)
    known: dict[Any, Call] = {}

    def step(call: Call) -> Any:
        if call.op is GUARD or is_effect(call):
            return None
        key = (call.op, *[key_of(a) for a in call.args])
        first = known.setdefault(key, call)
        if first is not call and any(v in outside and not is_number(v) for v in call.outs):
            if not makes_new_memory(call) or any(v in outside for v in first.outs):
                return None
            outside.update(first.outs)  # what others only read becomes the caller's
        if first.quiet and not call.quiet:  # this one may warn, which the user is to see
            known[key] = first = call
        return None if first is call else ("is", first.outs)

    return rewrite(graph, step, regions=True)
