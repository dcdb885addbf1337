"""Elementwise ops and their derivatives, one line each; the engine sums over broadcast axes."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

from ...unpatched import np
from ..batching import alone
from ..memory import MAY, NEW, VIEW, Memory, kind_of
from ..ops import Kind
from ..registry import batching, bounded, forms, infix, jumps, op, primitive, rule, singular_at, undifferentiable
from ..result_types import LENGTHS, UNKNOWN
from .support import (
    angle_back,
    apart,
    at_bounds,
    clip_back,
    clip_x,
    either,
    imag_back,
    not_zero,
    phase,
    power_x,
    power_y,
    scaled,
    sign_back,
    summed,
)

elementwise, bilinear, linear = Kind.elementwise, Kind.bilinear, Kind.linear

LN2, LN10, DEGREE = math.log(2), math.log(10), math.pi / 180

# Arithmetic.

op(np.add, "x, y", linear)
infix(np.add, operator.add, "+")
rule(np.add, x=lambda g: g, y=lambda g: g)

op(np.subtract, "x, y", linear)
infix(np.subtract, operator.sub, "-")
rule(np.subtract, x=lambda g: g, y=lambda g, y_shape: -summed(g, y_shape))

op(np.multiply, "x, y", bilinear)
infix(np.multiply, operator.mul, "*")
rule(np.multiply, x=lambda g, y: g * y, y=lambda g, x: g * x)

op(np.true_divide, "x, y", elementwise)
infix(np.true_divide, operator.truediv, "/")
rule(np.true_divide, x=lambda g, y: g / y, y=lambda g, y, y_shape, out: -summed(g * out, y_shape) / y)
singular_at(np.true_divide, x=lambda y: y == 0, y=lambda y: y == 0)

def _is_weak(x: Any) -> bool:
    """Whether it is a number of Python's: `2**-1` is no int, and `(-8.0) ** 0.5` no float."""
    return type(x) in (bool, int, float, complex)


op(np.power, "x, y", elementwise)
_BY_EXPONENT = (np.ones(1, np.float32) ** np.float64(2.0)).dtype == np.float32  # older NumPy: 2.0 is a short cut, 0.7 is not


def _power_types(x: Any, y: Any) -> Any:
    """Unknown where the value of the exponent decides."""
    by_value = (_is_weak(x) and _is_weak(y)) or (_BY_EXPONENT and not np.ndim(y) and np.ndim(x) > 0)
    return UNKNOWN if by_value else LENGTHS


infix(np.power, operator.pow, "**", _power_types)
rule(np.power, x=lambda g, x, y: power_x(g, x, y), y=lambda g, x, y, out: power_y(g, x, y, out))
singular_at(np.power, x=lambda x, y: (x == 0) & (y < 1) & (y != 0), y=lambda x, y: (x == 0) & (y <= 0))

op(np.float_power, "x, y", elementwise)
rule(np.float_power, x=lambda g, x, y: power_x(g, x, y), y=lambda g, x, y, out: power_y(g, x, y, out))
singular_at(np.float_power, x=lambda x, y: (x == 0) & (y < 1) & (y != 0), y=lambda x, y: (x == 0) & (y <= 0))
jumps(lambda x: np.signbit(np.imag(x)) & (np.real(x) < 0), np.power, np.float_power)

