"""Passes over loops and branches: each alone and all together, on graphs by hand and at random, to the same bits and errors."""

from __future__ import annotations

import operator
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from test_passes import Builder, bits

import gradscribe as gs
from gradscribe.runtime.ir import Call, Graph, Value, interpret, type_of
from gradscribe.runtime.ops import shape_of
from gradscribe.runtime.regions import COND, SCAN, STACK, Branch, Loop, cond, regions_of, scan, stack_value
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import count_of, size_of
from gradscribe.transforms.compiler import specialise
from gradscribe.transforms.compiler.cache_key import cache_key
from gradscribe.transforms.compiler.passes import FAST, PASSES, optimise
from gradscribe.transforms.compiler.passes.cse import common_subexpressions
from gradscribe.transforms.compiler.passes.dead_code import dead_code
from gradscribe.transforms.compiler.passes.invariants import invariants
from gradscribe.transforms.compiler.passes.regions import everywhere
from gradscribe.transforms.compiler.passes.rewrite import key_of
from gradscribe.transforms.compiler.text.signature import Signature
from gradscribe.transforms.compiler.verify import verify

EACH = sorted(set(PASSES), key=lambda run: run.__name__)
A = np.array([0.5, -1.25, 2.0])
M = np.arange(9.0).reshape(3, 3) / 7 - 0.4

Body = Callable[..., tuple[Sequence[Any], Sequence[Any]]]


class Regions(Builder):
    """A builder that knows loops and branches; their bodies are written down on the values of the first trip."""

    def put(self, op: Any, args: tuple[Any, ...], results: Sequence[Any], outs: Sequence[Value], quiet: bool) -> None:
        self.graph.calls.append(Call(op, args, tuple(outs), None, "tangents" if quiet else False, quiet))
        self.space.update(zip(outs, results, strict=True))

    def now(self, v: Any) -> Any:
        return self.space[v] if isinstance(v, Value) else v

    def scan(
        self, body: Body, carry: Sequence[Any], xs: Sequence[Value] = (), inv: Sequence[Any] = (), n: Any = None,
        test: Callable[..., Any] | None = None, reverse: bool = False, quiet: bool = False,
    ) -> tuple[Value, ...]:  # fmt: skip
        """A loop; `body(b, i, carry, xs, inv)` gives what is carried on and what is stacked."""
        first = [self.now(v) for v in carry]
        items = [self.now(x)[0] for x in xs]
        given = [self.now(v) for v in inv]
        inner = Regions(0, *first, *items, *given)
        k, m = len(carry), len(carry) + len(xs)
        own = inner.inputs[1:]
        for stack, param in zip(xs, own[k:m], strict=True):
            if stack.element.type.kind == STACK:
                param.type, param.element = stack.element.type, stack.element.element
        after, stacked = body(inner, inner.inputs[0], own[:k], own[k:m], own[m:])
        graph = inner.gives(*after, *stacked)
        asked = None
        if test is not None:
            asking = Regions(*first, *given)
            asked = asking.gives(test(asking, asking.inputs[:k], asking.inputs[k:]))
        loop = Loop(graph, asked, reverse)
        with np.errstate(all="ignore"):
            results = scan(loop, tuple(first), tuple([self.now(x) for x in xs]), tuple(given), self.now(n))
        outs = [Value(p.type, p.name) for p in own[:k]]
        outs += [stack_value(v if isinstance(v, Value) else Value(type_of(v))) for v in stacked]
        self.put(SCAN, (loop, tuple(carry), tuple(xs), tuple(inv), n), results, [*outs, Value(type_of(0))], quiet)
        return self.graph.calls[-1].outs

    def cond(
        self, pred: Any, then: Callable[..., Any], orelse: Callable[..., Any], ins: Sequence[Any]
    ) -> tuple[Value, ...]:
        """A branch; `then(b, ins)` gives its results."""
        given = [self.now(v) for v in ins]
        parts = []
        for side in (then, orelse):
            inner = Regions(*given)
            parts.append(inner.gives(*side(inner, inner.inputs)))
        branch = Branch(*parts)
        with np.errstate(all="ignore"):
            results = cond(branch, self.now(pred), tuple(given))
        outs = [
            Value(next(v.type if isinstance(v, Value) else type_of(v) for v in sides if v is not None))
            for sides in zip(*[part.outputs for part in parts], strict=True)
        ]
        self.put(COND, (branch, pred, tuple(ins)), results, outs, False)
        return self.graph.calls[-1].outs


