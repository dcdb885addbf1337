"""Passes over loops and branches: each alone and all together, on graphs by hand and at random, to the same bits and errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.graph import Call, Graph, Value, interpret
from gradscribe.runtime.ir.opcodes import COND, regions_of
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.ops import shape_of
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import count_of, size_of
from gradscribe.transforms.compiler.driver import specialise
from gradscribe.transforms.compiler.driver.cache_key import cache_key
from gradscribe.transforms.compiler.passes import PASSES, optimise
from gradscribe.transforms.compiler.passes.cse import common_subexpressions
from gradscribe.transforms.compiler.passes.dead_code import dead_code
from gradscribe.transforms.compiler.passes.fast import FAST
from gradscribe.transforms.compiler.passes.invariants import invariants
from gradscribe.transforms.compiler.passes.regions import everywhere
from gradscribe.transforms.compiler.passes.rewrite import key_of
from gradscribe.transforms.compiler.schedule.signature import Signature

from region_programs import A, M, Random, Regions, arrays_in, loops_of, recurrence, same

EACH = sorted(set(PASSES), key=lambda run: run.__name__)


def calls_of(graph: Graph, inner: bool = True) -> list[str]:
    """The paths of the calls of a graph, those within its regions among them."""
    found: list[str] = []
    for call in graph.calls:
        found.append(call.op.path)
        if inner:
            found += [path for region in regions_of(call) for path in calls_of(region)]
    return found


# By hand: an affine recurrence h' = tanh(W h + x_t), and its reverse ---------------------------------------------------


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
    first, last = loops_of(found)
    assert not first.args[2]
    assert [xs.element.type.kind for xs in last.args[2]] == ["python", "python"], "sizes, and no arrays"
    asked = {call.op.base.fn for region in last.args[0][:1] for call in region.calls}
    assert asked.isdisjoint([shape_of, count_of])


def test_sizes_are_stacked_by_loops_in_loops() -> None:
    b = Regions(A, M)

    def inner(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        sorted_ = f.add(np.sort, f.add(np.concatenate, (carry[0], inv[0])))
        return [f.add(operator.add, carry[0], f.add(np.sum, sorted_))], [sorted_]

    def outer(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        end, stack, trips = f.scan(inner, [carry[0]], (), [f.add(operator.getitem, inv[0], t)], 3)
        return [end], [stack, trips]

    end, stack, trips, _ = b.scan(outer, [b.inputs[0]], (), [b.inputs[1]], 2)

    def inner_back(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        ones = f.add(np.broadcast_to, 1.5, f.add(shape_of, xs[0], quiet=True), quiet=True)
        return [f.add(operator.add, carry[0], f.add(np.sum, ones, quiet=True), quiet=True)], []

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        d_h, _ = f.scan(inner_back, [carry[0]], [xs[0]], (), xs[1], reverse=True, quiet=True)
        return [d_h], []

    d_h, _ = b.scan(backward, [end], [stack, trips], (), 2, reverse=True, quiet=True)
    graph = b.gives(end, d_h)
    found = optimise(graph)
    same(graph, found, b.concrete)
    lists = [xs.element.element for xs in loops_of(found)[-1].args[2] if xs.element.element is not None]
    assert [v.type.kind for v in lists] == ["python"], "a list of lists of shapes"


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
