"""np.convolve and np.correlate: their transposes are convolutions with the other vector reversed."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import op, rule
from ..result_types import RUN
from .contraction import conj


def widened(g: Any, few: Any, mode: str, back_to_front: bool) -> Any:
    """The cotangent of a full convolution of which `mode` kept a part; the shorter vector has `few` numbers."""
    if mode == "full":
        return g
    before, behind = (few - 1, few - 1) if mode == "valid" else ((few - 1) // 2, few // 2)
    return np.pad(g, (behind, before) if back_to_front else (before, behind))


def length(shape: Any) -> Any:
    """How many numbers a vector has, or a number."""
    return shape[0] if shape else 1


def vector(x: Any) -> Any:
    """A number as a vector."""
    return x if np.ndim(x) else np.atleast_1d(x)


def in_shape(g: Any, shape: Any) -> Any:
    """The cotangent of a vector, which may have been a number."""
    return g if shape else np.reshape(g, shape)


def full_g(g: Any, x_shape: Any, y_shape: Any, mode: str, correlated: bool = False) -> Any:
    """The cotangent of all that both vectors have in common; NumPy correlates a shorter first vector back to front."""
    n, m = length(x_shape), length(y_shape)
    return widened(g, min(n, m), mode, correlated and n < m)


def convolved_back(g: Any, other: Any, mode: str, shape: Any, other_shape: Any) -> Any:
    """The cotangent of a vector that was convolved with another; of a "valid" one nothing is padded."""
    turned = np.flip(vector(other))
    if mode == "valid" and length(shape) >= length(other_shape):
        return in_shape(np.convolve(g, turned), shape)
    if mode == "valid":
        return in_shape(np.convolve(turned, g, "valid"), shape)
    return in_shape(np.convolve(full_g(g, shape, other_shape, mode), turned, "valid"), shape)


op(np.convolve, "x, y, mode='full'", Kind.bilinear, types=RUN)
rule(
    np.convolve,
    x=lambda g, y, mode, x_shape, y_shape: convolved_back(g, y, mode, x_shape, y_shape),
    y=lambda g, x, mode, x_shape, y_shape: convolved_back(g, x, mode, y_shape, x_shape),
)

op(np.correlate, "x, y, mode='valid'", Kind.bilinear, types=RUN)
rule(
    np.correlate,
    x=lambda g, y, mode, x_shape, y_shape: np.convolve(
        full_g(g, x_shape, y_shape, mode, correlated=True), conj(vector(y)), "valid"
    ),
    y=lambda g, x, mode, x_shape, y_shape: np.flip(
        conj(np.convolve(full_g(g, x_shape, y_shape, mode, correlated=True), np.flip(vector(x)), "valid"))
    ),
)