op(np.remainder, "x, y", elementwise)
infix(np.remainder, operator.mod, "%")
rule(np.remainder, x=lambda g: g, y=lambda g, x, y: -g * (x // y))
singular_at(np.remainder, x=lambda out: out == 0, y=lambda out: out == 0)
jumps(lambda x, y: np.floor_divide(x, y), np.remainder)

op(np.fmod, "x, y", elementwise)
rule(np.fmod, x=lambda g: g, y=lambda g, x, y: -g * np.trunc(x / y))
singular_at(np.fmod, x=lambda x, out: (out == 0) & (x != 0), y=lambda x, out: (out == 0) & (x != 0))
jumps(lambda x, y, out: np.rint((x - out) / y), np.fmod)

op(np.negative, "x", linear)
infix(np.negative, operator.neg, "-")
rule(np.negative, x=lambda g: -g)

op(np.positive, "x", linear)
infix(np.positive, operator.pos, "+")
rule(np.positive, x=lambda g: g)

op(np.reciprocal, "x", elementwise)
rule(np.reciprocal, x=lambda g, out: -g * out ** 2)
singular_at(np.reciprocal, x=lambda x: x == 0)

op(np.ldexp, "x, y", elementwise)
rule(np.ldexp, x=lambda g, y: np.ldexp(g, y), y=None)

# Size and sign.

op(np.absolute, "x", elementwise)
infix(np.absolute, builtins.abs, "abs()")
rule(np.absolute, x=lambda g, x, x_dtype: g * phase(x, x_dtype))
singular_at(np.absolute, x=lambda x: x == 0)
bounded(np.absolute, 0, np.inf)

op(np.fabs, "x", elementwise)
rule(np.fabs, x=lambda g, x: g * np.sign(x))
singular_at(np.fabs, x=lambda x: x == 0)

op(np.sign, "x", Kind.opaque)  # a complex sign turns with its argument, and is not its own JVP
rule(np.sign, x=lambda g, x, out, x_dtype: sign_back(g, x, out, x_dtype))
singular_at(np.sign, x=lambda x: x == 0)
bounded(np.sign, -1, 1)
jumps(lambda out: out, np.sign)

op(np.copysign, "x, y", elementwise)
rule(np.copysign, x=lambda g, x, y: g * np.sign(x) * np.copysign(1.0, y), y=lambda g: np.zeros_like(g))
jumps(lambda y: np.signbit(y), np.copysign)
singular_at(np.copysign, x=lambda x: x == 0, y=lambda y: y == 0)

op(np.square, "x", elementwise)
rule(np.square, x=lambda g, x: scaled(2, g) * x)
bounded(np.square, 0, np.inf)

op(np.sqrt, "x", elementwise)
rule(np.sqrt, x=lambda g, out: scaled(0.5, g) / out)
singular_at(np.sqrt, x=lambda x: x == 0)
bounded(np.sqrt, 0, np.inf)
jumps(lambda x: np.signbit(np.imag(x)) & (np.real(x) < 0), np.sqrt)

op(np.cbrt, "x", elementwise)
rule(np.cbrt, x=lambda g, out: g / (3 * out ** 2))
singular_at(np.cbrt, x=lambda x: x == 0)

op(np.hypot, "x, y", elementwise)
rule(np.hypot, x=lambda g, x, out: g * (x / not_zero(out)), y=lambda g, y, out: g * (y / not_zero(out)))
singular_at(np.hypot, x=lambda out: out == 0, y=lambda out: out == 0)
bounded(np.hypot, 0, np.inf)

# Exponentials and logarithms.

op(np.exp, "x", elementwise)
rule(np.exp, x=lambda g, out: g * out)
bounded(np.exp, 0, np.inf)

op(np.exp2, "x", elementwise)
rule(np.exp2, x=lambda g, out: g * (out * LN2))
bounded(np.exp2, 0, np.inf)

op(np.expm1, "x", elementwise)
rule(np.expm1, x=lambda g, out: g * (out + 1))

op(np.log, "x", elementwise)
rule(np.log, x=lambda g, x: g / x)
singular_at(np.log, x=lambda x: x == 0)
jumps(lambda x: np.signbit(np.imag(x)) & (np.real(x) < 0), np.log)

op(np.log2, "x", elementwise)
rule(np.log2, x=lambda g, x: g / (x * LN2))
singular_at(np.log2, x=lambda x: x == 0)

op(np.log10, "x", elementwise)
rule(np.log10, x=lambda g, x: g / (x * LN10))
singular_at(np.log10, x=lambda x: x == 0)

op(np.log1p, "x", elementwise)
rule(np.log1p, x=lambda g, x: g / (x + 1))
singular_at(np.log1p, x=lambda x: x == -1)

op(np.logaddexp, "x, y", elementwise)
rule(np.logaddexp, x=lambda g, x, y: g * logistic(apart(x, y)), y=lambda g, x, y: g * logistic(apart(y, x)))

op(np.logaddexp2, "x, y", elementwise)
rule(np.logaddexp2, x=lambda g, x, y: g * logistic(LN2 * apart(x, y)), y=lambda g, x, y: g * logistic(LN2 * apart(y, x)))


@primitive("x", elementwise)
def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x)), right to the last places in either tail; the exponential may overflow, to a zero."""
    return 1.0 / (1.0 + np.exp(-x))


rule(logistic, x=lambda g, x, out: g * (out * logistic(-x)))

# Trigonometry.

op(np.sin, "x", elementwise)
rule(np.sin, x=lambda g, x: g * np.cos(x))
bounded(np.sin, -1, 1)

op(np.cos, "x", elementwise)
rule(np.cos, x=lambda g, x: -g * np.sin(x))
bounded(np.cos, -1, 1)

op(np.tan, "x", elementwise)
rule(np.tan, x=lambda g, out: g * (1 + out ** 2))


def arc_root(x: Any, x_dtype: Any) -> Any:
    """The root of `1 - x ** 2`; of complex numbers on the side of the cut that the sign of their imaginary zero says."""
    return np.sqrt(-(x - 1)) * np.sqrt(x - -1) if x_dtype.kind == "c" else np.sqrt(1 - x ** 2)


op(np.arcsin, "x", elementwise)
rule(np.arcsin, x=lambda g, x, x_dtype: g / arc_root(x, x_dtype))
singular_at(np.arcsin, x=lambda x: abs(x) == 1)

op(np.arccos, "x", elementwise)
rule(np.arccos, x=lambda g, x, x_dtype: -g / arc_root(x, x_dtype))
singular_at(np.arccos, x=lambda x: abs(x) == 1)

op(np.arctan, "x", elementwise)
rule(np.arctan, x=lambda g, x: g / (1 + x ** 2))
bounded(np.arctan, -1.6, 1.6)

op(np.arctan2, "x, y", elementwise)
rule(
    np.arctan2,
    x=lambda g, x, y: g * (y / not_zero(x ** 2 + y ** 2)),
    y=lambda g, x, y: -g * (x / not_zero(x ** 2 + y ** 2)),
)
jumps(lambda x, y: np.where(y < 0, 1 + np.signbit(x), 0), np.arctan2)  # on both sides of the negative half of the axis
singular_at(np.arctan2, x=lambda x, y: (x == 0) & (y == 0), y=lambda x, y: (x == 0) & (y == 0))

op(np.sinh, "x", elementwise)
rule(np.sinh, x=lambda g, x: g * np.cosh(x))

op(np.cosh, "x", elementwise)
rule(np.cosh, x=lambda g, x: g * np.sinh(x))
bounded(np.cosh, 1, np.inf)

op(np.tanh, "x", elementwise)
rule(np.tanh, x=lambda g, out: g * (1 - out ** 2))
bounded(np.tanh, -1, 1)


@primitive("x", elementwise, title="Sigmoid")
def real_sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without an overflow, and right to the last places in either tail."""
    return np.exp(np.minimum(x, 0)) / (1.0 + np.exp(-np.abs(x)))


