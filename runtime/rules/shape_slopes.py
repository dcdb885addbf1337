"""Slopes of incomplete gamma and beta functions in their shape parameters, by central differences of eighth order.

There is no closed formula (NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov, 8.8 and 8.17), but the
functions are analytic in their parameters, and SciPy has them to about 1e-15 of themselves. The step is a twentieth of the length
over which they change, and of a function and its complement the smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import special

from ..unpatched import np

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # B. Fornberg, Mathematics of Computation 51, 1988, table 1
SHARE = 0.05


def _slope(f: Callable[[Any], Any], step: Any) -> Any:
    """The derivative at zero of a function of an offset."""
    found = None
    for k, weight in enumerate(WEIGHTS, start=1):
        term = weight * (f(k * step) - f(-k * step))
        found = term if found is None else found + term
    return found / step


def _step(p: Any, most: Any, lean: Any) -> Any:
    """A power of two, whose own derivative is zero, from the slope of the logarithm of the function at its ends."""
    length = 1 / (np.abs(lean) + 1 / np.sqrt(p + 1))
    return np.exp2(np.floor(np.log2(np.minimum(most, SHARE * length))))


def gamma_shape(a: Any, x: Any, out: Any) -> Any:
    """The slope of `special.gammainc` in a, of the dtype of `out`; 0 where x is 0 or infinite."""
    a, x = a * np.float64(1), x * np.float64(1)
    ends = (x <= 0) | np.isinf(x)
    x = np.where(ends, 1.0, x)
    step = _step(a, a / 5, np.log(x / (a + 0.5)))
    low = _slope(lambda e: special.gammainc(a + e, x), step)
    high = _slope(lambda e: special.gammaincc(a + e, x), step)
    return np.where(ends, 0.0, np.where(special.gammainc(a, x) < 0.5, low, -high)).astype(out.dtype)


def beta_shape(a: Any, b: Any, x: Any, out: Any, second: bool) -> Any:
    """The slope of `special.betainc` in a, or in b, the second shape; of the dtype of `out`, and 0 where x is 0 or 1."""
    a, b, x = a * np.float64(1), b * np.float64(1), x * np.float64(1)
    ends = (x <= 0) | (x >= 1)
    x = np.where(ends, 0.5, x)
    p, share = (b, np.log1p(-x)) if second else (a, np.log(x))
    step = _step(p, np.minimum(p / 5, (a + b) / 40), share - np.log((p + 0.5) / (a + b + 1)))

    def moved(f: Any) -> Callable[[Any], Any]:
        return lambda e: f(a, b + e, x) if second else f(a + e, b, x)

    low, high = _slope(moved(special.betainc), step), _slope(moved(special.betaincc), step)
    return np.where(ends, 0.0, np.where(special.betainc(a, b, x) < 0.5, low, -high)).astype(out.dtype)
