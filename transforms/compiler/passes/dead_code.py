"""Dead code: a call whose results nobody reads goes, unless it can raise by itself."""

from __future__ import annotations

from ....runtime.ir import Call, Graph, Value, values_in

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """The graph without calls that no output, guard or raising op depends on."""
    live: set[Value] = set(values_in(graph.outputs))
    kept: list[Call] = []
    for call in reversed(graph.calls):
        if call.op.may_raise or any(v in live for v in call.outs):
            kept.append(call)
            live.update(call.reads)
    return Graph(graph.inputs, kept[::-1], graph.outputs)
