"""scipy.integrate's quadrature in functions that are differentiated: under the integral, at its limits, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import gradscribe as gs
from gradscribe import EagerWarning, GradientLossError, NoRuleError

SCALE = 1.0


def branches(t: Any) -> Any:
    def f(s: Any) -> Any:
        if s > 0.5:
            return np.sin(s * t)
        return s * t * t

    return integrate.quad(f, 0, t, points=[0.5])[0]


def wave(y: Any, x: Any, k: Any) -> Any:
    return x * y * k + np.sin(y)


INTEGRALS: dict[str, Callable[[Any], Any]] = {
    "infinite": lambda t: integrate.quad(lambda s: np.exp(-t * s * s), -np.inf, np.inf)[0],
    "limits": lambda t: integrate.quad(lambda s: np.sin(s * t), t * t, 2 * t)[0],
    "half infinite": lambda t: integrate.quad(lambda s: np.exp(-t * s), t, np.inf)[0],
    "args": lambda t: integrate.quad(lambda s, k: s**k, 0, 1, args=(t,))[0],
    "an array": lambda t: integrate.quad(lambda s, p: p[0] * s + p[1] * s * s, 0, 1, (np.array([t, t * t]),))[0] ** 2,
    "points": lambda t: integrate.quad(lambda s: np.abs(s - 0.3) * t**2, 0, t, points=[0.3])[0],
    "cos": lambda t: integrate.quad(lambda s: np.exp(-t * s), 0, t, weight="cos", wvar=2.0)[0],
    "alg": lambda t: integrate.quad(lambda s: np.exp(-t * s), 0, 1, weight="alg", wvar=(-0.5, 0.2))[0],
    "branches": branches,
    "quad_vec": lambda t: np.sum(integrate.quad_vec(lambda s: np.array([1.0, t]) * np.sin(t * s), 0, t)[0] ** 2),
    "dblquad": lambda t: integrate.dblquad(wave, 0, t, lambda x: x * t, lambda x: t + x, args=(t,))[0],
    "nquad": lambda t: integrate.nquad(lambda x, y, k: x * y * k, [lambda y, k: (0, y * k), (0, t)], args=(t,))[0],
    "fixed_quad": lambda t: integrate.fixed_quad(lambda s: np.sin(t * s), 0, t, n=4)[0],
}  # fmt: skip
POINTS = (0.8, 1.3)


def slope(f: Callable[[Any], Any], t: float) -> Any:
    h = 1e-3
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h)


ALGEBRAIC: dict[str, Callable[[Any], Any]] = {
    f"{weight}, limits": lambda t, weight=weight: integrate.quad(
        lambda s, k: np.exp(-k * s), t - 1.1, t * t, args=(t,), weight=weight, wvar=(-0.5, 0.2)
    )[0]
    for weight in ("alg", "alg-loga", "alg-logb", "alg-log")
}


@pytest.mark.parametrize("name", [*INTEGRALS, *ALGEBRAIC])
def test_first_and_second_derivative(name: str) -> None:
    f = (INTEGRALS | ALGEBRAIC)[name]
    first = gs.value_and_grad(f)
    for t in POINTS:
        value, found = first(t)
        assert value == f(t)
        np.testing.assert_allclose(found, slope(f, t), rtol=1e-6, atol=1e-8)
        if t == POINTS[1]:
            np.testing.assert_allclose(gs.grad(gs.grad(f))(t), slope(gs.grad(f), t), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(gs.jvp(f, (t,), (1.0,))[1], found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", INTEGRALS)
def test_compiled_is_eager(name: str) -> None:
    f = INTEGRALS[name]
    nested = name in ("dblquad", "nquad")  # whose second derivative takes a second
    for plain in (f, gs.value_and_grad(f), *([] if nested else [gs.grad(gs.grad(f))])):
        compiled = gs.compile(plain, verify="first calls")
        for t in (0.8, 0.4):
            np.testing.assert_array_equal(compiled(t), plain(t))
        compiled.specialisation(0.8)  # which raises where it runs eagerly


@pytest.mark.slow
def test_three_dimensions() -> None:
    f = lambda t: integrate.tplquad(
        lambda z, y, x: x * y * t + z * z, 0, t, 0.0, lambda x: t + x, lambda x, y: x * t, lambda x, y: y
    )[0]
    np.testing.assert_allclose(gs.grad(f)(0.8), slope(f, 0.8), rtol=1e-7)


def test_third_order_and_mixed_derivatives() -> None:
    third = gs.grad(gs.grad(gs.grad(lambda t: integrate.quad(lambda s: np.exp(t * s), 0.0, t)[0])))
    # (exp(t^2) - 1) / t, by series
    k = np.arange(2, 40)
    terms = [
        (2 * n - 1) * (2 * n - 2) * (2 * n - 3) * 0.7 ** (2 * n - 4) / float(np.prod(np.arange(1.0, n + 1))) for n in k
    ]
    np.testing.assert_allclose(third(0.7), np.sum(terms), rtol=1e-8)
    p = np.array([0.5, 1.2])
    f = lambda p: integrate.quad(lambda s: np.exp(p[0] * s) * np.sin(p[1] * s), 0.0, 1.0)[0]
    rows = np.stack([slope(lambda h, e=e: gs.grad(f)(p + h * e), 0.0) for e in np.eye(2)])
    of_row = lambda k: gs.grad(lambda p: gs.grad(f)(p)[k])(p)
    np.testing.assert_allclose([of_row(0), of_row(1)], rows, rtol=1e-7)
    np.testing.assert_allclose(gs.hessian(f)(p), rows, rtol=1e-7)


def test_integrals_that_depend_on_nothing_are_plain() -> None:
    found = gs.value_and_grad(lambda t: (t, integrate.quad(np.exp, 0.0, 1.0)), has_aux=True)(2.0)[0][1]
    assert found == integrate.quad(np.exp, 0.0, 1.0)
    assert [type(x) for x in found] == [float, float]


def test_an_integrand_that_is_another_one_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(t: Any) -> Any:
        globals()["SCALE"] = 1.0
        found = integrate.quad(lambda s: SCALE * s * t, 0.0, 1.0)[0]
        globals()["SCALE"] = 3.0
        return found

    monkeypatch.setitem(globals(), "SCALE", 1.0)
    with pytest.raises(GradientLossError, match=r"scipy\.integrate\.quad calls gave other values"):
        gs.grad(f)(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        with pytest.raises(GradientLossError, match=r"scipy\.integrate\.quad calls gave other values"):
            gs.compile(gs.grad(f))(1.0)


class Rate:
    def __init__(self) -> None:
        self.value = 1.0


RATE = Rate()


def test_an_attribute_that_changes_meanwhile() -> None:
    def f(t: Any) -> Any:
        found = integrate.quad_vec(lambda s: RATE.value * s * t * np.ones(2), 0.0, 1.0)[0]
        RATE.value += 1.0
        return np.sum(found)

    with pytest.raises(GradientLossError, match=r"quad_vec calls gave other values"):
        gs.grad(f)(1.0)


RAISES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "the error estimate": (lambda t: integrate.quad(lambda s: s * t, 0, 1)[1], "`abserr` of scipy.integrate.quad"),
    "a complex integrand": (lambda t: np.real(integrate.quad_vec(lambda s: np.exp(1j * s * t), 0, 1)[0]), "np.imag"),
    "wvar": (lambda t: integrate.quad(lambda s: s * 1.0, 0, 1, weight="cos", wvar=t)[0], "no derivative in wvar="),
    "vmap": (lambda t: np.sum(gs.vmap(lambda k: integrate.quad(lambda s: s * k, 0, 1)[0])(t * np.ones(2))), "gs.vmap"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_has_no_derivative_raises(name: str) -> None:
    f, words = RAISES[name]
    with pytest.raises(NoRuleError, match=words):
        gs.grad(f)(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        with pytest.raises(NoRuleError, match=words):
            gs.compile(gs.grad(f))(2.0)
