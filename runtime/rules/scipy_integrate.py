"""scipy.integrate of samples: the trapezoidal rule and Simpson's, whole and cumulative, and Romberg's.

Formulas: K. V. Cartwright, "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data", Journal of
Mathematical Sciences and Mathematics Education 12 (2017), as SciPy's documentation quotes them.
"""

from __future__ import annotations

import itertools
from typing import Any

from scipy import integrate

from ...unpatched import np
from ..registry import composed
from .scipy_functions import arrays
from .shaping import along


def _spacing(x: Any, dx: Any, ndim: int, axis: int) -> Any:
    """The distances of points along an axis, which may be given once for all."""
    if x is None:
        return dx
    if np.ndim(x) != 1:
        return np.diff(x, axis=axis)
    return np.reshape(np.diff(x), tuple([-1 if k == axis % ndim else 1 for k in range(ndim)]))


@composed(integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The trapezoidal rule."""
    return np.sum(_trapezes(y, x, dx, axis), axis=axis)


def _trapezes(y: Any, x: Any, dx: Any, axis: int) -> Any:
    y, x, dx = arrays(y, x, dx)
    d = _spacing(x, dx, np.ndim(y), axis)
    return d * (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]) / 2.0


@composed(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The running integral by the trapezoidal rule."""
    if initial not in (None, 0):
        raise ValueError("`initial` must be `None` or `0`.")
    return _after(initial, np.cumsum(_trapezes(y, x, dx, axis), axis=axis), axis)


def _after(initial: Any, found: Any, axis: int) -> Any:
    """Running sums behind what they begin with, which is added to them."""
    if initial is None:
        return found
    found = found + initial
    return np.concatenate([np.zeros_like(found[along(axis, slice(1))]) + initial, found], axis=axis)


def _ratio(x: Any, y: Any) -> Any:
    """`x / y`, and 0 where y is 0, as SciPy has it."""
    there = y != 0
    return np.where(there, x / np.where(there, y, 1.0), 0.0)


def _parabolas(y: Any, x: Any, dx: Any, axis: int, stop: int) -> Any:
    """Simpson's rule over the pairs of intervals that begin before `stop`."""
    y0, y1, y2 = (y[along(axis, slice(k, stop + k, 2))] for k in range(3))
    if x is None:
        return np.sum(y0 + 4.0 * y1 + y2, axis=axis) * (dx / 3.0)
    h0, h1 = (x[along(axis, slice(k, stop + k, 2))] for k in range(2))
    both, ratio = h0 + h1, _ratio(h0, h1)
    middle = y1 * (both * _ratio(both, h0 * h1))
    return np.sum(both / 6.0 * (y0 * (2.0 - _ratio(1.0, ratio)) + middle + y2 * (2.0 - ratio)), axis=axis)


@composed(integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Simpson's rule; of an odd number of intervals the last one by Cartwright's correction."""
    y, x, dx = arrays(y, x, dx)
    n, h = np.shape(y)[axis], None if x is None else _spacing(x, dx, np.ndim(y), axis)
    if n % 2:
        return _parabolas(y, h, dx, axis, n - 2)
    y1, y2 = y[along(axis, -1)], y[along(axis, -2)]
    h1 = dx if h is None else h[along(axis, -1)]
    if n == 2:
        return 0.5 * h1 * (y1 + y2)
    h0 = dx if h is None else h[along(axis, -2)]
    last = _ratio(2 * h1**2 + 3 * h0 * h1, 6 * (h1 + h0)) * y1 + _ratio(h1**2 + 3.0 * h0 * h1, 6 * h0) * y2
    return _parabolas(y, h, dx, axis, n - 3) + last - _ratio(h1**3, 6 * h0 * (h0 + h1)) * y[along(axis, -3)]


@composed(integrate.cumulative_simpson)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The running integral by Simpson's rule: each interval by the parabola through its ends and the next point, or the last."""
    y, x, dx, initial = arrays(y, x, dx, initial)
    if np.shape(y)[axis] < 3:
        return _after(initial, cumulative_trapezoid(y, x, dx, axis), axis)
    h = _spacing(x, dx, np.ndim(y), axis)
    h = h + np.zeros_like(y[along(axis, slice(1, None))])
    ahead = _intervals(y, h, axis)
    behind = np.flip(_intervals(np.flip(y, axis), np.flip(h, axis), axis), axis)
    count = np.shape(h)[axis]
    even = np.concatenate([ahead, behind[along(axis, slice(-1, None))]], axis=axis)[along(axis, slice(None, None, 2))]
    odd = behind[along(axis, slice(None, None, 2))]
    odd = odd[along(axis, slice(count // 2))]
    if count % 2:
        odd = np.concatenate([odd, even[along(axis, slice(-1, None))]], axis=axis)
    pairs = np.stack([np.moveaxis(even, axis, -1), np.moveaxis(odd, axis, -1)], axis=-1)
    each = np.moveaxis(np.reshape(pairs, (*np.shape(pairs)[:-2], -1))[..., :count], -1, axis)
    return _after(initial, np.cumsum(each, axis=axis), axis)


def _intervals(y: Any, h: Any, axis: int) -> Any:
    """The integral over the first interval of each pair."""
    f1, f2, f3 = (y[along(axis, part)] for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    h1, h2 = h[along(axis, slice(None, -1))], h[along(axis, slice(1, None))]
    share, ratio = h1 / (h1 + h2), h1 / h2
    both = share * ratio
    return h1 / 6 * ((3 - share) * f1 + (3 + both + share) * f2 - both * f3)


@composed(integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Romberg's rule: trapezoidal rules of halved steps, extrapolated to no step at all (F. L. Bauer, 1961)."""
    y, dx = arrays(y, dx)
    y = np.moveaxis(y, axis, -1)
    steps = np.shape(y)[-1] - 1
    if steps < 1 or steps & (steps - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    rows: list[Any] = []
    step = steps
    while step:
        points = y[..., ::step]
        rows.append((np.sum(points, axis=-1) - 0.5 * (points[..., 0] + points[..., -1])) * (dx * step))
        step //= 2
    for order in range(1, len(rows)):
        rows = [fine + (fine - coarse) / (4.0**order - 1.0) for coarse, fine in itertools.pairwise(rows)]
    return rows[0]
