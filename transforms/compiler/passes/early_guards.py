"""Early guards: each stands right behind the value that it tests, so that a call with another outcome is noticed soon."""

from __future__ import annotations

from ....runtime.ir.graph import Graph, Value
from ....runtime.rules.control import GUARD
from ..analysis.effects import stays

__all__ = ["early_guards"]


def early_guards(graph: Graph) -> Graph:
    """The graph with what no guard needs behind the last of them.

    Guards, effects and calls that can raise keep their order. So the paths of one function have the same calls up to the
    guard in which they part: nothing stands there that only one of them needs.
    """
    end = max((k + 1 for k, call in enumerate(graph.calls) if call.op is GUARD), default=0)
    wanted: dict[Value, int] = {}  # the place of the first call that waits for a value
    place = [0] * end
    for k in reversed(range(end)):
        call = graph.calls[k]
        place[k] = k if stays(call) else min([wanted.get(v, end) for v in call.outs])
        for v in call.reads:
            wanted[v] = min(wanted.get(v, end), place[k])
    calls = [graph.calls[k] for k in sorted(range(end), key=place.__getitem__)]
    return Graph(graph.inputs, calls + graph.calls[end:], graph.outputs)
