"""scipy.interpolate: splines that do not pass through points, splines of two variables, polynomials and radial basis functions.

Sources: C. de Boor, A practical guide to splines, 1978, chapter XIV; P. J. Green, B. W. Silverman, Nonparametric regression and
generalized linear models, 1994, section 2.3 (smoothing); G. E. Fasshauer, Meshfree approximation methods with MATLAB, 2007
(radial basis functions); Newton's divided differences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import scipy.interpolate
from scipy import interpolate

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, object_class, primitive, rule
from ..result_types import BY_VALUE
from .scipy_functions import made, refused, taken
from .scipy_interpolate import (
    BSpline,
    InterpolatedUnivariateSpline,
    Piecewise,
    _at_places,
    _basis,
    _column,
    _front,
    _given,
    _increasing,
    _interpolating,
    _pieces,
    _points,
    _to_tck,
    _Traced,
    _whole,
    make_interp_spline,
)
from .scipy_linalg import solve_banded
from .support import happens, is_traced, literal

# Least squares, of which the knots are stated.


def _design(t: Any, k: int, x: Any) -> Any:
    """The values of all B-splines at points: a row for each point."""
    n, piece = np.shape(t)[0] - k - 1, _pieces(t, k, x)
    rows = _basis(t, k, x, piece)
    place = made(np.arange, rows, n) - _column(piece) + k
    there = (place >= 0) & (place <= k)
    return np.where(there, np.take_along_axis(rows, np.clip(place, 0, k), axis=1), 0.0)


def _least_squares(x: Any, y: Any, t: Any, k: int, w: Any) -> BSpline:
    matrix = _design(t, k, x)
    if w is not None:
        matrix, y = matrix * _column(w), y * _column(w)
    return BSpline(t, np.linalg.lstsq(matrix, y, rcond=None)[0], k)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *, method: str = "qr"
) -> Any:
    """The spline of stated knots that is nearest to points."""
    x, y, t, w = _given(x, y, t, w)
    if np.shape(x)[0] != np.shape(y)[axis]:
        raise ValueError(f"Shapes of x {np.shape(x)} and y {np.shape(y)} are incompatible")
    y, rest, axis = _front(y, axis)
    found = _least_squares(x, y, t, int(k), w)
    found._rest, found.axis = rest, axis
    return found


class LSQUnivariateSpline(InterpolatedUnivariateSpline):
    """A spline of stated inner knots."""

    name = "LSQUnivariateSpline"

    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        if any(b is not None for b in bbox):
            raise refused("interpolate.LSQUnivariateSpline", "bbox=", "leave it out")
        self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        x, y, t, w = _given(x, y, t, w)
        knots = np.concatenate([*[x[:1]] * (k + 1), t, *[x[-1:]] * (k + 1)])
        self._spline = _least_squares(x, _column(y), knots, k, w)
        self._spline._rest = ()


# FITPACK's smoothing (P. Dierckx, Curve and surface fitting with splines, 1993, sections 5.2 and 5.3): one polynomial where
# that is near enough, else a spline whose knots are chosen among the points, and are held. Its coefficients are nearest to the
# points and to a polynomial, weighed by a parameter for which the squares of what is left are `s`, within a thousandth. Each
# step of FITPACK's search for it is an op, so that values are SciPy's, and slopes those of what SciPy gives.


@primitive("x, y, w, k, s, maker", Kind.opaque, types=BY_VALUE)
def smoothing_knots(x: Any, y: Any, w: Any, k: Any, s: Any, maker: Any) -> Any:
    """The places among points of the knots that a function of `scipy.interpolate` chooses, without those at the ends."""
    spline = getattr(scipy.interpolate, maker)(x, y, w=w, k=k, s=s)
    ends = k if maker == "splrep" or maker == "make_splrep" else 0
    knots = spline[0] if maker == "splrep" else spline.t if maker == "make_splrep" else spline.get_knots()
    inner = knots[ends + 1 : -ends - 1]
    places = np.where(np.isin(inner, x), np.searchsorted(x, inner), -1)
    return places


rule(smoothing_knots, x=None, y=None, w=None, s=None)


def _bends(t: Any, k: int) -> Any:
    """The jumps of the k-th derivative of all B-splines at the inner knots: a row for each knot."""
    n = np.shape(t)[0] - k - 1
    at = made(np.arange, t, k + 1, n)
    around = taken(t, _column(at) - k - 1 + made(np.arange, t, 2 * k + 3))
    apart = _column(taken(t, at)) - around
    share = ((n - k) / (t[n] - t[k])) ** k
    columns = []
    for j in range(k + 2):
        product: Any = share
        for i in range(j, j + k + 2):
            if i != k + 1:
                product = product * apart[:, i]
        columns.append((around[:, j + k + 1] - around[:, j]) / product)
    place = made(np.arange, t, n) - _column(at) + k + 1
    there = (place >= 0) & (place <= k + 1)
    return np.where(there, np.take_along_axis(np.stack(columns, axis=1), np.clip(place, 0, k + 1), axis=1), 0.0)


def _root_between(p1: Any, f1: Any, p2: Any, f2: Any, p3: Any, f3: Any) -> Any:
    """The root of the rational function through three points, of which the last may lie at infinity."""
    if p3 is None:
        return (p1 * (f1 - f3) * f2 - p2 * (f2 - f3) * f1) / ((f1 - f2) * f3)
    h1, h2, h3 = f1 * (f2 - f3), f2 * (f3 - f1), f3 * (f1 - f2)
    return -(p1 * p2 * h3 + p2 * p3 * h1 + p3 * p1 * h2) / (p1 * h1 + p2 * h2 + p3 * h3)


def _smoothed(maker: str, x: Any, y: Any, w: Any, k: int, s: Any) -> BSpline:
    """The spline of FITPACK's knots that leaves squares of `s`."""
    x, y, w = _given(x, y, w)
    ends = [x[:1]] * (k + 1), [x[-1:]] * (k + 1)
    right = _column(y if w is None else y * w)
    near = 0.001 * s

    def nearest(matrix: Any, bends: Any = None) -> tuple[Any, Any]:
        """The coefficients that are nearest to the points, and how far the squares of what they leave are from `s`."""
        rows, of = matrix, right
        if bends is not None:
            rows, of = np.concatenate([matrix, bends]), np.concatenate([right, 0.0 * bends[:, :1]])
        c = np.linalg.lstsq(rows, of, rcond=None)[0]
        return c, np.sum((right - matrix @ c) ** 2) - s

    def whole(t: Any, c: Any) -> BSpline:
        found = BSpline(t, c, k)
        found._rest = ()
        return found

    weighed: Callable[[Any], Any] = lambda t: _design(t, k, x) if w is None else _design(t, k, x) * _column(w)
    t = np.concatenate([*ends[0], *ends[1]])
    c, f1 = nearest(weighed(t))
    if not happens(f1 >= near):  # one polynomial
        return whole(t, c)
    if hasattr(f1, "_whole"):
        raise refused(f"interpolate.{maker}", "data of gs.vmap, each of its own knots,", "loop over the examples")
    places = smoothing_knots(x, y, w, k, s, maker)
    if happens(places < 0):
        raise refused(f"interpolate.{maker}", "knots between the points", "state a larger s=, or an odd k=")
    t = np.concatenate([*ends[0], taken(x, places), *ends[1]])
    matrix, bends = weighed(t), _bends(t, k)
    c, f3 = nearest(matrix)
    rewritten = maker == "make_splrep"  # which differs from FITPACK in two places
    if not rewritten and np.abs(f3) < near:
        return whole(t, c)
    p = np.shape(c)[0] / np.sum(np.abs(np.diagonal(np.linalg.qr(matrix, mode="r"))))
    p1, p3, low, high = 0.0, None, False, False
    for _ in range(20):
        c, f2 = nearest(matrix, bends / p)
        p2 = p
        if np.abs(f2) < near:
            break
        if not high and f2 - f3 <= near:
            p, p3, f3 = 0.04 * p2, p2, f2
            if p <= p1:
                p = 0.9 * p1 + 0.1 * p2
            continue
        high = high or bool(f2 < 0)
        if not low and f1 - f2 <= near:
            p, p1, f1 = p2 / 0.04, p2, f2
            if p3 is not None and (p <= p3 if rewritten else p >= p3):
                p = 0.1 * p2 + 0.9 * p3
            continue
        low = low or bool(f2 > 0)
        if f2 >= f1 or f2 <= f3:
            break
        p = _root_between(p1, f1, p2, f2, p3, f3)
        if f2 < 0:
            p3, f3 = p2, f2
        else:
            p1, f1 = p2, f2
    return whole(t, c)


