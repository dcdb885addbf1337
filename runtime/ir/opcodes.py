"""Loops, branches and functions as ops of the IR: `scan` and `cond`, whose arguments hold graphs, and how they run."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...unpatched import np
from ..memory import NEW
from ..ops import Kind, Op
from ..result_types import UNKNOWN
from .graph import Call, Graph, Type, Value, interpret, map_values, type_of

__all__ = [
    "AND", "COND", "ITEMS", "LISTED", "NOT", "OR", "PARTS", "ROWS", "SCAN", "STACK", "STACK_OPS",
    "Branch", "Function", "Loop", "all_calls", "cond", "copied",
    "element_type", "function_of", "graphs_in", "has_effects", "interpret_all", "is_effect", "is_region", "regions_of",
    "scan", "stack_value", "with_regions",
]  # fmt: skip


class Loop(NamedTuple):
    """The body and the test of a `scan`: closed graphs, which read their own inputs alone.

    `body` takes (i, *carry, *x_i, *inv) and gives (*carry, *y_i); `test`, asked before each trip, takes (*carry, *inv) and
    gives one truth value. Where `reverse` holds, i goes from n - 1 down to 0, and x_i and y_i are still those of place i.
    """

    body: Graph
    test: Graph | None = None
    reverse: bool = False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        parts = [f"body={self.body}"] + [f"test={self.test}"] * (self.test is not None)
        return f"<{'reverse ' * self.reverse}loop {', '.join(parts)}>"


class Branch(NamedTuple):
    """The arms of a `cond`: two closed graphs of the same inputs, with as many outputs; None where one gives nothing."""

    then: Graph
    orelse: Graph

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<branch then={self.then}, orelse={self.orelse}>"


class Function:
    """A closed graph under a name, which several calls run: a function of generated text."""

    def __init__(
        self, name: str, graph: Graph, purpose: str, run: Callable[[Graph, list[Any]], list[Any]] = interpret
    ) -> None:
        self.__name__ = name
        self.graph = graph
        self.purpose = purpose  # what it computes, in a sentence
        self.run = run

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [v.name or "" for v in self.graph.inputs]

    def __call__(self, *inputs: Any) -> Any:
        """Run it: one result, or a tuple of them."""
        results = self.run(self.graph, list(inputs))
        return tuple(results) if len(results) > 1 else results[0]


STACK = "stack"  # the kind of a value that is a list: one item for each trip
_OBJECT = type_of(()).dtype


def stack_value(element: Value) -> Value:
    """A value that holds one `element` for each trip of a loop."""
    made = Value(Type(STACK, _OBJECT, (), ()), element.name)
    made.element = element
    return made


def element_type(stack: Value) -> Type:
    """The type of what a stack holds."""
    assert stack.element is not None
    return stack.element.type


def scan(
    loop: Loop, carry: tuple[Any, ...], xs: tuple[Any, ...] = (), inv: tuple[Any, ...] = (), n: Any = None,
    run: Callable[[Graph, list[Any]], list[Any]] = interpret,
) -> tuple[Any, ...]:  # fmt: skip
    """Run a loop: (*carry, *ys, trips), where `xs` and the ys are lists and `trips` is an int.

    It runs `n` times, or while the test holds (or both, whichever ends first); with neither, as often as xs has items.
    """
    if n is None and loop.test is None:
        n = len(xs[0])
    places: Iterable[int] = itertools.count() if n is None else range(n)
    if loop.reverse:
        places = reversed(range(n))
    k = len(carry)
    n_ys = len(loop.body.outputs) - k
    ys: list[list[Any]] = [[] for _ in range(n_ys)]
    trips = 0
    for i in places:
        if loop.test is not None and not run(loop.test, [*carry, *inv])[0]:
            break
        results = run(loop.body, [i, *carry, *[x[i] for x in xs], *inv])
        carry = tuple(results[:k])
        for stack, y in zip(ys, results[k:], strict=True):
            stack.append(y)
        trips += 1
    if loop.reverse:
        ys = [stack[::-1] for stack in ys]
    return (*carry, *ys, trips)


def cond(
    branch: Branch, pred: Any, ins: tuple[Any, ...] = (), run: Callable[[Graph, list[Any]], list[Any]] = interpret
) -> tuple[Any, ...]:
    """Run one of two graphs, by the truth of `pred`."""
    return tuple(run(branch.then if pred else branch.orelse, list(ins)))


def both(x: Any, y: Any) -> Any:
    """`x and y`, of two values."""
    return x and y


def either(x: Any, y: Any) -> Any:
    """`x or y`, of two values."""
    return x or y


def rows(xs: list[Any], axis: int = 0) -> Any:
    """The items of a list as an array, side by side along an axis."""
    return np.stack(xs, axis)


def listed(items: tuple[Any, ...]) -> list[Any]:
    """The items as a list, for a loop to walk."""
    return list(items)


# Not in the table: nobody calls these, and how loops are differentiated is the transforms' business.
SCAN = Op(scan, "loop, carry, xs=(), inv=(), n=None", Kind.loop, path="scan", n_out=None, may_raise=True, types=UNKNOWN)
COND = Op(cond, "branch, pred, ins=()", Kind.loop, path="cond", n_out=None, may_raise=True, types=UNKNOWN)
AND = Op(both, "x, y", Kind.opaque, path="and", types=UNKNOWN, vjps={"x": None, "y": None})
OR = Op(either, "x, y", Kind.opaque, path="or", types=UNKNOWN, vjps={"x": None, "y": None})
ROWS = Op(
    rows, "xs, axis=0", Kind.opaque, path="np.stack", may_raise=True, memory=NEW, types=UNKNOWN, vjps={"xs": None}
)
ITEMS = Op(list, "x", Kind.opaque, path="list", types=UNKNOWN, vjps={"x": None})
LISTED = Op(listed, "items", Kind.opaque, path="listed", types=UNKNOWN, vjps={"items": None})
PARTS = Op(tuple, "xs", Kind.opaque, path="tuple", n_out=None, types=UNKNOWN, vjps={"xs": None})
STACK_OPS = (ROWS, ITEMS, LISTED, PARTS)  # which make a list of others, or others of a list
NOT = Op(operator.not_, "x", Kind.opaque, path="not", vjps={"x": None})


def is_region(call: Any) -> bool:
    """Whether a call holds graphs."""
    return call.op is SCAN or call.op is COND


def regions_of(call: Any) -> list[Graph]:
    """The graphs that a call holds."""
    if call.op is SCAN:
        loop: Loop = call.args[0]
        return [loop.body] if loop.test is None else [loop.test, loop.body]
    return [call.args[0].then, call.args[0].orelse] if call.op is COND else []


def with_regions(call: Any, parts: list[Graph]) -> Any:
    """The call with other graphs, in the order of `regions_of`."""
    if call.op is SCAN:
        return call.with_args((Loop(parts[-1], parts[0] if parts[1:] else None, call.args[0].reverse), *call.args[1:]))
    return call.with_args((Branch(*parts), *call.args[1:])) if parts else call


def function_of(call: Call) -> Function | None:
    """The function of generated text that a call runs; None where it runs an op of NumPy's or ours."""
    return call.op.fn if isinstance(call.op.fn, Function) else None


