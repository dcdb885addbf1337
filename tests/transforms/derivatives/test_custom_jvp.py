"""gs.custom_jvp: a forward mode of one's own, reverse mode as its transpose, nested, batched and compiled; its errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X, Y = np.array([0.5, 1.5]), np.array([2.0, 3.0])
B = np.stack([X, 2 * X, -X])


@gs.custom_jvp
def scaled_exp(x: Any, y: Any) -> Any:
    return np.exp(x) * y


@scaled_exp.defjvp
def _moved(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    e = np.exp(x)
    return e * y, e * y * tx + e * ty


def plain(x: Any, y: Any) -> Any:
    return np.exp(x) * y


@gs.custom_jvp
def lying(x: Any) -> Any:
    return x * 2.0


lying.defjvp(lambda primals, tangents: (lying(*primals), 100.0 * tangents[0]))

WAYS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f(X, Y),
    "jvp": lambda f: gs.jvp(f, (X, Y), (Y, X)),
    "jvp along one": lambda f: gs.jvp(f, (X, Y), (None, X)),
    "vjp": lambda f: gs.vjp(f, X, Y)[1](Y),
    "grad": lambda f: gs.grad(lambda x, y: np.sum(f(x, y) ** 2), (0, 1))(X, Y),
    "hessian": lambda f: gs.hessian(lambda x, y: np.sum(f(x, y) ** 2), (0, 1))(X, Y),
    "forward over reverse": lambda f: gs.jacfwd(gs.grad(lambda x: np.sum(f(x, Y) ** 2)))(X),
    "reverse over forward": lambda f: gs.grad(lambda x: np.sum(gs.jvp(f, (x, Y), (X, x))[1]))(X),
    "forward over forward": lambda f: gs.jacfwd(gs.jacfwd(lambda x: f(x, Y)))(X),
    "third order": lambda f: gs.grad(gs.grad(gs.grad(lambda x: f(x, 2.0) ** 2)))(0.5),
    "linearize": lambda f: gs.linearize(f, X, Y)[1](Y, X),
    "vmap": lambda f: gs.vmap(f, in_axes=(0, None))(B, Y),
    "vmap of grad": lambda f: gs.vmap(gs.grad(lambda x, y: np.sum(f(x, y) ** 2)), in_axes=(0, None))(B, Y),
    "vmap of jvp": lambda f: gs.vmap(lambda x: gs.jvp(f, (x, Y), (x, None))[1])(B),
    "grad of vmap": lambda f: gs.grad(lambda y: np.sum(gs.vmap(f, in_axes=(0, None))(B, y) ** 2))(Y),
    "jvp of vmap": lambda f: gs.jvp(lambda x: gs.vmap(f, in_axes=(0, None))(x, Y), (B,), (B,))[1],
    "vmap of vmap of grad": lambda f: gs.vmap(gs.vmap(gs.grad(f), in_axes=(0, None)), in_axes=(0, 0))(B, Y[:1].repeat(3)),
    "checkpoint": lambda f: gs.grad(lambda x: np.sum(gs.checkpoint(f, x, Y, use_reentrant=False) ** 2))(X),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_right_rule_gives_what_the_function_gives(way: str) -> None:
    found, expected = WAYS[way](scaled_exp), WAYS[way](plain)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-13)


def test_the_rule_is_what_runs_in_both_modes() -> None:
    np.testing.assert_array_equal(gs.jvp(lying, (X,), (Y,))[1], 100.0 * Y)
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(lying(x)))(X), [100.0, 100.0])
    np.testing.assert_array_equal(gs.jacrev(lying)(X), 100.0 * np.eye(2))
    np.testing.assert_array_equal(gs.jacfwd(lying)(X), 100.0 * np.eye(2))
    assert type(lying(1.0)) is float


def test_argument_by_argument() -> None:
    @gs.custom_jvp(nondiff_argnums=(1,))
    def f(x: Any, n: Any, y: Any) -> Any:
        return x**n * y

    f.defjvps(lambda t, out, x, n, y: n * x ** (n - 1) * y * t, lambda t, out, x, n, y: x**n * t)
    gs.check_grads(lambda x, y: f(x, 3, y), (X, Y), order=3)
    f.defjvps(lambda t, out, x, n, y: 10.0 * t, None)
    gx, gy = gs.grad(lambda x, y: np.sum(f(x, 3, y)), (0, 1))(X, Y)
    np.testing.assert_array_equal(gx, [10.0, 10.0])
    np.testing.assert_array_equal(gy, [0.0, 0.0])
    f.defjvps(None)
    with pytest.raises(TypeError, match="1 functions for 2 arguments"):
        gs.grad(lambda x: np.sum(f(x, 3, Y)))(X)


def test_trees() -> None:
    @gs.custom_jvp
    def f(p: Any) -> Any:
        return {"a": p["x"] * 2, "b": (np.sum(p["x"]) * p["y"], 3)}

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (p,), (t,) = primals, tangents
        return f(p), {"a": t["x"] * 2, "b": (np.sum(t["x"]) * p["y"] + np.sum(p["x"]) * t["y"], None)}

    _, moved = gs.jvp(f, ({"x": X, "y": 2.0},), ({"x": Y, "y": 1.0},))
    np.testing.assert_array_equal(moved["a"], 2 * Y)
    assert moved["b"] == (12.0, 0)
    found = gs.grad(lambda p: np.sum(f(p)["a"]) + f(p)["b"][0])({"x": X, "y": 2.0})
    np.testing.assert_array_equal(found["x"], [4.0, 4.0])
    assert found["y"] == 2.0


def test_complex_tangents_are_the_derivative_itself() -> None:
    @gs.custom_jvp
    def f(z: Any) -> Any:
        return z * np.conj(z) * z

    f.defjvp(lambda p, t: (f(p[0]), 2 * p[0] * np.conj(p[0]) * t[0] + p[0] ** 2 * np.conj(t[0])))
    gs.check_grads(f, (np.array([1 + 2j, 3 - 1j]),))


def test_what_does_not_move_has_zeros() -> None:
    seen = []

    @gs.custom_jvp
    def f(x: Any, n: Any, w: Any) -> Any:
        return x * n * np.sum(w)

    def moved(primals: Any, tangents: Any) -> Any:
        seen.append([np.asarray(t.detach()).tolist() for t in tangents[1:]])
        return f(*primals), tangents[0] * primals[1] * np.sum(primals[2])

    f.defjvp(moved)
    gs.grad(lambda x: np.sum(f(x, 3, Y)))(X)
    assert seen == [[0.0, [0.0, 0.0]]]


@pytest.mark.parametrize("way", ["jvp", "grad", "hessian", "forward over reverse", "linearize", "vmap of grad"])
def test_compiled_is_eager_bit_for_bit(way: str) -> None:
    f = {
        "jvp": lambda x: gs.jvp(scaled_exp, (x, Y), (Y, x))[1],
        "grad": gs.grad(lambda x: np.sum(scaled_exp(x, Y) ** 2)),
        "hessian": gs.hessian(lambda x: np.sum(scaled_exp(x, Y) ** 2)),
        "forward over reverse": gs.jacfwd(gs.grad(lambda x: np.sum(scaled_exp(x, Y) ** 2))),
        "linearize": lambda x: gs.linearize(scaled_exp, x, Y)[1](Y, x),
        "vmap of grad": gs.vmap(gs.grad(lambda x: np.sum(scaled_exp(x, Y) ** 2))),
    }[way]
    x = B if way.startswith("vmap") else X
    compiled = gs.compile(f, verify="first calls")
    for given in (x, x + 1, x * 3):
        np.testing.assert_array_equal(compiled(given), f(given))


def test_the_source_has_the_lines_of_the_rule() -> None:
    text = str(gs.source(gs.grad(lambda x, y: np.sum(np.sin(scaled_exp(x, y)))), X, Y))
    assert "return e * y, e * y * tx + e * ty" in text


@gs.custom_jvp
def replaced(x: Any) -> Any:
    return x * 1.0


def test_another_rule_is_noticed() -> None:
    replaced.defjvp(lambda p, t: (replaced(*p), 2.0 * t[0]))
    f = gs.compile(gs.grad(lambda x: np.sum(replaced(x))), verify="first calls")
    np.testing.assert_array_equal(f(X), [2.0, 2.0])
    replaced.defjvp(lambda p, t: (replaced(*p), 3.0 * t[0]))
    np.testing.assert_array_equal(f(X), [3.0, 3.0])


def test_bare_tensors() -> None:
    x = gs.tensor(X, requires_grad=True)
    out = scaled_exp(x, Y)
    assert out.grad_fn.name() == "scaled_expBackward"
    (g,) = gs.autograd.grad(out.sum(), x, create_graph=True)
    (h,) = gs.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), plain(X, Y))
    out = scaled_exp(x, Y)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        out.sum().backward()
    z = x * 1
    out = scaled_exp(z, Y)
    with gs.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_it_pickles_by_name_and_by_parts() -> None:
    assert pickle.loads(pickle.dumps(scaled_exp)) is scaled_exp
    made = gs.custom_jvp(plain)
    made.defjvp(_moved)
    again = pickle.loads(pickle.dumps(made))
    assert gs.grad(again)(0.5, 2.0) == plain(0.5, 2.0)


def test_without_a_rule() -> None:
    @gs.custom_jvp
    def f(x: Any) -> Any:
        return x * 2.0

    assert f(1.0) == 2.0
    for call in (lambda: gs.grad(f)(1.0), lambda: gs.jvp(f, (1.0,), (1.0,))):
        with pytest.raises(
            gs.AutogradError, match=r"`f` is a gs.custom_jvp without a rule.*forward by f.defjvp\(jvp\)"
        ):
            call()
    with pytest.raises(TypeError, match="jvp is a int"):
        f.defjvp(3)
    with pytest.raises(TypeError, match="entry 0 is a int"):
        f.defjvps(3)


@pytest.mark.parametrize(
    ("jvp", "error", "words"),
    [
        (lambda p, t: t[0], TypeError, r"gives \(output, tangent of the output\), but gave Tensor"),
        (lambda p, t: (p[0], np.ones(3)), gs.ShapeError, r"gave has shape \(3,\), but its output \(2,\)"),
        (lambda p, t: (p[0], np.sum(t[0])), gs.ShapeError, r"gave has shape \(\), but its output \(2,\)"),
        (lambda p, t: (p[0], (t[0],)), gs.ShapeError, "has the structure"),
        (lambda p, t: (p[0], t[0] * 1j), gs.DtypeError, "take its real part"),
    ],
)
def test_wrong_tangents(jvp: Any, error: Any, words: str) -> None:
    @gs.custom_jvp
    def f(x: Any) -> Any:
        return x * 2.0

    f.defjvp(jvp)
    for call in (lambda: gs.grad(lambda x: np.sum(f(x)))(X), lambda: gs.jvp(f, (X,), (X,))):
        with pytest.raises(error, match=words):
            call()
