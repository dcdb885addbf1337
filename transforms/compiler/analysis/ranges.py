"""Ranges of ints within loops: trip numbers, sizes, and sums of these, so that `x[t]` is known to exist."""

from __future__ import annotations

import math
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import ADD, SUBTRACT
from ....runtime.ir.opcodes import SCAN, is_region
from ....runtime.rules.control import COUNT, SIZE

__all__ = ["Ranges"]

Range = tuple[int, int]  # the least and the most


class Ranges:
    """The ranges of the ints of a graph, and of those that it is `given`.

    Sizes are those of the types, so that what is known holds as long as all shapes do.
    """

    def __init__(self, graph: Graph | None = None, given: dict[Value, Range] | None = None) -> None:
        self.known: dict[Value, Range] = dict(given or {})
        for call in () if graph is None else graph.calls:
            found = self._trips(call) if call.op is SCAN else self._of(call)
            if found is not None:
                self.known[call.outs[-1]] = found

    def __call__(self, v: Any) -> Range | None:
        """The least and the most that an int may be; None where nothing is known."""
        return self.known.get(v) if isinstance(v, Value) else (v, v) if type(v) is int else None

    def within(self, call: Call, region: Graph) -> Ranges:
        """The ranges in a region of a call."""
        first: list[Any] = [*call.args[2]]
        if call.op is SCAN:
            loop, carry, xs, inv, _ = call.args
            most = self._trips(call)
            place = [] if region is not loop.body else [None if most is None else (0, most[1] - 1)]
            first = [*place, *[None] * (len(carry) + len(xs) * len(place)), *inv]
        given = {p: a if type(a) is tuple else self(a) for p, a in zip(region.inputs, first, strict=True)}
        return Ranges(region, {p: found for p, found in given.items() if found is not None})

    def exists(self, x: Any, index: Any) -> bool:
        """Whether `x[index]` is known not to raise, of ints that may vary."""
        if not isinstance(x, Value) or x.type.kind != "array":
            return False
        parts = index if type(index) is tuple else (index,)
        for axis, part in enumerate(parts):
            if isinstance(part, slice):
                continue
            found = self(part)
            if found is None or axis >= len(x.type.shape):
                return False
            length = x.type.shape[axis]
            if not -length <= found[0] <= found[1] < length:
                return False
        return True

    def _trips(self, call: Call) -> Range | None:
        """Return the greatest number of trips of a loop."""
        found = self(call.args[4])
        return None if found is None else (0, max(found[1], 0))

    def _of(self, call: Call) -> Range | None:
        if is_region(call) or len(call.outs) != 1 or call.outs[0].type.kind != "python":
            return None
        if call.op in (SIZE, COUNT) and isinstance(call.args[0], Value):
            shape = call.args[0].type.shape
            size = math.prod(shape) if call.op is COUNT else shape[int(call.args[1])]
            return size, size
        if call.op.base not in (ADD, SUBTRACT):
            return None
        x, y = self(call.args[0]), self(call.args[1])
        if x is None or y is None:
            return None
        return (x[0] + y[0], x[1] + y[1]) if call.op.base is ADD else (x[0] - y[1], x[1] - y[0])
