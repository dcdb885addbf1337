"""The functions of statistics as ops on an array: each runs Python's own, and its rule is NumPy.

Those that ask what type an element is (from Python 3.12 on, products of floats are summed exactly, and of NumPy's numbers they
are not) have a second op, of the same name, for an array that stands for a list of Python's numbers.
"""

from __future__ import annotations

import statistics
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall
from ..ops import Kind
from ..registry import batching, op, primitive, require, rule, singular_at
from .support import not_zero

ROOT_TAU = (2 * np.pi) ** 0.5


def _statistic(fn: Any, signature: str) -> None:
    op(fn, signature, Kind.opaque, path=f"statistics.{fn.__name__}", may_raise=True)


def from_mean(x: Any, center: Any) -> Any:
    """The deviations from a mean: that of the data where none is stated."""
    return x - (np.mean(x) if center is None else center)


_statistic(statistics.mean, "x")
rule(statistics.mean, x=lambda g, x_shape: np.broadcast_to(g / x_shape[0], x_shape))

_statistic(statistics.fmean, "x, weights=None")
rule(
    statistics.fmean,
    x=lambda g, x_shape, weights: np.broadcast_to(g / x_shape[0], x_shape)
    if weights is None
    else g * (weights / np.sum(weights)),
    weights=lambda g, x, weights, out: g * ((x - out) / np.sum(weights)),
)

_statistic(statistics.geometric_mean, "x")
rule(statistics.geometric_mean, x=lambda g, x, x_shape, out: g * out / (x_shape[0] * x))

_statistic(statistics.harmonic_mean, "x, weights=None")
rule(
    statistics.harmonic_mean,
    x=lambda g, x, x_shape, weights, out: g
    * ((out / x) ** 2 * (1 / x_shape[0] if weights is None else weights / np.sum(weights))),
    weights=lambda g, x, weights, out: g * ((out - out**2 / x) / np.sum(weights)),
)

for _variance, _center, _less in ((statistics.variance, "xbar", 1), (statistics.pvariance, "mu", 0)):
    _statistic(_variance, f"x, {_center}=None")
rule(
    statistics.variance,
    x=lambda g, x, x_shape, xbar: g * (2 / (x_shape[0] - 1)) * from_mean(x, xbar),
    xbar=lambda g, x, x_shape, xbar: g * (-2 / (x_shape[0] - 1)) * np.sum(x - xbar),
)
rule(
    statistics.pvariance,
    x=lambda g, x, x_shape, mu: g * (2 / x_shape[0]) * from_mean(x, mu),
    mu=lambda g, x, x_shape, mu: g * (-2 / x_shape[0]) * np.sum(x - mu),
)
_statistic(statistics.stdev, "x, xbar=None")
rule(
    statistics.stdev,
    x=lambda g, x, x_shape, xbar, out: g * (from_mean(x, xbar) / not_zero((x_shape[0] - 1) * out)),
    xbar=lambda g, x, x_shape, xbar, out: g * (-np.sum(x - xbar) / not_zero((x_shape[0] - 1) * out)),
)
_statistic(statistics.pstdev, "x, mu=None")
rule(
    statistics.pstdev,
    x=lambda g, x, x_shape, mu, out: g * (from_mean(x, mu) / not_zero(x_shape[0] * out)),
    mu=lambda g, x, x_shape, mu, out: g * (-np.sum(x - mu) / not_zero(x_shape[0] * out)),
)
singular_at(statistics.stdev, x=lambda out: out == 0, xbar=lambda out: out == 0)
singular_at(statistics.pstdev, x=lambda out: out == 0, mu=lambda out: out == 0)

_statistic(statistics.covariance, "x, y")
rule(
    statistics.covariance,
    x=lambda g, y, y_shape: g * from_mean(y, None) / (y_shape[0] - 1),
    y=lambda g, x, x_shape: g * from_mean(x, None) / (x_shape[0] - 1),
)