def univariate_spline(
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None, ext: Any = 0, check_finite: bool = False
) -> Any:
    """The spline through all points where `s` is 0; else a smoothing one."""
    if not is_traced(s) and s == 0:
        return InterpolatedUnivariateSpline(x, y, w, bbox, k, ext)
    if any(b is not None for b in bbox):
        raise refused("interpolate.UnivariateSpline", "bbox=", "leave it out")
    found = object.__new__(InterpolatedUnivariateSpline)
    found.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
    found._spline = _smoothed("UnivariateSpline", x, y, w, k, np.shape(x)[0] if s is None else s)
    return found


@composed(interpolate.splrep)
def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None, t: Any = None,
    full_output: int = 0, per: int = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """Knots, coefficients and degree of the spline through points, or of one near them."""
    if task or t is not None or per or full_output or xb is not None or xe is not None:
        raise refused("interpolate.splrep", "knots or other options", "take make_interp_spline, or s= alone")
    if s is None:
        m = np.shape(x)[0]
        s = 0 if w is None else m - math.sqrt(2 * m)
    spline = make_interp_spline(x, y, k) if not is_traced(s) and s == 0 else _smoothed("splrep", x, y, w, k, s)
    return _to_tck(spline)


def make_splrep(
    x: Any, y: Any, *, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, s: Any = 0, t: Any = None, nest: Any = None,
    bc_type: Any = None,
) -> Any:  # fmt: skip
    """A smoothing spline, by its own choice of knots."""
    if any(v is not None for v in (xb, xe, t, nest, bc_type)):
        raise refused("interpolate.make_splrep", "knots, ends or bc_type=", "leave them out, or take make_lsq_spline")
    return make_interp_spline(x, y, k) if not is_traced(s) and s == 0 else _smoothed("make_splrep", x, y, w, k, s)


