"""Densities of scipy.stats' continuous families: values and slopes in everything, against SciPy, eager and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

scipy = pytest.importorskip("scipy")
stats = pytest.importorskip("scipy.stats")
params = pytest.importorskip("scipy.stats._distr_params")

# What SciPy computes out of sight raises, by its name.
OUT_OF_SIGHT = {
    "dpareto_lognorm", "genhyperbolic", "geninvgauss", "irwinhall", "kappa4", "ksone", "kstwo", "kstwobign", "landau",
    "levy_stable", "ncf", "nct", "ncx2", "studentized_range",
}  # fmt: skip
CONSTANT_SHAPES: dict[str, Any] = {"gausshyper": "abc"}  # shapes in which there is no slope
FAMILIES = [(name, args) for name, args in params.distcont if name not in OUT_OF_SIGHT]


def shapes_of(name: str) -> list[str]:
    return (getattr(stats, name).shapes or "").replace(",", " ").split()


def test_at_least_95_of_the_families_have_densities() -> None:
    every = {one.name for one in vars(stats).values() if isinstance(one, stats.rv_continuous)} - {
        "trapz"
    }  # an old name
    tested = {name for name, _ in FAMILIES}
    assert every - OUT_OF_SIGHT == tested
    assert len(tested) >= 95


def slope(f: Any, at: list[Any], k: int) -> float:
    step = 1e-5 * max(abs(at[k]), 1e-3)
    up, down = ([v + s * step * (j == k) for j, v in enumerate(at)] for s in (1, -1))
    return float((f(*up) - f(*down)) / (2 * step))


@pytest.mark.parametrize(("name", "args"), FAMILIES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(FAMILIES)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of erlang, whose shape differences leave the whole numbers
def test_value_and_slopes(name: str, args: Any) -> None:
    family = getattr(stats, name)
    at = [np.float64(2 * family.ppf(0.37, *args) + 1), *map(np.float64, args), np.float64(1.0), np.float64(2.0)]
    named = ["x", *shapes_of(name), "loc", "scale"]
    places = [k for k, one in enumerate(named) if one not in CONSTANT_SHAPES.get(name, ())]
    for f in (family.logpdf, family.pdf):
        value, found = gs.value_and_grad(lambda *a, f=f: getattr(family, f.__name__)(*a), argnums=tuple(places))(*at)
        np.testing.assert_allclose(value, f(*at), rtol=1e-9)
        expected = [slope(f, at, k) for k in places]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", sorted(OUT_OF_SIGHT & set(dir(stats))))
def test_what_is_out_of_sight_raises_by_its_name(name: str) -> None:
    args = dict(params.distcont)[name]
    with pytest.raises(gs.NoRuleError, match=rf"scipy\.stats\.{name}\.logpdf has no gradient rule"):
        gs.grad(lambda x: getattr(stats, name).logpdf(x, *args))(0.5)


@pytest.mark.parametrize(("name", "shape"), [(n, s) for n, shapes in CONSTANT_SHAPES.items() for s in shapes])
def test_a_shape_without_a_slope_raises(name: str, shape: str) -> None:
    args = dict(zip(shapes_of(name), map(float, dict(params.distcont)[name]), strict=True))
    x = getattr(stats, name).ppf(0.4, **args)
    with pytest.raises((gs.NoRuleError, gs.GradientLossError)):
        gs.grad(lambda s: getattr(stats, name).logpdf(x, **{**args, shape: s}))(args[shape])


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("gumbel_r", ()), ("weibull_min", (1.7,)), ("lognorm", (0.8,)), ("genpareto", (-0.3,)), ("triang", (0.3,)), ("uniform", ()),
     ("pearson3", (0.5,)), ("truncexpon", (2.0,)), ("skewnorm", (3.0,)), ("pareto", (2.5,))],
)  # fmt: skip
@pytest.mark.parametrize("logarithm", [True, False])
def test_arrays_within_and_beyond_the_support(name: str, shapes: Any, logarithm: bool) -> None:
    method = "logpdf" if logarithm else "pdf"
    x = np.linspace(-3.0, 5.0, 9) + 0.1

    def total(x: Any, scale: Any) -> Any:
        values = getattr(getattr(stats, name), method)(x, *shapes, loc=0.2, scale=scale)
        return np.sum(np.where(np.isfinite(values), values, 0.0)), values

    gradient = gs.value_and_grad(total, argnums=(0, 1), has_aux=True)
    (_, values), eager = gradient(x, 1.5)
    np.testing.assert_allclose(values, getattr(getattr(stats, name), method)(x, *shapes, loc=0.2, scale=1.5), rtol=1e-9)
    assert np.isfinite(eager[0]).all()
    assert np.isfinite(eager[1])
    compiled = gs.compile(gradient, verify="first calls")
    for _ in range(2):
        (_, again), found = compiled(x, 1.5)
        np.testing.assert_array_equal(again, values)
        np.testing.assert_array_equal(found[0], eager[0])
        assert found[1] == eager[1]


def test_what_is_invalid_is_nan() -> None:
    f = gs.value_and_grad(lambda x, c, scale: stats.weibull_min.pdf(x, c, scale=scale))
    for c, scale in ((-1.0, 1.0), (1.5, -1.0)):
        assert np.isnan(f(0.5, c, scale)[0])
        assert np.isnan(stats.weibull_min.pdf(0.5, c, scale=scale))
    with pytest.raises(TypeError, match=r"scipy\.stats\.weibull_min takes"):
        gs.grad(lambda x: stats.weibull_min.pdf(x, 1.0, 0.0, 1.0, 3.0))(0.5)


def test_frozen_ones_and_float32() -> None:
    f = gs.grad(lambda x, s: np.sum(stats.weibull_min(s, scale=2.0).logpdf(x)), argnums=(0, 1))
    x = np.array([0.5, 1.5])
    direct = gs.grad(lambda x, s: np.sum(stats.weibull_min.logpdf(x, s, 0, 2.0)), argnums=(0, 1))(x, 0.7)
    for one, other in zip(f(x, 0.7), direct, strict=True):
        np.testing.assert_array_equal(one, other)
    value, found = gs.value_and_grad(lambda x: np.sum(stats.gumbel_l.logpdf(x)))(x.astype(np.float32))
    assert value.dtype == np.float64  # SciPy computes in double precision
    assert found.dtype == np.float32


def test_second_derivatives() -> None:
    found = gs.grad(gs.grad(stats.gumbel_r.logpdf))(0.7)
    np.testing.assert_allclose(found, -np.exp(-0.7))
    np.testing.assert_allclose(gs.hessian(lambda x: stats.weibull_min.logpdf(x, 2.0))(0.7), -2 - 0.7**-2)


@pytest.mark.parametrize(("name", "args"), FAMILIES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(FAMILIES)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of erlang, as above
def test_nan_of_nan_and_of_parameters_that_a_family_has_not(name: str, args: Any) -> None:
    family = getattr(stats, name)
    wrong = [(*args, 0.0, -1.0), *[(*args[:k], -0.5, *args[k + 1 :], 0.0, 1.0) for k in range(len(args))]]
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"):
        call = lambda *at, method=method: getattr(getattr(stats, name), method)(*at)
        with np.errstate(all="ignore"):
            if method not in ("cdf", "sf", "logcdf", "logsf", "ppf", "isf") or shapes_of(name) == []:
                assert np.isnan(gs.vjp(lambda x, call=call: call(x, *args), np.array([np.nan, 0.5]))[0][0])
            for at in wrong:
                if np.isnan(getattr(family, method)(0.4, *at)):
                    try:
                        value = gs.vjp(lambda x, call=call, at=at: call(x, *at), np.float64(0.4))[0]
                        traced = gs.vjp(lambda *at, call=call: call(0.4, *at), *map(np.float64, at))[0]
                    except (gs.NoRuleError, gs.GradientLossError):  # no slope in shapes
                        continue
                    assert np.isnan(value), (method, at)
                    assert np.isnan(traced), (method, at)


@pytest.mark.parametrize("name", ["genextreme", "genpareto"])
def test_slopes_where_a_shape_is_zero(name: str) -> None:
    f = lambda c: np.sum(np.sin(getattr(stats, name).logpdf(np.array([0.3, 1.2, 2.5]), c)))
    at = lambda c: float(np.sum(np.sin(getattr(stats, name).logpdf(np.array([0.3, 1.2, 2.5]), c))))
    h = 1e-3
    for c in (0.0, 1e-7, -3e-6):
        first = (8 * (at(c + h) - at(c - h)) - at(c + 2 * h) + at(c - 2 * h)) / (12 * h)
        np.testing.assert_allclose(gs.grad(f)(c), first, rtol=1e-6)
        second = (gs.grad(f)(c + h) - gs.grad(f)(c - h)) / (2 * h)
        np.testing.assert_allclose(gs.grad(gs.grad(f))(c), second, rtol=1e-4)