def correlation_back(g: Any, x: Any, y: Any, out: Any) -> Any:
    """The cotangent of the first of two samples under their correlation."""
    dx, dy = from_mean(x, None), from_mean(y, None)
    xx, yy = np.sum(dx * dx), np.sum(dy * dy)
    return g * (dy / np.sqrt(xx * yy) - out * dx / xx)


_statistic(statistics.correlation, "x, y")
rule(
    statistics.correlation,
    x=lambda g, x, y, out: correlation_back(g, x, y, out),
    y=lambda g, x, y, out: correlation_back(g, y, x, out),
)


@primitive("x, y, proportional", Kind.opaque, may_raise=True)
def regression_slope(x: Any, y: Any, proportional: Any) -> Any:
    """The slope of `statistics.linear_regression`."""
    return statistics.linear_regression(x, y, proportional=proportional).slope


def about(x: Any, proportional: bool) -> Any:
    """The deviations that a regression line is fitted to: from zero for one through the origin."""
    return x if proportional else from_mean(x, None)


rule(
    regression_slope,
    x=lambda g, x, y, proportional, out: g
    * ((about(y, proportional) - 2 * out * about(x, proportional)) / np.sum(about(x, proportional) ** 2)),
    y=lambda g, x, proportional: g * (about(x, proportional) / np.sum(about(x, proportional) ** 2)),
)


@primitive("x, y", Kind.opaque, may_raise=True)
def regression_intercept(x: Any, y: Any) -> Any:
    """The intercept of `statistics.linear_regression`."""
    return statistics.linear_regression(x, y).intercept


rule(
    regression_intercept,
    x=lambda g, x, y, x_shape: g * intercept_slope(x, y, x_shape[0]),
    y=lambda g, x, x_shape: g * (1 / x_shape[0] - np.mean(x) * from_mean(x, None) / np.sum(from_mean(x, None) ** 2)),
)


def intercept_slope(x: Any, y: Any, n: Any) -> Any:
    """The derivative of the intercept by the places: the line turns about the mean, which moves along with them."""
    dx, dy = from_mean(x, None), from_mean(y, None)
    xx = np.sum(dx * dx)
    slope = np.sum(dx * dy) / xx
    return -slope / n - np.mean(x) * (dy - 2 * slope * dx) / xx


@primitive("x, mu, sigma", Kind.opaque, may_raise=True)
def normal_quantile(x: Any, mu: Any, sigma: Any) -> Any:
    """`inv_cdf` of `statistics.NormalDist`."""
    return statistics.NormalDist(mu, sigma).inv_cdf(x)


rule(
    normal_quantile,
    x=lambda g, mu, sigma, out: g * (sigma * ROOT_TAU * np.exp(((out - mu) / sigma) ** 2 / 2)),
    mu=lambda g: g,
    sigma=lambda g, mu, sigma, out: g * ((out - mu) / sigma),
)


# The same of lists of Python's numbers.


@primitive("x, weights", Kind.opaque, may_raise=True)
def fmean(x: Any, weights: Any) -> Any:
    """`statistics.fmean` of lists."""
    return statistics.fmean(x.tolist(), weights.tolist())


@primitive("x", Kind.opaque, may_raise=True)
def geometric_mean(x: Any) -> Any:
    """`statistics.geometric_mean` of a list."""
    return statistics.geometric_mean(x.tolist())


@primitive("x, y", Kind.opaque, may_raise=True)
def covariance(x: Any, y: Any) -> Any:
    """`statistics.covariance` of lists."""
    return statistics.covariance(x.tolist(), y.tolist())


@primitive("x, y", Kind.opaque, may_raise=True)
def correlation(x: Any, y: Any) -> Any:
    """`statistics.correlation` of lists."""
    return statistics.correlation(x.tolist(), y.tolist())


@primitive("x, y, proportional", Kind.opaque, may_raise=True)
def slope(x: Any, y: Any, proportional: Any) -> Any:
    """The slope of `statistics.linear_regression` of lists."""
    return statistics.linear_regression(x.tolist(), y.tolist(), proportional=proportional).slope


