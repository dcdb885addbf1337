"""Each pass alone, on graphs by hand and at random: the same bits, types and memory; and the verifier's every word."""

from __future__ import annotations

import operator
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.graph import Call, Graph, Type, Value, type_of, values_in
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.ops import MISSING
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import count_of, guard, size_of
from gradscribe.runtime.rules.indexing import index_add, place
from gradscribe.runtime.rules.linalg import shared_matmul
from gradscribe.transforms.compiler.passes import PASSES, optimise
from gradscribe.transforms.compiler.passes.cse import common_subexpressions
from gradscribe.transforms.compiler.passes.dead_code import dead_code
from gradscribe.transforms.compiler.passes.folding import fold_constants
from gradscribe.transforms.compiler.passes.identities import identities
from gradscribe.transforms.compiler.passes.means import SMALL, means
from gradscribe.transforms.compiler.passes.placing import placing
from gradscribe.transforms.compiler.passes.scaling import scaling
from gradscribe.transforms.compiler.passes.shapes import shapes
from gradscribe.transforms.compiler.passes.sharing import sharing
from gradscribe.transforms.compiler.passes.spreading import spreading
from gradscribe.transforms.compiler.schedule import reuse

from graphs import Builder, bits, check_types, run

EACH = sorted(set(PASSES), key=lambda run: run.__name__)


ODD = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan])


def paths(graph: Graph) -> list[str]:
    return [call.op.path for call in graph.calls]


def same(before: Graph, after: Graph, inputs: list[Any]) -> None:
    """Both graphs give the same, and after warns of nothing that before does not warn of."""
    expected, found = run(before, inputs), run(after, inputs)
    assert found[0] == expected[0]
    assert found[1] == expected[1], "results share other memory with the inputs"
    assert found[2] == expected[2], "results share other memory with one another"
    assert found[3] <= expected[3]
    check_types(after, inputs)


# By hand -------------------------------------------------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3) - 2


def test_dead_code_keeps_what_is_read_and_what_can_raise() -> None:
    b = Builder(A, np.eye(2))
    kept = b.add(np.sin, b.inputs[0])
    b.add(np.cos, kept)
    b.add(np.linalg.inv, b.inputs[1])
    test = b.add(operator.gt, 1.0, 0.5)
    b.add(guard, test, "bool", True)
    graph = b.gives(kept)
    found = dead_code(graph)
    assert paths(found) == ["np.sin", "np.linalg.inv", "operator.gt", "guard"] or len(found.calls) == 4
    same(graph, found, b.concrete)


def test_dead_code_keeps_an_index_that_can_be_out_of_range() -> None:
    b = Builder(A, np.array([0, 1]))
    b.add(operator.getitem, b.inputs[0], b.inputs[1])
    b.add(operator.getitem, b.inputs[0], (slice(None), 0))
    assert len(dead_code(b.gives(b.inputs[0])).calls) == 1


def test_common_subexpressions() -> None:
    b = Builder(A)
    x = b.inputs[0]
    one, two = b.add(np.exp, x), b.add(np.exp, x)
    other = b.add(np.sum, x, axis=0)
    graph = b.gives(b.add(operator.mul, one, two), b.add(operator.mul, other, b.add(np.sum, x, axis=1, keepdims=True)))
    found = common_subexpressions(graph)
    assert paths(found).count("np.exp") == 1
    assert paths(found).count("np.sum") == 2
    same(graph, found, b.concrete)


def test_common_subexpressions_tell_constants_apart() -> None:
    for c, d in ((0.0, -0.0), (1, 1.0), (1, True), (np.float64(1), 1.0), (np.float32(1), np.float64(1))):
        b = Builder(A.astype(np.float32))
        x = b.inputs[0]
        graph = b.gives(b.add(operator.add, b.add(operator.mul, x, c), b.add(operator.mul, x, d)))
        assert len(common_subexpressions(graph).calls) == 3, (c, d)


def test_common_subexpressions_keep_memory_apart_that_the_caller_sees() -> None:
    b = Builder(A)
    graph = b.gives(b.add(np.exp, b.inputs[0]), b.add(np.exp, b.inputs[0]))
    found = common_subexpressions(graph)
    assert len(found.calls) == 2
    same(graph, found, b.concrete)


def test_common_subexpressions_keep_the_users_warning() -> None:
    b = Builder(np.zeros((2, 3)))
    x = b.inputs[0]
    quiet = b.add(operator.truediv, 1.0, x, quiet=True)
    loud = b.add(operator.truediv, 1.0, x)
    graph = b.gives(b.add(operator.add, b.add(np.sum, quiet), b.add(np.sum, loud)))
    assert run(common_subexpressions(graph), b.concrete)[3] == {"divide by zero"}


