"""gs.linearize, gs.jacrev, gs.jacfwd, gs.jacobian's choice, gs.stop_gradient and gs.check_grads; all nested and compiled."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X, V = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, -2.0])
W = np.arange(6.0).reshape(2, 3) / 10
Z = np.array([1.0 + 2.0j, 0.5 - 1.0j])


def wide(x: Any) -> Any:
    return np.stack([np.sin(x[0]) * x[1], x[1] ** 2 + x[2], np.exp(x[0] * x[2]), x[0], x.sum()])


def tree(p: Any, s: Any) -> Any:
    return {"a": p["w"] @ p["b"] * s, "c": (np.outer(p["w"][0], p["w"][1]) * s, np.sum(p["w"]) * s)}


P = {"w": W, "b": X}


# Jacobians ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_and_columns_are_one_matrix(dtype: Any) -> None:
    x = X.astype(dtype)
    for f in (wide, np.sum, np.tanh, lambda x: np.outer(x, x), lambda x: W.astype(dtype) @ x):
        rows, columns, chosen = gs.jacrev(f)(x), gs.jacfwd(f)(x), gs.jacobian(f)(x)
        np.testing.assert_allclose(rows, columns, rtol=10 * np.finfo(dtype).eps)
        assert rows.dtype == columns.dtype == chosen.dtype == dtype
        cheaper = columns if rows.size // 3 > 3 else rows  # fewer arguments than results
        np.testing.assert_array_equal(chosen, cheaper)


def test_the_cheaper_mode_is_taken() -> None:
    """Fewer arguments than results: forward; else, and where numbers are complex, backward."""

    def steps(n: int, m: int) -> str:
        matrix = np.ones((m, n))
        return str(gs.source(gs.jacobian(lambda x: np.tanh(matrix @ x)), np.ones(n)))

    assert "# tangents" in steps(2, 5)
    assert "# tangents" not in steps(5, 2)
    assert "# tangents" not in steps(3, 3)
    compiled = gs.compile(gs.jacobian(lambda x, w: np.tanh(w @ x)), verify="first calls")
    for n, m in ((3, 4), (3, 5), (4, 3), (5, 3), (6, 2), (1, 7)):
        w, x = np.random.default_rng(n).normal(size=(m, n)), np.ones(n)
        np.testing.assert_array_equal(compiled(x, w), gs.jacobian(lambda x, w: np.tanh(w @ x))(x, w))


@pytest.mark.parametrize("transform", [gs.jacrev, gs.jacfwd, gs.jacobian])
def test_trees_of_arguments_and_results(transform: Any) -> None:
    found = transform(tree, argnums=(0, 1))(P, 2.0)
    expected = gs.jacrev(tree, argnums=(0, 1))(P, 2.0)
    assert type(found["a"]) is tuple
    assert found["a"][0]["w"].shape == (2, 2, 3)
    assert found["c"][0][0]["b"].shape == (3, 3, 3)
    assert isinstance(found["c"][1][1], np.floating)
    for key in (
        lambda j: j["a"][0]["w"],
        lambda j: j["c"][0][0]["w"],
        lambda j: j["c"][0][1],
        lambda j: j["c"][1][0]["w"],
    ):
        np.testing.assert_allclose(key(found), key(expected), rtol=1e-14)
        assert type(key(found)) is type(key(expected))
    np.testing.assert_array_equal(transform(tree, argnums="s")(P, s=2.0)["a"], found["a"][1])


def test_jacobians_of_complex_functions_follow_the_gradient() -> None:
    for f in (np.exp, np.conj, np.abs, lambda z: z.real * z, lambda z: np.outer(z, np.conj(z)), lambda z: z[0]):
        rows, columns = gs.jacrev(f)(Z), gs.jacfwd(f)(Z)
        np.testing.assert_allclose(rows, columns, rtol=1e-14)
        np.testing.assert_array_equal(gs.jacobian(f)(Z), rows)
    np.testing.assert_array_equal(gs.jacfwd(lambda x: x * (1 + 2j))(X), np.eye(3))  # the slope of the real part
    for k in range(2):
        row = gs.grad(lambda z, k=k: np.real(np.exp(z)[k]))(Z)
        np.testing.assert_allclose(gs.jacfwd(np.exp)(Z)[k], row, rtol=1e-15)


@pytest.mark.parametrize("transform", [gs.jacrev, gs.jacfwd, gs.jacobian])
def test_kinds_of_numbers(transform: Any) -> None:
    assert type(transform(np.sin)(0.5)) is np.float64
    found = transform(np.sin)(np.array(0.5))
    assert (type(found), found.shape) == (np.ndarray, ())
    np.testing.assert_array_equal(transform(lambda t: np.stack([t, t * t]))(3.0), [1.0, 6.0])
    assert transform(np.sum)(np.zeros(0)).shape == (0,)
    mixed = transform(lambda x: (x.astype(np.float32), np.argmax(x)))(X)
    assert [part.dtype for part in mixed] == [np.float64, np.float64]
    np.testing.assert_array_equal(mixed[1], np.zeros(3))
    t = gs.tensor(X, requires_grad=True)
    (transform(lambda x: x**3)(t) ** 2).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), 36 * X**3, rtol=1e-14)


@pytest.mark.parametrize("transform", [gs.jacrev, gs.jacfwd, gs.jacobian])
def test_errors_of_jacobians(transform: Any) -> None:
    name = transform(wide).kind
    assert repr(transform(wide)) == f"<gs.{name} of wide>"
    for call, error, words in (
        (
            lambda: transform(lambda x: (x, "text"))(X),
            gs.ShapeError,
            f"gs.{name} needs arrays as output, but got str",
        ),
        (lambda: transform(lambda x: x[:0])(X), gs.ShapeError, "without elements"),
        (lambda: transform(wide)(np.arange(3)), gs.DtypeError, "int64"),
        (lambda: transform(wide, argnums=1.5), TypeError, "positions or names"),
        (lambda: transform(3), TypeError, f"gs.{name} takes a function"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            call()


def test_they_pickle() -> None:
    for transform in (gs.jacrev, gs.jacfwd, gs.jacobian):
        made = pickle.loads(pickle.dumps(transform(wide)))
        assert made.kind == transform(wide).kind
        np.testing.assert_array_equal(made(X), transform(wide)(X))


# linearize ------------------------------------------------------------------------------------------


def test_the_linear_map_is_forward_mode_that_runs_the_function_once() -> None:
    calls = []

    def f(p: Any, s: Any) -> Any:
        calls.append(1)
        return tree(p, s)

    out, push = gs.linearize(f, P, 2.0)
    directions = [({"w": W * k, "b": V}, float(k)) for k in range(3)]
    found = [push(*d) for d in directions]
    assert calls == [1]
    for d, moved in zip(directions, found, strict=True):
        value, expected = gs.jvp(tree, (P, 2.0), d)
        np.testing.assert_array_equal(moved["a"], expected["a"])
        np.testing.assert_array_equal(moved["c"][0], expected["c"][0])
        np.testing.assert_array_equal(out["a"], value["a"])
    assert push(None, None)["c"][1] == 0.0


def test_the_linear_map_nests() -> None:
    push = gs.linearize(wide, X)[1]
    jacobian = gs.jacrev(wide)(X)
    np.testing.assert_allclose(gs.vmap(push)(np.eye(3)).T, jacobian, rtol=1e-14)
    np.testing.assert_allclose(gs.jacobian(push)(V), jacobian, rtol=1e-14)
    np.testing.assert_allclose(gs.grad(lambda v: np.sum(push(v)))(V), jacobian.sum(axis=0), rtol=1e-14)
    np.testing.assert_allclose(gs.jvp(push, (V,), (X,))[1], jacobian @ X, rtol=1e-14)
    curved = gs.grad(lambda x: np.sum(gs.linearize(wide, x)[1](V)))(X)
    np.testing.assert_allclose(curved, gs.grad(lambda x: np.sum(gs.jvp(wide, (x,), (V,))[1]))(X), rtol=1e-14)


def test_a_pullback_is_differentiated_in_its_cotangent() -> None:
    """Also where the run that gave it was not under the transform that differentiates it."""
    pullback = gs.vjp(lambda x: x**3, X)[1]
    np.testing.assert_allclose(gs.grad(lambda g: np.sum(pullback(g)[0] * V))(np.ones(3)), 3 * X**2 * V, rtol=1e-15)
    np.testing.assert_allclose(gs.jvp(lambda g: pullback(g)[0], (V,), (V,))[1], 3 * X**2 * V, rtol=1e-15)
    np.testing.assert_allclose(gs.jacfwd(lambda g: pullback(g)[0])(V), np.diag(3 * X**2), rtol=1e-15)


def test_results_are_the_callers_own() -> None:
    for f in (lambda x: x, lambda x: x[1:], lambda x: (x.T, x[::-1], x)):
        v = V.copy()
        for moved in (gs.linearize(f, X)[1](v), gs.jvp(f, (X,), (v,))[1]):
            parts = moved if isinstance(moved, tuple) else (moved,)
            assert not any(np.shares_memory(a, b) for a in parts for b in (v, X, *[p for p in parts if p is not a]))
            assert all(p.flags.writeable for p in parts)


def test_errors_of_the_linear_map() -> None:
    push = gs.linearize(lambda x, n: x**n, X, 3)[1]
    np.testing.assert_array_equal(push(V, None), 3 * X**2 * V)
    for given, error, words in (
        ((V,), gs.ShapeError, "2 primals, but its linear map 1 tangents"),
        ((V, 1), gs.DtypeError, "its tangent is None"),
        ((V[:2], None), gs.ShapeError, "the argument has (3,), but its tangent has (2,)"),
        ((V + 1j, None), gs.DtypeError, "not of dtype complex128"),
        (({"x": V}, None), gs.ShapeError, "has the structure of its argument"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            push(*given)


# stop_gradient --------------------------------------------------------------------------------------


def test_stop_gradient() -> None:
    f = lambda x: np.sum(x * gs.stop_gradient(x) ** 2)
    np.testing.assert_array_equal(gs.grad(f)(X), X**2)
    np.testing.assert_array_equal(gs.jvp(f, (X,), (V,))[1], np.sum(X**2 * V))
    np.testing.assert_array_equal(gs.hessian(f)(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(gs.vmap(gs.grad(f))(np.stack([X, V])), np.stack([X**2, V**2]))
    np.testing.assert_array_equal(gs.grad(lambda p: np.sum(gs.stop_gradient(p)["b"] * p["b"]))(P)["b"], X)
    np.testing.assert_array_equal(gs.compile(gs.grad(f), verify="first calls")(X), X**2)
    assert gs.stop_gradient(X) is X
    assert gs.stop_gradient((1, "a", None)) == (1, "a", None)
    t = gs.tensor(X, requires_grad=True)
    assert not gs.stop_gradient(t).requires_grad


# check_grads ----------------------------------------------------------------------------------------


def test_right_derivatives_pass() -> None:
    gs.check_grads(tree, (P, 2.0), order=3)
    gs.check_grads(lambda z: np.exp(z) * np.conj(z), (Z,))
    gs.check_grads(lambda x, n: x**n, (X, 3))
    gs.check_grads(np.tanh, (X.astype(np.float32),))
    gs.check_grads(np.abs, (np.array([0.0, 1.0]),), order=1)  # at a kink
    gs.check_grads(np.sort, (X,), order=1, modes="forward")


FAULTS: dict[str, Callable[[Any, Any], Any]] = {
    "sign": lambda x, g: -3 * x**2 * g,
    "factor": lambda x, g: 3.003 * x**2 * g,
    "offset": lambda x, g: (3 * x**2 + 0.001) * g,
    "one element": lambda x, g: 3 * x**2 * g * np.array([1.0, 1.0, 1.001]),
    "second order alone": lambda x, g: 3 * gs.stop_gradient(x) ** 2 * g,
}


@pytest.mark.parametrize("modes", ["forward", "reverse", ("fwd", "rev")])
@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_derivatives_are_found(fault: str, modes: Any) -> None:
    @gs.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, g: (FAULTS[fault](x, g),))
    with pytest.raises(
        AssertionError, match=r"of `cube` are not those that finite differences give: (forward|reverse) mode"
    ):
        gs.check_grads(cube, (X,), modes=modes)
    if fault == "second order alone":
        gs.check_grads(cube, (X,), order=1, modes=modes)


def test_errors_of_check_grads() -> None:
    with pytest.raises(gs.DtypeError, match="nothing to differentiate"):
        gs.check_grads(lambda n: n, (3,))
    with pytest.raises(ValueError, match="one or both"):
        gs.check_grads(np.sin, (X,), modes="sideways")
    with pytest.raises(ValueError, match="order is 1 or more"):
        gs.check_grads(np.sin, (X,), order=0)


# Every transform of every transform -----------------------------------------------------------------

STACKED = np.array([X, V])


@gs.custom_jvp
def own(x: Any) -> Any:
    return np.sum(np.tanh(2.0 * x) ** 2 * x)


@own.defjvp
def _own(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    h = np.tanh(2.0 * x)
    return np.sum(h**2 * x), np.sum((4.0 * h * (1.0 - h**2) * x + h**2) * t)


TRANSFORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "plain": lambda f: f,
    "compile": lambda f: gs.compile(f, verify="first calls"),
    "grad": gs.grad,
    "vjp": lambda f: lambda x: gs.vjp(f, x)[1](2.0)[0],
    "jvp": lambda f: lambda x: gs.jvp(f, (x,), (V,))[1],
    "linearize": lambda f: lambda x: gs.linearize(f, x)[1](V),
    "jacrev": gs.jacrev,
    "jacfwd": gs.jacfwd,
    "jacobian": gs.jacobian,
    "hvp": lambda f: lambda x: gs.hvp(f)(x, V),
    "hessian": gs.hessian,
    "vmap": lambda f: lambda x: gs.vmap(f)(x * STACKED),
    "checkpoint": lambda f: lambda x: gs.checkpoint(f, x, use_reentrant=False),
}
PAIRS = [(outer, inner) for outer in TRANSFORMS for inner in TRANSFORMS]


def reference(x: Any) -> Any:
    return np.sum(np.tanh(2.0 * x) ** 2 * x)


def summed(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One number of what a transform gives, for the next to differentiate."""
    return lambda x: np.sum(f(x) ** 2)


