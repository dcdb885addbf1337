"""Dead code: a call whose results nobody reads goes, unless it can raise by itself or has an effect."""

from __future__ import annotations

from ....runtime.ir import Call, Graph, Value, values_in
from ..effects import stays

__all__ = ["dead_code", "stays"]


def dead_code(graph: Graph) -> Graph:
    """The graph without calls that no output, guard, effect or raising op depends on."""
    live: set[Value] = set(values_in(graph.outputs))
    kept: list[Call] = []
    for call in reversed(graph.calls):
        if stays(call) or any(v in live for v in call.outs):
            kept.append(call)
            live.update(call.reads)
    return Graph(graph.inputs, kept[::-1], graph.outputs)