def test_folding() -> None:
    b = Builder(A)
    two = b.add(operator.add, 1.0, 1.0)
    three = b.add(np.add, np.float32(1), np.float32(2))
    graph = b.gives(b.add(operator.mul, b.inputs[0], two), three)
    found = fold_constants(graph)
    assert len(found.calls) == 1
    assert type(found.outputs[1]) is np.float32
    same(graph, found, b.concrete)


@pytest.mark.parametrize(
    "args", [(operator.truediv, np.float64(1), np.float64(0)), (np.log, np.float64(-1)), (np.exp, np.float64(1e4))]
)
def test_folding_leaves_what_warns_to_the_users_line(args: tuple[Any, ...]) -> None:
    b = Builder(A)
    graph = b.gives(b.add(*args))
    assert len(fold_constants(graph).calls) == 1


def test_identities() -> None:
    b = Builder(A)
    y = b.add(np.exp, b.inputs[0])
    z = b.add(operator.truediv, b.add(operator.mul, b.add(operator.mul, y, 1.0), 1), np.float64(1))
    graph = b.gives(b.add(np.sum, z))
    found = dead_code(identities(graph))
    assert paths(found) == ["np.exp", "np.sum"]
    same(graph, found, b.concrete)


@pytest.mark.parametrize(
    ("values", "op", "constant"),
    [
        (A, operator.add, 0.0), (A, operator.add, -0.0), (A, operator.sub, 0.0), (A, operator.mul, 0.0), (A, operator.mul, -1.0),
        (A, operator.mul, True), (A.astype(int), operator.mul, 1.0), (A > 0, operator.mul, 1),
        (A.astype(int), operator.truediv, 1),
        (A.astype(np.float32), operator.mul, np.float64(1)), (A + 1j, operator.mul, 1),
        (np.full((2, 3), np.inf) + 1j, operator.truediv, 1.0),
        (A, operator.pow, 1), (A, operator.floordiv, 1),
    ],
)  # fmt: skip
def test_what_is_no_identity(values: Any, op: Any, constant: Any) -> None:
    odd = np.where(np.asarray(values) == 0, np.zeros((), values.dtype), values)
    if odd.dtype.kind in "fc":
        odd = np.concatenate([odd, np.array([[-0.0, np.inf, np.nan]]).astype(odd.dtype)])
    with np.errstate(all="ignore"):
        b = Builder(odd)
        graph = b.gives(
            b.add(
                np.negative, b.add(op, b.add(np.positive, b.inputs[0]) if odd.dtype != bool else b.inputs[0], constant)
            )
        )
        same(graph, identities(graph), b.concrete)


def test_identities_leave_the_caller_memory_of_its_own() -> None:
    for last in (None, np.ravel, np.transpose, np.real, np.squeeze, np.asarray, np.atleast_1d, np.ascontiguousarray):
        b = Builder(A)
        y = b.add(operator.mul, b.inputs[0], 1.0)
        graph = b.gives(y if last is None else b.add(last, y))
        same(graph, identities(graph), b.concrete)


def test_what_was_computed_for_a_product_by_one_is_returned_in_its_place() -> None:
    b = Builder(A)
    y, z = b.add(np.exp, b.inputs[0]), b.add(np.sin, b.inputs[0])
    graph = b.gives(b.add(operator.mul, 1.0, y), b.add(operator.mul, z, 1.0), b.add(np.cos, z))
    found = identities(graph)
    assert [call.op.title for call in found.calls] == ["Exp", "Sin", "Mul", "Cos"]
    same(graph, found, b.concrete)


def test_a_copy_of_a_spread_number_is_filled() -> None:
    for number, expected in (
        (1.0, ["np.full"]),
        (np.float32(2.0), ["np.full"]),
        (A[0], ["np.broadcast_to", "np.copy"]),
    ):
        b = Builder(A)
        graph = b.gives(b.add(np.copy, b.add(np.broadcast_to, number, A.shape)))
        found = dead_code(identities(graph))
        assert paths(found) == expected
        same(graph, found, b.concrete)


def test_two_flips_along_the_same_axes_cancel() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.flip(np.flip(x * 2.0, 0), 0)[1:] * x[1:]) + np.sum(np.flip(np.flip(x, 0), 1))

    x = np.arange(6.0).reshape(2, 3)
    assert "(x * 2.0)[1:] * x[1:]).sum() + np.flip(np.flip(x, axis=0), axis=1)" in gs.source(f, x)
    assert gs.compile(f)(x) == f(x)


def test_two_transposes_cancel() -> None:
    b = Builder(A)
    once = b.add(np.transpose, b.inputs[0])
    twice = b.add(np.transpose, once)
    graph = b.gives(b.add(np.exp, twice), b.add(np.exp, once))
    after = identities(graph)
    assert paths(after) == ["np.transpose", "np.exp", "np.exp"]
    same(graph, after, b.concrete)
    seen = b.gives(twice)
    assert paths(identities(seen)) == paths(seen)  # the caller gets the view that eager gives


