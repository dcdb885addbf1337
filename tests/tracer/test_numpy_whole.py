"""The rest of NumPy's names: functions that write in place, ufunc.at, np.r_ and np.c_, np.vectorize, what only scopes see."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

RNG = np.random.default_rng(0)
M, S, T = RNG.normal(size=(3, 5)), RNG.normal(size=(4, 4)), RNG.normal(size=(9, 4))
V, W = RNG.uniform(0.5, 1.5, size=5), RNG.normal(size=3)


def written(write: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in a copy of the first argument after `write`."""

    def f(x: Any, *args: Any) -> Any:
        y = x * 1.0
        write(y, *args)
        return y

    return f


WRITES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "fill_diagonal": (lambda y, v: np.fill_diagonal(y, v), (S, V[:4])),
    "fill_diagonal, over and over": (lambda y, v: np.fill_diagonal(y, v[:2]), (S, V)),
    "fill_diagonal, wrapped": (lambda y, v: np.fill_diagonal(y, v, wrap=True), (T, V)),
    "fill_diagonal of three axes": (lambda y: np.fill_diagonal(y, 3.0), (RNG.normal(size=(3, 3, 3)),)),
    "place": (lambda y, v: np.place(y, y > 0, v[:2]), (M, V)),
    "put_along_axis": (lambda y, v: np.put_along_axis(y, np.argsort(y, axis=1)[:, :2], v[:2], 1), (M, V)),
    "put_along_axis, flat": (lambda y, v: np.put_along_axis(y, np.array([0, 3, 4]), v[:3], None), (M, V)),
    "put": (lambda y, v: np.put(y, [0, 3, -1], v[:2]), (M, V)),
    "putmask": (lambda y, v: np.putmask(y, y > 0, v), (M, V)),
    "copyto": (lambda y, v: np.copyto(y, v, where=y > 0), (M, V)),
    "add.at": (lambda y, v: np.add.at(y, (0, [1, 2, 1, 1, 0]), v), (M, V)),
    "subtract.at": (lambda y, v: np.subtract.at(y, (0, [1, 2, 1, 1, 0]), v), (M, V)),
    "multiply.at": (lambda y, v: np.multiply.at(y, (0, [1, 2, 1, 1, 0]), v), (M, V)),
    "divide.at": (lambda y, v: np.divide.at(y, [0, 0], v), (M, V)),
    "maximum.at": (lambda y, v: np.maximum.at(y, ([0, 0, 1, 1, 2], [0, 0, 1, 1, 1]), v), (M, V)),
    "negative.at": (lambda y: np.negative.at(y, (0, [1, 2, 1])), (M,)),
    "exp.at": (lambda y: np.exp.at(y, [0, 1, 0]), (V,)),
}  # fmt: skip

turned = np.vectorize(lambda a, b: math.sin(a) * b if a > b else np.exp(b))
normed = np.vectorize(lambda v: np.sum(v * v) * v, signature="(n)->(n)")
both = np.vectorize(lambda a: (a**2, a + 1))

SCOPED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "r_": (lambda x, y: np.r_[x, 0, y, [1.0, 2.0], 1:4], (V, W)),
    "r_ with a step of points": (lambda x: np.r_[x, 0:1:5j], (V,)),
    "r_ by columns": (lambda x, y: np.r_["-1", x, y], (M, M)),
    "r_ by rows": (lambda x, y: np.r_["0,2", x, y], (V, V[::-1].copy())),
    "c_": (lambda x, y: np.c_[x, y, x * y], (V, V + 1)),
    "c_ of a matrix and a vector": (lambda x, y: np.c_[x, y], (M, W)),
    "c_ of r_": (lambda x: np.c_[np.r_[x, 1.0], 0:6], (V,)),
    "vectorize": (lambda x, y: np.vectorize(lambda a, b: math.cos(a) + b)(x[:, None], y), (V, W)),
    "vectorize, with one left out": (lambda x: np.vectorize(lambda a, n: a**n, excluded=[1])(x, 3), (V,)),
    "vectorize, by name": (lambda x: np.vectorize(lambda a, n: a**n)(x, n=2.0), (V,)),
    "vectorize, of a type": (lambda x: np.vectorize(lambda a: a * a, otypes=[float])(x), (V,)),
    "require": (lambda x: np.require(x, float, ["C"]) * 2, (M,)),
    "asarray_chkfinite": (lambda x: np.asarray_chkfinite(x) * 2, (M,)),
    "ix_": (lambda x: x[np.ix_([0, 2], [1, 3])], (M,)),
}

