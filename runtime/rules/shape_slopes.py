"""Slopes of incomplete gamma and beta, Bessel and zeta functions in shapes and orders, by central differences of eighth order.

There is no closed formula (NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov, 8.8, 8.17, 10.15, 25.11), but
the functions are analytic in their parameters, and SciPy has them to about 1e-15 of themselves. The step is a twentieth of the
length over which they change, and of a function and its complement the smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import special

from ...unpatched import np
from .support import chosen

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # B. Fornberg, Mathematics of Computation 51, 1988, table 1
SHARE = 0.05


def slope_of(f: Callable[[Any], Any], step: Any) -> Any:
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
    x = chosen(ends, 1.0, x)
    step = _step(a, a / 5, np.log(x / (a + 0.5)))
    low = slope_of(lambda e: special.gammainc(a + e, x), step)
    high = slope_of(lambda e: special.gammaincc(a + e, x), step)
    return chosen(ends, 0.0, chosen(special.gammainc(a, x) < 0.5, low, -high)).astype(out.dtype)


def beta_shape(a: Any, b: Any, x: Any, out: Any, second: bool) -> Any:
    """The slope of `special.betainc` in a, or in b, the second shape; of the dtype of `out`, and 0 where x is 0 or 1."""
    a, b, x = a * np.float64(1), b * np.float64(1), x * np.float64(1)
    ends = (x <= 0) | (x >= 1)
    x = chosen(ends, 0.5, x)
    p, share = (b, np.log1p(-x)) if second else (a, np.log(x))
    step = _step(p, np.minimum(p / 5, (a + b) / 40), share - np.log((p + 0.5) / (a + b + 1)))

    def moved(f: Any) -> Callable[[Any], Any]:
        return lambda e: f(a, b + e, x) if second else f(a + e, b, x)

    low, high = slope_of(moved(special.betainc), step), slope_of(moved(special.betaincc), step)
    return chosen(ends, 0.0, chosen(special.betainc(a, b, x) < 0.5, low, -high)).astype(out.dtype)


def student_shape(df: Any, t: Any, out: Any) -> Any:
    """The slope of `special.stdtr` in df, of the dtype of `out`: half of an incomplete beta function, https://dlmf.nist.gov/8.17."""
    df, t = df * np.float64(1), t * np.float64(1)
    middle = np.abs(t) < 1e-100
    t = chosen(middle, 1.0, t)
    x, rest = df / (df + t**2), t**2 / (df + t**2)
    moved = t**2 / (df + t**2) ** 2
    density = np.exp(special.xlogy(df / 2 - 1, x) - np.log(rest) / 2 - special.betaln(df / 2, 0.5))
    slope = (beta_shape(df / 2, np.float64(0.5), x, x, False) / 2 + density * moved) / 2
    return chosen(middle, 0.0, chosen(t < 0, slope, -slope)).astype(out.dtype)


def order_slope(f: Callable[..., Any], v: Any, x: Any, out: Any) -> Any:
    """The slope of a Bessel function `f(v, x)` in its order, of the dtype of `out`; it is entire there (10.2(ii))."""
    v, x = v * np.float64(1), x * np.float64(1)
    size = np.abs(x)
    lean = np.log(chosen(size == 0, 1.0, size) / (2 * np.abs(v) + 1))
    step = np.exp2(np.floor(np.log2(SHARE / (1 + np.abs(lean)))))
    return slope_of(lambda e: f(v + e, x), step).astype(out.dtype)


def zeta_order(zeta: Callable[..., Any], s: Any, q: Any, out: Any) -> Any:
    """The slope of Hurwitz' zeta function in s, of the dtype of `out`: that of its first term, and of all others by differences.

    There is a pole at 1 (25.11.4).
    """
    s, q = s * np.float64(1), q * np.float64(1)
    step = np.exp2(np.floor(np.log2(np.minimum(np.abs(s - 1) / 50, SHARE / (1 + np.log(q + 1))))))
    return (slope_of(lambda e: zeta(s + e, q + 1), step) - np.log(q) * q**-s).astype(out.dtype)
