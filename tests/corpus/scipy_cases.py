"""A call of each public function of SciPy's that has a gradient and is no op: a function of one array, and the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats
from scipy.sparse import linalg as systems
from scipy.spatial import distance
from scipy.stats import _distr_params as params

RNG = np.random.default_rng(17)
A, TALL, B, IMAGE = RNG.normal(size=(4, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=(6, 5))
V, P, C = RNG.normal(size=6), RNG.uniform(0.4, 1.6, 6), np.array([5.0, 0.5, -1.0, 0.3])
KNOTS, HEIGHTS = np.array([0.2, 0.7, 1.5, 1.9, 3.0, 4.1, 4.8]), RNG.normal(size=7)
WITHIN, T = np.array([0.3, 0.9, 1.6, 2.5, 3.7, 4.5]), np.array([0.8])
AXES, GRID = (np.linspace(0, 1, 6), np.linspace(0, 1, 7)), RNG.normal(size=(6, 7))
PLACES = np.array([[1.2, 2.1, 3.7], [0.45, 1.7, 2.4]])
TURN = np.array([[0.9137, 0.2071], [-0.1093, 1.1179]])
ROWS, COLUMNS = np.array([0, 1, 2, 3, 0, 3]), np.array([0, 1, 2, 3, 1, 2])
NUMBERS = np.array([2.0, 3.0, 2.5, 1.5, 0.5, 0.7])
S = sparse.csc_matrix(np.diag([3.0, 4.0, 5.0, 6.0]) + np.diag([1.0, 0.5, -1.0], 1))
SECTIONS = np.array([[0.3, 0.2, 0.1, 1.0, -0.4, 0.1], [0.5, 0.1, 0.2, 1.0, 0.2, 0.05]])
LONG = RNG.normal(size=20)
TIMES = np.linspace(0.0, 2.0, 9)
TIGHT = {"rtol": 1e-9, "atol": 1e-11}

Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {}


def of(module: Any, names: str, case: Callable[[Any], Callable[[Any], Any]], x: Any) -> None:
    """Add a case for each name: `case` makes it from SciPy's function."""
    for name in names.split():
        if hasattr(module, name):
            CASES[f"{module.__name__}.{name}"] = case(getattr(module, name)), x


def definite(a: Any) -> Any:
    """A symmetric matrix that is far from singular."""
    return a @ a.T + 4.0 * np.eye(4)


def numbers(d: Any) -> Any:
    """A sparse matrix of these numbers."""
    return sparse.csr_array((d, (ROWS, COLUMNS)), shape=(4, 4))


def cubic(s: Any, t: Any) -> Any:
    """A function with one root for each positive `t`."""
    return s**3 + t * s - t


def bowl(z: Any, t: Any) -> Any:
    """A function with one minimum for each `t`."""
    return np.sum(np.exp(t * z) - t * t * z)


# scipy.special: functions of an order that are made of others.
of(special, "jvp yvp kvp ivp h1vp h2vp", lambda f: lambda x: np.real(f(1.5, x, 2)), P)
of(special, "assoc_laguerre", lambda f: lambda x: f(x, 3, 0.5), P)
of(special, "comb", lambda f: lambda x: f(x + 5.0, 2.5), P)
of(special, "multigammaln", lambda f: lambda x: f(x + 2.0, 2), P)

# scipy.integrate
of(integrate, "trapezoid simpson", lambda f: lambda y: f(y, x=KNOTS[:6]), V)
of(integrate, "cumulative_trapezoid cumulative_simpson", lambda f: lambda y: f(y, x=KNOTS[:6]), V)
of(integrate, "romb", lambda f: lambda y: f(np.exp(y[:5]), dx=0.3), V)
of(integrate, "quad", lambda f: lambda t: f(lambda s: np.exp(-t[0] * s * s), 0, t[0])[0], T)
of(integrate, "fixed_quad", lambda f: lambda t: f(lambda s: np.exp(-t[0] * s * s), 0, t[0])[0], T)
of(integrate, "quad_vec", lambda f: lambda t: f(lambda s: np.array([1.0, 2.0]) * np.exp(-t[0] * s), 0, t[0])[0], T)
of(integrate, "dblquad", lambda f: lambda t: f(lambda y, x: np.sin(t[0] * x * y), 0, t[0], 0, 1)[0], T)
of(integrate, "tplquad", lambda f: lambda t: f(lambda z, y, x: t[0] ** 2 * x * y * z, 0, t[0], 0, 1, 0, 1)[0], T)
of(integrate, "nquad", lambda f: lambda t: f(lambda x, y: np.sin(t[0] * x * y), [(0, t[0]), (0, 1)])[0], T)
of(
    integrate,
    "solve_ivp",
    lambda f: lambda t: f(lambda s, y: -t[0] * y * y + s, (0, 2), [1.0], t_eval=[1.0, 2.0], **TIGHT).y,
    T,
)
of(integrate, "odeint", lambda f: lambda t: f(lambda y, s, k: -k * y * y + s, 1.0, TIMES[:3], args=(t[0],), **TIGHT), T)

