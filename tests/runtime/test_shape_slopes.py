"""Incomplete gamma and beta functions in their shapes, beside numbers that mpmath gives with 50 digits, and at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import gradscribe as gs

GAMMA = (  # a, x, the slope of gammainc in a
    (0.01, 0.3, -0.9087458022685458), (0.5, 40.0, -2.1253415656995285e-18), (3.0, 0.001, -1.3596358251998284e-09),
    (20.0, 25.0, -0.046727804534347564), (150.0, 120.0, -0.0011297745258225308), (800.0, 830.0, -0.007999108410045712),
)  # fmt: skip
BETA = (  # a, b, x, the slopes of betainc in a and in b
    (0.05, 0.3, 0.2, -3.204645777102988, 0.423064276924356), (2.0, 3.0, 0.01, -0.00238237390521053, 0.00034139575316609273),
    (40.0, 7.0, 0.9, -0.01361560494706749, 0.09883873508869932), (0.4, 90.0, 0.001, -1.0024940731754404, 0.0017516190810574876),
)  # fmt: skip


@pytest.mark.parametrize(("a", "x", "slope"), GAMMA)
def test_the_incomplete_gamma_function(a: float, x: float, slope: float) -> None:
    np.testing.assert_allclose(gs.grad(special.gammainc)(a, x), slope, rtol=1e-10)
    np.testing.assert_allclose(gs.grad(special.gammaincc)(a, x), -slope, rtol=1e-10)
    np.testing.assert_allclose(gs.grad(lambda a: stats.gamma.cdf(x, a))(a), slope, rtol=1e-10)


@pytest.mark.parametrize(("a", "b", "x", "in_a", "in_b"), BETA)
def test_the_incomplete_beta_function(a: float, b: float, x: float, in_a: float, in_b: float) -> None:
    np.testing.assert_allclose(gs.grad(special.betainc, argnums=(0, 1))(a, b, x), (in_a, in_b), rtol=1e-10)
    np.testing.assert_allclose(gs.grad(special.betaincc, argnums=(0, 1))(a, b, x), (-in_a, -in_b), rtol=1e-10)
    np.testing.assert_allclose(gs.grad(lambda a: stats.beta.cdf(x, a, b))(a), in_a, rtol=1e-10)


def test_the_ends_do_not_move() -> None:
    ends = np.array([0.0, np.inf])
    np.testing.assert_array_equal(
        gs.grad(lambda a: np.sum(special.gammainc(a, ends)))(np.array([1.5, 2.5])), [0.0, 0.0]
    )
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(
        gs.grad(lambda a: np.sum(special.betainc(a, 2.0, ends)))(np.array([1.5, 2.5])), [0.0, 0.0]
    )


def test_single_precision_is_differentiated_in_double() -> None:
    found = gs.grad(lambda a: special.gammainc(a, np.float32(25.0)))(np.float32(20.0))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, -0.046727804534347564, rtol=1e-6)
