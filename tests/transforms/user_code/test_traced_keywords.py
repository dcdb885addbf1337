"""A traced value among the keywords of a NumPy function, which NumPy does not ask whether it is a Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

W = np.arange(1.0, 5.0)
CASES: dict[str, Callable[[Any], Any]] = {
    "np.pad": lambda c: np.pad(W, 1, constant_values=c) * np.arange(6.0),
    "np.pad, by its mode": lambda c: np.pad(W, (0, 2), "constant", constant_values=c),
    "np.sum": lambda c: np.sum(W, initial=c) ** 2,
    "np.sum along an axis": lambda c: np.sum(W.reshape(2, 2), axis=0, initial=c),
}


@pytest.mark.parametrize("name", CASES)
def test_its_gradient_is_kept(name: str) -> None:
    f = CASES[name]
    gs.check_grads(f, (2.0,))
    compiled, plain = gs.compile(gs.grad(lambda c: np.sum(f(c)))), gs.grad(lambda c: np.sum(f(c)))
    for c in (2.0, 3.0, 4.0):
        assert compiled(c) == plain(c)
    many = np.array([1.0, 2.0, -3.0])
    np.testing.assert_array_equal(gs.vmap(f)(many), [f(c) for c in many])


def test_one_without_a_rule_says_which() -> None:
    with pytest.raises(gs.NoRuleError, match=r"np\.max has no gradient rule for its argument `initial`"):
        gs.grad(lambda c: np.max(W, initial=c))(2.0)
    for p in (2.0, 1.0, 3.0):  # NumPy looks whether it is 2, and goes on without it
        with pytest.raises(gs.NoRuleError, match=r"np\.linalg\.norm has no gradient rule for its argument `ord`"):
            gs.grad(lambda p: np.linalg.norm(W, p))(p)
    with pytest.raises(gs.GradientLossError):  # a word that the op does not know
        gs.grad(lambda c: np.interp(5.5, W, W**2, period=c))(9.0)
