"""Casts that keep the gradient: `float(t)`, `t.item()`, `complex(t)` and `np.float64(t)` inside a transform."""

from __future__ import annotations

from typing import Any

from ...runtime.arrays import is_array, on_host
from ...runtime.registry import require
from ...runtime.rules.elementwise import astype
from ...unpatched import np
from ..core.dispatch import apply
from ..core.exits import leave
from ..core.tensor_base import Operand, plain_shape
from ..core.thread_state import LOCAL, capturing

__all__ = ["as_complex", "as_float", "as_item", "as_scalar"]


def as_float(t: Operand) -> Any:
    """Return `float(t)`: a weak Python number that keeps its gradient; of integers and bools the plain number."""
    value = t._value
    if type(value) is float:
        return t
    if _kind(value) != "f" or _is_cut():
        return float(leave(t, "float"))
    return apply(require(float), (_one(t, float),), {})


def as_complex(*parts: Any) -> Any:
    """Return `complex(t)` or `complex(re, im)`: a weak Python number that keeps its gradient."""
    given = [p for p in parts if isinstance(p, Operand)]
    if _is_cut() or not any(_kind(p._value) in "fc" for p in given):
        return complex(*[leave(p, "complex") if isinstance(p, Operand) else p for p in parts])
    if len(parts) == 1 and type(given[0]._value) is complex:
        return given[0]
    return apply(require(complex), tuple([_one(p, complex) if isinstance(p, Operand) else p for p in parts]), {})


def as_item(t: Any) -> Any:
    """Return `t.item()`: the element as a weak Python number that keeps its gradient."""
    kind = _kind(t._value)
    if kind not in "fc" or _is_cut():
        return on_host(leave(t, "item")).item()
    if plain_shape(t) and np.size(t._value) != 1 and not LOCAL.levels:
        return on_host(t._value).item()  # raises as NumPy does
    one = t.reshape(()) if plain_shape(t) else t
    return as_float(one) if kind == "f" else as_complex(one)


def as_scalar(cls: type[np.generic], t: Operand) -> Any:
    """Return `np.float64(t)`, or another of NumPy's types called with a Tensor: a strong scalar that keeps its gradient."""
    found: Any = t
    if not hasattr(t._value, "dtype"):  # a number of Python's
        found = apply(require(np.complex128 if type(t._value) is complex else np.float64), (t,), {})
    if found.dtype != np.dtype(cls):
        found = astype(found, np.dtype(cls))
    if is_array(found._value) and not plain_shape(found) and not LOCAL.levels:
        found = found[()]
    if np.dtype(cls).kind in "biu" and not plain_shape(found) and not capturing() and not LOCAL.levels:
        return found._value  # no gradient, and often an index
    return found


def _kind(value: Any) -> str:
    return value.dtype.kind if hasattr(value, "dtype") else np.result_type(type(value)).kind


def _is_cut() -> bool:
    """Return whether the user has switched the gradient off, so that plain numbers are meant."""
    return not LOCAL.grad


def _one(t: Any, to: type) -> Any:
    """Return a Tensor without axes; of several elements raise as Python does."""
    if not plain_shape(t):
        return t
    if not LOCAL.levels:
        to(t._value)  # raises, or warns, as NumPy does
    return t.reshape(())
