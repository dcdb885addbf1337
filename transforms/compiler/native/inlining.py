"""Inlining: the calls of outlined functions in their place, since C's compiler decides what is a function."""

from __future__ import annotations

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.ir.opcodes import copied, function_of, is_region, regions_of, with_regions
from ..passes.scans import like

__all__ = ["inlined"]


def inlined(graph: Graph) -> Graph:
    """Return the graph in which no call is one of an outlined function, where the results of those are computed in them."""
    calls: list[Call] = []
    changed = False
    for call in graph.calls:
        made = _within(call)
        changed = changed or made != [call]
        calls += made
    return Graph(graph.inputs, calls, graph.outputs) if changed else graph


def _within(call: Call) -> list[Call]:
    if is_region(call):
        old = regions_of(call)
        new = list(map(inlined, old))
        return [call] if all(a is b for a, b in zip(old, new, strict=True)) else [with_regions(call, new)]
    function = function_of(call)
    if function is None:
        return [call]
    body = inlined(function.graph)
    computed = {v for inner in body.calls for v in inner.outs}
    results = body.outputs
    if len(set(map(id, results))) < len(results) or not all(isinstance(v, Value) and v in computed for v in results):
        return [call]
    known = dict(zip(body.inputs, call.args, strict=True)) | dict(zip(results, call.outs, strict=True))

    def value(v: Value) -> Value:
        if v not in known:
            known[v] = like(v)
        return known[v]  # type: ignore[no-any-return]  # a constant stands only among arguments

    made = []
    for inner in body.calls:
        parts = [copied(region, value) for region in regions_of(inner)]
        args = tuple([map_values(a, value) for a in with_regions(inner, parts).args])
        quiet = inner.quiet or call.quiet
        made.append(
            Call(inner.op, args, tuple(map(value, inner.outs)), inner.site, inner.backward or call.backward, quiet)
        )
    return made
