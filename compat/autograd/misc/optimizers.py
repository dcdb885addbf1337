"""autograd.misc.optimizers: adam, sgd and rmsprop on trees of arrays, for noisy gradients `grad(x, i)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _descend(grad: Gradient, x0: Any, callback: Callback, num_iters: int, step: Callable[[Any, int], Any]) -> Any:
    """`num_iters` times x += step(gradient at x, i)."""
    x, unflatten = flatten(x0)
    for i in range(num_iters):
        found = grad(unflatten(x), i)
        if callback:
            callback(unflatten(x), i, found)
        x = x + step(flatten(found)[0], i)
    return unflatten(x)


def sgd(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum, whose velocity is a running mean of the gradient."""
    velocity: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return step_size * velocity

    return _descend(grad, x0, callback, num_iters, step)


def rmsprop(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.1, gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Steps over the root of a running mean of the squared gradient (Tieleman and Hinton, 2012)."""
    squares: Any = 1.0

    def step(g: Any, i: int) -> Any:
        nonlocal squares
        squares = squares * gamma + g**2 * (1.0 - gamma)
        return -step_size * g / (np.sqrt(squares) + eps)

    return _descend(grad, x0, callback, num_iters, step)


def adam(
    grad: Gradient, x0: Any, callback: Callback = None, num_iters: int = 100, step_size: float = 0.001, b1: float = 0.9,
    b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Running means of the gradient and of its square, unbiased (Kingma and Ba, arXiv:1412.6980)."""
    first: Any = 0.0
    second: Any = 0.0

    def step(g: Any, i: int) -> Any:
        nonlocal first, second
        first = (1.0 - b1) * g + b1 * first
        second = (1.0 - b2) * g**2 + b2 * second
        return -step_size * (first / (1.0 - b1 ** (i + 1))) / (np.sqrt(second / (1.0 - b2 ** (i + 1))) + eps)

    return _descend(grad, x0, callback, num_iters, step)
