"""Batching of the functions of math, cmath and statistics: what NumPy has for arrays, by its own rule.

No error of one example can be raised for all: where Python raises, NumPy gives NaN or an infinity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, Rule, batching
from .rules.elementwise import astype

__all__: list[str] = []

_HERE = "gradscribe.runtime.rules.python_math"  # loaded by who needs it
_STATISTICS = "gradscribe.runtime.rules.python_statistics"
_OF_ARRAYS: dict[str, Any] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
    "cos": np.cos, "cosh": np.cosh, "exp": np.exp, "isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan,
    "log": np.log, "log10": np.log10, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
_OF_REALS: dict[str, Any] = {
    "atan2": np.arctan2, "cbrt": np.cbrt, "copysign": np.copysign, "degrees": np.degrees, "exp2": np.exp2,
    "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod, "ldexp": np.ldexp, "log1p": np.log1p, "log2": np.log2,
    "pow": np.power, "radians": np.radians,
}  # fmt: skip


def _as_numpy(fn: Any) -> Rule:
    return lambda call: call.apply(fn, *call.bound)


def _as_complex(fn: Any) -> Rule:
    return lambda call: call.apply(fn, call.apply(astype, call["x"], np.dtype(np.complex128)))


for _name, _fn in {**_OF_ARRAYS, **_OF_REALS}.items():
    batching(f"math.{_name}")(_as_numpy(_fn))
for _name, _fn in {**_OF_ARRAYS, "phase": np.angle}.items():
    batching(f"cmath.{_name}")(_as_complex(_fn))


@batching("math.erf", "math.erfc", "math.gamma", "math.lgamma", "math.remainder", "math.fma")
def of_each(call: Call) -> Any:
    """Python's function of each example: NumPy has none, and its errors are raised."""
    from .rules import python_math

    return call.apply(getattr(python_math, call.op.name), *call.bound)


@batching("math.hypot")
def hypot(call: Call) -> Any:
    """By twos."""
    first, *others = call["xs"]
    found = call.apply(np.absolute, first)
    for x in others:
        found = call.apply(np.hypot, found, x)
    return found


@batching("math.ulp")
def ulp(call: Call) -> Any:
    """The distance to the next number."""
    return call.apply(np.spacing, call.apply(np.absolute, call["x"]))


@batching("math.fsum")
def fsum(call: Call) -> Any:
    """A sum of each sample, which is rounded more than once."""
    return call.apply(np.sum, call["x"], axis=1)


@batching("math.sumprod", f"{_HERE}.sumprod")
def sumprod(call: Call) -> Any:
    """A sum of products, which is rounded more than once."""
    return call.apply(np.sum, call["x"] * call["y"], axis=-1)


@batching("math.dist")
def dist(call: Call) -> Any:
    """The norm of the difference."""
    return np.linalg.norm(call["x"] - call["y"], axis=-1)


@batching("math.isclose", "cmath.isclose")
def isclose(call: Call) -> Any:
    """Python's test, which treats both numbers alike."""
    a, b = call["a"], call["b"]
    size = np.maximum(np.absolute(a), np.absolute(b))
    near = np.absolute(a - b) <= np.maximum(call["rel_tol"] * size, call["abs_tol"])
    return (a == b) | (near & np.isfinite(size))


@batching(f"{_HERE}.exponent")
def exponent(call: Call) -> Any:
    """As np.frexp."""
    return call.apply(np.frexp, call["x"])[1]


@batching(f"{_HERE}.fraction", f"{_HERE}.whole")
def parts(call: Call) -> Any:
    """As np.modf."""
    return call.apply(np.modf, call["x"])[call.op.name == "whole"]


@batching("cmath.rect")
def rect(call: Call) -> Any:
    """By the cosine and the sine."""
    phi = call["phi"]
    return call["r"] * (call.apply(np.cos, phi) + 1j * call.apply(np.sin, phi))


# Samples, whose elements are on the last axis.


def _mean(x: Any) -> Any:
    return np.mean(x, axis=-1)


def _deviations(x: Any) -> Any:
    return x - np.mean(x, axis=-1, keepdims=True)


@batching(
    "statistics.mean", "statistics.fmean", "statistics.geometric_mean", "statistics.harmonic_mean",
    f"{_STATISTICS}.fmean", f"{_STATISTICS}.geometric_mean",
)  # fmt: skip
def mean(call: Call) -> Any:
    """A mean of each sample, of its logarithms or of its reciprocals."""
    x, name = call["x"], call.op.name
    weights = call["weights"] if "weights" in call._places else None
    if name == "geometric_mean":
        return np.exp(_mean(np.log(x)))
    x = 1.0 / x if name == "harmonic_mean" else x
    found = _mean(x) if weights is None else np.sum(x * weights, axis=-1) / call.apply(np.sum, weights, axis=-1)
    return 1.0 / found if name == "harmonic_mean" else found


@batching("statistics.variance", "statistics.pvariance", "statistics.stdev", "statistics.pstdev")
def variance(call: Call) -> Any:
    """The mean square of the deviations, or its root."""
    x, name = call["x"], call.op.name
    center = call["mu" if name.startswith("p") else "xbar"]
    if center is not None and np.ndim(center):
        center = np.expand_dims(center, -1)
    deviations = _deviations(x) if center is None else x - center
    found = np.sum(deviations * deviations, axis=-1) / (x.shape[-1] - (not name.startswith("p")))
    return np.sqrt(found) if name.endswith("stdev") else found


@batching("statistics.covariance", "statistics.correlation", f"{_STATISTICS}.covariance", f"{_STATISTICS}.correlation")
def covariance(call: Call) -> Any:
    """The mean product of the deviations, or what it is of the largest one that there could be."""
    x, y = _deviations(call["x"]), _deviations(call["y"])
    if call.op.name == "covariance":
        return np.sum(x * y, axis=-1) / (call["x"].shape[-1] - 1)
    return np.sum(x * y, axis=-1) / np.sqrt(np.sum(x * x, axis=-1) * np.sum(y * y, axis=-1))


@batching(*(f"{_STATISTICS}.{name}" for name in ("regression_slope", "regression_intercept", "slope", "intercept")))
def regression(call: Call) -> Any:
    """By least squares."""
    x, y = call["x"], call["y"]
    dx, dy = (x, y) if "proportional" in call._places and call["proportional"] else (_deviations(x), _deviations(y))
    slope = np.sum(dx * dy, axis=-1) / np.sum(dx * dx, axis=-1)
    return slope if call.op.name.endswith("slope") else _mean(y) - slope * _mean(x)
