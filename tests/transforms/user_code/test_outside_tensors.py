"""A transform keeps the graph of the bare Tensors that its function reads without being passed them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

POINTS = np.array([1.0, 2.0])
MODULE: Any = None  # a Tensor that functions read as a global


@pytest.fixture
def x() -> Any:
    return gs.tensor(1.5, requires_grad=True)


@pytest.fixture
def module_tensor(x: Any) -> Iterator[Any]:
    global MODULE
    MODULE = x
    yield x
    MODULE = None


def total(*parts: Any) -> Any:
    """One number of all that a transform gave."""
    return functools.reduce(lambda a, b: a + b, [np.sum(p) for p in parts])


# For each transform: what it gives of functions of x and an argument, as one number; its value and its derivative at x = 1.5.
TRANSFORMS: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "grad": (lambda x: gs.grad(lambda y: x * x * y)(2.0), 2.25, 3.0),
    "grad by name": (lambda x: gs.grad(lambda a, y: x * x * y * a, argnums="y")(1.0, y=2.0), 2.25, 3.0),
    "grad of two arguments": (lambda x: total(*gs.grad(lambda a, y: x * a * y, argnums=(0, 1))(3.0, 2.0)), 7.5, 5.0),
    "grad of a dict": (lambda x: gs.grad(lambda p: x * p["a"] ** 2)({"a": 3.0})["a"], 9.0, 6.0),
    "grad of an array": (lambda x: total(gs.grad(lambda y: np.sum(x * y**2))(POINTS)), 9.0, 6.0),
    "grad with aux": (lambda x: total(*gs.grad(lambda y: (y * y, x * 2), has_aux=True)(2.0)), 7.0, 2.0),
    "grad with aux in a tree": (
        lambda x: gs.grad(lambda y: (y * y, {"deep": [x * y]}), has_aux=True)(2.0)[1]["deep"][0],
        3.0,
        2.0,
    ),
    "value_and_grad": (lambda x: total(*gs.value_and_grad(lambda y: x * y)(2.0)), 4.5, 3.0),
    "value_and_grad, of which only the value depends on it": (
        lambda x: total(*gs.value_and_grad(lambda y: x + y * y)(2.0)),
        9.5,
        1.0,
    ),
    "vjp": (lambda x: (lambda out, pull: out + pull(1.0)[0])(*gs.vjp(lambda y: x * y, 2.0)), 4.5, 3.0),
    "jvp": (lambda x: total(*gs.jvp(lambda y: x * y, (2.0,), (3.0,))), 7.5, 5.0),
    "linearize": (lambda x: (lambda out, push: out + push(3.0))(*gs.linearize(lambda y: x * y, 2.0)), 7.5, 5.0),
    "jacobian": (lambda x: total(gs.jacobian(lambda y: x * y * y)(POINTS)), 9.0, 6.0),
    "jacrev": (lambda x: total(gs.jacrev(lambda y: x * y * y)(POINTS)), 9.0, 6.0),
    "jacfwd": (lambda x: total(gs.jacfwd(lambda y: x * y * y)(POINTS)), 9.0, 6.0),
    "jacobian of a tree": (lambda x: total(*gs.jacobian(lambda y: {"a": x * y, "b": y})(2.0).values()), 2.5, 1.0),
    "hessian": (lambda x: total(gs.hessian(lambda y: np.sum(x * y**3))(POINTS)), 27.0, 18.0),
    "hvp": (lambda x: total(gs.hvp(lambda y: np.sum(x * y**3))(POINTS, np.ones(2))), 27.0, 18.0),
    "vmap": (lambda x: total(gs.vmap(lambda y: x * y)(POINTS)), 4.5, 3.0),
    "vmap of grad": (lambda x: total(gs.vmap(gs.grad(lambda y: x * y * y))(POINTS)), 9.0, 6.0),
    "vmap of value_and_grad": (lambda x: total(*gs.vmap(gs.value_and_grad(lambda y: x * y))(POINTS)), 7.5, 5.0),
    "grad of vmap": (lambda x: total(gs.grad(lambda v: np.sum(gs.vmap(lambda y: x * y * y)(v)))(POINTS)), 9.0, 6.0),
    "grad of grad": (lambda x: gs.grad(gs.grad(lambda y: x * y**3))(2.0), 18.0, 12.0),
    "jvp of grad": (lambda x: gs.jvp(gs.grad(lambda y: x * y**3), (2.0,), (1.0,))[1], 18.0, 12.0),
    "a custom_vjp beside it": (lambda x: gs.grad(lambda y: x * squared(y))(2.0), 6.0, 4.0),
    "a custom_jvp beside it": (lambda x: gs.grad(lambda y: x * cubed(y))(2.0), 18.0, 12.0),
    "a fixed point that is passed it": (
        lambda x: gs.grad(lambda y: gs.fixed_point(lambda z, a: 0.5 * (z + a / z), 1.0, x * y))(6.0),
        0.25,
        1 / 12,
    ),
    "a checkpoint that reads it": (lambda x: gs.grad(lambda y: gs.checkpoint(lambda a: x * a * a, y))(2.0), 6.0, 4.0),
}


@gs.custom_vjp
def squared(y: Any) -> Any:
    return y * y


squared.defvjp(lambda y: (y * y, y), lambda y, g: (2 * g * y,))


@gs.custom_jvp
def cubed(y: Any) -> Any:
    return y**3


cubed.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_gradient_flows_to_a_tensor_that_a_transformed_function_reads(name: str, x: Any) -> None:
    given, value, slope = TRANSFORMS[name]
    found = given(x)
    assert found.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), value, rtol=1e-6)
    (3.0 * found).backward()
    np.testing.assert_allclose(x.grad.numpy(), 3.0 * slope, rtol=1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_it_flows_through_the_graph_of_a_tensor_that_is_no_leaf(name: str, x: Any) -> None:
    given, _, slope = TRANSFORMS[name]
    outside = gs.tensor(0.75, requires_grad=True)
    given(outside * 2.0).backward()
    np.testing.assert_allclose(outside.grad.numpy(), 2.0 * slope, rtol=1e-6)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_without_grad_mode_no_graph_is_kept(name: str, x: Any) -> None:
    given, value, _ = TRANSFORMS[name]
    with gs.no_grad():
        found = given(x)
    assert not getattr(found, "requires_grad", False)
    np.testing.assert_allclose(np.asarray(found), value, rtol=1e-6)
    assert x.grad is None


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("outside", [1.5, np.float64(1.5), gs.tensor(1.5), gs.tensor(1.5, requires_grad=True).detach()])
def test_without_a_tensor_that_requires_grad_arrays_are_given(name: str, outside: Any) -> None:
    given, value, _ = TRANSFORMS[name]
    if name.startswith("vmap") or "aux" in name:
        outside = outside if not isinstance(outside, gs.Tensor) else float(outside)
    found = given(outside)
    assert not isinstance(found, gs.Tensor)
    np.testing.assert_allclose(found, value, rtol=1e-6)


# Where the Tensor stands -----------------------------------------------------------------------------


def reads_a_global(y: Any) -> Any:
    return MODULE * y * y


def helper(y: Any) -> Any:
    return reads_a_global(y) + 0.0


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, y: Any) -> Any:
        return self.weight * y * y

    def method(self, y: Any) -> Any:
        return self(y)

    @property
    def doubled(self) -> Any:
        return self.weight * 2.0


def _by_default(x: Any) -> Any:
    def of(y: Any, weight: Any = x) -> Any:
        return weight * y * y

    return of


def _by_keyword_default(x: Any) -> Any:
    def of(y: Any, *, weight: Any = x) -> Any:
        return weight * y * y

    return of


def _by_generator(x: Any) -> Any:
    def terms(y: Any) -> Any:
        yield x * y * y

    return lambda y: sum(terms(y))


PLACES: dict[str, Callable[[Any], Any]] = {
    "closure": lambda x: lambda y: x * y * y,
    "global": lambda x: reads_a_global,
    "global of a helper": lambda x: helper,
    "default argument": _by_default,
    "keyword-only default": _by_keyword_default,
    "list": lambda x: (lambda held: lambda y: held[0] * y * y)([x]),
    "dict": lambda x: (lambda held: lambda y: held["w"] * y * y)({"w": x}),
    "tuple in a list": lambda x: (lambda held: lambda y: held[0][1] * y * y)([(0, x)]),
    "attribute": lambda x: (lambda held: lambda y: held.w * y * y)(SimpleNamespace(w=x)),
    "callable object": Model,
    "method": lambda x: Model(x).method,
    "property": lambda x: (lambda m: lambda y: m.doubled * y * y / 2.0)(Model(x)),
    "partial": lambda x: functools.partial(lambda w, y: w * y * y, x),
    "partial by name": lambda x: functools.partial(lambda y, w: w * y * y, w=x),
    "lambda within": lambda x: lambda y: (lambda a: x * a * a)(y),
    "comprehension": lambda x: lambda y: sum([x * a * y for a in (y,)]),
    "generator": _by_generator,
    "written into an array": lambda x: lambda y: _stored(x, y),
    "branch": lambda x: lambda y: x * y * y if y > 0 else y,
    "loop": lambda x: lambda y: _looped(x, y),
    "of an array": lambda x: (lambda w: lambda y: w[0] * y * y)(np.stack([x, x])),
}


def _stored(x: Any, y: Any) -> Any:
    made = np.zeros(2)
    made[0] = x * y * y
    return np.sum(made)


def _looped(x: Any, y: Any) -> Any:
    total = 0.0
    for _ in range(4):
        total = total + x * y * y / 4
    return total


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("transform", [gs.grad, lambda f: lambda y: gs.vjp(f, y)[1](1.0)[0], gs.jacobian])
def test_it_is_found_wherever_it_stands(place: str, transform: Any, module_tensor: Any) -> None:
    found = transform(PLACES[place](module_tensor))(2.0)
    np.testing.assert_allclose(found.detach().numpy(), 6.0)
    found.backward()
    np.testing.assert_allclose(module_tensor.grad.numpy(), 4.0)


@pytest.mark.parametrize("place", PLACES)
def test_a_compiled_function_that_reads_it_keeps_its_gradient_too(place: str, module_tensor: Any) -> None:
    compiled = gs.compile(gs.grad(PLACES[place](module_tensor)))
    for k in range(3):
        with pytest.warns(gs.EagerWarning) if not k else _nothing():
            found = compiled(2.0 + k)
        module_tensor.grad = None
        found.backward()
        np.testing.assert_allclose(module_tensor.grad.numpy(), 2 * (2.0 + k))


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def test_the_issues_own_example(x: Any) -> None:
    y = x * gs.grad(lambda y: x * y)(2.0)
    y.backward()
    assert x.grad == 3.0


def test_two_tensors_and_a_passed_one(x: Any) -> None:
    other, given = gs.tensor(2.0, requires_grad=True), gs.tensor(3.0, requires_grad=True)
    gs.grad(lambda y: x * other * y * y)(given).backward()
    assert (x.grad, other.grad, given.grad) == (12.0, 9.0, 6.0)


def test_a_pullback_may_be_used_twice_and_its_graph_after_it(x: Any) -> None:
    _, pull = gs.vjp(lambda y: x * y * y, 2.0)
    first, second = pull(1.0)[0], pull(2.0)[0]
    with gs.no_grad():
        assert not getattr(pull(1.0)[0], "requires_grad", False)
    (first + second).backward()
    assert x.grad == 12.0


def test_what_is_cut_inside_gives_arrays(x: Any) -> None:
    def cut(y: Any) -> Any:
        with gs.no_grad():
            weight = x * 2.0
        return weight * y + gs.stop_gradient(x) * y + x.detach() * y

    found = gs.grad(cut)(2.0)
    assert (type(found), found) == (np.float64, 6.0)


def test_a_higher_derivative_of_the_outside_tensor(x: Any) -> None:
    slope = gs.grad(lambda y: x**3 * y)(2.0)
    (first,) = gs.autograd.grad(slope, x, create_graph=True)
    (second,) = gs.autograd.grad(first, x)
    assert (first.item(), second.item()) == (3 * 1.5**2, 6 * 1.5)


def test_a_training_loop_over_a_gradient_penalty() -> None:
    weight = gs.tensor(np.array([2.0, -1.0]), requires_grad=True)
    slope = gs.grad(lambda y: np.sum(weight * y) ** 2)
    for _ in range(200):
        penalty = np.sum((slope(POINTS) - np.array([6.0, 9.0])) ** 2)
        weight.grad = None
        penalty.backward()
        with gs.no_grad():
            weight.sub_(0.005 * weight.grad)
    assert float(penalty.detach()) < 1e-3


# Functions with a derivative of one's own ---------------------------------------------------------------


def own_vjp(weight: Any) -> Any:
    @gs.custom_vjp
    def scaled(y: Any) -> Any:
        return weight * y

    scaled.defvjp(lambda y: (weight * y, y), lambda y, g: (g * weight,))
    return scaled


def own_jvp(weight: Any) -> Any:
    @gs.custom_jvp
    def scaled(y: Any) -> Any:
        return weight * y

    scaled.defjvp(lambda primals, tangents: (weight * primals[0], weight * tangents[0]))
    return scaled


@pytest.mark.parametrize("own", [own_vjp, own_jvp])
def test_a_rule_of_ones_own_that_would_lose_the_gradient_raises(own: Any, x: Any) -> None:
    with pytest.raises(
        gs.GradientLossError, match=r"`scaled`, a gs.custom_(vjp|jvp), reads a value that requires grad"
    ):
        gs.grad(own(x))(2.0)
    with pytest.raises(gs.GradientLossError, match="Pass it to `scaled`"):
        gs.grad(lambda a: own(a)(a))(3.0)
    with pytest.raises(gs.GradientLossError, match="stop_gradient"):
        own(x)(gs.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize("own", [own_vjp, own_jvp])
def test_a_rule_of_ones_own_may_read_constants(own: Any, x: Any) -> None:
    assert gs.grad(own(gs.stop_gradient(x)))(2.0) == 1.5
    assert gs.grad(lambda a: own(gs.stop_gradient(a))(a))(3.0) == 3.0
    with gs.no_grad():
        assert gs.grad(own(1.5))(2.0) == 1.5


def test_a_rule_of_ones_own_may_differentiate_within() -> None:
    @gs.custom_vjp
    def slope(y: Any) -> Any:
        return gs.grad(lambda a: a**3)(y)

    def forward(y: Any) -> Any:
        assert not gs.is_grad_enabled()
        with gs.enable_grad():
            leaf = gs.tensor(2.0, requires_grad=True)
            kept = leaf * 3.0
        return slope(y) + 0.0 * kept, y

    slope.defvjp(forward, lambda y, g: (6.0 * g * y,))
    assert gs.grad(slope)(2.0) == 12.0


def test_a_fixed_point_that_would_lose_it_raises(x: Any) -> None:
    with pytest.raises(gs.AutogradError, match="reads a value that requires grad from outside"):
        gs.grad(lambda y: gs.fixed_point(lambda z, a: 0.5 * (z + a * x / z), 1.0, y))(2.0)


def test_a_leaf_that_the_function_makes_is_not_from_outside() -> None:
    def own(y: Any) -> Any:
        leaf = gs.tensor(2.0, requires_grad=True)
        return leaf * y * y

    for asked in (gs.grad(own), lambda y: gs.vjp(own, y)[1](1.0)[0], lambda y: gs.jvp(own, (y,), (1.0,))[1]):
        assert (type(asked(3.0)), asked(3.0)) == (np.float64, 12.0)


@pytest.mark.parametrize("own", ["custom_vjp", "Function"])
def test_a_tensor_that_a_backward_alone_reads_keeps_its_gradient(own: str) -> None:
    w, x = gs.tensor(3.0, requires_grad=True), gs.tensor(2.0, requires_grad=True)
    if own == "custom_vjp":

        @gs.custom_vjp
        def f(a: Any) -> Any:
            return a * a

        f.defvjp(lambda a: (a * a, a), lambda a, g: (g * a * w,))
    else:

        class Scaled(gs.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                ctx.save_for_backward(a)
                return a * a

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (a,) = ctx.saved_tensors
                return g * a * w

        f = lambda a: Scaled.apply(a)  # type: ignore[assignment]
    gradient = gs.grad(f)(2.0)
    (gradient * x).backward()
    assert (w.grad.item(), x.grad.item()) == (4.0, 6.0)
