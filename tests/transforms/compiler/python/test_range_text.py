"""A loop over a range of the user's walks that range in the text, forward and in reverse, beside the lists that it walks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference


def lagged(phi: Any, x: Any) -> Any:
    total = 0.0
    for t in range(2, len(x)):
        total = total + (x[t] - phi * x[t - 2]) ** 2
    return total


def inner(phi: Any, x: Any) -> Any:
    total = 0.0
    for t in range(1, len(x) - 1):
        total = total + np.sin(x[t - 1] - phi * x[t] + x[t + 1])
    return total


def falling(phi: Any, x: Any) -> Any:
    total = 0.0
    for t in range(len(x) - 1, 0, -1):
        total = total * phi + x[t] * x[t - 1]
    return total


def every_other(phi: Any, x: Any) -> Any:
    total = 0.0
    for t in range(1, len(x), 2):
        total = total * phi + x[t] * x[t - 1]
    return total


def falling_by_two(phi: Any, x: Any) -> Any:
    total = 0.0
    for t in range(len(x) - 1, 0, -2):
        total = total * phi + x[t] * x[t - 1] * t
    return total


def constant(phi: Any, x: Any) -> Any:
    total = phi
    for t in range(3, 9):
        total = total + np.cos(total) * x[t] * t
    return total


RANGES = {
    lagged: "range(2, x.size)",
    inner: "range(1, x.size - 1)",
    falling: "range(x.size - 1, 0, -1)",
    every_other: "range(1, x.size, 2)",
    falling_by_two: "range(x.size - 1, 0, -2)",
    constant: "range(3, 9)",
}


@pytest.mark.parametrize("f", RANGES, ids=lambda f: f.__name__)
def test_the_range_is_that_of_the_user(f: Callable[..., Any]) -> None:
    text = str(gs.source(gs.grad(f, (0, 1)), 0.9, np.linspace(0.1, 1.0, 12)))
    assert f"for t in {RANGES[f]}:" in text
    assert f"reversed({RANGES[f]})" in text
    assert "trip" not in text


@pytest.mark.parametrize("f", RANGES, ids=lambda f: f.__name__)
def test_it_gives_the_bits_of_eager_at_every_length(f: Callable[..., Any]) -> None:
    eager = gs.value_and_grad(f, (0, 1))
    compiled = gs.compile(eager)
    for n in (12, 13, 20) if f is constant else (12, 13, 9, 3, 2, 1, 20):
        x = np.linspace(0.1, 1.0, n)
        assert difference(compiled(0.9, x), eager(0.9, x)) is None


def test_a_trip_that_needs_its_number_too_counts_from_none() -> None:
    def f(x: Any) -> Any:
        ys = []
        for t in range(2, 8, 2):
            ys.append(x[t] * x[t - 2])
        return np.sum(np.stack(ys) ** 2)

    text = str(gs.source(gs.grad(f), np.linspace(0.1, 1.0, 12)))
    assert "for t in range(2, 8, 2):" in text
    assert "t = 2 + trip * 2\n" in text
    x = np.linspace(0.1, 1.0, 12)
    assert difference(gs.compile(gs.grad(f))(x), gs.grad(f)(x)) is None


def test_an_index_that_is_a_sum_stands_where_it_is_read() -> None:
    def f(image: Any, kernel: Any) -> Any:
        n = len(image) - 4
        rows = np.zeros(n)
        for k in range(5):
            rows = rows + kernel[k] * image[k : k + n]
        return np.sum(rows**2)

    args = np.linspace(0.0, 1.0, 9), np.linspace(1.0, 2.0, 5)
    text = str(gs.source(gs.grad(f, (0, 1)), *args))
    assert text.count("image[k : k + n]") == 4  # two of them in comments
    assert difference(gs.compile(gs.grad(f, (0, 1)))(*args), gs.grad(f, (0, 1))(*args)) is None


def over_pairs(x: Any) -> Any:
    energy = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            energy = energy + 1.0 / np.sqrt(d * d + 0.1)
    return energy


def from_the_second(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        for j in range(1, i + 2):
            total = total + np.sin(x[i] * x[j - 1])
    return total


@pytest.mark.parametrize(
    ("f", "head", "item"),
    [
        (over_pairs, "for j in reversed(range(i + 1, x.size)):", "row[j - (i + 1)]"),
        (from_the_second, "for j in reversed(range(1, i + 2)):", "[j - 1]"),
    ],
    ids=["pairs", "from 1"],
)
def test_a_range_that_begins_elsewhere_in_each_trip_reads_its_list_by_the_place(
    f: Callable[..., Any], head: str, item: str
) -> None:
    text = str(gs.source(gs.grad(f), np.linspace(0.1, 1.0, 6)))
    assert head in text
    assert item in text
    assert "trip" not in text
    eager, compiled = gs.grad(f), gs.compile(gs.grad(f))
    for n in (6, 4, 9, 2, 1):
        x = np.linspace(0.1, 1.0, n)
        assert difference(compiled(x), eager(x)) is None
    x = np.linspace(0.1, 1.0, 4)
    assert difference(gs.compile(gs.hessian(f))(x), gs.hessian(f)(x)) is None
