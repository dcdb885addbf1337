"""How compiled and eager results differ, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trees import flatten_row

__all__ = ["difference"]


def difference(found: Any, expected: Any) -> str | None:
    """How compiled and eager results differ, bit for bit; None where they do not."""
    a, structure_a = flatten_row(found)
    b, structure_b = flatten_row(expected)
    if structure_a != structure_b:
        return f"its structure is {structure_a}, eager's is {structure_b}"
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if type(x) is not type(y):
            return f"result {k} is a {type(x).__name__}, eager's a {type(y).__name__}"
        if isinstance(x, np.ndarray) and (x.dtype != y.dtype or x.shape != y.shape or x.strides != y.strides):
            return (
                f"result {k} has dtype, shape, strides {x.dtype}, {x.shape}, {x.strides}; "
                f"eager's {y.dtype}, {y.shape}, {y.strides}"
            )
        if isinstance(x, (np.ndarray, np.generic)):
            if x.tobytes() != y.tobytes() and not _same_but_nan(x, y):
                worst = np.max(np.abs(np.asarray(x, dtype=complex) - np.asarray(y, dtype=complex)))
                return f"result {k} differs by up to {worst:.3g}"
        elif repr(x) != repr(y):
            return f"result {k} is {x!r}, eager's {y!r}"
    return None


def _same_but_nan(x: Any, y: Any) -> bool:
    """Equal values and signs, but for the payload of NaNs, which NumPy does not promise from run to run."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return False
    # not by bytes: those that pad a long double are anything
    signs = (np.signbit(x.real) == np.signbit(y.real)) & (np.signbit(x.imag) == np.signbit(y.imag))
    return bool(np.all((np.isnan(x) & np.isnan(y)) | ((x == y) & signs)))
