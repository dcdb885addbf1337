"""A `scan` call taken apart, so that passes can change what it carries, stacks and reads, and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ....runtime.ir import Call, Graph, Value, map_values
from ....runtime.regions import STACK, Loop

__all__ = ["Carry", "Item", "Scan", "Stacked", "like", "replaced"]


@dataclasses.dataclass(eq=False)
class Carry:
    """A carried value: at the start, in a trip, after it, and at the end; `asked` is what the test calls it."""

    start: Any
    param: Value
    after: Any
    out: Value
    asked: Value | None


@dataclasses.dataclass(eq=False)
class Item:
    """What a trip reads: of a stack its own item, or what all trips read alike, which the test sees too."""

    given: Any
    param: Value
    asked: Value | None = None


@dataclasses.dataclass(eq=False)
class Stacked:
    """What a trip gives to a stack."""

    value: Any
    out: Value


class Scan:
    """The parts of a `scan` call, each list in its order; `made` puts them together."""

    def __init__(self, call: Call) -> None:
        loop, carry, xs, inv, n = call.args
        k, params = len(carry), loop.body.inputs
        asked = [None] * (k + len(inv)) if loop.test is None else loop.test.inputs
        self.call = call
        self.loop: Loop = loop
        self.place = params[0]
        self.calls: list[Call] = loop.body.calls
        self.test: Graph | None = loop.test
        self.carry = [
            Carry(*parts) for parts in zip(carry, params[1:], loop.body.outputs, call.outs, asked, strict=False)
        ]
        self.xs = [Item(x, param) for x, param in zip(xs, params[1 + k :], strict=False)]
        self.inv = [Item(*parts) for parts in zip(inv, params[1 + k + len(xs) :], asked[k:], strict=True)]
        self.ys = [Stacked(*parts) for parts in zip(loop.body.outputs[k:], call.outs[k:-1], strict=True)]
        self.trips = call.outs[-1]
        self.n = n

    @property
    def body(self) -> Graph:
        """The body as it stands now."""
        items = [part.param for part in (*self.carry, *self.xs, *self.inv)]
        outputs = [*[c.after for c in self.carry], *[y.value for y in self.ys]]
        return Graph([self.place, *items], self.calls, outputs)

    def made(self) -> Call:
        """The call of these parts."""
        test = self.test
        if test is not None:
            test = Graph(
                [part.asked for part in (*self.carry, *self.inv) if part.asked is not None], test.calls, test.outputs
            )
        loop = Loop(self.body, test, self.loop.reverse)
        carry, xs, inv = (
            tuple([c.start for c in self.carry]),
            *[tuple([p.given for p in ps]) for ps in (self.xs, self.inv)],
        )
        outs = (*[c.out for c in self.carry], *[y.out for y in self.ys], self.trips)
        call = self.call
        return Call(call.op, (loop, carry, xs, inv, self.n), outs, call.site, call.backward, call.quiet)

    def replace(self, known: Mapping[Value, Any]) -> None:
        """Read other values, or constants, in place of some in the body and in the test."""
        body = replaced(self.body, known)
        self.calls = body.calls
        for part, after in zip(self.carry, body.outputs, strict=False):
            part.after = after
        for stacked, value in zip(self.ys, body.outputs[len(self.carry) :], strict=True):
            stacked.value = value
        if self.test is not None:
            self.test = replaced(self.test, known)

    def reads(self, given: Any, v: Value | None = None) -> Value:
        """The parameter for an invariant `given`, a new one where there is none; `v` shows its type and name."""
        for item in self.inv:
            if item.given is given:
                return item.param
        v = given if v is None else v
        self.inv.append(Item(given, like(v), None if self.test is None else like(v)))
        return self.inv[-1].param


def replaced(graph: Graph, known: Mapping[Value, Any]) -> Graph:
    """The graph that reads other values, or constants, in place of some."""

    def now(v: Value) -> Any:
        return known.get(v, v)

    calls = [
        call.with_args(tuple([map_values(a, now) for a in call.args])) if any(v in known for v in call.reads) else call
        for call in graph.calls
    ]
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs])


def like(v: Value) -> Value:
    """A new value of the same type, name and origin."""
    made = Value(v.type, v.name)
    made.element, made.cotangent_of, made.over, made.sites = v.element, v.cotangent_of, v.over, v.sites
    return made


def is_stack(v: Any) -> bool:
    """Whether a value is a list with an item for each trip of a loop."""
    return isinstance(v, Value) and v.type.kind == STACK
