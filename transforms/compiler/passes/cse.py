"""Common subexpressions: the same op on the same arguments is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import ADD, MULTIPLY
from ....runtime.ir.opcodes import COND, SCAN, is_effect, is_region
from ....runtime.registry import ops_of
from ....runtime.rules.control import GUARD
from ....runtime.rules.indexing import index_add, index_add_at, index_increase, index_set
from ..analysis.memory import makes_new_memory
from .rewrite import Region, is_number, key_of, rewrite, seen_from_outside

__all__ = ["common_subexpressions"]


_FILLED = ops_of(np.zeros, np.ones, np.full, np.zeros_like, np.ones_like, np.full_like)
_SYMMETRIC = (ADD, MULTIPLY)
_WRITES = ops_of(index_set, index_add, index_add_at, index_increase)


def _written(call: Call) -> Iterator[Value]:
    """What a call would write into, if that were nobody else's: to make another array of one number costs less than a copy."""
    held = call.args[1] if call.op is SCAN else call.args[2] if call.op is COND else call.args[:1]
    return values_in(held) if is_region(call) or call.op.base in _WRITES else iter(())


def _key(call: Call) -> Any:
    """What the same computation has in common: the op and its arguments, in any order where that changes nothing."""
    args, kind = [key_of(a) for a in call.args], call.outs[0].type.dtype.kind if call.outs else ""
    if call.op.base in _SYMMETRIC and len(args) == 2 and kind in "iuf":  # complex products are rounded by their order
        return call.op.base, frozenset(args), call.outs[0].type  # whose layout may follow the first of the two
    return (call.op, *args)


def common_subexpressions(graph: Graph) -> Graph:
    """The graph with repeated calls merged; what the caller sees keeps memory of its own."""
    outside = seen_from_outside(graph, graph.shown if isinstance(graph, Region) else None)
    known: dict[Any, Call] = {}
    written = {v for call in graph.calls for v in _written(call)} | set(values_in(graph.outputs))

    def step(call: Call) -> Any:
        if call.op is GUARD or is_effect(call):
            return None
        if call.op.base in _FILLED and call.outs[0] in written:
            return None
        key = _key(call)
        first = known.setdefault(key, call)
        if first is not call and any(v in outside and not is_number(v) for v in call.outs):
            if not makes_new_memory(call) or any(v in outside for v in first.outs):
                return None
            outside.update(first.outs)  # what others only read becomes the caller's
        if first.quiet and not call.quiet:  # this one may warn, which the user is to see
            known[key] = first = call
        return None if first is call else ("is", first.outs)

    return rewrite(graph, step, regions=True)
