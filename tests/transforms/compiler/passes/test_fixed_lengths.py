"""Numbers that are added each at a place of its own to a new vector, as one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

THETA = np.array([0.3, -0.7, 1.1])


def unpacked(theta: Any) -> Any:
    a, b, c = theta
    return a * b + np.sin(c)


def flat(theta: Any) -> Any:
    """With slopes of -0.0, and one number that is read twice."""
    a, b, c = theta
    return -0.0 * a + b * 0.0 - c * 0.0 - b * 0.0


def summed(theta: Any) -> Any:
    a, b, c = theta
    total = 0.0
    for k in range(5):
        total = total - 0.0 * a + k * b - np.cos(c * total)
    return total


def of_another(theta: Any) -> Any:
    a, b, c = np.exp(theta)
    return a / b - c


def read_again(theta: Any) -> Any:
    a, b, c = theta
    return a * b * c + np.sum(theta**2)


def in_part(theta: Any) -> Any:
    _, b, c = theta
    return b * c


def by_place(theta: Any) -> Any:
    return theta[0] * theta[1] - theta[2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [unpacked, flat, summed, of_another, read_again, in_part, by_place])
def test_the_bits_are_those_of_eager_mode(f: Any, dtype: Any) -> None:
    for theta in (THETA, 0.0 * THETA, -THETA):
        x = theta.astype(dtype)
        wanted = gs.grad(f)(x)
        found = gs.compile(gs.grad(f), verify="first calls")(x)
        assert (found.dtype, found.tobytes()) == (wanted.dtype, wanted.tobytes())


@pytest.mark.parametrize("f", [unpacked, flat, summed, of_another])
def test_all_numbers_of_a_vector_are_one_array(f: Any) -> None:
    text = str(gs.source(gs.grad(f), THETA))
    assert "np.array([" in text
    assert "np.zeros" not in text


@pytest.mark.parametrize("f", [in_part, by_place])
def test_a_vector_that_may_be_longer_starts_from_zeros(f: Any) -> None:
    compiled = gs.compile(gs.grad(f))
    assert "np.zeros" in str(gs.source(gs.grad(f), THETA))
    if f is by_place:
        for n in (3, 5):
            np.testing.assert_array_equal(compiled(np.arange(float(n))), gs.grad(f)(np.arange(float(n))))


def test_sums_of_a_loop_start_from_zero_where_no_sign_of_a_zero_is_seen() -> None:
    text = str(gs.source(gs.grad(summed), THETA))
    assert "-0.0" not in text.partition("# backward")[2].partition("for ")[0]
    assert "+ 0.0" not in text