# scipy.interpolate
of(
    interpolate,
    "CubicSpline PchipInterpolator Akima1DInterpolator interp1d InterpolatedUnivariateSpline make_interp_spline",
    lambda f: lambda y: f(KNOTS, y)(WITHIN),
    HEIGHTS,
)
of(interpolate, "CubicHermiteSpline", lambda f: lambda y: f(KNOTS, y, y**2)(WITHIN), HEIGHTS)
of(interpolate, "UnivariateSpline", lambda f: lambda y: f(KNOTS, y, s=0)(WITHIN), HEIGHTS)
of(interpolate, "pchip_interpolate", lambda f: lambda y: f(KNOTS, y, WITHIN), HEIGHTS)
of(interpolate, "BSpline", lambda f: lambda c: f(np.array([0, 0, 0, 0, 1, 2, 3, 5, 5, 5, 5.0]), c, 3)(WITHIN), HEIGHTS)
of(interpolate, "PPoly", lambda f: lambda c: f(c, KNOTS[:5])(WITHIN), A)
of(interpolate, "RegularGridInterpolator", lambda f: lambda q: f(AXES, GRID)((q / 5, q / 6)), WITHIN)
of(
    interpolate,
    "interpn",
    lambda f: lambda v: f(AXES, v, np.stack([WITHIN / 5, WITHIN / 6], 1), method="cubic_legacy"),
    GRID,
)
of(interpolate, "make_smoothing_spline", lambda f: lambda y: f(KNOTS, y, lam=0.3)(WITHIN), HEIGHTS)
of(
    interpolate,
    "make_lsq_spline",
    lambda f: lambda y: f(KNOTS, y, [0.2, 0.2, 0.2, 2.0, 4.8, 4.8, 4.8], k=2)(WITHIN),
    HEIGHTS,
)
of(interpolate, "LSQUnivariateSpline", lambda f: lambda y: f(KNOTS, y, [2.0], k=2)(WITHIN), HEIGHTS)
of(interpolate, "BarycentricInterpolator KroghInterpolator", lambda f: lambda y: f(KNOTS, y)(WITHIN), HEIGHTS)
of(interpolate, "barycentric_interpolate krogh_interpolate", lambda f: lambda y: f(KNOTS, y, WITHIN), HEIGHTS)
of(interpolate, "RBFInterpolator", lambda f: lambda y: f(KNOTS[:, None], y, kernel="cubic")(WITHIN[:, None]), HEIGHTS)
of(interpolate, "RectBivariateSpline", lambda f: lambda v: f(*AXES, v).ev(WITHIN / 5, WITHIN / 6), GRID)
of(interpolate, "make_splrep", lambda f: lambda y: f(KNOTS, np.sin(9 * y), s=0.2)(WITHIN), HEIGHTS)
of(interpolate, "splrep", lambda f: lambda y: f(KNOTS, y)[1], HEIGHTS)
of(interpolate, "splint", lambda f: lambda q: f(q[0], q[1], interpolate.splrep(KNOTS, HEIGHTS)) * q[2], WITHIN)
of(interpolate, "splder splantider", lambda f: lambda y: f(interpolate.splrep(KNOTS, y), 1)[1], HEIGHTS)
of(interpolate, "splev", lambda f: lambda q: f(q, interpolate.splrep(KNOTS, HEIGHTS), der=1), WITHIN)

