"""Functions of users that are ops, in generated source: called by their names, which the source imports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


@gs.rule(x=lambda g, x: g * 3 * x**2)
def cube(x: Any) -> Any:
    """A loop that gradscribe does not see into."""
    return np.array([v * v * v for v in np.ravel(x)]).reshape(np.shape(x))


@gs.rule(gs.Kind.elementwise, x=lambda g, x: g)
def same(x: Any) -> Any:
    """Its argument itself, so that what is written into the result is written into that."""
    return x


def scaled(x: Any, k: float = 2.0) -> Any:
    """One with an option, under its own name in the module: `gs.rule` gives another function back."""
    return np.array([math.sin(v) * k for v in x])


gs.rule(scaled, x=lambda g, x, k: g * k * np.cos(x), k=None)


@gs.rule(x=lambda g, x_shape, type: np.broadcast_to(g, x_shape) * type, type=None)
def of_type(x: Any, type: float = 2.0) -> Any:
    """One whose parameter bears the name of a built-in function, which what is compiled for an op calls."""
    return np.sum(x) * type


def test_a_parameter_may_bear_the_name_of_a_built_in_function() -> None:
    f = lambda x: of_type(x, type=3.0) + of_type(x)
    np.testing.assert_array_equal(gs.grad(f)(np.ones(3)), 5.0)
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(np.ones(3)), 5.0)


def parts(x: Any) -> Any:
    """Two results."""
    return np.sum(x), x * 2


def _of_parts(g: Any, x: Any) -> Any:
    zero = np.zeros_like(x)
    return (zero if g[0] is None else g[0] + zero) + (zero if g[1] is None else 2 * g[1])


gs.op(parts, "x", n_out=2)
gs.rule(parts, x=_of_parts)


@gs.rule(x=None)
def distinct(x: Any) -> Any:
    """One whose lengths follow from values, which nobody has stated."""
    return np.unique(np.round(x))


def test_a_length_that_is_none_of_the_arguments_is_never_taken_for_another() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * x) * (2.0 if 3.5 < len(distinct(x)) else 3.0)  # noqa: SIM300  # a float asks no int

    compiled = gs.compile(gs.grad(f))
    for row in ([1, 2, 2, 3, 3], [1, 1, 4, 5, 5], [1, 2, 3, 4, 4], [1, 7, 3, 4, 4], [1, 1, 1, 5, 4], [0, 7, 3, 4, 4]):
        np.testing.assert_array_equal(compiled(1.0 * np.array(row)), gs.grad(f)(1.0 * np.array(row)))


def in_a_loop(x: Any) -> Any:
    y = x
    for _ in range(4):
        y = cube(y) * 0.1 + x
    return np.sum(y)


def while_it_is_large(x: Any) -> Any:
    y = x
    while np.sum(y**2) > 0.5:
        y = cube(np.tanh(y)) * 0.9
    return np.sum(y)


def written_beside(x: Any) -> Any:
    y = same(x * 2.0)
    z = y * 1.0
    y += 1.0
    return np.sum(y * z * same(y))


def written_itself(x: Any) -> Any:
    y = same(x)
    y += 1.0
    return np.sum(x * y)


def with_an_option(x: Any) -> Any:
    return np.sum(scaled(x, 3.0) * scaled(x))


def of_two_results(x: Any) -> Any:
    a, b = parts(x)
    return a * np.sum(b)


@gs.rule(gs.Kind.elementwise, x=lambda g: 3 * g, y=lambda g: g)
def sub(x: Any, y: Any) -> Any:
    """Under a name of NumPy's: of no `y` it is not `x`."""
    return np.asarray(x) * 3.0 + y


def under_a_name_of_numpys(x: Any) -> Any:
    return np.sum(sub(x, 0.0) ** 2)


X = np.array([0.7, -0.3, 0.9])


@pytest.mark.parametrize(
    "f", [in_a_loop, while_it_is_large, written_beside, written_itself, with_an_option, of_two_results]
)
@pytest.mark.parametrize("wrap", [lambda f: f, gs.value_and_grad, lambda f: lambda x: gs.jvp(f, (x,), (np.cos(x),))])
def test_compiled_is_eager(f: Callable[..., Any], wrap: Callable[..., Any]) -> None:
    plain = wrap(f)
    compiled = gs.compile(plain, verify="first calls")
    for k in range(3):
        x = X * (1 + 0.1 * k)
        found, expected = compiled(x.copy()), plain(x.copy())
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
            np.testing.assert_array_equal(a, b)
    assert "_op(" in compiled.source(X)


def test_an_op_under_a_name_of_numpys_is_not_numpys() -> None:
    compiled = gs.compile(gs.grad(under_a_name_of_numpys), verify="first calls")
    np.testing.assert_array_equal(compiled(X), gs.grad(under_a_name_of_numpys)(X))
    assert "sub_op(x, 0.0)" in compiled.source(X)


def test_a_result_that_is_the_argument_shows_its_memory() -> None:
    value, slope = gs.value_and_grad(written_itself)(X.copy())
    assert value == written_itself(X.copy()) == np.sum((X + 1) ** 2)
    np.testing.assert_array_equal(slope, 2 * (X + 1))


def test_the_source_imports_the_function() -> None:
    text = gs.compile(gs.grad(in_a_loop)).source(X)
    assert f"from {__name__} import cube as cube_op" in text
    assert "y = cube_op(y) * 0.1 + x" in text


def test_a_parameter_of_the_same_name() -> None:
    def f(cube: Any) -> Any:
        return np.sum(same(cube) * cube)

    np.testing.assert_array_equal(gs.compile(gs.grad(f), verify="first calls")(X), 2 * X)


def test_a_function_that_no_module_has_runs_eagerly() -> None:
    @gs.rule(x=lambda g: 2 * g)
    def doubled(x: Any) -> Any:
        return 2 * x

    with pytest.warns(gs.EagerWarning, match="calls doubled, an op of yours that no module has under that name"):
        np.testing.assert_array_equal(gs.compile(gs.grad(lambda x: np.sum(doubled(x))))(X), np.full(3, 2.0))


def test_it_is_not_exported() -> None:
    with pytest.raises(gs.CompileError, match="because it calls `cube`, an op of yours"):
        gs.export(in_a_loop, X)


def test_a_function_without_a_module_may_have_the_name_of_an_op_of_ours() -> None:
    space: dict[str, Any] = {}
    exec("def size(x):\n    return (x * x).sum()\n", space)
    total = gs.rule(space["size"], x=lambda g, x: 2 * g * x)
    f = lambda x: np.sum(x[1:] * x[:-1]) / x.size
    for x in (np.arange(4.0), np.arange(7.0)):
        np.testing.assert_array_equal(gs.compile(gs.grad(f), verify="first calls")(x), gs.grad(f)(x))
        np.testing.assert_array_equal(gs.grad(lambda x: total(x) * x.size)(x), 2 * x * x.size)
    assert "_hessian(" in gs.export(f, np.arange(4.0), hessian=True)
