"""Arrays from outside that are written between an operation and backward: the gradient is right, or it raises."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

N = {"small": 8, "large": 4000}
ARRAY, PLACES, MASK = np.empty(0), np.empty(0, int), np.empty(0, bool)  # made anew for each test


@pytest.fixture(autouse=True, params=N)
def fresh(request: pytest.FixtureRequest) -> int:
    """The arrays as they are before any write."""
    global ARRAY, PLACES, MASK
    n = N[request.param]
    ARRAY, PLACES, MASK = np.linspace(1.0, 2.0, n), np.arange(n), np.arange(n) % 3 > 0
    return n


def write() -> None:
    ARRAY[0], ARRAY[-1], PLACES[1], MASK[2] = 7.0, 8.0, 0, False


def product(x: Any) -> Any:
    return x * ARRAY


def matrix_product(x: Any) -> Any:
    return x @ ARRAY


def power(x: Any) -> Any:
    return x**ARRAY


def where(x: Any) -> Any:
    return np.where(MASK, x, 0.0)


def sum_where(x: Any) -> Any:
    return np.sum(x, where=MASK)


def at_positions(x: Any) -> Any:
    return x[PLACES]


def at_a_mask(x: Any) -> Any:
    return x[MASK]


def in_a_tuple(x: Any) -> Any:
    return x[..., PLACES]


def in_a_mesh(x: Any) -> Any:
    return np.outer(x[:4], x[:4])[np.ix_(PLACES[:4], PLACES[:4])]


def along(x: Any) -> Any:
    return np.take_along_axis(x, PLACES, 0)


def written_at_positions(x: Any) -> Any:
    y = x * 1.0
    y[PLACES[:3]] = x[:3] ** 2
    return y


def weighted(x: Any) -> Any:
    return np.average(x, weights=ARRAY)


def a_view(x: Any) -> Any:
    return x * ARRAY[::-1]


def in_einsum(x: Any) -> Any:
    return np.einsum("i,i->i", x, ARRAY)


def interpolated(x: Any) -> Any:
    return np.interp(ARRAY, ARRAY, x * ARRAY)


USES = [
    product, matrix_product, power, where, sum_where, at_positions, at_a_mask, in_a_tuple, in_a_mesh, along,
    written_at_positions, weighted, a_view, in_einsum, interpolated,
]  # fmt: skip


def by_tensors(f: Callable[[Any], Any], x: Any) -> Any:
    t = gs.tensor(x, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: gs.grad(f)(x),
    "compiled": lambda f, x: gs.compile(gs.grad(f))(x),
    "Tensors": by_tensors,
    "vmap": lambda f, x: gs.vmap(gs.grad(f))(x[None])[0],
    "jvp": lambda f, x: gs.jvp(f, (x,), (np.eye(len(x))[0],))[1],
    "gradient of the gradient": lambda f, x: gs.grad(lambda x: gs.grad(f)(x)[0])(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_what_was_read_or_it_raises(
    fresh: int, request: pytest.FixtureRequest, use: Callable[[Any], Any], way: str
) -> None:
    x = np.linspace(0.5, 1.5, fresh)
    run = WAYS[way]
    right = run(lambda x: np.sum(use(x) ** 2), x)

    def f(x: Any) -> Any:
        made = use(x)
        write()
        return np.sum(made**2)

    try:
        found, message = run(f, x), ""
    except gs.AutogradError as error:
        if fresh == N["small"] and use is not a_view:  # small ones are copied, where they lie in one piece
            raise
        found, message = right, str(error)
    np.testing.assert_allclose(found, right, rtol=1e-12)
    assert not message or ("modified by an inplace operation" in message and "a copy" in message)


def test_the_error_names_the_operation_and_the_array() -> None:
    t = gs.tensor(np.ones(4000), requires_grad=True)
    big = np.ones(4000)
    loss = (t * big).sum()
    big[17] = 2.0
    with pytest.raises(gs.AutogradError, match=r"float64\[4000\], an array that is no Tensor\.\nMulBackward0 saved it"):
        loss.backward()


@pytest.mark.parametrize("how", ["one number", "two that change places", "all", "the base", "the type of zero"])
def test_any_write_into_a_large_array_is_noticed(how: str) -> None:
    base = np.random.default_rng(0).normal(size=(500, 250))
    base[3, 4] = 0.0
    array = base[:]
    t = gs.tensor(np.ones(250), requires_grad=True)
    loss = (array @ t).sum()
    if how == "one number":
        array[250, 100] += 1e-15
    elif how == "two that change places":
        array[[7, 9]] = array[[9, 7]]
    elif how == "all":
        array *= 2.0
    elif how == "the base":
        base[0, 3] = 9.0
    else:
        array[3, 4] = -0.0
    with pytest.raises(gs.AutogradError, match="modified by an inplace operation"):
        loss.backward()


def test_a_buffer_is_used_again_once_its_graph_is_gone() -> None:
    x, buffer = np.ones(3000), np.empty(3000)
    t = gs.tensor(x, requires_grad=True)
    for k in range(3):
        buffer[:] = k + 1.0
        assert gs.grad(lambda x: np.sum(x * buffer))(x)[0] == k + 1.0
        (t * buffer).sum().backward()
        buffer[5] = -1.0  # one number alone
    assert t.grad[0] == 6.0


def test_a_loop_that_moves_its_positions_is_right() -> None:
    t, at = gs.tensor(np.arange(6.0), requires_grad=True), np.array([0, 1])
    total: Any = 0.0
    for _ in range(3):
        total = total + (t[at] ** 2).sum()
        at += 2
    total.backward()
    np.testing.assert_array_equal(t.grad, 2 * np.arange(6.0))


def test_steps_of_a_loop_share_one_copy() -> None:
    t, weights = gs.tensor(np.ones(100), requires_grad=True), np.ones(100)
    y = t
    for _ in range(4):
        y = y * weights
    last, before = y.grad_fn.saved[0], y.grad_fn.next_functions[0][0].saved[0]
    assert last is before
    assert last is not weights


@pytest.mark.parametrize("linear", [gs.vjp, gs.linearize])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_pullback_is_that_of_the_call(linear: Any, compiled: bool, fresh: int) -> None:
    def f(x: Any) -> Any:
        return np.exp(x) * x

    x = np.linspace(0.0, 1.0, fresh)
    right = np.exp(x) * x + np.exp(x)
    out, product_with = linear(gs.compile(f) if compiled else f, x)
    out += 1.0
    x *= 3.0
    found = product_with(np.ones(fresh))
    np.testing.assert_allclose(found[0] if linear is gs.vjp else found, right, rtol=1e-14)


@pytest.mark.parametrize("transform", [gs.grad, gs.value_and_grad, lambda f: gs.compile(gs.grad(f))])
def test_an_argument_that_is_written_by_another_name_raises_where_backward_needs_it(transform: Any, fresh: int) -> None:
    def squares(x: Any) -> Any:
        y = x * x
        ARRAY[:] = 5.0
        return np.sum(y)

    def sums(x: Any) -> Any:
        y = x + 1.0
        ARRAY[:] = 5.0
        return np.sum(y)

    with pytest.warns(gs.EagerWarning) if transform.__name__ == "<lambda>" else contextlib.nullcontext():
        with pytest.raises(gs.AutogradError, match="a write by another name than that of the argument"):
            transform(squares)(ARRAY)
        found = transform(sums)(ARRAY)
    np.testing.assert_array_equal(found[1] if transform is gs.value_and_grad else found, np.ones(fresh))
