"""Dead code: a call whose results nobody reads goes, unless it can raise by itself."""

from __future__ import annotations

from typing import Any

from ....runtime.ir import Call, Graph, Value, values_in

__all__ = ["dead_code"]


def dead_code(graph: Graph) -> Graph:
    """The graph without calls that no output, guard or raising op depends on."""
    live: set[Value] = set(values_in(graph.outputs))
    kept: list[Call] = []
    for call in reversed(graph.calls):
        if call.op.may_raise or _finds_by_value(call) or any(v in live for v in call.outs):
            kept.append(call)
            live.update(call.reads)
    return Graph(graph.inputs, kept[::-1], graph.outputs)


def _finds_by_value(call: Call) -> bool:
    """Whether a call looks elements up at traced positions, which can be out of range."""
    if call.op.path not in ("operator.getitem", "np.take", "np.take_along_axis"):
        return False
    where: Any = call.args[1]
    parts = where if type(where) is tuple else (where,)  # slices may end anywhere
    return any(v.type.dtype.kind in "iu" for part in parts if not isinstance(part, slice) for v in values_in(part))
