"""Caches that user code writes itself: right within a call, and no later call takes a number from one for a constant."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

pytestmark = pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # running eagerly is no loss

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "eager": gs.value_and_grad, "compiled": lambda f: gs.compile(gs.value_and_grad(f)),
}  # fmt: skip
POINTS = [np.array([0.3, 0.5]), np.array([0.4, 0.6])]


def by_value(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if t not in memo:
        memo[t] = np.exp(t)
    return memo[t]


def by_float(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    key = ("exp", float(t))
    if key not in memo:
        memo[key] = np.exp(t)
    return memo[key]


def by_elements(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    found = memo.get(tuple(x))
    if found is None:
        found = memo[tuple(x)] = np.exp(t)
    return found


def by_set(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    return memo.setdefault(frozenset([t]), np.exp(t))


def by_text(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    key = f"exp of {t:.8f}"
    if key not in memo:
        memo[key] = np.exp(t)
    return memo[key]


def by_repr(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    try:
        return memo[repr(x)]
    except KeyError:
        memo[repr(x)] = np.exp(t)
    return memo[repr(x)]


def by_hash(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if hash(t) not in memo:
        memo[hash(t)] = np.exp(t)
    return memo[hash(t)]


def by_rounded(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    key = round(float(t), 9)
    if key not in memo:
        memo[key] = np.exp(t)
    return memo[key]


def several(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if t not in memo:
        memo[t] = {"value": [np.exp(t)], "name": "exp"}
    return memo[t]["value"][0]


def popped(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if t in memo:
        return memo.pop(t)
    memo[t] = np.exp(t)
    return memo[t]


def last_array(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if "x" not in memo or not np.array_equal(memo["x"], x):
        memo["x"], memo["value"] = x.copy(), np.exp(t)
    return memo["value"]


def last_elements(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if "x" not in memo or not (memo["x"] == x).all():
        memo["x"], memo["value"] = np.array(x), np.exp(t)
    return memo["value"]


def last_number(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    if memo.get("t") != t:
        memo["t"], memo["value"] = t, np.exp(t)
    return memo["value"]


def searched(memo: dict[Any, Any], t: Any, x: Any) -> Any:
    rows = memo.setdefault("rows", [])
    for known, value in rows:
        if known == t:
            return value
    rows.append((t, np.exp(t)))
    return rows[-1][1]


CACHES = (
    by_value, by_float, by_elements, by_set, by_text, by_repr, by_hash, by_rounded, several, popped, last_array,
    last_elements, last_number, searched,
)  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("cache", CACHES)
def test_a_later_call_is_right_or_raises(cache: Any, transform: str) -> None:
    memo: dict[Any, Any] = {}
    run, raised = TRANSFORMS[transform](lambda x: cache(memo, np.sum(x * x), x) * 2.0), 0
    for k in (0, 0, 1, 0, 1):
        x = POINTS[k]
        try:
            value, gradient = run(x)
        except gs.GradientLossError:
            raised += 1
            continue
        np.testing.assert_allclose(value, 2.0 * math.exp(np.sum(x * x)), rtol=1e-12)
        np.testing.assert_allclose(gradient, 4.0 * x * math.exp(np.sum(x * x)), rtol=1e-12)
    assert 1 <= raised <= 3


class Scaled:
    """An objective that remembers its last point, as those for scipy.optimize do."""

    def __init__(self) -> None:
        self.x: Any = None
        self.value: Any = None

    def __call__(self, x: Any) -> Any:
        if self.x is None or not np.all(x == self.x):
            self.x, self.value = np.copy(x), np.sum(x**3)
        return self.value


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_object_that_remembers_its_last_point(transform: str) -> None:
    run = TRANSFORMS[transform](Scaled())
    for k in (0, 1, 0):
        np.testing.assert_allclose(run(POINTS[k])[1], 3.0 * POINTS[k] ** 2)
    with pytest.raises(gs.GradientLossError, match="earlier call"):
        run(POINTS[0])


# What is no cache ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_is_counted_or_kept_is_no_cache(transform: str) -> None:
    seen: set[float] = set()
    counts: dict[float, int] = {}
    losses: list[Any] = []
    mean = {"of": 0.0}

    def f(x: Any) -> Any:
        loss = np.sum(x * x)
        key = float(loss)
        counts[key] = counts.get(key, 0) + 1
        if key not in seen:
            seen.add(key)
        losses.append(key)
        mean["of"] = 0.5 * mean["of"] + 0.5 * loss
        if loss == 0.0:
            return loss * 0.0
        return loss + 0.0 * mean["of"]

    run = TRANSFORMS[transform](f)
    for k in (0, 0, 1, 0):
        run(POINTS[k])
        mean["of"] = float(mean["of"])
    np.testing.assert_array_equal(run(np.zeros(2))[1], [0.0, 0.0])
    np.testing.assert_array_equal(run(np.zeros(2))[1], [0.0, 0.0])
    assert sorted(counts.values()) == [1, 2, 3]
    assert all(type(v) is float for v in (*seen, *counts, *losses))


def test_a_comparison_that_takes_nothing_may_say_so() -> None:
    last: dict[str, Any] = {}

    def f(x: Any) -> Any:
        same = "x" in last and np.array_equal(last["x"], gs.stop_gradient(x))
        last["x"] = np.copy(x)
        return np.sum(x * x) * (1.0 if same else 2.0)

    np.testing.assert_allclose(gs.grad(f)(POINTS[0]), 4.0 * POINTS[0])
    np.testing.assert_allclose(gs.grad(f)(POINTS[0]), 2.0 * POINTS[0])


# Functions that are stored ---------------------------------------------------------------------------------------------


def helper(t: Any) -> Any:
    return math.exp(t)


class Model:
    def __init__(self) -> None:
        self.hooks: list[Any] = []

    def on(self, t: Any) -> Any:
        return t * 2.0

    def run(self, x: Any) -> Any:
        if self.on not in self.hooks:
            self.hooks.append(self.on)
        return sum(h(np.sum(x)) for h in self.hooks)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_function_is_stored_as_itself(transform: str) -> None:
    kept: list[Any] = []
    named: dict[str, Any] = {}
    functions = [helper]

    def f(x: Any) -> Any:
        kept.append(functions[0])
        kept.append(helper)
        kept.append(math.exp)
        named["helper"] = helper
        return functions[0](np.sum(x))

    TRANSFORMS[transform](f)(POINTS[0])
    assert kept == [helper, helper, math.exp]
    assert named == {"helper": helper}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_function_that_is_registered_once_stays_once(transform: str) -> None:
    model, calls = Model(), list[Any]()

    def f(x: Any) -> Any:
        if helper not in calls:
            calls.append(helper)
        return model.run(x) + sum(call(np.sum(x)) for call in calls)

    run = TRANSFORMS[transform](f)
    for k in (0, 1, 0, 1):
        total = np.sum(POINTS[k])
        np.testing.assert_allclose(run(POINTS[k])[1], np.full(2, 2.0 + math.exp(total)), rtol=1e-12)
    assert (model.hooks, calls) == ([model.on], [helper])


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_functions_as_keys(transform: str) -> None:
    weights = {helper: 2.0, math.sin: 3.0}

    def f(x: Any) -> Any:
        inside = 1.0 if helper in weights else 0.0
        return weights[helper] * x[0] + weights.get(helper, 0.0) * x[1] + weights[math.sin] * x[0] + inside * x[1]

    run = TRANSFORMS[transform](f)
    for x in POINTS:
        np.testing.assert_allclose(run(x)[1], [5.0, 3.0])


def test_a_bare_tensor_is_a_key_by_identity_in_a_compiled_function() -> None:
    """As PyTorch's parameters are of an optimiser's state, whatever stands in the dict."""
    p, q = gs.tensor(np.ones(3), requires_grad=True), gs.tensor(np.ones(1), requires_grad=True)
    state: dict[Any, Any] = {}

    def step(x: Any) -> Any:
        for one in (p, q):
            state[one] = state.get(one, 0.0) + x.sum()
        return (x * p + q).sum()

    compiled = gs.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for k in range(1, 4):
            assert compiled(np.ones(3)).item() == 6.0
            assert float(state[p]) == float(state[q]) == 3.0 * k