# scipy.linalg
of(linalg, "expm cosm sinm tanm coshm sinhm tanhm", lambda f: lambda a: f(a / 3), A)
of(linalg, "det inv pinv eigvals", lambda f: lambda a: np.abs(f(a)), A)
of(linalg, "logm sqrtm cholesky eigvalsh pinvh", lambda f: lambda a: f(definite(a)), A)
of(linalg, "svdvals norm", lambda f: lambda a: f(a), TALL)
of(linalg, "eig", lambda f: lambda a: np.abs(f(a)[0]), A)
of(linalg, "eigh", lambda f: lambda a: np.append(f(definite(a))[0], f(definite(a))[1] ** 2), A)
of(linalg, "svd", lambda f: lambda a: f(a, full_matrices=False)[0] ** 2, TALL)
of(linalg, "qr", lambda f: lambda a: f(a)[1] ** 2, A)
of(linalg, "lu", lambda f: lambda a: f(a)[2] ** 2, A)
of(linalg, "lu_factor cho_factor", lambda f: lambda a: np.triu(f(definite(a))[0]), A)
of(linalg, "lu_solve", lambda f: lambda a: f(linalg.lu_factor(a), B), A)
of(linalg, "cho_solve", lambda f: lambda a: f(linalg.cho_factor(definite(a)), B), A)
of(linalg, "solve", lambda f: lambda a: f(a, B), A)
of(linalg, "lstsq", lambda f: lambda a: f(a, TALL[:, 0] ** 2)[0], TALL)
of(linalg, "polar", lambda f: lambda a: f(a)[0], A)
of(linalg, "toeplitz hankel circulant companion", lambda f: lambda c: f(c) ** 2, C)
of(linalg, "block_diag", lambda f: lambda a: f(a, a**2), A)
of(linalg, "khatri_rao", lambda f: lambda a: f(a, a[:2]), A)
of(linalg, "expm_frechet", lambda f: lambda a: np.stack(f(a / 2, a @ a)), A)
of(linalg, "fractional_matrix_power", lambda f: lambda a: f(definite(a), 0.3), A)
of(linalg, "orthogonal_procrustes", lambda f: lambda a: f(a, A.T)[0], A + np.diag(C))
of(linalg, "solve_triangular", lambda f: lambda a: f(definite(a), B), A)
of(linalg, "solve_banded", lambda f: lambda a: f((1, 1), np.stack([a[0], a[1] + 9.0, a[2]]), B), A)
of(linalg, "solveh_banded", lambda f: lambda a: f(np.stack([a[0], a[1], a[2] + 9.0]), B), A)
of(linalg, "solve_circulant", lambda f: lambda c: f(c, B[:, 0]), C)
of(linalg, "solve_toeplitz matmul_toeplitz", lambda f: lambda c: f((c, c**2 + 5.0 * c), B), C)
of(linalg, "solve_sylvester", lambda f: lambda a: f(definite(a), np.eye(2), B), A)
of(linalg, "solve_continuous_lyapunov solve_lyapunov", lambda f: lambda a: f(a, a @ a.T), A)
of(linalg, "solve_discrete_lyapunov", lambda f: lambda a: f(a / 9.0, a @ a.T), A)
of(linalg, "eigh_tridiagonal", lambda f: lambda c: f(c, c[:3] ** 2, eigvals_only=True), C)

# scipy.ndimage
of(
    ndimage,
    "gaussian_filter gaussian_filter1d gaussian_laplace gaussian_gradient_magnitude",
    lambda f: lambda a: f(a, 1.0),
    IMAGE,
)
of(ndimage, "uniform_filter uniform_filter1d", lambda f: lambda a: f(a, 3), IMAGE)
of(ndimage, "laplace prewitt sobel", lambda f: lambda a: f(a), IMAGE)
of(ndimage, "maximum_filter minimum_filter median_filter", lambda f: lambda a: f(a, (3, 2), mode="mirror"), IMAGE)
of(ndimage, "rank_filter", lambda f: lambda a: f(a, 1, 3), IMAGE)
of(ndimage, "percentile_filter", lambda f: lambda a: f(a, 70, 3), IMAGE)
of(ndimage, "center_of_mass", lambda f: lambda a: np.stack(f(a + 5.0)), IMAGE)
of(ndimage, "convolve", lambda f: lambda a: f(a, TURN), IMAGE)
of(ndimage, "convolve1d", lambda f: lambda a: f(a, C[:3]), IMAGE)
of(ndimage, "map_coordinates", lambda f: lambda p: f(IMAGE, p, mode="mirror"), PLACES)
of(ndimage, "affine_transform", lambda f: lambda m: f(IMAGE, m, [0.3171, -0.2131], mode="mirror"), TURN)
of(ndimage, "shift", lambda f: lambda s: f(IMAGE, s, mode="reflect"), np.array([0.6, -1.3]))
of(ndimage, "zoom", lambda f: lambda a: f(a, 1.7, mode="mirror"), IMAGE)
of(ndimage, "rotate", lambda f: lambda a: f(IMAGE, a[0], reshape=False, mode="wrap"), np.array([17.0]))
of(ndimage, "spline_filter", lambda f: lambda a: f(a, 4), IMAGE)

