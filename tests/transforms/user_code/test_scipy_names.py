"""SciPy's own names inside transforms: distributions, matrices, convolutions and differential equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy import fft, integrate, linalg, ndimage, signal, stats
from scipy.integrate import odeint
from scipy.spatial import distance
from scipy.stats import norm

import gradscribe as gs
from gradscribe.scipy import signal as ours

X = np.array([0.2, 0.45, 0.7, 0.85])
FAMILIES: dict[str, tuple[float, ...]] = {
    "norm": (), "t": (3.0,), "beta": (2.0, 3.0), "gamma": (2.5,), "chi2": (3.0,), "expon": (), "laplace": (), "logistic": (),
    "cauchy": (),
}  # fmt: skip
FUNCTIONS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]
WHOLE: dict[str, tuple[Any, ...]] = {"poisson": (1.7,), "bernoulli": (0.3,), "binom": (5, 0.3)}
rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3))
P = rng.normal(size=(5, 3))
C = A @ A.T + np.eye(3)
IMAGE, KERNEL = rng.normal(size=(4, 5)), rng.normal(size=(2, 3))


def check(f: Callable[..., Any], x: Any, value: Any = None) -> None:
    """Hold value, gradient and second derivatives against SciPy and differences, and compiled against eager."""
    x = np.asarray(x, float)
    gradient = gs.value_and_grad(f)
    np.testing.assert_allclose(gradient(x)[0], f(x) if value is None else value, rtol=1e-12, atol=1e-13)
    gs.check_grads(f, (x,))
    compiled = gs.compile(gradient, verify="first calls")(x)
    np.testing.assert_array_equal(compiled[0], gradient(x)[0])
    np.testing.assert_array_equal(compiled[1], gradient(x)[1])


@pytest.mark.parametrize("name", FAMILIES)
def test_continuous_distributions(name: str) -> None:
    found, shapes = getattr(stats, name), FAMILIES[name]
    for function in FUNCTIONS:
        of = getattr(found, function)
        check(lambda x, of=of: np.sum(of(x, *shapes)), X)
        if name != "beta":
            check(lambda p, of=of: np.sum(of(X, *shapes, loc=p[0], scale=p[1])), [0.05, 1.3])


@pytest.mark.parametrize("name", ["norm", "expon", "logistic"])
def test_quantiles(name: str) -> None:
    for function in ("ppf", "isf"):
        check(lambda q, function=function: np.sum(getattr(getattr(stats, name), function)(q, 0.3, 2.0) ** 2), X)


@pytest.mark.parametrize(("name", "k"), [("beta", 0), ("beta", 1), ("gamma", 0), ("chi2", 0), ("t", 0)])
def test_shapes_of_distributions(name: str, k: int) -> None:
    shapes = list(FAMILIES[name])
    check(lambda a: np.sum(getattr(stats, name).logpdf(X, *shapes[:k], a, *shapes[k + 1 :])), shapes[k])


@pytest.mark.parametrize("name", ["beta", "gamma", "chi2", "expon"])
def test_outside_of_its_support_a_density_is_zero_and_so_is_its_gradient(name: str) -> None:
    found, shapes = getattr(stats, name), FAMILIES[name]
    outside = np.array([-1.0, -0.5, 2.5 if name == "beta" else -3.0])
    for function in FUNCTIONS:
        f = lambda x, function=function: np.sum(np.exp(getattr(found, function)(x, *shapes)))
        value, gradient = gs.value_and_grad(f)(outside)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(value, np.sum(np.exp(getattr(found, function)(outside, *shapes))), atol=1e-14)
        np.testing.assert_array_equal(gradient, 0.0)


@pytest.mark.parametrize("name", WHOLE)
def test_discrete_distributions(name: str) -> None:
    found, shapes = getattr(stats, name), WHOLE[name]
    inside, all_of = np.array([0, 1]), np.array([0, 1, 3, 7, -1])
    check(lambda p: np.sum(found.logpmf(inside, *shapes[:-1], p)), shapes[-1])
    for function in ("pmf", "cdf", "sf"):
        check(
            lambda p, function=function: np.sum(np.sin(getattr(found, function)(all_of, *shapes[:-1], p))), shapes[-1]
        )


def test_dirichlet() -> None:
    point = np.array([0.2, 0.3, 0.5])
    check(lambda a: stats.dirichlet.logpdf(point, a), [1.0, 2.0, 3.0])
    check(lambda a: stats.dirichlet.pdf(point[:2], a), [1.0, 2.0, 3.0])


def test_multivariate_normal() -> None:
    mvn = stats.multivariate_normal
    check(lambda m: np.sum(mvn.logpdf(P, m, C)), np.ones(3))
    check(lambda x: np.sum(mvn.pdf(x, np.ones(3), C)), P)
    check(lambda x: mvn.logpdf(x, np.ones(3), C), P[0])
    check(lambda a: np.sum(mvn.logpdf(P, np.ones(3), np.dot(a, a.T) + np.diag(np.ones(3)))), A)
    check(lambda v: np.sum(mvn.logpdf(P, np.ones(3), v)), [1.0, 2.0, 3.0])
    check(lambda v: np.sum(mvn.logpdf(P, np.ones(3), v)), 2.0)
    check(lambda v: mvn.entropy(np.ones(3), C * v), 2.0)
    check(lambda v: np.sum(mvn.logpdf(X, 0.5, v)), 2.0)
    with pytest.raises(NotImplementedError, match="allow_singular"):
        gs.grad(lambda m: mvn.logpdf(P[0], m, C, allow_singular=True))(np.ones(3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy.stats.norm.logpdf(x, 0.5), lambda x: stats.norm.logpdf(x, 0.5), lambda x: norm.logpdf(x, 0.5),
        lambda x: norm(0.5).logpdf(x), lambda x: norm.logpdf(x, loc=0.5, scale=1),
    ],
)  # fmt: skip
def test_each_way_to_a_density(f: Any) -> None:
    check(f, 0.2, value=norm.logpdf(0.2, 0.5))


def test_what_has_no_formula_is_scipys_own() -> None:
    assert gs.grad(lambda x: x * norm.mean(2.0) * norm(3.0).mean() * norm.rvs(size=3, random_state=0).size)(1.0) == 18.0
    with pytest.warns(gs.EagerWarning, match="rvs, which may draw"):
        gs.compile(lambda x: x * norm.rvs(random_state=0))(1.0)


def test_a_wrong_parameter_is_named() -> None:
    with pytest.raises(TypeError, match=r"scipy\.stats\.norm takes \['loc', 'scale'\]"):
        gs.grad(lambda x: norm.logpdf(x, mean=0.5))(0.2)


def test_matrices() -> None:
    low = np.tril(A) + 2 * np.eye(3)
    check(lambda m: np.sum(linalg.solve_triangular(m, P.T, lower=True)), low)
    check(lambda m: np.sum(linalg.solve_triangular(m, P[0], trans="T", lower=True)), low)
    check(lambda m: np.sum(linalg.cho_solve(linalg.cho_factor(np.dot(m, m.T)), P.T)), low)
    check(lambda m: np.sum(np.sin(linalg.cholesky(np.dot(m, m.T)))), low)
    check(lambda m: np.sum(np.sin(linalg.expm(m))) + linalg.norm(m) + linalg.det(m), A)
    check(lambda m: np.sum(np.sin(linalg.block_diag(m, m[:2]))), A)
    with pytest.raises(NotImplementedError, match="3-d arrays"):
        gs.grad(lambda m: np.sum(linalg.solve_triangular(m, P.T)))(np.stack([low, low]))


def test_fourier_transforms() -> None:
    check(lambda x: np.sum(np.abs(fft.rfft(x, 6, -1, None, True, 2, plan=None)) ** 2), IMAGE)
    check(lambda x: np.sum(np.sin(fft.dctn(x, 3, overwrite_x=True, workers=2))), IMAGE)
    check(lambda d: np.sum(np.cos(fft.fftfreq(6, d)) + fft.rfftfreq(11, d=d)), 0.3)
    check(lambda d: np.sum(np.cos(np.fft.fftfreq(6, d)) + np.fft.rfftfreq(11, d=d)), 0.3)
    gains = gs.compile(lambda x: np.real(fft.ifft(fft.fft(x) * (1 + fft.fftfreq(len(x)) ** 2))))
    np.testing.assert_array_equal(gains(X), np.real(fft.ifft(fft.fft(X) * (1 + fft.fftfreq(4) ** 2))))
    assert "scipy.fft.fftfreq(4)" in gains.source(X) or "scipy.fft.fftfreq(x.size)" in gains.source(X)
    kept = X.copy()
    gs.grad(lambda x: np.sum(np.abs(fft.fft(x * 1j, overwrite_x=True)) ** 2))(kept)
    np.testing.assert_array_equal(kept, X)
    with pytest.raises(gs.NoRuleError, match=r"scipy\.fft\.fht"):
        gs.grad(lambda d: np.sum(fft.fht(X, d, 0.3)))(0.1)
    with pytest.raises(NotImplementedError, match="orthogonalize"):
        gs.grad(lambda x: np.sum(np.abs(fft.dct(x * 1j, orthogonalize=True))))(X)


WAVE, B, A1 = rng.normal(size=(2, 9)), np.array([0.5, 0.3, 0.2]), np.array([1.3, -0.4, 0.2])


def test_filters() -> None:
    state = np.random.default_rng(0).normal(size=(2, 2))
    check(lambda x: np.sum(np.sin(np.concatenate(signal.lfilter(B, A1, x, zi=state), axis=-1))), WAVE)
    check(lambda z: np.sum(np.sin(np.concatenate(signal.lfilter(B, A1, WAVE[:, :1], zi=z), axis=-1))), state)
    check(lambda a: np.sum(np.sin(signal.filtfilt(B, a, WAVE, padlen=4))), A1)
    check(lambda x: np.sum(np.sin(signal.filtfilt(B, A1, x, 0, "even", 3))), WAVE.T.copy())
    check(lambda b: np.sum(np.sin(signal.filtfilt(b, [1.0], WAVE, padtype=None))), B)
    check(lambda t: np.sum(signal.lfilter([t, 0.5], [1.0, t], WAVE)), 0.3)
    sos = signal.butter(4, 0.3, output="sos")
    start = signal.sosfilt_zi(sos)
    check(lambda x: np.sum(np.sin(signal.sosfilt(sos, x, zi=start)[1])), WAVE[0])
    check(lambda s: np.sum(np.sin(signal.sosfilt(s * np.array([1, 1, 1, 0, 1, 1]) + np.eye(6)[3], WAVE))), sos)
    check(lambda x: np.sum(np.sin(signal.detrend(x, overwrite_data=True))), WAVE)


@pytest.mark.parametrize("irlen", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_gustafssons_filter(irlen: int | None) -> None:
    of = lambda b, a, x, axis=-1: np.sum(np.sin(signal.filtfilt(b, a, x, axis, method="gust", irlen=irlen)))
    check(lambda x: of(B, A1, x), WAVE)
    check(lambda x: of(B, A1, x, 0), WAVE.T.copy())
    check(lambda a: of(B, a, WAVE), A1)
    check(lambda b: of(b, A1, WAVE[0]), B)
    check(lambda b: of(b, A1[:1], WAVE[0]), B[:1])


def test_design_of_finite_filters() -> None:
    bands, gains = np.array([0.0, 0.31, 0.52, 1.0]), np.array([0.9, 1.0, 0.2, 0.0])
    ends = np.array([1.0, 0.0, 0.0, 1.0])
    for options in ({}, {"window": None}, {"nfreqs": 33, "window": ("kaiser", 3.0)}):
        check(lambda g, o=options: np.sum(np.sin(5 * signal.firwin2(8, bands, g * [1, 1, 1, 0], **o))), gains)
    check(
        lambda g: np.sum(np.exp(5 * signal.firwin2(9, 100 * bands, g * (1 - ends), antisymmetric=True, fs=200))), gains
    )
    check(lambda f: np.sum(np.sin(5 * signal.firwin2(9, [0.0, f[0], f[1], 1.0], gains))), bands[1:3])
    check(lambda g: np.sum(np.sin(5 * signal.firls(9, bands, g**2, weight=[1.0, g[1]]))), gains)
    check(lambda f: np.sum(np.sin(5 * signal.firls(9, [(0.0, f[0]), (f[1], 100.0)], gains, fs=200))), 100 * bands[1:3])
    for f, words in (
        (lambda g: signal.firwin2(8, [0.0, 0.5, 0.5, 1.0], g), "occurs twice"),
        (lambda g: signal.firwin2(8, [0.1, 0.3, 0.5, 1.0], g), "must start with 0"),
        (lambda g: signal.firwin2(8, bands, g + 1.0), "must have zero gain"),
        (lambda g: signal.firls(8, bands, g), "numtaps must be odd"),
        (lambda g: signal.firls(9, bands[::-1], g), "must be increasing"),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=words):
            gs.grad(lambda g, f=f: np.sum(f(g)))(gains)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_convolutions_of_planes_with_a_border(boundary: str) -> None:
    check(lambda x: np.sum(np.sin(signal.convolve2d(x, KERNEL, "same", boundary))), IMAGE)
    check(lambda y: np.sum(np.sin(signal.convolve2d(IMAGE, y, "full", boundary, fillvalue=2.0))), KERNEL)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
def test_filters_of_images(mode: str) -> None:
    check(lambda x: np.sum(np.sin(ndimage.gaussian_filter(x, (0.6, 1.1), (0, 1), mode=mode))), IMAGE)
    check(lambda x: np.sum(np.sin(ndimage.uniform_filter(x, (3, 2), mode=mode, cval=0.3))), IMAGE)
    check(lambda w: np.sum(np.sin(ndimage.convolve(IMAGE, w, mode=mode) + ndimage.sobel(IMAGE, 0, mode=mode))), KERNEL)


def test_filters_of_images_say_what_has_no_gradient() -> None:
    check(lambda s: np.sum(np.sin(ndimage.gaussian_filter(IMAGE, s, radius=2))), 0.7)
    check(lambda s: np.sum(np.sin(ndimage.gaussian_filter(IMAGE, [s, 2 * s], (0, 1)))), 0.7)
    check(lambda s: np.sum(np.sin(ndimage.gaussian_filter(IMAGE, s))), np.array([0.7, 1.2]))
    reaches = gs.compile(gs.grad(lambda s: np.sum(np.sin(ndimage.gaussian_filter(IMAGE, s)))))
    for s in (0.7, 0.71, 1.9, 0.3):  # other lengths of the bell
        assert reaches(s) == gs.grad(lambda s: np.sum(np.sin(ndimage.gaussian_filter(IMAGE, s))))(s)
    with pytest.raises(NotImplementedError, match="use what it returns"):
        gs.grad(lambda x: np.sum(ndimage.convolve(x, KERNEL, np.empty((4, 5)))))(IMAGE)
    with pytest.raises(gs.GradientLossError, match="scipy"):
        gs.grad(lambda x: np.sum(ndimage.generic_filter(x, np.sum, 3)))(IMAGE)


@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_integrals_of_samples(n: int) -> None:
    x, y = np.sort(np.random.default_rng(0).uniform(0, 3, n)), np.random.default_rng(0).normal(size=(2, n))
    rules: Any = (integrate.trapezoid, integrate.simpson)
    running: Any = (integrate.cumulative_trapezoid, integrate.cumulative_simpson)
    for f in (*rules, *running):
        check(lambda x, f=f: np.sum(np.sin(f(y, x=x))), x)
        check(lambda y, f=f: np.sum(np.sin(f(y, dx=0.5, axis=0))), y.T.copy())
    for f in running:
        check(lambda y, f=f: np.sum(np.sin(f(y, x=x, initial=0))), y)


@pytest.mark.parametrize(
    ("metric", "options"),
    [*[(m, {}) for m in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine")],
     *[(m, {}) for m in ("correlation", "canberra", "braycurtis")],
     ("minkowski", {"p": 3}), ("euclidean", {"w": [0.5, 1.0, 2.0]}), ("minkowski", {"p": 1.5, "w": [0.5, 1.0, 2.0]}),
     ("seuclidean", {"V": [0.5, 1.0, 2.0]}), ("mahalanobis", {"VI": np.eye(3) + 0.1})],
)  # fmt: skip
def test_distances(metric: str, options: dict[str, Any]) -> None:
    options = {k: np.array(v) if k in ("w", "V", "VI") else v for k, v in options.items()}
    check(lambda x: np.sum(np.sin(distance.cdist(x, P, metric, **options))), A)
    check(lambda x: np.sum(np.sin(distance.squareform(distance.pdist(x, metric, **options)))), P)


def test_distances_of_points_that_are_one() -> None:
    np.testing.assert_allclose(
        gs.grad(lambda x: np.sum(distance.cdist(x, x)))(A), 2 * gs.grad(lambda x: np.sum(distance.cdist(x, A)))(A)
    )
    with pytest.raises(NotImplementedError, match="metric='jaccard'"):
        gs.grad(lambda x: np.sum(distance.cdist(x, P, "jaccard")))(A)


@pytest.mark.parametrize("axis", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_statistics_of_samples(axis: Any) -> None:
    p, q = np.random.default_rng(1).uniform(0.2, 1, (2, 3, 6))  # of which no second derivative nearly cancels
    for f in (stats.entropy, stats.zscore, stats.gmean, stats.hmean, stats.skew, stats.kurtosis):
        check(lambda x, f=f: np.sum(np.sin(f(x, axis=axis))), p)
    check(lambda x: np.sum(stats.entropy(x, q, base=2, axis=axis)), p)
    check(lambda x: np.sum(stats.skew(x, axis, False, keepdims=True) + stats.kurtosis(x, axis, False, False)), p)
    check(lambda w: np.sum(stats.gmean(p, axis, weights=w) + stats.hmean(p, axis, weights=w)), q)


def test_correlation_and_regression() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 7))
    check(lambda x: stats.pearsonr(x, y).statistic + stats.pearsonr(x, y)[1], x)
    check(lambda y: np.sum(np.stack(list(stats.linregress(x, y)))) + stats.linregress(x, y).slope, y)
    with pytest.raises(NotImplementedError, match="alternative"):
        gs.grad(lambda x: stats.linregress(x, y, alternative="less").slope)(x)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode: str) -> None:
    check(lambda x: np.sum(np.sin(signal.convolve(x, KERNEL, mode))), IMAGE)
    check(lambda y: np.sum(np.sin(signal.convolve(IMAGE, y, mode=mode))), KERNEL)
    check(lambda y: np.sum(np.sin(signal.convolve(y, IMAGE, mode))), KERNEL)


def test_convolutions_along_some_axes() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 3, 5)), np.random.default_rng(0).normal(size=(3, 4, 2))
    found = ours.convolve(x, y, axes=([2], [2]), dot_axes=([1], [0]), mode="valid")
    expected = sum(
        np.stack([[np.convolve(x[i, c], y[c, o], "valid") for o in range(4)] for i in range(2)]) for c in range(3)
    )
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="acceptable mode flags"):
        ours.convolve(x, y, mode="half")
    with pytest.raises(ValueError, match="as many axes"):
        ours.convolve(x, y, axes=([2], [1, 2]))
    with pytest.raises(ValueError, match="one must be at least as large"):
        ours.convolve(np.ones((2, 5)), np.ones((3, 4)), mode="valid")


# differential equations

TIMES, START = np.array([0.0, 0.5, 1.3]), np.array([1.0, 0.5])
FIELD, PUSH, WEIGHTS = np.array([[0.1, -1.0], [1.0, -0.2]]), np.array([0.3, 0.4]), np.arange(6.0).reshape(3, 2) + 1
EXACT = {"rtol": 1e-11, "atol": 1e-11}


def differences(f: Any, x: Any, step: float = 1e-4) -> Any:
    """Central differences, with a step that the solver's own error leaves alone."""
    found = [(f(x + d) - f(x - d)) / (2 * step) for d in step * np.eye(x.size).reshape(x.size, *x.shape)]
    return np.reshape(found, x.shape)


