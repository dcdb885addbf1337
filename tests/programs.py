"""What tests of the engine and the transforms share: leaves, no collector, a user's program against plain NumPy."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0])


def leaf(data: Any, **options: Any) -> Any:
    return gs.tensor(data, requires_grad=True, **options)


@contextmanager
def no_collector() -> Iterator[None]:
    """Without the garbage collector, so that what is freed is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def numeric(f: Callable[..., Any], *args: Any) -> Any:
    """Central differences in the first argument."""
    x = np.asarray(args[0], float)
    out = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * 1e-6
            out[k] += sign * f(moved if x.shape else moved[()], *args[1:]) / 2e-6
    return out


def check(f: Callable[..., Any], *args: Any) -> None:
    """The value is the plain function's, and the gradient that of finite differences."""
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    expected = f(*copied)
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    value, gradient = gs.value_and_grad(f)(*copied)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(gradient, numeric(f, *args), rtol=1e-6, atol=1e-8)
    gs.grad(lambda x: np.sum(gs.grad(f)(x, *args[1:]) ** 2))(
        args[0].copy() if isinstance(args[0], np.ndarray) else args[0]
    )
