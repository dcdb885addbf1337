"""gs.jvp: every rule in forward mode, nested derivatives, and jvp compiled."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from checks import SMOOTH, TWICE, Case, cases, compiled_problem, dtypes_of, every, fail_on, leaves, thinned, weights_for
from samples import Sample

X, V = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, -2.0])
W = np.arange(12.0).reshape(3, 4) / 10


class Result(NamedTuple):
    value: Any
    slope: Any


def layer(w: Any, x: Any) -> Any:
    return np.tanh(x @ w)


def energy(x: Any) -> Any:
    return np.sum(np.sin(x) * x**2 / (1 + np.exp(x)))


def paired(parts: list[Any]) -> float:
    return float(sum(np.sum(p) for p in parts))


def jvp_problem(case: Case, dtype: Any = np.float64) -> str | None:
    """What the vector-Jacobian product says against the Jacobian-vector product: one inner product, two ways."""
    rng = case.generator("jvp")
    xs = case.sample.draw(rng, case.shapes, dtype)
    vs = [weights_for(rng, x) for x in xs]
    f = case.function()
    value, tangent = gs.jvp(f, [x.copy() for x in xs], vs)
    outs, moved = leaves(value), leaves(tangent)
    for out, t in zip(outs, moved, strict=True):
        a, b = np.asarray(out), np.asarray(t)
        if isinstance(out, np.ndarray) is not isinstance(t, np.ndarray) or (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"a tangent {b.dtype}{b.shape} of a result {a.dtype}{a.shape}"
    ws = [weights_for(rng, out) for out in outs]
    cotangent = ws[0] if not isinstance(value, (tuple, list)) else type(value)(ws)
    if hasattr(value, "_fields"):
        cotangent = type(value)(*ws)
    grads = gs.vjp(f, *[x.copy() for x in xs])[1](cotangent)
    left = [np.real(np.conj(w) * t) for w, t in zip(ws, moved, strict=True)]
    right = [np.real(np.conj(g) * v) for g, v in zip(grads, vs, strict=True)]
    found, expected = paired(left), paired(right)
    scale = paired([np.abs(p) for p in [*left, *right]])
    return None if abs(found - expected) <= 1e-11 * scale + 1e-13 else f"jvp gives {found:.15g}, vjp {expected:.15g}"


def second_problem(case: Case) -> str | None:
    """What forward over reverse says against reverse over forward, of one loss."""
    rng = case.generator("jvp2")
    xs = case.sample.draw(rng, case.shapes, np.float64)
    if not xs:
        return None
    out = case.function()(*[x.copy() for x in xs])
    loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(rng, out)
    vs, us = [weights_for(rng, x) for x in xs], [weights_for(rng, x) for x in xs]
    every_one = tuple(range(len(xs)))
    f = lambda *a: loss(*a, w)
    pushed = gs.jvp(gs.grad(f, argnums=every_one), xs, vs)[1]
    pulled = gs.grad(lambda *a: gs.jvp(f, a, vs)[1], argnums=every_one)(*xs)
    twice = gs.jvp(lambda *a: gs.jvp(f, a, vs)[1], xs, us)[1]
    products = [[p * u for p, u in zip(parts, us, strict=True)] for parts in (pushed, pulled)]
    found, expected = (paired(p) for p in products)
    allowed = 1e-8 * paired([np.abs(p) for p in [*products[0], *products[1]]]) + 1e-9
    if not abs(found - expected) <= allowed or not abs(twice - found) <= allowed:
        return f"jvp of grad {found:.12g}, grad of jvp {expected:.12g}, jvp of jvp {twice:.12g}"
    return None


def along(f: Any, n: int) -> Any:
    return lambda *a: gs.jvp(f, a[:n], a[n:])[1]


@every(SMOOTH)
def test_forward_mode_agrees_with_reverse_mode(samples: list[Sample]) -> None:
    fail_on([(c, np.dtype(d).name, jvp_problem(c, d)) for c in cases(samples) for d in dtypes_of(c)])


@every(TWICE)
def test_second_derivatives_agree_in_every_order_of_modes(samples: list[Sample]) -> None:
    fail_on([(c, "", second_problem(c)) for c in thinned(cases(samples))])


@every(SMOOTH)
def test_compiled_forward_mode_has_the_bits_of_the_eager_one(samples: list[Sample]) -> None:
    problems = []
    for case in list(thinned(cases(samples), part=1000))[:2]:
        xs = case.sample.draw(case.generator("jvp3"), case.shapes, np.float64)
        vs = [weights_for(case.generator("v"), x) for x in xs]
        problems.append((case, "", compiled_problem(along(case.function(), len(xs)), [[*xs, *vs]])))
    fail_on(problems)


def test_the_slope_is_that_of_finite_differences() -> None:
    value, tangent = gs.jvp(layer, (W, X), (W / 3, V))
    step = 1e-6
    ends = [layer(W + h * W / 3, X + h * V) for h in (step, -step)]
    np.testing.assert_array_equal(value, layer(W, X))
    np.testing.assert_allclose(tangent, (ends[0] - ends[1]) / (2 * step), rtol=1e-8)


@pytest.mark.parametrize(
    "function", [lambda x: float(np.float32(x)) * 2.0, lambda x: abs(complex(x, x**2)) ** 2], ids=["float32", "complex"]
)
def test_a_tangent_that_is_a_number_in_the_code_is_cast_as_its_argument_is(function: Any) -> None:
    def slope(x: Any) -> Any:
        return gs.jvp(function, (x,), (0.5,))[1]

    compiled = gs.compile(slope)
    for x in (1.3, 0.6):
        assert compiled(x) == slope(x)


def test_perturbations_are_not_confused() -> None:
    assert gs.grad(lambda x: x * gs.jvp(lambda y: x + y, (1.0,), (1.0,))[1])(3.0) == 1.0
    assert gs.jvp(lambda x: x * gs.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (3.0,), (1.0,)) == (3.0, 1.0)
    assert gs.jvp(lambda x: x * gs.grad(lambda y: x * y)(1.0), (3.0,), (1.0,)) == (9.0, 6.0)
    assert gs.jvp(lambda x: x * gs.jvp(lambda y: x * y, (x,), (1.0,))[1], (3.0,), (1.0,)) == (9.0, 6.0)
    assert gs.jvp(lambda x: gs.jvp(lambda y: x * y * y, (x,), (x,))[1], (3.0,), (1.0,)) == (54.0, 54.0)


def test_every_order() -> None:
    f = np.sin
    for expected in (np.cos(0.5), -np.sin(0.5), -np.cos(0.5), np.sin(0.5)):
        f = (lambda g: lambda x: gs.jvp(g, (x,), (1.0,))[1])(f)
        assert f(0.5) == pytest.approx(expected, rel=1e-14)


def test_it_is_linear_in_the_tangent_and_differentiated_in_it() -> None:
    found = gs.grad(lambda v: np.sum(gs.jvp(layer, (W, X), (0 * W, v))[1]))(V)
    np.testing.assert_allclose(found, gs.grad(lambda x: np.sum(layer(W, x)))(X), rtol=1e-14)


def test_trees_of_arguments_and_results() -> None:
    f = lambda p, s: {"y": p["a"] * s, "z": (np.sum(p["b"][0]), 7), "pair": Result(p["a"][0], s)}
    p = {"a": X, "b": [W]}
    value, tangent = gs.jvp(f, (p, 2.0), ({"a": V, "b": [W]}, 1.0))
    np.testing.assert_array_equal(tangent["y"], 2.0 * V + X)
    assert (tangent["z"], tangent["pair"]) == ((np.sum(W), 0), Result(V[0], 1.0))
    assert isinstance(value["pair"], Result)


def test_an_argument_without_a_tangent_stays() -> None:
    f = lambda x, n, y: x**n * y
    _, tangent = gs.jvp(f, (X, 3, X), (V, None, None))
    np.testing.assert_allclose(tangent, 3 * X**2 * X * V)
    np.testing.assert_array_equal(gs.jvp(f, (X, 3, X), (None, None, None))[1], [0.0, 0.0, 0.0])


def test_results_are_the_callers_own() -> None:
    value, tangent = gs.jvp(lambda x: x, (X,), (V,))
    assert value is X
    assert not np.shares_memory(tangent, V)
    x = X.copy()

    def doubled(x: Any) -> Any:
        x *= 2.0
        return x * x

    np.testing.assert_array_equal(gs.jvp(doubled, (x,), (V,))[1], 8 * X * V)
    np.testing.assert_array_equal(x, 2 * X)


def test_complex_tangents_are_the_derivative_itself() -> None:
    z, dz = np.array([1 + 2j, -0.5j]), np.array([0.3 - 1j, 2.0 + 0j])
    np.testing.assert_allclose(gs.jvp(np.exp, (z,), (dz,))[1], np.exp(z) * dz, rtol=1e-15)
    np.testing.assert_array_equal(gs.jvp(np.conj, (z,), (dz,))[1], np.conj(dz))
    step = 1e-6
    for f in (np.sign, np.abs, np.angle, np.real, lambda z: z / np.abs(z), lambda z: np.conj(z) * z**2):
        expected = (f(z + step * dz) - f(z - step * dz)) / (2 * step)
        np.testing.assert_allclose(gs.jvp(f, (z,), (dz,))[1], expected, rtol=1e-8, atol=1e-9)


def test_float32_stays() -> None:
    value, tangent = gs.jvp(energy, (X.astype(np.float32),), (V,))
    assert value.dtype == tangent.dtype == np.float32


def test_custom_vjps_functions_and_checkpoints_go_forward() -> None:
    @gs.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, g: (30.0 * x**2 * g,))

    class Double(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 20 * g

    np.testing.assert_array_equal(gs.jvp(cube, (X,), (V,))[1], 30 * X**2 * V)
    np.testing.assert_array_equal(gs.jvp(Double.apply, (X,), (V,))[1], 20 * V)
    kept = lambda x: gs.checkpoint(energy, x, use_reentrant=False)
    assert gs.jvp(kept, (X,), (V,))[1] == gs.jvp(energy, (X,), (V,))[1]


def test_under_vmap_the_rows_are_those_of_a_jacobian() -> None:
    rows = gs.vmap(lambda v: gs.jvp(layer, (W, X), (None, v))[1])(np.eye(3))
    assert type(rows) is np.ndarray
    np.testing.assert_allclose(rows.T, gs.jacobian(layer, argnums=1)(W, X), rtol=1e-13)
    each = gs.vmap(lambda x, v: gs.jvp(energy, (x,), (v,))[1])(W.T, W.T)
    np.testing.assert_allclose(each, [gs.jvp(energy, (x,), (x,))[1] for x in W.T], rtol=1e-13)


def test_eager_tensors() -> None:
    x = gs.tensor([1.0, 2.0], requires_grad=True)
    _, tangent = gs.jvp(lambda x: x**3, (x,), (gs.tensor([1.0, 1.0]),))
    tangent.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_compiled() -> None:
    compiled = gs.compile(lambda w, x, v: gs.jvp(layer, (w, x), (None, v)), verify="first calls")
    for _ in range(2):
        found, expected = compiled(W, X, V), gs.jvp(layer, (W, X), (None, V))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    text = gs.source(compiled, W, X, V)
    assert "# tangents" in text
    code = [line.split("#")[0] for line in text.splitlines()]
    assert "".join(code).count("@") == 2  # as a person would write it


def test_errors() -> None:
    for primals, tangents, error, words in (
        ((X,), (V, V), gs.ShapeError, "1 primals, but 2 tangents"),
        (X, (V,), TypeError, "primals as a tuple"),
        ((X,), V, TypeError, "tangents as a tuple"),
        ((X,), (V[:2],), gs.ShapeError, "the argument has (3,), but its tangent has (2,)"),
        ((X,), (V + 1j,), gs.DtypeError, "dtype float64 is like it, not of dtype complex128"),
        (({"a": X},), (V,), gs.ShapeError, "has the structure of its argument"),
        ((np.array([1, 2]),), (np.array([1, 2]),), gs.DtypeError, "floating point"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            gs.jvp(lambda x: x, primals, tangents)


def test_a_plain_number_is_a_tangent_of_a_float32_number() -> None:
    for compiled in (False, True):
        f = lambda t: gs.jvp(lambda s: s * t, (t,), (1.0,))[1]
        run = gs.compile(f) if compiled else f
        assert repr(run(np.float32(0.4))) == "np.float32(0.4)"
        assert repr(gs.grad(run)(np.float32(0.4))) == "np.float32(1.0)"
