"""Distribution functions and quantiles of scipy.stats' families, and masses of discrete ones, against SciPy."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import gradscribe as gs
from gradscribe import NoRuleError

from case_tables import slow

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
# Of these SciPy computes the mean, and the entropy, by integrals or by code that is not seen through.
NEITHER = [
    "alpha", "argus", "betaprime", "burr", "burr12", "crystalball", "exponpow", "exponweib", "foldcauchy",
    "genexpon", "gompertz", "jf_skew_t", "johnsonsb", "kappa3", "loguniform", "mielke", "ncf", "nct",
    "powerlognorm", "powernorm", "recipinvgauss", "reciprocal", "rel_breitwigner", "skewcauchy", "tukeylambda",
    "gausshyper",
]  # fmt: skip
NO_MEAN = [
    *NEITHER,
    "genhalflogistic", "halfgennorm", "trapezoid", "truncpareto", "vonmises", "vonmises_line", "wrapcauchy",
]  # fmt: skip
NO_ENTROPY = [
    *NEITHER,
    "exponnorm", "fatiguelife", "foldnorm", "gengamma", "genlogistic", "invgauss", "johnsonsu", "ncx2", "pearson3",
    "rdist", "rice", "skewnorm", "truncweibull_min",
]  # fmt: skip
WHOLE = {"ksone", "kstwo", "irwinhall"}
SHORT = ("gamma", "weibull_min", "beta", "t", "genpareto", "triang")  # which run by default
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


@pytest.mark.parametrize("name", SHORT)
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
    "zipfian": (lambda p: stats.zipfian.pmf(np.arange(7), p[0], 5), np.array([1.6])),
    "zipfian, lists": (lambda p: stats.zipfian.logpmf([1, 2, 4], p, 5), np.array([0.7, 1.6, 2.3])),
    "boltzmann": (lambda p: stats.boltzmann.pmf(np.arange(6), p[0], 4), np.array([0.6])),
    "dlaplace": (lambda p: stats.dlaplace.pmf(np.arange(-3, 4), p[0]), np.array([0.6])),
    "yulesimon": (lambda p: stats.yulesimon.logpmf(np.arange(1, 5), p[0]), np.array([1.6])),
    "poisson": (lambda p: stats.poisson.logpmf(3, p), np.array([1.6, 2.0])),
    "binom": (lambda p: stats.binom.pmf(3, 5, special.expit(p)), np.array([0.6, -1.0])),
    "bernoulli": (lambda p: stats.bernoulli.pmf(np.arange(3), p[0]), np.array([0.6])),
    "frozen": (lambda p: stats.geom(p[0]).logpmf(np.arange(1, 5)), np.array([0.6])),
    "zipf": (lambda p: stats.zipf.logpmf(np.arange(4), p[0] + 1), np.array([0.9])),
    "skellam": (lambda p: stats.skellam.logpmf(np.arange(-2, 4), p[0], p[1]), np.array([1.6, 2.3])),
    **{
        f"{family}, {method}": (
            lambda p, family=family, method=method: getattr(getattr(stats, family), method)(
                np.array([-3.0, -1.0, 0.0, 1.0, 1.5, 2.0, 5.0, 9.0]), *([4] if family in ("binom", "nbinom") else []), p[0],
                *([5] if family == "boltzmann" else []), loc=1,
            ),
            np.array([0.6]),
        )
        for family in ("geom", "nbinom", "planck", "boltzmann", "dlaplace", "yulesimon", "poisson", "binom", "bernoulli")
        for method in ("cdf", "sf", "logcdf", "logsf")
    },
}  # fmt: skip
EXPECTED: dict[str, Callable[[Any], Any]] = {
    "binom": lambda p: stats.binom(5, p).expect(lambda k: np.exp(0.1 * k)),
    "binom, within": lambda p: stats.binom.expect(lambda k: k**2, args=(5, p), lb=1, ub=3),
    "binom, conditional": lambda p: stats.binom.expect(args=(5, p), lb=1, ub=3, conditional=True),
    "poisson": lambda p: stats.poisson(3 * p).expect(lambda k: k**3),
    "poisson, moved": lambda p: stats.poisson(3 * p, loc=2).expect(lambda k: k * p),
    "geom": lambda p: stats.geom.expect(lambda k: 1.0 / k, args=(p,)),
    "skellam": lambda p: stats.skellam(p, 2.0).expect(lambda k: k**2),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_means_over_whole_numbers(name: str) -> None:
    f = EXPECTED[name]
    assert gs.value_and_grad(f)(0.4)[0] == pytest.approx(f(0.4), rel=1e-9)
    np.testing.assert_allclose(gs.grad(f)(0.4), slope(f, [0.4], 0), rtol=1e-6)
    if name.startswith("binom"):
        assert gs.compile(gs.grad(f), verify="first calls")(0.4) == gs.grad(f)(0.4)
    else:
        with pytest.warns(gs.EagerWarning, match="the number of terms follows from values"):
            assert gs.compile(gs.grad(f))(0.4) == gs.grad(f)(0.4)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda p: stats.zipf(1 + p).expect(lambda k: k), "its tail is long"),
        (lambda p: stats.poisson(2.0, loc=p).expect(lambda k: k), "a loc= that is differentiated"),
    ],
)
def test_means_that_have_no_rule_raise_by_name(f: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(gs.NoRuleError, match=words):
        gs.grad(f)(0.4)


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


@pytest.mark.parametrize(
    ("name", "args"), [case for case in CASES if case.values[1] and case.values[0] != "gausshyper"]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_in_shapes(name: str, args: Any) -> None:
    family = getattr(stats, name)
    at = np.array([*args, 1.0, 2.0])
    if name in WHOLE:
        pytest.skip("its shapes are whole numbers")
    for method in METHODS:
        for q in (0.31, 0.83):
            x = q if method in ("ppf", "isf") else 2.0 * family.ppf(q, *args) + 1.0
            g = lambda p, method=method, x=x: getattr(getattr(stats, name), method)(x, *[p[k] for k in range(len(at))])
            value, found = gs.value_and_grad(g)(at)
            public: Any = functools.partial(getattr(family, method), x)
            np.testing.assert_allclose(value, public(*at), rtol=1e-9, atol=1e-12)
            expected = [slope(public, list(at), k) for k in range(len(at))]
            tolerance = (1e-3 if name in COARSE else 1e-5) * max(1.0, float(np.max(np.abs(expected))))
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=f"{method} {q}")


def split(p: Any) -> list[Any]:
    return [p[k] for k in range(len(p))]


@pytest.mark.parametrize(
    "name", slow(["weibull_min", "gamma", "t", "truncnorm", "skewnorm", "genpareto"], ["weibull_min", "gamma"])
)
def test_shapes_compiled_and_at_second_order(name: str) -> None:
    args = np.array(dict(FAMILIES)[name])
    family = getattr(stats, name)
    x = family.ppf(np.array([0.2, 0.37, 0.6]), *args)
    for method in METHODS:
        at = np.array([0.2, 0.37, 0.6]) if method in ("ppf", "isf") else x
        f = lambda p, method=method, at=at: np.sum(np.cos(getattr(getattr(stats, name), method)(at, *split(p))))
        compiled = gs.compile(gs.grad(f), verify="first calls")
        for k in (1.0, 0.99):
            np.testing.assert_array_equal(compiled(args * k), gs.grad(f)(args * k))
        compiled.specialisation(args)  # which raises where it runs eagerly
        h, u = 1e-5, np.cos(np.arange(len(args)))
        found = (gs.grad(f)(args + h * u) - gs.grad(f)(args - h * u)) / (2 * h)
        np.testing.assert_allclose(gs.hvp(f)(args, u), found, rtol=1e-4, atol=1e-5, err_msg=method)


@pytest.mark.parametrize(("name", "args"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_moments(name: str, args: Any) -> None:
    family, at = getattr(stats, name), np.array([*args, 0.3, 1.7])
    for what in ("mean", "var", "std", "entropy", "median"):
        if name in WHOLE or not np.isfinite(getattr(family, what)(*at)):
            continue
        f = lambda p, what=what: getattr(getattr(stats, name)(*[p[k] for k in range(len(at))]), what)()
        if name in {"median": ["gausshyper"], "entropy": NO_ENTROPY}.get(what, NO_MEAN):
            with pytest.raises(NoRuleError, match=f"{name}.(ppf|{what}) has no gradient rule"):
                gs.grad(f)(at)
            continue
        value, found = gs.value_and_grad(f)(at)
        public: Any = getattr(family, what)
        np.testing.assert_allclose(value, public(*at), rtol=1e-8, atol=1e-10)
        expected = [slope(public, list(at), k) for k in range(len(at))]
        tolerance = (1e-3 if name in COARSE else 1e-6) * max(1.0, float(np.max(np.abs(expected))))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=what)


OF_A_DISTRIBUTION: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "interval": (lambda p: stats.gamma(p[0], scale=p[1]).interval(0.9)[1], np.array([1.5, 0.7])),
    "support": (lambda p: stats.uniform(p[0], p[1]).support()[1] ** 2, np.array([1.5, 0.7])),
    "moments of a frozen one": (lambda p: stats.truncnorm(-1.0, p[0], p[1], 2.0).std(), np.array([1.5, 0.7])),
    "no moment": (lambda p: np.where(np.isinf(stats.t(p[0]).var()), p[0], 0.0), np.array([1.5, 0.7])),
    "counts": (lambda p: stats.nbinom(5, p[1]).std() + stats.poisson.mean(p[0]) * stats.binom.var(9, p[1]), np.array([1.5, 0.7])),
    "expect": (lambda p: stats.norm(p[0], p[1]).expect(lambda x: np.sin(x)), np.array([1.5, 0.7])),
    "expect of the family": (lambda p: stats.gamma.expect(np.log1p, args=(p[0],), scale=p[1]), np.array([1.5, 0.7])),
    "expect between": (lambda p: stats.gamma(p[0]).expect(lb=0.3, ub=2.0 + p[1], conditional=True), np.array([1.5, 0.7])),
    "multivariate_t": (
        lambda p: stats.multivariate_t.logpdf([0.1, 0.7], loc=p, shape=np.diag(p) + 0.2, df=3 + p[0]), np.array([1.5, 0.7])
    ),
    "multinomial": (lambda p: stats.multinomial.logpmf([1, 2], 3, np.stack([p[1], 1 - p[1]])), np.array([1.5, 0.7])),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_A_DISTRIBUTION)
def test_what_belongs_to_a_distribution(name: str) -> None:
    f, p = OF_A_DISTRIBUTION[name]
    expected = [slope(lambda *q: f(np.array(q)), list(p), k) for k in range(p.size)]
    np.testing.assert_allclose(gs.grad(f)(p), expected, rtol=1e-7, atol=1e-8)
    compiled = gs.compile(gs.grad(f), verify="first calls")
    np.testing.assert_array_equal(compiled(p), gs.grad(f)(p))
    compiled.specialisation(p)


def test_what_has_no_derivative_raises_by_name() -> None:
    for f in (lambda a: stats.gausshyper.cdf(0.4, a, 3.0, 2.0, 5.0), lambda a: stats.geninvgauss.ppf(0.3, a, 1.0)):
        for run in (gs.grad(f), gs.compile(gs.grad(f))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(NoRuleError, match="for its shapes, of which one requires grad"):
                    run(1.5)
    second = gs.grad(gs.grad(lambda x: stats.ncx2.cdf(x, 3.0, 1.0)))
    with pytest.raises(NoRuleError, match=r"scipy\.stats\.ncx2\.pdf has no gradient rule"):
        second(2.0)
