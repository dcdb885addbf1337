"""Functions made in a loop read its variable when they run: what runs again in backward reads what stood there at its call."""

# ruff: noqa: B023  # that they bind late is what is tested

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import gradscribe as gs
from gradscribe import GradientLossError


def checkpointed(x: Any) -> Any:
    total = 0.0
    for k in range(1, 4):
        total = total + gs.checkpoint(lambda v: np.sin(v * k), x).sum()
    return total


def by_a_helper(x: Any) -> Any:
    total = 0.0
    for k in range(1, 4):

        def scaled(v: Any) -> Any:
            return v * k

        total = total + gs.checkpoint(lambda v: np.sin(scaled(v)), x).sum()
    return total


def counted(x: Any) -> Any:
    runs, total = 0, 0.0
    for k in range(1, 4):

        def again(j: int, v: Any) -> Any:
            return v if j == 0 else again(j - 1, np.sin(v) * k)

        def run(v: Any) -> Any:
            nonlocal runs
            runs += 1
            return again(2, v)

        total = total + gs.checkpoint(run, x).sum()
    return total


def at_rest(x: Any) -> Any:
    return sum(gs.fixed_point(lambda z, a: np.cos(z) * a * 0.1 * k + 0.1 * k, 0.5, x[0]) for k in range(1, 4))


def quadrature(x: Any) -> Any:
    return sum(integrate.quad(lambda t: np.sin(k * t * x[0]), 0, x[1])[0] for k in range(1, 4))


def within_limits(x: Any) -> Any:
    return sum(integrate.dblquad(lambda y, t: y * t * x[0], 0, 1, 0, lambda t: k * t * x[1])[0] for k in range(1, 3))


def equation(x: Any) -> Any:
    rows = [
        integrate.solve_ivp(lambda t, y: -k * x[0] * y, (0, 1), [x[1]], rtol=1e-9, atol=1e-10).y[0, -1]
        for k in range(3)
    ]
    return sum(rows)


def older_equation(x: Any) -> Any:
    total = 0.0
    for k in range(1, 3):
        solved = integrate.odeint(lambda y, t: -k * x[0] * y, x[1], [0, 1.0], rtol=1e-10, atol=1e-10)
        total = total + solved[-1, 0]
    return total


def roots(x: Any) -> Any:
    return sum(optimize.brentq(lambda z: z**3 + x[0] * z - k * x[1], -9, 9) for k in range(1, 4))


LATE = [checkpointed, by_a_helper, counted, at_rest, quadrature, within_limits, equation, older_equation, roots]


LONG = (within_limits, equation)


@pytest.mark.parametrize(
    "f", [pytest.param(f, marks=pytest.mark.slow) if f in LONG else f for f in LATE], ids=lambda f: f.__name__
)
def test_the_gradient_is_that_of_the_values_at_the_call(f: Callable[[Any], Any]) -> None:
    compiled = gs.compile(gs.grad(f))
    for x in (np.array([0.5, 1.2]), np.array([1.5, 0.2])):
        expected = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
        np.testing.assert_allclose(gs.grad(f)(x), expected, rtol=1e-5, atol=1e-7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-7)


def by_vjp(x: Any) -> Any:
    total = 0.0
    for k in (1.0, 2.0):

        @gs.custom_vjp
        def scaled(v: Any) -> Any:
            return v * v * k

        scaled.defvjp(lambda v: (v * v * k, v), lambda v, g: (2 * v * g * k,))
        total = total + scaled(x).sum()
    return total


def by_jvp(x: Any) -> Any:
    total = 0.0
    for k in (1.0, 2.0):

        @gs.custom_jvp
        def scaled(v: Any) -> Any:
            return v * v * k

        scaled.defjvp(lambda p, t: (p[0] ** 2 * k, 2 * p[0] * t[0] * k))
        total = total + scaled(x).sum()
    return total


def by_function(x: Any) -> Any:
    total = 0.0
    for k in (1.0, 2.0):

        class Scaled(gs.autograd.Function):
            @staticmethod
            def forward(ctx: Any, v: Any) -> Any:
                ctx.save_for_backward(v)
                return v * v * k

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (v,) = ctx.saved_tensors
                return 2 * v * g * k

        total = total + Scaled.apply(x).sum()
    return total


@pytest.mark.parametrize("f", [by_vjp, by_jvp, by_function])
def test_a_rule_of_ones_own_that_would_read_another_value_raises(f: Callable[[Any], Any]) -> None:
    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(GradientLossError, match="reads `k`, which has changed since the call"):
            run(np.array([0.5, 1.2]))
    x = gs.tensor([0.5, 1.2], requires_grad=True)
    with pytest.raises(GradientLossError, match="reads `k`"):
        f(x).backward()


def test_a_forward_that_would_read_another_value_raises_where_it_runs_again() -> None:
    def loss(x: Any) -> Any:
        total = 0.0
        for k in (1.0, 2.0):

            @gs.custom_vjp
            def scaled(v: Any) -> Any:
                return v * v * k

            scaled.defvjp(lambda v: (v * v * k, v * k), lambda held, g: (2 * held * g,))
            total = total + scaled(x)
        return total

    assert gs.grad(loss)(3.0) == 18.0
    with pytest.raises(GradientLossError, match="fwd of `scaled` reads `k`"):
        gs.grad(gs.grad(loss))(3.0)


FACTOR = 1.0


def test_a_fixed_point_of_a_function_that_is_another_one_in_backward_raises() -> None:
    def loss(x: Any) -> Any:
        global FACTOR
        total = 0.0
        for factor in (1.0, 2.0):
            FACTOR = factor
            total = total + gs.fixed_point(lambda z, a: np.cos(z) * a * 0.1 * FACTOR, 0.5, x)
        return total

    for run in (gs.grad(loss), gs.compile(gs.grad(loss))):
        with pytest.raises(GradientLossError, match="where x was at rest it moves"):
            run(1.5)
