"""Large arrays are written over where nobody reads them again: the bits stay, the memory does not grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from large_arrays import chain, lines, peak

pytestmark = pytest.mark.xdist_group("memory")

BIG, OTHER = np.random.default_rng(0).uniform(0.1, 1.0, (2, 20_000))


def test_the_source_writes_over_what_is_not_read_again() -> None:
    text = lines(gs.source(chain, BIG, OTHER))
    assert "minus_a = -a\n    b = np.exp(minus_a, out=minus_a)\n    c = np.add(b, y, out=b)" in text
    assert "out=" not in gs.source(chain, BIG[:10], OTHER[:10])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_inputs_and_memory(dtype: Any) -> None:
    x, y = BIG.astype(dtype), OTHER.astype(dtype)
    before = x.copy(), y.copy()
    compiled = gs.compile(chain, verify="first calls")
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * dtype(1 + k), y), chain(x * dtype(1 + k), y))
    first, second = compiled(x, y), compiled(x, y)
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert peak(lambda: compiled(x, y)) < 0.7 * peak(lambda: chain(x, y))


def test_a_view_keeps_its_memory() -> None:
    def f(x: Any) -> Any:
        a = x * 2
        head = a[:-1]
        b = np.exp(a)
        return np.sum(b) + np.sum(head * head)

    np.testing.assert_array_equal(gs.compile(f, verify="first calls")(BIG), f(BIG))
    text = lines(gs.source(f, BIG))
    assert "np.exp(a)" in text


def test_what_is_returned_and_what_is_read_later_keeps_its_memory() -> None:
    def f(x: Any) -> Any:
        a = x * 2
        b = np.exp(a)
        c = b + 1
        return a, c, b * c

    compiled = gs.compile(f, verify="first calls")
    for found, expected in zip(compiled(BIG), f(BIG), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_another_dtype_shape_or_order_is_another_buffer() -> None:
    def f(x: Any) -> Any:
        a = x.reshape(100, 200) * 2
        b = a.T + 1
        c = b > 1.5
        return np.where(c, b, 0.0) + np.sum(a, axis=0, keepdims=True).T, (a < 1) & ~(a < 0.5)

    compiled = gs.compile(f, verify="first calls")
    for found, expected in zip(compiled(BIG), f(BIG), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides


def test_gradients_of_large_arrays() -> None:
    gradient = gs.value_and_grad(lambda x, y: np.sum(chain(x, y)), argnums=(0, 1))
    compiled = gs.compile(gradient, verify="first calls")
    for k in (1, 2):
        found, expected = compiled(BIG * k, OTHER), gradient(BIG * k, OTHER)
        assert found[0] == expected[0]
        for g, e in zip(found[1], expected[1], strict=True):
            np.testing.assert_array_equal(g, e)
    assert "out=" in gs.source(gradient, BIG, OTHER)
