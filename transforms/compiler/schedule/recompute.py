"""Recomputation: what the forward part would keep for a loop of the backward part is computed there again, where cheap.

Sums and products of arguments, or of what the loop reads anyway, take about as long over a tile as to load them: a little
longer where memory is at hand, less where it is fresh. Quotients, `np.exp` and its like take longer, and are kept.
The bits stay: such an operation is rounded as IEEE 754 says, wherever it runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ....runtime.ir.graph import Call, Graph, Value, map_values, values_in
from ..analysis.memory import makes_new_memory

__all__ = ["recomputed"]

SMALL = 1 << 16  # bytes of an array that it costs nothing to keep
MOST = 2  # calls in place of one array
_CHEAP = frozenset(["+", "-", "*", "<", "<=", ">", ">=", "==", "!="])


def recomputed(
    graph: Graph, loop: list[Call], large: Collection[Call], names: dict[Value, str]
) -> tuple[Graph, list[Call]]:
    """The graph in which `loop` computes anew what is cheap and nothing else keeps, and the loop with those calls.

    `large` are the calls element by element on large arrays. What is computed anew has the same name among `names`.
    """
    again = _recipes(graph, loop, large) if all(call.quiet for call in loop) else {}
    if not again:
        return graph, loop
    inside = set(loop)
    anew: dict[Value, Value] = {}
    calls: list[Call] = []
    longer: list[Call] = []

    def now(v: Value) -> Value:
        return anew.get(v, v)

    for call in graph.calls:
        if call not in inside:
            calls.append(call)
            continue
        for first in (first for v in call.reads for first in again.get(v, ())):
            (out,) = first.outs
            if out in anew:
                continue
            args = tuple([map_values(a, now) for a in first.args])
            anew[out] = Value(out.type)
            if out in names:
                names[anew[out]] = names[out]
            longer.append(Call(first.op, args, (anew[out],), first.site, call.backward, call.quiet))
            calls.append(longer[-1])
        longer.append(call.with_args(tuple([map_values(a, now) for a in call.args])))
        calls.append(longer[-1])
    return Graph(graph.inputs, calls, graph.outputs), longer


def _recipes(graph: Graph, loop: list[Call], large: Collection[Call]) -> dict[Value, list[Call]]:
    """For each array that a loop need not be given: the calls that make it of what there is in any case."""
    inside, shape = set(loop), loop[0].outs[0].type.shape
    maker = {v: call for call in graph.calls for v in call.outs}
    readers: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in call.reads:
            readers.setdefault(v, []).append(call)
    given = {v for call in loop for v in call.reads if maker.get(v) not in inside}
    outputs = set(values_in(graph.outputs))
    found: dict[Value, list[Call]] = {}
    shared: set[Call] = set()  # by the recipes that are found

    def is_kept(v: Value) -> bool:
        others = [call for call in readers[v] if call not in inside]
        return v in outputs or any(call.quiet or not makes_new_memory(call) for call in others)

    def collect(v: Value, recipe: dict[Call, None]) -> bool:
        """Whether a value is there in any case, or follows from such with the calls of `recipe`."""
        call = maker.get(v)
        if call is None or math.prod(v.type.shape) * v.type.dtype.itemsize < SMALL:
            return True
        if v in given and v not in found and v is not wanted:
            return True
        squared = call.op.infix == "**" and type(call.args[1]) is int and call.args[1] == 2
        if call not in large or v.type.shape != shape or not (squared or call.op.infix in _CHEAP):
            return False
        if call not in recipe:
            if not all(collect(u, recipe) for u in call.reads):
                return False
            recipe[call] = None
        return len(recipe.keys() - shared) <= MOST

    for call in graph.calls:
        for wanted in call.outs:
            recipe: dict[Call, None] = {}
            if wanted in given and not call.quiet and not is_kept(wanted) and collect(wanted, recipe):
                found[wanted] = list(recipe)
                shared.update(recipe)
    return found
