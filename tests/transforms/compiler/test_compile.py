"""gs.compile: one run of the user's function per capture, then generated source with eager's results, types and errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from programs import runs_of

X = np.array([0.5, -1.25, 2.0])


def identity(function: Any) -> Any:
    return function


def cubes(x):
    return np.sum(x**3 + np.sin(x))


def test_the_function_runs_once_for_a_capture_and_once_for_the_check_of_other_inputs() -> None:
    compiled = gs.compile(gs.value_and_grad(cubes), verify="first calls")
    with runs_of(cubes) as count:
        compiled(X)
        assert count == [1]
        compiled(X)  # the same inputs: nothing new to check
        assert count == [1]
        compiled(X * 2)  # the first that differ: both ways
        assert count == [2]
        for k in range(5):
            compiled(X * k)
    assert count == [2]


@pytest.mark.parametrize("transform", [identity, gs.grad, gs.value_and_grad])
def test_results_are_eager_ones(transform: Any) -> None:
    plain, compiled = transform(cubes), gs.compile(transform(cubes), verify="first calls")
    values = [
        X,
        X.astype(np.float32),
        np.ones((2, 3)),
        np.asfortranarray(np.ones((2, 3))),
        np.float64(2),
        np.float32(2),
        2.0,
    ]
    for x in values:
        for scale in (1, 3):
            given = x * scale if not isinstance(x, np.float32) else np.float32(x * scale)
            for found, expected in zip(_leaves(compiled(given)), _leaves(plain(given)), strict=True):
                assert type(found) is type(expected)
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected, strict=True)


def _leaves(tree: Any) -> list[Any]:
    return [leaf for t in tree for leaf in _leaves(t)] if isinstance(tree, (tuple, list)) else [tree]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_higher_orders(order: int) -> None:
    function: Any = lambda x: np.sin(x) * x**3
    for _ in range(order):
        function = gs.grad(function)
    compiled = gs.compile(function, verify="first calls")
    for x in (0.3, -2.0, 1.7):
        assert compiled(x) == function(x)


def test_a_gradient_inside_the_compiled_function() -> None:
    def step(w: Any, rate: float) -> Any:
        value, slope = gs.value_and_grad(cubes)(w)
        return w - rate * slope, value

    compiled = gs.compile(step, verify="first calls")
    w = v = X
    for k in range(5):
        (w, a), (v, b) = compiled(w, 0.1 / (k + 1)), step(v, 0.1 / (k + 1))
        np.testing.assert_array_equal(w, v)
        assert a == b


def test_a_compiled_function_inside_a_gradient() -> None:
    inner = gs.compile(cubes)
    inner(X)
    np.testing.assert_array_equal(gs.grad(lambda x: inner(x) * 2)(X), gs.grad(lambda x: cubes(x) * 2)(X))


@dataclass
class Layer:
    w: Any
    b: Any


class Pair(NamedTuple):
    first: Any
    second: Any


def test_trees_go_in_and_come_out() -> None:
    def loss(layers: Any, rest: Any, *, scale: float = 1.0) -> Any:
        total = sum([np.sum(layer.w * rest["x"]) + layer.b for layer in layers], 0.0)
        return total**2 * scale, {"pair": Pair(total, [rest["x"] * 2])}

    plain = gs.value_and_grad(loss, argnums=(0, "rest"), has_aux=True)
    compiled = gs.compile(plain, verify="first calls")
    for k in (1.0, 2.0, 3.0):
        args = ([Layer(X * k, 2.0), Layer(X + k, np.float64(k))], {"x": X - k})
        (value, aux), (layers, rest) = compiled(*args, scale=k)
        (expected, other), (others, remains) = plain(*args, scale=k)
        assert value == expected
        assert isinstance(aux["pair"], Pair)
        np.testing.assert_array_equal(aux["pair"].second[0], other["pair"].second[0])
        for found, wanted in zip(layers, others, strict=True):
            assert isinstance(found, Layer)
            np.testing.assert_array_equal(found.w, wanted.w)
            np.testing.assert_array_equal(found.b, wanted.b)
        np.testing.assert_array_equal(rest["x"], remains["x"])


def test_decorator_forms() -> None:
    @gs.compile
    def bare(x):
        return np.sum(x * 2)

    @gs.compile(verify="first calls")
    @gs.grad
    def slope(x):
        return np.sum(x**2)

    assert bare(X) == 2.5
    np.testing.assert_array_equal(slope(X), 2 * X)
    assert bare.__name__ == "bare"
    with pytest.raises(TypeError, match="takes a function"):
        gs.compile(3)


def test_results_lie_in_memory_of_their_own() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(x)), verify="first calls")
    for _ in range(4):
        first, second = compiled(X), compiled(X)
        first[0] = 7.0
        np.testing.assert_array_equal(second, 1.0)
    pair = gs.compile(gs.grad(lambda x, y: np.sum(x + y), argnums=(0, 1)), verify="first calls")
    for _ in range(4):
        one, other = pair(X, X + 1)
        one[0] = 7.0
        np.testing.assert_array_equal(other, 1.0)


def test_errors_are_the_users_own() -> None:
    compiled = gs.compile(gs.grad(lambda x, y: np.sum(x @ y)), verify="first calls")
    compiled(np.ones((2, 3)), np.ones(3))
    for _ in range(2):
        with pytest.raises(ValueError, match="matmul"):
            compiled(np.ones((2, 3)), np.ones(4))
    with pytest.raises(TypeError, match="argument"):
        compiled()
    with pytest.raises(gs.ShapeError, match="scalar output"):
        gs.compile(gs.grad(lambda x: x * 2))(X)
    with pytest.raises(gs.DtypeError):
        gs.compile(gs.grad(cubes))(np.arange(3))


def test_errors_by_value_come_at_every_call() -> None:
    compiled = gs.compile(lambda a, b: np.sum(np.linalg.solve(a, b)), verify="first calls")
    regular, singular = np.array([[1.0, 2.0], [2.0, 5.0]]), np.ones((2, 2))
    for a in (regular, singular, regular * 2, singular, regular * 3, singular):
        if a is singular:
            with pytest.raises(np.linalg.LinAlgError):
                compiled(a, np.ones(2))
        else:
            assert compiled(a, np.ones(2)) == np.sum(np.linalg.solve(a, np.ones(2)))


def test_an_index_out_of_range_is_an_error_though_nobody_reads_the_value() -> None:
    def f(x: Any, k: Any) -> Any:
        x[k]
        return np.sum(x)

    compiled = gs.compile(f, verify="first calls")
    for k in ([0], [1], [2]):
        assert compiled(X, np.array(k)) == np.sum(X)
    with pytest.raises(IndexError):
        compiled(X, np.array([3]))


def test_the_users_warnings_come_at_every_call_and_ours_of_the_backward_never() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.log(x) + np.sqrt(x))), verify="first calls")
    for x in (np.ones(2), np.ones(2) * 2, np.ones(2) * 3):
        compiled(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(np.zeros(2))
    assert {w.category for w in caught} <= {RuntimeWarning}
    forward = gs.compile(lambda x: np.sum(np.log(x)), verify="first calls")
    for x in (np.ones(2), np.ones(2) * 2, np.ones(2) * 3):
        forward(x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        forward(np.zeros(2))


def test_the_check_itself_never_warns() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        gs.compile(lambda x: np.sum(1.0 / x), verify="first calls")(np.zeros(2))
    assert len(caught) == 1


def test_the_check_sees_copies_with_the_strides_of_the_inputs() -> None:
    big = np.random.default_rng(0).normal(size=(40, 60))
    compiled = gs.compile(gs.grad(lambda a, b: np.sum((a @ b) ** 2), argnums=(0, 1)), verify="first calls")
    for view in (big, big[::2, ::3], big.T, big[::-1], big[:, ::-1], np.broadcast_to(big[0], (40, 60))):
        for scale in (1.0, 2.0):
            compiled(view, np.ascontiguousarray(view.T) * scale)


def test_complex_and_integer_values_inside() -> None:
    def f(x: Any, k: Any) -> Any:
        z = np.exp(1j * x)
        return np.sum(np.abs(z * z + x[k]) ** 2) + np.real(z[0])

    plain = gs.value_and_grad(f)
    compiled = gs.compile(plain, verify="first calls")
    for scale in (1.0, 0.5, 2.0):
        for found, expected in zip(
            compiled(X * scale, np.array([2, 0, 0])), plain(X * scale, np.array([2, 0, 0])), strict=True
        ):
            np.testing.assert_array_equal(found, expected)


def test_functions_of_no_arrays_and_constant_results() -> None:
    for function, args in (
        (lambda: 3.0, ()),
        (lambda x: None, (X,)),
        (lambda x: (1, "a", 2.5), (X,)),
        (lambda n: n + 1, (3,)),
        (lambda x: x.dtype, (X,)),
        (lambda x: (x.shape, {"size": x.size, "dtype": x.dtype}), (X,)),
        (lambda x: x.shape, (X,)),
    ):
        compiled = gs.compile(function, verify="first calls")
        for _ in range(3):
            assert compiled(*args) == function(*args)  # type: ignore[operator]


def test_empty_and_zero_dimensional_arrays() -> None:
    compiled, plain = gs.compile(gs.value_and_grad(cubes), verify="first calls"), gs.value_and_grad(cubes)
    for x in (np.zeros(0), np.zeros((0, 3)), np.array(2.0), np.zeros((3, 0, 2))):
        for _ in range(3):
            value, slope = compiled(x)
            assert value == plain(x)[0]
            np.testing.assert_array_equal(slope, plain(x)[1], strict=True)


def test_what_numpy_rounds_by_its_place_in_memory_is_no_other_result() -> None:
    """NumPy 2.0 gives a complex product other last bits where its result lies right behind an argument."""
    x = np.array([0.1 + 0.7j, 0.3 - 0.2j, 1.1 + 0.9j])
    compiled = gs.compile(lambda z: np.real((z * z * w).sum()), verify="first calls")
    w = x[::-1].copy()
    compiled(x)
    loose = np.lib.NumpyVersion(np.__version__) < "2.1.0"
    assert (compiled.specialisation(x).eps > 0) is loose
