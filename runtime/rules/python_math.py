"""The functions of math and cmath as ops: each runs Python's own function, and its rule is NumPy and runs on arrays too."""

from __future__ import annotations

import cmath
import math
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall
from ..ops import Kind, Op
from ..registry import batching, jumps, op, primitive, require, rule, singular_at, undifferentiable
from . import elementwise as _elementwise  # whose rules these share
from .elementwise import astype
from .support import angle_back, not_zero, numpys_power

elementwise, linear = Kind.elementwise, Kind.linear

ROOT_PI, LN2 = math.sqrt(math.pi), _elementwise.LN2


def _numbers(fn: Any, signature: str, kind: Kind = elementwise, **options: Any) -> Op:
    """Register a function of Python numbers; its path is Python's."""
    return op(fn, signature, kind, path=f"{fn.__module__}.{fn.__name__}", **options)


def _as(fn: Any, array_fn: Any, *, may_raise: bool = True) -> None:
    """Register a function of one number that has the rule, and the singular points, of one of NumPy's."""
    base = require(array_fn)
    _numbers(fn, base.signature, may_raise=may_raise).vjps = base.vjps
    _many(fn, array_fn)


def _many(fn: Any, array_fn: Any) -> None:
    """State what a function becomes under vmap: one of arrays, which gives NaN or an infinity where Python's raises."""
    if fn.__module__ == "cmath":
        batching(fn)(lambda call: call.apply(array_fn, call.apply(astype, call["x"], np.dtype(np.complex128))))
    else:
        batching(fn)(lambda call: call.apply(array_fn, *call.bound))


# Functions of one number. Products stand in place of squares, which Python refuses where they are too large.

_RAISING: dict[str, Any] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "sinh": np.sinh, "cosh": np.cosh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
}  # fmt: skip
_TOTAL: dict[str, Any] = {
    "tanh": np.tanh, "cbrt": np.cbrt, "fabs": np.fabs, "degrees": np.degrees, "radians": np.radians, "copysign": np.copysign,
}  # fmt: skip
_COMPLEX: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "log10": np.log10, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
}  # fmt: skip
for _name, _of_arrays in _RAISING.items():
    _as(getattr(math, _name), _of_arrays)
for _name, _of_arrays in _TOTAL.items():
    _as(getattr(math, _name), _of_arrays, may_raise=False)
for _name, _of_arrays in _COMPLEX.items():
    _as(getattr(cmath, _name), _of_arrays)

jumps(lambda y: np.signbit(y), math.copysign)
jumps(lambda x: np.signbit(x.imag) & (x.real < 0), cmath.log, cmath.log10, cmath.sqrt)

_numbers(math.atan, "x")
rule(math.atan, x=lambda g, x: g / (1 + x * x))
_many(math.atan, np.arctan)

_numbers(math.asinh, "x")
rule(math.asinh, x=lambda g, x: g / np.hypot(x, 1.0))
_many(math.asinh, np.arcsinh)

_numbers(math.erf, "x")
_numbers(math.erfc, "x")


@primitive("x", elementwise)
def erf(x: Any) -> Any:
    """`math.erf` of each element."""
    return np.vectorize(math.erf, otypes=[np.float64])(x)


@primitive("x", elementwise)
def erfc(x: Any) -> Any:
    """`math.erfc` of each element."""
    return np.vectorize(math.erfc, otypes=[np.float64])(x)


for _erf in (math.erf, erf):
    rule(_erf, x=lambda g, x: g * (2 / ROOT_PI * np.exp(-(x * x))))
for _erfc in (math.erfc, erfc):
    rule(_erfc, x=lambda g, x: g * (-2 / ROOT_PI * np.exp(-(x * x))))
_many(math.erf, erf)
_many(math.erfc, erfc)

# Gamma and its kin.


