"""gs.hvp, gs.hessian and gs.jacobian: values, trees, conventions, compiled; every transform of every kind of callable."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X, V = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, -2.0])
W = np.arange(6.0).reshape(2, 3) / 10
P = {"w": W, "b": [np.array([0.5, -0.5]), 0.25]}


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def model(p: Any, s: Any) -> Any:
    return np.sum(np.tanh(p["w"].T @ p["b"][0] + p["b"][1]) ** 2 * s) * s


def flat(f: Callable[..., Any]) -> Callable[..., Any]:
    """The model as a function of one vector."""
    return lambda z: f({"w": z[:6].reshape(2, 3), "b": [z[6:8], z[8]]}, z[9])


Z = np.concatenate([W.ravel(), [0.5, -0.5], [0.25], [2.0]])


def test_a_hessian_is_the_slope_of_the_gradient() -> None:
    found = gs.hessian(flat(model))(Z)
    step = 1e-6
    rows = [(gs.grad(flat(model))(Z + h) - gs.grad(flat(model))(Z - h)) / (2 * step) for h in step * np.eye(10)]
    np.testing.assert_allclose(found, rows, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found, found.T, rtol=1e-12, atol=1e-15)


def test_the_product_is_the_hessian_times_the_vector() -> None:
    v = np.linspace(-1, 1, 10)
    np.testing.assert_allclose(gs.hvp(flat(model))(Z, v), gs.hessian(flat(model))(Z) @ v, rtol=1e-12)
    np.testing.assert_allclose(gs.hvp(flat(model))(Z, v), gs.jvp(gs.grad(flat(model)), (Z,), (v,))[1], rtol=1e-12)


def test_trees_have_the_structure_that_jax_gives_them() -> None:
    found = gs.hessian(model, argnums=(0, 1))(P, 2.0)
    whole = gs.hessian(flat(model))(Z)
    parts = [(lambda h: h[0]["w"], slice(0, 6), (2, 3)), (lambda h: h[0]["b"][0], slice(6, 8), (2,)),
             (lambda h: h[0]["b"][1], 8, ()), (lambda h: h[1], 9, ())]  # fmt: skip
    for outer, rows, first in parts:
        for inner, columns, second in parts:
            block = inner(outer(found))
            np.testing.assert_allclose(block, whole[rows, columns].reshape(first + second), rtol=1e-12, atol=1e-15)
    assert type(found) is tuple
    assert type(found[0]["w"]) is tuple
    assert type(found[1][0]["b"]) is list
    single = gs.hessian(model)(P, 2.0)
    np.testing.assert_array_equal(single["w"]["b"][0], found[0]["w"][0]["b"][0])


def test_products_with_trees() -> None:
    v = {"w": np.ones((2, 3)), "b": [np.array([1.0, 2.0]), 3.0]}
    found = gs.hvp(model, argnums=(0, 1))(P, 2.0, (v, 0.5))
    expected = gs.hvp(flat(model))(Z, np.concatenate([np.ones(6), [1.0, 2.0], [3.0], [0.5]]))
    whole = np.concatenate([found[0]["w"].ravel(), found[0]["b"][0], [found[0]["b"][1]], [found[1]]])
    np.testing.assert_allclose(whole, expected, rtol=1e-13)
    np.testing.assert_array_equal(gs.hvp(model, argnums="s")(P, 0.5, s=2.0), gs.hvp(model, argnums=1)(P, 2.0, 0.5))


def test_a_jacobian_of_trees_and_of_several_arguments() -> None:
    f = lambda x, y: {"a": np.outer(x, x) * y, "b": (np.sum(x) * y,)}
    found = gs.jacobian(f, argnums=(0, 1))(X, 3.0)
    assert found["a"][0].shape == (3, 3, 3)
    np.testing.assert_array_equal(found["a"][1], np.outer(X, X))
    np.testing.assert_array_equal(found["b"][0][0], [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(found["b"][0][1], np.sum(X))
    for k in range(3):
        for j in range(3):
            row = gs.grad(lambda x, k=k, j=j: (np.outer(x, x) * 3.0)[k, j])(X)
            np.testing.assert_array_equal(found["a"][0][k, j], row)


def test_a_linear_function_has_none() -> None:
    np.testing.assert_array_equal(gs.hessian(np.sum)(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(gs.hvp(np.sum)(X, V), np.zeros(3))
    np.testing.assert_array_equal(gs.hessian(lambda x: 1.0)(X), np.zeros((3, 3)))


def test_derivatives_of_higher_order() -> None:
    f = lambda x: np.sum(x**4)
    third = gs.jacobian(gs.hessian(f))(X)
    np.testing.assert_allclose(third[[0, 1, 2], [0, 1, 2], [0, 1, 2]], 24 * X, rtol=1e-14)
    np.testing.assert_allclose(gs.grad(lambda x: np.sum(gs.hvp(f)(x, V)))(X), 24 * X * V, rtol=1e-14)
    np.testing.assert_allclose(gs.grad(lambda v: np.sum(gs.hvp(f)(X, v)))(V), 12 * X**2, rtol=1e-14)


def test_types() -> None:
    x = X.astype(np.float32)
    assert gs.hessian(rosenbrock)(x).dtype == gs.hvp(rosenbrock)(x, x).dtype == np.float32
    assert gs.hessian(np.sin)(0.5) == -np.sin(0.5)
    assert isinstance(gs.hvp(np.sin)(0.5, 2.0), np.floating)


def test_as_decorators_and_methods() -> None:
    @gs.hessian
    def f(x: Any) -> Any:
        return np.sum(x**3)

    class Model:
        scale = 2.0

        @gs.hvp(argnums=1)
        def product(self, x: Any) -> Any:
            return self.scale * np.sum(x**3)

    np.testing.assert_array_equal(f(X), np.diag(6 * X))
    np.testing.assert_array_equal(Model().product(X, V), 12 * X * V)
    assert repr(gs.hvp(model)) == "<gs.hvp of model>"


def test_errors() -> None:
    for call, error, words in (
        (
            lambda: gs.hvp(rosenbrock)(X, V[:2]),
            gs.ShapeError,
            "the shape of what is differentiated, (3,), but got (2,)",
        ),
        (lambda: gs.hvp(model)(P, 2.0, V), gs.ShapeError, "the structure of what is differentiated"),
        (lambda: gs.hvp(rosenbrock)(), TypeError, "last positional argument"),
        (lambda: gs.hvp(rosenbrock)(X), TypeError, "last positional argument, behind those of the function"),
        (lambda: gs.hvp(np.sin)(X, V), gs.ShapeError, "scalar output"),
        (lambda: gs.hessian(np.sin)(X), gs.ShapeError, "scalar output"),
        (lambda: gs.hessian(rosenbrock)(np.arange(3)), gs.DtypeError, "int64"),
        (lambda: gs.jacobian(lambda x: x[:0])(X), gs.ShapeError, "has no rows"),
        (lambda: gs.jacobian(lambda x: "text")(X), gs.ShapeError, "needs arrays as output, but got str"),
        (lambda: gs.hessian(3), TypeError, "takes a function"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            call()


def test_the_compiled_hessian_is_one_pass_for_every_size() -> None:
    compiled = gs.compile(gs.hessian(rosenbrock), verify="first calls")
    for n in (3, 5, 8, 20):
        x = np.linspace(-1, 2, n)
        np.testing.assert_array_equal(compiled(x), gs.hessian(rosenbrock)(x))
    lines = gs.source(compiled, np.linspace(-1, 2, 100)).splitlines()
    assert len(lines) < 45
    assert sum("np.eye(" in line for line in lines) == 1


def test_compiled_products_with_a_default_left_out() -> None:
    def f(x: Any, scale: float = 2.0) -> Any:
        return scale * np.sum(x**3)

    compiled = gs.compile(gs.hvp(f), verify="first calls")
    np.testing.assert_array_equal(compiled(X, V), 12 * X * V)
    np.testing.assert_array_equal(compiled(X, 3.0, V), 18 * X * V)
    assert "(x, v):" in gs.source(compiled, X, V)
    assert "(x, scale, v):" in gs.source(compiled, X, 3.0, V)


# Transforms of transforms of every kind of callable ---------------------------------------------------------------------

STACKED = np.array([X, V])
TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "plain": lambda f: f,
    "compile": lambda f: gs.compile(f, verify="first calls"),
    "grad": gs.grad,
    "value_and_grad": lambda f: lambda x: sum(np.sum(part) for part in gs.value_and_grad(f)(x)),
    "vjp": lambda f: lambda x: gs.vjp(f, x)[1](2.0)[0],
    "jvp": lambda f: lambda x: gs.jvp(f, (x,), (V,))[1],
    "jacobian": gs.jacobian,
    "hvp": lambda f: lambda x: gs.hvp(f)(x, V),
    "hessian": gs.hessian,
    "vmap": lambda f: lambda x: gs.vmap(f)(x * STACKED),
}


def reference(x: Any) -> Any:
    return np.sum(np.tanh(2.0 * x) ** 2 * x)


def scaled(scale: Any, x: Any) -> Any:
    return np.sum(np.tanh(scale * x) ** 2 * x)


class Model:
    """A callable object, and one with methods."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return np.sum(np.tanh(self.scale * x) ** 2 * x)

    def loss(self, x: Any) -> Any:
        return self(x)

    @staticmethod
    def static(x: Any) -> Any:
        return scaled(2.0, x)