# Smoothing, of which the parameter is stated.


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Piecewise:
    """The natural cubic spline that is near to points, and little curved: Reinsch's algorithm."""
    if lam is None:
        raise refused("interpolate.make_smoothing_spline", "lam=None", "its parameter is chosen by the data: state lam=")
    x, y, w = _given(x, y, w)
    if np.shape(x)[0] < 5:
        raise ValueError(f"``x`` and ``y`` length must be at least 5, not {np.shape(x)[0]}")
    _increasing(x, "``x`` should be an ascending array")
    y, rest, axis = _front(y, axis)
    h, share = np.diff(x), np.ones_like(x) if w is None else 1.0 / w
    left, right = 1.0 / h[:-1], 1.0 / h[1:]
    middle = -left - right
    none = np.zeros_like(h[:1])
    near = (h[:-1] + h[1:]) / 3 + lam * (left**2 * share[:-2] + middle**2 * share[1:-1] + right**2 * share[2:])
    next_one = h[1:-1] / 6 + lam * (middle[:-1] * left[1:] * share[1:-2] + right[:-1] * middle[1:] * share[2:-1])
    second = lam * (right[:-2] * left[2:] * share[2:-2])
    bands = np.stack([
        np.concatenate([none, none, second]), np.concatenate([none, next_one]), near, np.concatenate([next_one, none]),
        np.concatenate([second, none, none]),
    ])  # fmt: skip
    curved = solve_banded((2, 2), bands, np.diff(np.diff(y, axis=0) / _column(h), axis=0))
    pull = np.zeros_like(y[:1])
    parts = [_column(v) * curved for v in (left, middle, right)]
    moved = [np.concatenate([*[pull] * k, part, *[pull] * (2 - k)]) for k, part in enumerate(parts)]
    force = moved[0] + moved[1] + moved[2]
    at = y - lam * _column(share) * force
    bend = np.concatenate([pull, curved, pull])
    hc = _column(h)
    slope = np.diff(at, axis=0) / hc - hc * (2 * bend[:-1] + bend[1:]) / 6
    return Piecewise(np.stack([np.diff(bend, axis=0) / (6 * hc), bend[:-1] / 2, slope, at[:-1]]), x, True, axis, rest)


# Two variables.