def test_a_sum_over_every_axis_in_the_backward_part_names_none() -> None:
    b = Builder(A)
    for axis in ((0, 1), (-1, 0), 0, None, (0,)):
        b.add(np.sum, b.inputs[0], axis=axis)
    b.add(np.sum, b.inputs[0], axis=(0, 1), keepdims=True)
    for call in b.graph.calls:
        call.backward = True
    graph = b.gives(*[call.outs[0] for call in b.graph.calls])
    after = identities(graph)
    assert [call.args[1] for call in after.calls] == [None, None, 0, None, (0,), (0, 1)]
    same(graph, after, b.concrete)


def test_a_choice_that_can_go_one_way_only_is_none() -> None:
    b = Builder(ODD)
    never = b.add(operator.and_, np.False_, b.add(operator.eq, b.inputs[0], 0.0))
    graph = b.gives(b.add(np.exp, b.add(np.where, never, 0, b.add(operator.sub, b.inputs[0], 1.0))))
    after = dead_code(identities(graph))
    assert "np.where" not in paths(after)
    same(graph, after, b.concrete)


def test_a_choice_that_can_go_both_ways_is_left() -> None:
    b = Builder(ODD)
    x = b.inputs[0]
    nought = b.add(operator.eq, x, 0.0)
    never = b.add(operator.and_, np.False_, nought)
    for condition, other in (
        (b.add(operator.and_, np.True_, nought), b.add(np.exp, x)), (never, 1.0), (never, b.add(np.sum, x)),
    ):  # fmt: skip
        graph = b.gives(b.add(np.exp, b.add(np.where, condition, 0, other)))
        assert "np.where" in paths(identities(graph))
        same(graph, identities(graph), b.concrete)


def test_nought_taken_away_is_left_out() -> None:
    b = Builder(ODD)
    for nought in (0.0, -0.0, 0):
        graph = b.gives(b.add(np.exp, b.add(operator.sub, b.inputs[0], nought)))
        assert ("np.subtract" in paths(identities(graph))) == (str(nought) != "0.0")
        same(graph, identities(graph), b.concrete)


def test_nought_added_to_a_size_is_left_out() -> None:
    b = Builder(A)
    size = b.add(size_of, b.inputs[0], 0)
    graph = b.gives(b.add(operator.add, 0, size), b.add(operator.add, b.inputs[0], 0))
    both = b.add(operator.mul, b.add(operator.add, size, 0), 2)
    inner = b.gives(both)
    assert paths(inner).count("np.add") == 3
    assert paths(identities(inner)).count("np.add") == 1
    same(graph, identities(graph), b.concrete)
    same(inner, identities(inner), b.concrete)


def test_a_spread_number_that_meets_an_array_in_another_order_keeps_eagers_strides() -> None:
    def sums(x: Any) -> Any:
        return np.sum((x * 0.5).T * 1.3) + np.sum(-x * 2.3)

    def turned(x: Any) -> Any:
        return np.sum(-x * 2.3) + np.sum((x * 0.5).T * 1.3)

    x = np.linspace(0.5, 1.5, 6).reshape(2, 3)
    for f in (sums, turned):
        compiled, eager = gs.compile(gs.grad(f)), gs.grad(f)(x)
        for _ in range(3):  # a warning that it runs eagerly would be an error
            assert (bits(compiled(x)), compiled(x).strides) == (bits(eager), eager.strides)


def test_spread_numbers_go_into_selections_and_places() -> None:
    condition = A > 0
    b = Builder(A, condition, condition[0])
    spread = b.add(np.broadcast_to, np.float64(0.5), (2, 3))
    halved = b.add(operator.truediv, spread, 2)
    chosen = b.add(np.where, b.inputs[1], halved, 0)
    placed = b.add(place, spread, (slice(0, 2),), (4, 3), np.dtype(np.float64))
    added = b.add(index_add, placed, (slice(0, 2),), spread)
    narrow = b.add(np.where, b.inputs[2], spread, 0)
    graph = b.gives(chosen, added, narrow)
    after = dead_code(spreading(graph))
    calls = {call.op.name: call for call in after.calls}
    assert not any(isinstance(a, Value) and a.type.shape for a in (calls["place"].args[0], calls["index_add"].args[2]))
    assert calls["broadcast_to"].outs[0] in calls["where"].reads  # a condition of another shape keeps it
    assert paths(after).count("np.broadcast_to") == 1
    same(graph, after, b.concrete)