@primitive("x", elementwise)
def digamma(x: Any) -> Any:
    """The derivative of the logarithm of the gamma function: reflected to x >= 1/2, carried to x + 16, by Stirling's series."""
    right = np.where(x < 0.5, 1.0 - x, x)
    z = right + 16.0
    w = 1.0 / (z * z)
    series = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * (691 / 32760 - w / 12))))))
    turn = np.where(x < 0.5, x - np.rint(x), 0.25)
    out = np.log(z) - 0.5 / z - series - np.where(x < 0.5, np.pi / np.tan(np.pi * turn), 0.0)
    for k in range(16):
        out = out - 1.0 / (right + k)
    return out


@primitive("n, x", elementwise)
def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`, n >= 1, in the same way."""
    right = np.where(x < 0.5, 1.0 - x, x)
    z = right + 16.0 + n
    total = math.factorial(n - 1) / z**n + math.factorial(n) / (2.0 * z ** (n + 1))
    for k, bernoulli in ((2, 1 / 6), (4, -1 / 30), (6, 1 / 42), (8, -1 / 30), (10, 5 / 66), (12, -691 / 2730), (14, 7 / 6)):
        total = total + bernoulli * math.factorial(k + n - 1) / math.factorial(k) / z ** (k + n)
    for k in range(16 + n):
        total = total + math.factorial(n) / (right + k) ** (n + 1)
    slopes = np.array([1.0, 0.0])  # of pi cot(pi x), as a polynomial of the cotangent
    for _ in range(n):
        slopes = np.polymul([-1.0, 0.0, -1.0], np.polyder(slopes))
    turn = np.where(x < 0.5, x - np.rint(x), 0.25)
    reflected = 0.0
    for slope in slopes.tolist():
        reflected = reflected / np.tan(np.pi * turn) + np.pi ** (n + 1) * slope
    out = np.where(x < 0.5, -total - reflected, total * (-1.0) ** (n + 1)) * 1.0
    return out


rule(digamma, x=lambda g, x: g * polygamma(1, x))
rule(polygamma, n=None, x=lambda g, n, x: g * polygamma(n + 1, x))

_numbers(math.gamma, "x", may_raise=True)
_numbers(math.lgamma, "x", may_raise=True)


@primitive("x", elementwise, may_raise=True)
def gamma(x: Any) -> Any:
    """`math.gamma` of each element."""
    return np.vectorize(math.gamma, otypes=[np.float64])(x)


@primitive("x", elementwise, may_raise=True)
def lgamma(x: Any) -> Any:
    """`math.lgamma` of each element."""
    return np.vectorize(math.lgamma, otypes=[np.float64])(x)


for _gamma in (math.gamma, gamma):
    rule(_gamma, x=lambda g, x, out: g * (out * digamma(x)))
for _lgamma in (math.lgamma, lgamma):
    rule(_lgamma, x=lambda g, x: g * digamma(x))
_many(math.gamma, gamma)
_many(math.lgamma, lgamma)

# Functions of several numbers.

_numbers(math.pow, "x, y", may_raise=True)
rule(
    math.pow,
    x=lambda g, x, y: g * (y * numpys_power(x - 1.0 * ((x == 0) & (y == 0)), y - 1.0)),
    y=lambda g, x, y, out: g * (out * np.log(np.where((x == 0) & (y >= 0), 1.0, x))),
)
singular_at(math.pow, x=lambda x, y: (x == 0) & (y < 1) & (y != 0), y=lambda x, y: (x == 0) & (y <= 0))
_many(math.pow, np.power)

_numbers(math.atan2, "x, y")
rule(
    math.atan2,
    x=lambda g, x, y: g * (y / not_zero(np.hypot(x, y)) / not_zero(np.hypot(x, y))),
    y=lambda g, x, y: -g * (x / not_zero(np.hypot(x, y)) / not_zero(np.hypot(x, y))),
)
singular_at(math.atan2, x=lambda x, y: (x == 0) & (y == 0), y=lambda x, y: (x == 0) & (y == 0))
jumps(lambda x, y: np.where(y < 0, 1 + np.signbit(x), 0), math.atan2)
_many(math.atan2, np.arctan2)

_numbers(math.hypot, "*xs", Kind.opaque)
rule(math.hypot, xs=lambda g, i, xs, out: g * (xs[i] / not_zero(out)))
singular_at(math.hypot, xs=lambda out: out == 0)


@batching(math.hypot)
def batched_hypot(call: BatchedCall) -> Any:
    """By twos."""
    first, *others = call["xs"]
    found = call.apply(np.absolute, first)
    for x in others:
        found = call.apply(np.hypot, found, x)
    return found


_numbers(math.fmod, "x, y", may_raise=True)
rule(math.fmod, x=lambda g: g, y=lambda g, x, y, out: -g * np.rint((x - out) / y))
singular_at(math.fmod, x=lambda x, out: (out == 0) & (x != 0), y=lambda x, out: (out == 0) & (x != 0))
jumps(lambda x, y, out: np.rint((x - out) / y), math.fmod)
_many(math.fmod, np.fmod)


@primitive("x, y", elementwise, may_raise=True)
def remainder(x: Any, y: Any) -> Any:
    """`math.remainder` of each pair of elements."""
    return np.vectorize(math.remainder, otypes=[np.float64])(x, y)


_numbers(math.remainder, "x, y", may_raise=True)
for _remainder in (math.remainder, remainder):
    rule(_remainder, x=lambda g: g, y=lambda g, x, y, out: -g * np.rint((x - out) / y))
    singular_at(_remainder, x=lambda y, out: abs(2 * out) == abs(y), y=lambda y, out: abs(2 * out) == abs(y))
jumps(lambda x, y, out: np.rint((x - out) / y), math.remainder, remainder)
_many(math.remainder, remainder)

_numbers(math.ldexp, "x, y", may_raise=True)
rule(math.ldexp, x=lambda g, y: np.ldexp(g, y), y=None)
_many(math.ldexp, np.ldexp)

_numbers(math.nextafter, "x, y", Kind.opaque)  # the neighbour moves along with its number
rule(math.nextafter, x=lambda g: g, y=None)

@primitive("x", Kind.opaque)
def exponent(x: Any) -> Any:
    """The exponent that `math.frexp` finds."""
    return math.frexp(x)[1]


@primitive("x", Kind.opaque)
def fraction(x: Any) -> Any:
    """The part behind the point, as `math.modf` gives it."""
    return math.modf(x)[0]


@primitive("x", Kind.opaque)
def whole(x: Any) -> Any:
    """The part before the point, as `math.modf` gives it."""
    return math.modf(x)[1]


rule(exponent, x=None)
rule(fraction, x=lambda g: g)
rule(whole, x=None)
jumps(lambda x: np.trunc(x), fraction)
singular_at(fraction, x=lambda x, out: (out == 0) & (x != 0))
batching(exponent)(lambda call: call.apply(np.frexp, call["x"])[1])
batching(fraction)(lambda call: call.apply(np.modf, call["x"])[0])
batching(whole)(lambda call: call.apply(np.modf, call["x"])[1])

if hasattr(math, "fma"):  # Python 3.13
    _numbers(math.fma, "x, y, z", may_raise=True)

    @primitive("x, y, z", elementwise, may_raise=True)
    def fma(x: Any, y: Any, z: Any) -> Any:
        """`math.fma` of each triple of elements."""
        return np.vectorize(math.fma, otypes=[np.float64])(x, y, z)  # type: ignore[attr-defined]

    for _fma in (math.fma, fma):
        rule(_fma, x=lambda g, y: g * y, y=lambda g, x: g * x, z=lambda g: g)
    _many(math.fma, fma)

# Functions of an array, or of several.

_numbers(math.fsum, "x", Kind.opaque, may_raise=True)
rule(math.fsum, x=lambda g, x_shape: np.broadcast_to(g, x_shape))
batching(math.fsum)(lambda call: call.apply(np.sum, call["x"], axis=1))  # rounded more than once

_numbers(math.dist, "x, y", Kind.opaque)
rule(
    math.dist,
    x=lambda g, x, y, out: g * ((x - y) / not_zero(out)),
    y=lambda g, x, y, out: g * ((y - x) / not_zero(out)),
)
singular_at(math.dist, x=lambda out: out == 0, y=lambda out: out == 0)
batching(math.dist)(lambda call: np.linalg.norm(call["x"] - call["y"], axis=-1))

if hasattr(math, "sumprod"):  # Python 3.12
    _numbers(math.sumprod, "x, y", Kind.opaque, may_raise=True)

    @primitive("x, y", Kind.opaque, may_raise=True)
    def sumprod(x: Any, y: Any) -> Any:
        """`math.sumprod` of lists of Python's numbers, whose products it sums exactly."""
        return math.sumprod(x.tolist(), y.tolist())  # type: ignore[attr-defined]

    for _sumprod in (math.sumprod, sumprod):
        rule(_sumprod, x=lambda g, y: g * y, y=lambda g, x: g * x)
        batching(_sumprod)(lambda call: call.apply(np.sum, call["x"] * call["y"], axis=-1))  # rounded more than once

# Questions, and what is constant between its jumps.

for _asked in (math.isnan, math.isinf, math.isfinite, math.ulp, cmath.isnan, cmath.isinf, cmath.isfinite):
    undifferentiable(_asked, "x", path=f"{_asked.__module__}.{_asked.__name__}")
for _tested, _of_arrays in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
    _many(getattr(math, _tested), _of_arrays)
    _many(getattr(cmath, _tested), _of_arrays)
batching(math.ulp)(lambda call: call.apply(np.spacing, call.apply(np.absolute, call["x"])))
for _close in (math.isclose, cmath.isclose):
    undifferentiable(
        _close, "a, b, *, rel_tol=1e-09, abs_tol=0.0", Kind.opaque, path=f"{_close.__module__}.isclose", may_raise=True
    )


@batching(math.isclose, cmath.isclose)
def batched_isclose(call: BatchedCall) -> Any:
    """Python's test, which treats both numbers alike."""
    a, b = call["a"], call["b"]
    size = np.maximum(np.absolute(a), np.absolute(b))
    near = np.absolute(a - b) <= np.maximum(call["rel_tol"] * size, call["abs_tol"])
    return (a == b) | (near & np.isfinite(size))


# Complex numbers. The inverse functions take their branch from their result: at a cut, the argument does not tell it.

for _inverse, _of_arrays in (
    (cmath.asin, np.arcsin), (cmath.acos, np.arccos), (cmath.atan, np.arctan), (cmath.asinh, np.arcsinh),
    (cmath.acosh, np.arccosh), (cmath.atanh, np.arctanh),
):  # fmt: skip
    _numbers(_inverse, "x", may_raise=True)
    _many(_inverse, _of_arrays)
rule(cmath.asin, x=lambda g, out: g / np.cos(out))
rule(cmath.acos, x=lambda g, out: -g / np.sin(out))
rule(cmath.atan, x=lambda g, x: g / (1 + x * x))
rule(cmath.asinh, x=lambda g, out: g / np.cosh(out))
rule(cmath.acosh, x=lambda g, out: g / np.sinh(out))
rule(cmath.atanh, x=lambda g, x: g / (1 - x * x))
for _inverse in (cmath.asin, cmath.acos, cmath.atanh):
    singular_at(_inverse, x=lambda x: (x == 1) | (x == -1))
for _inverse in (cmath.atan, cmath.asinh):
    singular_at(_inverse, x=lambda x: x * x == -1)
singular_at(cmath.acosh, x=lambda x: (x == 1) | (x == -1))

_numbers(cmath.phase, "x")
rule(cmath.phase, x=lambda g, x, x_dtype: angle_back(g, x, x_dtype))
singular_at(cmath.phase, x=lambda x: x == 0)
jumps(lambda x: 1 + np.signbit(x.imag) if x.real < 0 else 0, cmath.phase)
_many(cmath.phase, np.angle)

_numbers(cmath.rect, "r, phi", may_raise=True)
rule(cmath.rect, r=lambda g, phi: g * (np.cos(phi) + 1j * np.sin(phi)), phi=lambda g, out: g * (1j * out))
batching(cmath.rect)(
    lambda call: call["r"] * (call.apply(np.cos, call["phi"]) + 1j * call.apply(np.sin, call["phi"]))
)
