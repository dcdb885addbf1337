"""scipy.interpolate: splines, tables and grids as ops, differentiated in values, in knots and in the points asked for.

A position in a table has no derivative: at a knot a derivative is that of the piece to the right. Sources: C. de Boor, A
practical guide to splines, 1978, chapters IV, IX and X; F. N. Fritsch, J. Butland, SIAM J. Sci. Stat. Comput. 5, 1984 (pchip);
H. Akima, J. ACM 17, 1970; conventions at ends as SciPy's documentation states them.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from scipy import interpolate

from ...unpatched import np
from ..errors import NoRuleError
from ..registry import composed, object_class
from .scipy_functions import arrays, made, refused, taken
from .scipy_linalg import solve_banded
from .support import happens, is_traced, literal


class _Traced:
    """What interpolants of traced numbers share: what they have no rule for raises by name."""

    name = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(getattr(interpolate, self.name), name):
            raise AttributeError(f"'{self.name}' object has no attribute '{name}'")
        raise NoRuleError(
            f"`{name}` of scipy.interpolate.{self.name} has no gradient rule in gradscribe: take its values, derivative(), "
            "antiderivative() or integrate(), or find a root by scipy.optimize.brentq, which is differentiated."
        )


def _floats(x: Any) -> Any:
    return x * 1.0 if x.dtype.kind in "biu" else x


def _given(*values: Any) -> tuple[Any, ...]:
    """Arrays of floats."""
    return tuple([v if v is None else _floats(v) for v in arrays(*values)])


def _points(x: Any, beside: Any) -> tuple[Any, tuple[int, ...]]:
    """Points in a row, and their shape."""
    x = _floats(literal(x, x, beside))
    return np.reshape(x, (-1,)), np.shape(x)


def _front(y: Any, axis: int) -> tuple[Any, tuple[int, ...], int]:
    """Values with the axis of the points first and all others in one, their shape, and the axis."""
    axis %= np.ndim(y)
    y = np.moveaxis(y, axis, 0) if axis else y
    rest = np.shape(y)[1:]
    return np.reshape(y, (np.shape(y)[0], -1)), rest, axis


def _whole(found: Any, shape: tuple[int, ...], rest: tuple[int, ...], axis: int) -> Any:
    """Results in the shape that SciPy gives them: that of the points stands where the axis was."""
    found = np.reshape(found, (*shape, *rest))
    n = len(shape)
    if axis == 0 or n == 0:
        return found
    order = [*range(n, n + axis), *range(n), *range(n + axis, n + len(rest))]
    return np.transpose(found, order)


def _increasing(x: Any, what: str) -> None:
    if np.shape(x)[0] > 1 and happens(x[1:] <= x[:-1]):
        raise ValueError(what)


def _column(x: Any) -> Any:
    return np.reshape(x, (-1, 1))


def _outside(found: Any, p: Any, low: Any, high: Any, extrapolate: Any) -> Any:
    """NaN outside of the range, where nothing is extrapolated; NaN of NaN."""
    inside = (p >= low) & (p <= high) if not extrapolate else p == p
    return np.where(_column(inside), found, math.nan)


def _period(p: Any, low: Any, high: Any, extrapolate: Any) -> Any:
    return low + np.mod(p - low, high - low) if extrapolate == "periodic" else p


class Piecewise(_Traced):
    """Polynomials between breakpoints: `c[j, i]` is the coefficient of the power `k - j` in piece i."""

    name = "PPoly"

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0, rest: Any = None) -> None:
        c, x = _given(c, x)
        self.x, self.extrapolate, self.axis = x, True if extrapolate is None else extrapolate, axis
        self._rest = np.shape(c)[2:] if rest is None else rest
        self._c = np.reshape(c, (*np.shape(c)[:2], -1))

    @property
    def c(self) -> Any:
        """The coefficients."""
        return np.reshape(self._c, (*np.shape(self._c)[:2], *self._rest))

    def _like(self, c: Any) -> Piecewise:
        return Piecewise(c, self.x, self.extrapolate, self.axis, self._rest)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or a derivative of them, at points."""
        if nu < 0:
            return self.antiderivative(-nu)(x, 0, extrapolate)
        p, shape = _points(x, self._c)
        return _whole(self._at(p, nu, self.extrapolate if extrapolate is None else extrapolate), shape, self._rest, self.axis)

    def _at(self, p: Any, nu: int, extrapolate: Any) -> Any:
        low, high = self.x[0], self.x[-1]
        p = _period(p, low, high, extrapolate)
        i = np.clip(np.searchsorted(self.x, p, side="right") - 1, 0, np.shape(self.x)[0] - 2)
        d = _column(p - taken(self.x, i))
        k = np.shape(self._c)[0] - 1
        first = taken(self._c[0], i)
        found = first * math.perm(k, nu) if nu <= k else 0.0 * first * d
        for j in range(1, k + 1 - nu):
            found = found * d + taken(self._c[j], i) * math.perm(k - j, nu)
        if k == nu:
            found = found + 0.0 * d
        return _outside(found, p, low, high, extrapolate)

    def derivative(self, nu: int = 1) -> Any:
        """The derivative, piecewise too."""
        k = np.shape(self._c)[0] - 1
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > k:
            return self._like(0.0 * self._c[:1])
        factors = literal([float(math.perm(k - j, nu)) for j in range(k + 1 - nu)], self._c)
        return self._like(self._c[: k + 1 - nu] * np.reshape(factors, (-1, 1, 1)))

    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative that is zero at the first breakpoint."""
        made: Any = self
        for _ in range(nu):
            c = made._c
            k = np.shape(c)[0]
            c = c / np.reshape(literal([float(k - j) for j in range(k)], c), (-1, 1, 1))
            h = np.reshape(np.diff(made.x), (-1, 1))
            grown = c[0]
            for j in range(1, k):
                grown = grown * h + c[j]
            sums = np.cumsum(grown * h, axis=0)
            first = np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
            made = self._like(np.concatenate([c, first[None]]))
            if made.extrapolate == "periodic":
                made.extrapolate = False
        return made

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral between two limits."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise refused("interpolate.PPoly.integrate", "extrapolate='periodic'", "integrate over each period")
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)


def _hermite(x: Any, y: Any, s: Any) -> Any:
    """The coefficients of cubics with values and slopes at both ends."""
    h = _column(np.diff(x))
    slope = np.diff(y, axis=0) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    return np.stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]])


def _table(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, tuple[int, ...], int]:
    """The points and values of an interpolant, checked as SciPy checks them."""
    x, y = _given(x, y)
    if np.ndim(x) != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if np.shape(x)[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if np.shape(x)[0] != np.shape(y)[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    _increasing(x, "`x` must be strictly increasing sequence.")
    y, rest, axis = _front(y, axis)
    return x, y, rest, axis


class CubicHermiteSpline(Piecewise):
    """Cubics with stated slopes."""

    name = "CubicHermiteSpline"

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, dydx = _given(x, y, dydx)
        x, y, rest, axis = _table(self.name, x, y, axis)
        super().__init__(_hermite(x, y, _front(dydx, axis)[0]), x, extrapolate, axis, rest)


class CubicSpline(Piecewise):
    """Cubics that are twice differentiable: their slopes solve a system with three diagonals."""

    name = "CubicSpline"

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        x, y, rest, axis = _table(self.name, x, y, axis)
        ends = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        if ends[0] == "periodic" and happens(np.abs(y[0] - y[-1]) > 1e-15 + 1e-15 * np.abs(y[-1])):
            raise ValueError(
                f"The first and last `y` point along axis {axis} must be identical (within machine precision) when "
                "bc_type='periodic'."
            )
        super().__init__(_hermite(x, y, _slopes(x, y, [_end(e, y) for e in ends])), x, extrapolate, axis, rest)


def _end(condition: Any, y: Any) -> Any:
    """A condition at an end: not-a-knot, periodic, or the order and the value of a derivative."""
    if condition in ("clamped", "natural") if isinstance(condition, str) else False:
        return (1 if condition == "clamped" else 2), np.zeros_like(y[:1])
    if isinstance(condition, str):
        if condition not in ("not-a-knot", "periodic"):
            raise ValueError(f"bc_type={condition} is not allowed.")
        return condition
    order, value = condition
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    return order, np.reshape(literal(value, y), (1, -1)) + np.zeros_like(y[:1])


def _row(first: Any, middle: Any, last: Any) -> Any:
    return np.concatenate([first, middle, last])


def _slopes(x: Any, y: Any, ends: list[Any]) -> Any:
    """The slopes of a cubic spline at its knots (de Boor, chapter IV)."""
    h = np.diff(x)
    hc = _column(h)
    slope = np.diff(y, axis=0) / hc
    n = np.shape(x)[0]
    if ends[0] == "periodic" and n > 2:
        return _periodic_slopes(h, hc, slope)
    if n == 2:
        ends = [(1, slope[:1]) if isinstance(e, str) else e for e in ends]
    none, one = np.zeros_like(h[:1]), np.ones_like(h[:1])
    if n == 3 and ends == ["not-a-knot", "not-a-knot"]:  # a parabola
        ab = np.stack(
            [_row(none, one, h[:1]), _row(one, 2 * (h[:1] + h[1:]), one), _row(h[1:], one, none)]
        )
        right = np.concatenate([2 * slope[:1], 3 * (hc[:1] * slope[1:] + hc[1:] * slope[:1]), 2 * slope[1:]])
        return solve_banded((1, 1), ab, right)
    (d_first, up, b_first), (d_last, down, b_last) = (
        _end_row(ends[k], x if not k else -np.flip(x), y if not k else np.flip(y, 0), none, one, bool(k)) for k in (0, 1)
    )
    middle = 3 * (hc[1:] * slope[:-1] + hc[:-1] * slope[1:])
    ab = np.stack(
        [
            np.concatenate([none, up, h[:-1]]),
            np.concatenate([d_first, 2 * (h[:-1] + h[1:]), d_last]),
            np.concatenate([h[1:], down, none]),
        ]
    )
    return solve_banded((1, 1), ab, np.concatenate([b_first, middle, b_last]))


def _end_row(end: Any, x: Any, y: Any, none: Any, one: Any, last: bool) -> tuple[Any, Any, Any]:
    """The equation of an end: the factor of its slope, of that beside it, and the right-hand side.

    The last end is the first one of the spline that is turned around, whose slopes have the other sign.
    """
    sign = -1.0 if last else 1.0
    h = np.diff(x[:3])
    first = _column(h[:1])
    slope = (y[1:2] - y[:1]) / first
    if isinstance(end, str):
        d = x[2:3] - x[:1]
        dc, second = _column(d), _column(h[1:2])
        next_slope = (y[2:3] - y[1:2]) / second
        right = ((first + 2 * dc) * second * slope + first**2 * next_slope) / dc
        return h[1:2], d, sign * right
    order, value = end
    if order == 1:
        return one, none, value
    right = -0.5 * value * first**2 + 3 * (y[1:2] - y[:1])
    return 2 * h[:1], h[:1], sign * right


def _periodic_slopes(h: Any, hc: Any, slope: Any) -> Any:
    """The slopes of a spline whose ends meet."""
    n = np.shape(h)[0]
    before, slope_before = np.roll(h, 1), np.roll(slope, 1, axis=0)
    shift = np.roll(made(np.eye, h, n), 1, axis=1)  # the element after
    m = np.diag(2 * (before + h)) + _column(h) * shift.T + _column(before) * shift
    s = np.linalg.solve(m, 3 * (hc * slope_before + np.roll(hc, 1, axis=0) * slope))
    return np.concatenate([s, s[:1]])


class PchipInterpolator(Piecewise):
    """Cubics as monotonic as the values: slopes are harmonic means, and zero where those on both sides differ in sign."""

    name = "PchipInterpolator"

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, rest, axis = _table(self.name, x, y, axis)
        super().__init__(_hermite(x, y, _pchip_slopes(x, y)), x, extrapolate, axis, rest)


def _pchip_slopes(x: Any, y: Any) -> Any:
    h = _column(np.diff(x))
    m = np.diff(y, axis=0) / h
    if np.shape(y)[0] == 2:
        return np.concatenate([m, m])
    flat = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    inner = np.where(flat, 0.0, 1.0 / ((w1 / before + w2 / after) / (w1 + w2)))
    first, last = _pchip_end(h[:1], h[1:2], m[:1], m[1:2]), _pchip_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1])
    return np.concatenate([first, inner, last])


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


class Akima1DInterpolator(Piecewise):
    """Cubics whose slopes lie nearer to that side where the slopes change less."""

    name = "Akima1DInterpolator"

    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, rest, axis = _table(self.name, x, y, axis)
        s = _akima_slopes(x, y, method)
        super().__init__(_hermite(x, y, s), x, bool(extrapolate) if extrapolate is None else extrapolate, axis, rest)


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    m = np.diff(y, axis=0) / _column(np.diff(x))
    if np.shape(y)[0] == 2:
        return np.concatenate([m, m])
    left = 2.0 * m[:1] - m[1:2]
    right = 2.0 * m[-1:] - m[-2:-1]
    m = np.concatenate([2.0 * left - m[:1], left, m, right, 2.0 * right - m[-1:]])
    change = np.abs(np.diff(m, axis=0))
    after, before = change[2:], change[:-2]
    if method == "makima":
        size = np.abs(m[1:] + m[:-1])
        after, before = after + 0.5 * size[2:], before + 0.5 * size[:-2]
    both = after + before
    there = both > 1e-9 * np.max(both)
    share = before / np.where(there, both, 1.0)
    return np.where(there, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


# B-splines.


def _basis(t: Any, k: int, x: Any, piece: Any, nu: int = 0) -> Any:
    """The k + 1 B-splines that are not zero in a piece, or their derivatives (de Boor, chapter X): one row a point."""
    columns = [np.ones_like(x)]
    for degree in range(1, k + 1):
        slope, found = degree > k - nu, []
        for r in range(degree + 1):
            j = piece - degree + r
            total: Any = None
            for there, at, lift, sign in ((r >= 1, j, r - 1, 1.0), (r < degree, j + 1, r, -1.0)):
                if not there:
                    continue
                low, high = taken(t, at), taken(t, at + degree)
                width = high - low
                weight = sign * degree / width if slope else ((x - low) if sign > 0 else (high - x)) / width
                share = weight * columns[lift]
                total = share if total is None else total + share
            found.append(total)
        columns = found
    return np.stack(columns, axis=1)


def _pieces(t: Any, k: int, x: Any) -> Any:
    """The number of the knot before each point, of the pieces that splines are made for."""
    return np.clip(np.searchsorted(t, x, side="right") - 1, k, np.shape(t)[0] - k - 2)


class BSpline(_Traced):
    """A sum of B-splines of one degree."""

    name = "BSpline"

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        t, c = _given(t, c)
        self.t, self.k, self.extrapolate, self.axis = t, int(k), extrapolate, axis % np.ndim(c)
        self._c, self._rest, _ = _front(c, axis)
        if np.shape(t)[0] < 2 * self.k + 2:
            raise ValueError(f"Need at least {2 * self.k + 2} knots for degree {self.k}")

    @property
    def c(self) -> Any:
        """The coefficients."""
        return np.moveaxis(np.reshape(self._c, (np.shape(self._c)[0], *self._rest)), 0, self.axis)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def _like(self, t: Any, c: Any, k: int, extrapolate: Any) -> BSpline:
        found = BSpline(t, c, k, extrapolate)
        found._rest, found.axis = self._rest, self.axis
        return found

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or a derivative of them, at points."""
        if nu < 0:
            return self.antiderivative(-nu)(x, 0, extrapolate)
        p, shape = _points(x, self._c)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        n, k = np.shape(self.t)[0] - self.k - 1, self.k
        low, high = self.t[k], self.t[n]
        p = _period(p, low, high, extrapolate)
        if nu > k:
            found = _column(0.0 * p) * self._c[:1]
        else:
            piece = _pieces(self.t, k, p)
            places = _column(piece) - k + made(np.arange, self._c if is_traced(self._c) else p, k + 1)
            found = np.sum(_basis(self.t, k, p, piece, nu)[:, :, None] * taken(self._c, places), axis=1)
        return _whole(_outside(found, p, low, high, extrapolate), shape, self._rest, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """The derivative, a spline of a lower degree."""
        made: Any = self
        for _ in range(nu):
            t, k, n = made.t, made.k, np.shape(made.t)[0] - made.k - 1
            if k == 0:
                return self._like(t, 0.0 * made._c, 0, self.extrapolate)
            width = _column(t[k + 1 : n + k] - t[1:n])
            there = width > 0
            c = np.where(there, k * np.diff(made._c[:n], axis=0) / np.where(there, width, 1.0), 0.0)
            made = self._like(t[1:-1], c, k - 1, self.extrapolate)
        return made

    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative that is zero at the first knot."""
        made: Any = self
        beyond = False if self.extrapolate == "periodic" else self.extrapolate
        for _ in range(nu):
            t, k, n = made.t, made.k, np.shape(made.t)[0] - made.k - 1
            c = np.cumsum(made._c[:n] * _column(t[k + 1 :] - t[: -k - 1]), axis=0) / (k + 1)
            c = np.concatenate([np.zeros_like(c[:1]), c])
            made = self._like(np.concatenate([t[:1], t, t[-1:]]), c, k + 1, beyond)
        return made

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral between two limits; without extrapolation what lies outside counts as zero."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise refused("interpolate.BSpline.integrate", "extrapolate='periodic'", "integrate over each period")
        if not extrapolate:
            low, high = self.t[self.k], self.t[np.shape(self.t)[0] - self.k - 1]
            a, b = np.clip(a, low, high), np.clip(b, low, high)
        whole = self.antiderivative()
        return whole(b, 0, True) - whole(a, 0, True)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    """The spline through points: its coefficients solve a banded system."""
    x, y, t = _given(x, y, t)
    if np.shape(x)[0] != np.shape(y)[axis]:
        raise ValueError(f"Shapes of x {np.shape(x)} and y {np.shape(y)} are incompatible")
    _increasing(x, "Expect x to not have duplicates")
    y, rest, axis = _front(y, axis)
    if bc_type == "periodic":
        raise refused("interpolate.make_interp_spline", "bc_type='periodic'", "CubicSpline(x, y, bc_type='periodic') is")
    if bc_type is None or bc_type == "not-a-knot":
        bc_type = (None, None)
    ends = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    found = _interpolating(x, y, k, t, [_stated(e, y) for e in ends])
    found._rest, found.axis = rest, axis
    return found


def _stated(end: Any, y: Any) -> list[tuple[int, Any]]:
    """The derivatives that are stated at an end."""
    if end is None:
        return []
    if isinstance(end, str):
        if end not in ("clamped", "natural"):
            raise ValueError(f"Unknown boundary condition : {end}")
        return [(1 if end == "clamped" else 2, np.zeros_like(y[:1]))]
    return [(int(order), np.reshape(literal(value, y), (1, -1)) + np.zeros_like(y[:1])) for order, value in end]


def _interpolating(x: Any, y: Any, k: int, t: Any, ends: list[list[tuple[int, Any]]]) -> BSpline:
    first, last = x[:1], x[-1:]
    if k == 0:
        return BSpline(np.concatenate([x, last]), y, 0)
    if k == 1 and t is None:
        return BSpline(np.concatenate([first, x, last]), y, 1)
    if t is None and any(ends):
        t = np.concatenate([first] * k + [x] + [last] * k)
    elif t is None:
        inner = x if k % 2 else (x[1:] + x[:-1]) / 2
        cut = (k + 1) // 2 if k % 2 else k // 2
        t = np.concatenate([first] * (k + 1) + [inner[cut : np.shape(inner)[0] - cut]] + [last] * (k + 1))
    n = np.shape(t)[0] - k - 1
    if n - np.shape(x)[0] != sum(map(len, ends)):
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {n - np.shape(x)[0]}, got "
            f"{len(ends[0])}+{len(ends[1])}"
        )
    rows, pieces, right = [], [], []
    for at, conditions in ((first, ends[0]), (x, None), (last, ends[1])):
        for order, value in [(0, y)] if conditions is None else conditions:
            piece = _pieces(t, k, at)
            rows.append(_basis(t, k, at, piece, order))
            pieces.append(piece)
            right.append(value)
    starts = np.concatenate(pieces) - k
    return BSpline(t, solve_banded((k, k), _bands(np.concatenate(rows), starts, k, n), np.concatenate(right)), k)


def _bands(rows: Any, starts: Any, k: int, n: int) -> Any:
    """Rows of k + 1 numbers that begin at some columns, as the diagonals of a matrix."""
    columns = made(np.arange, rows, n)
    bands = []
    for r in range(2 * k + 1):
        row = np.clip(columns + (r - k), 0, n - 1)
        inside = (columns + (r - k) >= 0) & (columns + (r - k) < n)
        place = columns - starts[row]
        there = inside & (place >= 0) & (place <= k)
        bands.append(np.where(there, rows[row, np.clip(place, 0, k)], 0.0))
    return np.stack(bands)


# Tables.


class Interp1d(_Traced):
    """A table along one axis."""

    name = "interp1d"

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True, bounds_error: Any = None,
        fill_value: Any = math.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        x, y = _given(x, y)
        if np.shape(x)[0] != np.shape(y)[axis]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = np.argsort(x, kind="mergesort")
            x, y = x[order], np.take(y, order, axis=axis)
        self.kind, self.bounds_error, self.fill_value = kind, bounds_error, fill_value
        self.extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self.extrapolates and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        self.bounds_error = not self.extrapolates if bounds_error is None and not _is_stated(fill_value) else bool(bounds_error)
        self.x, self.y = x, y
        self._flat = np.ndim(y) == 1
        self._y, self._rest, self.axis = _front(y, axis)
        degree = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}.get(kind, kind)
        self._spline = None
        if isinstance(degree, int):
            _increasing(x, "Expect x to not have duplicates")
            self._spline = _interpolating(x, self._y, degree, None, [[], []])
        elif kind not in ("linear", "nearest", "nearest-up", "previous", "next"):
            raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")

    def __call__(self, x: Any) -> Any:
        """The values at points."""
        p, shape = _points(x, self._y)
        below, above = p < self.x[0], p > self.x[-1]
        if self.bounds_error and happens(below | above):
            raise ValueError("A value in x_new is outside of the interpolation range.")
        found = self._found(p)
        if not self.extrapolates:
            fills = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            for outside, fill in zip((below, above), fills, strict=True):
                found = np.where(_column(outside), np.reshape(fill, (1, -1)) if np.ndim(fill) else fill, found)
        elif self.kind in ("previous", "next"):
            found = np.where(_column(below if self.kind == "previous" else above), math.nan, found)
        return _whole(found, shape, self._rest, self.axis)

    def _found(self, p: Any) -> Any:
        n = np.shape(self.x)[0]
        if self._spline is not None:
            return self._spline(p) + 0.0 * _column(p)
        if self.kind == "linear":
            if self._flat and not self.extrapolates:
                return _column(np.interp(p, self.x, self.y))
            hi = np.clip(np.searchsorted(self.x, p), 1, n - 1)
            lo = hi - 1
            y_lo, y_hi = taken(self._y, lo), taken(self._y, hi)
            slope = (y_hi - y_lo) / _column(taken(self.x, hi) - taken(self.x, lo))
            return slope * _column(p - taken(self.x, lo)) + y_lo
        if self.kind in ("nearest", "nearest-up"):
            halves = self.x / 2.0
            side: Any = "left" if self.kind == "nearest" else "right"
            return taken(self._y, np.clip(np.searchsorted(halves[1:] + halves[:-1], p, side=side), 0, n - 1))
        before = self.kind == "previous"
        edges = np.nextafter(self.x, -math.inf if before else math.inf)
        found = np.searchsorted(edges, p, side="left" if before else "right")
        return taken(self._y, np.clip(found, 1, n) - 1 if before else np.clip(found, 0, n - 1))


def _is_stated(fill: Any) -> bool:
    """Whether a fill value is another one than SciPy's default."""
    if isinstance(fill, (tuple, list)) or is_traced(fill) or np.ndim(fill) > 0:
        return True
    return not (isinstance(fill, float) and math.isnan(fill))


# Grids.


def _at_places(values: Any, places: list[Any]) -> Any:
    """The rows of values at positions along all axes but the last, counted through: of a plain array and Tensors, too."""
    lengths = np.shape(values)[: len(places)]
    flat: Any = places[0]
    for n, i in zip(lengths[1:], places[1:], strict=True):
        flat = flat * n + i
    return taken(np.reshape(values, (-1, np.shape(values)[-1])), flat)


# Of "cubic" and "quintic" SciPy finds the coefficients by iterations, to about 1e-5; here they are exact, as "cubic_legacy" is.
_DEGREES = {"slinear": 1, "slinear_legacy": 1, "cubic": 3, "cubic_legacy": 3, "quintic": 5, "quintic_legacy": 5}


class RegularGridInterpolator(_Traced):
    """Values on a grid: linear between neighbours, the nearest, or a product of splines along all axes."""

    name = "RegularGridInterpolator"

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan, *,
        solver: Any = None, solver_args: Any = None,
    ) -> None:  # fmt: skip
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        (values,) = _given(values) if not is_traced(points) else _given(values, *points)[:1]
        grid = []
        for axis, p in enumerate(points):
            (p, _) = _given(p, values)
            if np.shape(p)[0] > 1 and happens(p[1:] < p[:-1]):
                p, values = np.flip(p), np.flip(values, axis)
            _increasing(p, f"The points in dimension {axis} must be strictly ascending or descending")
            grid.append(p)
        self.grid, self.values = tuple(grid), values

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """The values at points, whose coordinates lie along the last axis."""
        method = self.method if method is None else method
        if nu is not None and any(nu) and method not in _DEGREES:
            raise ValueError(f"Can only compute derivatives for methods {sorted(_DEGREES)}, got method={method}.")
        p, shape = self._coordinates(xi)
        outside: Any = None
        for x, g in zip(p, self.grid, strict=True):
            here = (x < g[0]) | (x > g[-1])
            outside = here if outside is None else outside | here
        if self.bounds_error and happens(outside):
            raise ValueError("One of the requested xi is out of bounds")
        n = len(self.grid)
        rest = np.shape(self.values)[n:]
        values = np.reshape(self.values, (*np.shape(self.values)[:n], -1))
        if method in _DEGREES:
            found = self._by_splines(p, values, _DEGREES[method], nu or (0,) * n)
        elif method == "pchip":
            raise refused("interpolate.RegularGridInterpolator", "method='pchip'", "take method='cubic' or 'linear'")
        elif method in ("linear", "nearest"):
            found = self._by_neighbours(p, values, method)
        else:
            raise ValueError(f"Method '{method}' is not defined")
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(_column(outside), self.fill_value, found)
        nan = p[0] != p[0]
        for x in p[1:]:
            nan = nan | (x != x)
        return np.reshape(np.where(_column(nan), math.nan, found), (*shape, *rest))

    def _coordinates(self, xi: Any) -> tuple[list[Any], tuple[int, ...]]:
        """One row of points for each axis of the grid, and their shape."""
        n = len(self.grid)
        if isinstance(xi, tuple) and not (len(xi) == 1 and np.ndim(xi[0]) > 1):
            parts = np.broadcast_arrays(*[_floats(literal(x, self.values, *xi)) for x in xi])
            return [np.reshape(x, (-1,)) for x in parts], np.shape(parts[0])
        xi = xi[0] if isinstance(xi, tuple) else xi
        xi = _floats(literal(xi, self.values))
        if np.ndim(xi) == 1:
            xi = np.reshape(xi, (-1, 1)) if n == 1 else np.reshape(xi, (1, -1))
        if np.shape(xi)[-1] != n:
            raise ValueError(
                f"The requested sample points xi have dimension {np.shape(xi)[-1]} but this RegularGridInterpolator has "
                f"dimension {n}"
            )
        flat = np.reshape(xi, (-1, n))
        return [flat[:, k] for k in range(n)], np.shape(xi)[:-1]

    def _by_neighbours(self, p: list[Any], values: Any, method: str) -> Any:
        places, shares = [], []
        for x, g in zip(p, self.grid, strict=True):
            if np.shape(g)[0] == 1:
                i, share = np.searchsorted(g, x) * 0, 0.0 * x
                places.append((i, i))
            else:
                i = np.clip(np.searchsorted(g, x, side="right") - 1, 0, np.shape(g)[0] - 2)
                low = taken(g, i)
                share = (x - low) / (taken(g, i + 1) - low)
                places.append((i, i + 1))
            shares.append(share)
        if method == "nearest":
            return _at_places(values, [np.where(s <= 0.5, i, j) for s, (i, j) in zip(shares, places, strict=True)])
        found: Any = None
        for corner in itertools.product((0, 1), repeat=len(p)):
            weight: Any = None
            for side, share in zip(corner, shares, strict=True):
                one = share if side else 1 - share
                weight = one if weight is None else weight * one
            term = _at_places(values, [pair[side] for side, pair in zip(corner, places, strict=True)]) * _column(weight)
            found = term if found is None else found + term
        return found

    def _by_splines(self, p: list[Any], values: Any, k: int, nu: Any) -> Any:
        """Coefficients by one axis after the other, and the sum over the B-splines around each point."""
        n = len(self.grid)
        places, rows = [], []
        for axis, (x, g) in enumerate(zip(p, self.grid, strict=True)):
            if np.shape(g)[0] <= k:
                raise ValueError(
                    f"There are {np.shape(g)[0]} points in dimension {axis}, but method {self.method} requires at least  "
                    f"{k + 1} points per dimension."
                )
            y = np.moveaxis(values, axis, 0)
            shape = np.shape(y)
            spline = _interpolating(g, np.reshape(y, (shape[0], -1)), k, None, [[], []])
            values = np.moveaxis(np.reshape(spline._c, shape), 0, axis)
            piece = _pieces(spline.t, k, x)
            rows.append(_basis(spline.t, k, x, piece, int(nu[axis])))
            places.append(_column(piece) - k + made(np.arange, rows[-1], k + 1))
        around = [np.reshape(i, (-1, *[k + 1 if a == axis else 1 for a in range(n)])) for axis, i in enumerate(places)]
        terms = _at_places(values, around)
        for row in reversed(rows):
            m = np.ndim(terms)
            terms = np.sum(terms * np.reshape(row, (-1, *[1] * (m - 3), k + 1, 1)), axis=-2)
        return terms


