"""scipy.integrate.solve_ivp in functions that are differentiated: first state, times, arguments, closures, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import gradscribe as gs
from gradscribe import ConvergenceError, EagerWarning, GradientLossError, NoRuleError

from case_tables import slow

TIGHT = {"rtol": 1e-8, "atol": 1e-10}
RATE = 1.0


def spring(t: Any, y: Any, k: Any, c: Any) -> Any:
    return [y[1], -k * y[0] - c * y[1] + np.sin(t)]


def branches(t: Any, y: Any, k: Any) -> Any:
    if y[0] > 0.7:
        return -k * y
    return -k * y * y / 0.7


def riccati(p: Any, span: Any = (0.0, 2.0), **options: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: -p * y * y + t, span, [1.0], **TIGHT, **options)


def stiff(method: str) -> Callable[[Any], Any]:
    def solved(p: Any) -> Any:
        move = lambda t, y: -p * y + np.cos(p * t)
        return integrate.solve_ivp(move, (0, 2), [1.0, 0.5], t_eval=[0.7, 2.0], method=method, **TIGHT).y

    return solved


SOLVED: dict[str, Callable[[Any], Any]] = {
    "y0": lambda p: integrate.solve_ivp(spring, (0, 2), [p, 1.0], args=(2.0, 0.1), t_eval=[0.5, 2.0], **TIGHT).y,
    "args": lambda p: integrate.solve_ivp(spring, (0, 2), [1.0, 0], args=(p, p * p), t_eval=[0.0, 1.0, 2.0], **TIGHT).y,
    "closure": lambda p: riccati(p, t_eval=[1.0, 2.0]).y,
    "t1": lambda p: riccati(p, (0.0, p)).y[:, -1],
    "t0": lambda p: riccati(p, (p / 3, 2.0)).y[:, -1],
    "t_eval": lambda p: riccati(p, t_eval=np.array([p / 2, p, 1.5])).y,
    "all times": lambda p: riccati(p, (p / 2, p), t_eval=np.array([p / 2, 0.8 * p, p])).y,
    "backward": lambda p: riccati(p, (2.0, p / 3), t_eval=np.array([1.5, 1.0])).y,
    "branches": lambda p: integrate.solve_ivp(branches, (0, 2), [1.0], args=(p,), t_eval=[2.0], max_step=0.1, **TIGHT).y,
    "dense_output": lambda p: riccati(p, dense_output=True).sol(np.array([1.5, p])),
    "dense_output, one": lambda p: riccati(p, dense_output=True).sol(p),
    "vectorized": lambda p: riccati(p, vectorized=True, method="Radau", t_eval=[1.0]).y,
    "jac": lambda p: riccati(p, jac=lambda t, y: np.diag(-2 * p * y), method="Radau", t_eval=[1.0]).y,
    "a class": lambda p: riccati(p, method=integrate.DOP853, t_eval=[1.0]).y,
    "the times": lambda p: riccati(p, t_eval=np.array([p / 2, p])).t,
    **{name: stiff(name) for name in ("RK23", "Radau", "BDF", "LSODA")},
}  # fmt: skip
SHORT = ("all times", "backward", "branches")
SHORT_COMPILED = ("args", "branches")


def summed(name: str) -> Callable[[Any], Any]:
    def f(p: Any) -> Any:
        found = SOLVED[name](p)
        return np.sum(np.reshape(np.cos(np.arange(found.size) + 1.0), found.shape) * found)

    return f


def slope(f: Callable[[Any], Any], t: float) -> Any:
    h = 2e-3
    return (8 * (f(t + h) - f(t - h)) - (f(t + 2 * h) - f(t - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", slow(SOLVED, SHORT))
def test_first_and_second_derivative(name: str) -> None:
    f, t = summed(name), 1.3
    value, found = gs.value_and_grad(f)(t)
    assert value == f(t)
    np.testing.assert_allclose(found, slope(f, t), rtol=1e-5, atol=1e-6)
    if name != "branches":  # its second derivative jumps
        np.testing.assert_allclose(gs.grad(gs.grad(f))(t), slope(gs.grad(f), t), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gs.jvp(f, (t,), (1.0,))[1], found, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", slow(SOLVED, SHORT_COMPILED))
def test_compiled_is_eager(name: str) -> None:
    f = summed(name)
    second = [gs.grad(gs.grad(f))] if name in ("y0", "t1", "closure") else []
    for plain in (f, gs.grad(f), *second):
        if name.startswith("dense"):
            with pytest.warns(EagerWarning, match=r"reads `sol` of the result of scipy\.integrate\.solve_ivp"):
                assert gs.compile(plain)(1.3) == plain(1.3)
            continue
        compiled = gs.compile(plain, verify="first calls")
        for t in (1.3, 0.9):  # of other numbers of steps
            np.testing.assert_array_equal(compiled(t), plain(t))
        compiled.specialisation(1.3)  # which raises where it runs eagerly


def test_the_steps_that_scipy_takes_decide_no_shape() -> None:
    states = lambda p: integrate.solve_ivp(lambda t, y: -p * y * y + t, (0.0, p), [1.0], rtol=1e-5).y
    both = gs.value_and_grad(lambda p: np.mean(states(p)))
    compiled = gs.compile(both)
    lengths = set()
    for p in (0.5, 3.0, 0.5, 5.0):
        lengths.add(states(p).shape[1])
        assert compiled(p)[0] == np.mean(states(p))
        assert compiled(p) == both(p)
    assert len(lengths) == 3


def test_many_parameters_and_the_third_derivative() -> None:
    w = np.array([[0.3, -0.5], [0.8, 0.1]])
    f = lambda w: np.sum(integrate.solve_ivp(lambda t, y: np.tanh(w @ y), (0, 1), [1.0, 0.5], t_eval=[1.0], **TIGHT).y)
    rows = [slope(lambda h, e=e: f(w + h * e.reshape(2, 2)), 0.0) for e in np.eye(4)]
    np.testing.assert_allclose(gs.grad(f)(w).ravel(), rows, rtol=1e-6)
    third = gs.grad(
        gs.grad(gs.grad(lambda k: integrate.solve_ivp(lambda t, y: k * y, (0, 1), [1.0], t_eval=[1.0]).y[0, 0]))
    )
    np.testing.assert_allclose(third(0.5), np.exp(0.5), rtol=2e-2)  # by the tolerances that SciPy has by default


def test_solutions_that_depend_on_nothing_are_plain() -> None:
    found = gs.value_and_grad(lambda t: (t, integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])), has_aux=True)(2.0)[0][
        1
    ]
    plain = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
    np.testing.assert_array_equal(found.y, plain.y)
    assert (type(found), type(found.y), found.sol, found.nfev) == (type(plain), np.ndarray, None, plain.nfev)


def test_a_function_that_is_another_one_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(p: Any) -> Any:
        globals()["RATE"] = 1.0
        found = integrate.solve_ivp(lambda t, y: -RATE * p * y, (0, 1), [1.0]).y[0, -1]
        globals()["RATE"] = 3.0
        return found

    monkeypatch.setitem(globals(), "RATE", 1.0)
    with pytest.raises(GradientLossError, match=r"scipy\.integrate\.solve_ivp calls gave other values"):
        gs.grad(f)(1.0)


def fall(p: Any, events: Any, **options: Any) -> Any:
    """Something thrown upwards, and how it falls."""
    return integrate.solve_ivp(
        lambda t, y: [y[1], -9.81 - p * y[1]], (0, 10), [1.0, 3.0 * p], events=events, **TIGHT, **options
    )


def hit(t: Any, y: Any) -> Any:
    return y[0]


hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]
EVENTS: dict[str, Callable[[Any], Any]] = {
    "the time": lambda p: fall(p, hit).t_events[0][0],
    "the end": lambda p: fall(p, hit).y[1, -1] + fall(p, hit).t[-1] ** 2,
    "the state": lambda p: fall(p, [lambda t, y: y[1], hit]).y_events[0][0, 0],
    "one that goes on": lambda p: np.sum(fall(p, lambda t, y: y[0] - p, t_eval=[0.1, 0.2]).t_events[0]),
    "states before": lambda p: np.sum(fall(p, hit, t_eval=[0.1, 0.2, 9.0]).y ** 2),
    "args": lambda p: integrate.solve_ivp(
        lambda t, y, k: -k * y, (0, 9), [1.0], events=lambda t, y, k: y[0] - 0.3 * k, args=(p,), **TIGHT
    ).t_events[0][0],
}


@pytest.mark.parametrize("name", slow(EVENTS, ("the state", "states before")))
def test_events(name: str) -> None:
    f, p = EVENTS[name], 0.7
    np.testing.assert_allclose(gs.grad(f)(p), slope(f, p), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gs.grad(gs.grad(f))(p), slope(gs.grad(f), p), rtol=1e-4, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)  # times of events are read eagerly
        np.testing.assert_array_equal(gs.compile(gs.grad(f))(p), gs.grad(f)(p))


def blows_up(p: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: p * y * y, (0, 5), [1.0]).y[0, -1]


RAISES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "events, t_eval": (
        lambda p: fall(p, hit, t_eval=p * np.linspace(0, 1, 4)).y[0, -1], NoRuleError, "has no derivative in t_eval",
    ),
    "failure": (blows_up, ConvergenceError, "solve_ivp has not converged"),
    "complex": (
        lambda p: np.real(integrate.solve_ivp(lambda t, y: 1j * p * y, (0, 1), [1.0 + 0j]).y[0, -1]), NoRuleError, "complex",
    ),
    "vmap": (lambda p: np.sum(gs.vmap(lambda k: riccati(k).y[0, -1])(p * np.ones(2))), NoRuleError, r"gs\.vmap"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_has_no_derivative_raises_by_name(name: str) -> None:
    f, error, words = RAISES[name]
    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=words):
                run(1.0)
