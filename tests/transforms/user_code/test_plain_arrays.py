"""Plain arrays within a transform: their methods of Tensors, stores into those that the code made, lists that NumPy takes."""

from __future__ import annotations

import array
import fractions
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, 0.2, 0.3])
A = np.array([[1.0, 2.0, 0.5], [0.0, 3.0, 1.0], [2.0, 1.0, 4.0]])
W = np.array([1.0, 2.0, 3.0])


class Layer:
    def __init__(self) -> None:
        self.w = A
        self.rows = [W, W + 1.0]

    def __call__(self, x: Any) -> Any:
        return np.sum(self.w.dot(x)) + sum(row.dot(x) for row in self.rows)


LAYER = Layer()


def bound(x: Any) -> Any:
    product = W.dot
    return product(x) + sum(map(W.dot, [x, x * 2.0]))


def filled(x: Any) -> Any:
    b = W.copy()
    b.fill(x[0])
    return np.sum(b * x)


def put(x: Any) -> Any:
    b = W.astype(float)
    b.put([0, 1], [x[0], x[1]])
    return np.sum(b * x)


def diagonal(x: Any) -> Any:
    s = np.diag(W)
    s[0, 1] = s[1, 0] = x[2]
    return np.sum(s @ x)


def operators(x: Any) -> Any:
    s = W * 2.0
    s[1] = x[0]
    s[2] += x[1] * x[0]
    return s @ x


def whole(x: Any) -> Any:
    s = np.exp(W)
    s += x * x
    return s @ x


def reshaped(x: Any) -> Any:
    s = np.sqrt(W).reshape(3, 1)
    s[0, 0] = x[0]
    return np.sum(s * x)


def by_statement(x: Any) -> Any:
    s = np.outer(W, W)
    np.fill_diagonal(s, x * x)
    return np.sum(s @ x)


def by_helper(x: Any) -> Any:
    def store(into: Any, value: Any) -> None:
        into[1] = value

    s = np.sort(W)
    store(s, x[0])
    return s @ x


def by_out(x: Any) -> Any:
    s = np.cumsum(W)
    np.multiply(x, x, out=s)
    return s @ x


def drawn(x: Any) -> Any:
    s = np.random.default_rng(3).normal(size=3)
    s[0] = x[1]
    return s @ x