def all_calls(graph: Graph) -> Iterator[Call]:
    """The calls of a graph, those of its regions among them."""
    for call in graph.calls:
        yield call
        if is_region(call):
            for region in regions_of(call):
                yield from all_calls(region)


def graphs_in(call: Call) -> list[Graph]:
    """The graphs that a call runs: its regions, or that of a function of generated text."""
    function = function_of(call)
    return regions_of(call) if function is None else [function.graph]


def interpret_all(graph: Graph, inputs: list[Any], seen: Callable[[Call, tuple[Any, ...]], None]) -> list[Any]:
    """Run a graph as `interpret` does, and tell `seen` of the calls within loops, branches and functions, too, at each trip."""

    def run(inner: Graph, values: list[Any]) -> list[Any]:
        return interpret_all(inner, values, seen)

    def run_of(call: Call) -> Callable[..., Any]:
        function = function_of(call)
        if function is not None:
            return Function(function.__name__, function.graph, function.purpose, run)
        return functools.partial(call.op.fn, run=run) if is_region(call) else call.op.fn

    return interpret(graph, inputs, seen, run_of)


def has_effects(graph: Graph) -> bool:
    """Whether anything in a graph can be seen from outside: it draws, prints or writes."""
    return any(map(is_effect, graph.calls))


def is_effect(call: Call) -> bool:
    """Whether a call has an effect, or is a loop or a branch that holds one which does."""
    return call.op.effect or (is_region(call) and any(map(has_effects, regions_of(call))))


def copied(graph: Graph, value: Callable[[Value], Value]) -> Graph:
    """The graph with `value` of each of its values in their place, those of its regions among them."""

    def copy(call: Call) -> Call:
        parts = [copied(region, value) for region in regions_of(call)]
        args = tuple([map_values(a, value) for a in with_regions(call, parts).args])
        return Call(call.op, args, tuple(map(value, call.outs)), call.site, call.backward, call.quiet)

    return Graph(
        list(map(value, graph.inputs)), list(map(copy, graph.calls)), [map_values(v, value) for v in graph.outputs]
    )
