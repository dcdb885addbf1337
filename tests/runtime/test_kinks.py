"""docs/kinks.md: each row of its table is what gradscribe, PyTorch and JAX give, compiled too, and under gs.singular."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs

import kinks
from checks import unlike
from kinks import PAGE, Row, by_gradscribe, by_jax, by_torch, follows, function, raises, rows

TABLE = [row for _, row in rows(PAGE.read_text(encoding="utf-8"))]
EVERY = pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.code} at {row.at}") for row in TABLE])
SINGULAR = pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.code} at {r.at}") for r in TABLE if r.singular])


def gradient(row: Row) -> Any:
    """The gradients of a row, as one function of its arguments."""
    return gs.grad(function(row), argnums=tuple(range(len(row.arguments))))


def under(mode: str, row: Row) -> tuple[Any, ...]:
    """The gradients in a mode."""
    with gs.singular(mode), np.errstate(all="ignore"):
        return gradient(row)(*row.arguments)  # type: ignore[no-any-return]


def test_the_page_has_its_table() -> None:
    assert len(TABLE) > 80
    assert all(row.ours and row.follows for row in TABLE)
    assert sum(bool(row.singular) for row in TABLE) > 50


@EVERY
def test_the_gradient_is_what_the_page_says(row: Row) -> None:
    assert by_gradscribe(row) == row.ours
    assert raises(row) == row.singular
    assert follows(row) == row.follows


@EVERY
def test_compiled_gives_the_same(row: Row) -> None:
    compiled = gs.compile(gradient(row), verify="first calls")
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert unlike(compiled(*row.arguments), gradient(row)(*row.arguments)) is None


@EVERY
def test_pytorch_gives_what_the_page_says(row: Row) -> None:
    pytest.importorskip("torch", reason="PyTorch, whose column this is, is missing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert by_torch(row) == row.torch


@EVERY
def test_jax_gives_what_the_page_says(row: Row) -> None:
    pytest.importorskip("jax", reason="JAX, whose column this is, is missing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert by_jax(row) == row.jax


@SINGULAR
def test_singular_points_are_nan_on_demand(row: Row) -> None:
    assert any(np.isnan(g).any() for g in under("nan", row))
    assert kinks.shown(under("convention", row)) == row.ours


@SINGULAR
def test_singular_points_raise_on_demand(row: Row) -> None:
    with pytest.raises(gs.SingularPointError, match="singular point") as caught:
        under("raise", row)
    text = str(caught.value)
    assert text.startswith(("np.", "scipy.", "gradscribe.runtime.rules.", "math.", "cmath.", "statistics."))
    assert "\nat <string>:2" in text
    assert {FloatingPointError, gs.AutogradError} <= set(type(caught.value).__mro__)


@pytest.mark.parametrize("row", [pytest.param(r, id=f"{r.code} at {r.at}") for r in TABLE if not r.singular])
def test_other_points_are_the_same_in_every_mode(row: Row) -> None:
    for mode in ("nan", "raise"):
        assert kinks.shown(under(mode, row)) == row.ours


@EVERY
def test_a_block_is_compiled_with_the_function(row: Row) -> None:
    inner = function(row)

    def strict(*args: Any) -> Any:
        with gs.singular("nan"):
            return inner(*args)

    argnums = tuple(range(len(row.arguments)))
    compiled = gs.compile(gs.grad(strict, argnums=argnums), verify="first calls")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        if re.search("linalg|cmath|statistics|floor.* x", row.code):  # what can raise runs eagerly, and says so
            warnings.simplefilter("ignore", gs.EagerWarning)
        for _ in range(2):
            assert unlike(compiled(*row.arguments), under("nan", row)) is None


@SINGULAR
def test_a_block_that_raises_is_compiled_with_the_function(row: Row) -> None:
    inner = function(row)

    def strict(*args: Any) -> Any:
        with gs.singular("raise"):
            return inner(*args)

    compiled = gs.compile(gs.grad(strict, argnums=tuple(range(len(row.arguments)))), verify="first calls")
    with np.errstate(all="ignore"), pytest.raises(gs.SingularPointError, match="at <string>:2"):
        compiled(*row.arguments)


@pytest.mark.parametrize(
    "function",
    [
        lambda w: w**0.5, lambda w: pow(w, 0.5), lambda w: np.power(w, 0.5), lambda w: float(np.float64(w)) ** 0.5,
        lambda w: w ** float(np.float64(0.5) + 0.0 * w), gs.grad(lambda w: w**1.5), lambda w: special.boxcox(w, 0.5),
        lambda w: special.boxcox1p(w - 1.0, 0.5),
    ],
)  # fmt: skip
def test_an_infinite_derivative_of_a_number_of_pythons_is_infinite(function: Any) -> None:
    compiled = gs.compile(gs.grad(function))
    for _ in range(3):
        assert gs.grad(function)(0.0) == compiled(0.0) == np.inf


def test_the_derivative_of_a_small_power_does_not_overflow() -> None:
    def inverse(w: Any) -> Any:
        return (w * 1.0) ** -1

    compiled = gs.compile(gs.grad(inverse))
    for _ in range(2):
        assert gs.grad(inverse)(1e-200) == compiled(1e-200) == -np.inf