def lists(x: Any) -> Any:
    d = np.diag([1.0, 2.0, 3.0])
    e = np.einsum("i,j->ij", [1.0, 2.0, 3.0], [1.0, 0.5, 2.0])
    a, b = np.meshgrid([1.0, 2.0, 3.0], [0.5, 2.0, 1.0])
    m = np.linalg.inv([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    return np.sum((d + e + a * b).dot(x)) + np.sum(m @ x)


def lists_of_ufuncs(x: Any) -> Any:
    return np.sqrt([1.0, 2.0, 3.0]) @ x + np.minimum([1.0, 2.0, 3.0], 2.0) @ (x * x) + np.add([1, 2, 3], 0.5) @ x


def lists_joined(x: Any) -> Any:
    rows = np.vstack([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    parts = np.concatenate([[1.0, 2.0], [3.0]])
    chosen = np.select([[True, False, True]], [[1.0, 2.0, 3.0]], 0.5)
    return rows[1] @ x + parts @ (x * x) + chosen @ x + np.average([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], axis=0) @ x


RIGHT: dict[str, Callable[[Any], Any]] = {
    "dot": lambda x: np.sum(A.dot(np.exp(x))), "dot of a row": lambda x: sum(w.dot(x) for w in A), "object": LAYER,
    "clip": lambda x: np.sum(W.clip(x[0], x[1] * 12.0)), "sum": lambda x: W.sum(initial=x[0] * x[1]),
    "take": lambda x: W.take([0, 1]).dot(x[:2]), "search": lambda x: W[W.searchsorted(x[0])] * x[1],
    "chain": lambda x: W.T.dot(x) * W.reshape(1, 3).dot(x)[0],
    **{f.__name__: f for f in (bound, filled, put, diagonal, operators, whole, reshaped, by_statement, by_helper, by_out, drawn)},
    **{f.__name__: f for f in (lists, lists_of_ufuncs, lists_joined)},
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_plain_array_beside_what_is_differentiated(name: str) -> None:
    f = RIGHT[name]
    steps = np.eye(3) * 1e-6
    compiled = gs.compile(gs.value_and_grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.EagerWarning)
        for x in (X, X * 1.1, X * 0.9):
            expected = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
            for value, gradient in (gs.value_and_grad(f)(x), compiled(x)):
                np.testing.assert_allclose(value, f(x), rtol=1e-12)
                np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(W, [1.0, 2.0, 3.0])


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_numbers_and_arrays_of_python() -> None:
    def f(x: Any) -> Any:
        buffer = array.array("d", [1.0, 2.0, 0.5])
        return (
            np.dot(buffer, x) * fractions.Fraction(1, 3)
            + fractions.Fraction(5, 2) / x[0]
            + sum(map(operator.mul, buffer, x))
        )

    slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    for gradient in (gs.grad(f), gs.compile(gs.grad(f))):
        np.testing.assert_allclose(gradient(X), slopes, rtol=1e-7)


def test_a_method_that_is_called_by_its_class() -> None:
    np.testing.assert_allclose(gs.grad(lambda x: np.sum(np.ndarray.dot(A, x)))(X), A.sum(axis=0))


def of_the_module(x: Any) -> Any:
    s = W
    s[0] = x[0]
    return np.sum(s * x)


def a_view_of_it(x: Any) -> Any:
    s = W[:2]
    s[0] = x[0]
    return np.sum(W * x)


def a_view_of_what_is_read_later(x: Any) -> Any:
    whole = np.exp(W)
    s = whole[:2]
    s[0] = x[0]
    return np.sum(whole * x)


def under_two_names(x: Any) -> Any:
    s = again = np.exp(W)
    s[0] = x[0]
    return np.sum(again * x)


def kept_in_a_list(x: Any) -> Any:
    kept = [np.exp(W)]
    s = kept[0]
    s[0] = x[0]
    return np.sum(kept[0] * x)


@pytest.mark.parametrize(
    "f", [of_the_module, a_view_of_it, a_view_of_what_is_read_later, under_two_names, kept_in_a_list]
)
def test_memory_that_something_else_holds_takes_no_traced_number(f: Callable[[Any], Any]) -> None:
    before = W.copy()
    with pytest.raises(gs.GradientLossError):
        gs.grad(f)(X)
    np.testing.assert_array_equal(W, before)


WITHOUT_SOURCE = """
def right(x):
    s = np.diag(W)
    s[0, 1] = x[0]
    t = W * 2.0
    t[1] += x[1]
    t += x
    u = np.outer(W, W)
    np.fill_diagonal(u, x * x)
    return np.sum(s.dot(x)) + t @ x + np.sum(A.dot(x)) + np.sum(u @ x)

def two_names(x):
    s = again = np.exp(W)
    s[0] = x[0]
    return np.sum(again * x)

def a_view(x):
    whole = np.exp(W)
    s = whole[:2]
    s[0] = x[0]
    return np.sum(whole * x)

def in_a_list(x):
    kept = [np.exp(W)]
    s = kept[0]
    s[0] = x[0]
    return np.sum(kept[0] * x)
"""


def test_code_without_source() -> None:
    space: dict[str, Any] = {"np": np, "W": W, "A": A}
    exec(WITHOUT_SOURCE, space)
    f = space["right"]
    slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    for gradient in (gs.grad(f), gs.compile(gs.grad(f))):
        np.testing.assert_allclose(gradient(X), slopes, rtol=1e-7)
    for name in ("two_names", "a_view", "in_a_list"):
        f = space[name]
        slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
        try:
            found = gs.grad(f)(X)
        except gs.GradientLossError:
            continue
        np.testing.assert_allclose(found, slopes, rtol=1e-7)