@composed(interpolate.interpn)
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan
) -> Any:
    """A grid, asked once."""
    if method == "splinef2d":
        raise refused("interpolate.interpn", "method='splinef2d'", "take method='cubic'")
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


@composed(interpolate.pchip_interpolate)
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Monotonic cubics, asked once."""
    spline = PchipInterpolator(xi, yi, axis)
    return spline(x, der) if isinstance(der, int) else [spline(x, nu) for nu in der]


# FITPACK's.


class InterpolatedUnivariateSpline(_Traced):
    """A spline through all points."""

    name = "InterpolatedUnivariateSpline"

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0, check_finite: bool = False
    ) -> None:
        if any(b is not None for b in bbox):
            raise refused("interpolate.InterpolatedUnivariateSpline", "bbox=", "leave it out")
        self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        self._spline = make_interp_spline(x, y, k)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The values, or a derivative of them, at points."""
        ext = self.ext if ext is None else {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        return _beyond(self._spline, x, nu, ext)

    def derivative(self, n: int = 1) -> Any:
        """The derivative, a spline of a lower degree."""
        found = object.__new__(InterpolatedUnivariateSpline)
        found.ext, found._spline = 0 if self.ext == 3 else self.ext, self._spline.derivative(n)
        return found

    def antiderivative(self, n: int = 1) -> Any:
        """The antiderivative that is zero at the first knot."""
        found = object.__new__(InterpolatedUnivariateSpline)
        found.ext, found._spline = self.ext, self._spline.antiderivative(n)
        return found

    def integral(self, a: Any, b: Any) -> Any:
        """The integral, of what lies between the first and the last knot."""
        return self._spline.integrate(a, b, False)


def _beyond(spline: BSpline, x: Any, nu: int, ext: int) -> Any:
    """A spline at points: outside of its knots extrapolated, zero, an error, or the value at the end."""
    low, high = spline.t[spline.k], spline.t[np.shape(spline.t)[0] - spline.k - 1]
    p, shape = _points(x, spline._c)
    outside = (p < low) | (p > high)
    if ext == 2 and happens(outside):
        raise ValueError("Interpolation point outside of the range of the spline")
    if ext == 3:
        found = spline(np.clip(p, low, high), nu)
        found = found if nu == 0 else np.where(outside, 0.0, found)
    else:
        found = spline(p, nu)
        found = np.where(outside, 0.0, found) if ext == 1 else found
    return np.reshape(found, shape)


@composed(interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline's values, or a derivative of them."""
    if not isinstance(tck, tuple):
        return tck(x, der, ext == 0) if ext in (0, 1) else _beyond(tck, x, der, ext)
    return _beyond(_of_tck(tck), x, der, ext)


def _of_tck(tck: Any) -> BSpline:
    t, c, k = tck
    t, c = _given(t, c)
    return BSpline(t, c[: np.shape(t)[0] - k - 1], k)


def _to_tck(spline: Any, last: Any = 0.0) -> tuple[Any, Any, int]:
    """A spline as FITPACK has it, whose coefficients end with a number for each knot more."""
    return spline.t, np.concatenate([spline._c[:, 0], last + np.zeros_like(spline.t[: spline.k + 1])]), spline.k


@composed(interpolate.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """A spline's integral; outside of its knots it counts as zero."""
    if full_output:
        raise refused("interpolate.splint", "full_output=", "leave it out")
    return (_of_tck(tck) if isinstance(tck, tuple) else tck).integrate(a, b, False)


@composed(interpolate.splder)
def splder(tck: Any, n: int = 1) -> Any:
    """The derivative of a spline."""
    return _to_tck(_of_tck(tck).derivative(n)) if isinstance(tck, tuple) else tck.derivative(n)


@composed(interpolate.splantider)
def splantider(tck: Any, n: int = 1) -> Any:
    """The antiderivative of a spline."""
    found = (_of_tck(tck) if isinstance(tck, tuple) else tck).antiderivative(n)
    return _to_tck(found, found._c[-1, 0]) if isinstance(tck, tuple) else found


# SciPy's classes: what is made instead, and of an object from outside, over the attributes that hold its numbers.


def _piecewise(real: Any, parts: dict[str, Any]) -> Any:
    return Piecewise(parts["c"], parts["x"], real.extrapolate, real.axis)


def _spline(real: Any, parts: dict[str, Any]) -> Any:
    return BSpline(parts["t"], parts["c"], real.k, real.extrapolate, real.axis)


def _interp1d(real: Any, parts: dict[str, Any]) -> Any:
    kind = real._kind if real._kind != "spline" else real._spline.k
    fill = real.fill_value.item() if isinstance(real.fill_value, np.ndarray) and not real.fill_value.ndim else real.fill_value
    return Interp1d(
        parts["x"], parts["y"], kind, real.axis, bounds_error=real.bounds_error, fill_value=fill,
        assume_sorted=True,
    )  # fmt: skip


def _grid(real: Any, parts: dict[str, Any]) -> Any:
    grid, values = parts.values()
    return RegularGridInterpolator(grid, values, real.method, real.bounds_error, real.fill_value)


def _polynomials(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Piecewise:
    if axis != 0:
        raise refused("interpolate.PPoly", "axis=", "move the axis by np.moveaxis")
    return Piecewise(c, x, extrapolate)


object_class(interpolate.PPoly, _polynomials, ("c", "x"), _piecewise)
for _made in (CubicSpline, PchipInterpolator, Akima1DInterpolator, CubicHermiteSpline):
    object_class(getattr(interpolate, _made.name), _made, ("c", "x"), _piecewise)
object_class(interpolate.BSpline, BSpline, ("t", "c"), _spline)
object_class(interpolate.interp1d, Interp1d, ("x", "y"), _interp1d)
_OF_GRIDS = ("_grid", "_values") if hasattr(interpolate.RegularGridInterpolator, "grid") else ("grid", "values")  # 1.17, 1.15
object_class(interpolate.RegularGridInterpolator, RegularGridInterpolator, _OF_GRIDS, _grid)
object_class(interpolate.InterpolatedUnivariateSpline, InterpolatedUnivariateSpline)
object_class(interpolate.make_interp_spline, make_interp_spline)
