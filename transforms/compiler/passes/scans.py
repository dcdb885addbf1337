"""Scans taken apart and put together again, so that passes can change the values that one carries, stacks and reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, map_values
from ....runtime.ir.opcodes import STACK, Loop

__all__ = ["Carry", "Item", "Scan", "Stacked", "like", "replaced", "unchanged"]


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
    """An input of a trip: its own item of a stack, or a value that all trips read alike, which the test sees too."""

    given: Any
    param: Value
    asked: Value | None = None


@dataclasses.dataclass(eq=False)
class Stacked:
    """An item that a trip gives to a stack."""

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
        items = [*[c.param for c in self.carry], *[item.param for item in (*self.xs, *self.inv)]]
        outputs = [*[c.after for c in self.carry], *[y.value for y in self.ys]]
        return Graph([self.place, *items], self.calls, outputs)

    def made(self) -> Call:
        """The call of these parts."""
        old, call = self.loop, self.call
        test = self.test
        if test is not None:
            asked = [*[c.asked for c in self.carry], *[item.asked for item in self.inv]]
            test = Graph([v for v in asked if v is not None], test.calls, test.outputs)
        body, test = unchanged(self.body, old.body), test and unchanged(test, old.test)
        loop = old if body is old.body and test is old.test else Loop(body, test, old.reverse)
        carry = tuple([c.start for c in self.carry])
        xs, inv = (tuple([item.given for item in items]) for items in (self.xs, self.inv))
        args = (loop, carry, xs, inv, self.n)
        outs = (*[c.out for c in self.carry], *[y.out for y in self.ys], self.trips)
        if outs == call.outs and loop is old and all(map(_are, args[1:4], call.args[1:4])) and self.n is call.args[4]:
            return call
        return Call(call.op, args, outs, call.site, call.backward, call.quiet)

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


def unchanged(graph: Graph, old: Graph | None) -> Graph:
    """`old`, if both have the very same parts: so a graph that passes leave alone stays one and the same."""
    if old is None or graph.inputs != old.inputs or graph.calls != old.calls or not _are(graph.outputs, old.outputs):
        return graph
    return old


def _are(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


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