def closure(scale: float) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(scale * x) ** 2 * x)

    return f


def without_source() -> Any:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return np.sum(np.tanh(2.0 * x) ** 2 * x)\n", space)
    return space["f"]


def wrapped(f: Any) -> Any:
    @functools.wraps(f)
    def outer(*args: Any) -> Any:
        return f(*args)

    return outer


CALLABLES: dict[str, Callable[[Any], Any]] = {
    "function": reference,
    "lambda": lambda x: np.sum(np.tanh(2.0 * x) ** 2 * x),
    "partial": functools.partial(scaled, 2.0),
    "closure": closure(2.0),
    "callable object": Model(2.0),
    "method": Model(2.0).loss,
    "static method": Model.static,
    "wrapped": wrapped(reference),
    "without source": without_source(),
    "compiled": gs.compile(reference),
    "calls a compiled one": lambda x: gs.compile(reference)(x),
    "compiled twice": gs.compile(gs.compile(reference)),
}


def summed(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One number of what a transform gives, for the next to differentiate."""
    return lambda x: np.sum(f(x) ** 2)


def chained(names: tuple[str, ...], f: Any) -> Any:
    """The first transform of the second."""
    outer, inner = names
    return TRANSFORMS[outer](f if inner == "plain" else summed(TRANSFORMS[inner](f)))


PAIRS = [(outer, inner) for outer in TRANSFORMS for inner in TRANSFORMS]


@pytest.mark.parametrize("pair", PAIRS, ids=[" of ".join(pair) for pair in PAIRS])
def test_transforms_of_transforms_are_right_and_compile(pair: tuple[str, str]) -> None:
    f = chained(pair, reference)
    eager = f(X)
    compiled = gs.compile(f, verify="first calls")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), eager)
    outer, inner = pair
    g = reference if inner == "plain" else summed(TRANSFORMS[inner](reference))
    step = 1e-4
    slope = lambda v: (
        (8 * (g(X + step * v) - g(X - step * v)) - g(X + 2 * step * v) + g(X - 2 * step * v)) / (12 * step)
    )
    if outer in ("grad", "jacobian"):
        np.testing.assert_allclose(eager, [slope(e) for e in np.eye(3)], rtol=1e-8, atol=1e-8)
    elif outer == "vjp":
        np.testing.assert_allclose(eager, [2 * slope(e) for e in np.eye(3)], rtol=1e-8, atol=1e-8)
    elif outer == "jvp":
        np.testing.assert_allclose(eager, slope(V), rtol=1e-8, atol=1e-8)
    elif outer == "hessian":
        np.testing.assert_allclose(eager @ V, gs.hvp(g)(X, V), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(eager, gs.jacobian(gs.grad(g))(X), rtol=1e-12, atol=1e-12)
    elif outer == "hvp":
        np.testing.assert_allclose(eager, gs.jvp(gs.grad(g), (X,), (V,))[1], rtol=1e-11, atol=1e-11)
    elif outer == "vmap":
        np.testing.assert_allclose(eager, [g(x) for x in X * STACKED], rtol=1e-12)
    elif outer == "value_and_grad":
        np.testing.assert_allclose(eager, g(X) + np.sum(gs.grad(g)(X)), rtol=1e-12)
    else:
        assert eager == g(X)


@pytest.mark.parametrize("name", CALLABLES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_of_every_kind_of_callable(transform: str, name: str) -> None:
    f = TRANSFORMS[transform](CALLABLES[name])
    eager = f(X)
    np.testing.assert_array_equal(eager, TRANSFORMS[transform](reference)(X))
    compiled = gs.compile(f, verify="first calls")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), eager)


@pytest.mark.parametrize("f", [np.sum, np.linalg.norm, np.prod, np.max, np.std], ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_of_numpys_own_functions(transform: str, f: Any) -> None:
    made = TRANSFORMS[transform](f)
    eager = made(X)
    spelled = TRANSFORMS[transform](lambda x: f(x))(X)
    np.testing.assert_array_equal(eager, spelled)
    np.testing.assert_array_equal(gs.compile(made, verify="first calls")(X), eager)


@pytest.mark.parametrize("transform", [gs.hessian, gs.hvp])
def test_compare_and_explain_know_them(transform: Any) -> None:
    args = (X,) if transform is gs.hessian else (X, V)
    found = gs.compare(transform(rosenbrock), *args)
    assert (found.ok, found.compiled, found.rows[0].same_bits) == (True, True, True)
    assert "along one direction" in str(found)
    compiled = gs.compile(transform(rosenbrock))
    compiled(*args)
    assert "x: float64[3]" in str(gs.explain(compiled))
