"""Writes into the arguments of a decorated function: what the caller's arrays hold afterwards, and the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import X, close


def test_a_write_into_an_argument_reaches_the_callers_array() -> None:
    def f(x):
        x += 1
        x[0] = 7.0
        return np.sum(x * x)

    a = X.copy()
    value, g = gs.value_and_grad(f)(a)
    expected = X + 1
    expected[0] = 7.0
    close(a, expected)
    close(value, np.sum(expected**2))
    close(g, [0.0, *(2 * expected[1:])])  # with respect to the value on entry


def test_a_write_into_an_argument_that_is_not_differentiated() -> None:
    def f(x, buffer):
        buffer[:] = x * 2
        return np.sum(buffer * x)

    buffer = np.zeros(3)
    close(gs.grad(f)(X, buffer), 4 * X)
    close(buffer, 2 * X)


def test_a_write_through_a_view_reaches_the_caller() -> None:
    def f(x):
        x[1:][0] = 5.0
        return np.sum(x)

    a = X.copy()
    close(gs.grad(f)(a), [1.0, 0.0, 1.0])
    close(a, [0.5, 5.0, 2.0])
    base = np.arange(6.0)
    close(gs.grad(f)(base[::2]), [1.0, 0.0, 1.0])
    close(base, [0.0, 1.0, 5.0, 3.0, 4.0, 5.0])


def test_a_write_into_a_read_only_argument() -> None:
    a = X.copy()
    a.flags.writeable = False

    def f(x):
        x += 1
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        gs.grad(f)(a)


def test_a_write_stays_when_the_function_raises() -> None:
    def f(x):
        x += 1
        raise KeyError("later")

    a = X.copy()
    with pytest.raises(KeyError):
        gs.grad(f)(a)
    close(a, X + 1)


def test_a_global_array_that_is_written_into_is_not_wrong_in_silence() -> None:
    space: dict[str, Any] = {"np": np, "store": np.zeros(3)}
    exec("def f(x):\n    store[:] = x * 2\n    return np.sum(store * x)", space)
    try:
        g = gs.grad(space["f"])(X)
    except (RuntimeError, TypeError):
        return
    close(g, 4 * X)


def test_dtypes_of_in_place_writes_are_numpys() -> None:
    def f(x):
        y = np.zeros(3, np.float32)
        y[:] = x
        y += x
        assert y.dtype == np.float32
        return np.sum(y)

    assert gs.grad(f)(X).dtype == np.float64
    close(gs.grad(f)(X), np.full(3, 2.0))

    def cast(x):
        y = np.ones(3, int)
        y += x
        return np.sum(y)

    with pytest.raises(TypeError, match="Cannot cast"):
        gs.grad(cast)(X)

    def shape(x):
        y = x[:1] * 1.0
        y += x
        return np.sum(y)

    with pytest.raises(ValueError, match="broadcast"):
        gs.grad(shape)(X)


def test_an_inner_transform_writes_into_an_argument_of_an_outer_one() -> None:
    """The caller's array changes when the outermost is left: until then nodes have saved what stands in it."""

    def inner(x, z):
        z *= 2
        return np.sum(x * z)

    def f(x, z):
        square = z**2
        g = gs.grad(inner)(x, z)
        return np.sum(square) + np.sum(g * z)  # 5 z**2, of z on entry

    z = X.copy()
    close(gs.grad(f, argnums=1)(X, z), 10 * X)
    close(z, 2 * X)
