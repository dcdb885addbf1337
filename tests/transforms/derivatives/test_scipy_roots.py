"""scipy.optimize's solvers of equations in functions that are differentiated: closures, args, higher derivatives, compiled."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import gradscribe as gs
from gradscribe import ConvergenceError, EagerWarning, GradientLossError, NoRuleError, SingularPointError

A = np.array([[3.0, 0.5], [-0.4, 2.0]])
SHIFT = 0.0


def cubic(s: Any, t: Any, k: Any) -> Any:
    return s**3 + k * s - t


def slope_of_cubic(s: Any, t: Any, k: Any) -> Any:
    return 3 * s**2 + k


def by_bracket(name: str) -> Callable[[Any], Any]:
    def solved(t: Any) -> Any:
        k = t * t
        return getattr(optimize, name)(lambda s: cubic(s, t, k), 0.0, 2.0) * np.sin(t)

    return solved


def branches(t: Any) -> Any:
    k = t * t

    def residual(s: Any) -> Any:
        if s > 0.6:
            return s**3 + k * s - t
        return 2.0 * (s**3 + k * s - t) * np.exp(0.6 - s)

    return optimize.brentq(residual, 0.0, 2.0) * t


def nested(t: Any) -> Any:
    power = lambda s, n=3: s**n
    lift = functools.partial(np.multiply, t)
    return optimize.brentq(lambda s: power(s) + lift(s) - t, 0.0, 2.0)


def matrix(t: Any) -> Any:
    m = A + t * np.eye(2)
    x = optimize.root(lambda x: np.tanh(m @ x) - 0.3 * t, np.zeros(2), tol=1e-12).x
    return np.sum(x * x)


def trees(t: Any) -> Any:
    p = {"a": t, "b": [t * t, 1.0]}
    return optimize.newton(lambda s, q: q["a"] * s + q["b"][0] * s**3 - q["b"][1], 0.5, args=(p,))


SOLVED: dict[str, Callable[[Any], Any]] = {
    **{name: by_bracket(name) for name in ("brentq", "brenth", "ridder", "bisect", "toms748")},
    "args": lambda t: optimize.brentq(cubic, 0.0, 2.0, args=(t, 0.5)),
    "one arg": lambda t: optimize.brentq(lambda s, t: s * s - t, 0.0, 2.0, t),
    "full_output": lambda t: optimize.brentq(cubic, 0.0, 2.0, args=(t, 0.5), full_output=True)[1].root,
    "newton": lambda t: optimize.newton(cubic, 1.0, args=(t, 0.5), tol=1e-13),
    "newton, fprime": lambda t: optimize.newton(cubic, 1.0, slope_of_cubic, args=(t, 0.5), tol=1e-13),
    "newton, array": lambda t: np.sum(optimize.newton(lambda s: s**3 - t * np.array([1.0, 2.0]), np.ones(2), tol=1e-13)),
    "root_scalar": lambda t: optimize.root_scalar(cubic, args=(t, 0.5), bracket=[0.0, 2.0]).root,
    "root_scalar, newton": lambda t: optimize.root_scalar(lambda s: (s * s - t, 2 * s), x0=1.0, fprime=True).root,
    "root": lambda t: optimize.root(lambda x: [x[0] ** 2 + x[1] - t, x[1] - t * x[0]], [0.5, 0.5], tol=1e-12).x[1],
    "root, jac": lambda t: optimize.root(lambda x: (x**2 - t, np.diag(2 * x)), [0.5, 2.0], jac=True, tol=1e-12).x[1],
    "root, lm": lambda t: optimize.root(lambda x: x**3 - t, [0.5], method="lm", tol=1e-12).x[0],
    "root, krylov": lambda t: optimize.root(lambda x: x**3 - t, [0.9], method="krylov", options={"fatol": 1e-12}).x[0],
    "fsolve": lambda t: np.sum(optimize.fsolve(lambda x: x**2 - np.array([t, t * t]), [1.0, 1.0], xtol=1e-13)),
    "fixed_point": lambda t: optimize.fixed_point(lambda s: np.cos(t * s), 0.5, xtol=1e-13),
    "branches": branches, "nested": nested, "matrix": matrix, "trees": trees,
    "bracket": lambda t: optimize.brentq(lambda s: s - 0.3, -t, t) + t,
}  # fmt: skip
POINTS = (0.8, 1.3)


def slope(f: Callable[[Any], Any], t: float) -> Any:
    h = 1e-4
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", SOLVED)
def test_first_and_second_derivative(name: str) -> None:
    f = SOLVED[name]
    first, second = gs.value_and_grad(f), gs.grad(gs.grad(f))
    for t in POINTS:
        value, found = first(t)
        assert value == f(t)
        np.testing.assert_allclose(found, slope(f, t), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(second(t), slope(gs.grad(f), t), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(gs.jvp(f, (t,), (1.0,))[1], found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SOLVED)
def test_compiled_is_eager(name: str) -> None:
    f = SOLVED[name]
    if name == "full_output":
        with pytest.warns(EagerWarning, match="calls scipy.optimize.brentq with full_output"):
            assert gs.compile(gs.grad(f))(0.8) == gs.grad(f)(0.8)
        return
    for plain in (f, gs.value_and_grad(f), gs.grad(gs.grad(f))):
        compiled = gs.compile(plain, verify="first calls")
        for t in (*POINTS, 0.5, 1.7):
            np.testing.assert_array_equal(compiled(t), plain(t))
        compiled.specialisation(0.8)  # which raises where it runs eagerly


def test_the_third_derivative() -> None:
    third = gs.grad(gs.grad(gs.grad(lambda t: optimize.brentq(lambda s: s * s - t, 0.0, 5.0, xtol=1e-14))))
    np.testing.assert_allclose(third(4.0), 3 / 8 * 4**-2.5, rtol=1e-9)
    assert gs.compile(third, verify="first calls")(4.0) == third(4.0)


def test_jacobians() -> None:
    x = np.array([0.5, 1.2])
    f = lambda p: optimize.root(lambda y: y**3 + 2 * y + np.array([y[1], y[0]]) * p[0] - p, np.ones(2), tol=1e-12).x
    rows = np.stack([slope(lambda h, e=e: f(x + h * e), 0.0) for e in np.eye(2)], axis=1)
    for jacobian in (gs.jacobian(f), gs.jacrev(f), gs.jacfwd(f)):
        np.testing.assert_allclose(jacobian(x), rows, rtol=1e-7)
    with pytest.warns(EagerWarning, match="along many cotangents at once"):
        np.testing.assert_array_equal(gs.compile(gs.jacrev(f))(x), gs.jacrev(f)(x))
    g = lambda p: np.sum(np.sin(f(p)))
    rows = np.stack([slope(lambda h, e=e: gs.grad(g)(x + h * e), 0.0) for e in np.eye(2)], axis=1)
    np.testing.assert_allclose(gs.hessian(g)(x), rows, rtol=1e-7)
    np.testing.assert_allclose(gs.vjp(f, x)[1](np.array([1.0, 0.0]))[0], gs.jacobian(f)(x)[0], rtol=1e-12)


def test_the_source_says_the_call() -> None:
    text = gs.compile(gs.grad(branches)).source(0.8)
    call = f'"scipy.optimize.brentq({__name__}.branches.<locals>.residual:'
    assert text.count(call) == 2
    assert "[k={0}, t={1}], 0.0, 2.0)" in text
    assert "scipy_solution_op(" in text
    assert "scipy_adjoint_op(" in text


def test_a_variable_that_another_is_computed_from() -> None:
    """Of `t` and of `u`, which follows from it, each has its own share, and no share is there twice."""

    def f(t: Any) -> Any:
        u = np.sin(t)
        v = u * t
        return optimize.brentq(lambda s: s**3 + u * s - t - v, -3.0, 3.0)

    for t in POINTS:
        np.testing.assert_allclose(gs.grad(f)(t), slope(f, t), rtol=1e-7)
        np.testing.assert_allclose(gs.grad(gs.grad(f))(t), slope(gs.grad(f), t), rtol=1e-6)


def test_solvers_within_solvers() -> None:
    def inner(t: Any, s: Any) -> Any:
        return optimize.brentq(lambda r: r**3 + r - t * s, -5.0, 5.0, xtol=1e-14)

    f = lambda t: optimize.brentq(lambda s: inner(t, s) + s - t * t, -5.0, 5.0, xtol=1e-14)
    for t in POINTS:
        np.testing.assert_allclose(gs.grad(f)(t), slope(f, t), rtol=1e-7)
        np.testing.assert_allclose(gs.grad(gs.grad(f))(t), slope(gs.grad(f), t), rtol=1e-6)
    compiled = gs.compile(gs.grad(f), verify="first calls")
    assert [compiled(t) for t in POINTS] == [gs.grad(f)(t) for t in POINTS]


def test_what_it_was_not_called_for_is_plain() -> None:
    f = lambda t: optimize.brentq(lambda s: s - 0.5, 0.0, 1.0) * t
    assert gs.grad(f)(2.0) == 0.5
    assert (
        type(gs.value_and_grad(lambda t: (f(t), optimize.brentq(lambda s: s - t, 0.0, 3.0)), has_aux=True)(2.0)[0][1])
        is float
    )
    found = optimize.root(lambda x: x - 0.5, [0.0])
    assert type(
        gs.value_and_grad(lambda t: (t, optimize.root(lambda x: x - 0.5, [0.0])), has_aux=True)(2.0)[0][1]
    ) is type(found)


RAISES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "a triple root": (
        lambda t: optimize.brentq(lambda s: (s - t) ** 3, -1.0, 5.2, maxiter=1000), SingularPointError, "multiple root",
    ),
    "a flat function": (lambda t: optimize.bisect(lambda s: (s - t) ** 3, 0.0, 2 * t), SingularPointError, "multiple root"),
    "a jump": (lambda t: optimize.brentq(lambda s: 1.0 if s > t else -1.0, 0.0, 3 * t), SingularPointError, "by a jump"),
    "a jump between branches": (
        lambda t: optimize.bisect(lambda s: s + 0.3 if s > t else s - 3 * t, 0.0, 2 * t), SingularPointError, "by a jump",
    ),
    "a jump of the sign": (
        lambda t: optimize.root_scalar(lambda s: np.sign(s - t) * (1 + s * t), bracket=(0.0, 3 * t)).root,
        SingularPointError, "by a jump",
    ),
    "a jump at a place that stays": (
        lambda t: optimize.brentq(lambda s: s - t - 9 if s < 0.5 else s + t, 0.0, 3.0), SingularPointError, "by a jump",
    ),
    "a singular Jacobian": (
        lambda t: optimize.root(lambda x: np.array([x[0] - t, 0.0 * x[1]]), [t, 0.0]).x[0], SingularPointError, "singular",
    ),
    "no root": (lambda t: optimize.root(lambda x: x**2 + t, [0.3]).x[0], ConvergenceError, "root has not converged"),
    "fsolve": (lambda t: optimize.fsolve(lambda x: x**2 + t, [0.3])[0], ConvergenceError, "fsolve has not converged"),
    "too few steps": (
        lambda t: optimize.brentq(lambda s: s**3 - t, 0.0, 5.0, maxiter=2, disp=False), ConvergenceError, "converr|convergence",
    ),
    "newton": (
        lambda t: optimize.newton(lambda s: s**3 - t, 9.0, maxiter=2, disp=False), ConvergenceError, "newton has not converged",
    ),
    "a complex root": (lambda t: optimize.newton(lambda z: z * z + t, 1j), NoRuleError, "complex128: solve for the real and"),
    "more equations": (
        lambda t: optimize.root(lambda x: np.stack([x[0] - t, x[0] - t]), [0.3], method="lm").x[0],
        SingularPointError, "2 equations for 1 unknowns",
    ),
    "another result": (lambda t: optimize.root(lambda x: x**2 - t, [0.3]).fjac[0, 0], NoRuleError, "`fjac` of scipy.optimize"),
    "vmap": (lambda t: np.sum(gs.vmap(lambda k: optimize.brentq(lambda s: s - k, 0, 9))(t * np.ones(2))), NoRuleError, "vmap"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_has_no_derivative_raises(name: str) -> None:
    f, error, words = RAISES[name]
    with pytest.raises(error, match=words):
        gs.grad(f)(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        with pytest.raises(error, match=words):
            gs.compile(gs.grad(f))(2.0)


def test_a_function_that_is_another_one_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(t: Any) -> Any:
        found = optimize.brentq(lambda s: s**3 - t - SHIFT, 0.0, 5.0)
        globals()["SHIFT"] += 0.5
        return found

    monkeypatch.setitem(globals(), "SHIFT", 0.0)
    assert gs.grad(f)(1.0) == pytest.approx(1 / 3)  # the graph is that of the first call
    with pytest.raises(GradientLossError, match=r"scipy\.optimize\.brentq calls gave other values"):
        gs.grad(gs.grad(f))(1.0)


class Model:
    def __init__(self) -> None:
        self.rate = 2.0

    def residual(self, s: Any, t: Any) -> Any:
        return s**3 + self.rate * s - t


MODEL = Model()


def stores(t: Any) -> Any:
    seen: list[Any] = []

    def residual(s: Any) -> Any:
        seen.append(s)
        return s - t

    return optimize.brentq(residual, 0.0, 9.0) + 0.0 * len(seen)


def in_a_loop(t: Any) -> Any:
    for _ in range(3):
        t = optimize.brentq(lambda s, t: s**3 + s - t, -5.0, 5.0, args=(t,))
    return t


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda t: optimize.brentq(MODEL.residual, 0.0, 9.0, args=(t,)), "a method of one"),
        (stores, "stores what it computes"),
        (lambda t: optimize.root(lambda x: x - t, [0.3]).fun[0] + t, "reads `fun` of the result"),
    ],
)
def test_what_runs_eagerly(f: Callable[[Any], Any], why: str) -> None:
    compiled = gs.compile(gs.grad(f))
    with pytest.warns(EagerWarning, match=why):
        assert compiled(1.2) == gs.grad(f)(1.2)
    np.testing.assert_allclose(gs.grad(f)(1.2), slope(f, 1.2), rtol=1e-6)


def test_in_a_loop() -> None:
    compiled = gs.compile(gs.grad(in_a_loop), verify="first calls")
    assert compiled(1.2) == gs.grad(in_a_loop)(1.2)
    assert compiled.source(1.2).count("scipy_adjoint_op(") == 3


def test_what_the_function_reads_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = gs.grad(lambda t: optimize.brentq(lambda s: s**3 - t - SHIFT, 0.0, 5.0))
    compiled = gs.compile(f, verify="first calls")
    for shift in (0.0, 0.5, 1.5):
        monkeypatch.setitem(globals(), "SHIFT", shift)
        assert compiled(1.0) == f(1.0)
        np.testing.assert_allclose(f(1.0), (1 + shift) ** (-2 / 3) / 3, rtol=1e-9)


def test_an_export_says_why_it_cannot() -> None:
    with pytest.raises(Exception, match="scipy_solution"):
        gs.export(branches, 0.8)


def test_a_minimum_that_counts_as_a_root_raises() -> None:
    def minimum(t: Any) -> Any:
        return optimize.root(
            lambda z: [z[0] ** 2 + z[1] - t, z[1] ** 3 + z[0] - 1], [0.5, 0.5], method="lm", tol=1e-11
        ).x[0]

    with pytest.raises(gs.ConvergenceError, match="the equations do not hold there"):
        gs.grad(minimum)(0.8)


def test_a_root_whose_slope_is_zero_only_next_to_it_raises() -> None:
    cubic = lambda t: optimize.newton(lambda x: x**3 - t, 0.5, maxiter=200)
    with pytest.raises(gs.SingularPointError, match="multiple root"):
        gs.grad(cubic)(0.0)
    np.testing.assert_allclose(gs.grad(cubic)(8.0), 1 / 12, rtol=1e-6)
