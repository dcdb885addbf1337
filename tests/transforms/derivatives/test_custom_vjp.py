"""gs.custom_vjp: a derivative of one's own, eagerly, nested, compiled and on bare Tensors; its errors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X, Y = np.array([0.5, 1.5]), np.array([2.0, 3.0])


@gs.custom_vjp
def scaled_exp(x: Any, y: Any) -> Any:
    return np.exp(x) * y


def _fwd(x: Any, y: Any) -> Any:
    e = np.exp(x)
    return e * y, (e, y)


def _bwd(residuals: Any, g: Any) -> Any:
    e, y = residuals
    slope = e * y
    return g * slope, g * e


scaled_exp.defvjp(_fwd, _bwd)


def plain(x: Any, y: Any) -> Any:
    return np.exp(x) * y


def both(make: Any) -> tuple[Any, Any]:
    """What `make` makes of the function with its own derivative, and of the same one without."""
    return make(scaled_exp), make(plain)


@gs.custom_vjp
def lying(x: Any) -> Any:
    return x * 2.0


lying.defvjp(lambda x: (x * 2.0, None), lambda _, g: (g * 100.0,))


def test_without_differentiation_it_is_the_function() -> None:
    found = scaled_exp(X, Y)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, plain(X, Y))
    assert type(scaled_exp(0.0, y=2.0)) is np.float64


def test_the_rule_is_what_runs() -> None:
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(lying(x)))(X), [100.0, 100.0])
    np.testing.assert_array_equal(gs.vjp(lying, X)[1](np.array([1.0, 2.0]))[0], [100.0, 200.0])
    np.testing.assert_array_equal(gs.jacobian(lying)(X), [[100.0, 0.0], [0.0, 100.0]])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("argnum", [0, 1])
def test_any_order(order: int, argnum: int) -> None:
    def make(f: Any) -> Any:
        found = lambda x, y: np.sum(f(x * y, y) ** 2)
        for _ in range(order):
            found = gs.grad(found, argnum)
        return found

    f, g = both(make)
    np.testing.assert_allclose(f(0.5, 1.5), g(0.5, 1.5), rtol=1e-13)


def test_mixed_derivatives() -> None:
    f, g = both(lambda f: gs.grad(gs.grad(f, 1), 0))
    assert f(0.5, 2.0) == g(0.5, 2.0)


TRANSFORMS = {
    "value": lambda f: lambda x, y: np.sum(f(x, y) ** 2),
    "grad": lambda f: gs.grad(lambda x, y: np.sum(f(x, y) ** 2), (0, 1)),
    "grad of grad": lambda f: gs.grad(lambda x, y: np.sum(gs.grad(lambda u: np.sum(f(u, y) ** 2))(x) ** 2)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_compiled_is_eager_bit_for_bit(name: str) -> None:
    eager = TRANSFORMS[name](scaled_exp)
    compiled = gs.compile(eager, verify="first calls")
    for x in (X, X + 1, X * 3):
        np.testing.assert_array_equal(compiled(x, Y), eager(x, Y))


def test_the_source_has_the_users_lines_and_names() -> None:
    text = str(gs.source(gs.grad(lambda x, y: np.sum(np.sin(scaled_exp(x, y)))), X, Y))
    assert "e = np.exp(x)" in text
    assert "return g * slope, g * e" in text


@gs.custom_vjp
def replaced(x: Any) -> Any:
    return x * 1.0


def test_another_rule_is_noticed() -> None:
    replaced.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g * 2.0,))
    f = gs.compile(gs.grad(lambda x: np.sum(replaced(x))), verify="first calls")
    np.testing.assert_array_equal(f(X), [2.0, 2.0])
    replaced.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g * 3.0,))
    np.testing.assert_array_equal(f(X), [3.0, 3.0])


def test_gs_compile_of_the_function_itself() -> None:
    f = gs.compile(scaled_exp, verify="first calls")
    np.testing.assert_array_equal(f(X, Y), plain(X, Y))
    g = gs.compile(gs.grad(scaled_exp), verify="first calls")
    assert g(0.5, 2.0) == plain(0.5, 2.0)


def test_bare_tensors() -> None:
    x = gs.tensor(X, requires_grad=True)
    y = scaled_exp(x, Y)
    assert y.grad_fn.name() == "scaled_expBackward"
    (g,) = gs.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_array_equal(g.detach().numpy(), plain(X, Y))
    (h,) = gs.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), plain(X, Y))


def test_a_second_backward_and_a_write() -> None:
    x = gs.tensor(X, requires_grad=True)
    y = scaled_exp(x, Y)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.sum().backward()
    z = x * 1
    y = scaled_exp(z, Y)
    with gs.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_trees() -> None:
    @gs.custom_vjp
    def f(p: Any, xs: Any) -> Any:
        return {"a": p["w"] * xs[0], "b": (p["v"] + xs[1],)}

    f.defvjp(
        lambda p, xs: (f(p, xs), (p, xs)),
        lambda r, g: ({"w": g["a"] * r[1][0], "v": g["b"][0]}, [g["a"] * r[0]["w"], g["b"][0]]),
    )

    def loss(p: Any, xs: Any) -> Any:
        out = f(p, xs)
        return np.sum(out["a"]) + 2 * np.sum(out["b"][0])

    p, xs = gs.grad(loss, (0, 1))({"w": X, "v": Y}, [X, Y])
    np.testing.assert_array_equal(p["w"], X)
    np.testing.assert_array_equal(p["v"], [2.0, 2.0])
    np.testing.assert_array_equal(xs[0], X)


def test_outputs_without_a_cotangent_get_zeros() -> None:
    seen = []

    @gs.custom_vjp
    def f(x: Any) -> Any:
        return x * 1.0, x * 2.0

    f.defvjp(lambda x: (f(x), None), lambda _, g: (seen.append(np.array(g[1].tolist())), (g[0] + g[1],))[1])
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(f(x)[0]))(X), [1.0, 1.0])
    np.testing.assert_array_equal(seen, [[0.0, 0.0]])


def test_nondiff_argnums() -> None:
    @gs.custom_vjp(nondiff_argnums=(0,))
    def f(function: Any, x: Any) -> Any:
        return function(x)

    f.defvjp(lambda function, x: (function(x), x), lambda function, x, g: (g * function(x) * 10,))
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(f(np.sin, x)))(X), np.sin(X) * 10)
    with pytest.raises(RuntimeError, match="nondiff_argnums"):
        gs.grad(lambda x: f(x, x))(1.0)


def test_complex_follows_the_convention_of_vjp() -> None:
    @gs.custom_vjp
    def f(z: Any) -> Any:
        return z * z

    f.defvjp(lambda z: (z * z, z), lambda z, g: (g * np.conj(2 * z),))
    z, g = np.array([1 + 2j, 3 - 1j]), np.array([1j, 2 - 1j])
    np.testing.assert_array_equal(gs.vjp(f, z)[1](g)[0], gs.vjp(lambda z: z * z, z)[1](g)[0])


def test_none_is_zero() -> None:
    @gs.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, None))
    gx, gy = gs.grad(lambda x, y: np.sum(f(x, y)), (0, 1))(X, Y)
    np.testing.assert_array_equal(gx, Y)
    np.testing.assert_array_equal(gy, [0.0, 0.0])


def test_without_a_rule() -> None:
    @gs.custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    assert f(1.0) == 2.0
    with pytest.raises(gs.AutogradError, match=r"`f` is a gs.custom_vjp without a rule.*f.defvjp"):
        gs.grad(f)(1.0)
    with pytest.raises(TypeError, match="bwd is a int"):
        f.defvjp(lambda x: (x, None), 3)


@pytest.mark.parametrize(
    ("bwd", "error", "words"),
    [
        (lambda r, g: (g, g), gs.ShapeError, r"one cotangent for each argument \(1\), but gave 2"),
        (lambda r, g: g, TypeError, "a tuple of 1 cotangents, but gave Tensor"),
        (lambda r, g: (np.ones(3),), gs.ShapeError, r"has shape \(3,\), but its argument \(2,\)"),
        (lambda r, g: (np.sum(g),), gs.ShapeError, r"has shape \(\), but its argument \(2,\)"),
        (lambda r, g: ([g],), gs.ShapeError, "has the structure"),
        (lambda r, g: (g * 1j,), gs.DtypeError, "expected a real dtype"),
    ],
)
def test_wrong_cotangents(bwd: Any, error: Any, words: str) -> None:
    @gs.custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    f.defvjp(lambda x: (x * 2.0, None), bwd)
    with pytest.raises(error, match=words):
        gs.grad(lambda x: np.sum(f(x)))(X)


def test_a_fwd_without_residuals() -> None:
    @gs.custom_vjp
    def f(x: Any) -> Any:
        return x * 2.0

    f.defvjp(lambda x: x * 2.0, lambda r, g: (g,))
    with pytest.raises(TypeError, match=r"gives \(output, residuals\), but gave Tensor"):
        gs.grad(f)(1.0)


def test_it_pickles_by_name_and_by_parts() -> None:
    assert pickle.loads(pickle.dumps(scaled_exp)) is scaled_exp
    made = gs.custom_vjp(plain)
    made.defvjp(_fwd, _bwd)
    again = pickle.loads(pickle.dumps(made))
    assert gs.grad(again)(0.5, 2.0) == plain(0.5, 2.0)
