"""Lists with one item for each trip of a loop: what they are called, and which are known to be of one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.opcodes import COND, SCAN, STACK, regions_of
from ..passes.scans import Scan
from .inlining import name_tree

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = [
    "STEPS",
    "TAKEN",
    "call_tree",
    "lengths_of_items",
    "name_regions",
    "named_within",
    "note_lengths",
    "origins_of",
    "plural",
    "same_length",
]


TAKEN = "taken"  # a condition that is asked for more than once
STEPS = "steps"  # how often a loop has run


def call_tree(name: str, *args: Any) -> Any:
    """`name(a, b)`."""
    return gast.Call(func=name_tree(name), args=list(args), keywords=[])


def plural(name: str) -> str:
    """What a list of such things is called: `hs`, `steps_list`."""
    return f"{name}_list" if name.endswith(("s", TAKEN)) or not name[-1].isalpha() else f"{name}s"


def named_within(graph: Graph) -> set[str]:
    """The names of the values of the regions of a graph."""
    found: set[str] = set()
    for call in graph.calls:
        for region in regions_of(call):
            values = [*region.inputs, *[v for inner in region.calls for v in inner.outs]]
            found.update(v.name for v in values if v.name is not None)
            found |= named_within(region)
    return found


def origins_of(graph: Graph) -> dict[Value, Value]:
    """What the inputs of regions are that a region reads as they are."""
    found: dict[Value, Value] = {}
    for call in graph.calls:
        if call.op is SCAN:
            pairs = [(v, item.given) for item in Scan(call).inv for v in (item.param, item.asked)]
        else:
            pairs = [pair for region in regions_of(call) for pair in zip(region.inputs, call.args[2], strict=True)]
        found |= {v: given for v, given in pairs if isinstance(given, Value) and v is not None and v is not given}
        for region in regions_of(call):
            found |= origins_of(region)
    return found


def name_regions(graph: Graph, wishes: dict[Value, str], stem: str, origins: dict[Value, Value]) -> None:
    """Names for what loops and branches give, where nobody named it; what a loop starts from has the name that it carries."""
    count: dict[Value, int] = {}
    for v in (*[v for call in graph.calls for v in call.reads], *values_in(graph.outputs)):
        count[v] = count.get(v, 0) + 1
    own = {v for call in graph.calls for v in call.outs if count.get(v) == 1} - set(values_in(graph.outputs))

    def name(v: Any) -> str | None:
        """What a value is called, or what it is the cotangent of."""
        depth, seen = 0, set[Value]()
        while isinstance(v, Value) and v not in seen:
            seen.add(v)
            found = wishes.get(v) or v.name
            if found is not None:
                return "d_" * depth + found
            depth += v not in origins
            v = origins.get(v, v.cotangent_of)
        return None

    def wish(out: Value, *others: Any) -> None:
        if out.type.kind == STACK:
            item = getattr(out.element, "name", None)
            if out.name in (None, item):
                named = (item, wishes.get(out), *map(name, (out.element, *others)))
                wishes[out] = plural(next(filter(None, named), stem))
        elif out not in wishes:
            found = next(filter(None, map(name, others)), None)
            if found is not None:
                wishes[out] = found

    for call in reversed(graph.calls):
        if call.op is COND:
            branch, pred, _ = call.args
            if isinstance(pred, Value) and count[pred] > 1:
                wishes.setdefault(pred, TAKEN)  # which way was taken, for the way back
            for out, then, orelse in zip(call.outs, branch.then.outputs, branch.orelse.outputs, strict=True):
                wish(out, then, orelse)
        elif call.op is SCAN:
            scan = Scan(call)
            for c in scan.carry:
                wish(c.out, c.param, c.asked, c.after, c.start)
                if c.start in own and c.out in wishes:
                    wishes[c.start] = wishes[c.out]
            for y in scan.ys:
                asked = any(inner.op is COND and inner.args[1] is y.value for inner in scan.calls)
                counted = any(inner.op is SCAN and inner.outs[-1] is y.value for inner in scan.calls)
                if (asked or counted) and name(y.value) is None and y.out not in wishes:
                    wishes[y.out] = TAKEN if asked else STEPS
                wish(y.out, y.value)
            wishes.setdefault(scan.trips, STEPS)
        else:
            for out in call.outs:
                if out.type.kind == STACK:
                    wish(out)


Lengths = dict[Value, Any]  # of lists their length, of ints their value: equal where both are known to be


def same_length(emitter: Emitter, n: Any, stack: Any) -> bool:
    """Whether a loop that runs `n` times walks all of a list."""
    known: Lengths = emitter.lengths
    return stack in known and known[stack] == (known.get(n, n) if isinstance(n, Value) else n)


def note_lengths(emitter: Emitter, call: Call, inner: Sequence[Lengths]) -> None:
    """Learn how long the lists are that a call gives; `inner` is what is known in each arm, or in the body of a loop."""
    known: Lengths = emitter.lengths
    if call.op is COND:
        for out, *results in zip(call.outs, *[arm.outputs for arm in call.args[0]], strict=True):
            found = [None if v is None else part.get(v) for v, part in zip(results, inner, strict=True)]
            if any(found) and all(found[k] is not None or results[k] is None for k in range(2)):
                known[out] = (call, *found)
        return
    scan = Scan(call)
    length: Any = call
    if scan.test is None:
        length = known.get(scan.n, scan.n) if scan.n is not None else known.get(scan.xs[0].given, call)
    known[scan.trips] = length
    for y in scan.ys:
        known[y.out] = length
        if y.value in inner[0]:
            emitter.items[y.out] = (call, inner[0][y.value])


def lengths_of_items(emitter: Emitter, scan: Scan) -> Lengths:
    """What is known of the lists, and of the ints, that a trip takes from lists."""
    return {x.param: emitter.items[x.given] for x in scan.xs if x.given in emitter.items}