EAGER: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a vectorize of the module": (lambda x, y: turned(x[:3], y), (V, W)),
    "a vectorize of vectors": (lambda x: normed(x), (M,)),
    "a vectorize of two results": (lambda x: both(x)[0] * both(x)[1], (V,)),
    "fromfunction": (lambda x: np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (3, 2)), (V,)),
}

CASES = {**{name: (written(f), args) for name, (f, args) in WRITES.items()}, **SCOPED}


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys_and_compiled_alike(name: str) -> None:
    f, args = CASES[name]
    compiled = gs.compile(f, verify="first calls")
    for _ in range(2):
        found, expected = compiled(*args), f(*args)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", [*CASES, *EAGER])
def test_gradients_are_what_finite_differences_say(name: str) -> None:
    f, args = {**CASES, **EAGER}[name]
    every = tuple(range(len(args)))
    gradient = gs.grad(lambda *a: np.sum(np.sin(f(*a))), argnums=every)
    step, rng = 1e-6, np.random.default_rng(1)
    for k, g in enumerate(gradient(*args)):
        v = rng.normal(size=np.shape(args[k]))
        ends = [np.sum(np.sin(f(*[a + s * v if j == k else a for j, a in enumerate(args)]))) for s in (step, -step)]
        assert np.sum(g * v) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)
    if name in CASES:
        for found, expected in zip(gs.compile(gradient, verify="first calls")(*args), gradient(*args), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", WRITES)
def test_bare_tensors_are_written_into(name: str) -> None:
    write, args = WRITES[name]
    leaves = [gs.tensor(a, requires_grad=True) for a in args]
    np.testing.assert_array_equal(written(write)(*leaves).detach().numpy(), written(write)(*args))
    assert gs.autograd.gradcheck(lambda *a: np.sum(np.sin(written(write)(*a))), leaves)


def of_parts(x: Any) -> Any:
    z = x[0] + 1j * x[1]
    z.imag[1:] = x[2, 1:] ** 2
    z.real = x[1] * x[0]
    z.imag *= 2.0
    y = x[2] * 1.0
    y.real = x[0] * 1.5  # of a real array, itself
    return np.sum(np.abs(z) ** 2 * y)


def test_real_and_imaginary_parts_are_written() -> None:
    v, step = RNG.normal(size=M.shape), 1e-6
    g = gs.grad(of_parts)(M)
    assert np.sum(g * v) == pytest.approx((of_parts(M + step * v) - of_parts(M - step * v)) / (2 * step), rel=1e-6)
    assert gs.autograd.gradcheck(of_parts, (gs.tensor(M, requires_grad=True),))
    with pytest.raises((TypeError, ValueError)):
        gs.grad(lambda x: (x * 1.0).__setattr__("imag", 1.0))(M)


def test_errors_are_numpys() -> None:
    t = gs.tensor(M, requires_grad=True)
    for call in (
        lambda x: np.insert(x, 99, 1.0),
        lambda x: np.resize(x, (-1, 2)),
        lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
        lambda x: np.poly(x),
        lambda x: np.polyint(x[0], -1),
        lambda x: np.polyder(x[0], -1),
        lambda x: np.polyfit(x, x, 1),
        lambda x: np.polyfit(x[0], x[1, :3], 1),
        lambda x: np.subtract.reduce(x, axis=(0, 1)),
        lambda x: np.subtract.reduce(x[:0]),
        lambda x: np.maximum.reduceat(x, [7]),
        lambda x: np.place(x * 1.0, x > 0, []),
        lambda x: np.put_along_axis(x * 1.0, np.array([0]), 1.0, 0),
        lambda x: np.apply_over_axes(lambda a, axis: np.zeros((2, 2, 2)), x, 0),
    ):
        with pytest.raises(Exception) as expected:
            call(M)
        with pytest.raises(type(expected.value)):
            call(t)


def test_what_has_no_rule_says_so_by_name() -> None:
    t = gs.tensor(np.abs(M), requires_grad=True)
    for call, word in (
        (lambda x: np.quantile(x, 0.3, method="inverted_cdf", weights=np.ones((3, 5))).backward(), "weights"),
        (lambda x: np.nanquantile(x, 0.3, method="nearest").backward(), "nearest"),
        (lambda x: np.histogram(x, "auto"), "auto"),
        (lambda x: np.unique(x, equal_nan=False), "equal_nan"),
        (lambda x: np.polyfit(x[0], x[1], [1, 2]), "degrees"),
    ):
        with pytest.raises((gs.NoRuleError, NotImplementedError), match=word):
            call(t)
