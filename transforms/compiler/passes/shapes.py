"""Shapes are read where a reader would read them: from an argument or a named value, not from a temporary."""

from __future__ import annotations

from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import MULTIPLY
from ....runtime.ir.opcodes import SCAN
from ....runtime.ops import Kind
from ....runtime.registry import require
from ....runtime.rules.control import SIZE, SIZES, count_of
from ..frontend.user_names import name_values
from .rewrite import is_elementwise, rewrite

__all__ = ["shapes"]


def shapes(graph: Graph) -> Graph:
    """`t.shape`, where `t` is elementwise of `x`, becomes `x.shape`; the product of all sizes becomes `x.size`."""
    maker: dict[Value, Call] = {}
    sizes: dict[Value, tuple[Value, frozenset[int]]] = {}  # a product of sizes -> of which value, which axes

    if not any(call.op in SIZES for call in graph.calls):
        return graph
    named = set(name_values(graph, dict.fromkeys(graph.inputs, "")))
    starts = _starts(graph)

    def root(v: Value) -> Value:
        best = v = starts.get(v, v)
        call = maker.get(v)
        while call is not None and (is_elementwise(call) or (call.op.kind is Kind.elementwise and call.op.n_out == 1)):
            like = [a for a in call.reads if a.type.kind == "array" and a.type.shape == call.outs[0].type.shape]
            if not like:
                break
            v = like[0]
            call = maker.get(v)
            if v in named or best not in named:
                best = v
        return best

    def step(call: Call) -> Any:
        for out in call.outs:
            maker[out] = call
        out = call.outs[0]
        if call.op in SIZES and isinstance(call.args[0], Value):
            v = root(call.args[0])
            if call.op is SIZE:
                sizes[out] = (v, frozenset([int(call.args[1])]))
                if len(v.type.shape) == 1:
                    return [_count(call, v)]
            return [call.with_args((v, *call.args[1:]))]
        if call.op.base is MULTIPLY and all(isinstance(a, Value) and a in sizes for a in call.args):
            (v, left), (w, right) = sizes[call.args[0]], sizes[call.args[1]]
            if v is w and not left & right:
                sizes[out] = (v, left | right)
                if len(left | right) == len(v.type.shape):
                    return [_count(call, v)]
        return None

    return rewrite(graph, step)


def _starts(graph: Graph) -> dict[Value, Value]:
    """Of loops of which nobody asks more than shapes: for what they leave, what it starts from, which has the same."""
    asked = {v for call in graph.calls if call.op not in SIZES for v in call.reads} | set(values_in(graph.outputs))
    found: dict[Value, Value] = {}
    for call in graph.calls:
        if call.op is SCAN and asked.isdisjoint(call.outs):
            for start, out in zip(call.args[1], call.outs, strict=False):
                if isinstance(start, Value) and start.type.shape == out.type.shape:
                    found[out] = start
    return found


def _count(call: Call, v: Value) -> Call:
    return Call(require(count_of), (v,), call.outs, call.site, call.backward, call.quiet)
