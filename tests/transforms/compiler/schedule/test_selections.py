"""`np.where(mask, x, 0.0)` of large arrays: the same bits as NumPy's, by a product of bits, and where it stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

RNG = np.random.default_rng(0)
ODD = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-310]


def odd(dtype: Any, shape: tuple[int, ...] = (200, 300), order: Any = "C") -> Any:
    """Random numbers, and among them those whose bits a product of floats would change."""
    x = RNG.normal(size=shape)
    x.reshape(-1)[: 40 * len(ODD)] = np.tile(ODD, 40)
    with np.errstate(over="ignore"):
        return np.asarray(x, order=order).astype(dtype, order="K")


def assert_same(f: Callable[..., Any], *args: Any, bits: str | None) -> None:
    """Compiled and eager to the last bit; whether the text goes by bits, and of which type."""
    compiled = gs.compile(f, verify="first calls")
    with np.errstate(all="ignore"):
        for _ in range(3):
            found, expected = compiled(*args), f(*args)
            assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
            assert found.tobytes() == expected.tobytes()
        text = compiled.source(*args)
    assert bits is None or f".view(np.{bits})" in text
    assert ("np.where(mask, x, 0.0), without branches" in text) == (bits is not None)


@pytest.mark.parametrize(("dtype", "bits"), [("f2", "uint16"), ("f4", "uint32"), ("f8", "uint64")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bits_are_kept(dtype: str, bits: str, order: str) -> None:
    x, mask = odd(dtype, order=order), np.asarray(RNG.random((200, 300)) < 0.5, order=order)
    assert_same(lambda m, x: np.where(m, x, 0.0), mask, x, bits=bits)
    assert_same(lambda m, x: np.where(m, 0, x), mask, x, bits=bits)
    assert_same(lambda x: np.where(x <= 0, 0.0, x), x, bits=bits)


def test_a_mask_of_fewer_axes_is_spread() -> None:
    x = odd("f8", (4, 100, 80))
    assert_same(lambda x: np.where(np.tril(np.ones((100, 80), bool)), x, 0.0), x, bits="uint64")
    assert_same(lambda m, x: np.where(m, 0.0, x), RNG.random((4, 100, 1)) < 0.5, x, bits="uint64")


def test_an_array_of_fewer_axes_is_spread() -> None:
    mask = RNG.random((200, 300)) < 0.5
    assert_same(lambda m, x: np.where(m, x[:1], 0.0), mask, odd("f8"), bits="uint64")
    assert_same(lambda m, x: np.where(m, x[0], 0.0), mask, odd("f8"), bits="uint64")


@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: np.where(m, x, -0.0),
        lambda m, x: np.where(m, x, 1.0),
        lambda m, x: np.where(m, 0.0, np.float32(0)) + x,
        lambda m, x: np.where(m, x[:, ::-1], 0.0),
        lambda m, x: np.where(m[:, :1], x, np.zeros(3)[0]) + np.where(m, x + 1j, 0.0).real,
    ],
)
def test_what_is_not_a_number_or_zero_of_one_type_stays(f: Any) -> None:
    assert_same(f, RNG.random((200, 300)) < 0.5, odd("f8"), bits=None)


def test_small_arrays_and_integers_stay() -> None:
    assert_same(lambda x: np.where(x > 0, x, 0.0), odd("f8", (20, 30)), bits=None)
    assert_same(lambda x: np.where(x > 0, x, 0), RNG.integers(-5, 5, (200, 300)), bits=None)


def test_the_gradient_of_relu_lets_no_infinity_through() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sqrt(F.relu(x)))  # at 0 the slope of the root is infinite

    gradient = gs.compile(gs.grad(loss), verify="first calls")
    x = RNG.normal(size=50_000)
    for k in range(3):
        found = gradient(x + k)
        np.testing.assert_array_equal(found, gs.grad(loss)(x + k))
        assert np.all(found[x + k <= 0] == 0)
    assert ".view(np.uint64)" in gradient.source(x)


def test_in_a_loop_over_tiles() -> None:
    def f(x: Any) -> Any:
        a = np.exp(-x)
        b = np.cos(x * a)
        c = np.where(b > 0.5, a, 0.0)
        d = np.sqrt(c * c + b * b)
        return d * a + np.where(d > 0.7, 0.0, c)

    x = RNG.normal(size=300_000)
    assert "in tiles" in gs.source(f, x)
    assert_same(f, x, bits="uint64")


def test_an_exported_module_goes_by_bits_and_has_derivatives_when_loaded(tmp_path: Path) -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(F.relu(x * w) ** 2)

    def slope(f: Any) -> Any:
        return gs.grad(lambda w: np.sum(gs.grad(f)(w, x) * x))

    w, x = RNG.normal(size=(2, 20_000))
    assert ".view(np.uint64) * ~(" in gs.export(loss, w, x, path=tmp_path / "loss_grad.py")
    loaded = gs.load_exported(tmp_path / "loss_grad.py", loss, w, x)
    np.testing.assert_array_equal(gs.grad(loaded)(w, x), gs.grad(loss)(w, x))
    np.testing.assert_allclose(slope(loaded)(w), slope(loss)(w), rtol=1e-12, atol=1e-12)
    compiled = gs.compile(gs.grad(loaded), verify="first calls")
    for k in range(2):
        np.testing.assert_array_equal(compiled(w + k, x), gs.grad(loss)(w + k, x))
    assert ".view(np.uint64)" in compiled.source(w, x)


def test_other_orders_of_the_axes_and_a_mask_of_more() -> None:
    x = np.moveaxis(odd("f4", (40, 30, 50)), -1, 0)
    assert_same(lambda x: np.where(x <= 0, 0.0, x), x, bits="uint32")
    assert_same(lambda x: np.where(x <= 0, 0.0, np.moveaxis(np.moveaxis(x, 0, -1) * 2, -1, 0)), x, bits="uint32")
    mask = RNG.random((3, 200, 300)) < 0.5
    assert_same(lambda m, x: np.where(m, x, 0.0), mask, odd("f8"), bits="uint64")
    assert_same(lambda m, x: np.where(m, x.T, 0.0), mask, odd("f8", (300, 200)), bits=None)


def test_convolutions_and_pools() -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.sum(F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2) ** 2)

    gradient = gs.compile(gs.grad(loss, argnums=(0, 1)), verify="first calls")
    x, w = RNG.normal(size=(16, 3, 14, 14)).astype("f4"), RNG.normal(size=(8, 3, 3, 3)).astype("f4")
    for k in range(3):
        for found, expected in zip(gradient(x + k, w), gs.grad(loss, argnums=(0, 1))(x + k, w), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert " = np.where(" not in gradient.source(x, w)