# scipy.optimize
of(optimize, "brentq brenth ridder bisect toms748", lambda f: lambda t: f(cubic, 0.0, 2.0, args=(t[0],), xtol=1e-13), T)
of(optimize, "newton", lambda f: lambda t: f(cubic, 0.6, args=(t[0],), tol=1e-13), T)
of(optimize, "root_scalar", lambda f: lambda t: f(cubic, args=(t[0],), bracket=[0.0, 2.0], xtol=1e-13).root, T)
of(optimize, "root", lambda f: lambda t: f(lambda x: x**3 + x - t, [0.5], tol=1e-13).x, T)
of(optimize, "fsolve", lambda f: lambda t: f(lambda x: x**3 + x - t, [0.5], xtol=1e-13), T)
of(optimize, "fixed_point", lambda f: lambda t: f(lambda s: np.cos(t[0] * s), 0.5, xtol=1e-13), T)
of(
    optimize,
    "minimize",
    lambda f: lambda t: f(bowl, [0.1, 0.3], args=(t[0],), jac=lambda z, t: t * np.exp(t * z) - t * t, tol=1e-11).x,
    T,
)
of(optimize, "minimize_scalar", lambda f: lambda t: f(bowl, args=(t[0],)).x, T)
of(optimize, "brent golden", lambda f: lambda t: f(bowl, args=(t[0],)), T)
of(optimize, "fminbound", lambda f: lambda t: f(bowl, -2.0, 2.0, args=(t[0],), xtol=1e-10), T)
of(
    optimize,
    "least_squares",
    lambda f: (
        lambda t: f(lambda z: [z[0] - t[0], z[0] * z[1] - 1.0, z[1]], [1.0, 1.0], xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    ),
    T,
)
of(
    optimize,
    "curve_fit",
    lambda f: (
        lambda t: f(
            lambda s, a, b: a * np.exp(-b * s),
            TIMES,
            2.0 * np.exp(-t[0] * TIMES) + 0.05 * np.sin(17.0 * TIMES),
            p0=[1.0, 1.0],
            ftol=1e-14,
            xtol=1e-14,
            gtol=1e-14,
        )[0]
    ),
    T,
)
of(optimize, "lsq_linear", lambda f: lambda a: f(a, TALL[:, 0] ** 2, (-9.0, 9.0), tol=1e-13).x, TALL)
of(optimize, "nnls", lambda f: lambda a: f(np.abs(a), np.abs(a).sum(1) + 0.1 * TALL[:, 0])[0], TALL)
of(optimize, "rosen rosen_der rosen_hess", lambda f: lambda x: f(x), P)
of(optimize, "rosen_hess_prod", lambda f: lambda x: f(x, V), P)

# scipy.signal
of(signal, "correlate2d", lambda f: lambda a: f(a, TURN), IMAGE)
of(signal, "welch", lambda f: lambda x: f(x, nperseg=8, average="median")[1], LONG)
of(signal, "csd coherence", lambda f: lambda x: np.abs(f(x, x**2, nperseg=6, detrend="linear")[1]), LONG)
of(signal, "periodogram", lambda f: lambda x: f(x, fs=2.0, nfft=24)[1], LONG)
of(signal, "spectrogram", lambda f: lambda x: f(x, nperseg=6, mode="magnitude")[2], LONG)
of(signal, "stft", lambda f: lambda x: np.abs(f(x, nperseg=6)[2]), LONG)
of(signal, "medfilt wiener", lambda f: lambda a: f(a, 3), IMAGE)
of(signal, "freqz", lambda f: lambda a: np.abs(f([1.0, 0.2], a, 7)[1]), C[:3])
of(signal, "resample", lambda f: lambda x: f(x, 9), V)
of(signal, "upfirdn", lambda f: lambda x: f(C, x, 3, 2), V)
of(signal, "resample_poly", lambda f: lambda x: f(x, 3, 2), V)
of(signal, "filtfilt", lambda f: lambda x: f([0.3, 0.2], [1.0, -0.4], x, padlen=3), V)
of(signal, "find_peaks", lambda f: lambda x: f(x, height=-5.0)[1]["peak_heights"] ** 2, V)
of(
    signal,
    "firwin2 firls",
    lambda f: lambda v: f(9, np.stack([0.0, v[0], v[1], 1.0]), np.stack([v[2], 1.0, v[3], 0.0])),
    np.array([0.31, 0.52, 0.9, 0.2]),
)
of(signal, "sosfiltfilt", lambda f: lambda x: f(SECTIONS, x, padlen=3), V)
of(signal, "decimate", lambda f: lambda x: f(np.concatenate([x, x[::-1]]), 2), LONG)
of(signal, "istft", lambda f: lambda x: f(signal.stft(x, nperseg=6)[2] * 1.1, nperseg=6)[1] ** 2, LONG)
of(signal, "lombscargle", lambda f: lambda x: f(x, np.sin(x), [0.5, 1.0, 2.0]), KNOTS)
of(signal, "chirp", lambda f: lambda t: f(t, 0.3, 2.0, t[0], phi=20), KNOTS)
of(signal, "hilbert", lambda f: lambda x: np.abs(f(x)), V)
of(signal, "lfilter_zi", lambda f: lambda b: f(b, [1.0, -0.4, 0.1]), C[:3])
of(signal, "sosfilt", lambda f: lambda s: f(np.concatenate([s, [1.0, -0.4, 0.1]])[None], V), C[:3])
of(signal, "sosfilt_zi", lambda f: lambda s: f(np.concatenate([s, [1.0, -0.4, 0.1]])[None]), C[:3])

# scipy.sparse
for _form in ("csr", "csc", "coo"):
    of(sparse, f"{_form}_matrix {_form}_array", lambda f: lambda d: f((d, (ROWS, COLUMNS)), shape=(4, 4)) @ B, NUMBERS)
for _form in ("bsr", "dia", "dok", "lil"):
    of(sparse, f"{_form}_matrix {_form}_array", lambda f: lambda x: f(S) @ x, B)
of(sparse, "diags diags_array", lambda f: lambda c: f([c, c[:3]], offsets=[0, 1]) @ B, C)
of(sparse, "hstack vstack", lambda f: lambda d: f([numbers(d), S]) @ B[:1].repeat(8, 0)[: f([S, S]).shape[1]], NUMBERS)
of(
    sparse,
    "bmat block_array",
    lambda f: lambda d: f([[numbers(d), None], [S, numbers(d)]]) @ np.tile(B, (2, 1)),
    NUMBERS,
)
of(sparse, "block_diag", lambda f: lambda d: f([numbers(d), S]) @ np.tile(B, (2, 1)), NUMBERS)
of(sparse, "kron", lambda f: lambda d: f(numbers(d), TURN) @ np.tile(B, (2, 1)), NUMBERS)
of(sparse, "tril triu", lambda f: lambda d: f(numbers(d)) @ B, NUMBERS)
of(sparse, "eye eye_array identity", lambda f: lambda d: (f(4) + numbers(d)) @ B, NUMBERS)
of(sparse, "spdiags", lambda f: lambda c: f(np.stack([c, c**2]), [0, 1], 4, 4) @ B, C)
of(systems, "inv", lambda f: lambda d: f(numbers(d).tocsc()).toarray(), NUMBERS)
of(systems, "norm", lambda f: lambda d: f(numbers(d)), NUMBERS)
of(systems, "spsolve", lambda f: lambda d: f(sparse.csc_matrix((d, (ROWS, COLUMNS)), shape=(4, 4)), B[:, 0]), NUMBERS)
of(
    systems,
    "splu",
    lambda f: lambda d: f(sparse.csc_matrix((d, (ROWS, COLUMNS)), shape=(4, 4))).solve(B[:, 0]),
    NUMBERS,
)
of(
    systems,
    "cg cgs gmres bicg bicgstab minres lgmres qmr tfqmr gcrotmk",
    lambda f: lambda d: f(sparse.diags([d, d[1:] / 9, d[1:] / 9], offsets=[0, 1, -1]), C, rtol=1e-14)[0],
    C**2 + 3.0,
)
of(systems, "factorized", lambda f: lambda b: f(S)(b), C)

# scipy.spatial.distance
of(
    distance,
    "euclidean sqeuclidean cosine cityblock minkowski chebyshev canberra braycurtis correlation jensenshannon",
    lambda f: lambda u: f(u, 0.3 + P[::-1] ** 1.5),
    P,
)
of(distance, "mahalanobis", lambda f: lambda u: f(u, P, np.diag(P)), V)
of(distance, "seuclidean", lambda f: lambda u: f(u, P, P), V)
of(distance, "cdist", lambda f: lambda a: f(a, B), B + 0.3)
of(distance, "pdist", lambda f: lambda a: f(a), B)

# scipy.stats
of(stats, "entropy gmean hmean gstd variation sem kurtosis skew", lambda f: lambda p: f(p), P)
of(stats, "iqr", lambda f: lambda p: f(p, rng=(10, 80)), P)
of(stats, "trim_mean", lambda f: lambda p: f(p, 0.2), P)
of(stats, "zscore", lambda f: lambda p: f(p), P)
of(stats, "zmap", lambda f: lambda p: f(p, p**2), P)
of(stats, "moment", lambda f: lambda p: f(p, 3), P)
of(stats, "pmean", lambda f: lambda p: f(p, 3.0), P)
of(stats, "boxcox yeojohnson", lambda f: lambda p: f(p, 0.3), P)
of(stats, "pearsonr", lambda f: lambda p: f(p, V).statistic, P)
of(stats, "linregress", lambda f: lambda p: f(V, p).slope, P)
of(stats, "gaussian_kde", lambda f: lambda x: f(A[0])(x), V)
CASES["scipy.stats.multivariate_normal"] = (
    lambda x: stats.multivariate_normal.logpdf(x, np.zeros(2), TURN @ TURN.T),
    B,
)
CASES["scipy.stats.multivariate_t"] = lambda x: stats.multivariate_t.logpdf(x, np.zeros(2), TURN @ TURN.T, 3.0), P[:2]
CASES["scipy.stats.multinomial"] = lambda p: stats.multinomial.logpmf([1, 0, 2], 3, p / np.sum(p)), P[:3]
CASES["scipy.stats.dirichlet"] = lambda a: stats.dirichlet.logpdf(P[:3] / np.sum(P[:3]), a), P[3:]

DISCRETE: dict[str, Case] = {
    "geom": (lambda p: stats.geom.logpmf(np.arange(1, 5), p[0]), np.array([0.3])),
    "nbinom": (lambda p: stats.nbinom.logpmf(np.arange(5), p[0] * 9, p[1]), np.array([0.3, 0.4])),
    "betabinom": (lambda p: stats.betabinom.pmf(np.arange(5), 5, p[0], p[1]), np.array([0.3, 1.4])),
    "betanbinom": (lambda p: stats.betanbinom.pmf(np.arange(7), 5, p[0] + 1, p[1]), np.array([0.3, 1.4])),
    "logser": (lambda p: stats.logser.pmf(np.arange(1, 5), p[0]), np.array([0.6])),
    "planck": (lambda p: stats.planck.pmf(np.arange(5), p[0]), np.array([0.6])),
    "zipfian": (lambda p: stats.zipfian.pmf(np.arange(1, 5), p[0], 6), np.array([0.6])),
    "boltzmann": (lambda p: stats.boltzmann.pmf(np.arange(4), p[0], 4), np.array([0.6])),
    "dlaplace": (lambda p: stats.dlaplace.pmf(np.arange(-3, 4), p[0]), np.array([0.6])),
    "yulesimon": (lambda p: stats.yulesimon.logpmf(np.arange(1, 5), p[0]), np.array([1.6])),
    "zipf": (lambda p: stats.zipf.logpmf(np.arange(1, 5), p[0]), np.array([1.9])),
    "skellam": (lambda p: stats.skellam.logpmf(np.arange(-2, 4), p[0], p[1]), np.array([1.6, 2.3])),
    "poisson": (lambda p: stats.poisson.logpmf(3, p), np.array([1.6, 2.0])),
    "binom": (lambda p: stats.binom.pmf(3, 5, p), np.array([0.6, 0.3])),
    "bernoulli": (lambda p: stats.bernoulli.pmf(np.arange(2), p[0]), np.array([0.6])),
}  # fmt: skip
CASES |= {f"scipy.stats.{name}": case for name, case in DISCRETE.items()}


def _family(name: str, method: str, args: Any) -> Callable[[Any], Any]:
    return lambda x: getattr(getattr(stats, name), method)(x, *args)


for _name, _args in params.distcont:
    _x = getattr(stats, _name).ppf(np.array([0.23, 0.37, 0.71]), *_args)
    for _method in ("logpdf", "cdf"):
        CASES.setdefault(
            f"scipy.stats.{_name}{'' if _method == 'logpdf' else '.cdf'}", (_family(_name, _method, _args), _x)
        )