@primitive("x, y", Kind.opaque, may_raise=True)
def intercept(x: Any, y: Any) -> Any:
    """The intercept of `statistics.linear_regression` of lists."""
    return statistics.linear_regression(x.tolist(), y.tolist()).intercept


# Samples under vmap, whose elements are on the last axis; NumPy sums them, so that they are rounded more than once.


def _mean(x: Any) -> Any:
    return np.mean(x, axis=-1)


def _deviations(x: Any) -> Any:
    return x - np.mean(x, axis=-1, keepdims=True)


@batching(statistics.mean)
def batched_mean(call: BatchedCall) -> Any:
    """A mean of each sample."""
    return _mean(call["x"])


def _weighted(call: BatchedCall, x: Any) -> Any:
    weights = call["weights"]
    return _mean(x) if weights is None else np.sum(x * weights, axis=-1) / call.apply(np.sum, weights, axis=-1)


@batching(statistics.fmean, fmean)
def batched_fmean(call: BatchedCall) -> Any:
    """A weighted mean of each sample."""
    return _weighted(call, call["x"])


@batching(statistics.geometric_mean, geometric_mean)
def batched_geometric_mean(call: BatchedCall) -> Any:
    """A mean of the logarithms of each sample."""
    return np.exp(_mean(np.log(call["x"])))


@batching(statistics.harmonic_mean)
def batched_harmonic_mean(call: BatchedCall) -> Any:
    """A weighted mean of the reciprocals of each sample."""
    return 1.0 / _weighted(call, 1.0 / call["x"])


def _mean_square(call: BatchedCall, center: Any, lost: int) -> Any:
    """The mean square of the deviations of each sample."""
    x = call["x"]
    if center is not None and np.ndim(center):
        center = np.expand_dims(center, -1)
    deviations = _deviations(x) if center is None else x - center
    return np.sum(deviations * deviations, axis=-1) / (x.shape[-1] - lost)


batching(statistics.variance)(lambda call: _mean_square(call, call["xbar"], 1))
batching(statistics.pvariance)(lambda call: _mean_square(call, call["mu"], 0))
batching(statistics.stdev)(lambda call: np.sqrt(_mean_square(call, call["xbar"], 1)))
batching(statistics.pstdev)(lambda call: np.sqrt(_mean_square(call, call["mu"], 0)))


@batching(statistics.covariance, covariance)
def batched_covariance(call: BatchedCall) -> Any:
    """The mean product of the deviations."""
    return np.sum(_deviations(call["x"]) * _deviations(call["y"]), axis=-1) / (call["x"].shape[-1] - 1)


@batching(statistics.correlation, correlation)
def batched_correlation(call: BatchedCall) -> Any:
    """The covariance in terms of the largest one that there could be."""
    x, y = _deviations(call["x"]), _deviations(call["y"])
    return np.sum(x * y, axis=-1) / np.sqrt(np.sum(x * x, axis=-1) * np.sum(y * y, axis=-1))


@batching(regression_slope, slope)
def batched_slope(call: BatchedCall) -> Any:
    """By least squares, about the means, or through the origin."""
    x, y = call["x"], call["y"]
    dx, dy = (x, y) if call["proportional"] else (_deviations(x), _deviations(y))
    return np.sum(dx * dy, axis=-1) / np.sum(dx * dx, axis=-1)


@batching(regression_intercept, intercept)
def batched_intercept(call: BatchedCall) -> Any:
    """By least squares: how the line misses the mean without it."""
    x, y = call["x"], call["y"]
    dx, dy = _deviations(x), _deviations(y)
    return _mean(y) - np.sum(dx * dy, axis=-1) / np.sum(dx * dx, axis=-1) * _mean(x)


OF_LISTS = {
    statistics.fmean: fmean, statistics.geometric_mean: geometric_mean, statistics.covariance: covariance,
    statistics.correlation: correlation, regression_slope: slope, regression_intercept: intercept,
}  # fmt: skip
for _of_array, _of_list in OF_LISTS.items():
    require(_of_list).vjps = require(_of_array).vjps