def chained(names: tuple[str, str], f: Any) -> Any:
    outer, inner = names
    return TRANSFORMS[outer](f if inner == "plain" else summed(TRANSFORMS[inner](f)))


def of(outer: str, g: Callable[[Any], Any]) -> Any:
    """What a transform should give, from first and second derivatives by finite differences."""
    first = lambda x, v, h=1e-4: (8 * (g(x + h * v) - g(x - h * v)) - g(x + 2 * h * v) + g(x - 2 * h * v)) / (12 * h)
    slope = np.array([first(X, e) for e in np.eye(3)])
    if outer in ("hvp", "hessian"):
        h = 1e-3
        columns = [[(first(X + h * e, d) - first(X - h * e, d)) / (2 * h) for e in np.eye(3)] for d in np.eye(3)]
        return np.array(columns) @ V if outer == "hvp" else np.array(columns)
    if outer == "vmap":
        return np.array([g(x) for x in X * STACKED])
    return {
        "plain": g(X), "compile": g(X), "checkpoint": g(X), "grad": slope, "vjp": 2 * slope, "jvp": slope @ V,
        "linearize": slope @ V, "jacrev": slope, "jacfwd": slope, "jacobian": slope,
    }[outer]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=[" of ".join(pair) for pair in PAIRS])
def test_transforms_of_transforms(pair: tuple[str, str]) -> None:
    """Right, compiled with the same bits, and the same of a function with a forward mode of its own."""
    f = chained(pair, reference)
    eager = f(X)
    g = reference if pair[1] == "plain" else summed(TRANSFORMS[pair[1]](reference))
    expected = of(pair[0], g)
    assert np.shape(eager) == np.shape(expected)
    np.testing.assert_allclose(eager, expected, rtol=1e-4, atol=1e-4 * float(np.max(np.abs(expected))))
    np.testing.assert_allclose(chained(pair, own)(X), eager, rtol=1e-10, atol=1e-10)
    if "checkpoint" in pair:  # runs eagerly
        return
    compiled = gs.compile(f, verify="first calls")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), eager)
