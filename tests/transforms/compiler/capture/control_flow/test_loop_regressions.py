"""Loops and branches that programs written by chance found to be wrong once: compiled as eager, on every call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

W = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]])
X = np.array([0.3, -1.2, 0.8])
XS = np.random.default_rng(1).normal(size=(5, 3))


class Cell:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, h: Any) -> Any:
        return np.tanh(self.w @ h)


cell = Cell(W)


def number_that_a_branch_changes(x: Any, s: float) -> Any:
    for _ in range(5):
        if s > 0:
            s -= np.mean(x) + 1.0
    return s


def number_that_a_branch_changes_for_itself(x: Any, s: float) -> Any:
    for _ in range(5):
        if s > 0:
            s -= np.mean(x) + 1.0
    return np.sum(x * s)


def number_that_a_loop_changes(x: Any, s: float) -> Any:
    while s > 0:
        s -= np.mean(x) + 1.0
    return s


def number_that_a_second_loop_changes(x: Any, s: float) -> Any:
    y = x
    while np.sum(np.abs(y)) > 1.0:
        y = y * 0.5
    t = 0
    while np.sum(np.abs(y)) * s > t:
        t += np.mean(x) + 1.0
    return t


def number_that_an_inner_loop_changes(x: Any, s: float) -> Any:
    t = 0.0
    for _ in range(5):
        u = s
        while u > 0.1:
            t -= np.max(x)
            u = u * 0.5 * np.cos(x[0])
    return t


def larger_of_a_number(x: Any, s: float) -> Any:
    h = x
    for k in range(6):
        h = np.tanh(h * k)
    return max(x @ h, s - 0.5)


def number_of_one_branch(x: Any, s: float) -> Any:
    t = x[0]
    for k in range(6):
        t = np.sin(x[k % 3] * s) if np.sum(x) * s > k - 3 else 0.5
    return t


def cotangent_that_ends_as_it_starts(x: Any, s: float) -> Any:
    h = x * 1.0
    k = x
    while np.sum(np.abs(k)) * s > 1.0:
        k = k * 0.5
    return np.sum(h * s) + np.sum(k)


def branch_of_nothing(x: Any, s: float) -> Any:
    for k in range(5):
        if np.sum(x) * s + k > 0:
            x[k % x.shape[0]]
        s = s * 0.5
    return np.sum(x) * s


def index_that_is_out_in_a_branch(x: Any, s: float) -> Any:
    for k in range(5):
        if np.sum(x) * s + k > 0:
            x[k]
        s = s * 0.5
    return np.sum(x) * s


FOUND = [
    number_that_a_branch_changes, number_that_a_branch_changes_for_itself, number_that_a_loop_changes,
    number_that_a_second_loop_changes, number_that_an_inner_loop_changes, larger_of_a_number, number_of_one_branch,
    cotangent_that_ends_as_it_starts, branch_of_nothing, index_that_is_out_in_a_branch,
]  # fmt: skip


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        result = f(*copy.deepcopy(args))
    except Exception as error:
        return type(error)
    return [(type(r), np.asarray(r).strides, np.asarray(r).tobytes()) for r in np_leaves(result)]


def np_leaves(result: Any) -> list[Any]:
    return [leaf for part in result for leaf in np_leaves(part)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("f", FOUND, ids=lambda f: f.__name__)
def test_compiled_is_eager(f: Callable[..., Any]) -> None:
    compiled = gs.compile(f, verify="first calls")
    for s in (0.5, -0.5, 0.5, 4.0, 0.0):
        assert outcome(compiled, X, s) == outcome(f, X, s)


@pytest.mark.parametrize("f", FOUND, ids=lambda f: f.__name__)
def test_gradient_is_eager(f: Callable[..., Any]) -> None:
    def loss(x: Any, s: float) -> Any:
        return np.sum(x) + f(x, s)

    compiled = gs.compile(gs.grad(loss), verify="first calls")
    for s in (0.5, -0.5, 0.5, 4.0, 0.0):
        assert outcome(compiled, X, s) == outcome(gs.grad(loss), X, s)


def test_gradient_of_rows_has_the_strides_of_eager() -> None:
    def f(xs: Any) -> Any:
        for x in xs:
            last = np.sin(x)
        return np.sum(last)

    xs = np.asfortranarray(XS)
    assert outcome(gs.compile(gs.grad(f), verify="first calls"), xs) == outcome(gs.grad(f), xs)


def test_what_is_printed_once_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        for k in range(3):  # too few to be kept
            print("trip", k)
            x = W @ cell(x)  # two names of one array
        return np.sum(x)

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="share memory"):
        compiled(X)
    assert capsys.readouterr().out == "trip 0\ntrip 1\ntrip 2\n"


def test_gradients_have_memory_of_their_own_where_a_loop_runs_no_trip() -> None:
    def f(x: Any, y: Any) -> Any:
        h, k = x, y
        while np.sum(h) > 10.0:
            h, k = h * 0.5, k * 0.4
        return np.sum((h + k) * 2.0)

    compiled = gs.compile(gs.grad(f, argnums=(0, 1)), verify="first calls")
    for scale in (9.0, 1.0, 2.0, 1.0):
        x = np.full(3, scale)
        dx, dy = compiled(x, x + 1.0)
        assert dx.flags.writeable
        assert dy.flags.writeable
        assert not np.shares_memory(dx, dy)
        np.testing.assert_array_equal((dx, dy), gs.grad(f, argnums=(0, 1))(x, x + 1.0))


def test_a_number_keeps_its_type_where_the_source_was_checked_before() -> None:
    compiled = gs.compile(number_that_a_loop_changes)
    for s in (0.5, 4.0, 3.0, -1.0):
        assert type(compiled(X, s)) is type(number_that_a_loop_changes(X, s))