def test_a_number_with_more_axes_is_a_number() -> None:
    b = Builder(A)
    number = b.add(np.expand_dims, np.float64(0.5), (0, 1))
    graph = b.gives(b.add(operator.mul, number, b.inputs[0]), b.add(np.exp, number))
    after = spreading(graph)
    assert not any(isinstance(a, Value) and a.type.shape == (1, 1) for a in after.calls[1].args)
    assert after.calls[2].args[0].type.shape == (1, 1)
    same(graph, after, b.concrete)


def test_dead_slices_go_whatever_bounds_them() -> None:
    b = Builder(A, np.array(1))
    kept = b.add(np.sin, b.inputs[0])
    size = b.add(size_of, b.inputs[0], 0)
    b.add(operator.getitem, b.inputs[0], (slice(None, size),))
    b.add(operator.getitem, b.inputs[0], (b.inputs[1],))
    assert paths(dead_code(b.gives(kept))) == ["np.sin", "operator.getitem"]


def test_what_is_placed_and_added_to_is_added_first() -> None:
    b = Builder(A[0], A[1])
    v, w = b.inputs
    index = slice(1, None)
    first = b.add(place, v, index, (4,), np.dtype(float))
    second = b.add(index_add, first, index, w)
    third = b.add(index_add, second, slice(None, -1), w)
    before = b.gives(third)
    after = placing(before.copy())
    assert paths(after) == ["np.add", before.calls[0].op.path, before.calls[1].op.path]
    edges = np.array([-0.0, np.inf, np.nan])
    for inputs in (b.concrete, [edges, edges[::-1].copy()], [-np.zeros(3), -np.zeros(3)]):
        same(before, after, inputs)


@pytest.mark.parametrize("other", ["place", "shape", "use", "dtype"])
def test_what_is_added_elsewhere_or_read_before_is_left(other: str) -> None:
    b = Builder(A[0], A[1], A[1].astype(np.float32))
    v, w, narrow = b.inputs
    first = b.add(place, v, slice(1, None), (4,), np.dtype(float))
    addend = narrow if other == "dtype" else 2.0 if other == "shape" else w
    second = b.add(index_add, first, slice(None, -1) if other == "place" else slice(1, None), addend)
    outputs = [second, b.add(np.sin, first)] if other == "use" else [second]
    before = b.gives(*outputs)
    assert paths(placing(before.copy())) == paths(before)


def test_nothing_is_computed_for_a_shape() -> None:
    """`(h @ w).shape` is made of the lengths of both; where the product is read, its own shape is the shorter word."""

    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.tanh(x) @ w)

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 3)), rng.normal(size=(3, 2))
    text = str(gs.grad(loss, argnums=(0, 1)).source(x, w))
    assert "np.broadcast_to(1.0, (x.shape[0], w.shape[1]))" in text
    assert [line.count(" @ ") for line in text.splitlines() if "#" not in line and "@" in line] == [2]
    assert re.search(r"np.broadcast_to\(1.0, \w+\.shape\)", str(gs.value_and_grad(loss, argnums=(0, 1)).source(x, w)))
    running = str(gs.jacobian(lambda x: np.cumsum(np.sin(x))).source(x[0]))
    assert sum("np.cumsum(" in line for line in running.splitlines() if "#" not in line) == 1
    compiled = gs.compile(gs.grad(loss, argnums=(0, 1)))
    for n in (4, 1, 0, 7):
        args = rng.normal(size=(n, 3)), w
        for found, wanted in zip(compiled(*args), gs.grad(loss, argnums=(0, 1))(*args), strict=True):
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="matmul"):
        compiled(x, w[:1])


def test_a_sum_whose_axes_are_dropped_keeps_none() -> None:
    b = Builder(np.arange(24.0).reshape(2, 3, 4))
    x = b.inputs[0]
    kept = [b.add(np.sum, x, axis=axis, keepdims=True) for axis in (1, (0, -1), 2, 1)]
    dropped = b.add(np.squeeze, b.add(operator.neg, kept[0]), 1)
    both = b.add(np.squeeze, kept[1], (0, 2))
    other = b.add(np.squeeze, b.add(np.sum, kept[2], axis=0, keepdims=True), 2)
    graph = b.gives(dropped, both, other)
    found = dead_code(identities(graph))
    assert sum(c.op.path == "np.squeeze" for c in found.calls) == 1
    same(graph, found, b.concrete)


def test_scaling() -> None:
    b = Builder(A)
    x = b.inputs[0]
    y = b.add(operator.neg, b.add(operator.mul, 3.0, x))
    z = b.add(operator.mul, 100.0, b.add(operator.mul, 2, b.add(np.exp, x)))
    graph = b.gives(y, z)
    found = dead_code(scaling(graph))
    assert [c.args[0] for c in found.calls if c.op.infix == "*"] == [-3.0, 200.0]
    same(graph, found, b.concrete)


