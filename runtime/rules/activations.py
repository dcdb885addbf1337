"""Activations and losses of single numbers for which a composition of NumPy functions is slower or less exact: why, at each."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import primitive, rule, singular_at
from .elementwise import logistic

elementwise = Kind.elementwise


# np.maximum shares its slope at equal numbers; the slope of relu at 0 is 0. And this keeps its result alone.
@primitive("x", elementwise)
def relu(x: Any) -> Any:
    """The larger one of `x` and 0."""
    return np.maximum(x, 0)


rule(relu, x=lambda g, out: np.where(out <= 0, 0, g))
singular_at(relu, x=lambda x: x == 0)


# The clamp of PyTorch's gaussian_nll_loss, which backward does not see.
@primitive("x, low", elementwise)
def raised(x: Any, low: Any) -> Any:
    """`x`, at least `low`, with the slope of `x`."""
    return np.maximum(x, low)


rule(raised, x=lambda g: g, low=None)


# The rule of np.expm1, the result plus 1, is 0 in float32 where exp(x) is 2e-9.
@primitive("x", elementwise)
def elu(x: Any) -> Any:
    """`x` where it is positive, exp(x) - 1 elsewhere."""
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


rule(elu, x=lambda g, x: np.where(x > 0, g, g * np.exp(np.minimum(x, 0))))



# The parts have kinks at 0 that cancel in the slope, and not in the slope of the slope; np.logaddexp(x, 0) has none, but
# takes 2 to 3 times as long (256 x 100 by benchmarks/losses.py).
@primitive("x", elementwise)
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without an overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


rule(softplus, x=lambda g, x: g * logistic(x))


# Six operations of NumPy, each a node of the graph, for a slope of one subtraction.
@primitive("x, y", elementwise)
def cross_entropy_of_logit(x: Any, y: Any) -> Any:
    """The cross-entropy of the probability `sigmoid(x)` for the target `y`: `softplus(x) - x * y`."""
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


rule(cross_entropy_of_logit, x=lambda g, x, y: g * (logistic(x) - y), y=lambda g, x: -g * x)


# At 0 and 1 the slope of a logarithm that is cut off would be zero times infinity. Within, this is the formula. (A number
# of 1e-45 stands for 0, lest NumPy warn; its logarithm is less than -100, also in float32.)
@primitive("x, y", elementwise)
def cross_entropy_of_probability(x: Any, y: Any) -> Any:
    """The cross-entropy of the probability `x` for the target `y`, of which no logarithm is less than -100."""
    other = np.where(x == 1, -100.0, np.log1p(-np.where(x == 1, 0.0, x)))
    out = (y - 1.0) * other - y * np.maximum(np.log(np.maximum(x, 1e-45)), -100.0)
    return out


rule(
    cross_entropy_of_probability,
    x=lambda g, x, y: g * ((x - y) / np.maximum((1 - x) * x, 1e-12)),
    y=lambda g, x: g * (np.maximum(np.log1p(-x), -100.0) - np.maximum(np.log(x), -100.0)),
)
