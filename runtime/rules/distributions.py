"""scipy.stats' densities and distribution functions in terms of ops: pdf, logpdf, cdf, sf and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import special, stats

from ...unpatched import np
from ..registry import composed
from .support import chosen, is_traced, listed

HALF_LOG_TAU = math.log(2 * math.pi) / 2
INF = math.inf


def of_arrays(fn: Any) -> Callable[[Callable[..., Any]], None]:
    """Decorator: what a function of a family is of Tensors, where each argument may be a list of numbers."""

    def state(body: Callable[..., Any]) -> None:
        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            made = [listed(a, *given) for a in given]
            return body(*made[: len(args)], **dict(zip(kwargs, made[len(args) :], strict=True)))

        composed(fn)(call)

    return state


def defines(family: Any, name: str) -> bool:
    """Whether a family states a method itself: what it inherits takes differences."""
    return getattr(type(family), name, None) is not getattr(stats.rv_continuous, name, None)


def is_valid(family: Any, shapes: tuple[Any, ...]) -> Any:
    """Whether the shapes are such that the family has: True where nothing is asked of them."""
    shapes = tuple([float(s) if isinstance(s, np.floating) else s for s in shapes])
    if defines(family, "_argcheck"):
        return family._argcheck(*shapes)
    found: Any = True
    for shape in shapes:
        found = (shape > 0) if found is True else found & (shape > 0)
    return found


def checked(found: Any, *conditions: Any) -> Any:
    """A result where conditions hold, and NaN elsewhere; those of constants, which hold, cost nothing."""
    for condition in conditions:
        if is_traced(condition) or not np.all(condition):
            found = chosen(condition, found, math.nan)
    return found


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    """The number of scales that `x` lies above `loc`."""
    x = x if type(loc) is int and loc == 0 else x - loc
    return x if type(scale) is int and scale == 1 else x / scale


def _within(z: Any, low: Any, high: Any, inner: float, formula: Callable[[Any], Any], outer: Any) -> Any:
    """A formula between two bounds, and `outer` beyond them: there the formula sees `inner`, so that NaN comes of NaN alone."""
    if low == -INF and high == INF:
        return formula(z)
    outside = z < low if high == INF else (z < low) | (z > high)
    return chosen(outside, outer, formula(chosen(outside, inner, z)))


def _continuous(
    found: Any, shapes: str, logpdf: Callable[..., Any], cdf: Callable[..., Any], *, support: tuple[float, float] = (-INF, INF),
    inner: float = 0.5, sf: Callable[..., Any] | None = None, logcdf: Callable[..., Any] | None = None,
    logsf: Callable[..., Any] | None = None, ppf: Callable[..., Any] | None = None, isf: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """A family of location and scale, from the formulas of its standard member: those of z, and of the shapes."""
    names = [*shapes.split(), "loc", "scale"]
    low, high = support

    def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any, Any]:
        at = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{found.name} takes {names}, but got {[*args, *kwargs]}")
        return tuple([at[n] for n in names[:-2]]), at["loc"], at["scale"]

    def log_density(x: Any, *args: Any, **kwargs: Any) -> Any:
        more, loc, scale = given(args, kwargs)
        standard = _within(_standard(x, loc, scale), low, high, inner, lambda z: logpdf(z, *more), -INF)
        standard = checked(standard, is_valid(found, more))
        return standard if type(scale) is int and scale == 1 else standard - np.log(scale)

    def of_z(formula: Callable[..., Any], below: float, above: float) -> Callable[..., Any]:
        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            more, loc, scale = given(args, kwargs)
            z = _standard(x, loc, scale)
            outer = above if low == -INF or above == below else chosen(z < low, below, above)
            return checked(_within(z, low, high, inner, lambda z: formula(z, *more), outer), is_valid(found, more), scale > 0)

        return call

    upper = sf or (lambda z, *more: 1 - cdf(z, *more))
    of_arrays(found.logpdf)(log_density)
    of_arrays(found.pdf)(lambda x, *args, **kwargs: np.exp(log_density(x, *args, **kwargs)))
    of_arrays(found.cdf)(of_z(cdf, 0.0, 1.0))
    of_arrays(found.sf)(of_z(upper, 1.0, 0.0))
    of_arrays(found.logcdf)(of_z(logcdf or (lambda z, *more: np.log(cdf(z, *more))), -INF, 0.0))
    of_arrays(found.logsf)(of_z(logsf or (lambda z, *more: np.log(upper(z, *more))), 0.0, -INF))
    if ppf is not None:
        quantile: Callable[..., Any] = ppf

        def inverse(formula: Callable[..., Any]) -> Callable[..., Any]:
            def call(q: Any, *args: Any, **kwargs: Any) -> Any:
                more, loc, scale = given(args, kwargs)
                return checked(loc + scale * formula(q, *more), is_valid(found, more), scale > 0)

            return call

        of_arrays(found.ppf)(inverse(quantile))
        of_arrays(found.isf)(inverse(isf or (lambda q, *more: quantile(1 - q, *more))))


_continuous(
    stats.norm, "", lambda z: -(z**2) / 2 - HALF_LOG_TAU, special.ndtr, sf=lambda z: special.ndtr(-z),
    logcdf=special.log_ndtr, logsf=lambda z: special.log_ndtr(-z), ppf=special.ndtri,
)  # fmt: skip
_continuous(
    stats.t, "df",
    lambda z, df: special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(df * np.pi) / 2
    - (df + 1) / 2 * np.log1p(z**2 / df),
    lambda z, df: special.stdtr(df, z), sf=lambda z, df: special.stdtr(df, -z),
    ppf=lambda q, df: special.stdtrit(df, q), isf=lambda q, df: -special.stdtrit(df, q),
)  # fmt: skip
_continuous(
    stats.beta, "a b",
    lambda z, a, b: special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b),
    lambda z, a, b: special.betainc(a, b, z), sf=lambda z, a, b: special.betainc(b, a, 1 - z), support=(0.0, 1.0),
    ppf=lambda q, a, b: special.betaincinv(a, b, q), isf=lambda q, a, b: special.betainccinv(a, b, q),
)  # fmt: skip
_continuous(
    stats.gamma, "a", lambda z, a: special.xlogy(a - 1, z) - z - special.gammaln(a), lambda z, a: special.gammainc(a, z),
    sf=lambda z, a: special.gammaincc(a, z), support=(0.0, INF),
    ppf=lambda q, a: special.gammaincinv(a, q), isf=lambda q, a: special.gammainccinv(a, q),
)  # fmt: skip
_continuous(
    stats.chi2, "df",
    lambda z, df: special.xlogy(df / 2 - 1, z) - z / 2 - special.gammaln(df / 2) - df / 2 * math.log(2),
    lambda z, df: special.gammainc(df / 2, z / 2), sf=lambda z, df: special.gammaincc(df / 2, z / 2), support=(0.0, INF),
    ppf=lambda q, df: 2 * special.gammaincinv(df / 2, q), isf=lambda q, df: 2 * special.gammainccinv(df / 2, q),
)  # fmt: skip
_continuous(
    stats.expon, "", lambda z: -z, lambda z: -np.expm1(-z), sf=lambda z: np.exp(-z), logsf=lambda z: -z,
    support=(0.0, INF), ppf=lambda q: -np.log1p(-q),
)  # fmt: skip
_continuous(
    stats.laplace, "", lambda z: -np.abs(z) - math.log(2),
    lambda z: np.where(z < 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2),
    sf=lambda z: np.where(z < 0, 1 - np.exp(-np.abs(z)) / 2, np.exp(-np.abs(z)) / 2),
)  # fmt: skip
_continuous(
    stats.logistic, "", lambda z: special.log_expit(z) + special.log_expit(-z), special.expit,
    sf=lambda z: special.expit(-z), logcdf=special.log_expit, logsf=lambda z: special.log_expit(-z), ppf=special.logit,
)  # fmt: skip
_continuous(
    stats.cauchy, "", lambda z: -math.log(math.pi) - np.log1p(z**2), lambda z: 0.5 + np.arctan(z) / np.pi,
    sf=lambda z: 0.5 - np.arctan(z) / np.pi,
)  # fmt: skip


def _discrete(found: Any, shapes: str, logpmf: Callable[..., Any], cdf: Callable[..., Any], top: Any = None) -> None:
    """A family of whole numbers from 0 on (to `top` of the shapes), from its formulas."""
    names = [*shapes.split(), "loc"]

    def given(k: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], Any]:
        at = {"loc": 0, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{found.name} takes {names}, but got {[*args, *kwargs]}")
        more = tuple([at[n] for n in names[:-1]])
        return _standard(k, at["loc"], 1), more, INF if top is None else top(*more)

    def log_mass(k: Any, *args: Any, **kwargs: Any) -> Any:
        n, more, high = given(k, args, kwargs)
        inside = (n >= 0) & (n <= high) & (np.floor(n) == n)
        mass = np.where(inside, logpmf(chosen(inside, n, 0), *more), chosen(n == n, -INF, math.nan))
        return checked(mass, is_valid(found, more))

    def cumulated(k: Any, *args: Any, **kwargs: Any) -> Any:
        n, more, high = given(k, args, kwargs)
        n = np.floor(n)
        inside = (n >= 0) & (n < high)
        outer = chosen(n < 0, 0.0, chosen(n == n, 1.0, math.nan))
        return checked(np.where(inside, cdf(chosen(inside, n, 0), *more), outer), is_valid(found, more))

    of_arrays(found.logpmf)(log_mass)
    of_arrays(found.pmf)(lambda k, *args, **kwargs: np.exp(log_mass(k, *args, **kwargs)))
    of_arrays(found.cdf)(cumulated)
    of_arrays(found.sf)(lambda k, *args, **kwargs: 1 - cumulated(k, *args, **kwargs))
    of_arrays(found.logcdf)(lambda k, *args, **kwargs: np.log(cumulated(k, *args, **kwargs)))
    of_arrays(found.logsf)(lambda k, *args, **kwargs: np.log(1 - cumulated(k, *args, **kwargs)))


_discrete(
    stats.poisson, "mu", lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1) - mu,
    lambda k, mu: special.gammaincc(k + 1, mu),
)  # fmt: skip
_discrete(
    stats.bernoulli, "p", lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p), lambda k, p: 1 - p,
    top=lambda p: 1,
)  # fmt: skip
_discrete(
    stats.binom, "n p",
    lambda k, n, p: special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    lambda k, n, p: special.betainc(n - k, k + 1, 1 - p), top=lambda n, p: n,
)  # fmt: skip


@composed(stats.dirichlet.logpdf)
def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """Of points along the first axis; where one number is missing, it is what is left of 1."""
    x, alpha = [listed(v, x, alpha) for v in (x, alpha)]
    if np.shape(x)[0] == np.shape(alpha)[0] - 1:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    normaliser = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
    return normaliser + np.sum(special.xlogy(alpha - 1, x.T).T, 0)


@composed(stats.dirichlet.pdf)
def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    """As the logarithm says."""
    return np.exp(dirichlet_logpdf(x, alpha))


def _dimension(mean: Any, cov: Any) -> int:
    return max([1, *np.shape(mean), *np.shape(cov)]) if np.ndim(cov) < 2 else int(np.shape(cov)[-1])


def _half_log_det(cov: Any, d: int) -> Any:
    """Half the logarithm of the determinant: a number stands for all variances, a vector for each."""
    if np.ndim(cov) < 2:
        return np.log(cov) * (d / 2) if np.ndim(cov) == 0 else np.sum(np.log(cov)) / 2
    return np.sum(np.log(np.diagonal(np.linalg.cholesky(cov))))


@composed(stats.multivariate_normal.logpdf)
def multivariate_normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """By the Cholesky factor of the covariance, along the last axis of `x`."""
    if allow_singular:
        raise NotImplementedError(
            "scipy.stats.multivariate_normal with allow_singular=True has no gradient where the rank changes, and none "
            "here: leave it out, and add a small multiple of the identity to cov"
        )
    given = (x, mean, cov)
    x, mean, cov = [listed(v, *given) for v in given]
    d = _dimension(mean, cov)
    return np.squeeze(-_squares(x, mean, cov, d) / 2 - _half_log_det(cov, d) - d * HALF_LOG_TAU)


def _squares(x: Any, mean: Any, cov: Any, d: int) -> Any:
    """The squared distance from the mean, in standard deviations."""
    off = x if mean is None else x - mean
    if np.ndim(off) == 0 or (np.ndim(off) == 1 and d == 1):
        off = np.reshape(off, (*np.shape(off), 1))
    if np.ndim(cov) < 2:
        return np.sum(off**2 / cov, axis=-1)
    white = np.linalg.solve(np.linalg.cholesky(cov), np.reshape(off, (-1, d)).T)
    return np.reshape(np.sum(white**2, axis=0), np.shape(off)[:-1])


@composed(stats.multivariate_normal.pdf)
def multivariate_normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """As the logarithm says."""
    return np.exp(multivariate_normal_logpdf(x, mean, cov, allow_singular))


@composed(stats.multivariate_t.logpdf)
def multivariate_t_logpdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    """By the Cholesky factor of the shape matrix, along the last axis (S. Kotz, S. Nadarajah, "Multivariate t", 2004, 1.1)."""
    given = (x, loc, shape, df)
    x, loc, shape = [listed(v, *given) for v in (x, loc, shape)]
    if not is_traced(df) and np.isinf(df):
        return multivariate_normal_logpdf(x, loc, shape)
    d = _dimension(loc, shape)
    squares = _squares(x, loc, shape, d)
    height = special.gammaln((df + d) / 2) - special.gammaln(df / 2) - d / 2 * np.log(df * math.pi) - _half_log_det(shape, d)
    return np.squeeze(height - (df + d) / 2 * np.log1p(squares / df))


@composed(stats.multivariate_t.pdf)
def multivariate_t_pdf(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
    """As the logarithm says."""
    return np.exp(multivariate_t_logpdf(x, loc, shape, df))


@composed(stats.multinomial.logpmf)
def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """Of counts along the last axis, of which the last probability is what is left of 1, as SciPy has it; none in the counts."""
    given = (x, n, p)
    x, n, p = [listed(v, *given) for v in given]
    p = np.concatenate([p[..., :-1], 1 - np.sum(p[..., :-1], axis=-1, keepdims=True)], axis=-1)
    fits = (np.sum(x, axis=-1) == n) & np.all((x >= 0) & (np.floor(x) == x), axis=-1)
    terms = special.xlogy(x, p) - special.gammaln(x + 1)
    return chosen(fits, special.gammaln(n + 1) + np.sum(terms, axis=-1), -INF)


@composed(stats.multinomial.pmf)
def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    """As the logarithm says."""
    return np.exp(multinomial_logpmf(x, n, p))


@composed(stats.multivariate_normal.entropy)
def multivariate_normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    """Half the logarithm of the determinant of 2πe times the covariance."""
    d = _dimension(mean, cov)
    return _half_log_det(cov, d) + d * (HALF_LOG_TAU + 0.5)
