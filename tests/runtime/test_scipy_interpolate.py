"""scipy.interpolate in functions that are differentiated: in values, knots and points, outside of the range, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from scipy import interpolate
from scipy.interpolate import BSpline, CubicSpline
from scipy.sparse.linalg import spsolve

import gradscribe as gs
from gradscribe import NoRuleError

from case_tables import slopes, slow

RNG = np.random.default_rng(1)
X = np.array([0.2, 0.7, 1.5, 1.9, 3.0, 4.1, 4.8])
Y, Y2 = RNG.normal(size=7), RNG.normal(size=(7, 2))
SEVERAL = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 16)  # whether smoothing splines take several at once
Q = np.array([-0.3, 0.3, 1.7, 1.9, 4.7, 5.4])  # with a knot, and points outside
WITHIN = np.linspace(0.21, 4.79, 6)
FEW = np.array([1.0, 2.0, 3.5])
KNOTS = np.array([0, 0, 0, 0, 1, 2, 3, 5, 5, 5, 5.0])
COEFFICIENTS = RNG.normal(size=(7, 2))
AXES = np.linspace(0, 1, 6) ** 2, np.linspace(1, 0, 7), np.arange(8.0)  # one of which descends
VALUES = RNG.normal(size=(6, 7, 8))
PLACES = np.array([[0.3, 0.2, 1.7], [0.6, 0.9, 6.1]])
FEWER, FLAT = np.array([0.2, 0.2, 0.2, 0.2, 2.0, 4.8, 4.8, 4.8, 4.8]), RNG.normal(size=(7, 7))
SPREAD = np.array([[0.1, 0.2], [1.0, 0.1], [0.2, 1.1], [0.9, 1.0], [0.4, 0.5], [1.3, 0.6], [0.3, 0.7], [0.8, 0.4]])
SPLINE = CubicSpline(X, Y)
OF_DEGREE = interpolate.make_interp_spline(X, Y2)
TABLE = interpolate.interp1d(X, Y)
GRID = interpolate.RegularGridInterpolator((X, X), RNG.normal(size=(7, 7)))

Case = tuple[Callable[[Any], Any], Any]


def grid(values: Any, **options: Any) -> Any:
    return interpolate.RegularGridInterpolator(AXES, values, **options)


NOISY_X = np.sort(RNG.uniform(0, 5, 40))
NOISY_Y, WAVES = np.sin(2 * NOISY_X) + 0.1 * RNG.normal(size=40), 0.05 * RNG.normal(size=(40, 3))
INNER = np.linspace(0.4, 4.6, 7)
SMOOTHED: dict[str, Callable[..., Any]] = {
    "UnivariateSpline": lambda *a, **o: interpolate.UnivariateSpline(*a, **o)(INNER),
    "splrep": lambda *a, **o: interpolate.splev(INNER, interpolate.splrep(*a, **o)),
    "make_splrep": lambda *a, **o: interpolate.make_splrep(*a, **o)(INNER),
}


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
        of: Any = getattr(interpolate, name)
        found |= {
            f"{name}, values": (lambda y, of=of: of(X, y)(WITHIN), Y),
            f"{name}, knots": (lambda x, of=of: of(x, Y)(FEW), X),
            f"{name}, points": (lambda q, of=of: of(X, Y)(q), WITHIN),
            f"{name}, an axis": (lambda y, of=of: of(X, y, axis=1)(np.reshape(WITHIN, (2, 3))), Y2.T.copy()),
            f"{name}, nu": (lambda y, of=of: of(X, y)(WITHIN, 1), Y),
            f"{name}, derivative": (lambda y, of=of: of(X, y).derivative(2)(WITHIN), Y),
            f"{name}, antiderivative": (lambda y, of=of: of(X, y).antiderivative()(WITHIN), Y),
            f"{name}, integrate": (lambda b, of=of: of(X, Y).integrate(0.5, b[0]), FEW),
            f"{name}, outside": (lambda y, of=of: of(X, y, extrapolate=False)(Q), Y),
        }
    for bc in ("natural", "clamped", ((1, 0.5), (2, 0.3)), ("not-a-knot", "natural")):
        found[f"CubicSpline, {bc}"] = (lambda y, bc=bc: CubicSpline(X, y, bc_type=bc)(Q), Y)
        found[f"CubicSpline, knots, {bc}"] = (lambda x, bc=bc: CubicSpline(x, Y, bc_type=bc)(FEW), X)
    for n in (2, 3):
        found[f"CubicSpline, {n} points"] = (lambda y, n=n: CubicSpline(X[:n], y)(Q), Y[:n])
        ring = lambda y, n=n: CubicSpline(X[: n + 1], np.concatenate([y, y[:1]]), bc_type="periodic")(Q)
        found[f"CubicSpline, periodic, {n + 1} points"] = (ring, Y[:n])
    for k in (1, 2, 3, 5):
        found[f"make_interp_spline, {k}"] = (lambda y, k=k: interpolate.make_interp_spline(X, y, k=k)(Q), Y2)
        found[f"make_interp_spline, knots, {k}"] = (lambda x, k=k: interpolate.make_interp_spline(x, Y, k=k)(FEW), X)
    made = interpolate.make_interp_spline
    found |= {
        "make_interp_spline, natural": (lambda y: made(X, y, bc_type="natural")(Q), Y),
        "make_interp_spline, slopes": (lambda y: made(X, y, bc_type=([(2, 0.0)], [(1, y[0])]))(Q, 1), Y),
        "make_interp_spline, points": (lambda q: made(X, Y)(q), WITHIN),
        "make_interp_spline, derivative": (lambda y: made(X, y).derivative()(Q), Y),
        "make_interp_spline, antiderivative": (lambda y: made(X, y).antiderivative()(WITHIN), Y),
        "make_interp_spline, integrate": (lambda b: made(X, Y).integrate(0.5, b[0]), FEW),
        "BSpline, coefficients": (lambda c: BSpline(KNOTS, c, 3)(Q), COEFFICIENTS),
        "BSpline, points": (lambda q: BSpline(KNOTS, COEFFICIENTS, 3)(q), WITHIN),
        "BSpline, nu": (lambda q: BSpline(KNOTS, COEFFICIENTS, 3)(q, nu=2), WITHIN),
        "BSpline, outside": (lambda c: BSpline(KNOTS, c, 3, extrapolate=False)(Q), COEFFICIENTS),
        "BSpline, periodic": (lambda c: BSpline(KNOTS, c, 3, extrapolate="periodic")(Q), COEFFICIENTS),
        "BSpline, inner knots": (
            lambda t: BSpline(np.concatenate([KNOTS[:4], t, KNOTS[7:]]), COEFFICIENTS, 3)(FEW + 0.1), KNOTS[4:7],
        ),
        "Akima1DInterpolator, makima": (lambda y: interpolate.Akima1DInterpolator(X, y, method="makima")(WITHIN), Y),
        "CubicHermiteSpline": (lambda y: interpolate.CubicHermiteSpline(X, y, y**2)(Q), Y),
        "pchip_interpolate": (lambda y: interpolate.pchip_interpolate(X, y, WITHIN), Y),
        "PPoly": (lambda c: interpolate.PPoly(c, X[:4])(Q), RNG.normal(size=(3, 3))),
        "interp1d, fill values": (lambda y: interpolate.interp1d(X, y, bounds_error=False, fill_value=(-1.0, 2.0))(Q), Y),
        "interp1d, nan": (lambda y: interpolate.interp1d(X, y, bounds_error=False)(Q), Y),
        "interp1d, extrapolate": (lambda y: interpolate.interp1d(X, y, fill_value="extrapolate")(Q), Y),
        "interp1d, an axis": (lambda y: interpolate.interp1d(X, y, axis=0)(np.reshape(WITHIN, (2, 3))), Y2),
        "interp1d, unsorted": (lambda y: interpolate.interp1d(X[::-1], y)(WITHIN), Y),
        "grid, fill value": (lambda v: grid(v, bounds_error=False, fill_value=2.0)(PLACES * 2), VALUES),
        "grid, extrapolated": (lambda v: grid(v, bounds_error=False, fill_value=None)(PLACES * 2), VALUES),
        "grid, a tuple": (lambda q: interpolate.RegularGridInterpolator(AXES[:2], VALUES)((q, q * 0.9)), FEW / 4),
        "interpn": (lambda q: interpolate.interpn(AXES, VALUES, q), PLACES),
        "splrep, splev": (lambda y: interpolate.splev(WITHIN, interpolate.splrep(X, y)), Y),
        "splev, points": (lambda q: interpolate.splev(q, interpolate.splrep(X, Y), der=1), WITHIN),
        "splint": (lambda q: interpolate.splint(q[0], q[1] + 9.0, interpolate.splrep(X, Y)) * np.ones(1), WITHIN[:2]),
        "splder": (lambda y: interpolate.splev(WITHIN, interpolate.splder(interpolate.splrep(X, y), 2)), Y),
        "splantider": (lambda y: interpolate.splev(WITHIN, interpolate.splantider(interpolate.splrep(X, y))), Y),
        "splantider, coefficients": (lambda y: interpolate.splantider(interpolate.splrep(X, y), 2)[1], Y),
        "splder, coefficients": (lambda y: interpolate.splder(interpolate.splrep(X, y), 2)[1], Y),
        "basis_element": (lambda q: interpolate.BSpline.basis_element([0.0, 1.0, 2.2, 3.1])(q), WITHIN),
        "from_spline": (lambda q: interpolate.PPoly.from_spline(interpolate.splrep(X, Y))(q, 1), WITHIN),
        "InterpolatedUnivariateSpline": (lambda y: interpolate.InterpolatedUnivariateSpline(X, y)(Q), Y),
        "InterpolatedUnivariateSpline, derivative": (
            lambda y: interpolate.InterpolatedUnivariateSpline(X, y, k=4).derivative()(WITHIN), Y,
        ),
        "UnivariateSpline": (lambda y: interpolate.UnivariateSpline(X, y, s=0, ext=3)(Q), Y),
        "make_lsq_spline": (lambda y: interpolate.make_lsq_spline(X, y, FEWER, axis=1)(WITHIN), Y2.T.copy()),
        "make_lsq_spline, weights": (
            lambda w: interpolate.make_lsq_spline(X, Y, FEWER, w=np.exp(w)).derivative()(WITHIN), RNG.normal(size=7),
        ),
        "UnivariateSpline, one polynomial": (lambda y: interpolate.UnivariateSpline(X, y)(Q), Y),
        "UnivariateSpline, weights, knots": (
            lambda x: interpolate.UnivariateSpline(x, Y, w=0.3 + 0.1 * x, k=2, s=9.0).derivative()(WITHIN), X,
        ),
        "splrep, one polynomial": (lambda y: interpolate.splev(Q, interpolate.splrep(X, y, s=20.0)), Y),
        **{f"{name}, smoothed, {k}, {s}": (lambda y, f=f, k=k, s=s: f(NOISY_X, NOISY_Y + WAVES @ y, k=k, s=s), RNG.normal(size=3))
           for name, f in SMOOTHED.items() for k in (1, 2, 3, 5) for s in (0.9, 0.3)},
        "UnivariateSpline, smoothed, knots, weights, s": (
            lambda v: interpolate.UnivariateSpline(
                NOISY_X + 0.1 * v[0] * np.sin(NOISY_X), NOISY_Y, w=1.0 + v[1] * np.cos(NOISY_X), s=v[2]
            ).derivative()(INNER), np.array([0.3, 0.2, 0.5]),
        ),
        "LSQUnivariateSpline": (lambda y: interpolate.LSQUnivariateSpline(X, y, [1.7], k=2, ext=1)(Q), Y),
        "LSQUnivariateSpline, integral": (lambda b: interpolate.LSQUnivariateSpline(X, Y, [1.7]).integral(0.5, b[0]), FEW),
        "make_smoothing_spline": (lambda y: interpolate.make_smoothing_spline(X, y, lam=0.3)(Q), Y2 if SEVERAL else Y),
        "make_smoothing_spline, knots, weights, lam": (
            lambda x: interpolate.make_smoothing_spline(x, Y, w=1.0 + x**2, lam=x[0]).derivative()(FEW), X,
        ),
        "RectBivariateSpline": (lambda v: interpolate.RectBivariateSpline(X, X, v[:7, :7], kx=3, ky=2)(FEW, Q), FLAT),
        "RectBivariateSpline, points": (lambda q: interpolate.RectBivariateSpline(X, X, FLAT).ev(q, q * 0.9, dx=1), FEW),
        "BarycentricInterpolator": (lambda x: interpolate.BarycentricInterpolator(x, Y2)(FEW), X),
        "KroghInterpolator": (lambda q: interpolate.KroghInterpolator(X, Y2).derivative(q, 2), FEW),
        "KroghInterpolator, derivatives": (lambda y: interpolate.KroghInterpolator(X, y).derivatives(FEW, 3), Y),
        "krogh_interpolate": (lambda y: interpolate.krogh_interpolate(X, y, FEW, der=1), Y),
        "barycentric_interpolate": (lambda q: interpolate.barycentric_interpolate(X, Y, q), FEW),
        **{f"RBFInterpolator, {kernel}": (
            lambda p, kernel=kernel: interpolate.RBFInterpolator(p[:6], p[:6] ** 2, kernel=kernel, epsilon=0.8)(p[6:]), SPREAD,
        ) for kernel in ("linear", "thin_plate_spline", "cubic", "multiquadric", "gaussian", "inverse_quadratic")},
        "RBFInterpolator, smoothed": (
            lambda d: interpolate.RBFInterpolator(SPREAD, d, smoothing=0.1, kernel="quintic", degree=2)(SPREAD[:3] + 0.1),
            SPREAD[:, 0],
        ),
        "from outside, CubicSpline": (lambda q: SPLINE(q) + SPLINE(q, 1), WITHIN),
        "from outside, BSpline": (lambda q: OF_DEGREE(q), WITHIN),
        "from outside, interp1d": (lambda q: TABLE(q), WITHIN),
        "from outside, grid": (lambda q: GRID(np.stack([q, q[::-1]], axis=1)), WITHIN),
        "lists": (lambda q: CubicSpline([0.0, 1.0, 2.0, 4.0, 5.0], [1.0, 2.0, 0.0, 1.0, 3.0])(q), WITHIN),
        "lists, interp1d": (lambda q: interpolate.interp1d([0.0, 1.0, 2.0, 5.0], [1.0, 2.0, 0.0, 1.0])(q), WITHIN),
        "one point": (lambda q: CubicSpline(X, Y)(q[0]), WITHIN),
    }  # fmt: skip
    for kind in ("linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic"):
        found[f"interp1d, {kind}"] = (lambda y, kind=kind: interpolate.interp1d(X, y, kind=kind)(WITHIN), Y)
        found[f"interp1d, points, {kind}"] = (lambda q, kind=kind: interpolate.interp1d(X, Y, kind=kind)(q), WITHIN)
    exact = {"solver": spsolve}  # SciPy's iterations end at 1e-5 or so
    for method in ("cubic", "quintic"):
        found[f"grid, {method}"] = (lambda v, method=method: grid(v, method=method, **exact)(PLACES), VALUES)
        found[f"grid, points, {method}"] = (
            lambda q, method=method: grid(VALUES, method=method, **exact)(q, nu=(1, 0, 0)),
            PLACES,
        )
    for method in ("linear", "nearest", "slinear", "cubic_legacy", "quintic_legacy"):
        found[f"grid, {method}"] = (lambda v, method=method: grid(v, method=method)(PLACES), VALUES)
        found[f"grid, points, {method}"] = (lambda q, method=method: grid(VALUES, method=method)(q), PLACES)
    return found  # fmt: skip


CASES = cases()
SHORT = (
    "CubicSpline, values", "CubicSpline, knots", "PchipInterpolator, points", "make_interp_spline, 3", "BSpline, outside",
    "interp1d, fill values", "grid, linear", "grid, points, linear", "from outside, CubicSpline", "lists",
    "make_smoothing_spline", "RBFInterpolator, linear", "RectBivariateSpline", "UnivariateSpline, smoothed, 3, 0.3",
)  # fmt: skip


def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Each element with another weight; NaN counts as nothing."""

    def g(x: Any) -> Any:
        found = f(x)
        weights = np.reshape(np.cos(np.arange(np.size(found)) + 1.0), np.shape(found))
        return np.sum(np.where(np.isnan(found), 0.0, found) * weights)

    return g


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_against_scipy_and_finite_differences(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(gs.vjp(f, x)[0], f(x), rtol=1e-8, atol=1e-9)
    g = weighted(f)
    found = gs.grad(g)(x)
    np.testing.assert_allclose(found, slopes(g, x), rtol=1e-6, atol=1e-7)
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(gs.jvp(g, (x,), (u,))[1], np.sum(found * u), rtol=1e-8, atol=1e-12)
    second = (
        8 * (gs.grad(g)(x + 1e-4 * u) - gs.grad(g)(x - 1e-4 * u))
        - (gs.grad(g)(x + 2e-4 * u) - gs.grad(g)(x - 2e-4 * u))
    ) / 12e-4
    np.testing.assert_allclose(gs.hvp(g)(x, u), second, rtol=1e-6, atol=1e-7)


MADE_BY_SCIPY = {
    "basis_element",
    "from_spline",
}  # in the function, by code of SciPy's that a capture does not see: eager


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    first = gs.grad(weighted(f))
    compiled = gs.compile(first, verify="first calls")
    if name in MADE_BY_SCIPY:
        with pytest.warns(gs.EagerWarning):
            compiled(x)
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * (1 - 0.01 * k)), first(x * (1 - 0.01 * k)))
    if name not in MADE_BY_SCIPY:
        compiled.specialisation(x)  # which raises where it runs eagerly