class RectBivariateSpline(_Traced):
    """A product of splines through values on a grid; outside of it that of the nearest point."""

    name = "RectBivariateSpline"

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0, maxit: int = 20
    ) -> None:
        if s != 0 or any(b is not None for b in bbox):
            raise refused("interpolate.RectBivariateSpline", "s= or bbox=", "leave them out")
        x, y, z = _given(x, y, z)
        _increasing(x, "x must be strictly increasing")
        _increasing(y, "y must be strictly increasing")
        if np.shape(z) != (np.shape(x)[0], np.shape(y)[0]):
            raise ValueError(f"z of shape {np.shape(z)} on a grid of {(np.shape(x)[0], np.shape(y)[0])}")
        along_x = _interpolating(x, z, kx, None, [[], []])
        along_y = _interpolating(y, along_x._c.T, ky, None, [[], []])
        self._knots, self._degrees, self._c = (along_x.t, along_y.t), (kx, ky), along_y._c.T
        self._ends = (x[0], x[-1]), (y[0], y[-1])

    def _rows(self, axis: int, p: Any, nu: int) -> tuple[Any, Any]:
        """The B-splines around points, and their places."""
        t, k, (low, high) = self._knots[axis], self._degrees[axis], self._ends[axis]
        p = np.clip(p, low, high)
        piece = _pieces(t, k, p)
        rows = _basis(t, k, p, piece, nu)
        return rows, _column(piece) - k + made(np.arange, rows, k + 1)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The values, or derivatives of them, at points."""
        xi, yi = np.broadcast_arrays(*[literal(v, xi, yi, self._c) * 1.0 for v in (xi, yi)])
        (p, shape), (q, _) = _points(xi, self._c), _points(yi, self._c)
        (a, i), (b, j) = self._rows(0, p, dx), self._rows(1, q, dy)
        around = _at_places(self._c[..., None], [i[:, :, None], j[:, None, :]])[..., 0]
        return np.reshape(np.sum(around * a[:, :, None] * b[:, None, :], axis=(1, 2)), shape)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The values on a grid of points, or at points."""
        if not grid:
            return self.ev(x, y, dx, dy)
        p, q = (_points(np.atleast_1d(literal(v, x, y, self._c)), self._c)[0] for v in (x, y))
        return self.ev(_column(p), q, dx, dy)


# Polynomials.


class _Newton(_Traced):
    """The polynomial through points, by divided differences."""

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0, **options: Any) -> None:
        if yi is None or any(v is not None for v in options.values()):
            raise refused(f"interpolate.{self.name}", "values that come later, weights or a seed", "give xi and yi alone")
        x, y = _given(xi, yi)
        self.xi, self._n = x, np.shape(x)[0]
        y, self._rest, self.axis = _front(y, axis)
        ordered = np.sort(x)
        if happens(ordered[1:] == ordered[:-1]):
            raise refused(f"interpolate.{self.name}", "a point twice", "give each point once")
        found = [y[:1]]
        for order in range(1, self._n):
            y = np.diff(y, axis=0) / _column(x[order:] - x[: self._n - order])
            found.append(y[:1])
        self._c = np.concatenate(found)

    def _slopes(self, x: Any, most: int) -> tuple[list[Any], tuple[int, ...]]:
        """The values and derivatives at points, by Horner's rule."""
        p, shape = _points(x, self._c)
        found = [0.0 * _column(p) + self._c[self._n - 1 :]] + [0.0 * _column(p) + 0.0 * self._c[:1] for _ in range(most)]
        for j in range(self._n - 2, -1, -1):
            d = _column(p - self.xi[j])
            for r in range(most, 0, -1):
                found[r] = found[r] * d + found[r - 1]
            found[0] = found[0] * d + self._c[j : j + 1]
        return [math.factorial(r) * v for r, v in enumerate(found)], shape

    def __call__(self, x: Any) -> Any:
        """The values at points."""
        found, shape = self._slopes(x, 0)
        return _whole(found[0], shape, self._rest, self.axis)

    def derivative(self, x: Any, der: int = 1) -> Any:
        """A derivative at points."""
        found, shape = self._slopes(x, der)
        return _whole(found[der], shape, self._rest, self.axis)

    def derivatives(self, x: Any, der: int | None = None) -> Any:
        """The values and the derivatives below an order, one after the other."""
        found, shape = self._slopes(x, (self._n if der is None else der) - 1)
        return np.stack([_whole(v, shape, self._rest, self.axis) for v in found])


class BarycentricInterpolator(_Newton):
    """A polynomial through points."""

    name = "BarycentricInterpolator"


class KroghInterpolator(_Newton):
    """A polynomial through points."""

    name = "KroghInterpolator"