def seen(value: Any) -> Any:
    return [seen(v) for v in value] if isinstance(value, list) else bits(value)


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, list):
        return [a for v in value for a in arrays_in(v)]
    return [value] if isinstance(value, np.ndarray) else []


def ran(graph: Graph, inputs: list[Any]) -> Any:
    """Results, the memory that they share with inputs and each other, and warnings; or the error."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            results = interpret(graph, inputs)
        except Exception as error:
            return type(error), str(error)
    each = [arrays_in(r) for r in results]
    given = [v for v in inputs if isinstance(v, np.ndarray)]
    shared = [[np.may_share_memory(a, v) for v in given] for arrays in each for a in arrays]
    among = [[any(np.may_share_memory(a, b) for a in one for b in other) for other in each] for one in each]
    lists = [[r is s for s in results if isinstance(s, list)] for r in results if isinstance(r, list)]
    return seen(results), shared, among, lists, {str(w.message).split(" encountered")[0] for w in caught}


def same(before: Graph, after: Graph, inputs: list[Any]) -> None:
    """Both graphs give the same bits, memory and errors, and `after` warns of nothing that `before` does not warn of."""
    verify(after, "the pass")
    expected, found = ran(before, inputs), ran(after, inputs)
    assert found[:-1] == expected[:-1]
    assert found[-1] <= expected[-1] if isinstance(expected[-1], set) else found == expected


def calls_of(graph: Graph, inner: bool = True) -> list[str]:
    """The paths of the calls of a graph, those within its regions among them."""
    found: list[str] = []
    for call in graph.calls:
        found.append(call.op.path)
        if inner:
            found += [path for region in regions_of(call) for path in calls_of(region)]
    return found


def loops_of(graph: Graph) -> list[Call]:
    return [call for call in graph.calls if call.op is SCAN]


# By hand: an affine recurrence h' = tanh(W h + x_t), and its reverse ---------------------------------------------------


def recurrence(n: int = 3) -> tuple[Regions, Graph]:
    """A forward loop that stacks far too much, and a reverse that reads it: as a VJP before the passes."""
    b = Regions(A, M, np.array([1.0, 2.0, -1.0]))
    h0, w, g = b.inputs

    def forward(f: Regions, t: Value, carry: Any, _: Any, inv: Any) -> Any:
        (h,), (w, x) = carry, inv
        row = f.add(operator.getitem, x, t)
        z = f.add(operator.add, f.add(operator.matmul, w, h), row)
        new = f.add(np.tanh, z)
        turned, minus = f.add(np.transpose, w), f.add(operator.neg, h)
        return [new], [h, new, turned, t, minus, w, row, f.add(np.expand_dims, new, 0)]

    end, *stacks, trips = b.scan(forward, [h0], (), [w, w], n)

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        (d_h, d_w), (h, new, turned, place, minus, w, row, wide) = carry, xs
        slope = f.add(operator.sub, 1.0, f.add(operator.mul, new, new, quiet=True), quiet=True)
        d_z = f.add(operator.mul, d_h, slope, quiet=True)
        d_w = f.add(operator.add, d_w, f.add(np.outer, d_z, minus, quiet=True), quiet=True)
        d_z = f.add(
            operator.add,
            d_z,
            f.add(operator.mul, place, f.add(operator.mul, row, h, quiet=True), quiet=True),
            quiet=True,
        )
        d_z = f.add(operator.add, d_z, f.add(np.sum, wide, axis=0, quiet=True), quiet=True)
        d_z = f.add(operator.add, d_z, f.add(np.diagonal, w, quiet=True), quiet=True)
        return [f.add(operator.matmul, turned, d_z, quiet=True), d_w], []

    zeros = b.add(np.zeros_like, w)
    d_h, d_w, _ = b.scan(backward, [g, zeros], stacks, (), trips, reverse=True, quiet=True)
    return b, b.gives(end, d_h, d_w)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_recurrence_stacks_one_thing(n: int) -> None:
    b, graph = recurrence(n) if n else recurrence(1)
    if not n:
        call = loops_of(graph)[0]
        graph.calls[graph.calls.index(call)] = call.with_args((*call.args[:4], 0))
    verify(graph, "the test")
    found = optimise(graph)
    same(graph, found, b.concrete)
    forward, backward = loops_of(found)
    assert len(forward.args[0].body.outputs) == 2, "the state alone is stacked"
    assert len(backward.args[2]) == 1
    assert len(backward.args[1]) == 3, "the state after a trip is carried backwards"


def test_a_body_linear_in_its_carry_remembers_nothing_but_the_count() -> None:
    """`while norm(b) < 1000: b = b * 2`: its reverse needs no stack."""
    b = Regions(A)

    def double(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        return [f.add(operator.mul, carry[0], 2.0)], [carry[0]]

    def small(f: Regions, carry: Any, inv: Any) -> Any:
        return f.add(operator.lt, f.add(np.sum, f.add(np.square, carry[0])), 1e6)

    end, stack, trips = b.scan(double, [b.inputs[0]], test=small)

    def halve(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        f.add(operator.mul, carry[0], xs[0], quiet=True)
        return [f.add(operator.mul, carry[0], 2.0, quiet=True)], []

    d_b, _ = b.scan(halve, [end], [stack], (), trips, reverse=True, quiet=True)
    graph = b.gives(end, d_b)
    found = optimise(graph)
    same(graph, found, b.concrete)
    forward, backward = loops_of(found)
    assert (len(forward.outs), backward.args[2]) == (2, ())
    assert backward.args[4] is forward.outs[-1]


def test_dead_code_takes_what_is_carried_stacked_and_given_for_nobody() -> None:
    b = Regions(A, A + 1, A + 2, A + 3)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        u, v, w = carry
        new = f.add(operator.mul, u, inv[0])
        return [f.add(operator.add, new, v), f.add(np.sin, v), f.add(operator.mul, w, inv[1])], [new, f.add(np.cos, w)]

    u, _, _, stack, _, _ = b.scan(body, b.inputs[:3], (), [b.inputs[1], b.inputs[3]], 4)
    graph = b.gives(u, stack)
    found = dead_code(graph)
    same(graph, found, b.concrete)
    loop, carry, _, inv, _ = loops_of(found)[0].args
    assert (len(carry), len(inv), len(loop.body.outputs)) == (2, 1, 3)
    assert calls_of(dead_code(b.gives(b.inputs[0]))) == []


def test_dead_code_keeps_a_loop_that_may_raise() -> None:
    b = Regions(M, A)

    def solving(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        f.add(np.linalg.solve, inv[0], carry[0])
        return [f.add(np.sin, carry[0])], []

    b.scan(solving, [b.inputs[1]], (), [b.inputs[0]], 2)
    assert calls_of(dead_code(b.gives(b.inputs[0]))) == ["scan", "np.linalg.solve", "np.sin"]


@pytest.mark.parametrize(("n", "kept"), [(3, 0), (2, 0), (4, 1), ("size", 0)])
def test_a_row_that_is_known_to_exist_does_not_keep_a_loop(n: Any, kept: int) -> None:
    b = Regions(M)
    count = b.add(size_of, b.inputs[0], 0) if n == "size" else 3

    def rows(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        before = f.add(operator.sub, t, 1)
        f.add(operator.getitem, inv[0], before)
        return [f.add(operator.add, carry[0], f.add(operator.getitem, inv[0], (t, slice(None))))], []

    b.scan(rows, [b.add(np.sum, b.inputs[0], axis=0)], (), [b.inputs[0]], count)
    if n != "size":
        call = b.graph.calls[-1]
        b.graph.calls[-1] = call.with_args((*call.args[:4], n))
    found = dead_code(b.gives(b.inputs[0]))
    assert len(loops_of(found)) == kept


def test_dead_code_in_branches() -> None:
    b = Regions(A, A + 1, A + 2)

    def then(f: Regions, ins: Any) -> Any:
        return [f.add(np.sin, ins[0]), f.add(np.cos, ins[1]), ins[0]]

    def orelse(f: Regions, ins: Any) -> Any:
        return [f.add(np.exp, ins[2]), ins[1], None]

    pred = b.add(operator.gt, b.add(np.sum, b.inputs[0]), 0.0)
    one, two, _ = b.cond(pred, then, orelse, b.inputs)
    for outputs, inputs, calls in ([one], 2, 2), ([two], 1, 1), ([one, two], 3, 3):
        graph = b.gives(*outputs)
        found = dead_code(graph)
        same(graph, found, b.concrete)
        branch = found.calls[-1].args[0]
        assert len(found.calls[-1].args[2]) == inputs
        assert len(calls_of(branch.then) + calls_of(branch.orelse)) == calls


def test_a_branch_that_may_raise_stays_though_nobody_reads_it() -> None:
    b = Regions(M)
    inverse = lambda f, ins: [f.add(np.linalg.inv, ins[0])]
    b.cond(b.add(operator.gt, b.add(np.sum, b.inputs[0]), 0.0), inverse, inverse, b.inputs)
    graph = b.gives(b.inputs[0])
    found = optimise(graph)
    same(graph, found, b.concrete)
    assert calls_of(found).count("np.linalg.inv") == 2


def test_what_a_loop_is_given_or_carries_twice_is_merged() -> None:
    b = Regions(A, A + 1)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        u, v, fixed, one = carry
        p, q, c = inv
        new = f.add(operator.add, f.add(operator.mul, u, p), f.add(operator.mul, v, q))
        new = f.add(operator.mul, f.add(operator.mul, new, c), f.add(operator.mul, fixed, one))
        return [new, new, fixed, one], [new, new]

    x, w = b.inputs
    u, v, fixed, one, *stacks, _ = b.scan(body, [x, x, w, 1.5], (), [w, w, 0.5], 3)

    def total(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        return [f.add(operator.add, carry[0], f.add(operator.mul, xs[0], xs[1]))], []

    end, _ = b.scan(total, [x], stacks)
    graph = b.gives(u, end, fixed, b.add(operator.mul, v, one))
    found = optimise(graph)
    same(graph, found, b.concrete)
    first, second = loops_of(found)
    assert (len(first.args[1]), len(first.outs)) == (1, 3)
    assert len(first.args[3]) == 2, "w, and what is computed of it and of 1.5"
    assert len(second.args[2]) == 1


@pytest.mark.parametrize(("start", "step", "asked", "left"), [(0, 1, 0, 1), (0, 2, 0, 2), (1, 1, 0, 2), (0, 1, 1, 2)])
def test_a_count_of_trips_is_the_place(start: int, step: int, asked: int, left: int) -> None:
    b = Regions(A)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        x, k = carry
        return [f.add(operator.add, x, k), f.add(operator.add, k, step)], []

    test = lambda f, carry, inv: f.add(operator.lt, carry[asked] if asked else f.add(np.sum, carry[0]), 9)
    x, k, _ = b.scan(body, [b.inputs[0], start], test=test)
    graph = b.gives(x, k)
    found = optimise(graph)
    same(graph, found, b.concrete)
    assert len(loops_of(found)[0].args[1]) == left


def test_two_lists_that_the_caller_sees_stay_two() -> None:
    b = Regions(A)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        new = f.add(np.sin, carry[0])
        return [new], [new, new]

    _, one, two, _ = b.scan(body, b.inputs, n=3)
    graph = b.gives(one, two)
    same(graph, optimise(graph), b.concrete)


def test_equal_loops_run_once() -> None:
    b = Regions(A)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        return [f.add(np.sin, carry[0])], []

    ends = [b.scan(body, b.inputs, n=n)[0] for n in (3, 3, 4)]
    graph = b.gives(b.add(operator.add, b.add(operator.add, ends[0], ends[1]), ends[2]))
    found = common_subexpressions(graph)
    same(graph, found, b.concrete)
    assert len(loops_of(found)) == 2


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("quiet", [False, True])
def test_invariants_leave_the_loop_where_nothing_can_be_seen_of_it(n: int, quiet: bool) -> None:
    b = Regions(np.array([0.0, 1.0, 2.0]), M)
    count = b.add(size_of, b.inputs[1], 0)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        x, m = inv
        one = f.add(operator.truediv, 1.0, x, quiet=quiet)  # warns of the 0
        turned = f.add(np.transpose, m)
        return [f.add(operator.add, f.add(operator.matmul, turned, carry[0]), one)], []

    end, _ = b.scan(body, [b.inputs[0]], (), [b.inputs[0], b.inputs[1]], count)
    graph = b.gives(end)
    found = invariants(graph)
    for rows in (M, M[:n]):
        same(graph, found, [b.concrete[0], rows])
    assert "np.transpose" in calls_of(found, inner=False)
    assert ("np.true_divide" in calls_of(found, inner=False) or "np.divide" in calls_of(found, inner=False)) is quiet


def test_memory_of_each_trip_stays_its_own_where_it_is_seen() -> None:
    b = Regions(A)

    def body(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        made = f.add(operator.neg, inv[0])
        return [f.add(operator.add, carry[0], made)], [made]

    end, stack, _ = b.scan(body, b.inputs, (), b.inputs, 3)
    graph = b.gives(end, stack)
    same(graph, optimise(graph), b.concrete)
    (made,) = interpret(optimise(b.gives(stack)), b.concrete)
    assert not np.shares_memory(made[0], made[1])
    assert calls_of(optimise(b.gives(end)), inner=False) == ["np.negative", "scan"]


def test_a_branch_of_a_known_condition_is_what_it_does() -> None:
    b = Regions(A)
    then, orelse = lambda f, ins: [f.add(np.sin, ins[0]), ins[0]], lambda f, ins: [f.add(np.cos, ins[0]), ins[0]]
    one, two = b.cond(True, then, orelse, b.inputs)
    pred = b.add(operator.gt, b.add(np.sum, b.inputs[0]), 0.0)
    three, four = b.cond(pred, then, orelse, [two])
    graph = b.gives(b.add(operator.add, one, three), b.add(np.exp, four))
    found = optimise(graph)
    same(graph, found, b.concrete)
    assert calls_of(found).count("cond") == 1
    assert len(next(call for call in found.calls if call.op is COND).outs) == 1, "one of them gives what it is given"


def test_what_is_asked_for_its_shape_alone_is_not_stacked() -> None:
    b = Regions(A, M)

    def forward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        (h,), (w,) = carry, inv
        wide = f.add(operator.matmul, w, w)
        z = f.add(np.concatenate, (h, f.add(np.sin, h)))
        half = f.add(operator.getitem, f.add(np.cos, z), slice(None, 3))
        return [f.add(operator.matmul, wide, half)], [h, z, f.add(np.negative, half)]

    end, *stacks, trips = b.scan(forward, b.inputs[:1], (), b.inputs[1:], 4)

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        h, z, half = xs
        total = f.add(operator.add, carry[0], f.add(np.zeros, f.add(shape_of, h), quiet=True), quiet=True)
        total = f.add(operator.add, total, f.add(count_of, z), quiet=True)
        (end,) = f.cond(
            True, lambda g, ins: [g.add(np.full, g.add(shape_of, ins[0]), 2.0)], lambda g, ins: [ins[0]], [half]
        )
        return [f.add(operator.add, total, end, quiet=True)], []

    d_h, _ = b.scan(backward, [end], stacks, (), trips, reverse=True, quiet=True)
    graph = b.gives(end, d_h)
    found = optimise(graph)
    same(graph, found, b.concrete)
    assert [call.args[2] for call in loops_of(found)] == [(), ()]


def test_nested_loops_are_relieved_from_within() -> None:
    """The inner stacks, which the outer loop stacks for its reverse, are those of the state alone."""
    b = Regions(A, M)

    def inner(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        row = f.add(operator.getitem, inv[0], t)
        new = f.add(np.tanh, f.add(operator.mul, carry[0], row))
        return [new], [carry[0], row, t, f.add(np.expand_dims, carry[0], 0)]

    def outer(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        end, *stacks, trips = f.scan(inner, [carry[0]], (), [inv[0]], 3)
        return [f.add(operator.add, end, f.add(operator.getitem, inv[0], t))], [*stacks, trips]

    end, *stacks, trips = b.scan(outer, [b.inputs[0]], (), [b.inputs[1]], 2)

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        old, row, place, wide = xs
        new = f.add(
            operator.mul,
            carry[0],
            f.add(operator.mul, row, f.add(operator.add, old, place, quiet=True), quiet=True),
            quiet=True,
        )
        return [f.add(operator.add, new, f.add(np.sum, wide, axis=0, quiet=True), quiet=True)], []

    def around(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        *stacks, count = xs
        return [f.scan(backward, carry, stacks, (), count, reverse=True, quiet=True)[0]], []

    d_x, _ = b.scan(around, [end], stacks, (), trips, reverse=True, quiet=True)
    graph = b.gives(end, d_x)
    verify(graph, "the test")
    found = optimise(graph)
    same(graph, found, b.concrete)
    assert len(loops_of(found)[1].args[2]) <= 2, "the inner states, and how many there are"


# What is the same from the outside ------------------------------------------------------------------------------------


def changed(change: Callable[[Call], Call], inner: Callable[[Graph], Graph] = lambda body: body) -> Graph:
    """The recurrence with another forward loop."""
    _, graph = recurrence()
    call = graph.calls[0]
    call = call.with_args((call.args[0]._replace(body=inner(call.args[0].body)), *call.args[1:]))
    return Graph(graph.inputs, [change(call), *graph.calls[1:]], graph.outputs)


def with_call(k: int, change: Callable[[Call], Call]) -> Callable[[Graph], Graph]:
    return lambda body: Graph(body.inputs, [change(c) if j == k else c for j, c in enumerate(body.calls)], body.outputs)


def same_call(call: Call) -> Call:
    return call


def with_test(call: Call) -> Call:
    test = Graph([Value(v.type) for v in (*call.args[1], *call.args[3])], [], [True])
    return call.with_args((call.args[0]._replace(test=test), *call.args[1:]))


VARIANTS: dict[str, Callable[[], Graph]] = {
    "as it is": lambda: changed(same_call),
    "another count": lambda: changed(lambda call: call.with_args((*call.args[:4], 4))),
    "in reverse": lambda: changed(lambda call: call.with_args((call.args[0]._replace(reverse=True), *call.args[1:]))),
    "with a test": lambda: changed(with_test),
    "another op": lambda: changed(
        same_call, with_call(3, lambda call: Call(require(np.sinh), require(np.sinh).bind(call.args[0]), call.outs))
    ),
    "another operand": lambda: changed(same_call, with_call(2, lambda call: call.with_args((call.args[0], call.args[0])))),
    "a constant": lambda: changed(same_call, with_call(2, lambda call: call.with_args((call.args[0], 1.0)))),
    "an int": lambda: changed(same_call, with_call(2, lambda call: call.with_args((call.args[0], 1)))),
    "without warnings": lambda: changed(
        same_call, with_call(2, lambda call: Call(call.op, call.args, call.outs, None, False, True))
    ),
    "other outputs": lambda: changed(
        same_call, lambda body: Graph(body.inputs, body.calls, [*body.outputs[:1], body.outputs[2], *body.outputs[2:]])
    ),
    "another start": lambda: changed(lambda call: call.with_args((call.args[0], (2.0,), *call.args[2:]))),
}  # fmt: skip


def test_keys_of_texts_tell_loops_apart_and_equal_ones_not() -> None:
    keys: dict[str, str | None] = {}
    for name, make in VARIANTS.items():
        for _ in range(2):
            graph = make()
            signature = Signature([f"x{k}" for k in range(3)], 3, list(graph.inputs), [], (0, 1, 2))
            key = cache_key(graph, signature, "f")
            assert key is not None
            assert keys.setdefault(name, key) == key, name
    assert len(set(keys.values())) == len(VARIANTS)


def test_equal_loops_are_told_by_what_they_do() -> None:
    found = {name: [key_of(make().calls[0].args[0]) for _ in range(2)] for name, make in VARIANTS.items()}
    assert all(one == other for one, other in found.values())
    alike = {"as it is", "another count", "another start"}  # whose loop is the same
    assert len({one for one, _ in found.values()}) == len(VARIANTS) - len(alike) + 1


def test_a_dump_shows_regions() -> None:
    b, graph = recurrence()
    text = optimise(graph).text({})
    assert "scan(carry=(%0,), inv=(%1," in text
    assert "\n    body:\n        inputs: " in text
    assert "reverse scan(" in text
    assert "list of float64[3]" in text
    pred = b.add(operator.gt, b.add(np.sum, b.inputs[0]), 0.0)
    b.cond(pred, lambda f, ins: [ins[0]], lambda f, ins: [f.add(np.sin, ins[0])], b.inputs[:1])
    assert "\n    then:\n" in str(b.graph)
    assert "\n    orelse:\n" in str(b.graph)


# At random -------------------------------------------------------------------------------------------------------------


class Random:
    """Writes graphs down at random, with loops in loops and branches; the pool holds arrays of three, scalars and ints."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def array(self, b: Regions, pool: list[Value]) -> Value:
        return self.choose.choice([v for v in pool if v.type.kind == "array" and v.type.shape == (3,)])

    def number(self, pool: list[Value]) -> Any:
        scalars = [v for v in pool if v.type.kind == "scalar" or (v.type.kind == "python" and v.type.shape == ())]
        return self.choose.choice([*scalars, 2.0, -1.0, 1, 0.5])

    def calls(self, b: Regions, pool: list[Value], count: int, depth: int, quiet: bool = False) -> None:
        """Write some calls down; what they give goes into the pool."""
        for _ in range(count):
            x, y, c = self.array(b, pool), self.array(b, pool), self.number(pool)
            stacks = [v for v in pool if v.type.kind == "stack" and b.now(v) and v.element.type.shape == (3,)]  # type: ignore[union-attr]
            kinds = ["unary", "unary", "binary", "binary", "scaled", "sum", "view", "row", "twice", "matmul", "size"]
            kind = self.choose.choice(
                kinds + ["loop", "branch"] * 2 * (depth > 0) + ["reverse"] * 3 * bool(stacks and depth)
            )
            if kind == "unary":
                fn = self.choose.choice([np.sin, np.tanh, operator.neg, np.square, np.sqrt, np.exp])
                pool.append(b.add(fn, x, quiet=quiet))
            elif kind == "binary":
                fn = self.choose.choice([operator.add, operator.mul, operator.sub, operator.truediv, np.maximum])
                pool.append(b.add(fn, x, y, quiet=quiet))
            elif kind == "scaled":
                pool.append(b.add(self.choose.choice([operator.mul, operator.add]), x, c, quiet=quiet))
            elif kind == "sum":
                pool.append(b.add(self.choose.choice([np.sum, np.mean, np.max]), x, quiet=quiet))
            elif kind == "view":
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                pool.append(b.add(np.transpose, self.choose.choice(square)))
                pool.append(b.add(operator.getitem, x, slice(None, None, -1)))
            elif kind == "row":
                places = [v for v in pool if v.type.kind == "python" and v.type.dtype.kind == "i"]
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                t: Any = self.choose.choice([*places, 1])
                if abs(b.now(t)) < 3:
                    pool.append(b.add(operator.getitem, self.choose.choice(square), t))
            elif kind == "twice":
                fn = self.choose.choice([np.sin, operator.neg])
                pool += [b.add(fn, x, quiet=quiet), b.add(fn, x, quiet=quiet)]
            elif kind == "size":
                pool.append(b.add(count_of, x))
            elif kind == "matmul":
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                pool.append(b.add(operator.matmul, self.choose.choice(square), x, quiet=quiet))
            elif kind == "branch":
                self.branch(b, pool, depth - 1)
            else:
                self.loop(b, pool, depth - 1, stacks if kind == "reverse" else [])

    def branch(self, b: Regions, pool: list[Value], depth: int) -> None:
        ins = [*pool[:2], pool[1], *[v for v in pool if v.type.kind != "stack" and self.choose.random() < 0.6]]
        gives = self.choose.randrange(1, 4)

        def side(f: Regions, params: list[Value]) -> Any:
            own = list(params)
            self.calls(f, own, 3, depth)
            found: list[Any] = [self.flat(f, own) for _ in range(gives)]
            return found if self.choose.random() < 0.7 else [*found[:-1], params[1]]

        pred = b.add(operator.gt, b.add(np.sum, self.array(b, pool)), 0.0)
        pool.extend(b.cond(self.choose.choice([pred, pred, pred, True]), side, side, ins))

    def flat(self, b: Regions, pool: list[Value]) -> Value:
        """An array in C order, of what is not seen whether it is."""
        v = self.array(b, pool)
        return v if v.type.strides == (8,) else b.add(np.copy, v)

    def loop(self, b: Regions, pool: list[Value], depth: int, stacks: list[Value]) -> None:
        inv = [*pool[:2], pool[1], 0.5, *[v for v in pool if v.type.kind != "stack" and self.choose.random() < 0.5]]
        carry: list[Any] = [self.flat(b, pool) for _ in range(self.choose.randrange(1, 4))]
        carry += [0] * (self.choose.random() < 0.5)
        first = self.choose.choice(stacks) if stacks else None
        beside = [
            v for call in b.graph.calls if first in call.outs for v in call.outs
        ] or stacks  # of one length, for sure
        xs = [v for v in stacks if v is first or (v in beside and first in beside and beside is not stacks)]
        reverse = bool(xs) and self.choose.random() < 0.8
        quiet = reverse

        def body(f: Regions, t: Value, params: Any, items: Any, given: Any) -> Any:
            own = [*given, t, *params, *items]
            self.calls(f, own, self.choose.randrange(2, 7), depth, quiet)
            arrays = [p for p in params if p.type.kind == "array"]
            after: list[Any] = [self.choose.choice([self.flat(f, own), self.flat(f, own), p]) for p in arrays]
            after += [f.add(operator.add, p, 1) for p in params[len(arrays) :]]
            ys = [
                v
                for v in (self.array(f, own), self.array(f, own), *params[:1], *after[:1], t)
                if self.choose.random() < 0.6
            ]
            return after, ys

        test = None
        if not xs and self.choose.random() < 0.3 and len(carry) > 1 and carry[-1] == 0:
            most = self.choose.randrange(4)
            test = lambda f, params, given: f.add(operator.lt, params[-1], f.add(operator.add, most, 0))
        n: Any = None if xs or (test and self.choose.random() < 0.5) else self.choose.choice([0, 1, 2, 3, 3])
        pool.extend(b.scan(body, carry, xs, inv, n, test, reverse, quiet))

    def graph(self) -> Regions:
        b = Regions(M, A, A[::-1].copy(), np.float64(0.7))
        pool = list(b.inputs)
        self.calls(b, pool, 8, 2)
        picked = [v for v in pool[4:] if self.choose.random() < 0.4] or pool[-1:]
        b.gives(*dict.fromkeys(picked))
        return b


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    b = Random(seed).graph()
    verify(b.graph, "the test")
    for inputs in b.concrete, [M[::-1], A * 0, -A, np.float64(np.inf)]:
        for each in EACH:
            same(b.graph, everywhere(each)(b.graph.copy()), inputs)
        same(b.graph, optimise(b.graph.copy()), inputs)


