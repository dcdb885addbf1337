"""Gradients of what is divided by a norm: the quotient as it is, with eager's bits also where the norm is zero or infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

NORMS: dict[str, Callable[..., Any]] = {
    "a vector": lambda x, w: np.sum(x / np.linalg.norm(x) * w),
    "rows": lambda x, w: np.sum((x / np.linalg.norm(x, axis=-1, keepdims=True) * w) ** 2),
    "rows, the axis put back": lambda x, w: np.sum((x / np.linalg.norm(x, axis=-1)[..., None] * w) ** 2),
    "columns": lambda x, w: np.sum((x / np.linalg.norm(x, axis=0) * w) ** 2),
    "columns, the axis put back": lambda x, w: np.sum((x / np.linalg.norm(x, axis=0)[None] * w) ** 2),
    "a cosine": lambda x, w: np.sum(x * w) / (np.linalg.norm(x) * np.linalg.norm(w)),
    "a power": lambda x, w: np.sum(x * w / np.linalg.norm(x) ** 3),
    "two ways": lambda x, w: np.sum(x / np.linalg.norm(x) * w) + np.linalg.norm(x),
    "a vector norm": lambda x, w: np.sum(x / np.linalg.vector_norm(x, axis=-1, keepdims=True) * w),
}
GUARDED: dict[str, Callable[..., Any]] = {
    "the norm": lambda x, w: np.sum(np.linalg.norm(x, axis=-1) * w[..., 0]),
    "divided by more": lambda x, w: np.sum(x / (np.linalg.norm(x) + 1.0) * w),
    "divided by a power of zero": lambda x, w: np.sum(x / np.linalg.norm(x) ** 0 * w),
    "rows by columns": lambda x, w: np.sum(np.linalg.norm(x, axis=1) * (w[0] / np.linalg.norm(x, axis=0))),
}
SPECIALS = (0.0, -0.0, 1e-200, -1e-300, 1e200, np.inf, -np.inf, np.nan)


def inputs(dtype: Any) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    w = rng.normal(size=(3, 3)).astype(dtype)
    found = [rng.normal(size=(3, 3)).astype(dtype) for _ in range(3)]
    with np.errstate(all="ignore"):
        found += [np.full((3, 3), s).astype(dtype) for s in SPECIALS]
        mixed = rng.choice(SPECIALS, size=(12, 3, 3)).astype(dtype)
    rows = rng.normal(size=(3, 3)).astype(dtype)
    rows[1] = 0.0
    return [(x, w) for x in (*found, *mixed, rows, rows.T.copy())]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*NORMS, *GUARDED])
def test_they_have_the_bits_of_eager_at_every_point(name: str, dtype: Any) -> None:
    transform = gs.value_and_grad({**NORMS, **GUARDED}[name], argnums=(0, 1))
    compiled = gs.compile(transform)
    with np.errstate(all="ignore"):
        for args in inputs(dtype):
            assert difference(compiled(*args), transform(*args)) is None, args
    assert compiled._eager is None


@pytest.mark.parametrize("name", NORMS)
def test_what_is_divided_by_its_norm_is_divided_once(name: str) -> None:
    source = str(gs.source(gs.value_and_grad(NORMS[name]), *inputs(np.float64)[0]))
    assert ("np.where" in source) == (name == "two ways"), source


@pytest.mark.parametrize("name", GUARDED)
def test_a_norm_that_may_be_zero_without_harm_is_guarded(name: str) -> None:
    assert "np.where" in str(gs.source(gs.value_and_grad(GUARDED[name]), *inputs(np.float64)[0]))


def test_an_axis_that_is_dropped_and_put_back_is_no_statement() -> None:
    source = str(gs.source(gs.value_and_grad(NORMS["rows, the axis put back"]), *inputs(np.float64)[0]))
    assert "squeeze" not in source, source