def moves(y: Any, t: Any, a: Any, b: Any) -> Any:
    return np.tanh(a @ y) + np.sin(t) * b


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda a: np.sum(WEIGHTS * np.sin(odeint(moves, START, TIMES, (a, PUSH), **EXACT))), FIELD),
        (lambda b: np.sum(WEIGHTS * np.sin(odeint(moves, START, TIMES, (FIELD, b), **EXACT))), PUSH),
        pytest.param(
            lambda y: np.sum(WEIGHTS * np.sin(odeint(moves, y, TIMES, (FIELD, PUSH), **EXACT))), START, marks=pytest.mark.slow
        ),
        (lambda t: np.sum(WEIGHTS * np.sin(odeint(moves, START, t, (FIELD, PUSH), **EXACT))), TIMES),
    ],
    ids=["matrix", "vector", "start", "times"],
)  # fmt: skip
def test_odeint(f: Any, x: Any) -> None:
    np.testing.assert_allclose(gs.grad(f)(x), differences(f, x), rtol=1e-5, atol=1e-6)
    if x is START:
        slope = lambda x: np.sum(gs.grad(f)(x))
        np.testing.assert_allclose(np.sum(gs.hessian(f)(x), axis=0), differences(slope, x), rtol=1e-5, atol=1e-5)


