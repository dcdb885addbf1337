"""scipy.optimize's minimisers in functions that are differentiated: what the objective reads, bounds, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import gradscribe as gs
from gradscribe import ConvergenceError, NoRuleError, SingularPointError

from case_tables import slow

A = np.array([[3.0, 0.5], [0.5, 2.0]])
TIMES = np.linspace(0.0, 2.0, 9)
BESIDE = 0.1 * (np.eye(9, k=1) + np.eye(9, k=-1))
NOISE = 0.05 * np.sin(17.0 * np.arange(9))


def bowl(z: Any, t: Any) -> Any:
    return 0.5 * z @ A @ z + np.sum(np.exp(t * z)) - t * t * z[0]


def slope_of_bowl(z: Any, t: Any) -> Any:
    return A @ z + t * np.exp(t * z) - t * t * np.array([1.0, 0.0])


def hessian_of_bowl(z: Any, t: Any) -> Any:
    return A + np.diag(t * t * np.exp(t * z))


def solved(method: str, **options: Any) -> Callable[[Any], Any]:
    def f(t: Any) -> Any:
        words = {"jac": slope_of_bowl, "hess": hessian_of_bowl, **options}
        return optimize.minimize(bowl, np.zeros(2), args=(t,), method=method, tol=1e-10, **words).x

    return f


def branches(t: Any) -> Any:
    def f(z: Any) -> Any:
        if z[0] > 0.5:
            return np.sum((z - t) ** 2) + t * z[0] ** 2
        return np.sum((z - t) ** 2) + t * z[0] ** 2 + np.maximum(0.0, 0.5 - z[0]) ** 3

    return optimize.minimize(f, np.zeros(2), tol=1e-9).x


def decay(s: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * s)


def data(t: Any) -> Any:
    return 2.0 * np.exp(-t * TIMES) + NOISE


def away(z: Any) -> Any:
    """Least beyond all constraints."""
    return np.sum((z - 3.0) ** 2) + 0.3 * z[0] * z[1]


def under(f: Any, constraints: Any, **options: Any) -> Any:
    """The minimum under constraints."""
    return optimize.minimize(f, [0.1, 0.1], constraints=constraints, **{"tol": 1e-12, **options}).x


def misfit(z: Any, t: Any) -> Any:
    return [z[0] - t, z[0] * z[1] - t * t, z[1] ** 2 - 1.0]


def least(t: Any, **options: Any) -> Any:
    return optimize.least_squares(misfit, [1.0, 1.0], args=(t,), xtol=1e-13, ftol=1e-13, gtol=1e-13, **options)


def fitted(t: Any, **options: Any) -> Any:
    return optimize.curve_fit(decay, TIMES, data(t), p0=[1.0, 1.0], ftol=1e-13, xtol=1e-13, gtol=1e-13, **options)[0]


def spread(t: Any, **options: Any) -> Any:
    """The covariance of a fit, by its exact Jacobian."""
    jac = lambda s, a, b: np.stack([np.exp(-b * s), -s * a * np.exp(-b * s)], axis=1)
    found = optimize.curve_fit(
        decay, TIMES, data(t), p0=[1.0, 1.0], ftol=1e-14, xtol=1e-14, gtol=1e-14, jac=jac, **options
    )
    return np.reshape(1e3 * found[1] + found[0], (-1,))


SOLVED: dict[str, Callable[[Any], Any]] = {
    "BFGS": lambda t: optimize.minimize(lambda z: bowl(z, t), np.zeros(2), jac=lambda z: slope_of_bowl(z, t), tol=1e-10).x,
    "closure, no gradient": lambda t: optimize.minimize(lambda z: bowl(z, t), [0.0, 0.0], tol=1e-9).x,
    "jac=True": lambda t: optimize.minimize(lambda z: (bowl(z, t), slope_of_bowl(z, t)), np.zeros(2), jac=True, tol=1e-10).x,
    "Nelder-Mead": lambda t: optimize.minimize(bowl, np.zeros(2), t, "Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}).x,
    "jac by gs.grad": lambda t: optimize.minimize(
        bowl, np.zeros(2), args=(t,), jac=gs.grad(bowl), hess=gs.hessian(bowl), method="trust-exact", tol=1e-9
    ).x,
    "gs.value_and_grad": lambda t: optimize.minimize(
        gs.value_and_grad(lambda z: bowl(z, t)), np.zeros(2), jac=True, tol=1e-10
    ).x,
    "value": lambda t: optimize.minimize(bowl, np.zeros(2), args=(t,), jac=slope_of_bowl, tol=1e-10).fun * t,
    "branches": branches,
    **{name: solved(name) for name in ("Newton-CG", "trust-exact")},
    "L-BFGS-B": solved("L-BFGS-B", hess=None, bounds=[(-5.0, -0.9), (None, None)]),
    "brent": lambda t: optimize.minimize_scalar(lambda s: np.exp(s * t) - t * t * s).x,
    "before minimize_scalar, brent": lambda t: optimize.brent(lambda s, k: np.exp(s * k) - k * k * s, (t,)),
    "before minimize_scalar, golden": lambda t: optimize.golden(lambda s: np.exp(s * t) - t * t * s),
    "before minimize_scalar, fminbound": lambda t: optimize.fminbound(lambda s: (s - t) ** 2 + s**4, -1.0, 5.0, xtol=1e-10),
    "before minimize_scalar, all": lambda t: optimize.golden(lambda s: np.exp(s * t) - t * t * s, full_output=True)[1],
    "bounded": lambda t: optimize.minimize_scalar(lambda s: (s - t) ** 2 + s**4, bounds=(-1.0, 5.0), options={"xatol": 1e-10}).x,
    "bounded, at the end": lambda t: optimize.minimize_scalar(lambda s: (s - t) ** 2, bounds=(-1.0, 0.2)).x + t,
    "scalar value": lambda t: optimize.minimize_scalar(lambda s, t: np.exp(s * t) - t * t * s, args=(t,)).fun,
    "least_squares": lambda t: least(t).x,
    "cost": lambda t: least(t).cost + np.sum(least(t).fun ** 3),
    **{loss: (lambda t, loss=loss: least(t, loss=loss, f_scale=0.7).x) for loss in ("soft_l1", "huber", "cauchy", "arctan")},
    "least_squares, bounds": lambda t: least(t, bounds=([-9.0, -9.0], [1.01, 9.0])).x,
    "curve_fit": fitted,
    "curve_fit, sigma": lambda t: fitted(t, sigma=t * np.linspace(0.5, 1.5, 9)),
    "curve_fit, covariance": lambda t: fitted(t, sigma=np.eye(9) + t * BESIDE),
    "curve_fit, bounds": lambda t: fitted(t, bounds=([0.0, 0.0], [1.5, 9.0])),
    "pcov": spread,
    "pcov, sigma": lambda t: spread(t, sigma=t * np.linspace(0.5, 1.5, 9), absolute_sigma=True),
    "pcov, covariance": lambda t: spread(t, sigma=np.eye(9) + t * BESIDE),
    "pcov, bounds": lambda t: spread(t, bounds=([0.0, 0.0], [1.5, 9.0])),
    "lsq_linear": lambda t: optimize.lsq_linear(A + t, np.array([t, -1.0]), bounds=(-0.6, 9.0)).x,
    "nnls": lambda t: np.append(*optimize.nnls(A + t, np.array([t, -1.0]))),
}  # fmt: skip
CIRCLE = {"type": "ineq", "fun": lambda z, t: t - z @ z}
CONSTRAINED: dict[str, Callable[[Any], Any]] = {
    "an equation": lambda t: under(bowl, {"type": "eq", "fun": lambda z: z[0] + t * z[1] - 1.0}, args=(t,)),
    "two equations": lambda t: under(
        bowl, [{"type": "eq", "fun": lambda z: z[0] - t}, {"type": "eq", "fun": lambda z: np.sum(z) - 0.3}], args=(t,)
    ),
    "an inequality that holds": lambda t: under(away, {**CIRCLE, "args": (t,)}),
    "its Jacobian": lambda t: under(away, {**CIRCLE, "args": (t,), "jac": lambda z, t: -2.0 * z}),
    "one that does not": lambda t: under(bowl, {"type": "ineq", "fun": lambda z: 9.0 - z @ z}, args=(t,)),
    "a list of both": lambda t: under(away, {"type": "ineq", "fun": lambda z: [t - z[0], 9.0 - z[1], t * t - z[1]]}),
    "with bounds": lambda t: under(
        lambda z: bowl(z, t), {"type": "eq", "fun": lambda z: np.sum(z) - t}, bounds=[(None, 0.4), (None, None)]
    ),
    "bounds that move": lambda t: under(away, (), bounds=[(0.0, t), (None, t * t)]),
    "their value": lambda t: optimize.minimize(away, [0.1, 0.1], constraints={**CIRCLE, "args": (t,)}, tol=1e-12).fun,
}
OF_CLASSES: dict[str, Callable[[Any], Any]] = {
    "LinearConstraint": lambda t: under(bowl, optimize.LinearConstraint([[1.0, 1.0]], 0.2, np.inf), args=(t,)),
    "NonlinearConstraint": lambda t: under(away, optimize.NonlinearConstraint(lambda z: z @ z, -np.inf, t)),
    "trust-constr": lambda t: under(
        away, optimize.NonlinearConstraint(lambda z: t * z @ z, -np.inf, 1.0), method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-12},
    ),
}  # fmt: skip
SOLVED |= {f"constraints, {name}": f for name, f in CONSTRAINED.items()}
POINTS = (0.8, 1.3)
SHORT = (
    "closure, no gradient",
    "branches",
    "L-BFGS-B",
    "brent",
    "cost",
    "curve_fit, sigma",
    "constraints, an equation",
)
LOOSE = (
    *[f"constraints, {name}" for name in CONSTRAINED],
    "closure, no gradient",
    "branches",
    "Nelder-Mead",
    "trust-constr",
    "brent",
    "scalar value",
)  # of ends by values alone


def summed(name: str) -> Callable[[Any], Any]:
    def f(t: Any) -> Any:
        found = SOLVED[name](t)
        return np.sum(np.cos(np.arange(np.size(found)) + 1.0) * found)

    return f


def slope(f: Callable[[Any], Any], t: float, h: float = 2e-3) -> Any:
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", slow(SOLVED, SHORT))
def test_first_and_second_derivative(name: str) -> None:
    f, tolerance = summed(name), 2e-4 if name in LOOSE else 2e-6
    first, second = gs.value_and_grad(f), gs.grad(gs.grad(f))
    for t in POINTS:
        value, found = first(t)
        assert value == f(t)
        np.testing.assert_allclose(found, slope(f, t), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(second(t), slope(gs.grad(f), t), rtol=10 * tolerance, atol=10 * tolerance)
        np.testing.assert_allclose(gs.jvp(f, (t,), (1.0,))[1], found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", slow(SOLVED, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f = summed(name)
    for plain in (f, gs.value_and_grad(f), *([gs.grad(gs.grad(f))] if name in SHORT else [])):
        compiled = gs.compile(plain, verify="first calls")
        if name == "before minimize_scalar, all":
            with pytest.warns(gs.EagerWarning, match=r"calls scipy\.optimize\.golden with full_output"):
                np.testing.assert_array_equal(compiled(0.8), plain(0.8))
            continue
        for t in (*POINTS, 0.9):
            np.testing.assert_array_equal(compiled(t), plain(t))
        compiled.specialisation(0.8)  # which raises where it runs eagerly


@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
@pytest.mark.parametrize("name", slow(OF_CLASSES, ("NonlinearConstraint",)))
def test_constraints_in_classes(name: str) -> None:
    f = lambda t: np.sum(np.cos(np.arange(2) + 1.0) * OF_CLASSES[name](t))
    for t in POINTS:
        np.testing.assert_allclose(gs.grad(f)(t), slope(f, t), rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(gs.grad(gs.grad(f))(t), slope(gs.grad(f), t), rtol=1e-2, atol=1e-3)
    with pytest.warns(gs.EagerWarning, match="an object of the class"):
        np.testing.assert_allclose(gs.compile(gs.grad(f))(0.8), gs.grad(f)(0.8), rtol=1e-9)


def test_a_bilevel_problem() -> None:
    """Of ridge regression the solution is known."""
    x = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.8]])
    y = np.array([1.0, 2.0, -0.5])

    def loss(log_weight: Any) -> Any:
        w = optimize.minimize(
            lambda w: np.sum((x @ w - y) ** 2) + np.exp(log_weight) * np.sum(w**2), np.zeros(2), tol=1e-9
        ).x
        return np.sum((w - 0.3) ** 2)

    exact = lambda s: np.sum((np.linalg.solve(x.T @ x + np.exp(s) * np.eye(2), x.T @ y) - 0.3) ** 2)
    np.testing.assert_allclose(gs.grad(loss)(0.2), gs.grad(exact)(0.2), rtol=1e-5)
    np.testing.assert_allclose(gs.grad(gs.grad(loss))(0.2), gs.grad(gs.grad(exact))(0.2), rtol=1e-4)


def test_a_method_that_ends_inside_the_bounds() -> None:
    """The first variable is held by its bound, though it ends 3e-6 away, and by another distance at each `t`."""
    f = solved("trust-constr", bounds=[(-5.0, -0.45), (None, None)])
    other = lambda t: optimize.brentq(lambda z: slope_of_bowl(np.stack([-0.45, z]), t)[1], -3.0, 3.0, xtol=1e-15)
    for t in POINTS:
        found = gs.jacobian(f)(t)
        assert found[0] == 0.0
        np.testing.assert_allclose(found[1], gs.grad(other)(t), rtol=1e-5)
    np.testing.assert_array_equal(gs.compile(gs.grad(lambda t: f(t)[1]))(0.8), gs.grad(lambda t: f(t)[1])(0.8))


def test_what_depends_on_nothing_is_plain() -> None:
    of = lambda: optimize.minimize(lambda z: np.sum((z - 1.0) ** 2), [0.0])
    found = gs.value_and_grad(lambda t: (t, of()), has_aux=True)(2.0)[0][1]
    assert type(found) is type(of())
    assert (found.x == of().x).all()
    assert type(found.x) is np.ndarray


square = lambda t: lambda z: np.sum((z - t) ** 2)
LINE = np.linspace(0.0, 1.0, 5)
BOUNDED: dict[str, Callable[[Any], Any]] = {  # whose optimum is t, between 0 and 1
    "minimize_scalar": lambda t: optimize.minimize_scalar(lambda s: (s - t) ** 2, bounds=(0.0, 1.0), method="bounded").x,
    "small numbers": lambda t: optimize.minimize_scalar(lambda s: 1e-6 * (s - t) ** 2, bounds=(0.0, 1.0)).x,
    "large numbers": lambda t: optimize.minimize_scalar(lambda s: 1e6 * (s - t) ** 2, bounds=(0.0, 1.0)).x,
    "fminbound": lambda t: optimize.fminbound(lambda s: (s - t) ** 2, 0.0, 1.0),
    **{
        method: lambda t, m=method: optimize.minimize(square(t), [0.4], bounds=[(0.0, 1.0)], method=m, tol=1e-9).x[0]
        for method in ("L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell", "COBYLA")
    },
    **{
        f"least_squares, {method}": lambda t, m=method: optimize.least_squares(
            lambda z: z - t, [0.4], bounds=(0.0, 1.0), method=m
        ).x[0]
        for method in ("trf", "dogbox")
    },
    **{
        f"lsq_linear, {method}": lambda t, m=method: optimize.lsq_linear(
            np.eye(1), np.stack([t]), bounds=(0.0, 1.0), method=m
        ).x[0]
        for method in ("trf", "bvls")
    },
    "curve_fit": lambda t: optimize.curve_fit(
        lambda x, a: a * x, LINE, t * LINE, p0=[0.4], bounds=(0.0, 1.0)
    )[0][0],
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_at_a_bound_the_derivative_is_that_of_the_side_or_raises(name: str) -> None:
    """Methods end a little inside of a bound that holds the variable, and beside an optimum which is there."""
    f = BOUNDED[name]
    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for t, expected in ((-0.5, 0.0), (-2e-5, 0.0), (0.5, 1.0), (1.00002, 0.0), (1.0004, 0.0), (1.5, 0.0)):
                assert run(t) == pytest.approx(expected, abs=1e-9)
            for t in (0.0, 1.0, 1.0 - 1e-7, 1.0 + 1e-7):
                with pytest.raises(SingularPointError, match="a bound that does not hold it"):
                    run(t)


def test_bounds_that_hold_one_of_two() -> None:
    """The other variable moves as if the first one was a constant, though the method ends a little inside."""
    h = np.array([[2.0, 1.9], [1.9, 2.0]])
    f = lambda t: optimize.least_squares(
        lambda z: h @ z - np.stack([t, 1.0]), [0.1, 0.1], bounds=([0.0, -9.0], [0.3, 9.0])
    ).x[1]
    held = lambda t: 1.9 * t / (1.9**2 + 4.0)  # of the normal equations' second row
    np.testing.assert_allclose(gs.grad(f)(1.5), gs.grad(held)(1.5), rtol=1e-9)


def test_nothing_differentiated_at_a_bound_is_plain() -> None:
    """An optimum exactly at a bound is no error, where it depends on nothing."""
    f = lambda t: t * optimize.minimize_scalar(lambda s: (s - 1.0) ** 2, bounds=(0.0, 1.0)).x
    assert gs.grad(f)(2.0) == f(1.0)


RAISES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "bounds": (
        lambda t: optimize.least_squares(square(2.0), [0.1], bounds=([0.0], [t])).x[0], NoRuleError, "no derivative in bounds=",
    ),
    "a constraint that does not hold it": (
        lambda t: under(square(t), {"type": "ineq", "fun": lambda z: z[0] - t})[0], SingularPointError, "does not hold it",
    ),
    "an equation twice": (
        lambda t: under(square(t), [{"type": "eq", "fun": lambda z: z[0] - 0.3}] * 2, method="trust-constr", tol=1e-3)[0],
        SingularPointError, "the matrix of the optimum's conditions is singular",
    ),
    "constraints that exclude each other": (
        lambda t: under(square(t), [{"type": "ineq", "fun": lambda z: z[0] - t}, {"type": "ineq", "fun": lambda z: -z[0]}])[0],
        ConvergenceError, "minimize has not converged",
    ),
    "a degenerate optimum": (
        lambda t: optimize.minimize(lambda z: np.sum((z - t) ** 4), [t], tol=1e-9).x[0], SingularPointError, "singular",
    ),
    "a flat direction": (
        lambda t: optimize.minimize(lambda z: (z[0] + z[1] - t) ** 2, [0.0, 0.0]).x[0], SingularPointError, "singular",
    ),
    "a kink": (
        lambda t: optimize.minimize(lambda z: np.sum(np.abs(z - t) + 0.1 * z**2), [0.3], method="Nelder-Mead").x[0],
        SingularPointError, "the gradient is not zero there",
    ),
    "at a bound that does not hold it": (
        lambda t: optimize.minimize(lambda z: t * np.sum((z - 0.5) ** 2), [0.1], bounds=[(0.5, 2.0)]).x[0], SingularPointError,
        "a bound that does not hold it",
    ),
    "too few steps": (
        lambda t: optimize.minimize(square(t), [9.0], options={"maxiter": 0}).x[0], ConvergenceError,
        "minimize has not converged",
    ),
    "the Jacobian": (lambda t: np.sum(least(t).jac), NoRuleError, "`jac` of scipy.optimize.least_squares"),
    "the covariance of too few": (
        lambda t: np.sum(optimize.curve_fit(decay, TIMES[:2], data(t)[:2])[1]), NoRuleError, "`pcov` of scipy.optimize.curve_fit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_has_no_derivative_raises_by_name(name: str) -> None:
    f, error, words = RAISES[name]
    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=words):
                run(1.0)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Nelder-Mead", "Powell"])
def test_an_optimum_whose_hessian_is_singular_only_next_to_it_raises(method: str) -> None:
    quartic = lambda t: (
        optimize.minimize(lambda x: x[0] ** 4 - t * x[0] + (x[1] - 1.0) ** 2, [0.5, 0.2], method=method).x
    )
    with pytest.raises(gs.SingularPointError, match=r"Hessian is singular|gradient is not zero"):
        gs.grad(lambda t: np.sum(quartic(t)))(0.0)
    steep = lambda t: optimize.minimize(
        lambda x: np.exp(10 * (x[0] - t)) - 10 * x[0], [0.5], method=method, tol=1e-10
    ).x[0]
    np.testing.assert_allclose(gs.grad(steep)(0.3), 1.0, rtol=1e-4)  # strongly curved, and simple
