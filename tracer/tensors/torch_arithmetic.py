"""Tensor's methods of PyTorch, element by element: arithmetic, comparison, logic, bits and special functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...runtime.errors import ShapeError
from ...runtime.registry import require
from ...runtime.rules.activations import relu
from ...runtime.rules.elementwise import sigmoid
from ...unpatched import np
from ..core.dispatch import Foreign, apply, apply1, apply2
from ..core.exits import leave
from ..core.site import blame
from .torch_methods import Methods

__all__ = ["BINARY", "METHODS", "times"]

METHODS = Methods()
_method = METHODS.take


def _binary(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return fn(self, other, out=out)
        try:
            return apply2(op, self, other)
        except Foreign:
            return fn(self, other)

    op = require(fn)
    method.__doc__ = f"`{op.path}` of this tensor and another, or a number."
    return method


def _unary(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *, out: Any = None) -> Any:
        return apply1(op, self) if alone and out is None else fn(self, **({} if out is None else {"out": out}))

    op = require(fn)
    alone = len(op.params) == 1
    method.__doc__ = f"`{op.path}` of this tensor."
    return method


def _special(name: str, words: str = "") -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        from scipy import special  # optional

        return apply(require(getattr(special, name)), (*args, self) if words == "n" else (self, *args), {})

    method.__doc__ = f"`scipy.special.{name}` of this tensor: ModuleNotFoundError where SciPy is not installed."
    return method


BINARY: dict[Callable[..., Any], str] = {
    np.multiply: "mul multiply", np.floor_divide: "floor_divide", np.remainder: "remainder", np.fmod: "fmod",
    np.power: "pow", np.float_power: "float_power", np.true_divide: "true_divide", np.maximum: "maximum",
    np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin", np.equal: "eq", np.not_equal: "ne not_equal",
    np.less: "lt less", np.less_equal: "le less_equal", np.greater: "gt greater",
    np.greater_equal: "ge greater_equal", np.logical_and: "logical_and", np.logical_or: "logical_or",
    np.logical_xor: "logical_xor", np.bitwise_and: "bitwise_and", np.bitwise_or: "bitwise_or",
    np.bitwise_xor: "bitwise_xor", np.left_shift: "bitwise_left_shift", np.right_shift: "bitwise_right_shift",
    np.arctan2: "atan2 arctan2", np.hypot: "hypot", np.copysign: "copysign", np.nextafter: "nextafter",
    np.gcd: "gcd", np.lcm: "lcm", np.ldexp: "ldexp", np.logaddexp: "logaddexp", np.logaddexp2: "logaddexp2",
    np.heaviside: "heaviside",
}  # fmt: skip
_UNARY: dict[Callable[..., Any], str] = {
    np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.arcsinh: "asinh", np.arccosh: "acosh",
    np.arctanh: "atanh", np.trunc: "fix", np.invert: "bitwise_not", np.negative: "neg", np.absolute: "abs",
    np.conjugate: "conj_physical", np.sign: "sign sgn", np.isposinf: "isposinf", np.isneginf: "isneginf",
    np.isreal: "isreal", np.sinc: "sinc", np.i0: "i0", np.angle: "angle",
}  # fmt: skip
_SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "lgamma": "gammaln", "digamma": "psi", "igamma": "gammainc",
    "igammac": "gammaincc", "xlogy": "xlogy",
}  # fmt: skip

METHODS.update({name: _binary(fn) for fn, names in BINARY.items() for name in names.split()})
METHODS.update({name: _unary(fn) for fn, names in _UNARY.items() for name in names.split()})
METHODS.update({name: _special(fn) for name, fn in _SPECIAL.items()})
METHODS["polygamma"] = _special("polygamma", "n")


@_method
def add(self: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """This tensor plus `alpha` times another, or a number."""
    return np.add(self, times(other, alpha), out=out) if out is not None else self + times(other, alpha)


@_method
def sub(self: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """This tensor less `alpha` times another, or a number."""
    return np.subtract(self, times(other, alpha), out=out) if out is not None else self - times(other, alpha)


def times(other: Any, alpha: Any) -> Any:
    """`alpha * other`, which is `other` itself where the factor was left away."""
    return other if type(alpha) is int and alpha == 1 else other * alpha


@_method
def div(self: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """The quotient; `rounding_mode` "floor" rounds it down, "trunc" towards zero (ValueError for another)."""
    if rounding_mode not in (None, "floor", "trunc"):
        raise ValueError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    if rounding_mode == "floor":
        return np.floor_divide(self, other, out=out)
    if rounding_mode is None:
        return np.true_divide(self, other, out=out) if out is not None else self / other
    quotient = self / other
    kind = np.result_type(self, other)
    return np.trunc(quotient, out=out) if kind.kind == "f" else np.trunc(quotient).astype(kind)


@_method
def clamp(self: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """No element less than `min` nor greater than `max`, where these are given (ValueError where neither is)."""
    if min is None and max is None:
        raise ValueError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return np.clip(self, min, max, out=out)


@_method
def clamp_min(self: Any, min: Any) -> Any:
    """No element less than `min`."""
    return np.clip(self, min, None)


@_method
def clamp_max(self: Any, max: Any) -> Any:
    """No element greater than `max`."""
    return np.clip(self, None, max)


@_method
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """`self + weight * (end - self)`."""
    return self + weight * (end - self)


@_method
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`self + value * tensor1 * tensor2`."""
    return self + times(tensor1 * tensor2, value)


