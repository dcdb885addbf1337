"""Loops that stay loops: one capture is right for every number of trips and every way through them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.capture import capture

from kept_loops import CASES, FEW, MORE_ROWS, ROWS, XS, Array, issue, over_a_range, triangle
from trips import DERIVATIVES, asserting, captures, held

# --- while -----------------------------------------------------------------------------------------------------------


# --- for -------------------------------------------------------------------------------------------------------------


# --- jumps -----------------------------------------------------------------------------------------------------------


# --- nested ----------------------------------------------------------------------------------------------------------


# where a loop starts from what it also reads, or eager adds up in another order what several trips give


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager_bit_for_bit(name: str, derivative: str) -> None:
    case = CASES[name]
    calls = [lambda args=args: args for args in case.calls]
    exact = list(DERIVATIVES).index(derivative) < case.exact
    for first in (0, 2) if derivative == "gradient" else (0,):  # whatever comes first
        sources, _ = held(DERIVATIVES[derivative](case.function), [*calls[first:], *calls[:first]], exact)
        if case.sources is not None:
            assert sources == case.sources


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.calls is ROWS or case.calls is MORE_ROWS]
)
def test_few_trips_are_right_too(name: str) -> None:
    for k, derivative in enumerate(("value", "gradient")):
        calls = [lambda args=args: args for args in [*FEW, *ROWS[:2]]]
        held(DERIVATIVES[derivative](CASES[name].function), calls, k < CASES[name].exact)


# --- the promises one by one -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [np.float64(a) for a in (0.37, -0.02, 900.0, 1e-9)])
def test_the_function_of_the_issue_has_the_slope_of_a_line(a: float) -> None:
    assert gs.grad(issue)(a) == issue(a) / a


def test_the_function_of_the_issue_is_captured_once_for_each_signature() -> None:
    arrays = [s * v for s in (1.0, -0.01, 500.0) for v in (np.ones(3), np.array([0.1, -0.2, 0.3]))]
    eager = gs.value_and_grad(lambda a: np.sum(issue(a)))
    for order in itertools.permutations(range(4), 2):
        numbers = [np.float64((0.37, -0.02, 900.0, 1e-9)[k]) for k in (*order, 0, 1, 2, 3)]
        _, captured = held(eager, [lambda a=a: (a,) for a in numbers])
        assert captured == 1
    _, captured = held(eager, [lambda a=a: (a,) for a in (*arrays, *[np.outer(a, a) for a in arrays])])
    assert captured == 2


def test_the_source_has_one_loop_and_its_reverse() -> None:
    source = str(gs.source(gs.grad(issue), np.float64(0.37)))
    assert [line.strip().startswith("while ") for line in source.splitlines()].count(True) == 1
    assert source.count("for _ in range(") == 1
    assert "np.linalg.norm(b) < 1000" in source
    assert len(source.splitlines()) < 40


@pytest.mark.parametrize("function", [over_a_range, triangle])
def test_the_source_does_not_grow_with_the_trips(function: Any) -> None:
    gradient = gs.grad(lambda x, n: np.sum(function(x, n)))
    assert len({len(str(gs.source(gradient, XS[0], n)).splitlines()) for n in (10, 50, 200)}) == 1


def test_a_million_trips() -> None:
    def fall(x: Array, step: Array) -> Array:
        while x > 0.0:
            x = x - step * (2.0 - x)
        return x

    compiled, gradient = gs.compile(fall, verify="first calls"), gs.compile(gs.grad(fall, argnums=1))
    step = math.log(2.0) / 1e6
    for f in (compiled, gradient):
        f(1.0, 0.1)
        f(1.0, 0.2)
    with captures() as found:
        assert compiled(1.0, step) == fall(1.0, step)
        slope = gradient(1.0, step)
    assert not found
    trips = round(math.log(2.0 - fall(1.0, step)) / math.log1p(step))  # x = 2 - (1 + step) ** trips
    assert trips == pytest.approx(1e6, abs=2)
    assert slope == pytest.approx(-trips * (1.0 + step) ** (trips - 1), rel=1e-9)


def test_an_assert_behind_a_loop() -> None:
    eager = gs.grad(asserting)
    assert held(eager, [lambda k=k: (k * np.ones(3),) for k in (1.0, 0.01, 7.0)])[0] == 1
    compiled = gs.compile(eager, verify="first calls")
    compiled(np.ones(3))
    for _ in range(2):
        with pytest.raises(AssertionError, match="the sum is negative"):
            compiled(-np.ones(3))
    np.testing.assert_array_equal(compiled(0.3 * np.ones(3)), eager(0.3 * np.ones(3)))


def grows(x: Array, n: int) -> Array:
    y = x
    for _ in range(n):
        y = np.concatenate([y, np.sin(y[:2])])
    return np.sum(y * y)


def test_a_loop_whose_shapes_change_is_unrolled() -> None:
    calls = [lambda n=n: (XS[0], n) for n in (2, 5, 0)]
    for transform in DERIVATIVES.values():
        held(transform(grows), calls)


def test_explain_names_the_variable_whose_shape_changes_and_its_line() -> None:
    compiled = gs.compile(grows, verify="first calls")
    compiled(XS[0], 5)
    line = grows.__code__.co_firstlineno + 2
    told = str(gs.explain(compiled))
    assert "`y`" in told
    assert f"test_kept_loops.py:{line}" in told


@pytest.mark.parametrize("most", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_unrolling_is_bounded(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert capture.MANY_CALLS == 20_000
    monkeypatch.setattr(capture, "MANY_CALLS", most)

    def many(x: Array, n: int) -> Array:
        y = x
        for _ in range(n):
            y = y[None] * 1.0001 if y.ndim == 1 else y[0]
        return y

    compiled = gs.compile(many)
    with pytest.warns(gs.EagerWarning, match=rf"test_kept_loops.py:\d+.*[^\d,]{most:,} operations"):
        found = compiled(XS[0], most)
    np.testing.assert_array_equal(found, many(XS[0], most))


@pytest.mark.xdist_group("memory")
def test_capture_of_a_loop_that_never_ends_is_bounded() -> None:
    def forever(x: Array) -> Array:
        while np.sum(x) > 0.0:
            x = x * 0.5 + 1.0
        return x

    raise_if_unrolled = gs.compile(forever)
    start = time.perf_counter()
    raise_if_unrolled(-np.ones(3))  # zero trips: the loop is captured, and not run
    text = raise_if_unrolled.source(-np.ones(3))
    assert time.perf_counter() - start < 5.0
    assert "while " in text


def halved_often(x: Any) -> Any:
    while x > 0.5:
        x = x * 0.999
    return x


def from_a_constant(x: Any) -> Any:
    s = np.array(1.0)
    while s > 0.5:
        s = s * 0.999
    return np.sum(x) * s


def scaled_often(x: Any) -> Any:
    for _ in range(100):
        x = x * 0.999
    return x


@pytest.mark.parametrize("f", [halved_often, from_a_constant, scaled_often], ids=lambda f: f.__name__)
def test_loops_that_begin_with_an_array_without_axes_are_kept(f: Callable[..., Any]) -> None:
    for made in (f, gs.grad(f)):
        compiled = gs.compile(made, verify="first calls")
        for x in (1.0, 1.5, 4.0, 0.4, 0.6):
            found, expected = compiled(np.array(x)), made(np.array(x))
            assert type(found) is type(expected)
            assert found == expected
        assert len(gs.source(made, np.array(1.0)).splitlines()) < 40
        assert gs.explain(compiled).specialisations[0].unrolled == ()


def test_two_or_three_trips_of_a_long_body_are_a_loop_and_of_a_short_one_are_none() -> None:
    def mixture(means: Array, x: Array) -> Any:
        total = 0.0
        for k in range(len(means)):
            z = (x - means[k]) / (1.0 + means[k] ** 2)
            total = total + np.sum(np.exp(-0.5 * z**2)) * np.cos(means[k])
        return total

    def squares(means: Array, x: Array) -> Any:
        total = 0.0
        for mean in means:
            total = total + np.sum(x) * mean
        return total

    x = np.linspace(0.0, 1.0, 5)
    for k in (2, 3, 4):
        args = np.linspace(0.5, 1.0, k), x
        assert "in reversed(range(len(means)))" in str(gs.source(gs.grad(mixture), *args))
        assert ("np.array([" in str(gs.source(gs.grad(squares), *args))) is (k < 4)
        compiled = gs.compile(gs.grad(mixture), verify="first calls")
        assert compiled(*args).tobytes() == gs.grad(mixture)(*args).tobytes()


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_a_gradient_that_a_loop_adds_up_lies_in_memory_as_in_eager_mode(trips: int) -> None:
    def columns(w: Array, x: Array) -> Any:
        total = 0.0
        for rows in x:
            total += np.sum(np.tanh(rows @ w.T))
        return total

    def both(w: Array, x: Array) -> Any:
        total = 0.0
        for rows in x:
            total += np.sum(np.tanh(rows @ w.T)) + np.sum(w**2) * np.sum(rows)
        return total

    for f in (columns, both):
        args = np.arange(15.0).reshape(3, 5) / 15.0, np.ones((trips, 4, 5))
        compiled = gs.compile(gs.grad(f), verify="first calls")
        wanted, found = gs.grad(f)(*args), compiled(*args)
        assert (found.strides, found.tobytes("A")) == (wanted.strides, wanted.tobytes("A"))
