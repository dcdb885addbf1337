"""Dead code: calls whose results nobody reads are dropped, unless they can raise by themselves or have an effect.

Of a loop goes what it carries, stacks or is given and nobody reads; of a branch, results and operands.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.opcodes import SCAN, Branch, is_effect, is_region
from ....runtime.registry import ops_of
from ....runtime.rules.indexing import index_increase
from ..analysis.effects import divides_by_a_number, stays
from ..analysis.ranges import Ranges
from .rewrite import key_of
from .scans import Scan

__all__ = ["dead_code", "stays"]

_LOOK_UPS = ops_of(operator.getitem, index_increase)


def dead_code(graph: Graph) -> Graph:
    """The graph without calls that no output, guard, effect or raising op depends on."""
    return _live_part(graph, Ranges(graph) if any(map(is_region, graph.calls)) else None)


def _live_part(graph: Graph, ranges: Ranges | None) -> Graph:
    live: set[Value] = set(values_in(graph.outputs))
    kept: list[Call] = []
    looked_up: set[Any] = set()  # what is looked up further down, before the next effect, and raises there
    for call in reversed(graph.calls):
        place = tuple(map(key_of, call.args[:2])) if call.op.base in _LOOK_UPS else None
        raises = divides_by_a_number(call) or (stays(call, ranges) and (place is None or place not in looked_up))
        if raises or any(v in live for v in call.outs):
            if is_effect(call):
                looked_up.clear()
            elif place is not None:
                looked_up.add(place)
            if ranges is not None and is_region(call):
                call = _narrow_scan(call, live, ranges) if call.op is SCAN else _narrow_cond(call, live, ranges)
            kept.append(call)
            live.update(call.reads)
    return Graph(graph.inputs, kept[::-1], graph.outputs)


def _narrow_scan(call: Call, live: Collection[Value], ranges: Ranges) -> Call:
    """The loop with what is read of it, or what that needs: a carried value may need another for its next trip."""
    scan = Scan(call)
    inner = ranges.within(call, scan.loop.body)
    scan.ys = [y for y in scan.ys if y.out in live]
    asked: set[Value] = set()
    if scan.test is not None:
        scan.test = _live_part(scan.test, ranges.within(call, scan.test))
        asked = _read(scan.test)
    everything, count = scan.carry, -1
    scan.carry = [c for c in everything if c.out in live or c.asked in asked]
    calls, read = scan.calls, set[Value]()
    while len(scan.carry) > count:
        count = len(scan.carry)
        body = _live_part(Graph([], calls, scan.body.outputs), inner)
        scan.calls, read = body.calls, _read(body)
        scan.carry = [c for c in everything if c in scan.carry or c.param in read]
    needs_xs = scan.n is None and scan.test is None
    scan.xs = [x for x in scan.xs if x.param in read] or scan.xs[: int(needs_xs)]
    scan.inv = [v for v in scan.inv if v.param in read or v.asked in asked]
    return scan.made()


def _narrow_cond(call: Call, live: Collection[Value], ranges: Ranges) -> Call:
    """The branches with what is read of them; one result stays, of nothing, where they are kept for what may raise."""
    branch, pred, ins = call.args
    outs = [k for k, out in enumerate(call.outs) if out in live]
    found = [
        _live_part(Graph(part.inputs, part.calls, [part.outputs[k] for k in outs]), ranges.within(call, part))
        for part in branch
    ]
    read = set[Value]().union(*map(_read, found))
    used = [k for k in range(len(ins)) if any(part.inputs[k] in read for part in branch)]
    parts = [Graph([g.inputs[k] for k in used], g.calls, g.outputs if outs else [None]) for g in found]
    kept: Any = [call.outs[k] for k in outs] or call.outs[:1]
    args = (Branch(*parts), pred, tuple([ins[k] for k in used]))
    return Call(call.op, args, tuple(kept), call.site, call.backward, call.quiet)


def _read(graph: Graph) -> set[Value]:
    """Return the values that the calls of a graph read, and its outputs."""
    return {v for call in graph.calls for v in call.reads} | set(values_in(graph.outputs))