def test_powers_of_two_go_into_quotients_of_sizes_and_roots_alone() -> None:
    """`2.0 * (0.5 / np.sqrt(x))` is `1.0 / np.sqrt(x)`; of `0.5 / x` it may lose digits near zero."""
    edges = np.array([0.0, 5e-324, 1e-308, 0.3, 1.7e308, np.inf, np.nan])
    b = Builder(edges)
    x = b.inputs[0]
    root, count = b.add(np.sqrt, x), b.add(count_of, x)
    of_root = b.add(operator.mul, 2.0, b.add(operator.truediv, 0.5, root))
    of_size = b.add(operator.mul, b.add(operator.truediv, np.float64(-1.0), count), 0.5)
    nothing = b.add(operator.mul, 2.0, b.add(operator.mul, b.add(np.sqrt, x), 0.5))
    of_any = b.add(operator.mul, 2.0, b.add(operator.truediv, 0.5, x))
    graph = b.gives(of_root, of_size, nothing, of_any)
    found = dead_code(scaling(graph))
    assert [c.args[0] for c in found.calls if c.op.infix == "/"] == [1.0, -0.5, 0.5]
    assert sum(c.op.infix == "*" for c in found.calls) == 1
    with np.errstate(all="ignore"):
        same(graph, found, b.concrete)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (3.0, 3.0),
        (0.5, 2.0),
        (1e300, 2.0),
        (3e38, 2.0),
        (1e38, 4.0),
        (2.0, 0.5),
        (1.1, 4.0),
        (-3.0, 2),
        (0.0, 2.0),
        (2.0, 3.0),
        (2.0, -200.0),
        (4, 1.5),
        (-2.0, 7),
    ],
)
def test_scaling_never_rounds_otherwise(dtype: Any, outer: float, inner: float) -> None:
    values = np.array([0.1, -0.0, 0.0, 1e-45, 5e-324, 1e-300, 1e300, 1.7e308, 3e38, -1e38, np.inf, np.nan, 1 / 3])
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    b = Builder(values)
    y = b.add(operator.mul, b.add(operator.mul, b.inputs[0], inner), outer)
    graph = b.gives(y, b.add(operator.neg, b.add(operator.mul, b.inputs[0], outer)))
    same(graph, dead_code(scaling(graph)), b.concrete)


def test_a_branch_is_not_computed_for_a_shape() -> None:
    def loss(x: Any) -> Any:
        scaled = x * 2.0 if np.sum(x) < 10.0 else np.tanh(x) + x
        return np.sum(scaled * 1.5)

    x = np.random.default_rng(0).normal(size=(4, 3))
    text = str(gs.grad(loss).source(x))
    assert "x.shape" in text
    assert not re.search(r"^ *scaled = ", text, re.MULTILINE), text
    compiled = gs.compile(gs.grad(loss))
    for n in (4, 40, 1, 0, 7):
        x = np.abs(np.random.default_rng(n).normal(size=(n, 3)))
        np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))


def test_shapes_are_read_from_arguments() -> None:
    b = Builder(A)
    y = b.add(np.exp, b.inputs[0])
    n = b.add(operator.mul, b.add(size_of, y, 0), b.add(size_of, y, 1))
    graph = b.gives(b.add(operator.truediv, b.add(np.sum, y), n))
    found = dead_code(shapes(graph))
    assert [c.op.path for c in found.calls if c.op.path in ("size", "count")] == ["count"]
    assert next(c for c in found.calls if c.op.path == "count").args == (b.inputs[0],)
    same(graph, found, b.concrete)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-38, 3e37, 1e-45, 1e307])
