"""The C form of each elementwise op: a template for each kind of dtype that its loop runs in."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Value
from ....runtime.ops import Op
from ....runtime.registry import require
from ....runtime.rules.elementwise import logistic, real_sigmoid
from .values import CTYPES, UnmodelledError

__all__ = ["Form", "form_of", "known_ops"]


class Form(NamedTuple):
    """An expression with {0}, {1} for operands, the dtypes that these are cast to, and that of the result."""

    text: str
    dtypes: tuple[np.dtype[Any], ...]
    out: np.dtype[Any]


# By ufunc: the template for floats, for int64 and for bool; "{f}" is the f of C's functions of floats.
_FLOATS = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "cbrt",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
]
_UFUNCS: dict[Any, tuple[str, str, str]] = {
    np.add: ("{0} + {1}",) * 2 + ("",), np.subtract: ("{0} - {1}",) * 2 + ("",),
    np.multiply: ("{0} * {1}",) * 2 + ("",), np.true_divide: ("{0} / {1}", "", ""),
    np.negative: ("-{0}",) * 2 + ("",), np.positive: ("{0}",) * 2 + ("",),
    np.square: ("{0} * {0}",) * 2 + ("",), np.reciprocal: ("1 / {0}", "", ""),
    np.absolute: ("fabs{f}({0})", "{0} < 0 ? -{0} : {0}", "{0}"), np.fabs: ("fabs{f}({0})", "", ""),
    np.sign: ("sign_{s}({0})", "({0} > 0) - ({0} < 0)", ""),
    np.copysign: ("copysign{f}({0}, {1})", "", ""), np.hypot: ("hypot{f}({0}, {1})", "", ""),
    np.arctan2: ("atan2{f}({0}, {1})", "", ""), np.power: ("pow{f}({0}, {1})", "", ""),
    np.float_power: ("pow{f}({0}, {1})", "", ""),
    np.fmod: ("fmod{f}({0}, {1})", "", ""), np.remainder: ("remainder_{s}({0}, {1})",) * 2 + ("",),
    np.floor_divide: ("floor_divide_{s}({0}, {1})",) * 2 + ("",),
    np.maximum: ("max_{s}({0}, {1})",) * 2 + ("{0} | {1}",), np.minimum: ("min_{s}({0}, {1})",) * 2 + ("{0} & {1}",),
    np.fmax: ("fmax{f}({0}, {1})", "max_l({0}, {1})", "{0} | {1}"),
    np.fmin: ("fmin{f}({0}, {1})", "min_l({0}, {1})", "{0} & {1}"),
    np.logaddexp: ("logaddexp_{s}({0}, {1})", "", ""),
    np.arcsin: ("asin{f}({0})", "", ""), np.arccos: ("acos{f}({0})", "", ""), np.arctan: ("atan{f}({0})", "", ""),
    np.arcsinh: ("asinh{f}({0})", "", ""), np.arccosh: ("acosh{f}({0})", "", ""), np.arctanh: ("atanh{f}({0})", "", ""),
    np.deg2rad: (f"{{0}} * ({{t}}){math.pi / 180!r}", "", ""), np.radians: (f"{{0}} * ({{t}}){math.pi / 180!r}", "", ""),
    np.rad2deg: (f"{{0}} * ({{t}}){180 / math.pi!r}", "", ""), np.degrees: (f"{{0}} * ({{t}}){180 / math.pi!r}", "", ""),
    np.less: ("{0} < {1}",) * 3, np.less_equal: ("{0} <= {1}",) * 3, np.greater: ("{0} > {1}",) * 3,
    np.greater_equal: ("{0} >= {1}",) * 3, np.equal: ("{0} == {1}",) * 3, np.not_equal: ("{0} != {1}",) * 3,
    np.logical_and: ("{0} != 0 && {1} != 0",) * 3, np.logical_or: ("{0} != 0 || {1} != 0",) * 3,
    np.logical_xor: ("({0} != 0) != ({1} != 0)",) * 3, np.logical_not: ("{0} == 0",) * 3,
    np.isnan: ("{0} != {0}", "0 * {0}", "0 * {0}"), np.isinf: ("fabs{f}({0}) == INFINITY", "0 * {0}", "0 * {0}"),
    np.isfinite: ("fabs{f}({0}) < INFINITY", "0 * {0} + 1", "0 * {0} + 1"), np.signbit: ("__builtin_signbit({0}) != 0", "", ""),
    np.bitwise_and: ("", "{0} & {1}", "{0} & {1}"), np.bitwise_or: ("", "{0} | {1}", "{0} | {1}"),
    np.bitwise_xor: ("", "{0} ^ {1}", "{0} ^ {1}"), np.invert: ("", "~{0}", "!{0}"),
} | {getattr(np, name): (f"{name}{{f}}({{0}})", "", "") for name in _FLOATS}  # fmt: skip

_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_POWERS = {2: "{0} * {0}", 3: "{0} * {0} * {0}", 1: "{0}", -1: "1 / {0}"}  # as they are, also for zeros and infinities
_ROOTS = {  # of which the processor takes vectors; a power of -0.0 or -inf has no sign
    0.5: "{0} == -INFINITY ? INFINITY : fabs{f}(sqrt{f}({0}))",
    1.5: "{0} == -INFINITY ? INFINITY : {0} * sqrt{f}({0})",
    2.5: "{0} == -INFINITY ? INFINITY : fabs{f}({0} * {0} * sqrt{f}({0}))",
    -0.5: "{0} == -INFINITY ? 0 : fabs{f}(1 / sqrt{f}({0}))",
    -1.5: "{0} == -INFINITY ? 0 : fabs{f}(1 / {0} * (1 / sqrt{f}({0})))",
}
_SIGMOIDS = {logistic: "1 / (1 + exp{f}(-{0}))", real_sigmoid: "exp{f}(min_{s}({0}, 0)) / (1 + exp{f}(-fabs{f}({0})))"}


@functools.cache
def known_ops() -> dict[Op, Any]:
    """The ops that have a C form for elements, and the functions that they are of."""
    return {require(fn).base: fn for fn in (*_UFUNCS, *_SIGMOIDS, np.where)}


def form_of(op: Op, args: tuple[Any, ...], out: Value) -> Form:
    """The C form of a call; UnmodelledError where its dtypes, or the op, have none."""
    fn = known_ops().get(op.base)
    if fn is None:
        raise UnmodelledError
    if fn is np.where:
        if len(args) != 3 or args[1] is None or args[2] is None:
            raise UnmodelledError
        dtype = _native(out.type.dtype)
        return Form("{0} ? {1} : {2}", (np.dtype(bool), dtype, dtype), dtype)
    if fn in _SIGMOIDS:
        dtype = _native(out.type.dtype)
        if dtype.kind != "f" or not isinstance(args[0], Value) or args[0].type.dtype != dtype:
            raise UnmodelledError
        return Form(_filled(_SIGMOIDS[fn], dtype), (dtype,), dtype)
    if any(isinstance(a, Value) and not _is_number(a) for a in args[: fn.nin]):
        raise UnmodelledError
    given = [_weak(a) for a in args[: fn.nin]]
    if fn in _COMPARISONS and all(g is int for g in given):
        given = [np.dtype(np.int64)] * fn.nin  # NumPy takes ints of Python's as objects
    try:
        found = fn.resolve_dtypes((*given, None))
    except (TypeError, ValueError):
        raise UnmodelledError from None
    dtypes, result = tuple(map(_native, found[:-1])), _native(found[-1])
    if result != out.type.dtype:
        raise UnmodelledError  # two numbers of Python's, a dtype that the call states
    text = _UFUNCS[fn]["fib".index(dtypes[0].kind)]
    exponent = args[1] if fn in (np.power, np.float_power) else None
    fraction = float(exponent) if isinstance(exponent, (float, np.floating)) else None
    if fn is np.float_power:
        exponent = fraction
    if exponent is not None and not isinstance(exponent, Value) and exponent in _POWERS:
        text = _POWERS[int(exponent)] if dtypes[0].kind == "f" or exponent > 0 else ""
    elif type(exponent) is float and exponent == 0.5 and dtypes[0].kind == "f" and _is_root(op, args[0]):
        text = _UFUNCS[np.sqrt][0]
    elif fraction is not None and dtypes[0].kind == "f":
        text = _ROOTS.get(fraction, text)
    if not text or len(set(dtypes)) > 1:
        raise UnmodelledError
    return Form(_filled(text, dtypes[0]), dtypes, result)


def _is_root(op: Op, x: Any) -> bool:
    """Whether NumPy takes the power 0.5 of an array as its square root, which differs at -0.0 and -inf: newer ones do."""
    if not isinstance(x, Value) or x.type.kind != "array":
        return False
    with np.errstate(all="ignore"):
        return bool(np.all(np.isnan(op.fn(np.full((1,) * len(x.type.shape), -np.inf), 0.5))))


def _is_number(v: Value) -> bool:
    return v.type.kind in ("array", "scalar", "python") and v.type.dtype.name in CTYPES


def _filled(text: str, dtype: np.dtype[Any]) -> str:
    """A template with the names of C's functions of a dtype."""
    single = dtype == np.float32
    letters = {"float64": "d", "float32": "f", "int64": "l", "bool": "b"}
    text = text.replace("{f}", "f" if single else "").replace("{s}", letters[dtype.name])
    return text.replace("{t}", CTYPES[dtype.name])


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name not in CTYPES:
        raise UnmodelledError
    return dtype


def _weak(a: Any) -> Any:
    """An argument as `resolve_dtypes` takes it: a dtype, or the type of a number of Python's."""
    if isinstance(a, Value):
        weak = {"f": float, "i": int}.get(a.type.dtype.kind)
        return weak if a.type.kind == "python" and weak is not None else a.type.dtype
    if type(a) in (int, float):
        return type(a)
    if isinstance(a, (bool, np.generic)):
        return np.result_type(a)
    raise UnmodelledError
