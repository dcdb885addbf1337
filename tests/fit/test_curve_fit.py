"""gs.curve_fit and gs.least_squares: what SciPy finds, with exact Jacobians, on pytrees."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

optimize = pytest.importorskip("scipy.optimize")

T = np.linspace(0.0, 4.0, 30)
Y = 3.0 * np.exp(-0.5 * T) + 0.1 * np.random.default_rng(0).normal(size=30)


def decay(t: Any, a: Any, k: Any) -> Any:
    return a * np.exp(-k * t)


def decay_jacobian(t: Any, a: Any, k: Any) -> Any:
    return np.stack([np.exp(-k * t), -a * t * np.exp(-k * t)], axis=-1)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"p0": [1, 2]},
        {"p0": (2.0, 0.1), "method": "trf"},
        {"method": "dogbox"},
        {"bounds": ([0, 0], [10, 0.4])},
        {"bounds": optimize.Bounds([0, 0], [2, 1])},
        {"sigma": np.linspace(0.1, 0.2, 30), "absolute_sigma": True},
        {"sigma": np.diag(np.linspace(0.1, 0.2, 30))},
        {"maxfev": 500, "ftol": 1e-6},
        {"method": "trf", "loss": "soft_l1"},
    ],
)
def test_what_scipy_finds(kwargs: Any) -> None:
    one = gs.curve_fit(decay, T, Y, **kwargs)
    other = optimize.curve_fit(decay, T, Y, jac=decay_jacobian, **kwargs)
    assert len(one) == len(other) == 2
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_it_counts_as_scipy_with_a_jacobian_by_hand() -> None:
    one = gs.curve_fit(decay, T, Y, full_output=True)
    other = optimize.curve_fit(decay, T, Y, full_output=True, jac=decay_jacobian)
    assert (one[2]["nfev"], one[2]["njev"], *one[3:]) == (other[2]["nfev"], other[2]["njev"], *other[3:])
    assert one[2]["nfev"] < optimize.curve_fit(decay, T, Y, full_output=True)[2]["nfev"]


def test_nan_is_left_out_where_asked() -> None:
    y = np.where(T > 3.9, np.nan, Y)
    one = gs.curve_fit(decay, T, y, nan_policy="omit")
    other = optimize.curve_fit(decay, T, y, nan_policy="omit", jac=decay_jacobian)
    np.testing.assert_allclose(one[0], other[0])
    assert gs.curve_fit(lambda t, c: c, T, y, nan_policy="omit")[0] == pytest.approx(np.nanmean(y))


def test_a_model_of_one_number() -> None:
    popt, pcov = gs.curve_fit(lambda t, c: c, T, Y)
    expected = optimize.curve_fit(lambda t, c: c, T, Y)
    np.testing.assert_allclose([popt[0], pcov[0, 0]], [expected[0][0], expected[1][0, 0]], rtol=1e-6)


def test_data_of_any_kind_and_methods() -> None:
    class Model:
        def surface(self, xy: Any, a: Any, b: Any) -> Any:
            return a * xy[0] + b * xy[1] ** 2

    xy = np.stack([T, T[::-1]])
    popt, _ = gs.curve_fit(Model().surface, xy, 2.0 * T + 3.0 * T[::-1] ** 2)
    np.testing.assert_allclose(popt, [2, 3])
    popt, _ = gs.curve_fit(lambda d, a: a * d["t"], {"t": T}, 2.0 * T)
    np.testing.assert_allclose(popt, [2])


@dataclasses.dataclass
class Line:
    slope: Any
    shift: Any


@pytest.mark.parametrize("compile", [None, False])
def test_parameters_are_trees(compile: Any) -> None:
    def model(t: Any, p: Any) -> Any:
        return p["line"].slope * t + p["line"].shift + p["wave"][0] * np.sin(p["wave"][1] * t)

    truth = {"line": Line(2.0, -1.0), "wave": np.array([0.7, 3.0])}
    start = {"line": Line(1.0, 0), "wave": np.array([1.0, 2.8])}
    popt, pcov = gs.curve_fit(model, T, model(T, truth), start, compile=compile)
    assert type(popt["line"]) is Line
    assert type(popt["line"].shift) is float
    np.testing.assert_allclose([popt["line"].slope, popt["line"].shift, *popt["wave"]], [2, -1, 0.7, 3], rtol=1e-6)
    assert pcov.shape == (4, 4)
    bounds = {"line": {"slope": (None, 1.5)}, "wave": (0, [2, 4])}
    popt, _ = gs.curve_fit(model, T, model(T, truth), start, bounds=bounds, compile=compile)
    assert popt["line"].slope == pytest.approx(1.5)


def test_a_list_of_arrays_is_several_arguments() -> None:
    popt, _ = gs.curve_fit(lambda t, w, c: w[0] * t + w[1] * t**2 + c, T, 2 * T - T**2 + 1, [np.ones(2), 0.0])
    assert type(popt) is list
    np.testing.assert_allclose([*popt[0], popt[1]], [2, -1, 1], atol=1e-9)


def test_no_convergence_raises_as_in_scipy() -> None:
    with pytest.raises(RuntimeError, match="Optimal parameters not found"):
        gs.curve_fit(decay, T, Y, [1.0, 5.0], maxfev=2)
    with pytest.warns(optimize.OptimizeWarning, match="could not be estimated"):
        gs.curve_fit(lambda t, a, b: a * t, T, T)


@pytest.mark.parametrize(
    ("model", "kwargs", "error", "words"),
    [
        (lambda t, a: None, {}, gs.ShapeError, "returned None at test_curve_fit.py"),
        (lambda t, a: np.log(-a) * t, {}, FloatingPointError, "returned nan at test_curve_fit.py"),
        (decay, {"jac": decay_jacobian}, TypeError, "takes no jac"),
        (decay, {"p0": {"a": "b"}}, gs.DtypeError, r"x0\['a'\] holds str"),
        (3, {}, TypeError, "takes a function, not int"),
        (lambda *p: p[0], {}, ValueError, "Unable to determine number of fit parameters"),
    ],
)
def test_what_cannot_be_fitted(model: Any, kwargs: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words), np.errstate(all="ignore"):
        gs.curve_fit(model, T, Y, **kwargs)


def test_an_error_in_the_model_is_the_users() -> None:
    def model(t: Any, a: Any) -> Any:
        return {}[a]

    with pytest.raises(KeyError) as caught:
        gs.curve_fit(model, T, Y)
    assert str(caught.traceback[-1].statement).strip() == "return {}[a]"


def test_within_a_transform_a_gradient_is_not_lost() -> None:
    for outer in (
        lambda y: gs.curve_fit(decay, T, y)[0][0],
        lambda y: gs.curve_fit(lambda t, a, k: a * np.exp(-k * t) + 0 * y, T, Y)[0][0],
        lambda y: np.sum(gs.least_squares(lambda x: x - y, np.zeros(30)).x),
    ):
        with pytest.raises(gs.GradientLossError, match=r"gs\.stop_gradient"):
            gs.grad(outer)(Y)


# --- least_squares ----------------------------------------------------------------------------------------------------


def residuals(x: Any) -> Any:
    return np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_as_scipy(method: str) -> None:
    def jac(x: Any) -> Any:
        return np.array([[-20 * x[0], 10], [-1, 0]])

    one = gs.least_squares(residuals, [-1.2, 1], method=method)
    other = optimize.least_squares(residuals, [-1.2, 1], jac, method=method)
    np.testing.assert_allclose(one.x, other.x, rtol=1e-9)
    np.testing.assert_allclose(one.jac, other.jac, rtol=1e-9)
    assert (one.nfev, one.njev, one.message) == (other.nfev, other.njev, other.message)


def test_least_squares_of_trees() -> None:
    def loss(p: Any, weight: Any, shift: Any = 0.0) -> Any:
        return {"u": [p["a"] - 1.0 - shift], "v": weight * (p["b"] - p["a"] ** 2)}

    start = {"a": -1.0, "b": np.ones((2, 1))}
    found = gs.least_squares(loss, start, args=10.0, kwargs={"shift": 2.0}, x_scale={"a": 1.0, "b": np.ones((2, 1))})
    np.testing.assert_allclose([found.x["a"], *found.x["b"].ravel()], [3, 9, 9])
    assert found.grad["b"].shape == (2, 1)
    assert found.jac.shape == (3, 3)
    bounded = gs.least_squares(loss, start, {"a": (None, 2.0)}, args=(10.0,), loss="soft_l1")
    assert bounded.x["a"] == pytest.approx(1.0)
    with pytest.raises(TypeError, match="takes no jac"):
        gs.least_squares(loss, start, jac="2-point")
    with pytest.raises(gs.DtypeError, match=r"gs\.least_squares varies real numbers"):
        gs.least_squares(residuals, [1j, 2])
