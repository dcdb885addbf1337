"""gs.fixed_point: its value, its derivatives of every order, in every transform and compiled; its errors."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

from trips import held

Array = Any
rng = np.random.default_rng(0)
W, B, U = rng.normal(size=(3, 3)) * 0.2, rng.normal(size=3), rng.normal(size=3)


def heron(x: Array, a: Array) -> Array:
    return 0.5 * (x + a / x)


def root(a: Array) -> Array:
    return gs.fixed_point(heron, 1.0, a)


def layer(z: Array, w: Array, b: Array) -> Array:
    return np.tanh(w @ z + b)


def equilibrium(w: Array, b: Array) -> Array:
    """The state in which a recurrent layer comes to rest, squared and summed up."""
    return np.sum(gs.fixed_point(layer, np.zeros(3), w, b) ** 2)


def unrolled(w: Array, b: Array) -> Array:
    """The same by 60 plain steps, differentiated one by one."""
    z = np.zeros(3)
    for _ in range(60):
        z = layer(z, w, b)
    return np.sum(z**2)


def test_the_value_is_where_the_iteration_comes_to_rest() -> None:
    assert root(4.0) == 2.0
    z = gs.fixed_point(layer, np.zeros(3), W, B)
    assert type(z) is np.ndarray
    np.testing.assert_allclose(z, layer(z, W, B), rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_every_order_of_a_square_root(order: int) -> None:
    f, exact = root, 1.0
    for k in range(order):
        f, exact = gs.grad(f), exact * (0.5 - k)
    assert f(4.0) == pytest.approx(exact * 4.0 ** (0.5 - order), rel=1e-12)


TRANSFORMS: dict[str, Any] = {
    "grad": lambda f: gs.grad(f, (0, 1)),
    "grad of grad": lambda f: gs.grad(lambda w, b: np.sum(gs.grad(f)(w, b) ** 2), (0, 1)),
    "vjp": lambda f: lambda w, b: gs.vjp(f, w, b)[1](2.0),
    "jvp": lambda f: lambda w, b: gs.jvp(f, (w, b), (W + 1, B)),
    "jvp of grad": lambda f: lambda w, b: gs.jvp(gs.grad(f), (w, b), (W + 1, B)),
    "grad of jvp": lambda f: gs.grad(lambda w, b: gs.jvp(f, (w, b), (W + 1, B))[1], (0, 1)),
    "hvp": lambda f: lambda w, b: gs.hvp(f)(w, b, W),
    "hessian": lambda f: gs.hessian(f, 1),
    "jacobian": lambda f: gs.jacobian(f, (0, 1)),
    "vmap": lambda f: lambda w, b: gs.vmap(f, (None, 0))(w, np.stack([b, 2 * b, -b])),
    "vmap of grad": lambda f: lambda w, b: gs.vmap(gs.grad(f, (0, 1)), (None, 0))(w, np.stack([b, 2 * b])),
}


def _leaves(tree: Any) -> list[Any]:
    return [leaf for t in tree for leaf in _leaves(t)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_it_is_the_derivative_of_the_unrolled_loop(name: str) -> None:
    transform = TRANSFORMS[name]
    found, expected = _leaves(transform(equilibrium)(W, B)), _leaves(transform(unrolled)(W, B))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["value", "grad", "grad of grad", "jvp", "grad of jvp", "vmap of grad"])
def test_compiled_is_eager_bit_for_bit_from_one_capture(name: str) -> None:
    eager = equilibrium if name == "value" else TRANSFORMS[name](equilibrium)
    _, captures = held(eager, [lambda k=k: (W, B * k) for k in (1.0, 1.01, 0.1, 3.0)])
    assert captures == 1 or name == "vmap of grad"  # where it is unrolled


def test_the_source_has_one_loop_for_x_and_one_for_its_cotangent() -> None:
    compiled = gs.compile(equilibrium, verify="first calls")
    compiled(W, B)
    assert compiled.source(W, B).count("while ") == 1
    assert len(compiled.source(W, B).splitlines()) < 40


def test_no_convergence_compiled_is_the_same_error() -> None:
    def cosine(a: Array) -> Array:
        return gs.fixed_point(lambda x, a: np.cos(a * x), 0.5, a, max_iter=200)

    compiled = gs.compile(gs.grad(cosine), verify="first calls")
    for a in (0.5, 0.7):
        assert compiled(a) == gs.grad(cosine)(a)
    with pytest.raises(gs.ConvergenceError, match=r"x still moves by .* after 200 steps"):
        compiled(2.5)
    assert compiled(0.6) == gs.grad(cosine)(0.6)


def test_finite_differences_agree() -> None:
    def cosine(a: Array) -> Array:
        return gs.fixed_point(lambda x, a: np.cos(a * x), 0.5, a)

    for a in (0.3, 0.9, -0.5):
        slope = (cosine(a + 1e-5) - cosine(a - 1e-5)) / 2e-5
        assert gs.grad(cosine)(a) == pytest.approx(slope, rel=1e-8)
        curvature = (gs.grad(cosine)(a + 1e-5) - gs.grad(cosine)(a - 1e-5)) / 2e-5
        assert gs.grad(gs.grad(cosine))(a) == pytest.approx(curvature, rel=1e-8)


class State(NamedTuple):
    position: Array
    rest: Array


def test_trees_of_x_and_params() -> None:
    def step(s: State, p: Any) -> State:
        return State(np.cos(p["a"] * s.position), {"half": [0.5 * s.rest["half"][0] + p["b"][0]]})

    def total(p: Any) -> Array:
        s = gs.fixed_point(step, State(np.ones(2), {"half": [np.zeros(3)]}), {**p, "n": 3, "word": "a"})
        assert isinstance(s, State)
        return np.sum(s.position) + np.sum(s.rest["half"][0] ** 2)

    a, b = np.array([0.3, 0.7]), np.array([1.0, 2.0, 3.0])
    found = gs.grad(total)({"a": a, "b": (b,)})
    np.testing.assert_allclose(found["b"][0], 8 * b, rtol=1e-10)
    x = gs.fixed_point(lambda x, a: np.cos(a * x), np.ones(2), a)
    np.testing.assert_allclose(found["a"], -x * np.sin(a * x) / (1 + a * np.sin(a * x)), rtol=1e-10)


def test_the_start_has_no_gradient_and_integers_are_constants() -> None:
    def f(x0: Array, a: Array) -> Array:
        return gs.fixed_point(lambda x, a, n: 0.5 * (x + a / x ** (n - 1)), x0, a, 2)

    np.testing.assert_allclose(gs.grad(f, (0, 1))(1.0, 9.0), (0.0, 1 / 6), rtol=1e-12)


def test_the_cotangent_is_as_exact_however_small_it_is() -> None:
    big, small = gs.grad(equilibrium)(W, B), gs.grad(lambda w, b: 1e-200 * equilibrium(w, b))(W, B)
    np.testing.assert_allclose(small * 1e200, big, rtol=1e-11)


def test_float32_and_complex() -> None:
    def single(w: Array, b: Array) -> Array:
        return np.sum(gs.fixed_point(layer, np.zeros(3, np.float32), w, b) ** 2)

    found = gs.grad(single)(W.astype(np.float32), B.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, gs.grad(equilibrium)(W, B), rtol=1e-4, atol=1e-5)

    def square_root(a: Array) -> Array:
        return gs.fixed_point(heron, 1.0 + 1.0j, a)

    a = 3.0 + 4.0j
    (g,) = gs.vjp(square_root, a)[1](1.0 + 0.0j)
    assert g == pytest.approx(np.conj(0.5 / (2 + 1j)), rel=1e-12)


def test_bare_tensors() -> None:
    a = gs.tensor([4.0, 9.0], requires_grad=True)
    x = gs.fixed_point(heron, np.ones(2), a)
    assert "fixed_point" in repr(x)
    (g,) = gs.autograd.grad(x.sum(), a, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), [1 / 4, 1 / 6], rtol=1e-12)
    (h,) = gs.autograd.grad(g.sum(), a)
    np.testing.assert_allclose(h.numpy(), [-1 / 32, -1 / 108], rtol=1e-12)


def test_one_step_is_remembered() -> None:
    calls = []

    def counted(z: Array, w: Array, b: Array) -> Array:
        calls.append(None)
        return layer(z, w, b)

    def far(w: Array, b: Array) -> Array:
        return np.sum(gs.fixed_point(counted, np.zeros(3), w, b))

    far(W * 2, B)
    steps = len(calls)
    calls.clear()
    gs.grad(far)(W * 2, B)
    assert steps > 20
    assert len(calls) == steps + 2  # one for what x does to a step, one for what the parameters do


# Errors --------------------------------------------------------------------------------------------------------------


def test_no_convergence_says_how_far_after_how_many_steps() -> None:
    with pytest.raises(
        gs.ConvergenceError, match=r"`heron` has not converged: x still moves by [\d.e-]+ after 4 steps\."
    ):
        gs.fixed_point(heron, 1.0, 2.0 + 2.0, max_iter=4, tol=1e-9)
    with pytest.raises(gs.ConvergenceError, match=r"x is no longer finite after \d+ steps"):
        gs.grad(lambda a: gs.fixed_point(lambda x, a: x * x + a, 1.0, a))(4.0)
    with pytest.raises(gs.ConvergenceError, match="the cotangent of x still moves by"):
        gs.grad(lambda a: gs.fixed_point(lambda x, a: np.cos(a * x), 0.7390851332151607, a, max_iter=9))(1.0)
    with pytest.raises(gs.ConvergenceError) as caught:
        gs.fixed_point(lambda x: -x, 1.0)
    assert "test_fixed_point.py" in "".join(getattr(caught.value, "__notes__", ()))


def test_what_changes_shape_dtype_or_structure() -> None:
    with pytest.raises(gs.ShapeError, match=r"x has shape \(\), but `<lambda>` gave shape \(3,\)"):
        gs.fixed_point(lambda x, b: 0.5 * x + b, 0.0, B)
    with pytest.raises(gs.DtypeError, match=r"x is int64, but `<lambda>` gave float64"):
        gs.fixed_point(lambda x: 0.5 * x, np.array([1, 2]))
    with pytest.raises(gs.ShapeError, match="It must give what it takes"):
        gs.fixed_point(lambda x: (x, x), 1.0)
    with pytest.raises(TypeError, match="takes a function, not float"):
        gs.fixed_point(1.0, heron)


def test_what_is_read_from_outside_would_lose_its_gradient() -> None:
    @gs.grad
    def f(a: Array) -> Array:
        def step(x: Array) -> Array:
            return 0.5 * (x + a / x)

        return gs.fixed_point(step, 1.0)

    with pytest.raises(gs.AutogradError, match=r"`step` reads a value that requires grad from outside.*Pass it"):
        f(4.0)


def test_constants_may_be_read_from_outside() -> None:
    scale = np.array([0.5, 0.25])
    f = gs.grad(lambda a: np.sum(gs.fixed_point(lambda x, a: scale * np.sin(x) + a, np.zeros(2), a)))
    x = gs.fixed_point(lambda x: scale * np.sin(x) + B[:2], np.zeros(2))
    np.testing.assert_allclose(f(B[:2]), 1 / (1 - scale * np.cos(x)), rtol=1e-10)
    compiled = gs.compile(f, verify="first calls")
    assert difference(compiled(B[:2]), f(B[:2])) is None
    scale = np.array([0.5, -0.25])
    assert difference(compiled(B[:2]), f(B[:2])) is None


def test_plain_python_functions() -> None:
    assert gs.fixed_point(math.cos, 1.0) == pytest.approx(0.7390851332151607, rel=1e-11)


def test_what_a_later_step_reads_from_outside_is_not_lost() -> None:
    def f(k: Any) -> Any:
        return gs.fixed_point(lambda x, c: np.cos(k * c * x) if x < 1.5 else np.cos(c * x), 2.0, k)

    for slope in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError, match="reads a value that requires grad from outside"):
            slope(0.7)
    alone = lambda k: gs.fixed_point(lambda x: np.cos(k * x) if x < 1.5 else np.cos(x), 2.0)
    np.testing.assert_allclose(gs.grad(alone)(0.7), (alone(0.7 + 1e-5) - alone(0.7 - 1e-5)) / 2e-5, rtol=1e-8)
