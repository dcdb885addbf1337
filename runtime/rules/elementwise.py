"""Elementwise ops and their derivatives, one line each: what broadcasts, and the engine sums back."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..ops import Kind
from ..registry import infix, op, primitive, rule, undifferentiable

elementwise, bilinear, linear = Kind.elementwise, Kind.bilinear, Kind.linear

for _fn in (
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.square, np.reciprocal,
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh,
    np.arctanh, np.absolute, np.fabs, np.sign, np.floor, np.ceil, np.rint, np.trunc, np.sinc,
):  # fmt: skip
    op(_fn, "x", elementwise)
for _fn in (np.negative, np.positive, np.conjugate, np.real, np.imag, np.deg2rad, np.rad2deg, np.radians, np.degrees):
    op(_fn, "x", linear)
for _fn in (
    np.power, np.float_power, np.arctan2, np.hypot, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp,
    np.logaddexp2, np.remainder, np.fmod, np.true_divide, np.heaviside,
):  # fmt: skip
    op(_fn, "x, y", elementwise)
op(np.add, "x, y", linear)
op(np.subtract, "x, y", linear)
op(np.multiply, "x, y", bilinear)
op(np.where, "condition, x, y", linear)
op(np.clip, "x, a_min=None, a_max=None", elementwise)
op(np.nan_to_num, "x, copy=True, nan=0.0, posinf=None, neginf=None", elementwise)
op(np.angle, "x, deg=False", elementwise)
op(np.round, "x, decimals=0", elementwise)

infix(np.add, operator.add, "+")
infix(np.subtract, operator.sub, "-")
infix(np.multiply, operator.mul, "*")
infix(np.true_divide, operator.truediv, "/")
infix(np.remainder, operator.mod, "%")
infix(np.power, operator.pow, "**")
infix(np.negative, operator.neg, "-")
infix(np.positive, operator.pos, "+")
infix(np.absolute, abs, "abs()")

# arithmetic
rule(np.add, x=lambda g: g, y=lambda g: g)
rule(np.subtract, x=lambda g: g, y=lambda g: -g)
rule(np.multiply, x=lambda g, y: g * y, y=lambda g, x: g * x)
rule(np.true_divide, x=lambda g, y: g / y, y=lambda g, out, y: -g * out / y)
rule(np.power, x=lambda g, x, y: g * power_slope(x, y), y=lambda g, out, x, y: g * out * safe_log(x, y))
rule(np.float_power, x=lambda g, x, y: g * power_slope(x, y), y=lambda g, out, x, y: g * out * safe_log(x, y))
rule(np.remainder, x=lambda g: g, y=lambda g, x, y: -g * np.floor_divide(x, y))
rule(np.fmod, x=lambda g: g, y=lambda g, x, y: -g * np.trunc(x / y))
rule(np.negative, x=lambda g: -g)
rule(np.positive, x=lambda g: g)
rule(np.square, x=lambda g, x: g * (2 * x))
rule(np.reciprocal, x=lambda g, out: -g * out * out)

# exponentials and roots
rule(np.exp, x=lambda g, out: g * out)
rule(np.exp2, x=lambda g, out: g * out * 0.6931471805599453)
rule(np.expm1, x=lambda g, out: g * (out + 1))
rule(np.log, x=lambda g, x: g / x)
rule(np.log2, x=lambda g, x: g / (x * 0.6931471805599453))
rule(np.log10, x=lambda g, x: g / (x * 2.302585092994046))
rule(np.log1p, x=lambda g, x: g / (1 + x))
rule(np.sqrt, x=lambda g, out: g / (2 * out))
rule(np.cbrt, x=lambda g, out: g / (3 * out * out))
rule(np.logaddexp, x=lambda g, out, x: g * exp_below(x, out), y=lambda g, out, y: g * exp_below(y, out))
rule(np.logaddexp2, x=lambda g, out, x: g * exp2_below(x, out), y=lambda g, out, y: g * exp2_below(y, out))

# trigonometry
rule(np.sin, x=lambda g, x: g * np.cos(x))
rule(np.cos, x=lambda g, x: -g * np.sin(x))
rule(np.tan, x=lambda g, out: g * (1 + out * out))
rule(np.arcsin, x=lambda g, x: g / np.sqrt(1 - x * x))
rule(np.arccos, x=lambda g, x: -g / np.sqrt(1 - x * x))
rule(np.arctan, x=lambda g, x: g / (1 + x * x))
rule(np.arctan2, x=lambda g, x, y: g * y / (x * x + y * y), y=lambda g, x, y: -g * x / (x * x + y * y))
rule(np.hypot, x=lambda g, out, x: g * ratio(x, out), y=lambda g, out, y: g * ratio(y, out))
rule(np.sinh, x=lambda g, x: g * np.cosh(x))
rule(np.cosh, x=lambda g, x: g * np.sinh(x))
rule(np.tanh, x=lambda g, out: g * (1 - out * out))
rule(np.arcsinh, x=lambda g, x: g / np.sqrt(x * x + 1))
rule(np.arccosh, x=lambda g, x: g / np.sqrt(x * x - 1))
rule(np.arctanh, x=lambda g, x: g / (1 - x * x))
rule(np.sinc, x=lambda g, out, x: g * np.where(x == 0, 0, (np.cos(np.pi * x) - out) / np.where(x == 0, 1, x)))
rule(np.deg2rad, x=lambda g: np.deg2rad(g))
rule(np.radians, x=lambda g: np.radians(g))
rule(np.rad2deg, x=lambda g: np.rad2deg(g))
rule(np.degrees, x=lambda g: np.degrees(g))

# kinks and steps: PyTorch's choices (ties share, zero at a step)
rule(np.absolute, x=lambda g, x: g * np.conjugate(np.sign(x)))
rule(np.fabs, x=lambda g, x: g * np.sign(x))
rule(np.maximum, x=lambda g, x, y: unless(x < y, x == y, g), y=lambda g, x, y: unless(y < x, x == y, g))
rule(np.minimum, x=lambda g, x, y: unless(x > y, x == y, g), y=lambda g, x, y: unless(y > x, x == y, g))
rule(np.fmax, x=lambda g, x, y: np.where((x >= y) | np.isnan(y), g, 0), y=lambda g, x, y: np.where((x >= y) | np.isnan(y), 0, g))
rule(np.fmin, x=lambda g, x, y: np.where((x <= y) | np.isnan(y), g, 0), y=lambda g, x, y: np.where((x <= y) | np.isnan(y), 0, g))
rule(
    np.clip,
    x=lambda g, x, a_min, a_max: g * inside(x, a_min, a_max),
    a_min=lambda g, x, a_min, a_max: g * (x < a_min if a_max is None else (x < a_min) & (a_min < a_max)),
    a_max=lambda g, x, a_min, a_max: g * (x > a_max if a_min is None else (x > a_max) | (a_max < a_min)),
)
rule(np.where, condition=None, x=lambda g, condition: np.where(condition, g, 0), y=lambda g, condition: np.where(condition, 0, g))
rule(np.nan_to_num, x=lambda g, x: g * np.isfinite(x))
for _fn in (np.sign, np.floor, np.ceil, np.rint, np.trunc, np.round):
    rule(_fn, x=lambda g: np.zeros_like(g))
rule(np.heaviside, x=lambda g: np.zeros_like(g), y=lambda g, x: g * (x == 0))

# complex: the plain transpose, see DESIGN
rule(np.real, x=lambda g: g)
rule(np.imag, x=lambda g: g * -1j)
rule(np.conjugate, x=lambda g: np.conjugate(g))
rule(np.angle, x=lambda g, x, deg: g * (np.imag(x) * -1 - 1j * np.real(x)) / (np.real(x) ** 2 + np.imag(x) ** 2) * (57.29577951308232 if deg else 1))

# no gradient by nature
for _fn in (np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.invert):
    undifferentiable(_fn, "x")
for _fn in (
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_or,
    np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.floor_divide, np.isclose, np.left_shift, np.right_shift,
):  # fmt: skip
    undifferentiable(_fn, "x, y" if _fn is not np.isclose else "x, y, rtol=1e-05, atol=1e-08, equal_nan=False")
for _fn, _operator, _symbol in (
    (np.greater, operator.gt, ">"), (np.greater_equal, operator.ge, ">="), (np.less, operator.lt, "<"),
    (np.less_equal, operator.le, "<="), (np.equal, operator.eq, "=="), (np.not_equal, operator.ne, "!="),
    (np.bitwise_and, operator.and_, "&"), (np.bitwise_or, operator.or_, "|"), (np.bitwise_xor, operator.xor, "^"),
    (np.floor_divide, operator.floordiv, "//"), (np.invert, operator.invert, "~"),
):  # fmt: skip
    infix(_fn, _operator, _symbol)


@primitive("x, dtype", linear)
def astype(x: Any, dtype: Any) -> Any:
    """`x` in another dtype."""
    return x.astype(dtype)


rule(astype, x=lambda g: g)


def power_slope(x: Any, y: Any) -> Any:
    """d(x ** y) / dx, also where y is 0 and x is 0."""
    if isinstance(y, (int, float)):
        if y == 2:
            return 2 * x
        return np.zeros_like(x) if y == 0 else y * x ** (y - 1)
    return y * x ** np.where(y == 0, 1, y - 1)


def safe_log(x: Any, y: Any) -> Any:
    """log(x), and 0 where x is 0 and x ** y does not depend on y there."""
    return np.log(np.where((x == 0) & (np.real(y) >= 0), 1, x))


def unless(lost: Any, tie: Any, g: Any) -> Any:
    """0 where an argument was not chosen, half of `g` where both were, else `g` (also at NaN, as PyTorch does)."""
    return np.where(lost, 0, np.where(tie, g / 2, g))


def inside(x: Any, low: Any, high: Any) -> Any:
    """Whether low <= x <= high; None is no bound."""
    if low is None:
        return True if high is None else x <= high
    return x >= low if high is None else (x >= low) & (x <= high)


def ratio(x: Any, whole: Any) -> Any:
    """x / whole, and 0 where whole is 0."""
    return x / np.where(whole == 0, 1, whole)


def exp_below(x: Any, out: Any) -> Any:
    """exp(x - out), and the right limit where both are -inf."""
    return np.exp(x - np.where(out == -np.inf, 0, out))


def exp2_below(x: Any, out: Any) -> Any:
    """2 ** (x - out), and the right limit where both are -inf."""
    return np.exp2(x - np.where(out == -np.inf, 0, out))