def test_random_graphs_have_what_is_to_be_tested() -> None:
    """Of all loops a part walks stacks of others, some are nested, and passes change most of them."""
    graphs = [Random(seed).graph().graph for seed in range(100)]
    loops = [call for graph in graphs for call in loops_of(graph)]
    assert sum(bool(call.args[2]) for call in loops) > 20
    assert sum("scan" in calls_of(call.args[0].body) for call in loops) > 20
    assert sum(call.args[0].test is not None for call in loops) > 10


@pytest.mark.parametrize("seed", range(30))
def test_fast_passes_leave_alone_what_decides(seed: int) -> None:
    b = Random(seed).graph()
    with np.errstate(all="ignore"):
        before, after = interpret(b.graph, b.concrete), interpret(optimise(b.graph, fastmath=True), b.concrete)
    for v, w in zip(before, after, strict=True):
        for x, y in zip(arrays_in(v), arrays_in(w), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-9)
    assert FAST


# Functions -------------------------------------------------------------------------------------------------------------


def forked(x: Any, w: Any) -> Any:
    h = x
    for t in range(len(w)):
        h = np.tanh(h * w[t])
    k = int(np.sum(x) > 0)
    return np.sum(h) if k == 1 else np.sum(h * h)


def test_paths_have_the_loops_in_common_that_they_share() -> None:
    gradient = gs.value_and_grad(forked)
    compiled = gs.compile(gradient, verify="first calls")
    for x in (A, -A, A * 2, -A * 2):
        for n in (12, 20, 0, 1):
            w = np.linspace(0.1, 0.9, n)
            for one, other in zip(gradient(x, w), compiled(x, w), strict=True):
                np.testing.assert_array_equal(one, other)
    text = compiled.specialisation(A, np.ones(12)).text
    code = [line.partition("#")[0] for line in text.splitlines()]
    assert sum("np.tanh(" in line for line in code) == 1
    assert sum("for t in" in line for line in code) == 3, "one forward, and a reverse for each path"


def test_texts_of_loops_are_kept_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path))
    written: list[str] = []
    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: written.append(emit(*args)) or written[-1])
    for how in (None, "sqrt", None, "sqrt"):
        gs.compile(gs.grad(forked), verify="first calls", loop_memory=how)(A, np.linspace(0.1, 0.9, 20))
    assert len(set(written)) == len(written) == 2
