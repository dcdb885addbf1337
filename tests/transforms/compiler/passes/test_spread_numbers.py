"""Numbers that a derivative spreads over rows: computed once, whatever stands between the sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def half_of_squares(x: Any) -> Any:
    return np.mean(0.5 * np.sum(x**2, axis=1))


def minus_half(x: Any) -> Any:
    return np.sum(-0.5 * np.sum(x**2, axis=1))


def divergence(x: Any) -> Any:
    return np.mean(-0.5 * np.sum(1 + x - x**2 - np.exp(x), axis=1))


def of_three_axes(x: Any) -> Any:
    y = np.stack([x, 2 * x])
    return np.mean(3.0 * np.sum(y * y * 0.25, axis=(0, 2)))


def of_columns(x: Any) -> Any:
    return np.mean(-np.sum(x.T**2, axis=0) / 4.0)


@pytest.mark.parametrize("f", [half_of_squares, minus_half, divergence, of_three_axes, of_columns])
def test_they_have_the_bits_and_the_memory_of_eager(f: Any) -> None:
    gradient = gs.grad(f)
    for shape in ((5, 3), (2, 7), (1, 4), (4, 1)):
        x = np.cos(np.arange(float(np.prod(shape)))).reshape(shape)
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x[::-1], np.asarray(x, np.float32)):
            expected = gradient(given)
            found = gs.compile(gradient)(given)
            assert found.tobytes() == expected.tobytes()
            assert (found.strides, found.dtype) == (expected.strides, expected.dtype)


def test_they_are_not_spread_in_the_text() -> None:
    for f, expected in ((half_of_squares, "1.0 / total.size * x"), (minus_half, "-x")):
        source = str(gs.source(gs.grad(f), np.ones((5, 3))))
        assert "broadcast_to" not in source
        assert expected in source


def test_halves_of_a_mean_are_taken_into_it_where_several_read_it() -> None:
    source = str(gs.source(gs.grad(divergence), np.ones((5, 3))))
    assert "* 0.5" not in source.partition("# backward")[2]


def test_twice_over_a_count_is_one_quotient() -> None:
    def f(x: Any, y: Any) -> Any:
        seen = ~np.isnan(y)
        return np.sum(np.where(seen, x - np.where(seen, y, 0.0), 0.0) ** 2) / np.sum(seen)

    x, y = np.arange(4.0), np.array([1.0, np.nan, 0.5, 2.0])
    assert "2.0 / sum_seen * " in str(gs.source(gs.grad(f), x, y))
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(x, y), gs.grad(f)(x, y))


@pytest.mark.filterwarnings("error")
def test_the_stride_of_an_axis_of_length_one_is_no_difference() -> None:
    def f(x: Any) -> Any:
        rows = np.stack([r * 2.0 for r in x])
        return np.sum(np.sum(x, axis=0, keepdims=True) * 1.3) + np.sum(
            np.flip(np.cbrt(np.transpose(rows, (0, 2, 1))), 0) * 2.3
        )

    x = np.cos(np.arange(6.0)).reshape(2, 1, 3)
    for given in (x, np.asfortranarray(x)):
        np.testing.assert_array_equal(gs.compile(gs.grad(f))(given), gs.grad(f)(given))
