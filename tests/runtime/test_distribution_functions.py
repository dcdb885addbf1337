"""Distribution functions and quantiles of scipy.stats' families, and masses of discrete ones, against SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import gradscribe as gs
from gradscribe import NoRuleError

params = pytest.importorskip("scipy.stats._distr_params")
METHODS = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
# Of these SciPy finds values by steps, which end at some digits, or takes seconds.
SLOW_THERE = {
    "levy_stable",
    "studentized_range",
    "genhyperbolic",
    "kappa4",
    "geninvgauss",
    "dpareto_lognorm",
    "norminvgauss",
}
COARSE = {
    "vonmises",
    "vonmises_line",
    "ksone",
    "kstwo",
    "kstwobign",
    "landau",
    "ncf",
    "nct",
    "ncx2",
    "irwinhall",
    "gausshyper",
}
SHORT = ("gamma", "weibull_min", "beta", "t", "genpareto", "triang")
FAMILIES = [(name, args) for name, args in params.distcont if name not in SLOW_THERE]
CASES = [pytest.param(name, args, id=f"{name}-{k}", marks=() if name in SHORT else pytest.mark.slow)
         for k, (name, args) in enumerate(FAMILIES)]  # fmt: skip


def slope(f: Callable[..., Any], at: list[Any], k: int) -> float:
    h = 1e-4
    moved = lambda s: f(*[v + s * h * (j == k) for j, v in enumerate(at)])
    return float((8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h))


@pytest.mark.parametrize(("name", "args"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_in_x_loc_and_scale(name: str, args: Any) -> None:
    family = getattr(stats, name)
    x = 2.0 * family.ppf(0.37, *args) + 1.0
    for method in METHODS:
        f: Any = getattr(family, method)
        g = lambda x, loc, scale, method=method: getattr(getattr(stats, name), method)(x, *args, loc, scale)
        at = [np.float64(0.37 if method in ("ppf", "isf") else x), np.float64(1.0), np.float64(2.0)]
        value, found = gs.value_and_grad(g, argnums=(0, 1, 2))(*at)
        np.testing.assert_allclose(value, f(at[0], *args, 1.0, 2.0), rtol=1e-9, atol=1e-12)
        tolerance = 1e-3 if name in COARSE else 2e-5
        expected = [slope(lambda x, loc, scale, f=f: f(x, *args, loc, scale), at, k) for k in range(3)]
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=method)


@pytest.mark.parametrize(
    "name", [name for name in SHORT if name != "genpareto"]
)  # which SciPy 1.15 computes out of sight
def test_compiled_and_at_second_order(name: str) -> None:
    args = dict(FAMILIES)[name]
    family = getattr(stats, name)
    x = family.ppf(np.array([0.2, 0.37, 0.6]), *args)
    for method in METHODS:
        at = np.array([0.2, 0.37, 0.6]) if method in ("ppf", "isf") else x
        f = lambda x, method=method: np.sum(
            np.cos(getattr(getattr(stats, name), method)(x, *args, 0.1 * x[0], 1.0 + 0.1 * x[1] ** 2))
        )
        compiled = gs.compile(gs.grad(f), verify="first calls")
        for k in (1.0, 0.95):
            np.testing.assert_array_equal(compiled(at * k), gs.grad(f)(at * k))
        compiled.specialisation(at)  # which raises where it runs eagerly
        h = 1e-5
        found = (gs.grad(f)(at + h) - gs.grad(f)(at - h)) / (2 * h)
        np.testing.assert_allclose(gs.hvp(f)(at, np.ones(3)), found, rtol=1e-4, atol=1e-6, err_msg=method)


def test_frozen_and_broadcast() -> None:
    x, shapes = np.array([0.5, 1.0, 2.0]), np.array([[1.5], [2.5]])
    f = lambda x, scale: np.sum(stats.weibull_min(shapes, scale=scale).cdf(x))
    found = gs.grad(f, argnums=(0, 1))(x, 1.3)
    density = stats.weibull_min.pdf(x, shapes, scale=1.3)
    np.testing.assert_allclose(found[0], density.sum(0), rtol=1e-12)
    np.testing.assert_allclose(found[1], np.sum(-x / 1.3 * density), rtol=1e-12)


DISCRETE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "geom": (lambda p: stats.geom.logpmf(np.arange(5), p[0]), np.array([0.3])),
    "nbinom": (lambda p: stats.nbinom.logpmf(np.arange(5), p[0] * 9, p[1]), np.array([0.3, 0.4])),
    "betabinom": (lambda p: stats.betabinom.pmf(np.arange(7), 5, p[0], p[1]), np.array([0.3, 1.4])),
    "betanbinom": (lambda p: stats.betanbinom.pmf(np.arange(7), 5, p[0] + 1, p[1]), np.array([0.3, 1.4])),
    "logser": (lambda p: stats.logser.pmf(np.arange(5), p[0]), np.array([0.6])),
    "planck": (lambda p: stats.planck.pmf(np.arange(5), p[0]), np.array([0.6])),
    "boltzmann": (lambda p: stats.boltzmann.pmf(np.arange(6), p[0], 4), np.array([0.6])),
    "dlaplace": (lambda p: stats.dlaplace.pmf(np.arange(-3, 4), p[0]), np.array([0.6])),
    "yulesimon": (lambda p: stats.yulesimon.logpmf(np.arange(1, 5), p[0]), np.array([1.6])),
    "poisson": (lambda p: stats.poisson.logpmf(3, p), np.array([1.6, 2.0])),
    "binom": (lambda p: stats.binom.pmf(3, 5, special.expit(p)), np.array([0.6, -1.0])),
    "bernoulli": (lambda p: stats.bernoulli.pmf(np.arange(3), p[0]), np.array([0.6])),
    "frozen": (lambda p: stats.geom(p[0]).logpmf(np.arange(1, 5)), np.array([0.6])),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_masses_in_their_parameters(name: str) -> None:
    f, p = DISCRETE[name]
    np.testing.assert_allclose(gs.vjp(f, p)[0], f(p), rtol=1e-10, atol=1e-15)
    g = lambda p: np.sum(np.where(np.isfinite(f(p)), f(p), 0.0))
    found = [slope(lambda t, k=k: g(np.where(np.arange(p.size) == k, t, p)), [p[k]], 0) for k in range(p.size)]
    np.testing.assert_allclose(gs.grad(g)(p), found, rtol=1e-6, atol=1e-9)
    compiled = gs.compile(gs.grad(g), verify="first calls")
    np.testing.assert_array_equal(compiled(p), gs.grad(g)(p))
    compiled.specialisation(p)


def test_what_has_no_derivative_raises_by_name() -> None:
    for f in (lambda a: stats.weibull_min.cdf(1.0, a), lambda a: stats.gamma.ppf(0.3, a)):
        for run in (gs.grad(f), gs.compile(gs.grad(f))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(NoRuleError, match="for its argument `shapes`"):
                    run(1.5)
    second = gs.grad(gs.grad(lambda x: stats.ncx2.cdf(x, 3.0, 1.0)))
    with pytest.raises(NoRuleError, match=r"scipy\.stats\.ncx2\.pdf has no gradient rule"):
        second(2.0)
