"""Differential equations in generated source: the solver and its adjoint as calls, of a function that a module has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import odeint

import gradscribe as gs

TIMES, START = np.array([0.0, 0.5, 1.3]), np.array([1.0, 0.5])
FIELD, PUSH, WEIGHTS = np.array([[0.1, -1.0], [1.0, -0.2]]), np.array([0.3, 0.4]), np.arange(6.0).reshape(3, 2) + 1
RATE = 0.5


def moves(y: Any, t: Any, a: Any, b: Any) -> Any:
    return np.tanh(a @ y) + np.sin(t) * b


def decay(y: Any, t: Any, k: Any) -> Any:
    return -k * y


def decay_in_time(t: Any, y: Any, k: Any) -> Any:
    return -k * y * np.cos(t)


def power(y: Any, t: Any, k: Any, n: Any) -> Any:
    return -k * y**n


def swings(y: Any, t: Any, k: Any) -> Any:
    return np.array([y[1], -k * y[0]])


def hunts(y: Any, t: Any, a: Any, b: Any) -> Any:
    prey, hunters = y
    return [a * prey - b * prey * hunters, b * prey * hunters - a * hunters]


def falls(y: Any, t: Any, k: Any) -> Any:
    d = np.zeros(2)
    d[0], d[1] = y[1], -k
    return d


def until_small(y: Any, t: Any, k: Any) -> Any:
    while np.sum(y * y) > 0.5:
        y = y * 0.5
    return -k * y


def by_a_global(y: Any, t: Any, k: Any) -> Any:
    return -RATE * k * y


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "matrix": (lambda a: np.sum(WEIGHTS * np.sin(odeint(moves, START, TIMES, (a, PUSH)))), FIELD),
    "start": (lambda y: np.sum(WEIGHTS * odeint(moves, y, TIMES, (FIELD, PUSH), rtol=1e-9, atol=1e-9)), START),
    "times": (lambda t: np.sum(WEIGHTS * np.sin(odeint(moves, START, t, (FIELD, PUSH)))), TIMES),
    "all": (
        lambda x: np.sum(WEIGHTS * odeint(moves, x[:2], np.array([0.0, x[0] ** 2, 2.0]), (FIELD * x[1], x[1:3]))),
        np.array([0.7, 0.9, 0.3]),
    ),
    "lists": (lambda k: odeint(decay, [1.0, 2.0], np.linspace(0.0, 2.0, 5), (k,))[-1, 0], 0.5),
    "one number": (lambda k: odeint(decay, k, TIMES, (0.7,))[-1, 0], 0.5),
    "tfirst": (lambda k: odeint(decay_in_time, START, TIMES, (k,), tfirst=True)[-1, 0], 0.5),
    "an int": (lambda k: odeint(power, START, TIMES, (k, 2))[-1, 0], 0.5),
    "np.array": (lambda k: np.sum(WEIGHTS * odeint(swings, START, TIMES, (k,))), 0.5),
    "np.array, start": (lambda y: np.sum(WEIGHTS * odeint(swings, y, TIMES, (0.7,))), START),
    "a list": (lambda p: np.sum(WEIGHTS * odeint(hunts, START, TIMES, tuple(p))), PUSH),
    "a list, start": (lambda y: np.sum(WEIGHTS * odeint(hunts, y, TIMES, (1.0, 0.5))), START),
    "np.zeros": (lambda k: np.sum(WEIGHTS * odeint(falls, START, TIMES, (k,))), 0.5),
    "a loop": (lambda k: odeint(until_small, START, TIMES, (k,))[-1, 0], 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    for plain in (f, gs.value_and_grad(f)):
        compiled = gs.compile(plain, verify="first calls")
        for k in range(3):
            given = x * (1 + 0.1 * k)
            for a, b in zip(np.atleast_1d(compiled(given)), np.atleast_1d(plain(given)), strict=True) if plain is f else (
                zip(compiled(given), plain(given), strict=True)
            ):  # fmt: skip
                np.testing.assert_array_equal(a, b)
        compiled.specialisation(x)  # which raises where it runs eagerly


def test_the_source_imports_the_function() -> None:
    f, x = CASES["all"]
    text = gs.compile(gs.grad(f)).source(x)
    assert f"from {__name__} import moves as moves_op" in text
    assert "solution_op(moves_op, " in text
    assert re.search(r"^ +d_\w+, d_\w+, d_\w+, d_\w+ = adjoint_op\($", text, re.M)


def test_what_the_function_reads_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = gs.grad(lambda k: odeint(by_a_global, START, TIMES, (k,))[-1, 0])
    compiled = gs.compile(f, verify="first calls")
    for rate in (0.5, 0.8, 1.1):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert compiled(0.5) == f(0.5)
        np.testing.assert_allclose(f(0.5), -1.3 * rate * np.exp(-0.65 * rate), rtol=1e-5)


def alone(x: Any) -> Any:
    return odeint(decay, START, TIMES, (x,))[-1, 0]


@pytest.mark.parametrize(
    ("plain", "why"),
    [
        (gs.grad(lambda k: odeint(lambda y, t, k: -k * y, START, TIMES, (k,))[-1, 0]), "whose function no module has"),
        (gs.grad(lambda k: odeint(decay, START, TIMES, (k,), mxordn=5)[-1, 0]), "with options"),
        pytest.param(gs.grad(gs.grad(alone)), "which is differentiated twice", marks=pytest.mark.slow),
        (lambda k: gs.jvp(alone, (k,), (1.0,))[1], "which is differentiated twice"),
        (lambda k: gs.vmap(gs.grad(alone))(k * np.ones(2)), "under gs.vmap"),
        (gs.hessian(lambda x: np.sum(odeint(decay, x[:2], TIMES, (x[0],))) * 1.0), "which is differentiated twice"),
    ],
)
def test_what_runs_eagerly(plain: Any, why: str) -> None:
    compiled = gs.compile(plain)
    x = START if isinstance(plain, type(gs.hessian(alone))) else 0.5
    with pytest.warns(gs.EagerWarning, match=f"by scipy.integrate.odeint, {why}"):
        first = compiled(x)
    assert type(first) is type(plain(x))
    for found in (first, compiled(x)):
        np.testing.assert_array_equal(found, plain(x))


def in_a_loop(k: Any) -> Any:
    y = START * k
    for _ in range(3):
        y = odeint(decay, y, TIMES, (k,))[-1]
    return np.sum(y)


def test_in_a_loop() -> None:
    slope = gs.grad(in_a_loop)
    compiled = gs.compile(slope, verify="first calls")
    assert compiled(0.5) == slope(0.5)
    assert compiled.source(0.5).count("adjoint_op(") == 3


def late(k: Any) -> Any:
    return odeint(lambda y, t: -k * y if t > 0.5 else -y, START * k, TIMES, rtol=1e-10, atol=1e-12)


def beside_args(k: Any) -> Any:
    return odeint(lambda y, t, c: -k * c * y, START, TIMES, (k,), rtol=1e-10, atol=1e-12)


def of_plain_numbers(k: Any) -> Any:
    return odeint(lambda t, y: [y[1], -k * y[0]], START, list(TIMES), tfirst=True, rtol=1e-10, atol=1e-12)


def in_a_list(k: Any) -> Any:
    return odeint(lambda y, t: [y[1], -k * y[0]], START * k, TIMES * k, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "solved", [late, beside_args, *[pytest.param(f, marks=pytest.mark.slow) for f in (of_plain_numbers, in_a_list)]]
)
def test_what_the_function_reads_from_outside_is_differentiated(solved: Any) -> None:
    def f(k: Any) -> Any:
        return np.sum(solved(k) ** 2)

    slope = gs.grad(f)
    np.testing.assert_allclose(slope(0.5), (f(0.5 + 1e-4) - f(0.5 - 1e-4)) / 2e-4, rtol=1e-6)
    if solved is late:  # there the time counts as what is differentiated
        with pytest.raises(gs.SingularPointError, match=r"jumps near 0\.5"):
            gs.grad(slope)(0.5)
    else:
        np.testing.assert_allclose(gs.grad(slope)(0.5), (slope(0.5 + 1e-4) - slope(0.5 - 1e-4)) / 2e-4, rtol=1e-4)
        np.testing.assert_allclose(gs.jvp(f, (0.5,), (1.0,))[1], slope(0.5), rtol=1e-8)
    assert gs.value_and_grad(f)(0.5)[0] == f(0.5)
    compiled = gs.compile(slope)
    with pytest.warns(gs.EagerWarning, match="reads a traced value from outside|no module has under its name"):
        compiled(0.5)
    assert compiled(0.6) == slope(0.6)


def test_scipys_own_name_takes_no_tensors_outside_of_a_transform() -> None:
    with pytest.raises(gs.GradientLossError):
        of_plain_numbers(gs.tensor(0.5, requires_grad=True))


def test_examples_of_what_is_read_from_outside_are_told_to_take_a_loop() -> None:
    for start in (lambda k: START, lambda k: k * START):
        with pytest.raises(gs.NoRuleError, match="call it in a loop"):
            gs.vmap(lambda k, s=start: np.sum(odeint(lambda y, t: -k * y, s(k), TIMES)))(np.array([0.5, 1.0]))
