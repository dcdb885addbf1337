"""Functions that a later derivative runs again, when the transform is over and what it stored has become plain."""

from __future__ import annotations

import collections
import contextvars
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import gradscribe as gs

from case_tables import slow

RATE: Any = None
VARIABLE: contextvars.ContextVar[Any] = contextvars.ContextVar("rate")
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


class Model:
    """An object that holds what is differentiated."""

    def __init__(self, rate: Any) -> None:
        self.rate = rate

    def read(self) -> Any:
        """The rate, by a method."""
        return self.rate


class Slots:
    """One with slots."""

    __slots__ = ("rate",)

    def __init__(self, rate: Any) -> None:
        self.rate = rate


def of_dict(t: Any) -> Callable[[], Any]:
    held = {"rate": [t]}
    return lambda: held["rate"][0]


def of_deque(t: Any) -> Callable[[], Any]:
    held = collections.deque([t])
    return lambda: held[0]


def of_slots(t: Any) -> Callable[[], Any]:
    held = Slots((t, 1.0))
    return lambda: held.rate[0]


def of_global(t: Any) -> Callable[[], Any]:
    global RATE
    RATE = t
    return lambda: RATE


def of_context(t: Any) -> Callable[[], Any]:
    VARIABLE.set(t)
    return lambda: VARIABLE.get()


def of_objects(t: Any) -> Callable[[], Any]:
    held = np.empty(1, object)
    held[0] = t
    return lambda: held[0]


def of_partial(t: Any) -> Callable[[], Any]:
    held = [functools.partial(lambda rate: rate, t)]
    return lambda: held[0]()


def of_default(t: Any) -> Callable[[], Any]:
    held = [lambda rate=t: rate]
    return lambda: held[0]()


HOLDERS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "method": lambda t: Model(t).read, "dict": of_dict, "deque": of_deque, "slots": of_slots, "global": of_global,
    "context": of_context, "objects": of_objects, "partial": of_partial, "default": of_default,
}  # fmt: skip
RUN: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "quad": lambda rate: integrate.quad(lambda s: np.exp(-rate() * s), 0, 1)[0],
    "nquad": lambda rate: integrate.nquad(lambda s, u: np.exp(-rate() * s * u), [(0, 1), (0, 1)])[0],
    "solve_ivp": lambda rate: integrate.solve_ivp(lambda s, y: -rate() * y, (0, 1), [1.0], t_eval=[1.0], **TIGHT).y[0, 0],
    "odeint": lambda rate: integrate.odeint(lambda y, s: -rate() * y, [1.0], [0, 1.0], **TIGHT)[1, 0],
    "brentq": lambda rate: optimize.brentq(lambda s: s**3 + rate() * s - 1, 0, 2),
    "minimize": lambda rate: optimize.minimize(lambda z: np.exp(z[0]) - rate() ** 2 * z[0], [0.1], tol=1e-10).x[0],
    "checkpoint": lambda rate: gs.checkpoint(lambda s: np.exp(-rate() * s), 0.7),
}  # fmt: skip


@pytest.mark.parametrize(
    "run", slow(RUN, [name for name in RUN if name != "nquad"])
)  # two integrals, one within the other
@pytest.mark.parametrize("holder", HOLDERS)
def test_second_derivatives_see_what_was_stored(holder: str, run: str) -> None:
    f = lambda t: RUN[run](HOLDERS[holder](t))
    t, h = 0.8, 1e-5
    second = (gs.grad(f)(t + h) - gs.grad(f)(t - h)) / (2 * h)
    np.testing.assert_allclose(gs.hessian(f)(t), second, rtol=1e-3)
    np.testing.assert_allclose(gs.hvp(f)(t, 1.0), second, rtol=1e-3)


def test_a_pullback_that_is_called_later_leaves_plain_numbers() -> None:
    model = Model(None)

    def f(t: Any) -> Any:
        model.rate = t
        return integrate.quad(lambda s: np.exp(-model.read() * s), 0, 1)[0]

    _, pullback = gs.vjp(f, 0.8)
    assert type(model.rate) is not gs.Tensor
    np.testing.assert_allclose(pullback(1.0)[0], gs.grad(f)(0.8), rtol=1e-10)
    assert type(model.rate) is not gs.Tensor
    model.rate = 2.0  # of the user's, since then
    with pytest.raises(gs.GradientLossError, match="when it was called again"):
        pullback(1.0)
    assert model.rate == 2.0
