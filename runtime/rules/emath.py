"""`np.emath`: functions that give complex numbers where the real ones have no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...unpatched import np
from ..registry import composed
from .elementwise import astype
from .support import happens, literal


def _widened(outside: Callable[[Any], Any], x: Any, *beside: Any) -> Any:
    """Return `x`, made complex where any of its numbers lies outside of what a real function takes."""
    x = literal(x, *beside)
    if x.dtype.kind == "c" or not happens(outside(x)):
        return x
    return astype(x, np.dtype(np.complex64 if x.dtype.itemsize < 8 and x.dtype.kind == "f" else np.complex128))


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_beyond_one(x: Any) -> Any:
    return np.absolute(x) > 1


def _of(fn: Callable[[Any], Any], outside: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fn(_widened(outside, x))


for _name in ("sqrt", "log", "log2", "log10"):
    composed(getattr(np.emath, _name))(_of(getattr(np, _name), _is_negative))
for _name in ("arccos", "arcsin", "arctanh"):
    composed(getattr(np.emath, _name))(_of(getattr(np, _name), _is_beyond_one))


@composed(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    """The principal value of the logarithm to base `n`."""
    return np.log(_widened(_is_negative, x, n)) / np.log(_widened(_is_negative, n, x))


@composed(np.emath.power)
def power(x: Any, p: Any) -> Any:
    """The principal value of a power; of whole numbers to negative ones too."""
    p = literal(p, x)
    if p.dtype.kind == "i" and happens(p < 0):
        p = astype(p, np.dtype(np.float64))
    return np.power(_widened(_is_negative, x, p), p)
