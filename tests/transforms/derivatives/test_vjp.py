"""gs.vjp and gs.jacobian: outputs that are not scalars, nested and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0])
A = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])


def curve(x: Any) -> Any:
    return np.stack([np.sin(x[0]) * x[1], x[1] ** 2 + x[2], np.exp(x[0] * x[2])])


def slopes(f: Any, x: Any, h: float = 1e-6) -> Any:
    """Central differences, one column for each element of `x`."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.shape)
        step.flat[k] = h
        columns.append((f(x + step) - f(x - step)) / (2 * h))
    return np.moveaxis(np.array(columns), 0, -1).reshape(*np.shape(f(x)), *x.shape)


def test_a_pullback_takes_a_cotangent_of_the_output() -> None:
    out, pullback = gs.vjp(lambda a, x: a @ x, A, X)
    np.testing.assert_array_equal(out, A @ X)
    g = np.array([2.0, -1.0])
    d_a, d_x = pullback(g)
    np.testing.assert_array_equal(d_a, np.outer(g, X))
    np.testing.assert_allclose(d_x, A.T @ g, rtol=1e-15)
    again = pullback(2 * g)  # as often as one likes
    np.testing.assert_allclose(again[1], 2 * d_x, rtol=1e-15)


def test_outputs_and_arguments_that_are_trees() -> None:
    out, pullback = gs.vjp(lambda p: {"sum": p["w"].sum(), "twice": (2 * p["w"], p["b"])}, {"w": X, "b": 3.0})
    assert out["sum"] == X.sum()
    (found,) = pullback({"sum": 1.0, "twice": (np.ones(3), 5.0)})
    np.testing.assert_array_equal(found["w"], np.full(3, 3.0))
    assert found["b"] == 5.0
    assert type(found["b"]) is np.float64


def test_a_function_without_arguments_has_nothing_to_pull_back() -> None:
    value, back = gs.vjp(lambda: np.kaiser(4, 5.0))
    np.testing.assert_array_equal(value, np.kaiser(4, 5.0))
    assert back(np.ones(4)) == ()
    assert gs.linearize(lambda: 2.0)[0] == 2.0
    with pytest.raises(TypeError, match=r"gs\.vjp takes the function and its arguments"):
        gs.vjp(curve)


def test_an_unused_argument_has_a_zero_cotangent() -> None:
    _, pullback = gs.vjp(lambda x, y: x * 2, X, A)
    np.testing.assert_array_equal(pullback(np.ones(3))[1], np.zeros((2, 3)))


@pytest.mark.parametrize("cotangent", [np.ones(2), {"a": np.ones(3)}], ids=["shape", "structure"])
def test_a_cotangent_that_does_not_fit(cotangent: Any) -> None:
    _, pullback = gs.vjp(curve, X)
    with pytest.raises(gs.ShapeError):
        pullback(cotangent)


def test_a_complex_output_gives_pytorchs_gradient() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    _, pullback = gs.vjp(lambda z: z * z, z)
    np.testing.assert_allclose(pullback(np.ones(2, complex))[0], np.conj(2 * z))


@pytest.mark.parametrize("x", [X, np.array([[0.5, 1.0], [2.0, -1.0]]), np.array(0.7)], ids=["1-d", "2-d", "0-d"])
def test_a_jacobian_is_the_slope_of_each_output(x: Any) -> None:
    def f(x: Any) -> Any:
        return np.stack([np.sin(x).sum(), (x * x).sum()])

    found = gs.jacobian(f)(x)
    assert found.shape == (2, *x.shape)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, slopes(f, x), rtol=1e-6, atol=1e-8)


def test_a_jacobian_by_position_name_and_keyword() -> None:
    def f(a: Any, x: Any) -> Any:
        return a @ x

    for found in (
        gs.jacobian(f, argnums=1)(A, X),
        gs.jacobian(f, argnums="x")(A, x=X),
        gs.jacobian(argnums=1)(f)(A, X),
    ):
        np.testing.assert_array_equal(found, A)


def test_the_jacobian_of_a_gradient_is_a_hessian() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**3) + x[0] * x[1]

    expected = np.diag(6 * X)
    expected[0, 1] = expected[1, 0] = 1
    np.testing.assert_allclose(gs.jacobian(gs.grad(f))(X), expected, rtol=1e-14)
    np.testing.assert_allclose(gs.jacobian(gs.jacobian(f))(X), expected, rtol=1e-14)


def test_a_jacobian_is_differentiated() -> None:
    def f(x: Any) -> Any:
        return np.sum(gs.jacobian(curve)(x) ** 2)

    np.testing.assert_allclose(gs.grad(f)(X), slopes(f, X), rtol=1e-6)


def test_a_compiled_jacobian_has_the_bits_of_the_eager_one() -> None:
    compiled = gs.compile(gs.jacobian(curve), verify="first calls")
    for x in (X, X + 1, -X):
        np.testing.assert_array_equal(compiled(x), gs.jacobian(curve)(x))
    assert "np.eye" in gs.source(compiled, X)


def test_a_jacobian_needs_arrays_with_elements() -> None:
    with pytest.raises(gs.ShapeError, match="needs arrays"):
        gs.jacobian(lambda x: (x, "text"))(X)
    with pytest.raises(gs.ShapeError, match="without elements"):
        gs.jacobian(lambda x: x[:0])(X)
