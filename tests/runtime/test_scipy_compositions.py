"""More functions of SciPy that are made of ops: values and slopes against SciPy, at second order, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft, interpolate, linalg, ndimage, signal, sparse, stats
from scipy.spatial import distance

import gradscribe as gs

from case_tables import slopes, slow, weighted

RNG = np.random.default_rng(11)
X, P, A, B = RNG.normal(size=6), RNG.uniform(0.2, 2.0, 6), RNG.normal(size=(5, 6)), RNG.normal(size=(2, 3))
METRICS = (
    "euclidean",
    "sqeuclidean",
    "cosine",
    "cityblock",
    "minkowski",
    "chebyshev",
    "canberra",
    "braycurtis",
    "correlation",
)
KDE = stats.gaussian_kde(A)

Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {
    **{f"distance, {name}": (lambda u, name=name: getattr(distance, name)(u, P), X) for name in METRICS},
    "distance, minkowski, p": (lambda u: distance.minkowski(u, P, 3, P), X),
    "distance, mahalanobis": (lambda u: distance.mahalanobis(u, P, np.diag(P)), X),
    "distance, seuclidean": (lambda u: distance.seuclidean(u, X, P), P),
    "distance, jensenshannon": (lambda p: distance.jensenshannon(p, P[::-1], 2.0), P),
    **{
        f"cdist, {name}": (lambda a, name=name: distance.cdist(a, np.abs(B) + 0.1, name), np.abs(A[:4, :3]) + 0.2)
        for name in ("seuclidean", "mahalanobis", "jensenshannon")
    },
    **{f"pdist, {name}": (lambda a, name=name: distance.pdist(a, name), A[:, :3]) for name in ("seuclidean", "mahalanobis")},
    **{
        f"cdist, {name}, w": (lambda a, name=name: distance.cdist(a, B, name, w=[1.0, 2.0, 0.5]), A[:4, :3])
        for name in ("euclidean", "cosine", "correlation", "canberra", "braycurtis")
    },
    "cdist, of a function": (lambda a: distance.cdist(a, B, lambda u, v: np.sum((u - v) ** 4)), A[:4, :3]),
    "cdist, of SciPy's function": (lambda a: distance.cdist(a, B, distance.cityblock), A[:4, :3]),
    "cdist, of lists": (lambda x: distance.cdist([x[:3], x[3:]], [[1.0, 2.0, 3.0]]), X),
    "pdist, of a function": (lambda a: distance.pdist(a, lambda u, v: np.sum(np.exp(u) * v)), A[:4, :3]),
    "block_diag, of lists": (lambda x: linalg.block_diag([x[0], x[1]], 2.0, [[x[2]], [1.0]]), X),
    "solve, positive definite": (lambda a: linalg.solve(a @ a.T + 4.0 * np.eye(5), X[:5], assume_a="pos"), A[:, :5]),
    "eigh, a part": (lambda a: np.append(*[v**2 for v in linalg.eigh(a @ a.T, subset_by_index=[1, 2])]), A[:, :5]),
    "eigvalsh, a part": (lambda a: linalg.eigvalsh(a @ a.T, subset_by_index=[3, 4]), A[:, :5]),
    "moment": (lambda x: np.append(stats.moment(x, 3), stats.moment(x, 2, center=0.5)), X),
    "moments": (lambda a: stats.moment(a, [2, 3], axis=1), A),
    "variation": (lambda p: stats.variation(p, ddof=1), P),
    "sem": (lambda a: stats.sem(a, axis=0), A),
    "gstd": (lambda p: stats.gstd(p), P),
    "pmean": (lambda p: stats.pmean(p, 3.0, weights=P), P + 0.1),
    "zmap": (lambda x: stats.zmap(x, A[0] + x), X),
    "boxcox": (lambda p: stats.boxcox(p, 0.3), P),
    "yeojohnson": (lambda x: stats.yeojohnson(x, 0.3), X),
    "gaussian_kde, points": (lambda x: stats.gaussian_kde(A[0])(x), X),
    "gaussian_kde, samples": (lambda a: stats.gaussian_kde(a, "silverman").logpdf(A[:2, :3]), A[2:4]),
    "gaussian_kde, weights": (lambda p: stats.gaussian_kde(A[0], weights=p).pdf(X), P),
    "gaussian_kde, from outside": (lambda x: KDE(x), B.reshape(-1)[:5]),
    "hilbert": (lambda x: np.abs(signal.hilbert(x)), X),
    "hilbert, N": (lambda a: np.imag(signal.hilbert(a, 7, axis=0)), A),
    "correlate2d": (lambda a: signal.correlate2d(a, B), A),
    "correlate2d, valid": (lambda b: signal.correlate2d(A, b, "valid"), B),
    **{
        f"correlate2d, {mode}, {border}": (
            lambda a, mode=mode, border=border: signal.correlate2d(a, B, mode, border, 0.5), A
        )
        for mode in ("full", "same", "valid")
        for border in ("fill", "wrap", "symm")
    },
    "correlate2d, the second is larger": (lambda b: signal.correlate2d(b, A, "valid"), B),
    "laplace": (lambda a: ndimage.laplace(a, mode="wrap"), A),
    "gaussian_laplace": (lambda a: ndimage.gaussian_laplace(a, 1.0), A),
    "gaussian_gradient_magnitude": (lambda a: ndimage.gaussian_gradient_magnitude(a, (1.0, 0.7)), A),
}  # fmt: skip


def matrix(x: Any) -> Any:
    """A matrix as users write one down."""
    return [[x[0] ** 2 + 3.0, 1.0], [1.0, x[1] ** 2 + 4.0]]


OF_LISTS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda x: linalg.solve(matrix(x), [1.0, x[2]]),
    "lu_solve": lambda x: linalg.lu_solve(linalg.lu_factor(matrix(x)), [1.0, 2.0]),
    "cho_solve": lambda x: linalg.cho_solve(linalg.cho_factor(matrix(x)), [1.0, 2.0]),
    "solve_sylvester": lambda x: linalg.solve_sylvester(matrix(x), [[2.0]], [[1.0], [x[2]]]),
    "pearsonr": lambda x: stats.pearsonr([x[0], x[1], x[2], 1.0], [1, 2, 3, 5])[0],
    "detrend": lambda x: signal.detrend([x[0], x[1], x[2]]),
    "rfft": lambda x: np.abs(fft.rfft([[x[0], x[1]], [2.0, 1.0]])),
    "dct": lambda x: fft.dct([x[0], x[1], 2.0]),
    **{
        name: lambda x, name=name: getattr(linalg, name)(matrix(x))
        for name in ("det", "inv", "expm", "logm", "sqrtm", "cholesky", "pinv", "eigvalsh", "svdvals", "norm")
    },
}
CASES |= {f"lists, {name}": (f, X) for name, f in OF_LISTS.items()}
SHORT = (
    "lists, solve", "lists, dct", "distance, cosine", "pmean", "gaussian_kde, samples", "hilbert", "correlate2d",
    "gaussian_laplace",
)  # fmt: skip


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_against_scipy_and_finite_differences(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(gs.vjp(f, x)[0], f(x), rtol=1e-9, atol=1e-12)
    g = weighted(f)
    found = gs.grad(g)(x)
    np.testing.assert_allclose(found, slopes(g, x), rtol=1e-7, atol=1e-9)
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(gs.jvp(g, (x,), (u,))[1], np.sum(found * u), rtol=1e-8, atol=1e-11)
    second = (gs.grad(g)(x + 1e-5 * u) - gs.grad(g)(x - 1e-5 * u)) / 2e-5
    np.testing.assert_allclose(gs.hvp(g)(x, u), second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    first = gs.grad(weighted(f))
    compiled = gs.compile(first, verify="first calls")
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * (1 + 0.01 * k)), first(x * (1 + 0.01 * k)))
    compiled.specialisation(x)  # which raises where it runs eagerly


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: stats.boxcox(np.abs(x))[0], "state lmbda="), (lambda x: stats.yeojohnson(x)[0], "state lmbda="),
        (lambda x: stats.gaussian_kde(x, "other")(x), "state a number"),
        (lambda x: distance.pdist(np.outer(x, x), "hamming"), "it counts coordinates, so that its slope is zero"),
    ],
)  # fmt: skip
def test_what_has_no_derivative_raises_by_name(f: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=words):
        gs.grad(lambda x: np.sum(f(x)))(X)


M = RNG.normal(size=(3, 4, 4))
S = sparse.csr_matrix(np.diag([3.0, 4.0, 5.0, 6.0]) + np.diag([1.0, 0.5, -1.0], 1))
KNOTS = np.arange(4.0)
MAPPED: dict[str, Callable[[Any], Any]] = {
    "lu": lambda a: linalg.lu(a)[2],
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), a[0]),
    "map_coordinates": lambda a: ndimage.map_coordinates(a, a[:2, :3] + 1.3),
    "sparse": lambda a: S @ a + a @ S,
    "spsolve": lambda a: sparse.linalg.spsolve(S.tocsc(), a[0]),
    "spsolve, numbers": lambda a: sparse.linalg.spsolve(
        sparse.csc_matrix((a[0] + 9.0, (np.arange(4), np.arange(4))), shape=(4, 4)), a[1]
    ),
    "gaussian_kde": lambda a: stats.gaussian_kde(a[0])(a[1]),
    "cdf": lambda a: stats.weibull_min.cdf(a[0] ** 2, 1.5, scale=a[1] ** 2 + 1),
    "CubicSpline": lambda a: interpolate.CubicSpline(KNOTS, a[0])(np.abs(a[1])),
    "grid": lambda a: interpolate.RegularGridInterpolator((KNOTS, KNOTS), a, bounds_error=False, fill_value=0.0)(
        a[:, :2]
    ),
}


@pytest.mark.parametrize(
    "name", [n if n in ("sparse", "grid") else pytest.param(n, marks=pytest.mark.slow) for n in MAPPED]
)
def test_under_vmap(name: str) -> None:
    f = MAPPED[name]
    np.testing.assert_allclose(gs.vmap(f)(M), [f(a) for a in M], rtol=1e-9, atol=1e-12)
    first = gs.grad(weighted(f))
    np.testing.assert_allclose(gs.vmap(first)(M), [first(a) for a in M], rtol=1e-9, atol=1e-12)
