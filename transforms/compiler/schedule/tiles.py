"""Tiles: long chains of elementwise calls on large arrays run piece by piece, so that what lies between stays in the cache.

NumPy's ufuncs give an element the same bits in a slice as in the whole array (test_tiles.py holds each to that), so
long as the slices begin at multiples of `LANES`. Reductions are never tiled.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import WHERE
from ....runtime.rules.control import GUARD, SIZES
from .recompute import recomputed
from .reuse import ufunc_of

__all__ = ["Tiles", "tiled"]

LARGE = 1 << 20  # bytes of an array; smaller arrays stay in the cache by themselves
LENGTH = 1 << 15  # elements of a tile
LANES = 64  # elements that the widest loop of a ufunc takes at once
LONG = 6  # calls of a chain that pays for its loop


class Tiles(NamedTuple):
    """One loop: its calls in order, the results that are needed whole, what it is given, its step."""

    calls: list[Call]
    whole: list[Value]
    given: list[Value]  # all that it reads
    sliced: list[Value]  # of that, the arrays of its shape
    step: int  # along the first axis


def tiled(graph: Graph, names: dict[Value, str] | None = None) -> tuple[Graph, dict[Call, Tiles]]:
    """The graph with the calls of each loop next to each other, and the loop of each call that is in one.

    What a loop computes anew, and does not read from an earlier one, has the same name among `names`.
    """
    if not any(_is_large(call) for call in graph.calls):
        return graph, {}
    asked = _shapes_of_inputs(graph)
    chains = _chains(asked)
    large = {call for chain in chains for call in chain}
    for k, chain in enumerate(chains):
        if _tiles_of(asked)(chain) is not None:
            asked, chains[k] = recomputed(asked, chain, large, {} if names is None else names)
    loops = [tiles for tiles in map(_tiles_of(asked), chains) if tiles is not None]
    if not loops:
        return graph, {}
    inside = {call: tiles for tiles in loops for call in tiles.calls}
    return _next_to_each_other(asked, inside), inside


def _is_large(call: Call) -> bool:
    """Whether a call makes a large array element by element, of arrays that slices of it line up with."""
    if len(call.outs) != 1 or call.op.may_raise or not _by_element(call):
        return False
    out = call.outs[0].type
    arrays = [v.type for v in call.reads if v.type.kind == "array"]
    widest = max(a.dtype.itemsize for a in (out, *arrays))
    if out.kind != "array" or not out.shape or math.prod(out.shape) * widest < LARGE:
        return False
    if not any(a.shape == out.shape for a in arrays):
        return False
    return all(
        a.dtype.kind in "fb"
        and _is_in_order(a)
        and (a.shape == out.shape or (len(a.shape) < len(out.shape) and a.dtype == out.dtype))
        for a in (out, *arrays)
    )


def _by_element(call: Call) -> bool:
    ufunc = ufunc_of(call.op)
    return (ufunc is not None and ufunc.nout == 1) or call.op.infix == "**" or call.op.base is WHERE


def _is_in_order(type: Any) -> bool:
    """Whether an array lies in C order without gaps."""
    steps = [type.dtype.itemsize * math.prod(type.shape[k + 1 :]) for k in range(len(type.shape))]
    return bool(type.strides == tuple(steps))


def _shapes_of_inputs(graph: Graph) -> Graph:
    """The graph in which shapes are asked of what goes into a chain, and not of what is made on the way."""
    of: dict[Value, Value] = {}
    calls = []
    for call in graph.calls:
        if call.op in SIZES and call.args[0] in of:
            call = call.with_args((of[call.args[0]], *call.args[1:]))
        elif _is_large(call):
            (out,) = call.outs
            like = next(v for v in call.reads if v.type.shape == out.type.shape)
            of[out] = of.get(like, like)
        calls.append(call)
    return Graph(graph.inputs, calls, graph.outputs)


def _chains(graph: Graph) -> list[list[Call]]:
    """The calls that may share a loop: of one shape, with no path from one to another through a call that is not in it.

    No call changes its place with a guard, an effect, or a call that may raise.
    """
    level: dict[Value, int] = {}
    shape: dict[Value, tuple[int, ...] | None] = {}  # of what a chain makes
    found: dict[Any, list[Call]] = {}
    part = 0
    for call in graph.calls:
        own = call.outs[0].type.shape if _is_large(call) else None
        here = max((level.get(v, 0) + (shape.get(v, own) not in (None, own)) for v in call.reads), default=0)
        if own is None:
            here = max((level.get(v, 0) + (shape.get(v) is not None) for v in call.reads), default=0)
            part += call.op.may_raise or call.op is GUARD or call.op.effect
        else:
            found.setdefault((part, here, own), []).append(call)
        for v in call.outs:
            level[v], shape[v] = here, own
    return list(found.values())


def _tiles_of(graph: Graph) -> Any:
    """What makes a loop of a chain, or None where it does not pay."""
    users: dict[Value, list[Call]] = {}
    for call in graph.calls:
        for v in call.reads:
            users.setdefault(v, []).append(call)
    outputs = set(values_in(graph.outputs))

    def tiles(calls: list[Call]) -> Tiles | None:
        step = _step(calls[0].outs[0].type.shape)
        if step is None or len(calls) < LONG:
            return None
        inside = set(calls)
        made = [call.outs[0] for call in calls]
        whole = [v for v in made if v in outputs or not inside.issuperset(users.get(v, ()))]
        if _most_at_once(calls, whole) < len(whole) + 2:  # one array, written over again and again, does as well
            return None
        given = list(dict.fromkeys(v for call in calls for v in call.reads if v not in set(made)))
        return Tiles(calls, whole, given, [v for v in given if v.type.shape == made[0].type.shape], step)

    return tiles


def _step(shape: tuple[int, ...]) -> int | None:
    """How many rows make a tile, so that each begins at a multiple of LANES; None where that is not possible."""
    row = math.prod(shape[1:])
    least = LANES // math.gcd(LANES, row)
    step = max(LENGTH // row // least * least, least)
    return step if step * row <= 2 * LENGTH and step < shape[0] else None


def _most_at_once(calls: list[Call], whole: list[Value]) -> int:
    """How many of the arrays that a chain makes are needed at once."""
    last = {v: k for k, call in enumerate(calls) for v in call.reads}
    last |= dict.fromkeys(whole, len(calls))
    most, alive = 0, set[Value]()
    for k, call in enumerate(calls):
        alive = {v for v in alive if last[v] > k}
        alive.update(v for v in call.outs if v in last)
        most = max(most, len(alive))
    return most


def _next_to_each_other(graph: Graph, inside: dict[Call, Tiles]) -> Graph:
    """The calls in their order, but for those of a loop, which come where the last of them stands."""
    place = {call: k for k, call in enumerate(graph.calls)}
    unit = {call: place[inside[call].calls[-1]] if call in inside else place[call] for call in graph.calls}
    maker = {v: unit[call] for call in graph.calls for v in call.outs}
    waits: dict[int, set[int]] = {k: set() for k in unit.values()}
    members: dict[int, list[Call]] = {k: [] for k in waits}
    for call in graph.calls:
        members[unit[call]].append(call)
        waits[unit[call]].update(maker[v] for v in call.reads if v in maker and maker[v] != unit[call])
    then: dict[int, list[int]] = {k: [] for k in waits}
    for k, before in waits.items():
        for b in before:
            then[b].append(k)
    ready = [k for k, before in waits.items() if not before]
    heapq.heapify(ready)
    calls: list[Call] = []
    while ready:
        k = heapq.heappop(ready)
        calls.extend(members[k])
        for after in then[k]:
            waits[after].discard(k)
            if not waits[after]:
                heapq.heappush(ready, after)
    return Graph(graph.inputs, calls, graph.outputs)
