"""`loop_memory="sqrt"`: a loop remembers what it carries at the head of each chunk of its trips, and its reverse replays them.

Of n trips there are about √n chunks, as even as they can be: chunk j begins at trip `j * n // m`. Where n is not known before
the loop has run, each chunk has 32 trips. The forward loop becomes a loop over chunks that stacks their heads; the reverse
goes from chunk to chunk, runs the forward body again from the head of each, with its stacks, and then its own. The same
operations run on the same values, so the bits stay; only the memory is that of one chunk and of the heads.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values, type_of, values_in
from ....runtime.ir.opcodes import COND, SCAN, Branch, Loop, copied, is_effect, regions_of, stack_value
from ....runtime.registry import require
from ..analysis.ranges import Ranges
from .scans import Carry, Item, Scan, Stacked, like

__all__ = ["in_chunks"]

LENGTH = 32  # the trips of a chunk where their number is not known before
SHORT = 8  # loops of fewer trips stay as they are


def in_chunks(graph: Graph) -> Graph:
    """The graph whose loops remember the heads of chunks, where all that they stack is for their reverse alone."""
    ranges = Ranges(graph)
    made: dict[Call, Call] = {}
    known: dict[Value, Any] = {}
    for call in graph.calls:
        walks = _reverses(graph, call) if call.op is SCAN and call not in made else []
        if walks:
            chunks = _Chunks(call, ranges)
            if not chunks.whole:
                made[call] = chunks.forward()
                made |= {walk: chunks.reverse(walk) for walk in walks}
                known |= {one.outs[-1]: chunks.trips for one in (call, *walks) if one.outs[-1] is not chunks.trips}
    if not made:
        return graph

    def now(v: Value) -> Any:
        return known.get(v, v)

    calls = [made.get(call, call) for call in graph.calls]
    calls = [call.with_args(tuple([map_values(a, now) for a in call.args])) for call in calls]
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs])


def _reverses(graph: Graph, call: Call) -> list[Call]:
    """The loops that walk the stacks of another; none where those serve anything else, or nothing of weight is stacked.

    None of a loop that draws or prints, either: it cannot run again.
    """
    forward = Scan(call)
    stacks = {y.out for y in forward.ys}
    if forward.xs or is_effect(call) or not any(map(_has_weight, stacks)):
        return []
    readers = [reader for reader in graph.calls if not stacks.isdisjoint(reader.reads)]
    if not stacks.isdisjoint(values_in(graph.outputs)) or any(reader.op is not SCAN for reader in readers):
        return []
    for walk in map(Scan, readers):
        others = values_in((walk.call.args[1], walk.call.args[3], walk.n))
        counts = (None, forward.trips, *[forward.n] * (forward.test is None))
        if (
            walk.ys
            or walk.test is not None
            or walk.loop.reverse == forward.loop.reverse
            or not stacks.isdisjoint(others)
        ):
            return []
        if any(x.given not in stacks for x in walk.xs) or all(walk.n is not n and walk.n != n for n in counts):
            return []
    return readers


def _has_weight(stack: Value) -> bool:
    """Whether a stack holds more than counts and truth values."""
    return stack.element is not None and stack.element.type.dtype.kind not in "biu"


class _Chunks:
    """The chunks of one loop; `many` is None where it stays whole."""

    def __init__(self, call: Call, ranges: Ranges) -> None:
        self.call, self.scan = call, Scan(call)
        n = self.scan.n
        most = ranges(n)
        self.many = None if n is None else LENGTH if most is None else _near_root(most[1])
        self.whole = n is not None and most is not None and most[1] < SHORT
        self.trips = n if self.scan.test is None else self.scan.trips
        self.heads = [stack_value(like(c.param)) for c in self.scan.carry]
        self.counts, self.done = stack_value(_int()), _int()  # the trips of each chunk, and how many chunks there were

    def forward(self) -> Call:
        """The loop over chunks; where a test may end one, it tells how long they are."""
        outer, inner, test = Scan(self.call), Scan(self.call), self.scan.test
        fresh = _Fresh()
        outer.test = None if test is None else copied(test, fresh)
        outer.place, outer.trips, outer.n = _int(), self.done, self.many
        for around, c in zip(outer.carry, inner.carry, strict=True):
            around.param, around.asked = like(c.param), c.asked and fresh(c.asked)
            c.start, c.out = around.param, like(c.out)
            around.after = c.out
        for item, within in zip(outer.inv, inner.inv, strict=True):
            item.param, item.asked = like(within.param), within.asked and fresh(within.asked)
            within.given = item.param
        inner.ys, inner.trips = [], _int()
        outer.ys = [Stacked(c.param, head) for c, head in zip(outer.carry, self.heads, strict=True)]
        bounds, start, inner.n = self.bounds(outer, self.call)
        _from(inner, start)
        outer.calls = [*bounds, inner.made()]
        if test is not None:
            total = _int()
            outer.calls.append(_call(self.call, operator.add, total, inner.trips))
            outer.carry.append(Carry(0, total, outer.calls[-1].outs[0], self.scan.trips, _int()))
            outer.ys.append(Stacked(inner.trips, self.counts))
        return outer.made()

    def reverse(self, call: Call) -> Call:
        """The loop over chunks that replays each, and goes through it in reverse."""
        outer, inner = Scan(call), Scan(call)
        replay = Scan(Call(self.call.op, self.call.args, self.call.outs, self.call.site, call.backward, True))
        outer.place, outer.trips = _int(), like(outer.trips)
        outer.n = self.many if self.scan.test is None else self.done
        for around, c in zip(outer.carry, inner.carry, strict=True):
            around.param = like(c.param)
            c.start, c.out = around.param, like(c.out)
            around.after = c.out
        outer.xs = []
        for head, c in zip(self.heads, replay.carry, strict=True):
            outer.xs.append(Item(head, like(c.param)))
            c.start, c.out, c.asked = outer.xs[-1].param, like(c.out), None
        stacks = {y.out: like(y.out) for y in replay.ys}
        for y in replay.ys:
            y.out = stacks[y.out]
        for x in inner.xs:
            x.given = stacks[x.given]
        given, outer.inv = [*replay.inv, *inner.inv], []
        for item in given:
            item.given, item.asked = outer.reads(item.given, item.param), None
        bounds, start, count = self.bounds(outer, call)
        if self.scan.test is not None:
            count = _int()
            outer.xs.append(Item(self.counts, count))
        replay.test, replay.n, replay.trips, inner.n, inner.trips = None, count, _int(), count, _int()
        replay.calls = [_backward(one, call) for one in replay.calls]
        _from(replay, start)
        _from(inner, start)
        outer.calls = [*bounds, replay.made(), inner.made()]
        return outer.made()

    def bounds(self, outer: Scan, like: Call) -> tuple[list[Call], Value, Any]:
        """Where a chunk begins, and how many trips it has at most: calls in the loop over chunks, and what they give."""
        n, j, calls = self.scan.n, outer.place, list[Call]()

        def of(fn: Callable[..., Any], x: Any, y: Any) -> Value:
            calls.append(_call(like, fn, x, y))
            return calls[-1].outs[0]

        if self.many is None:
            return calls, of(operator.mul, j, LENGTH), LENGTH
        if type(n) is int and n % self.many == 0:
            return calls, of(operator.mul, j, n // self.many), n // self.many
        n = outer.reads(n) if isinstance(n, Value) else n
        start = of(operator.floordiv, of(operator.mul, j, n), self.many)
        end = of(operator.floordiv, of(operator.mul, of(operator.add, j, 1), n), self.many)
        return calls, start, of(operator.sub, end, start)


class _Fresh:
    """A new value for each."""

    def __init__(self) -> None:
        self.made: dict[Value, Value] = {}

    def __call__(self, v: Value) -> Value:
        return self.made.setdefault(v, like(v))


def _int() -> Value:
    return Value(type_of(0))


def _call(like: Call, fn: Callable[..., Any], *args: Any) -> Call:
    op = require(fn)
    return Call(op, op.bind(*args), (_int(),), like.site, like.backward, like.quiet)


def _from(scan: Scan, start: Value) -> None:
    """Let the trips of a chunk be those of the whole loop from `start` on."""
    read = {v for call in scan.calls for v in call.reads} | set(values_in(scan.body.outputs))
    if scan.place in read:
        place, at = scan.place, scan.reads(start)
        scan.place, op = _int(), require(operator.add)
        quiet, backward = scan.call.quiet, scan.call.backward
        scan.calls = [Call(op, op.bind(at, scan.place), (place,), scan.call.site, backward, quiet), *scan.calls]


def _backward(call: Call, walk: Call) -> Call:
    """A call of the forward body as the reverse runs it again."""
    parts = [Graph(g.inputs, [_backward(one, walk) for one in g.calls], g.outputs) for g in regions_of(call)]
    args = call.args
    if call.op is SCAN:
        args = (Loop(parts[-1], parts[0] if parts[1:] else None, args[0].reverse), *args[1:])
    elif call.op is COND:
        args = (Branch(*parts), *args[1:])
    return Call(call.op, args, call.outs, call.site, walk.backward, True)


def _near_root(n: int) -> int:
    """A number of chunks for n trips: about the root, and one that divides n where there is one near."""
    root = max(math.isqrt(n), 1)
    near = [m for m in range(root, root // 2, -1) if n % m == 0]
    return near[0] if near else root
