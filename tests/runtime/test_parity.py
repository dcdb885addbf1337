"""Gradients at ties, kinks and the ends of domains against PyTorch's, where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs

from samples import dispatched

torch = pytest.importorskip("torch", reason="PyTorch, whose gradients at kinks these are compared with, is missing")

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5, 2.5, 40.0, -40.0, np.inf, -np.inf])
PAIR = np.meshgrid([0.0, -0.0, 1.0, -1.0, 2.0, -0.5, np.inf], [0.0, -0.0, 1.0, -1.0, 3.0, 0.5, -np.inf])
FIRST, SECOND = (m.ravel() for m in PAIR)
ROWS = np.array([[1.0, 3.0, 3.0, -2.0], [0.0] * 4, [2.0] * 4, [0.0, 5.0, 1.0, 0.0], [0.0, 4.0, 2.0, 3.0]])

UNARY = {
    "absolute": "abs", "sign": "sign", "sqrt": "sqrt", "square": "square", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "arcsinh": "asinh", "arctanh": "atanh", "sinc": "sinc", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "round", "reciprocal": "reciprocal", "nan_to_num": "nan_to_num",
}  # fmt: skip
SPECIAL = ["expit", "erf", "erfc", "erfinv", "ndtr", "log_ndtr", "gammaln", "entr", "i0", "i0e"]
BINARY = {
    "add": "add", "multiply": "mul", "true_divide": "div", "power": "pow", "maximum": "maximum", "minimum": "minimum",
    "fmax": "fmax", "fmin": "fmin", "arctan2": "atan2", "remainder": "remainder", "fmod": "fmod",
}  # fmt: skip
ROW_WISE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "max": (lambda x: np.max(x, axis=1), lambda x: torch.amax(x, 1)),
    "min": (lambda x: np.min(x, axis=1), lambda x: torch.amin(x, 1)),
    "prod": (lambda x: np.prod(x, axis=1), lambda x: torch.prod(x, 1)),
    "cumprod": (lambda x: np.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1)),
    "std": (lambda x: np.std(x, axis=1), lambda x: torch.std(x, 1, correction=0)),
    "norm": (lambda x: np.linalg.norm(x, axis=1), lambda x: torch.linalg.vector_norm(x, dim=1)),
    "norm 1": (lambda x: np.linalg.norm(x, 1, axis=1), lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    "norm inf": (lambda x: np.linalg.norm(x, np.inf, axis=1), lambda x: torch.linalg.vector_norm(x, np.inf, dim=1)),
    "norm 3": (lambda x: np.linalg.norm(x, 3, axis=1), lambda x: torch.linalg.vector_norm(x, 3, dim=1)),
    "clip": (lambda x: np.clip(x, -1.0, 1.0), lambda x: torch.clamp(x, -1.0, 1.0)),
    "clip above": (lambda x: np.clip(x, None, 3.0), lambda x: torch.clamp(x, None, 3.0)),
    "clip crossed": (lambda x: np.clip(x, 1.0, -1.0), lambda x: torch.clamp(x, 1.0, -1.0)),
    "logsumexp": (dispatched(special.logsumexp), lambda x: torch.logsumexp(x, (0, 1))),
}


def check(f: Callable[..., Any], of_torch: Callable[..., Any], *arrays: Any) -> None:
    """Compare the gradients of the sum of a result, for each argument."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
        expected = torch.autograd.grad(of_torch(*tensors).sum(), tensors)
        found = gs.grad(lambda *xs: np.sum(f(*xs)), argnums=tuple(range(len(arrays))))(*arrays)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-7, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    check(getattr(np, name), getattr(torch, UNARY[name]), POINTS)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name: str) -> None:
    check(getattr(special, name), getattr(torch.special, name), POINTS)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    check(getattr(np, name), getattr(torch, BINARY[name]), FIRST, SECOND)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 0.0, 2.0])
def test_powers(exponent: float) -> None:
    check(lambda x: x**exponent, lambda x: x**exponent, POINTS)


@pytest.mark.parametrize("name", ROW_WISE)
def test_functions_of_rows(name: str) -> None:
    check(*ROW_WISE[name], ROWS)


def test_bounds_of_clip() -> None:
    low, high = np.array([0.0, 1.0, 1.0, -1.0, 0.0, 2.0]), np.array([0.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    for x in (0.0, 1.0, -1.0, 2.0, 3.0):
        check(np.clip, torch.clamp, np.full(6, x), low, high)