def test_under_vmap() -> None:
    many = np.stack([Y, 2 * Y, Y**2])
    f = lambda y: CubicSpline(X, y)(WITHIN)
    np.testing.assert_allclose(gs.vmap(f)(many), [f(y) for y in many], rtol=1e-12)
    g = lambda q: interpolate.interp1d(X, Y)(q)
    np.testing.assert_allclose(gs.vmap(gs.grad(g))(WITHIN), [gs.grad(g)(q) for q in WITHIN], rtol=1e-12)


def test_a_spline_from_outside_is_told_apart() -> None:
    """Compiled, another spline under the same name, and other coefficients of the same one, are noticed."""
    spaces: dict[str, Any] = {"spline": CubicSpline(X, Y), "np": np}
    exec("def f(q):\n    return np.sum(spline(q))", spaces)
    f = spaces["f"]
    compiled = gs.compile(gs.grad(f))
    for other in (CubicSpline(X, Y), CubicSpline(X, 2 * Y), interpolate.PchipInterpolator(X, Y)):
        spaces["spline"] = other
        np.testing.assert_array_equal(compiled(WITHIN), gs.grad(f)(WITHIN))
    spaces["spline"].c[:] *= 3.0
    np.testing.assert_array_equal(compiled(WITHIN), gs.grad(f)(WITHIN))


