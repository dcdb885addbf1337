"""Constants as a person would write them, where that gives the same dtype."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.known_ops import WHERE
from ....runtime.registry import ops_of
from ....runtime.user_ops import text_name

__all__ = ["constant_tree", "given_tree", "in_place_of", "joined_text", "new_axis"]

_ARITHMETIC = frozenset(["+", "-", "*", "/"])
_CHOICES = ops_of(np.where, np.clip)
_EXACT = 1 << 11  # below, every float type has all integers


def in_place_of(constant: Any, call: Call) -> Any:
    """A NumPy scalar as a Python number, where the other operands of an elementwise call give the result its dtype.

    Of the backward part's own integers the float, which NumPy takes in faster, where the other operands are floats.
    """
    choice = call.op.base is WHERE
    if type(constant) is int and call.backward and (choice or call.op.infix in _ARITHMETIC) and abs(constant) < _EXACT:
        others = [a for a in call.args[choice:] if isinstance(a, Value)]
        if others and all(a.type.kind != "python" and a.type.dtype.kind == "f" for a in others):
            return float(constant)
    op = call.op
    promotes = isinstance(op.fn, np.ufunc) or op.infix is not None or op.inline or op.base in _CHOICES
    if not promotes or op.kind.value == "opaque":
        return constant
    if not isinstance(constant, np.generic) or constant.dtype.kind not in "fciu":
        return constant
    others = [a for a in call.args if isinstance(a, Value) and a.type.kind != "python"]
    weak = constant.item()
    if not others or not isinstance(weak, (int, float, complex)):
        return constant
    dtypes = [v.type.dtype for v in others]
    if np.result_type(*dtypes, weak) == np.result_type(*dtypes, constant):
        return weak
    return constant


def constant_tree(x: Any) -> Any:
    """A constant as an expression that evaluates to it, type and bits."""
    if isinstance(x, np.generic):
        return _numpy_scalar(x)
    if isinstance(x, np.dtype):
        return _attribute("np", "bool" if x.kind == "b" else x.name)
    if isinstance(x, type):
        if issubclass(x, np.generic):
            return _attribute("np", x.__name__.rstrip("_"))
        return gast.Name(id=x.__name__, ctx=gast.Load(), annotation=None, type_comment=None)
    if isinstance(x, float):
        return _float(x)
    if isinstance(x, int) and not isinstance(x, bool):
        return _signed(int(x), x < 0)
    if isinstance(x, complex):
        if (
            x.real == 0
            and not math.copysign(1, x.real) < 0
            and math.isfinite(x.imag)
            and not math.copysign(1, x.imag) < 0
        ):
            return gast.Constant(value=x, kind=None)
        return gast.Call(
            func=gast.Name(id="complex", ctx=gast.Load(), annotation=None, type_comment=None),
            args=[_float(x.real), _float(x.imag)], keywords=[],
        )  # fmt: skip
    if isinstance(x, (str, bytes, bool, type(None), type(Ellipsis))):
        return gast.Constant(value=x, kind=None)
    if type(x) is tuple:
        return gast.Tuple(elts=[constant_tree(e) for e in x], ctx=gast.Load())
    if type(x) is list:
        return gast.List(elts=[constant_tree(e) for e in x], ctx=gast.Load())
    if isinstance(x, types.FunctionType):  # of the user's, which the text imports
        return gast.Name(
            id=text_name(f"{x.__module__}.{x.__name__}"), ctx=gast.Load(), annotation=None, type_comment=None
        )
    if isinstance(x, slice):
        return gast.Call(
            func=gast.Name(id="slice", ctx=gast.Load(), annotation=None, type_comment=None),
            args=[constant_tree(e) for e in (x.start, x.stop, x.step)], keywords=[],
        )  # fmt: skip
    raise TypeError(f"a constant of type {type(x).__name__} cannot be written as source: {x!r}")


def given_tree(x: Any) -> Any:
    """A constant that is given back: a dtype is itself, not the type that NumPy takes for it."""
    made = constant_tree(x)
    return gast.Call(func=_attribute("np", "dtype"), args=[made], keywords=[]) if isinstance(x, np.dtype) else made


def new_axis(ndim: int, axis: int) -> Any:
    """The index that gives an array of `ndim` axes one more: `[None]`, `[:, None]` or `[..., None]`."""
    before = axis % (ndim + 1)
    none = gast.Constant(value=None, kind=None)
    if before > 1 and before == ndim:
        parts: list[Any] = [gast.Constant(value=..., kind=None)]
    else:
        parts = [gast.Slice(lower=None, upper=None, step=None) for _ in range(before)]
    return gast.Tuple(elts=[*parts, none], ctx=gast.Load()) if parts else none


def _attribute(head: str, name: str) -> Any:
    return gast.Attribute(
        value=gast.Name(id=head, ctx=gast.Load(), annotation=None, type_comment=None), attr=name, ctx=gast.Load()
    )


def _signed(x: Any, negative: bool) -> Any:
    constant = gast.Constant(value=-x if negative else x, kind=None)
    return gast.UnaryOp(op=gast.USub(), operand=constant) if negative else constant


def _float(x: float) -> Any:
    if math.isnan(x):
        return _attribute("np", "nan")
    negative = math.copysign(1, x) < 0
    if math.isinf(x):
        tree = _attribute("np", "inf")
        return gast.UnaryOp(op=gast.USub(), operand=tree) if negative else tree
    return _signed(float(x), negative)


def _numpy_scalar(x: Any) -> Any:
    name = type(x).__name__.rstrip("_")
    value = x.item()
    if isinstance(value, np.longdouble):  # it has no Python number
        value = float(value) if float(value) == value or value != value else str(value)
    elif isinstance(value, np.clongdouble):
        if complex(value) != value:
            raise TypeError(f"{value!r} cannot be written as source")
        value = complex(value)
    return gast.Call(func=_attribute("np", name), args=[constant_tree(value)], keywords=[])


def joined_text(parts: tuple[Any, ...], tree: Callable[[Any], Any]) -> Any:
    """An f-string of plain text and of pairs of a value and its format specification."""
    values: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            values.append(gast.Constant(value=part, kind=None))
            continue
        spec = gast.JoinedStr(values=[gast.Constant(value=part[1], kind=None)]) if part[1] else None
        values.append(gast.FormattedValue(value=tree(part[0]), conversion=-1, format_spec=spec))
    return gast.JoinedStr(values=values)
