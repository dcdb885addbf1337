"""Integrands and right-hand sides that jump: right where the place of the jump stays, and an error where it moves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, ndimage

import gradscribe as gs
from gradscribe import SingularPointError

from case_tables import slow

TIGHT = {"rtol": 1e-8, "atol": 1e-10}
TABLE = np.array([1.0, 2.0, 1.5, 3.0, 2.0, 4.0, 3.0, 5.0, 6.0])
NEAREST = interpolate.interp1d(np.arange(9.0), TABLE, kind="nearest", fill_value="extrapolate")

Slope = Callable[[Any], Any]


def solved(slope: Callable[[Any, Any], Any], y0: Any = (1.0,), end: float = 1.0) -> Any:
    return integrate.solve_ivp(slope, (0.0, end), y0, t_eval=[end], **TIGHT).y[0, -1]


def by_odeint(slope: Callable[..., Any], p: Any, end: float = 1.0) -> Any:
    return integrate.odeint(slope, [1.0], [0.0, end], (p,))[-1, 0]


def halved(y: Any) -> Any:
    if y[0] > 1.3:
        return 0.5
    return 1.0


def masked(y: Any) -> Any:
    out = np.ones(1)
    out[y > 1.3] = 2.0
    return out


# What the state decides: p times each of these is how it moves from 1 on, past 1.3 and 1.5.
STEPS: dict[str, Slope] = {
    "where": lambda y: np.where(y > 1.3, 2.0, 1.0),
    "if": lambda y: [halved(y)],
    "mask": masked,
    "truth times": lambda y: 1.0 + (y > 1.3),
    "floor": lambda y: 1.0 + np.floor(2.0 * y),
    "math.floor": lambda y: [1.0 + math.floor(2.0 * y[0])],
    "int": lambda y: [TABLE[int(2.0 * y[0])]],
    "round": lambda y: [1.0 + round(y[0])],
    "round to digits": lambda y: [1.0 + round(float(y[0]), 1)],
    "np.round": lambda y: 1.0 + np.round(y, 1),
    "whole quotient": lambda y: 1.0 + y // 0.7,
    "remainder": lambda y: 1.0 + y % 0.7,
    "divmod": lambda y: [1.0 + divmod(y[0], 0.7)[1]],
    "math.fmod": lambda y: [1.0 + math.fmod(y[0], 0.7)],
    "np.modf": lambda y: 1.0 + np.modf(2.0 * y)[0],
    "math.modf": lambda y: [1.0 + math.modf(2.0 * y[0])[0]],
    "sign": lambda y: 2.0 + np.sign(y - 1.3),
    "heaviside": lambda y: 1.0 + np.heaviside(y - 1.3, 0.0),
    "copysign": lambda y: 2.0 + np.copysign(1.0, y - 1.3),
    "math.copysign": lambda y: [2.0 + math.copysign(1.0, y[0] - 1.3)],
    "astype": lambda y: (2.0 * y).astype(int),
    "searchsorted": lambda y: 1.0 + np.searchsorted([1.3, 1.5], y),
    "digitize": lambda y: 1.0 + np.digitize(y, [1.3, 1.5]),
    "select": lambda y: np.select([y < 1.3, y < 1.5], [y, 2.0 * y], 3.0),
    "piecewise": lambda y: np.piecewise(y, [y < 1.3, y >= 1.3], [1.0, 2.0]),
    "arctan2": lambda y: 1.0 + 0.1 * np.arctan2(y - 1.3, -1.0),
    "complex root": lambda y: 1.0 + 0.1 * np.imag(np.sqrt(-1.0 + 1j * (y - 1.3))),
    "complex power": lambda y: 1.0 + 0.1 * np.imag((-1.0 + 1j * (y - 1.3)) ** 0.5),
    "interp": lambda y: np.interp(y, [1.3, 9.0], [1.0, 1.0], left=3.0),
    "nearest": lambda y: NEAREST(2.0 * y),
    "map_coordinates": lambda y: ndimage.map_coordinates(TABLE, 2.0 * y[None], order=0),
    "histogram": lambda y: [1.0 + np.histogram(y, [0.0, 1.3, 9.0], weights=np.ones(1))[0][0]],
    "dict": lambda y: [{True: 1.0, False: 2.0}[bool(y[0] > 1.3)]],
    "key": lambda y: [max((1.0, 2.0), key=lambda k: -abs(y[0] - k))],
}

# Kinks, and jumps at times that stay: the derivative is what it is.
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "clip": lambda p: solved(lambda t, y: p * np.clip(y, 0, 1.3)),
    "maximum": lambda p: solved(lambda t, y: p * np.maximum(y, 1.3)),
    "abs": lambda p: solved(lambda t, y: p * np.abs(y - 1.3)),
    "relu": lambda p: solved(lambda t, y: p + np.where(y > 1.3, y - 1.3, 0)),
    "sort": lambda p: solved(lambda t, y: np.array([p, p / 2]) * np.sort(y)[::-1], [1.0, 1.2]),
    "branches that meet": lambda p: solved(lambda t, y: [p * y[0] if y[0] < 1.3 else p * 1.3 + y[0] - 1.3]),
    "a time": lambda p: solved(lambda t, y: np.where(t < 0.5, p * y, -y)),
    "a first state on the jump": lambda p: solved(lambda t, y: [p * (y[0] > 1.0) + 1.0]),
    "a decision without y": lambda p: solved(lambda t, y: -p * y if p > 0.2 else p * y),
    "stop_gradient": lambda p: solved(lambda t, y: [p if t < gs.stop_gradient(p) else 2 * p]) * 0 + p,
    "the time of odeint": lambda p: by_odeint(lambda y, t, p: np.where(t < 0.5, p * y, -y), p),
    "quad, a place that stays": lambda p: integrate.quad(lambda x: x * p if x < 1 else 2 * x * p, 0, 2)[0],
    "quad, a kink": lambda p: integrate.quad(lambda x: max(x - p, 0.0), 0, 2)[0],
    "quad, abs": lambda p: integrate.quad(lambda x: abs(x - p), 0, 2)[0],
    "dblquad, a triangle": lambda p: integrate.dblquad(
        lambda y, x: p * y if y < x else 0.0, 0, 1, 0, 1, epsabs=2e-2, epsrel=2e-2
    )[0],
}

MOVES: dict[str, Callable[[Any], Any]] = {
    **{f"solve_ivp, {name}": lambda p, step=step: solved(lambda t, y: np.array(step(y)) * p) for name, step in STEPS.items()},
    "the first state": lambda p: solved(lambda t, y: np.where(y > 1.3, 2.0, 1.0), [p]),
    "a time that is differentiated": lambda p: solved(lambda t, y: np.where(t < p, -y, -2 * y)),
    "an argument": lambda p: integrate.solve_ivp(lambda t, y, k: -y if t < k else y, (0, 1), [1.0], args=(p,)).y[0, -1],
    "backward": lambda p: integrate.solve_ivp(lambda t, y: np.where(y > 1.3, 2.0, p), (1.0, 0.0), [1.5]).y[0, -1],
    "LSODA": lambda p: integrate.solve_ivp(lambda t, y: np.where(y > 1.3, 2 * p, p), (0, 1), [1.0], "LSODA").y[0, -1],
    "argmax": lambda p: solved(lambda t, y: np.array([p, p / 2]) + np.argmax(y), [1.0, 1.2]),
    "odeint, the state": lambda p: by_odeint(lambda y, t, p: [p if y[0] < 1.3 else 2 * p], p),
    "odeint, a time": lambda p: by_odeint(lambda y, t, p: [1.0 if t < p else 2.0], p),
    "quad, if": lambda p: integrate.quad(lambda x: x if x < p else 2 * x + 1, 0, 2)[0],
    "quad, where": lambda p: integrate.quad(lambda x: np.where(x < p, p * x, 2 * x + 1), 0, 2)[0],
    "quad, heaviside": lambda p: integrate.quad(lambda x: np.heaviside(x - p, 0.5) * x, 0, 2)[0],
    "quad, sign": lambda p: integrate.quad(lambda x: np.sign(x - p) * x * p, 0, 2)[0],
    "quad, floor": lambda p: integrate.quad(lambda x: np.floor(x * p), 0, 2)[0],
    "quad, infinite": lambda p: integrate.quad(lambda x: np.exp(-x) if x < p else 0.0, 0, np.inf)[0],
    "quad, points": lambda p: integrate.quad(lambda x: x if x < p else 1.0, 0, 2, points=[float(gs.stop_gradient(p))])[0],
    "dblquad, a disc": lambda p: integrate.dblquad(
        lambda y, x: 1.0 if x * x + y * y < p * p else 0.0, 0, 2, 0, 2, epsabs=1e-3, epsrel=1e-3
    )[0],
    "quad_vec": lambda p: integrate.quad_vec(lambda x: np.where(x < p, x, 2 * x + 1) * np.ones(2), 0, 2)[0][0],
}  # fmt: skip


def difference(f: Callable[[Any], Any], p: float) -> Any:
    h = 5e-3
    return (f(p + h) - f(p - h)) / (2 * h)


SHORT = (
    "relu",
    "a time",
    "stop_gradient",
    "quad, a kink",
    "solve_ivp, where",
    "an argument",
    "odeint, the state",
    "quad, if",
)


@pytest.mark.parametrize("name", slow(SMOOTH, SHORT))
def test_kinks_and_places_that_stay(name: str) -> None:
    f = SMOOTH[name]
    expected = 1.0 if name == "stop_gradient" else difference(f, 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odeint in lambdas, which run eagerly
        np.testing.assert_allclose(gs.grad(f)(0.7), expected, rtol=2e-3, atol=1e-3)
        assert gs.compile(gs.grad(f))(0.7) == gs.grad(f)(0.7)


@pytest.mark.parametrize("name", slow(MOVES, SHORT))
def test_places_that_move_raise(name: str) -> None:
    f = MOVES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in (gs.grad(f), gs.compile(gs.grad(f)), lambda p: gs.jvp(f, (p,), (1.0,))):
            with pytest.raises(SingularPointError, match=r"jumps near .* the place of the jump moves"):
                run(0.7)


def test_a_kink_that_moves_is_a_jump_of_the_second_derivative() -> None:
    f = SMOOTH["branches that meet"]
    with pytest.raises(SingularPointError, match=r"solve_ivp jumps near"):
        gs.grad(gs.grad(f))(0.7)
    still = lambda p: by_odeint(lambda y, t, p: np.where(t < 0.5, p * y, -y), p)
    np.testing.assert_allclose(gs.grad(gs.grad(still))(0.7), difference(gs.grad(still), 0.7), rtol=1e-3)


def test_a_solution_that_nobody_reads_may_jump() -> None:
    def f(p: Any) -> Any:
        unread = solved(lambda t, y: np.where(y > 1.3, 2.0 * p, p))
        print(f"{unread:.1f}")
        return p * p

    assert gs.grad(f)(3.0) == 6.0
