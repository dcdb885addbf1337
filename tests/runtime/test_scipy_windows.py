"""scipy.signal's windows in functions that are differentiated: as numbers, and in their parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal
from scipy.signal import windows

import gradscribe as gs

X = np.array([0.3, -1.2, 0.8, 2.0, 0.1, -0.4])
PARAMETERS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "kaiser": (lambda b: windows.kaiser(6, b), 5.0),
    "kaiser, periodic": (lambda b: windows.kaiser(6, b, sym=False), 5.0),
    "gaussian": (lambda s: windows.gaussian(6, s), 1.3),
    "exponential": (lambda t: windows.exponential(6, tau=t), 1.3),
    "general_gaussian": (lambda s: windows.general_gaussian(6, s, 2.0 * s), 1.3),
    "general_gaussian, a middle": (lambda s: np.append(windows.general_gaussian(5, s, 2.0), s), 1.3),
    "general_hamming": (lambda a: windows.general_hamming(6, a, sym=False), 0.4),
    "general_cosine": (lambda a: windows.general_cosine(6, [a, 0.5, a * a]), 0.4),
    "tukey": (lambda a: windows.tukey(6, a), 0.7),
    "exponential, a center": (lambda t: windows.exponential(6, 0.0, t, False), 1.3),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_in_the_parameter(name: str) -> None:
    f, at = PARAMETERS[name]
    np.testing.assert_allclose(gs.vjp(f, at)[0], f(at), rtol=1e-12)
    g = lambda p: np.sum(f(p) * X)
    h = 1e-4
    expected = (8 * (g(at + h) - g(at - h)) - (g(at + 2 * h) - g(at - 2 * h))) / (12 * h)
    np.testing.assert_allclose(gs.grad(g)(at), expected, rtol=1e-9)
    second = (gs.grad(g)(at + h) - gs.grad(g)(at - h)) / (2 * h)
    np.testing.assert_allclose(gs.grad(gs.grad(g))(at), second, rtol=1e-6)
    compiled = gs.compile(gs.grad(g), verify="first calls")
    assert compiled(at) == gs.grad(g)(at)
    compiled.specialisation(at)


@pytest.mark.parametrize("name", ["hann", "blackmanharris", "boxcar", "get_window"])
def test_as_numbers(name: str) -> None:
    f = (lambda x: np.sum(signal.get_window(("kaiser", 4.0), 6) * x**2)) if name == "get_window" else (
        lambda x: np.sum(getattr(windows, name)(6) * x**2)
    )  # fmt: skip
    compiled = gs.compile(gs.grad(f), verify="first calls")
    weights = signal.get_window(("kaiser", 4.0), 6) if name == "get_window" else getattr(windows, name)(6)
    np.testing.assert_array_equal(compiled(X), gs.grad(f)(X))
    np.testing.assert_allclose(gs.grad(f)(X), 2 * weights * X, rtol=1e-15)
    compiled.specialisation(X)


def test_a_parameter_in_a_tuple_raises_by_name() -> None:
    f = lambda b: np.sum(signal.get_window(("kaiser", b), 6) * X)
    with pytest.raises(gs.NoRuleError, match=r"scipy\.signal\.windows\.kaiser\(n, beta\)"):
        gs.grad(f)(5.0)
