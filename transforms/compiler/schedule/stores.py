"""Writes into arguments as the last calls of a graph: `x[...] = new`, or `x[0] = v` where nothing reads `x` any more.

In a captured graph such a write is one more output, the value that the array has in the end. So all that can fail, guards and
errors, comes before the first write.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, values_in
from ....runtime.memory import NEW
from ....runtime.ops import Kind, Op
from ....runtime.registry import require
from ....runtime.rules.control import GUARD
from ....runtime.rules.indexing import index_set
from ..analysis.effects import stays
from ..analysis.memory import shares_with
from ..passes.rewrite import rewrite
from .signature import Signature

__all__ = ["STORE", "section_of", "stored_late", "with_stores", "written_early"]

INDEX_SET = require(index_set)


def _store_into(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value` in an array of the caller's."""
    x[index] = value


STORE = Op(_store_into, "x, index, value", Kind.opaque, path="store", may_raise=True, effect=True, memory=NEW)


def section_of(call: Call) -> str:
    """Return the section that a call stands in: "forward", "backward", "tangents" or "writes"."""
    if call.op is STORE:
        return "writes"
    return call.backward if isinstance(call.backward, str) else "backward" if call.backward else "forward"


def with_stores(graph: Graph, signature: Signature, wishes: dict[Value, str]) -> Graph:
    """The graph as the text has it: without the outputs that are written into arguments, with calls that write them.

    What is made only to be written loses its name among `wishes`: it has that of the argument.
    """
    if not signature.writes:
        return graph
    graph = _whole(graph, signature, wishes)
    results = graph.outputs[: len(graph.outputs) - len(signature.writes)]
    news = graph.outputs[len(results) :]
    maker = {v: call for call in graph.calls for v in call.outs}
    uses: dict[Value, int] = {}
    for v in (*[v for call in graph.calls for v in call.reads], *values_in(graph.outputs)):
        uses[v] = uses.get(v, 0) + 1
    stores: list[Call] = []
    gone: set[Call] = set()
    for x, new in zip(signature.writes, news, strict=True):
        chain = _chain(x, new, maker, uses)
        gone.update(chain)
        site = maker[new].site if isinstance(new, Value) and new in maker else None
        if chain:
            stores += [_store(x, call.args[1], call.args[2], call.site) for call in chain]
        elif new is not x:
            if isinstance(new, Value) and uses[new] == 1:
                wishes.pop(new, None)
            stores.append(_store(x, ..., new, site))
    calls = [call for call in graph.calls if call not in gone]
    if len(stores) > 1:
        stores = _apart(calls, stores, set(signature.writes))
    return Graph(graph.inputs, calls + stores, results)


def _whole(graph: Graph, signature: Signature, wishes: dict[Value, str]) -> Graph:
    """The graph in which what is written over all of an argument stands for it: `x[:] = y` is `y`, where both are alike."""
    results = set(values_in(graph.outputs[: len(graph.outputs) - len(signature.writes)]))

    def step(call: Call) -> Any:
        if call.op is not INDEX_SET or call.outs[0] in results:
            return None
        x, index, value = call.args
        everything = index is ... or (isinstance(index, slice) and index == slice(None))
        if x not in signature.writes or not everything or not isinstance(value, Value) or value.type != x.type:
            return None
        if call.outs[0] in wishes:
            wishes.setdefault(value, wishes[call.outs[0]])
        return "is", (value,)

    return rewrite(graph, step)


def stored_late(graph: Graph) -> set[Value]:
    """What is written into an argument behind another write: it is computed before that."""
    stores = [call for call in graph.calls if call.op is STORE]
    return {v for call in stores[1:] for v in values_in(call.args[2])}


def written_early(graph: Graph) -> set[Value]:
    """The arguments that may be written where the user writes them: nothing behind that can fail, nor be a guard."""
    found = {call.args[0] for call in graph.calls if call.op is STORE}
    if any(stays(call) and call.op is not STORE and call.op is not GUARD for call in graph.calls):
        return set()
    last = max((k for k, call in enumerate(graph.calls) if call.op is GUARD), default=0)
    return found - {call.outs[0].over for call in graph.calls[:last]}


def _store(x: Value, index: Any, value: Any, site: Any) -> Call:
    return Call(STORE, (x, index, value), (Value(Type("python", np.dtype(object), (), ())),), site)


def _chain(x: Value, new: Any, maker: dict[Value, Call], uses: dict[Value, int]) -> list[Call]:
    """The writes at known places that lead from `x` to `new`, if nobody reads what stands there in between."""
    found: list[Call] = []
    while new is not x:
        call = maker.get(new) if isinstance(new, Value) else None
        if call is None or call.op is not INDEX_SET or uses[new] != 1 or not _cannot_fail(call):
            return []
        found.insert(0, call)
        new = call.args[0]
    return found


def _cannot_fail(call: Call) -> bool:
    """Whether a write at a place that the text names raises nothing and warns of nothing: its value has the dtype."""
    _, index, value = call.args
    dtype = call.outs[0].type.dtype
    if any(True for _ in values_in(index)):
        return False
    if isinstance(value, Value):
        return bool(value.type.dtype == dtype) and value.type.kind != "python"
    return type(value) in (bool, int, float) and dtype == np.float64


def _apart(calls: list[Call], stores: list[Call], written: set[Value]) -> list[Call]:
    """Several writes, each of a value that no earlier one of them changes."""
    shown = set(written)
    for call in calls:
        if not shown.isdisjoint(shares_with(call)):
            shown.update(call.outs)
    made: list[Call] = []
    copies: list[Call] = []
    for call in stores:
        x, index, value = call.args
        if isinstance(value, Value) and value in shown and value.type.kind == "array":
            copy = Value(value.type)
            copies.append(Call(require(np.copy), require(np.copy).bind(value), (copy,), call.site))
            value = copy
        made.append(_store(x, index, value, call.site))
    return copies + made
