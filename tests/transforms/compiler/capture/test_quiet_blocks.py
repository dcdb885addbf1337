"""`with np.errstate(...="ignore")` in the user's code is a block without warnings of the source, and changes no value."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.2, 2.0, 0.3, 1.0])


def logarithms(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.where(x > 0, np.log(x), 0.0)
    return np.sum(y**2)


def two_blocks(x: Any) -> Any:
    with np.errstate(all="ignore"):
        y = np.sqrt(x)
    z = np.log(np.abs(x) + 1)
    with np.errstate(invalid="ignore"):
        return np.nansum(y) + z.sum() + np.nansum(np.arcsin(x))


def around_a_branch(x: Any) -> Any:
    with np.errstate(over="ignore"):
        if x[0] > 0:
            return np.sum(1 / (1 + np.exp(-1000 * x)))
        return np.sum(x)


def within_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(60):
        with np.errstate(all="ignore"):
            ratio = x[k % 5] / (total - x[0])
        total = total + np.where(np.isfinite(ratio), np.nan_to_num(ratio), 0.0) * 0.01
    return total


def around_a_loop(x: Any) -> Any:
    s = np.ones(3) * np.abs(x[0])
    with np.errstate(invalid="ignore"):
        while np.sum(s) < 10:
            s = s * 1.5 + np.nan_to_num(np.log(x[1] - s)) * 0
    return s.sum()


def left_by_an_error(x: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            raise ValueError(f"{x.size}")
    except ValueError:
        return np.sum(np.exp(x))


@pytest.mark.parametrize(
    "f",
    [logarithms, two_blocks, around_a_branch, within_a_loop, around_a_loop, left_by_an_error],
    ids=lambda f: f.__name__,
)
def test_a_block_without_warnings_compiles(f: Callable[[Any], Any]) -> None:
    compiled = gs.compile(gs.value_and_grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (X, X[::-1].copy(), 0.5 * X):
            expected, found = gs.value_and_grad(f)(x), compiled(x)
            assert found[0] == expected[0]
            assert np.array_equal(found[1], expected[1], equal_nan=True)


def test_what_warns_outside_of_the_block_still_does() -> None:
    def f(x: Any) -> Any:
        with np.errstate(all="ignore"):
            y = np.nan_to_num(np.sqrt(x))
        return np.sum(y) + np.nansum(np.log(x))

    compiled = gs.compile(f)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="log") as seen:
            compiled(X)
        assert not [w for w in seen if "sqrt" in str(w.message)]


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_other_settings_run_eagerly() -> None:
    def f(x: Any) -> Any:
        with np.errstate(all="raise"):
            return np.sum(np.log(x))

    compiled = gs.compile(f)
    assert compiled(np.array([1.0, 2.0])) == f(np.array([1.0, 2.0]))
    with pytest.raises(FloatingPointError):
        compiled(X)
