"""Function under gs.grad and gs.compile: compiled is eager bit for bit, guards notice other methods, the rest runs eagerly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.5, 2.0])


class Cube(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: Any = 1.0) -> Any:
        ctx.save_for_backward(x)
        ctx.k = k
        squared = x * x
        return k * squared * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        slope = 3 * ctx.k * x * x
        return g * slope, None


class Split(gs.autograd.Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return np.exp(x), x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, output[0])

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y, e = ctx.saved_tensors
        return g * e + h * y, h * x


class Filling(gs.autograd.Function):
    """NumPy that does not dispatch: np.zeros to be written into, np.array of Tensors."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return np.array([x[0] * x[1], x[2]])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        out = np.zeros(3)
        out[0] = g[0] * x[1]
        out[1] = g[0] * x[0]
        out[2] = g[1]
        return out


class Once(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0

    @staticmethod
    @gs.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0


class Identity(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g


def cube(x: Any) -> Any:
    y = Cube.apply(x, 2.0)
    return np.sum(y**2)


def split(x: Any) -> Any:
    e, p = Split.apply(x, np.sin(x))
    return np.sum(e * p)


def unused(x: Any) -> Any:
    return np.sum(Split.apply(x, x)[1])


def filling(x: Any) -> Any:
    return np.sum(Filling.apply(x) ** 2)


def once(x: Any) -> Any:
    return np.sum(Once.apply(x))


def reversal(x: Any) -> Any:
    return np.sum(Identity.apply(x) * x)


apply_cube = Cube.apply


def by_its_method(x: Any) -> Any:
    return np.sum(apply_cube(x))


CASES = [cube, split, unused, filling, once, reversal, by_its_method]


def twice(f: Any) -> Any:
    return gs.grad(lambda x: np.sum(gs.grad(f)(x) ** 2))


@pytest.mark.parametrize(
    ("f", "transform"),
    [
        pytest.param(f, t, id=f"{f.__name__}-{name}")
        for f in CASES
        for name, t in (("value", lambda f: f), ("gradient", gs.grad), ("second", twice))
        if f is not once or t is not twice
    ],
)
def test_compiled_is_eager_bit_for_bit(f: Any, transform: Any) -> None:
    eager = transform(f)
    compiled = gs.compile(eager, verify="first calls")
    for x in (X, X + 1.0, X * 3.0):
        np.testing.assert_array_equal(compiled(x), eager(x))


@pytest.mark.parametrize("f", [c for c in CASES if c is not reversal], ids=lambda f: f.__name__)
def test_gradients_are_right(f: Any) -> None:
    steps = np.eye(3) * 1e-6
    numerical = [(f(X + d) - f(X - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(gs.grad(f)(X), numerical, rtol=1e-6)


def test_a_gradient_of_ones_own() -> None:
    np.testing.assert_array_equal(gs.grad(reversal)(X), X - X)


def test_second_derivatives() -> None:
    assert gs.grad(gs.grad(lambda x: Cube.apply(x)))(2.0) == 12.0


def test_the_source_has_the_users_lines_and_names() -> None:
    text = str(gs.source(gs.grad(cube), X))
    assert "slope = " in text
    assert "return g * slope, None" in text


class Changing(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0


def test_other_methods_are_noticed() -> None:
    def f(x: Any) -> Any:
        return np.sum(Changing.apply(x))

    value, gradient = gs.compile(f, verify="first calls"), gs.compile(gs.grad(f), verify="first calls")
    for x in (X, X + 1):
        assert value(x) == np.sum(x * 2.0)
        np.testing.assert_array_equal(gradient(x), [2.0] * 3)
    forward, backward = Changing.forward, Changing.backward
    try:
        Changing.forward = staticmethod(lambda ctx, x: x * 3.0)  # type: ignore[method-assign,assignment]
        Changing.backward = staticmethod(lambda ctx, g: g * 5.0)  # type: ignore[method-assign,assignment]
        assert value(X) == np.sum(X * 3.0)
        np.testing.assert_array_equal(gradient(X), [5.0] * 3)
    finally:
        Changing.forward, Changing.backward = staticmethod(forward), staticmethod(backward)  # type: ignore


class Stateful(gs.autograd.Function):
    scale = 2.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * Stateful.scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * Stateful.scale


def test_a_function_with_attributes_of_its_own_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        return np.sum(Stateful.apply(x))

    compiled = gs.compile(gs.grad(f))
    with pytest.warns(gs.EagerWarning, match="whose `scale` is the class's own"):
        np.testing.assert_array_equal(compiled(X), [2.0] * 3)


class Outside(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return np.asarray(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 7.0


def test_a_forward_that_leaves_the_tensors_runs_eagerly_and_keeps_its_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(Outside.apply(x))

    np.testing.assert_array_equal(gs.grad(f)(X), [7.0] * 3)
    compiled = gs.compile(gs.grad(f))
    with pytest.warns(gs.EagerWarning, match="plain array of a traced value"):
        np.testing.assert_array_equal(compiled(X), [7.0] * 3)


def test_on_plain_arrays_it_is_its_forward() -> None:
    found = Cube.apply(X, 2.0)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, 2.0 * (X * X) * X)
    assert Cube.apply(2.0) == 8.0


def test_once_differentiable_refuses_a_second_derivative_in_transforms() -> None:
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        twice(once)(X)


def test_writes_that_are_not_declared() -> None:
    class Writes(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x[0] = 7.0
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2.0

    with pytest.raises(gs.AutogradError, match=r"wrote into input 0, and does not say so by ctx.mark_dirty"):
        gs.grad(lambda x: np.sum(Writes.apply(x * 1.0)))(X)


def test_dirty_inputs_in_transforms() -> None:
    class Adds(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x += 1.0
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3.0

    def f(x: Any) -> Any:
        y = x * 2.0
        Adds.apply(y)
        return np.sum(y * y)

    np.testing.assert_array_equal(gs.grad(f)(X), 2 * (2 * X + 1) * 3 * 2)


def test_outputs_on_the_memory_of_an_input_cannot_be_written_in_transforms() -> None:
    def f(x: Any) -> Any:
        y = Identity.apply(x * 1.0)
        y[0] = 2.0
        return np.sum(y)

    with pytest.raises(gs.AutogradError, match="is a view and is being modified inplace"):
        gs.grad(f)(X)


def test_attributes_of_ctx_may_bear_any_name() -> None:
    names = ("shape", "dtype", "op", "saved", "plan", "edges", "seq", "meta", "label", "count", "inside", "extra")

    class Named(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            for name in names:
                setattr(ctx, name, x.shape)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert all(getattr(ctx, name) == (3,) for name in names)
            return g * 2.0

    x = gs.tensor(X, requires_grad=True)
    Named.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_an_array_is_a_gradient_too() -> None:
    class Plain(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return np.ones(3) * 4.0

    x = gs.tensor(X, requires_grad=True)
    Plain.apply(x).sum().backward()
    assert x.grad.tolist() == [4.0] * 3


def test_what_does_not_exist_yet_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"never called in gradscribe: gs.jvp"):
        Cube.jvp(None)
    with pytest.raises(NotImplementedError, match=r"under gs.vmap its forward"):
        Cube.vmap(None, None)