@pytest.mark.parametrize("shape", [(1,), (3,), (7, 11), (4, 3, 5), (8001,)])
def test_a_small_mean_is_a_sum_over_a_size(dtype: Any, scale: float, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    with np.errstate(all="ignore"):
        inputs = [(values * scale).astype(dtype), values.T.astype(dtype)[::-1]]
    b = Builder(*inputs)
    graph = b.gives(b.add(np.mean, b.inputs[0]), b.add(np.mean, b.add(operator.mul, b.inputs[1], 2.0)))
    found = means(graph)
    assert [p for p in paths(found) if p != "np.multiply"] == 2 * ["count", "np.sum", "np.divide"]
    same(graph, found, inputs)
    inputs[0].flat[0], inputs[1].flat[-1] = np.inf, np.nan
    same(graph, found, inputs)


@pytest.mark.parametrize(
    "x",
    [
        np.ones(0),
        np.ones((3, 0)),
        np.ones(SMALL // 8),
        np.ones(4, "f2"),
        np.ones(4, complex),
        np.arange(4),
        np.array(2.0),
    ],
)
def test_other_means_are_left(x: Any) -> None:
    b = Builder(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = b.gives(b.add(np.mean, b.inputs[0]))
    assert paths(means(graph)) == ["np.mean"]


@pytest.mark.parametrize("given", [{"axis": 0}, {"keepdims": True}, {"dtype": np.float32}, {"where": A > 0}])
def test_means_of_another_kind_are_left(given: Any) -> None:
    b = Builder(A)
    assert paths(means(b.gives(b.add(np.mean, b.inputs[0], **given)))) == ["np.mean"]


@pytest.mark.parametrize("turned", [False, True])
def test_products_with_what_all_examples_share(turned: bool) -> None:
    w = np.arange(12.0).reshape(4, 3)[:, ::-1] if turned else np.linspace(0.0, 1.0, 12).reshape(3, 4)
    b = Builder(np.arange(6.0).reshape(2, 3) / 7, w)
    whole = b.add(np.broadcast_to, b.inputs[1], (2, *w.shape))
    graph = b.gives(b.add(shared_matmul, b.inputs[0], b.add(np.swapaxes, whole, 1, 2) if turned else whole))
    found = dead_code(sharing(graph))
    assert paths(found) == (["np.transpose", "np.matmul"] if turned else ["np.matmul"])
    same(graph, found, b.concrete)


def test_spreading() -> None:
    b = Builder(A, np.float64(0.5))
    x, g = b.inputs
    spread = b.add(np.broadcast_to, g, (2, 3))
    graph = b.gives(b.add(operator.mul, b.add(operator.neg, spread), x))
    found = dead_code(spreading(graph))
    assert "np.broadcast_to" not in paths(found)
    same(graph, found, b.concrete)


def test_spreading_of_two_shapes() -> None:
    b = Builder(np.float64(0.5))
    wide, narrow = b.add(np.broadcast_to, b.inputs[0], (2, 3)), b.add(np.broadcast_to, b.inputs[0], (3,))
    graph = b.gives(b.add(np.exp, b.add(operator.mul, narrow, wide)))
    same(graph, spreading(graph), b.concrete)


def test_spreading_leaves_matrix_products_their_strides() -> None:
    b = Builder(np.arange(12.0).reshape(3, 4) / 7, np.float64(0.1))
    t = b.add(operator.neg, b.add(np.broadcast_to, b.inputs[1], (2, 3)))
    graph = b.gives(b.add(operator.matmul, t, b.inputs[0]))
    assert paths(spreading(graph)) == paths(graph)


@pytest.mark.parametrize("op", [operator.pow, np.arctan2, np.logaddexp, np.hypot, np.power])
def test_spreading_leaves_alone_what_may_round_otherwise(op: Any) -> None:
    b = Builder(np.abs(A) + 0.1, np.float64(0.5))
    x, g = b.inputs
    graph = b.gives(b.add(op, x, b.add(np.broadcast_to, g, (2, 3))))
    assert "np.broadcast_to" in paths(dead_code(spreading(graph)))


def test_spreading_keeps_dtypes_and_outputs() -> None:
    for value in (np.float64(2), 2.0, np.float32(2)):
        b = Builder(A.astype(np.float32), value)
        x, g = b.inputs
        spread = b.add(np.broadcast_to, g, (2, 3))
        graph = b.gives(b.add(operator.mul, spread, x), spread)
        same(graph, spreading(graph), b.concrete)


# At random -----------------------------------------------------------------------------------------------------------

CONSTANTS = [
    1.0,
    1,
    -1.0,
    0.0,
    -0.0,
    2.0,
    2,
    0.5,
    -3.0,
    100.0,
    np.float64(1),
    np.float64(-0.0),
    np.float32(2),
    1e300,
    float("nan"),
    float("inf"),
]
UNARY = [operator.neg, np.exp, np.sin, np.sqrt, np.absolute, np.sign, np.tanh, np.square, np.log]
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    np.maximum,
    np.minimum,
    np.add,
    np.multiply,
    operator.gt,
]


def some_graph(seed: int) -> Builder:
    """A random graph over elementwise operations, reductions, shaping, constants and repeats."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1.0, -1.0])
    array = numbers.normal(size=(3, 4))
    array[0] = numbers.choice(special, 4)
    dtype = rng.choice([np.float64, np.float64, np.float32, np.complex128])
    b = Builder(
        array.astype(dtype),
        numbers.normal(size=4).astype(dtype),
        np.float64(rng.choice(special)),
        rng.choice([0.1, -0.0, 2.0]),
    )
    made = list(b.inputs)

    def pick(constants: bool = True) -> Any:
        if constants and rng.random() < 0.25:
            return rng.choice(CONSTANTS)
        return rng.choice(made[-6:] if rng.random() < 0.7 else made)

    def step() -> Value:
        way = rng.random()
        if way < 0.15 and b.graph.calls:  # the same again
            call = rng.choice(b.graph.calls)
            a, k = call.op.call_form(call.args)
            return b.add(call.op.fn, *a, **k) if call.op.fn in map(_fn, UNARY + BINARY) else b.add(np.exp, pick(False))
        if way < 0.3:
            return b.add(rng.choice(UNARY), pick(False))
        if way < 0.7:
            left, right = pick(), pick()
            if not isinstance(left, Value) and rng.random() < 0.8:
                left = pick(False)
            return b.add(rng.choice(BINARY), left, right)
        if way < 0.85:
            x = pick(False)
            axis = rng.choice([None, *range(len(x.type.shape))])
            return b.add(rng.choice([np.sum, np.mean, np.max]), x, axis=axis, keepdims=rng.random() < 0.5)
        x = pick(False)
        shape = x.type.shape
        if not shape:
            return b.add(np.broadcast_to, x, rng.choice([(3, 4), (4,)]))
        return rng.choice(
            [
                lambda: b.add(np.transpose, x), lambda: b.add(np.ravel, x), lambda: b.add(np.expand_dims, x, 0),
                lambda: b.add(operator.getitem, x, slice(None, None, -1)), lambda: b.add(operator.getitem, x, 0),
                lambda: b.add(np.zeros, shape, np.float64), lambda: b.add(np.broadcast_to, x, shape),
                lambda: b.add(operator.truediv, x, b.add(count_of, x)), lambda: b.add(np.real, x),
            ]
        )()  # fmt: skip

    for _ in range(rng.randint(3, 25)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made.append(step())
            except (ValueError, TypeError, ArithmeticError):
                continue
    b.gives(*[rng.choice(made[4:] or made) for _ in range(rng.randint(1, 3))])
    for call in b.graph.calls:
        call.quiet = call.backward = rng.random() < 0.3
    return b


def _fn(fn: Any) -> Any:
    return require(fn).fn


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    for k in range(5):
        b = some_graph(100 * seed + k)
        verify(b.graph, "the test")
        for each in EACH:
            found = each(b.graph.copy())
            verify(found, each.__name__)
            same(b.graph, found, b.concrete)
        same(b.graph, optimise(b.graph.copy()), b.concrete)


# Whole functions at random, compiled ---------------------------------------------------------------------------------


def some_source(seed: int) -> str:
    """The source of a random function of x (3, 4), y (4,), s and c (a float), real valued."""
    rng = random.Random(seed)
    names = ["x", "y", "s", "c", "x", "y"]
    lines = []
    for k in range(rng.randint(2, 9)):
        a, b, c = (
            rng.choice(names),
            rng.choice(names[-4:]),
            rng.choice(["1.0", "-2.0", "0.5", "3", "2", "1", "c", "s", "np.float64(0.5)"]),
        )
        lines.append(
            f"v{k} = "
            + rng.choice(
                [
                    f"{a} * {b} - {c}", f"np.sin({a}) * {c}", f"-({a} * {c}) * {b}", f"{a} / (1.0 + {b} ** 2)",
                    f"np.tanh({a} - {b}) ** 2", f"np.exp(-{a} * {a} / {rng.choice(['2.0', '4'])})",
                    f"np.sum({a} * {b}) * {c} + {a}",
                    f"{a} - np.mean({b})", f"np.maximum({a}, {c}) + {b}", f"np.where({a} > {b}, {a}, {c})",
                    f"np.sqrt(np.abs({a}) + 1.0)",
                    f"np.mean({a} * {c}, keepdims=True) + {b}", f"({a} + {b}) * ({a} + {b})", f"1.0 * {a} + 0.0 * {b}",
                    f"np.log(1.0 + np.exp({a})) / {rng.choice(['2', '1.0', '3.0'])}", f"np.transpose(np.transpose({a} + {b}))",
                    f"{a} @ {b} if np.shape({a}) == np.shape({b}) == (4,) else {a} * 2",
                ]
            )
        )  # fmt: skip
        names.append(f"v{k}")
    body = "\n    ".join(lines)
    return (
        f"import numpy as np\ndef f(x, y, s, c):\n    {body}\n    return np.sum({names[-1]}) + np.mean({names[-2]})\n"
    )


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("large", [1 << 16, 0], ids=["", "written over"])
def test_random_functions_compile_to_the_same_bits(
    seed: int, dtype: Any, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reuse, "LARGE", large)
    source = some_source(seed)
    space: dict[str, Any] = {}
    exec(source, space)
    rng = np.random.default_rng(seed)
    plain = gs.value_and_grad(space["f"], argnums=(0, 1))
    compiled = gs.compile(plain, verify="first calls")
    for _ in range(3):
        args = (
            rng.normal(size=(3, 4)).astype(dtype),
            rng.normal(size=4).astype(dtype),
            dtype(rng.normal()),
            float(rng.normal()),
        )
        with np.errstate(all="ignore"):
            expected, found = plain(*args), compiled(*args)
        assert [bits(v) for v in (found[0], *found[1])] == [bits(v) for v in (expected[0], *expected[1])], source


# The verifier --------------------------------------------------------------------------------------------------------


def malformed() -> dict[str, Callable[[Builder], Graph]]:
    """For each complaint of the verifier a graph that earns it."""
    add = require(operator.add)

    def call(b: Builder, args: tuple[Any, ...], outs: tuple[Value, ...], **options: Any) -> Graph:
        b.graph.calls.append(Call(options.pop("op", add), args, outs, **options))
        return b.gives(*outs)

    def array(*shape: int) -> Value:
        return Value(type_of(np.zeros(shape)))

    def twice(b: Builder) -> Graph:
        y = b.add(np.sin, b.inputs[0])
        return call(b, (b.inputs[0], 1.0), (y,))

    def doubled(b: Builder) -> Graph:
        b.graph.inputs.append(b.inputs[0])
        return b.gives(b.inputs[0])

    def backwards(b: Builder) -> Graph:
        y = b.add(np.sin, b.inputs[0])
        b.add(np.cos, y)
        b.graph.calls.reverse()
        return b.gives(y)

    def typed(type: Any) -> Callable[[Builder], Graph]:
        return lambda b: call(b, (b.inputs[0], 1.0), (Value(type),))

    return {
        "input stands there twice": doubled,
        "1 arguments for 2 parameters": lambda b: call(b, (b.inputs[0],), (array(2, 3),)),
        "required argument is missing": lambda b: call(b, (b.inputs[0], MISSING), (array(2, 3),)),
        "used before it is defined": backwards,
        "2 results where the op has 1": lambda b: call(b, (b.inputs[0], 1.0), (array(2, 3), array(2, 3))),
        "defined twice": twice,
        "has no type": typed(Type("thing", np.dtype(float), (2, 3), (24, 8))),
        "shape and strides disagree": typed(Type("array", np.dtype(float), (2, 3), (8,))),
        "an output is not defined": lambda b: b.gives(array(2)),
        "would warn": lambda b: call(b, (b.inputs[0], 1.0), (array(2, 3),), backward=True),
        "do not broadcast": lambda b: call(b, (b.inputs[0], b.add(np.ravel, b.inputs[0])), (array(2, 3),)),
        r"its result says float64\[3, 2\]": lambda b: call(b, (b.inputs[0], 1.0), (array(3, 2),)),
        r"gives float64\[2, 3\]": lambda b: call(b, (b.inputs[0], b.add(np.sum, b.inputs[0], axis=0)), (array(3),)),
    }


@pytest.mark.parametrize("complaint", malformed())
def test_the_verifier_names_what_is_wrong(complaint: str) -> None:
    graph = malformed()[complaint](Builder(A))
    with pytest.raises(gs.VerifyError, match=complaint) as error:
        verify(graph, "the last pass")
    assert "after `the last pass`" in str(error.value)


def test_a_value_inside_a_slice_or_a_list_is_verified_too() -> None:
    b = Builder(A, 1)
    index = b.add(operator.getitem, b.inputs[0], slice(b.inputs[1], None))
    verify(b.gives(index), "the test")
    b.graph.calls[0] = Call(b.graph.calls[0].op, (b.inputs[0], slice(Value(type_of(1)), None)), (index,))
    with pytest.raises(gs.VerifyError, match="used before"):
        verify(b.graph, "the test")
    assert list(values_in([slice(b.inputs[1], (b.inputs[0],))])) == [b.inputs[1], b.inputs[0]]


def test_a_pass_that_breaks_a_graph_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler import passes

    def planted(graph: Graph) -> Graph:
        return Graph(graph.inputs, graph.calls[1:], graph.outputs)

    monkeypatch.setattr(passes, "PASSES", (planted,))
    with pytest.raises(gs.VerifyError, match="after `test_passes`"):
        gs.compile(lambda x: np.sum(np.sin(x)), verify="first calls")(A)


def test_a_sum_without_its_axes_reads_what_stands_for_its_argument() -> None:
    def f(x: Any, y: Any) -> Any:
        a = x * y * 1.0
        a[1] = x @ y
        return np.sum(x * np.sum(x)) + np.sum(x)

    x = np.array([[0.3, -0.5, 2.0], [1.5, 0.2, -0.7]])
    function = gs.vmap(gs.grad(f), (0, 0))
    compiled = gs.compile(function, verify="first calls")
    for k in (1.0, 2.0, -0.5):
        np.testing.assert_array_equal(compiled(x * k, x[::-1] * k), function(x * k, x[::-1] * k))
    assert compiled._eager is None