rule(real_sigmoid, x=lambda g, out: g * (out * (1 - out)))  # keeps its result alone, as PyTorch's does


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)): what `Tensor.sigmoid` is."""
    return 0.5 * (np.tanh(0.5 * x) + 1.0) if x.dtype.kind == "c" else real_sigmoid(x)

op(np.arcsinh, "x", elementwise)
rule(np.arcsinh, x=lambda g, x: g / np.sqrt(x ** 2 + 1))

op(np.arccosh, "x", elementwise)
rule(np.arccosh, x=lambda g, x, x_dtype: g / (np.sqrt(x - 1) * np.sqrt(x - -1 if x_dtype.kind == "c" else x + 1)))
singular_at(np.arccosh, x=lambda x: x == 1)

op(np.arctanh, "x", elementwise)
rule(np.arctanh, x=lambda g, x: g / (1 - x ** 2))
singular_at(np.arctanh, x=lambda x: abs(x) == 1)

op(np.sinc, "x", elementwise)
rule(np.sinc, x=lambda g, x, out: g * ((np.cos(np.pi * x) - out) / not_zero(x)))

for _to_radians in (np.deg2rad, np.radians):
    op(_to_radians, "x", linear)
    rule(_to_radians, x=lambda g: g * DEGREE)

for _to_degrees in (np.rad2deg, np.degrees):
    op(_to_degrees, "x", linear)
    rule(_to_degrees, x=lambda g: g / DEGREE)

# Choices. Of equal values each takes half in maximum and minimum, the first all in fmax and fmin: as in PyTorch.

op(np.where, "condition, x, y", elementwise)
rule(
    np.where,
    condition=None,
    x=lambda g, condition: np.where(condition, g, 0),
    y=lambda g, condition: np.where(condition, 0, g),
)

op(np.maximum, "x, y", elementwise)
rule(
    np.maximum,
    x=lambda g, x, y: np.where(x < y, 0, np.where(x == y, g / 2, g)),
    y=lambda g, x, y: np.where(x > y, 0, np.where(x == y, g / 2, g)),
)

op(np.minimum, "x, y", elementwise)
rule(
    np.minimum,
    x=lambda g, x, y: np.where(x > y, 0, np.where(x == y, g / 2, g)),
    y=lambda g, x, y: np.where(x < y, 0, np.where(x == y, g / 2, g)),
)

op(np.fmax, "x, y", elementwise)
rule(
    np.fmax,
    x=lambda g, x, y: np.where((x >= y) | np.isnan(y), g, 0),
    y=lambda g, x, y: np.where((x >= y) | np.isnan(y), 0, g),
)

op(np.fmin, "x, y", elementwise)
rule(
    np.fmin,
    x=lambda g, x, y: np.where((x <= y) | np.isnan(y), g, 0),
    y=lambda g, x, y: np.where((x <= y) | np.isnan(y), 0, g),
)

for _choice in (np.maximum, np.minimum, np.fmax, np.fmin):
    singular_at(_choice, x=lambda x, y: x == y, y=lambda x, y: x == y)

op(np.clip, "x, a_min=NoValue, a_max=NoValue, out=None, *, min=NoValue, max=NoValue", elementwise)
rule(
    np.clip,
    x=lambda g, x, a_min, a_max, min, max: clip_x(g, x, either(a_min, min), either(a_max, max)),
    a_min=lambda g, x, a_min, a_max: clip_back(g, x, a_min, a_max, low=True),
    a_max=lambda g, x, a_min, a_max: clip_back(g, x, a_min, a_max, low=False),
    min=lambda g, x, min, max: clip_back(g, x, min, max, low=True),
    max=lambda g, x, min, max: clip_back(g, x, min, max, low=False),
)
singular_at(
    np.clip,
    x=lambda x, a_min, a_max, min, max: at_bounds(x, either(a_min, min), either(a_max, max)),
    a_min=lambda x, a_min: x == a_min,
    a_max=lambda x, a_max: x == a_max,
    min=lambda x, min: x == min,
    max=lambda x, max: x == max,
)

op(np.heaviside, "x, y", elementwise)
rule(np.heaviside, x=lambda g: np.zeros_like(g), y=lambda g, x: np.where(x == 0, g, 0))
jumps(lambda x: np.sign(x), np.heaviside)
singular_at(np.heaviside, x=lambda x: x == 0)

op(
    np.nan_to_num, "x, copy=True, nan=0.0, posinf=None, neginf=None", elementwise,
    memory=lambda copy: NEW if copy is True else Memory("may", ("x",)),
)  # fmt: skip
rule(np.nan_to_num, x=lambda g, x: np.where(np.isfinite(x), g, 0))


@forms(np.nan_to_num)
def _cleaned_in_place(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Write the result of `copy=False` into the argument, as a write that Tensors see."""
    if copy or not hasattr(x, "dtype") or x.dtype.kind not in "fc":
        return NotImplemented
    x[...] = np.nan_to_num(x, True, nan, posinf, neginf)
    return x if x.ndim else x[()]


