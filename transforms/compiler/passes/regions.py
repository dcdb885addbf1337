"""Passes within loops and branches: each runs in the regions of a graph, innermost first, and then on the graph itself."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.opcodes import SCAN, Branch, is_region, regions_of
from .rewrite import Region, seen_from_outside
from .scans import unchanged

__all__ = ["decides", "everywhere"]


def everywhere(
    run: Callable[[Graph], Graph], but: Callable[[Graph], Collection[Call]] | None = None
) -> Callable[[Graph], Graph]:
    """A pass that runs within the regions of a graph, too, except for those of the calls that `but` names."""

    def over(graph: Graph) -> Graph:
        if not any(map(is_region, graph.calls)):
            return run(graph)
        shown = graph.shown if isinstance(graph, Region) else list(values_in(graph.outputs))
        outside = seen_from_outside(graph, shown)
        barred = () if but is None else but(graph)
        calls = [within(call, outside) if is_region(call) and call not in barred else call for call in graph.calls]
        made = Region(graph.inputs, calls, graph.outputs)
        made.shown = shown
        return run(made)

    def within(call: Call, outside: set[Value]) -> Call:
        old = regions_of(call)
        plain = [unchanged(over(_shown(region, call, outside)), region) for region in old]
        if all(a is b for a, b in zip(plain, old, strict=True)):
            return call
        plain = [Graph(g.inputs, g.calls, g.outputs) if isinstance(g, Region) else g for g in plain]
        if call.op is not SCAN:
            return call.with_args((Branch(*plain), *call.args[1:]))
        loop = call.args[0]._replace(body=plain[-1], test=plain[0] if len(plain) > 1 else None)
        return call.with_args((loop, *call.args[1:]))

    return over


def _shown(region: Graph, call: Call, outside: set[Value]) -> Region:
    """A region that knows which of its outputs are seen from outside of the whole graph; a test shows nothing.

    What one carried value is now another may be after the next trip, so all of them are seen where one is.
    """
    made = Region(region.inputs, region.calls, region.outputs)
    seen = [out in outside for out in call.outs]
    if call.op is SCAN:
        k = len(call.args[1])
        seen[:k] = [any(seen[:k])] * k
        if region is call.args[0].test:
            seen = []
    made.shown = [v for v, is_seen in zip(region.outputs, seen, strict=False) if is_seen and isinstance(v, Value)]
    return made


def decides(call: Call) -> bool:
    """Whether a call chooses by a value what it runs, or how often, or holds one that does."""
    if not is_region(call):
        return False
    own = call.op is not SCAN or call.args[0].test is not None
    return own or any(decides(inner) for region in regions_of(call) for inner in region.calls)
