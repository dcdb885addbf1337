"""scipy.special.logsumexp inside a transform: SciPy's own bits, types and layouts, and the same gradient eager and compiled."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime.rules.special import SCIPY, logsumexp_kept, logsumexp_over

SHAPES = ((1,), (7,), (6, 5), (3, 4, 5), (40, 30), (9, 1))


def nothing(x: Any) -> None:
    """As it is."""


def whole(x: Any) -> None:
    """Several of the largest."""
    np.round(x, out=x)


def first_minus(x: Any) -> None:
    """A part that adds nothing."""
    x[..., 0] = -np.inf


def first_infinite(x: Any) -> None:
    """Infinite sums."""
    x[0] = np.inf


def all_minus(x: Any) -> None:
    """Nothing to add."""
    x[...] = -np.inf


def not_a_number(x: Any) -> None:
    """NaN in one place."""
    x.reshape(-1)[0] = np.nan


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("change", [nothing, whole, first_minus, first_infinite, all_minus, not_a_number])
def test_the_bits_are_those_of_scipy(change: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for shape, scale in itertools.product(SHAPES, (1e-3, 1.0, 1e3)):
        x = (rng.standard_normal(shape) * scale).astype(dtype)
        change(x)
        layouts = (x, np.asfortranarray(x), x[::-1], x.T)
        axes = (None, 0, -1, tuple(range(x.ndim)))
        for a, axis, keepdims in itertools.product(layouts, axes, (False, True)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = (logsumexp_kept if keepdims else logsumexp_over)(a, axis)
            with np.errstate(all="ignore"):  # below 1.16 SciPy warns of its own infinities
                expected = special.logsumexp(a, axis=axis, keepdims=keepdims)
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            assert found.shape == expected.shape
            assert found.strides == expected.strides or SCIPY < (1, 16)
            assert np.array_equal(found, expected, equal_nan=True)


def summed(x: Any) -> Any:
    return np.sum(special.logsumexp(x, axis=1) * np.arange(1.0, 4.0))


def test_compiled_gives_the_bits_of_eager() -> None:
    compiled = gs.compile(gs.value_and_grad(summed), verify=True)
    for seed, dtype in ((0, np.float64), (1, np.float64), (2, np.float32)):
        x = np.random.default_rng(seed).standard_normal((3, 5)).astype(dtype)
        for _ in range(2):
            value, gradient = compiled(x)
            assert value == summed(x) == gs.value_and_grad(summed)(x)[0]
            assert np.array_equal(gradient, gs.grad(summed)(x))
            assert gradient.dtype == dtype
    assert ("import scipy" in compiled.source(x)) == (SCIPY < (1, 16))


def test_weights_and_signs_are_scipys() -> None:
    x = np.array([[0.5, 1.0], [-1.0, 2.0]])
    source = gs.grad(lambda x: np.sum(special.logsumexp(x, axis=0, b=2.0))).source(x)
    assert "scipy.special.logsumexp" in source


def test_gradients_where_nothing_or_something_infinite_is_added() -> None:
    x = np.array([[-np.inf, -np.inf], [-np.inf, 1.0]])
    assert gs.grad(lambda x: special.logsumexp(x[1]))(x).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert gs.grad(lambda x: special.logsumexp(x[0]))(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
