"""Programs written for autograd, under gradscribe's names: they run as they are, and give what autograd gives."""

from __future__ import annotations

import importlib
import math
import pickle
from typing import Any

import numpy
import pytest

import gradscribe as gs
import gradscribe.compat.autograd as autograd
import gradscribe.compat.autograd.numpy as np
from gradscribe.compat.autograd import elementwise_grad, grad, hessian, jacobian, make_jvp, make_vjp, value_and_grad
from gradscribe.compat.autograd.extend import (
    defjvp,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)
from gradscribe.compat.autograd.misc import flatten, optimizers
from gradscribe.compat.autograd.test_util import check_equivalent, check_grads

from autograd_programs import PROGRAMS, library

OURS = "gradscribe.compat.autograd"
X = numpy.array([0.5, 1.0, 2.0])
HERE = {  # what each program gives first, as numbers that its mathematics says
    "logistic_regression": 4 * math.log(2), "rosenbrock": 1.0, "fixed_points": math.sqrt(2), "sinusoid_and_tanh": -1.0,
}  # fmt: skip


def leaves(tree: Any) -> list[Any]:
    """The numbers of a tree."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (list, tuple)) else [tree]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_and_gives_plain_arrays(name: str) -> None:
    found = leaves(PROGRAMS[name](library(OURS)))
    assert not any(isinstance(leaf, gs.Tensor) for leaf in found)
    assert all(numpy.all(numpy.isfinite(leaf)) for leaf in found)
    if name in HERE:
        numpy.testing.assert_allclose(numpy.ravel(found[0])[0], HERE[name], rtol=2e-4)


@pytest.mark.parity
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_autograd_gives(name: str) -> None:
    pytest.importorskip("autograd", reason="autograd, whose values and gradients these are compared with, is missing")
    ours, theirs = (leaves(PROGRAMS[name](library(lib))) for lib in (OURS, "autograd"))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert numpy.shape(a) == numpy.shape(b)
        numpy.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_numpy_and_scipy_are_the_drop_in_ones() -> None:
    assert np is gs.numpy
    assert importlib.import_module(f"{OURS}.scipy.stats") is gs.scipy.stats
    assert autograd.numpy is np
    assert autograd.scipy is gs.scipy


@pytest.mark.parametrize("name", autograd.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(autograd, name) is not None


@pytest.mark.parametrize("name", ["core", "differential_operators", "extend", "misc.optimizers", "test_util", "tracer"])
def test_every_module_has_what_it_lists(name: str) -> None:
    module = importlib.import_module(f"{OURS}.{name}")
    assert all(hasattr(module, listed) for listed in module.__all__)
    assert getattr(autograd, name.partition(".")[0]) is importlib.import_module(f"{OURS}.{name.partition('.')[0]}")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="const_graph"):
        autograd.const_graph


@pytest.mark.parametrize("operator", [grad, value_and_grad, hessian])
def test_operators_compile(operator: Any) -> None:
    made = operator(lambda x: np.sum(np.sin(x) * x))
    check_equivalent(gs.compile(made, verify="first calls")(X), made(X))
    assert "np.cos(x)" in made.source(X)


def test_compiled_gradients_keep_autograds_convention_of_complex_numbers() -> None:
    gradient = grad(lambda z: np.real(z * z * 1j))
    assert gradient(1 + 2j) == 2j * (1 + 2j)
    assert gs.compile(gradient, verify="first calls")(1 + 2j) == 2j * (1 + 2j)
    assert gs.grad(lambda z: np.real(z * z * 1j))(1 + 2j) == numpy.conj(2j * (1 + 2j))


def cube(x: Any) -> Any:
    return x**3


gradient_of_cube = grad(cube)


def test_operators_pickle() -> None:
    assert pickle.loads(pickle.dumps(autograd.make_hvp(cube)))(2.0)[0](1.0) == 12.0


def test_operators_nest_with_ours() -> None:
    assert gs.grad(grad(cube))(2.0) == grad(gs.grad(cube))(2.0) == 12.0
    numpy.testing.assert_allclose(gs.vmap(grad(cube))(X), 3 * X**2)


def test_argnum_may_be_a_tuple() -> None:
    f = lambda x, y: np.sum(x * y**2)
    assert [float(d) for d in grad(f, (0, 1))(2.0, 3.0)] == [9.0, 12.0]
    back, value = make_vjp(f, (0, 1))(2.0, 3.0)
    assert value == 18.0
    assert [float(d) for d in back(2.0)] == [18.0, 24.0]
    assert make_jvp(f, (0, 1))(2.0, 3.0)((1.0, 1.0)) == (18.0, 21.0)


def test_multigrad_dict_and_grad_named() -> None:
    f = lambda a, b=2.0, *, c=3.0: a * b * c
    assert autograd.multigrad_dict(f)(1.0, c=5.0) == {"a": 10.0, "b": 5.0, "c": 2.0}
    assert autograd.grad_named(f, "b")(1.0, 4.0) == 3.0


def test_elementwise_grad_of_complex_outputs_is_refused() -> None:
    with pytest.raises(TypeError, match="real-output"):
        elementwise_grad(lambda z: z**2)(numpy.array([1j]))
    with pytest.raises(TypeError, match="must be complex"):
        autograd.holomorphic_grad(np.sin)(1.0)


# primitives


@primitive
def opaque(x: Any, y: Any = 2.0, *, scale: float = 1.0) -> Any:
    assert not isinstance(x, gs.Tensor)
    assert not isinstance(y, gs.Tensor)
    return numpy.asarray(x) * y * scale


defvjp(
    opaque,
    lambda ans, x, y=2.0, scale=1.0: lambda g: g * y * scale,
    lambda ans, x, y=2.0, scale=1.0: lambda g: g * x * scale,
)


def test_a_primitive_sees_plain_arrays_and_has_every_order() -> None:
    assert opaque(3.0) == 6.0
    assert grad(opaque, 1)(3.0, 4.0, scale=5.0) == 15.0
    assert grad(grad(lambda x: opaque(x, x)))(3.0) == 2.0
    numpy.testing.assert_array_equal(hessian(lambda x: np.sum(opaque(x, x)))(X), 2 * numpy.eye(3))
    numpy.testing.assert_array_equal(jacobian(lambda x: opaque(x, x, scale=3.0))(X), 6 * numpy.diag(X))
    assert make_jvp(opaque)(3.0)(1.0) == (6.0, 2.0)
    check_grads(lambda x: opaque(np.sin(x), x))(X)


def test_a_primitive_runs_on_bare_tensors() -> None:
    t = gs.tensor(3.0, requires_grad=True)
    opaque(t, t).backward()
    assert t.grad.item() == 6.0


def test_a_primitive_runs_under_vmap() -> None:
    numpy.testing.assert_array_equal(gs.vmap(lambda x: opaque(x, x))(X), X**2)
    numpy.testing.assert_array_equal(gs.vmap(grad(lambda x: opaque(x, x)))(X), 2 * X)


def test_a_primitive_by_its_jvp_alone() -> None:
    @primitive
    def square(x: Any) -> Any:
        return x**2

    defjvp(square, lambda t, ans, x: 2 * x * t)
    assert grad(square)(3.0) == 6.0
    assert grad(grad(square))(3.0) == 2.0
    assert make_jvp(square)(3.0)(1.0) == (9.0, 6.0)


def test_a_linear_primitive() -> None:
    @primitive
    def doubled(x: Any) -> Any:
        return 2 * x

    defjvp(doubled, "same")
    assert make_jvp(doubled)(3.0)(1.5) == (6.0, 3.0)
    with pytest.raises(gs.NoRuleError, match="VJP of doubled"):
        grad(doubled)(3.0)


@pytest.mark.parametrize("at_once", [False, True])
def test_rules_for_all_arguments(at_once: bool) -> None:
    @primitive
    def product(*xs: Any) -> Any:
        return xs[0] * xs[1] * xs[2]

    def rest(k: int, args: Any) -> Any:
        return args[(k + 1) % 3] * args[(k + 2) % 3]

    if at_once:
        defvjp_argnums(product, lambda argnums, ans, args, kw: lambda g: tuple([g * rest(k, args) for k in argnums]))
    else:
        defvjp_argnum(product, lambda k, ans, args, kwargs: lambda g: g * rest(k, args))
    assert [float(d) for d in grad(product, (0, 2))(2.0, 3.0, 4.0)] == [12.0, 6.0]
    assert grad(lambda x: product(x, x, x))(2.0) == 12.0


def test_what_is_not_defined_is_named() -> None:
    @primitive
    def nothing(x: Any) -> Any:
        return x

    with pytest.raises(gs.NoRuleError, match=r"VJP of nothing wrt argnums \(0,\) not defined"):
        grad(nothing)(1.0)
    with pytest.raises(TypeError, match="decorated by @primitive"):
        defvjp(np.sin, lambda ans, x: lambda g: g)
    defvjp(nothing, None)
    assert grad(nothing)(1.0) == 0.0


def test_a_notrace_primitive_is_constant() -> None:
    @notrace_primitive
    def count(x: Any) -> Any:
        return float(len(x))

    numpy.testing.assert_array_equal(grad(lambda x: np.sum(x) * count(x))(X), [3.0, 3.0, 3.0])


# the rest


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_optimisers_go_down(name: str) -> None:
    start = {"a": X, "b": [1.0]}
    seen: list[int] = []
    down = getattr(optimizers, name)
    found = down(lambda p, i: {"a": 2 * p["a"], "b": [2 * p["b"][0]]}, start, lambda p, i, g: seen.append(i), 200, 0.1)
    assert seen == list(range(200))
    assert all(numpy.max(numpy.abs(leaf)) < 0.1 for leaf in leaves(found))


def test_flatten_is_differentiated() -> None:
    tree = {"b": [2.0, numpy.ones((2, 2))], "a": (3.0,)}
    vector, unflatten = flatten(tree)
    numpy.testing.assert_array_equal(vector, [3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    check_equivalent(unflatten(vector), tree)
    check_equivalent(grad(lambda tree: np.sum(flatten(tree)[0] ** 2))(tree), unflatten(2 * vector))


def test_getval_isbox_and_builtins() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.extend(
            [autograd.tracer.isbox(x), autograd.tracer.getval(x), autograd.builtins.isinstance(x, numpy.ndarray)]
        )
        return np.sum(autograd.builtins.tuple((x,))[0])

    grad(f)(X)
    assert seen[0] is True
    assert type(seen[1]) is numpy.ndarray
    assert seen[2] is True
    assert autograd.tracer.getval(1.0) == 1.0


def test_vspace() -> None:
    space = autograd.extend.vspace({"a": X, "b": 1.0})
    assert space.size == 4
    assert space == autograd.extend.vspace(space.ones())
    assert space != autograd.extend.vspace(X)
    assert space.inner_prod(space.ones(), space.scalar_mul(space.ones(), 2.0)) == 8.0
    check_equivalent(space.add(space.zeros(), space.ones()), space.ones())
    numpy.random.seed(0)
    assert space.randn()["a"].shape == autograd.extend.vspace(X).shape == (3,)


def test_check_grads_catches_a_wrong_rule() -> None:
    @primitive
    def wrong(x: Any) -> Any:
        return numpy.sin(x)

    defvjp(wrong, lambda ans, x: lambda g: g * np.sin(x))
    with pytest.raises(AssertionError, match="wrong"):
        check_grads(wrong, modes=["rev"], order=1)(X)