def _asked_once(cls: type[_Newton]) -> Any:
    def asked(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0, **options: Any) -> Any:
        of = cls(xi, yi, axis, **options)
        return of(x) if der == 0 else of.derivative(x, der) if isinstance(der, int) else [of.derivative(x, d) for d in der]

    return asked


composed(interpolate.barycentric_interpolate)(_asked_once(BarycentricInterpolator))
composed(interpolate.krogh_interpolate)(_asked_once(KroghInterpolator))

# Radial basis functions.

_KERNELS: dict[str, tuple[int, Any]] = {  # the least degree of the polynomial beside them, and the function of the distance
    "linear": (0, lambda r: -r),
    "thin_plate_spline": (1, lambda r: r**2 * np.log(np.where(r == 0, 1.0, r))),
    "cubic": (1, lambda r: r**3),
    "quintic": (2, lambda r: -(r**5)),
    "multiquadric": (0, lambda r: -np.sqrt(r**2 + 1)),
    "inverse_multiquadric": (-1, lambda r: 1 / np.sqrt(r**2 + 1)),
    "inverse_quadratic": (-1, lambda r: 1 / (r**2 + 1)),
    "gaussian": (-1, lambda r: np.exp(-(r**2))),
}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator(_Traced):
    """A sum of functions of the distances to points, and a polynomial."""

    name = "RBFInterpolator"

    def __init__(
        self, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0, kernel: str = "thin_plate_spline", epsilon: Any = None,
        degree: int | None = None,
    ) -> None:  # fmt: skip
        if neighbors is not None:
            raise refused("interpolate.RBFInterpolator", "neighbors=", "leave it out: all points are neighbours")
        if kernel not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        if epsilon is None and kernel not in _WITHOUT_SCALE:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(_WITHOUT_SCALE)}.")
        least, self._kernel = _KERNELS[kernel]
        (points, values), self._epsilon = _given(y, d), 1.0 if epsilon is None else epsilon
        values, self._rest, _ = _front(values, 0)
        degree = max(least, 0) if degree is None else int(degree)
        if degree < -1:
            raise ValueError("`degree` must be at least -1.")
        n, dimensions = np.shape(points)
        self._powers = [p for p in itertools.product(range(degree + 1), repeat=dimensions) if sum(p) <= degree]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        self._shift, half = (high + low) / 2, (high - low) / 2
        self._scale, self._points, self._n = np.where(half == 0, 1.0, half), points, n
        m = len(self._powers)
        if n < m:
            raise ValueError(f"At least {m} data points are required for `degree` {degree} in {dimensions} dimensions, not {n}.")
        smooth = np.diag(literal(smoothing, points) * np.ones_like(points[:, 0]))
        upper = self._functions(points)
        system = np.concatenate([upper[:, :n] + smooth, upper[:, n:]], axis=1)
        if m:
            lower = np.concatenate([upper[:, n:].T, 0.0 * upper[:m, n:]], axis=1)
            system = np.concatenate([system, lower])
            values = np.concatenate([values, 0.0 * values[:m]])
        self._c = np.linalg.solve(system, values)

    def _functions(self, x: Any) -> Any:
        """All functions at points: those of the distances, and the monomials."""
        apart = x[:, None, :] - self._points
        squares = np.sum((self._epsilon * apart) ** 2, axis=2)
        there = squares > 0
        distances = np.where(there, np.sqrt(np.where(there, squares, 1.0)), 0.0)
        columns = [self._kernel(distances)]
        moved = (x - self._shift) / self._scale
        for powers in self._powers:
            column = np.ones_like(moved[:, :1])
            for axis, p in enumerate(powers):
                column = column * moved[:, axis : axis + 1] ** p if p else column
            columns.append(column)
        return np.concatenate(columns, axis=1)

    def __call__(self, x: Any) -> Any:
        """The values at points."""
        (x,) = _given(literal(x, x, self._c))
        found = self._functions(x) @ self._c
        return np.reshape(found, (np.shape(x)[0], *self._rest))


object_class(interpolate.make_lsq_spline, make_lsq_spline)
object_class(interpolate.make_smoothing_spline, make_smoothing_spline)
object_class(interpolate.make_splrep, make_splrep)
for _made in (LSQUnivariateSpline, RectBivariateSpline, BarycentricInterpolator, KroghInterpolator, RBFInterpolator):
    object_class(getattr(interpolate, _made.name), _made)
object_class(interpolate.UnivariateSpline, univariate_spline)
