"""NumPy functions that are spelled out by others: NumPy's values, right gradients, compiled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from composed_cases import MORE

RNG = np.random.default_rng(3)
V, W, M, N = (
    RNG.normal(size=5),
    RNG.uniform(0.5, 1.5, size=5),
    RNG.normal(size=(3, 5)),
    RNG.uniform(0.5, 1.5, size=(3, 5)),
)
AT = np.array([0.0, 0.5, 0.7, 1.5, 1.6])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "average": (lambda x: np.average(x), (M,)),
    "average of an axis": (lambda x: np.average(x, axis=1, keepdims=True), (M,)),
    "average, weighted": (lambda x, w: np.average(x, weights=w), (M, N)),
    "average, weighted along an axis": (lambda x, w: np.average(x, axis=1, weights=w), (M, W)),
    "average, weighted along two": (lambda x, w: np.average(x, axis=(1, 0), weights=w.T), (M, N)),
    "average and the weights": (lambda x, w: np.average(x, 0, w, returned=True), (M, N)),
    "average, returned": (lambda x: np.average(x, 1, returned=True)[0], (M,)),
    "select": (lambda x, y: np.select([x < 0, x < 0.5], [x * y, np.exp(y)], 2.0), (M, N)),
    "select, first of several": (lambda x: np.select([x < 1, x < 2], [x, x**2]), (M,)),
    "choose": (lambda x, y: np.choose(np.array([0, 1, 2, 1, 0]), [x, y, 3.0]), (V, W)),
    "choose, wrapped": (lambda x, y: np.choose(np.array([3, -1, 2, 1, 0]), [x, y], mode="wrap"), (V, W)),
    "cov": (lambda x: np.cov(x), (M,)),
    "cov of a vector": (lambda x: np.cov(x, ddof=0), (V,)),
    "cov of two": (lambda x, y: np.cov(x, y, bias=True), (V, W)),
    "cov of columns": (lambda x: np.cov(x, rowvar=False), (M,)),
    "corrcoef": (lambda x: np.corrcoef(x), (M,)),
    "corrcoef of two": (lambda x, y: np.corrcoef(x, y)[0, 1], (V, W)),
    "polyval": (lambda p, x: np.polyval(p, x), (V, M)),
    "polyval of a number": (lambda p: np.polyval(p, 1.5), (V,)),
    "polyval of numbers": (lambda x: np.polyval([1.0, -2.0, 3.0], x), (M,)),
    "vander": (lambda x: np.vander(x), (V,)),
    "vander, increasing": (lambda x: np.vander(x, 3, increasing=True), (V,)),
    "block": (lambda x, y: np.block([[x, 2 * y], [y, x]]), (M, N)),
    "block of vectors": (lambda x, y: np.block([x, 1.0, y]), (V, W)),
    "block of depths": (lambda x, y: np.block([[x], [y]]), (M, W)),
    "ediff1d": (lambda x: np.ediff1d(x, to_end=[1.0, 2.0]), (M,)),
    "ediff1d, led": (lambda x, y: np.ediff1d(x, to_begin=y), (V, W)),
    "gradient": (lambda x: np.gradient(x), (V,)),
    "gradient of a matrix": (lambda x: np.gradient(x, 0.1), (M,)),
    "gradient along an axis": (lambda x, h: np.gradient(x, h, axis=1, edge_order=2), (M, np.float64(0.3))),
    "gradient at places": (lambda x, at: np.gradient(x, at, axis=-1), (M, AT)),
    "gradient at places, second order": (lambda x, at: np.gradient(x, at, edge_order=2), (V, AT)),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda v: v / np.sum(v * v), 1, x), (M,)),
    "apply_along_axis, to numbers": (lambda x: np.apply_along_axis(np.prod, 0, x), (M,)),
    **MORE,
}  # fmt: skip


def loss_of(f: Callable[..., Any]) -> Callable[..., Any]:
    def loss(*args: Any) -> Any:
        out = f(*args)
        parts = out if isinstance(out, tuple) else (out,)
        return sum(np.sum(np.sin(p) * (k + 1)) for k, p in enumerate(parts))

    return loss


def arrays_of(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (tuple, list)) else [out]


@pytest.mark.parametrize("name", CASES)
def test_the_values_are_numpys(name: str) -> None:
    f, args = CASES[name]
    compiled = gs.compile(f, verify="first calls")
    for _ in range(3):
        for found, expected in zip(arrays_of(compiled(*args)), arrays_of(f(*args)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)
            assert np.shape(found) == np.shape(expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
        args = tuple([a * 1.01 for a in args])


@pytest.mark.parametrize("name", CASES)
def test_the_gradients_are_right(name: str) -> None:
    f, args = CASES[name]
    leaves = [gs.tensor(a, requires_grad=True) for a in args]
    assert gs.autograd.gradcheck(loss_of(f), leaves)
    gradient = gs.grad(loss_of(f), argnums=tuple(range(len(args))))
    compiled = gs.compile(gradient, verify="first calls")
    for _ in range(2):
        for found, expected in zip(compiled(*args), gradient(*args), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_errors_are_numpys() -> None:
    x = gs.tensor(M, requires_grad=True)
    for call in (
        lambda x: np.average(x, weights=np.ones(4)),
        lambda x: np.average(x, axis=1, weights=np.ones(4)),
        lambda x: np.average(x, axis=0, weights=np.zeros(3)),
        lambda x: np.select([x > 0], [x, x]),
        lambda x: np.select([], []),
        lambda x: np.choose(np.array([0, 1, 2, 0, 0]), [x, x]),
        lambda x: np.vander(x),
        lambda x: np.block([[x], x]),
        lambda x: np.gradient(x, 1.0, 2.0, 3.0),
        lambda x: np.gradient(x[:, :1]),
    ):
        with pytest.raises(Exception) as expected:
            call(M)
        with pytest.raises(type(expected.value)):
            call(x)


def test_a_list_of_tensors_is_an_array_inside_a_transform() -> None:
    g = gs.grad(lambda x: np.average([x[0], x[1] * 2, x[2]], weights=[1.0, 2.0, 1.0]))
    np.testing.assert_allclose(g(np.ones(3)), [0.25, 1.0, 0.25])
