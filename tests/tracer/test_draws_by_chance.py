"""Draws that depend on what is differentiated: shuffle, permutation, choice, normal(mean): NumPy's numbers, with gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def shuffled(x: Any, rng: Any) -> Any:
    y = x * 1
    rng.shuffle(y)
    return y * x


def shuffled_along(x: Any, rng: Any) -> Any:
    y = x * 1
    rng.shuffle(y, axis=-1)
    return y


def permuted(x: Any, rng: Any) -> Any:
    return rng.permutation(x) * x


def permuted_along(x: Any, rng: Any) -> Any:
    return rng.permutation(x, axis=-1)


def chosen(x: Any, rng: Any) -> Any:
    return rng.choice(x, size=(2, 2)) + rng.normal()


def one_chosen(x: Any, rng: Any) -> Any:
    return rng.choice(x) * 2


def chosen_without_replacement(x: Any, rng: Any) -> Any:
    return rng.choice(x, 2, False, axis=-1, shuffle=False)


OF_ALL = (shuffled, shuffled_along, permuted, permuted_along, chosen, one_chosen, chosen_without_replacement)


def checked(f: Callable[..., Any], x: Any, make: Callable[[], Any]) -> None:
    """The value, the gradient beside differences, and compiled bits; the generator goes on as with plain arrays."""
    plain = f(x, make())
    value, pullback = gs.vjp(lambda x: f(x, make()), x)
    assert type(value) is type(plain)
    np.testing.assert_array_equal(value, plain)
    weights = np.random.default_rng(5).normal(size=np.shape(plain))
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    slopes = [np.sum((f(x + s, make()) - f(x - s, make())) / 2e-6 * weights) for s in steps]
    np.testing.assert_allclose(pullback(weights)[0].ravel(), slopes, atol=1e-6)
    gradient = gs.grad(lambda x, rng: np.sum(f(x, rng) ** 2))
    compiled, ours, theirs = gs.compile(gradient), make(), make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none runs eagerly
        for k in range(4):
            np.testing.assert_array_equal(compiled(x + k, ours), gradient(x + k, theirs))
            f(x, ours), f(x, theirs)
    assert ours.random() == theirs.random()


@pytest.mark.parametrize("shape", [(1,), (5,), (4, 3)], ids=str)
@pytest.mark.parametrize("f", OF_ALL)
def test_of_a_generator(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    if f is chosen_without_replacement and shape == (1,):
        pytest.skip("there are no two")
    checked(f, np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), lambda: np.random.default_rng(3))


@pytest.mark.parametrize("f", [shuffled, permuted, one_chosen])
@pytest.mark.parametrize("shape", [(5,), (4, 3)], ids=str)
def test_of_a_random_state(f: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)

    def seeded(x: Any) -> Any:
        np.random.seed(3)
        return f(x, np.random)

    if f is one_chosen and len(shape) > 1:
        with pytest.raises(ValueError, match="a must be 1-dimensional"):
            gs.vjp(seeded, x)
        return
    value, pullback = gs.vjp(seeded, x)
    np.testing.assert_array_equal(value, seeded(x))
    assert np.count_nonzero(pullback(np.ones(np.shape(value)))[0]) > 0


def test_a_word_that_numpy_does_not_take_is_refused() -> None:
    with pytest.raises(TypeError, match=r"shuffle\(\) of a Generator takes an array and axis"):
        gs.grad(lambda x: np.random.default_rng(0).shuffle(x, nosuch=1))(np.ones(3))
    with pytest.raises(TypeError, match=r"permutation\(\) of a RandomState takes an array"):
        gs.grad(lambda x: np.random.permutation(x, axis=0)[0])(np.ones(3))


SCALES: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda x, rng: rng.normal(x, 2.0),
    "normal of a size": lambda x, rng: rng.normal(x[0], x[1], size=(2, 2)),
    "normal by names": lambda x, rng: rng.normal(scale=x, loc=0.5),
    "uniform": lambda x, rng: rng.uniform(x[0], x[1] + 1.0),
    "uniform by one": lambda x, rng: rng.uniform(high=x, low=-1.0),
    "laplace": lambda x, rng: rng.laplace(x, x, None),
    "gumbel": lambda x, rng: rng.gumbel(x[0], 2.0, 3) * rng.normal(size=3),
    "logistic": lambda x, rng: rng.logistic(0.0, x),
    "lognormal": lambda x, rng: rng.lognormal(x, 0.3),
    "exponential": lambda x, rng: rng.exponential(x),
    "rayleigh": lambda x, rng: rng.rayleigh(x[2], 2),
}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("make", [lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)])
def test_draws_around_what_is_differentiated(name: str, make: Callable[[], Any]) -> None:
    f, x = SCALES[name], np.array([0.5, 0.7, 0.4])
    plain = f(x, make())
    value, pullback = gs.vjp(lambda x: f(x, make()), x)
    np.testing.assert_allclose(value, plain, rtol=1e-14)
    slopes = [np.sum(f(x + s, make()) - f(x - s, make())) / 2e-6 for s in np.eye(3) * 1e-6]
    np.testing.assert_allclose(pullback(np.ones_like(plain))[0], slopes, atol=1e-8)
    compiled, eager = (
        gs.compile(gs.grad(lambda x, rng: np.sum(f(x, rng) ** 2))),
        gs.grad(lambda x, rng: np.sum(f(x, rng) ** 2)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.EagerWarning)
        one, other = make(), make()
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x, one), eager(x, other))


def test_a_negative_scale_raises_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        gs.grad(lambda s: np.random.default_rng(0).normal(0.0, s))(-1.0)