# Complex numbers, in the plain transpose: the cotangent of a + ib is dL/da - i dL/db.

op(np.real, "x", linear, memory=VIEW)
rule(np.real, x=lambda g: g)

op(np.imag, "x", linear, memory=MAY)  # of real numbers zeros, which may not be written
rule(np.imag, x=lambda g, x_dtype: imag_back(g, x_dtype))
batching(np.real, np.imag)(alone)

op(np.conjugate, "x", linear, title="Conj")
rule(np.conjugate, x=lambda g: np.conjugate(g))

op(np.angle, "x, deg=False", elementwise)
rule(np.angle, x=lambda g, x, x_dtype, deg: angle_back(g / DEGREE if deg else g, x, x_dtype))
singular_at(np.angle, x=lambda x: x == 0)
jumps(lambda x: np.where(np.real(x) < 0, 1 + np.signbit(np.imag(x)), 0), np.angle)


@primitive("x, dtype", linear, types=LENGTHS)
def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype."""
    return x.astype(dtype)


rule(astype, x=lambda g: g)  # the engine casts it back
jumps(lambda out: 0 if np.asarray(out).dtype.kind in "fc" else out, astype)
batching(astype)(alone)

# Steps: their derivative is zero wherever they have one.

for _step in (np.floor, np.ceil, np.rint, np.trunc):
    op(_step, "x", elementwise)
    rule(_step, x=lambda g: np.zeros_like(g))

for _round in (np.round, np.around):
    op(  # below NumPy 2.4 integers are given back as they are
        _round, "x, decimals=0, out=None", elementwise,
        memory=lambda x: NEW if kind_of(x) in "fc" else Memory("may", ("x",)),
    )  # fmt: skip
    rule(_round, x=lambda g: np.zeros_like(g))
    singular_at(_round, x=lambda x, out, decimals: abs(x - out) * 10.0**decimals == 0.5)

op(np.fix, "x, out=None", elementwise)
rule(np.fix, x=lambda g: np.zeros_like(g))

for _whole in (np.floor, np.ceil):
    singular_at(_whole, x=lambda x, out: x == out)
for _cut in (np.trunc, np.fix):
    singular_at(_cut, x=lambda x, out: (x == out) & (x != 0))
singular_at(np.rint, x=lambda x, out: abs(x - out) == 0.5)
jumps(lambda out: out, np.floor, np.ceil, np.rint, np.trunc, np.round, np.around, np.fix)

# Questions, and arithmetic on integers and truth values: no derivative at all.

for _fn, _twin, _symbol in (
    (np.greater, operator.gt, ">"), (np.greater_equal, operator.ge, ">="), (np.less, operator.lt, "<"),
    (np.less_equal, operator.le, "<="), (np.equal, operator.eq, "=="), (np.not_equal, operator.ne, "!="),
    (np.bitwise_and, operator.and_, "&"), (np.bitwise_or, operator.or_, "|"), (np.bitwise_xor, operator.xor, "^"),
    (np.floor_divide, operator.floordiv, "//"), (np.left_shift, operator.lshift, "<<"),
    (np.right_shift, operator.rshift, ">>"),
):  # fmt: skip
    undifferentiable(_fn, "x, y")
    infix(_fn, _twin, _symbol)

undifferentiable(np.invert, "x")
infix(np.invert, operator.invert, "~")

for _asked, _signature in (
    (np.isnan, "x"), (np.isinf, "x"), (np.isfinite, "x"), (np.signbit, "x"), (np.logical_not, "x"), (np.spacing, "x"),
    (np.isreal, "x"), (np.iscomplex, "x"), (np.isposinf, "x, out=None"), (np.isneginf, "x, out=None"),
    (np.logical_and, "x, y"), (np.logical_or, "x, y"), (np.logical_xor, "x, y"), (np.gcd, "x, y"), (np.lcm, "x, y"),
    (np.isclose, "x, y, rtol=1e-05, atol=1e-08, equal_nan=False"),
):  # fmt: skip
    undifferentiable(_asked, _signature)
