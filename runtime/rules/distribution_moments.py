"""scipy.stats' mean, var, std, median, interval, support and entropy of families, in shapes, loc and scale.

By what a family defines, its `_stats`, `_munp` or `_entropy`, where that computes by functions with rules under every SciPy, and
else by the formulas of its documentation (N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous univariate distributions", 1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import special, stats

from ...unpatched import np
from ..errors import NoRuleError
from ..registry import composed, composition
from .distribution_families import _wide, log_mass, support_of
from .distributions import is_valid
from .special import zeta
from .support import chosen

INF, ROOT_TAU = math.inf, math.sqrt(2 * math.pi)

_BY_STATS = frozenset([
    "beta", "bradford", "chi2", "dgamma", "erlang", "exponnorm", "fatiguelife", "foldnorm", "gamma", "invgauss", "johnsonsu",
    "laplace_asymmetric", "lognorm", "nakagami", "ncx2", "norminvgauss", "pearson3", "powerlaw", "skewnorm", "triang",
])  # fmt: skip
_BY_MOMENTS = frozenset([
    "gengamma", "genextreme", "invweibull", "loglaplace", "rdist", "rice", "truncexpon", "truncweibull_min", "weibull_max",
    "weibull_min",
])  # fmt: skip
_BY_ENTROPY = frozenset([
    "bradford", "dweibull", "f", "fisk", "genextreme", "genhalflogistic", "gennorm", "genpareto", "halfgennorm", "invweibull",
    "laplace_asymmetric", "loglaplace", "lognorm", "lomax", "nakagami", "pareto", "powerlaw", "trapezoid", "triang", "truncexpon",
    "truncnorm", "truncpareto", "vonmises", "vonmises_line", "weibull_max", "weibull_min", "wrapcauchy",
])  # fmt: skip


def _from(bound: float, p: Any, moment: Callable[[Any], Any], below: Any = INF) -> Any:
    """A moment that exists where a shape lies above a bound, and what stands for it elsewhere."""
    there = p > bound
    return chosen(there, moment(chosen(there, p, bound + 1.0)), below)


def _pareto(b: Any) -> tuple[Any, Any]:
    return _from(1, b, lambda b: b / (b - 1)), _from(2, b, lambda b: b / ((b - 1) ** 2 * (b - 2)))


def _lomax(c: Any) -> tuple[Any, Any]:
    return _from(1, c, lambda c: 1 / (c - 1)), _pareto(c)[1]


def _student(df: Any) -> tuple[Any, Any]:
    return _from(1, df, lambda df: 0.0 * df), _from(2, df, lambda df: df / (df - 2), chosen(df > 1, INF, math.nan))


def _chi(df: Any) -> tuple[Any, Any]:
    mean = math.sqrt(2) * special.poch(df / 2, 0.5)
    return mean, df - mean**2


def _fisher(dfn: Any, dfd: Any) -> tuple[Any, Any]:
    var = lambda d: 2 * d**2 * (dfn + d - 2) / (dfn * (d - 2) ** 2 * (d - 4))
    return _from(2, dfd, lambda d: d / (d - 2)), _from(4, dfd, var)


def _invgamma(a: Any) -> tuple[Any, Any]:
    return _from(1, a, lambda a: 1 / (a - 1)), _from(2, a, lambda a: 1 / ((a - 1) ** 2 * (a - 2)))


def _fisk(c: Any) -> tuple[Any, Any]:
    var = lambda c: 2 * (math.pi / c) / np.sin(2 * math.pi / c) - (math.pi / c / np.sin(math.pi / c)) ** 2
    return _from(1, c, lambda c: math.pi / c / np.sin(math.pi / c)), _from(2, c, var)


def _genpareto(c: Any) -> tuple[Any, Any]:
    return _from(-1, -c, lambda d: 1 / (1 + d)), _from(-0.5, -c, lambda d: 1 / ((1 + d) ** 2 * (1 + 2 * d)))


def _truncnorm(a: Any, b: Any) -> tuple[Any, Any]:
    whole = log_mass(a, b)
    low, high = (np.exp(-(_finite(z) ** 2) / 2 - whole) / ROOT_TAU * np.isfinite(z) for z in (a, b))
    mean = low - high
    return mean, 1 + (_finite(a) * low - _finite(b) * high) - mean**2


def _finite(z: Any) -> Any:
    return chosen(np.isfinite(z), z, 0.0)


_CENTRED = frozenset(["dgamma", "gennorm"])  # symmetric, and with no slope of the distribution function at the median

_OWN: dict[str, Callable[..., tuple[Any, Any]]] = {  # the mean and the variance
    "chi": _chi,
    "dweibull": lambda c: (0.0 * c, special.gamma(1 + 2 / c)),
    "f": _fisher,
    "fisk": _fisk,
    "genlogistic": lambda c: (np.euler_gamma + special.psi(c), math.pi**2 / 6 + zeta(2.0, c)),
    "gennorm": lambda beta: (0.0 * beta, np.exp(special.gammaln(3 / beta) - special.gammaln(1 / beta))),
    "genpareto": _genpareto,
    "invgamma": _invgamma,
    "loggamma": lambda c: (special.psi(c), zeta(2.0, c)),
    "lomax": _lomax,
    "pareto": _pareto,
    "t": _student,
    "truncnorm": _truncnorm,
}


def _gamma_entropy(a: Any) -> Any:
    return a + special.gammaln(a) + (1 - a) * special.psi(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    middle = (a + b - 2) * special.psi(a + b)
    return special.betaln(a, b) - (a - 1) * special.psi(a) - (b - 1) * special.psi(b) + middle


def _student_entropy(df: Any) -> Any:
    slope = special.psi((df + 1) / 2) - special.psi(df / 2)
    return (df + 1) / 2 * slope + np.log(df) / 2 + special.betaln(df / 2, 0.5)


_ENTROPIES: dict[str, Callable[..., Any]] = {
    "beta": _beta_entropy,
    "chi": lambda df: special.gammaln(df / 2) + (df - math.log(2) - (df - 1) * special.psi(df / 2)) / 2,
    "chi2": lambda df: _gamma_entropy(df / 2) + math.log(2),
    "dgamma": lambda a: _gamma_entropy(a) + math.log(2),
    "erlang": _gamma_entropy,
    "gamma": _gamma_entropy,
    "invgamma": lambda a: a + special.gammaln(a) - (1 + a) * special.psi(a),
    "loggamma": lambda c: special.gammaln(c) - c * special.psi(c) + c,
    "t": _student_entropy,
}


def _refused(family: Any, what: str) -> NoRuleError:
    way = f"scipy.stats.{family.name}.expect(lambda x: x, ...)" if what != "entropy" else "expect of -logpdf"
    return NoRuleError(
        f"scipy.stats.{family.name}.{what} has no gradient rule in gradscribe for its shapes: SciPy computes it out of "
        f"sight. Take {way}, an integral, which is differentiated, or pass the shapes as constants (gs.stop_gradient)."
    )


def _moments(family: Any, shapes: Any, what: str) -> tuple[Any, Any]:
    """The mean and the variance of the standard member."""
    if not shapes:
        mean, var = family.stats()
        return float(mean), float(var)
    if family.name in _OWN:
        return _OWN[family.name](*shapes)
    if family.name in _BY_STATS:
        mean, var = family._stats(*shapes)[:2]
        return mean, var
    if family.name in _BY_MOMENTS:
        first = family._munp(1, *shapes)
        return first, family._munp(2, *shapes) - first**2
    raise _refused(family, what)


def _entropy(family: Any, shapes: Any) -> Any:
    if not shapes:
        return float(family.entropy())
    if family.name in _ENTROPIES:
        return _ENTROPIES[family.name](*shapes)
    if family.name in _BY_ENTROPY:
        return family._entropy(*shapes)
    raise _refused(family, "entropy")


def _given(family: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, Any]:
    names = [*(family.shapes or "").replace(",", " ").split(), "loc", "scale"]
    at = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
    if len(args) > len(names) or set(at) != set(names):
        raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
    return [_wide(at[n]) for n in names[:-2]], _wide(at["loc"]), _wide(at["scale"])


def _of_standard(family: Any, what: str) -> Callable[..., Any]:
    """What a number that belongs to a distribution is of Tensors: that of the standard member, moved and scaled."""

    def call(*args: Any, **kwargs: Any) -> Any:
        shapes, loc, scale = _given(family, args, kwargs)
        valid = np.logical_and(is_valid(family, tuple(shapes)), scale > 0)
        if what == "support":
            return tuple([chosen(valid, z * scale + loc, math.nan) for z in support_of(family, shapes)])
        if what == "entropy":
            found = _entropy(family, shapes) + np.log(scale)
        else:
            mean, var = _moments(family, shapes, what)
            found = mean * scale + loc if what == "mean" else var * scale**2 if what == "var" else np.sqrt(var) * scale
        return chosen(valid, found, math.nan)

    return call


def _quantiles(family: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def median(*args: Any, **kwargs: Any) -> Any:
        if family.name in _CENTRED:
            _, loc, scale = _given(family, args, kwargs)
            return loc + 0.0 * scale
        return _ppf(family, 0.5, args, kwargs)

    def interval(confidence: Any, *args: Any, **kwargs: Any) -> Any:
        if not np.all((confidence >= 0) & (confidence <= 1)):
            raise ValueError("alpha must be between 0 and 1 inclusive")
        q = (1.0 - confidence) / 2
        return _ppf(family, q, args, kwargs), _ppf(family, (1.0 + confidence) / 2, args, kwargs)

    return median, interval


def _ppf(family: Any, q: Any, args: Any, kwargs: Any) -> Any:
    formula = composition(family.ppf)
    assert formula is not None
    return formula(_wide(q), *args, **kwargs)


for _family in [one for one in vars(stats).values() if isinstance(one, stats.rv_continuous)]:
    for _what in ("mean", "var", "std", "entropy", "support"):
        composed(getattr(_family, _what))(_of_standard(_family, _what))
    _median, _interval = _quantiles(_family)
    composed(_family.median)(_median)
    composed(_family.interval)(_interval)


# Discrete families of which SciPy's documentation states the two, by their parameters in the order of SciPy's.
_COUNTS: dict[str, tuple[str, Callable[..., tuple[Any, Any]]]] = {
    "bernoulli": ("p", lambda p: (p, p * (1 - p))),
    "binom": ("n p", lambda n, p: (n * p, n * p * (1 - p))),
    "geom": ("p", lambda p: (1 / p, (1 - p) / p**2)),
    "nbinom": ("n p", lambda n, p: (n * (1 - p) / p, n * (1 - p) / p**2)),
    "poisson": ("mu", lambda mu: (mu, mu)),
}


def _of_counts(name: str, shapes: str, formula: Callable[..., tuple[Any, Any]], what: str) -> Callable[..., Any]:
    names = [*shapes.split(), "loc"]

    def call(*args: Any, **kwargs: Any) -> Any:
        at = {"loc": 0, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{name} takes {names}, but got {[*args, *kwargs]}")
        mean, var = formula(*[_wide(at[n]) for n in names[:-1]])
        return mean + at["loc"] if what == "mean" else var if what == "var" else np.sqrt(var)

    return call


for _name, (_shapes, _form) in _COUNTS.items():
    for _what in ("mean", "var", "std"):
        composed(getattr(getattr(stats, _name), _what))(_of_counts(_name, _shapes, _form, _what))
