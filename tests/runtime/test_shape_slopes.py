"""Incomplete gamma and beta, Bessel and zeta functions in shapes and orders, beside numbers of mpmath's, and at the ends."""

from __future__ import annotations

from typing import Any

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

ORDERS = (  # a function, its arguments, and its slope in the first
    ("jv", 0.0, 2.0, 0.8016962318836942), ("jv", -2.5, 0.7, -10.694718562477348), ("jv", 30.0, 31.0, -0.03719495359245535),
    ("yv", 1.0, 0.2, -5.561822154283321), ("yv", 7.3, 40.0, 0.17477994071161487), ("iv", 0.5, 0.001, -0.19270156724487114),
    ("iv", 3.0, 30.0, -68151742536.64098), ("kv", 0.0, 1.0, 0.0), ("kv", 12.0, 0.05, 2.0530094788002063e27),
    ("zeta", 1.5, 1.0, -3.9322397374311016), ("zeta", 1.01, 3.0, -9999.583101528811), ("zeta", 12.0, 0.3, 2265487.228724686),
    ("stdtr", 0.7, -3.0, -0.16972340353742751), ("stdtr", 4.0, 1e-3, 5.6948100098494126e-06),
    ("stdtr", 150.0, 2.5, 3.6424648302710357e-06), ("stdtr", 3.0, 0.0, 0.0), ("gammaincinv", 0.3, 0.2, 0.060714953827915134),
    ("gammaincinv", 25.0, 0.9, 1.1289251724325096), ("fdtr", 3.0, 7.0, 1.3, -0.011665900447386293),
    ("fdtr", 0.6, 40.0, 0.02, -0.4728805271891866), ("betaincinv", 0.7, 2.0, 0.2, 0.17494896776226096),
    ("betaincinv", 12.0, 5.0, 0.9, 0.010647755635289791),
)  # fmt: skip
SECOND = (  # in the second
    ("fdtr", 3.0, 7.0, 1.3, 0.008957729484056796), ("fdtr", 0.6, 40.0, 0.02, 3.162918463447664e-05),
    ("betaincinv", 0.7, 2.0, 0.2, -0.02520163437113247), ("betaincinv", 12.0, 5.0, 0.9, -0.03775482300021685),
)  # fmt: skip


@pytest.mark.parametrize("case", ORDERS + SECOND, ids=str)
def test_orders_and_parameters(case: tuple[Any, ...]) -> None:
    name, *args, slope = case
    found = gs.grad(getattr(special, name), argnums=int(case in SECOND))(*map(np.float64, args))
    np.testing.assert_allclose(found, slope, rtol=2e-9, atol=1e-15)


def test_riemanns_zeta_function() -> None:
    np.testing.assert_allclose(gs.grad(lambda s: special.zeta(s))(3.0), -0.19812624288563685, rtol=1e-10)
    if np.isfinite(special.zeta(-0.5)):  # which SciPy 1.15 leaves out
        np.testing.assert_allclose(gs.grad(lambda s: special.zeta(s))(-0.5), -0.3608543395999476, rtol=1e-10)


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