def test_odeint_of_lists() -> None:
    """Of a state, and of a right-hand side, that are lists in which numbers are traced."""
    f = lambda p: np.sum(
        odeint(lambda y, t, a: [y[1], -a * np.sin(y[0])], [p[0], 0.0], TIMES, args=(p[1],), **EXACT) ** 2
    )
    p = np.array([0.7, 1.2])
    found = [(f(p + 1e-5 * e) - f(p - 1e-5 * e)) / 2e-5 for e in np.eye(2)]
    np.testing.assert_allclose(gs.grad(f)(p), found, rtol=1e-5)


def test_odeint_takes_trees_and_tfirst() -> None:
    decay = lambda p: odeint(lambda t, y, p: -p["k"] * y, 1.0, TIMES, (p,), tfirst=True, **EXACT)[-1, 0]
    np.testing.assert_allclose(gs.grad(decay)({"k": 0.5})["k"], -1.3 * np.exp(-0.65), rtol=1e-8)
    power = lambda k: odeint(lambda y, t, c, n, k: -c * k * y**n, [1.0], TIMES, (1.0, 1, k), **EXACT)[-1, 0]
    np.testing.assert_allclose(gs.grad(power)(0.5), -1.3 * np.exp(-0.65), rtol=1e-8)


def test_odeint_under_vmap_and_on_bare_tensors() -> None:
    decay = lambda k: odeint(lambda y, t, k: -k * y, np.array([1.0]), TIMES, (k,), **EXACT)[-1, 0]
    rates = np.array([0.5, 1.0])
    np.testing.assert_allclose(gs.vmap(gs.grad(decay))(rates), -1.3 * np.exp(-1.3 * rates), rtol=1e-8)
    k = gs.tensor(0.5, requires_grad=True)
    gs.scipy.integrate.odeint(lambda y, t, k: -k * y, np.array([1.0]), TIMES, (k,), **EXACT)[-1, 0].backward()
    np.testing.assert_allclose(k.grad.numpy(), -1.3 * np.exp(-0.65), rtol=1e-8)


def test_odeint_loses_no_gradient_in_silence() -> None:
    with pytest.raises(TypeError, match="takes no full_output"):
        gs.grad(lambda k: odeint(lambda y, t: -k * y, START, TIMES, full_output=True)[0][-1, 0])(0.5)
    with pytest.raises(TypeError, match="takes no full_output"):
        gs.grad(lambda k: odeint(lambda y, t, k: -k * y, START, TIMES, (k,), full_output=True)[0][-1, 0])(0.5)


def hamiltonian(z: Any) -> Any:
    return z[1] ** 2 / 2 + np.cos(z[0])


def test_odeint_of_a_field_that_is_a_gradient() -> None:
    def end(z: Any) -> Any:
        flow = lambda z, t: np.array([gs.grad(hamiltonian)(z)[1], -gs.grad(hamiltonian)(z)[0]])
        return odeint(flow, z, TIMES, **EXACT)[-1, 0]

    np.testing.assert_allclose(gs.grad(end)(START), differences(end, START), rtol=1e-5)
