"""Differences of compiled and eager results: bit for bit, or under `fastmath` beyond rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..runtime.arrays import is_array, is_cupys
from ..runtime.rules.support import NUMPY
from ..unpatched import np
from .trees import flatten_row

__all__ = ["LOOSE_COMPLEX", "NO_SIGNS", "difference", "is_near"]

NO_SIGNS = 1e-300  # an `eps` by which nothing differs but the signs of zeros

# NumPy 2.0 rounds a complex product by where it lies in memory, so that no two runs need agree on the last bit.
LOOSE_COMPLEX = NUMPY < (2, 1)


def difference(found: Any, expected: Any, eps: float = 0.0, slack: Sequence[float] | None = None) -> str | None:
    """Return the difference of compiled and eager results, bit for bit, or beyond rounding by `eps`; None where there is none.

    `slack` says of each result how far it may be off beside that, where this is known better than from `eps`.
    """
    a, structure_a = flatten_row(found)
    b, structure_b = flatten_row(expected)
    if structure_a != structure_b:
        return f"its structure is {structure_a}, eager's is {structure_b}"
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if type(x) is not type(y):
            return f"result {k} is a {type(x).__name__}, eager's a {type(y).__name__}"
        if is_cupys(x):
            if (problem := _difference_on_device(x, y, eps)) is not None:
                return f"result {k} {problem}"
            continue
        if is_array(x) and (x.dtype != y.dtype or x.shape != y.shape or _lie_otherwise(x, y)):
            return (
                f"result {k} has dtype, shape, strides {x.dtype}, {x.shape}, {x.strides}; "
                f"eager's {y.dtype}, {y.shape}, {y.strides}"
            )
        if isinstance(x, np.generic) or is_array(x):
            if not _same_bytes(x, y) and not (
                is_near(x, y, eps, None if slack is None else slack[k]) if eps else _same_bits(x, y)
            ):
                with np.errstate(all="ignore"):
                    worst = np.max(np.abs(np.asarray(x, dtype=complex) - np.asarray(y, dtype=complex)))
                return f"result {k} differs by up to {worst:.3g}"
        elif repr(x) != repr(y):
            return f"result {k} is {x!r}, eager's {y!r}"
    return None


def _lie_otherwise(x: Any, y: Any) -> bool:
    """Whether two arrays of one shape lie in memory in different ways; the stride of an axis of length 1 says nothing."""
    if x.strides == y.strides or not x.size:
        return False
    return any(n != 1 and one != other for n, one, other in zip(x.shape, x.strides, y.strides, strict=True))


def _difference_on_device(x: Any, y: Any, eps: float) -> str | None:
    """The difference of two arrays of CuPy's, beyond rounding: a GPU adds up in another order each time. One bool comes back."""
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"has dtype, shape {x.dtype}, {x.shape}; eager's {y.dtype}, {y.shape}"
    equal = (x == y) | ((x != x) & (y != y))
    if bool(np.all(equal)):
        return None
    if x.dtype.kind not in "fc":
        return "differs"
    both = np.where(np.isfinite(y), y, 0)
    off = np.where(equal, 0, np.abs(x - y))
    eps = max(eps, float(np.finfo(x.dtype).eps))
    return None if bool(np.all(off <= eps**0.5 * np.max(np.abs(both)) + 1000 * eps)) else "differs"


def _same_bytes(x: Any, y: Any) -> bool:
    if is_array(x) and x.flags.c_contiguous and y.flags.c_contiguous:
        return bool(np.array_equal(x.reshape(-1).view(np.uint8), y.reshape(-1).view(np.uint8)))
    return bool(x.tobytes() == y.tobytes())


def _same_bits(x: Any, y: Any) -> bool:
    """Equal values and signs, but for what NumPy does not promise from run to run, such as the payload of NaNs."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return False
    if x.dtype.kind == "c" and LOOSE_COMPLEX:
        return is_near(x, y, float(np.finfo(x.dtype).eps))
    # not by bytes: those that pad a long double are anything
    signs = (np.signbit(x.real) == np.signbit(y.real)) & (np.signbit(x.imag) == np.signbit(y.imag))
    return bool(np.all((np.isnan(x) & np.isnan(y)) | ((x == y) & signs)))


def is_near(x: Any, y: Any, eps: float, slack: float | None = None) -> bool:
    """Whether `x` is `y` but for rounding: NaN and infinities at the same places, the rest to half of the digits.

    That is `sqrt(eps)` times the largest finite number of `y`, and `slack`, or `1000 * eps`, for what cancels, where eps is
    that of the coarsest dtype computed with: 1.5e-8 of it and 2e-13 for float64, 3.5e-4 and 1.2e-4 for float32. Integers
    must be equal.
    """
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y))
    finite = np.isfinite(y)
    if not np.array_equal(np.isnan(x), np.isnan(y)) or not np.array_equal(np.isfinite(x), finite):
        return False
    infinite = ~finite & ~np.isnan(y)
    a, b = x[finite].astype(np.complex128), y[finite].astype(np.complex128)
    largest = float(np.max(np.abs(b), initial=0.0))
    near = np.abs(a - b) <= eps**0.5 * largest + (1000 * eps if slack is None else slack)
    return bool(np.all(near)) and bool(np.array_equal(x[infinite], y[infinite]))
