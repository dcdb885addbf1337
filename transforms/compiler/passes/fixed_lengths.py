"""Fixed lengths: where the user's code takes a vector apart (`a, b, c = x`), its cotangent is one array of numbers.

`d_x = np.zeros(3); d_x[2] += c; d_x[1] += b; d_x[0] += a` is `np.array([a, b, c]) + 0.0`; on a cotangent of before, it is added.
Exact: what is added to zero is itself, but for -0.0, which becomes 0.0; so the 0.0 is left away where no number can be
-0.0. A sum that a loop makes from -0.0, to which adding changes no bit, starts from 0.0 where the sign of a zero that it gives
is not seen.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, primal_of, values_in
from ....runtime.ir.known_ops import ADD
from ....runtime.ir.opcodes import SCAN, regions_of, with_regions
from ....runtime.registry import require
from ....runtime.rules.control import SHAPE
from ....runtime.rules.indexing import add_place, index_add, place
from .rewrite import result

__all__ = ["with_lengths"]

_PLACES = (require(place), require(add_place))
_INDEX_ADD, _STACK = require(index_add), require(np.stack)
_MOST = 16  # numbers of one array


class _Chain(NamedTuple):
    """Numbers that are added to a vector one after the other, each at a place that has none yet."""

    base: Any  # the vector of before; None where it is zeros
    calls: tuple[Call, ...]
    numbers: dict[int, Any]

    def with_number(self, call: Call, index: Any, v: Any) -> _Chain | None:
        """The chain with one more; None where a call does something else."""
        length, dtype = call.outs[0].type.shape[0], call.outs[0].type.dtype
        if type(index) is not int or not -length <= index < length or index % length in self.numbers:
            return None
        if not (isinstance(v, Value) and v.type.kind == "scalar" and v.type.dtype == dtype and dtype.kind == "f"):
            return None
        return _Chain(self.base, (*self.calls, call), {**self.numbers, index % length: v})


def with_lengths(graph: Graph, fixed: Collection[Value]) -> Graph:
    """The graph in which the cotangents of vectors of fixed lengths are arrays of numbers."""
    known = {v for v in fixed if v.type.kind == "array" and len(v.type.shape) == 1 and 1 < v.type.shape[0] <= _MOST}
    return _gathered(graph, known, set()) if known else graph


def _gathered(graph: Graph, known: set[Value], shapes: set[Value]) -> Graph:
    """A block and those in it; `shapes` are the shapes of the vectors that are `known`."""
    calls: list[Call] = []
    for call in graph.calls:
        if call.op is SHAPE and call.args[0] in known:
            shapes.add(call.outs[0])
        regions = regions_of(call)
        parts = [_gathered(region, known, shapes) for region in regions]
        changed = any(a is not b for a, b in zip(parts, regions, strict=True))
        calls.append(with_regions(call, parts) if changed else call)
    chains = _chains(calls, graph.outputs, known, shapes)
    if not chains:
        return graph if all(map(operator.is_, calls, graph.calls)) else Graph(graph.inputs, calls, graph.outputs)
    dropped = {call for chain in chains.values() for call in chain.calls[:-1]}
    numbers = [v for chain in chains.values() if chain.base is None for v in chain.numbers.values()]
    starts, unsigned = _unsigned(numbers, calls, graph.outputs)
    made: list[Call] = []
    for call in calls:
        if len(call.outs) == 1 and call.outs[0] in chains:
            made += _as_array(call, chains[call.outs[0]], unsigned)
        elif call not in dropped:
            made.append(starts.get(call, call))
    return Graph(graph.inputs, made, graph.outputs)


def _uses(calls: list[Call], outputs: Any) -> dict[Value, int]:
    return Counter([*[v for call in calls for v in call.reads], *values_in(outputs)])


def _chains(calls: list[Call], outputs: Any, known: set[Value], shapes: set[Value]) -> dict[Value, _Chain]:
    """The chains that have a number at every place, by their last values."""
    uses = _uses(calls, outputs)
    found: dict[Value, _Chain] = {}
    for call in calls:
        chain: _Chain | None = None
        if call.op.base in _PLACES and call.args[2] in shapes:
            chain = _Chain(None, (), {}).with_number(call, call.args[1], call.args[0])
        elif call.op.base is _INDEX_ADD:
            acc, index, v = call.args
            if acc in found and uses[acc] == 1 and (chain := found[acc].with_number(call, index, v)) is not None:
                del found[acc]
            elif isinstance(acc, Value) and len(acc.type.shape) == 1:
                chain = _Chain(acc, (), {}).with_number(call, index, v)
        if chain is not None:
            found[call.outs[0]] = chain
    whole = {v: chain for v, chain in found.items() if len(chain.numbers) == v.type.shape[0]}
    added = {v: chain.base for v, chain in whole.items() if chain.base is not None}
    running = {v for pair in added.items() for v in pair if primal_of(v) in known}
    for v, base in added.items():  # what the runs of a helper add, one after the other
        if base in running:
            running.add(v)
    for v, base in reversed(added.items()):
        if v in running:
            running.add(base)
    return {v: chain for v, chain in whole.items() if chain.base is None or v in running}


def _as_array(call: Call, chain: _Chain, unsigned: set[Value]) -> list[Call]:
    """The calls that make an array of the numbers of a chain; those in `unsigned` are never -0.0.

    What is added to it stands where the helper of the user's was called that takes the vector apart, if one does.
    """
    parts = [chain.numbers[k] for k in range(len(chain.numbers))]
    (out,) = call.outs
    args = _STACK.bind(parts)
    if chain.base is None and unsigned.issuperset(parts):
        return [Call(_STACK, args, (out,), call.site, call.backward, call.quiet)]
    stacked = result(_STACK, args, out.type)
    stacked.sites, site = out.sites, call.site
    if len(out.sites) > 1:
        out.sites = out.sites[1:]
        site = out.sites[0]
    add = require(operator.add)
    pair = (stacked, 0.0) if chain.base is None else (chain.base, stacked)
    return [
        Call(_STACK, args, (stacked,), call.site, call.backward, call.quiet),
        Call(add, add.bind(*pair), (out,), site, call.backward, call.quiet),
    ]


def _unsigned(numbers: list[Value], calls: list[Call], outputs: Any) -> tuple[dict[Call, Call], set[Value]]:
    """The loops that sum up `numbers` from -0.0, and nobody else reads, as those that do so from 0.0; and these sums."""
    uses = _uses(calls, outputs)
    maker = {out: call for call in calls for out in call.outs}
    changed: dict[Call, dict[int, Any]] = {}
    found: set[Value] = set()
    for v in numbers:
        call = maker.get(v)
        if call is None or call.op is not SCAN or uses.get(v) != 1:
            continue
        k = call.outs.index(v)
        if k < len(call.args[1]) and _is_minus_zero(call.args[1][k]) and _sums(call.args[0].body, k):
            changed.setdefault(call, {})[k] = -call.args[1][k]
            found.add(v)
    made: dict[Call, Call] = {}
    for call, anew in changed.items():
        loop, carry, *rest = call.args
        made[call] = call.with_args((loop, tuple([anew.get(k, v) for k, v in enumerate(carry)]), *rest))
    return made, found


def _is_minus_zero(v: Any) -> bool:
    return isinstance(v, (float, np.floating)) and v == 0 and bool(np.signbit(v))


def _sums(body: Graph, k: int) -> bool:
    """Whether a trip does nothing with what carry `k` holds but to add to it, once at least."""
    v, end = body.inputs[1 + k], body.outputs[k]
    outputs = list(values_in(body.outputs))
    if v is end or outputs.count(end) != 1 or any(end in call.reads for call in body.calls):
        return False
    while v is not end:
        readers = [call for call in body.calls for read in call.reads if read is v]
        if len(readers) != 1 or readers[0].op.base is not ADD or v in outputs:
            return False
        (v,) = readers[0].outs
    return True