def test_objects_answer_as_scipys_do() -> None:
    def f(y: Any) -> Any:
        spline = interpolate.make_interp_spline(X, y)
        t, c, k = spline.tck
        assert isinstance(CubicSpline(X, y), CubicSpline)
        assert isinstance(spline, BSpline)
        return np.sum(BSpline(t, c, k)(WITHIN)) + np.sum(CubicSpline(X, y).c)

    expected = np.sum(interpolate.make_interp_spline(X, Y)(WITHIN)) + np.sum(CubicSpline(X, Y).c)
    np.testing.assert_allclose(gs.value_and_grad(f)(Y)[0], expected, rtol=1e-12)


RAISES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "out of bounds": (lambda y: interpolate.interp1d(X, y)(Q), ValueError, "outside of the interpolation range"),
    "out of the grid": (lambda v: grid(v)(PLACES * 2), ValueError, "out of bounds"),
    "not increasing": (lambda y: CubicSpline(X[::-1], y)(WITHIN), ValueError, "strictly increasing"),
    "lengths": (lambda y: CubicSpline(X, y[1:])(WITHIN), ValueError, "doesn't match the length of `x`"),
    "roots": (lambda y: CubicSpline(X, y).roots(), NoRuleError, "`roots` of scipy.interpolate.CubicSpline has no gradient rule"),
    "bbox": (lambda y: interpolate.UnivariateSpline(X, y, s=0.1, bbox=(-1, 9))(WITHIN), NotImplementedError, "leave it out"),
    "make_splrep": (lambda y: interpolate.make_splrep(X, y, t=[1.7])(WITHIN), NotImplementedError, "take make_lsq_spline"),
    "lam": (lambda y: interpolate.make_smoothing_spline(X, y)(Q), NotImplementedError, "state lam="),
    "neighbors": (
        lambda y: interpolate.RBFInterpolator(SPREAD[:7], y, neighbors=3)(SPREAD), NotImplementedError, "leave it out",
    ),
    "a point twice": (
        lambda y: interpolate.KroghInterpolator(X[[0, 0, 1, 2, 3, 4, 5]], y)(Q), NotImplementedError, "each point once",
    ),
    "splrep": (lambda y: interpolate.splev(Q, interpolate.splrep(X, y, t=[1.7])), NotImplementedError, "knots or other options"),
    "pchip": (lambda v: grid(v, method="pchip")(PLACES), NotImplementedError, "take method='cubic'"),
    "periodic": (
        lambda y: interpolate.make_interp_spline(X, y, bc_type="periodic")(Q), NotImplementedError, "CubicSpline",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "scales", [(1.0, 0.1, 3.0), pytest.param((1.0, 0.1, 0.4, 3.0), marks=pytest.mark.slow)], ids=len
)
def test_a_compiled_spline_chooses_its_knots_at_each_call(scales: tuple[float, ...]) -> None:
    f = lambda y: np.sum(interpolate.UnivariateSpline(NOISY_X, y, s=0.5)(INNER) ** 2)
    run = gs.compile(gs.grad(f))
    for k in scales:  # one polynomial, and other numbers of knots
        np.testing.assert_array_equal(run(k * NOISY_Y), gs.grad(f)(k * NOISY_Y))


def test_smoothing_splines_of_other_knots_under_vmap_raise() -> None:
    f = lambda y: np.sum(interpolate.UnivariateSpline(NOISY_X, y, s=0.5)(INNER) ** 2)
    with pytest.raises(NotImplementedError, match=r"data of gs\.vmap, each of its own knots"):
        gs.vmap(gs.grad(f))(np.stack([NOISY_Y, 3.0 * NOISY_Y]))


@pytest.mark.parametrize("name", RAISES)
def test_what_raises(name: str) -> None:
    f, error, words = RAISES[name]
    x = VALUES if "grid" in name or name == "pchip" else Y
    for run in (gs.grad(lambda y: np.sum(f(y))), gs.compile(gs.grad(lambda y: np.sum(f(y))))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(error, match=words):
                run(x)
