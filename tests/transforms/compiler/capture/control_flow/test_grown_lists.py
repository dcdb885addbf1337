"""Lists that a loop appends to, and of which it reads the last items by the number of the trip, leave the loop a loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference


def one_before(a: Any, x: Any) -> Any:
    ys = [x[0]]
    for t in range(1, len(x)):
        ys.append(np.sin(a * ys[t - 1]) + x[t])
    return np.sum(np.stack(ys) ** 2)


def two_before(a: Any, x: Any) -> Any:
    ys = [x[0], x[1]]
    for t in range(2, len(x)):
        ys.append(a * ys[t - 1] - 0.3 * ys[t - 2] + x[t])
    return np.sum(np.array(ys) ** 2)


def from_the_end(a: Any, x: Any) -> Any:
    ys = [x[0], x[1]]
    for t in range(2, len(x)):
        ys.append(a * ys[-1] - 0.3 * ys[-2] + x[t])
    return ys[-1]


def from_nought(a: Any, x: Any) -> Any:
    ys = [0.5]
    for t in range(len(x)):
        ys.append(np.tanh(a * ys[t]) + x[t])
    return ys[-1] * np.sum(np.stack(ys))


def read_when_appended(a: Any, x: Any) -> Any:
    ys = [x[0]]
    total = 0.0
    for t in range(1, len(x)):
        ys.append(a * ys[t - 1] + x[t])
        total = total + ys[t] ** 2
    return total


def rows_of_a_table(a: Any, x: Any) -> Any:
    before = np.concatenate([[0.0], np.full(len(x), 1e3)])
    for i in range(len(x)):
        row = [1e3]
        for j in range(len(x)):
            row.append((x[i] - a * x[j]) ** 2 + np.minimum(before[j], row[j]))
        before = np.stack(row)
    return before[-1]


KEPT = [one_before, two_before, from_the_end, from_nought, read_when_appended, rows_of_a_table]


def vectors(a: Any, x: Any) -> Any:
    hs = [np.zeros(3)]
    for t in range(len(x)):
        hs.append(np.tanh(a * hs[t] + x[t]))
    return np.sum(np.stack(hs))


def three_before_of_two(a: Any, x: Any) -> Any:
    ys = [x[0], x[1]]
    for t in range(2, len(x)):
        ys.append(a * ys[t - 1] + ys[max(t - 3, 0)])
    return ys[-1]


def of_a_list_that_stays(a: Any, x: Any) -> Any:
    weights = [0.5, 0.25, 2.0, 1.0, 3.0]
    total = 0.0
    for t in range(5):
        total = total + weights[t] * x[t] * a
    return total


def from_the_front(a: Any, x: Any) -> Any:
    ys = [x[0]]
    for t in range(1, len(x)):
        ys.append(a * ys[t - 1] + ys[0])
    return ys[-1]


def with_a_gap(a: Any, x: Any) -> Any:
    ys = [x[0]]
    for t in range(2, len(x)):
        ys.append(a * ys[t - 2] + x[t])
    return ys[-1]


def two_a_trip(a: Any, x: Any) -> Any:
    ys = [x[0]]
    for t in range(1, len(x)):
        ys.append(a * ys[t - 1])
        ys.append(x[t] * ys[t])
    return np.sum(np.stack(ys))


OTHERS = [vectors, three_before_of_two, of_a_list_that_stays, from_the_front, with_a_gap, two_a_trip]


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_the_loop_is_kept_for_every_length(f: Callable[..., Any]) -> None:
    eager = gs.value_and_grad(f, (0, 1))
    compiled = gs.compile(eager)
    for n in (9, 12, 5, 20):
        x = np.linspace(0.1, 1.0, n)
        assert difference(compiled(0.4, x), eager(0.4, x)) is None
    assert "reversed(range(" in str(compiled.source(0.4, x))
    assert "x: float64[n]" in str(compiled.source(0.4, x))


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_other_uses_of_a_list_give_what_eager_gives(f: Callable[..., Any]) -> None:
    eager = gs.value_and_grad(f, (0, 1))
    compiled = gs.compile(eager)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for n in (9, 7):
            x = np.linspace(0.1, 1.0, n)
            assert difference(compiled(0.4, x), eager(0.4, x)) is None


@pytest.mark.parametrize("f", [one_before, from_nought, rows_of_a_table], ids=lambda f: f.__name__)
def test_so_do_second_derivatives_and_tangents(f: Callable[..., Any]) -> None:
    x = np.linspace(0.1, 1.0, 7)
    for transform in (gs.grad(lambda a, x: np.sum(gs.grad(f, 1)(a, x) ** 2)), gs.jacfwd(f), gs.hessian(f)):
        assert difference(gs.compile(transform)(0.4, x), transform(0.4, x)) is None
