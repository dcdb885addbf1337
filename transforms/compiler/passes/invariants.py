"""Loop invariants, moved before their loop: constants, values carried unchanged, and values computed from these.

Exact: what stands before the loop is computed for a loop of no trips, too, so only what neither raises nor warns goes there;
an array that each trip makes anew, and that is seen outside, stays within. What stands in a loop or a branch twice is merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.ir.known_ops import ADD, COMPARISONS, MULTIPLY, SUBTRACT
from ....runtime.ir.opcodes import COND, SCAN, Branch, is_region
from ....runtime.ops import Kind
from ....runtime.registry import ops_of
from ..analysis.effects import stays
from .rewrite import Region, key_of, seen_from_outside
from .scans import Carry, Item, Scan, like, replaced

__all__ = ["invariants"]

_QUIET = COMPARISONS | ops_of(np.negative, np.logical_not)
_OF_PYTHON = frozenset([ADD, SUBTRACT, MULTIPLY, *_QUIET])  # what never raises of Python's numbers


def invariants(graph: Graph) -> Graph:
    """The graph whose loops and branches are given each thing once, and compute in a trip what differs from trip to trip."""
    outside = seen_from_outside(graph, graph.shown if isinstance(graph, Region) else None)
    made: dict[Value, Any] = {}
    calls: list[Call] = []
    taken = {*graph.inputs, *[v for call in graph.calls for v in call.outs]}

    def now(v: Any) -> Any:
        while isinstance(v, Value) and v in made:
            v = made[v]
        return v

    for call in graph.calls:
        if made and any(v in made for v in call.reads):
            call = call.with_args(tuple([map_values(a, now) for a in call.args]))
        if call.op is SCAN:
            calls += _simpler_loop(call, outside, made, taken)
        elif call.op is COND:
            calls += _simpler_branch(call, made, taken)
        else:
            calls.append(call)
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs])


def _simpler_loop(call: Call, outside: set[Value], made: dict[Value, Any], taken: set[Value]) -> list[Call]:
    scan = Scan(call)
    while known := _unchanged(scan, made) | _twins(scan, outside, made):
        scan.replace(known)
    return [*_hoisted(scan, outside, taken), scan.made()]


def _unchanged(scan: Scan, made: dict[Value, Any]) -> dict[Value, Any]:
    """Carried values that no trip changes are invariants, those that are constants go into the body, and counts are the place."""
    given = {item.param: item.given for item in scan.inv}
    for c in list(scan.carry):
        after = given.get(c.after) if isinstance(c.after, Value) else c.after
        if after is not None and key_of(after) == key_of(c.start):
            c.after = c.param
        if c.after is c.param:
            scan.carry.remove(c)
            scan.inv.append(Item(c.start, c.param, c.asked))
            made[c.out] = c.start
    known: dict[Value, Any] = {}
    for c in [c for c in scan.carry if _counts(scan, c)]:
        scan.carry.remove(c)
        known[c.param], made[c.out] = scan.place, scan.trips
    for item in [item for item in scan.inv if not isinstance(item.given, Value)]:
        scan.inv.remove(item)
        known |= {v: item.given for v in (item.param, item.asked) if v is not None}
    return known


def _counts(scan: Scan, c: Carry) -> bool:
    """Whether a carried value is the place of a trip: it starts at 0, and each trip adds 1."""
    if type(c.start) is not int or c.start or scan.loop.reverse:
        return False
    if scan.test is not None and any(c.asked in call.reads for call in scan.test.calls):
        return False
    made = next((call for call in scan.calls if c.after in call.outs), None)
    if made is None or made.op.base is not ADD or made.outs[0].type.kind != "python":
        return False
    return any(v is c.param and type(one) is int and one == 1 for v, one in (made.args, made.args[::-1]))


def _twins(scan: Scan, outside: set[Value], made: dict[Value, Any]) -> dict[Value, Any]:
    """Return the values that a loop takes, carries or stacks twice, each with the one that replaces it."""
    known: dict[Value, Any] = {}
    for items in (scan.inv, scan.xs):
        for item, first in _repeated(items, lambda item: item.given):
            items.remove(item)
            known[item.param] = first.param
            if item.asked is not None:
                known[item.asked] = first.asked
    for c, first in _repeated(scan.carry, lambda c: (c.start, c.after)):
        scan.carry.remove(c)
        known[c.param] = first.param
        if c.asked is not None:
            known[c.asked] = first.asked
        made[c.out] = first.out
        if c.out in outside:
            outside.add(first.out)
    for y, first in _repeated(scan.ys, lambda y: y.value):
        if not {y.out, first.out} <= outside:  # or else the caller gets a list twice
            scan.ys.remove(y)
            made[y.out] = first.out
            if y.out in outside:
                outside.add(first.out)
    return known


def _repeated(items: Iterable[Any], key: Any) -> list[tuple[Any, Any]]:
    """Each of the items that has the key of an earlier one, and that one."""
    known: dict[Any, Any] = {}
    found = [(item, known.setdefault(key_of(key(item)), item)) for item in items]
    return [(item, first) for item, first in found if item is not first]


def _hoisted(scan: Scan, outside: set[Value], taken: set[Value]) -> list[Call]:
    """The calls that go before the loop, with values that are not `taken`; the body and the test read what they give."""
    n = scan.n
    some = type(n) is int and n > 0
    calls: list[Call] = []
    shown = [y.value for y in scan.ys if y.out in outside]
    if any(c.out in outside for c in scan.carry):
        shown += [c.after for c in scan.carry]
    seen = seen_from_outside(scan.body, shown)
    for in_test, runs in ((False, some and scan.test is None), (True, some or n is None)):
        region = scan.test if in_test else scan.body
        if region is None:
            continue
        before: dict[Any, Any] = {item.asked if in_test else item.param: item.given for item in scan.inv}
        moved: list[Call] = []
        for call in region.calls:
            same = all(v in before for v in call.reads) and seen.isdisjoint(call.outs)
            if same and _may_go(call, runs):
                calls.append(_moved(call, before, taken))
                moved.append(call)
        if not moved:
            continue
        still = [call for call in region.calls if call not in moved]
        read = {v for call in still for v in call.reads} | {v for v in region.outputs if isinstance(v, Value)}
        known: dict[Value, Any] = {}
        for out in [out for call in moved for out in call.outs if out in read]:
            scan.inv.append(Item(before[out], like(out), None if scan.test is None else like(out)))
            known[out] = scan.inv[-1].asked if in_test else scan.inv[-1].param
        if in_test:
            scan.test = Graph(region.inputs, still, region.outputs)
        else:
            scan.calls = still
        scan.replace(known)
    return calls


def _moved(call: Call, known: dict[Value, Any], taken: set[Value]) -> Call:
    """A call of a region beside the region, where values have the names in `known`, which learns those of its own."""
    args = tuple([map_values(a, known.__getitem__) for a in call.args])
    known |= {out: like(out) if out in taken else out for out in call.outs}
    outs = tuple([known[out] for out in call.outs])
    taken.update(outs)
    return Call(call.op, args, outs, call.site, call.backward, call.quiet)


def _may_go(call: Call, runs: bool) -> bool:
    """Whether a call may stand before a loop that may have no trip; `runs` says that it has one."""
    op, out = call.op, call.outs[0].type if call.outs else None
    if is_region(call) or stays(call) or out is None or (op.kind is Kind.creation and out.kind != "python"):
        return False  # a new array in each trip is one to write into
    if out.kind == "python" and op.kind is not Kind.creation:
        return op.base in _OF_PYTHON
    return call.quiet or runs or op.kind is Kind.shaping or op.kind is Kind.creation or op.base in _QUIET


def _simpler_branch(call: Call, made: dict[Value, Any], taken: set[Value]) -> list[Call]:
    branch, pred, ins = call.args
    if not isinstance(pred, Value):
        return _taken(call, branch.then if pred else branch.orelse, made, taken)
    first: dict[Any, int] = {}
    places = [first.setdefault(key_of(v), k) for k, v in enumerate(ins)]
    kept = [k for k, v in enumerate(ins) if isinstance(v, Value) and places[k] == k]
    parts: list[Graph] = []
    for part in branch:
        known = {p: part.inputs[places[k]] if isinstance(ins[k], Value) else ins[k] for k, p in enumerate(part.inputs)}
        part = replaced(part, {p: v for p, v in known.items() if p is not v})
        parts.append(Graph([part.inputs[k] for k in kept], part.calls, part.outputs))
    ins = tuple([ins[k] for k in kept])
    twins: dict[Any, Value] = {}
    for k, out in enumerate(call.outs):
        sides = [part.outputs[k] for part in parts]
        given = [dict(zip(part.inputs, ins, strict=True)) for part in parts]
        passed = [of.get(v, v) if isinstance(v, Value) else v for v, of in zip(sides, given, strict=True)]
        some = [v for v in passed if v is not None]  # where a branch gives nothing, nobody reads it
        if some and all(v in ins or not isinstance(v, Value) for v in some) and len({key_of(v) for v in some}) == 1:
            made[out] = some[0]
        elif (same := twins.setdefault(key_of(sides), out)) is not out:
            made[out] = same
    return [call.with_args((Branch(*parts), pred, ins))]


def _taken(call: Call, part: Graph, made: dict[Value, Any], taken: set[Value]) -> list[Call]:
    """The calls of the branch that is taken always."""
    known: dict[Value, Any] = dict(zip(part.inputs, call.args[2], strict=True))
    calls = [_moved(inner, known, taken) for inner in part.calls]
    made.update(zip(call.outs, [map_values(v, known.__getitem__) for v in part.outputs], strict=True))
    return calls