@_method
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """`self + value * tensor1 / tensor2`."""
    return self + times(np.true_divide(tensor1, tensor2), value)


@_method
def rsqrt(self: Any) -> Any:
    """`1 / sqrt(self)`."""
    return np.reciprocal(np.sqrt(self))


@_method
def frac(self: Any) -> Any:
    """What is behind the point: `self - trunc(self)`."""
    return self - np.trunc(self)


@_method
def logit(self: Any, eps: float | None = None) -> Any:
    """`log(x / (1 - x))`, of x within `eps` and `1 - eps` where that is given."""
    x = self if eps is None else np.clip(self, eps, 1 - eps)
    return np.log(x / (1 - x))


@_method
def nan_to_num(self: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Zeros (`nan`) in place of NaN, the largest numbers (`posinf`, `neginf`) in place of infinite ones."""
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@_method
def isclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Where `|self - other| <= atol + rtol * |other|`."""
    return np.isclose(self, other, rtol, atol, equal_nan)


@_method
def allclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` says so of all elements."""
    return bool(np.all(np.isclose(self, other, rtol, atol, equal_nan)))


@_method
def equal(self: Any, other: Any) -> bool:
    """Whether shapes and all elements are the same."""
    return bool(np.shape(self) == np.shape(other) and bool(np.all(np.equal(self, other))))


@_method
def is_nonzero(self: Any) -> bool:
    """Whether the one element is not zero: ShapeError where there are more."""
    if self.size != 1:
        found = "no values" if not self.size else "more than one value"
        raise blame(ShapeError(f"Boolean value of Tensor with {found} is ambiguous"))
    return bool(leave(self, "bool"))


@_method
def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    """0 from `-lambd` to `lambd`, the element itself elsewhere."""
    return np.where(np.abs(self) <= lambd, 0, self)


@_method
def prelu(self: Any, weight: Any) -> Any:
    """The element where it is positive, else `weight` times it: one weight, or one for each place along axis 1."""
    channels = self.shape[1] if self.ndim > 1 else 1
    if np.size(weight) not in (1, channels):
        raise blame(
            ShapeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {np.size(weight)} and "
                f"channel size = {channels}."
            )
        )
    if np.size(weight) != 1:
        weight = np.reshape(weight, (channels, *(1,) * (self.ndim - 2)))
    return np.where(self > 0, self, weight * self)


@_method
def mvlgamma(self: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of `p` dimensions."""
    if p < 1:
        raise blame(ShapeError(f"p has to be greater than or equal to 1, but got {p}"))
    parts = [METHODS["lgamma"](self - 0.5 * j) for j in range(p)]
    return sum(parts[1:], parts[0]) + p * (p - 1) / 4 * math.log(math.pi)


METHODS |= {
    "subtract": sub, "divide": div, "relu": lambda self: relu(self), "sigmoid": lambda self: sigmoid(self),
    "rad2deg": lambda self: np.rad2deg(self), "deg2rad": lambda self: np.deg2rad(self),
}  # fmt: skip
