"""A constant meets the constant of the rule behind it, and whoever looks on in between sees the product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.random.default_rng(0).normal(size=(3, 4))

FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: np.sum(np.exp(-0.5 * x**2)),
    lambda x: np.sum(np.sin(0.5 * np.square(x) + x)),
    lambda x: np.sum(np.cos(3 * np.sqrt(x * x + 1.0))),
    lambda x: (lambda y: np.sum(np.sin(0.5 * y) * y))(x**2),
    lambda x: (lambda y: np.sum(np.sin(y) * (0.5 * y)))(x**2),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("x", [X, X.T, X[0].astype(np.float32), np.float64(0.7)], ids=["c", "f", "f4", "0d"])
def test_compiled_is_eager_in_both_orders(function: Callable[[Any], Any], x: Any) -> None:
    for t in (gs.grad(function), gs.grad(lambda x: np.sum(gs.grad(function)(x) ** 2))):
        compiled = gs.compile(t)
        for scale in (1, 2):
            np.testing.assert_array_equal(compiled(x * scale), t(x * scale))
    if np.asarray(x).dtype == np.float64:
        gs.check_grads(function, (x,))


def test_source_has_no_pair_of_constants() -> None:
    text = str(gs.grad(FUNCTIONS[0]).source(X))
    assert "d_x = -exp * x" in text


def test_hooks_and_wanted_values_see_the_product() -> None:
    seen: list[Any] = []
    t = gs.tensor([1.0, 2.0], requires_grad=True)
    y = t**2
    y.register_hook(lambda g: seen.append(g.numpy().copy()))
    np.sum(0.5 * y).backward()
    np.testing.assert_array_equal(seen[0], [0.5, 0.5])
    np.testing.assert_array_equal(t.grad.numpy(), [1.0, 2.0])
    y = t**2
    np.testing.assert_array_equal(gs.autograd.grad(np.sum(0.5 * y), y)[0].numpy(), [0.5, 0.5])
    with gs.autograd.set_detect_anomaly(True):
        np.testing.assert_array_equal(gs.autograd.grad(np.sum(0.5 * t**2), t)[0].numpy(), [1.0, 2.0])


def _grown(b: Any) -> Any:
    while np.sum(b) < 90:
        b = b + np.sin(b) ** 2 * 0.01
    return np.sum(b)


def _halved_squares(b: Any) -> Any:
    for _ in range(6):
        b = 0.5 * (b + 1.0) ** 2 - b
    return np.mean(b)


def _through_arms(b: Any) -> Any:
    for _ in range(3):
        b = 0.5 * b**2
        b = 2.0 * b if np.sum(b) > 8.0 else 3.0 * np.tanh(b)
    return np.sum(2.0 * b)


FACTORS_AND_SIGNS = [
    _grown, _halved_squares, _through_arms,
    lambda x: np.sum(0.5 * np.sin(x) ** 2 - x),
    lambda x: np.sum(-x + 0.5 * x**2),
    lambda x: np.mean(-2.0 * x + 0.5 * np.sin(x) ** 2),
    lambda x: np.sum(np.sqrt(0.5 * x**2) - x),
    lambda x: 0.5 * np.mean((x - 2.0) ** 2) + np.sum(1.0 - x) / 2.0,
]  # fmt: skip
LAYOUTS = {
    "C": np.linspace(0.5, 1.0, 64).reshape(8, 8),
    "F": np.asfortranarray(np.linspace(0.5, 1.0, 64).reshape(8, 8)),
    "spaced": np.linspace(0.5, 1.0, 128).reshape(8, 16)[:, ::2],
    "turned": np.linspace(0.5, 1.0, 64).reshape(4, 2, 8).transpose(1, 0, 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FACTORS_AND_SIGNS)
def test_a_cotangent_that_is_one_number_everywhere_becomes_an_array_as_in_eager_mode(
    function: Any, layout: str
) -> None:
    x = LAYOUTS[layout]
    compiled = gs.compile(gs.grad(function), verify="first calls")
    for scale in (1.0, 1.0, 1.1):
        expected, found = gs.grad(function)(x * scale), compiled(x * scale)
        assert found.tobytes("A") == expected.tobytes("A")
        assert found.strides == expected.strides


@pytest.mark.parametrize("root", [np.square, np.sqrt, lambda x: x**2])
def test_a_factor_that_waits_is_multiplied_before_others_add_to_its_cotangent(root: Any) -> None:
    def loss(x: Any) -> Any:
        y = root(x)
        part = y[1:]
        return np.sum(y * 1.3) + np.sum(part * 2.3)

    x = np.array([1.0, 2.0, 3.0])
    slope = {np.square: 2.0 * x, np.sqrt: 0.5 / np.sqrt(x)}.get(root, 2.0 * x)
    np.testing.assert_allclose(gs.grad(loss)(x), slope * [1.3, 3.6, 3.6], rtol=1e-15)
    compiled = gs.compile(gs.grad(loss), verify="first calls")
    np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))
