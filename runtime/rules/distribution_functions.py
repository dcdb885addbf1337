"""scipy.stats' distribution functions and quantiles, in x or q, loc and scale, and masses of discrete families.

The derivative of a distribution function is the density, of a quantile one over it. In shapes these have none here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.stats
from scipy import special, stats

from ..errors import NoRuleError
from ..ops import Kind
from ..registry import composed, composition, primitive, rule
from ..result_types import UNKNOWN
from ..unpatched import np
from .distribution_families import _OUT_OF_SIGHT, _wide

_METHODS = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")


def _types(z: Any) -> Any:
    return UNKNOWN if z.dtype.kind == "c" else np.empty(np.shape(z))[()]


@primitive("family, method, z, [shapes]", Kind.opaque, types=lambda z: _types(z))
def of_family(family: Any, method: Any, z: Any, shapes: Any) -> Any:
    """A function of a distribution of SciPy's, which does not dispatch, in its standard form."""
    return np.asarray(getattr(getattr(scipy.stats, family), method)(z, *shapes))[()]


def _density(family: str, z: Any, shapes: Any, logarithm: bool = False) -> Any:
    """The density, as far as there is a formula; else SciPy's, which is not differentiated again."""
    found = getattr(stats, family)
    method = "logpdf" if logarithm else "pdf"
    if family in _OUT_OF_SIGHT:
        return of_family(family, method, z, list(shapes))
    formula = composition(getattr(found, method))
    assert formula is not None
    return formula(z, *shapes)


def _slope(g: Any, family: str, method: str, z: Any, shapes: Any, out: Any) -> Any:
    if method in ("pdf", "logpdf"):
        raise NoRuleError(
            f"scipy.stats.{family}.{method} has no gradient rule in gradscribe: SciPy computes it out of sight, so that "
            "its cdf has a first derivative alone."
        )
    sign = -1.0 if method in ("sf", "logsf", "isf") else 1.0
    if method in ("cdf", "sf"):
        return g * (sign * _density(family, z, shapes))
    if method in ("ppf", "isf"):
        return g * (sign / _density(family, out, shapes))
    return g * (sign * np.exp(_density(family, z, shapes, logarithm=True) - out))


rule(of_family, z=lambda g, family, method, z, shapes, out: _slope(g, family, method, z, shapes, out))


def _standard(family: Any, method: str) -> Callable[..., Any]:
    """What a method of a family is of Tensors: that of its standard member, moved and scaled."""
    names = [*(family.shapes or "").replace(",", " ").split(), "loc", "scale"]

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        at = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
        shapes, loc, scale = [_wide(at[n]) for n in names[:-2]], _wide(at["loc"]), _wide(at["scale"])
        inverse = method in ("ppf", "isf")
        z = _wide(x) if inverse else (_wide(x) - loc) / scale
        for shape in shapes:  # which says that it has no rule
            z = z + 0.0 * shape if hasattr(type(shape), "__gradscribe_apply__") else z
        whole = np.broadcast_shapes(np.shape(z), *map(np.shape, shapes))
        found = of_family(family.name, method, np.broadcast_to(z, whole) if whole != np.shape(z) else z, shapes)
        found = found * scale + loc if inverse else found
        plain = isinstance(at["scale"], (int, float)) and at["scale"] > 0
        return found if plain else np.where(scale > 0, found, math.nan)

    return call


for _family in [one for one in vars(stats).values() if isinstance(one, stats.rv_continuous)]:
    for _method in _METHODS:
        composed(getattr(_family, _method))(_standard(_family, _method))


# Masses: those of `distributions.py` come first, so that they stay.


def _mass(
    family: Any, shapes: str, logmass: Callable[..., Any], low: float = 0.0, top: Callable[..., Any] | None = None
) -> None:
    """The masses of a family of whole numbers, from the formula of their logarithm."""
    names = [*shapes.split(), "loc"]

    def logarithm(k: Any, *args: Any, **kwargs: Any) -> Any:
        at = {"loc": 0, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
        n, more = _wide(k) - _wide(at["loc"]), tuple([_wide(at[name]) for name in names[:-1]])
        inside = (n >= low) & (np.floor(n) == n)
        if top is not None:
            inside = inside & (n <= top(*more))
        return np.where(inside, logmass(np.where(inside, n, max(low, 0.0))[()], *more), -math.inf)

    composed(family.logpmf)(logarithm)
    composed(family.pmf)(lambda k, *args, **kwargs: np.exp(logarithm(k, *args, **kwargs)))


def _log_choose(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


_mass(stats.geom, "p", lambda k, p: special.xlog1py(k - 1, -p) + np.log(p), low=1.0)
_mass(
    stats.nbinom, "n p",
    lambda k, n, p: special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n) + n * np.log(p) + special.xlog1py(k, -p),
)  # fmt: skip
_mass(
    stats.betabinom, "n a b",
    lambda k, n, a, b: _log_choose(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b), top=lambda n, a, b: n,
)  # fmt: skip
_mass(
    stats.betanbinom, "n a b",
    lambda k, n, a, b: special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n) + special.betaln(a + n, b + k)
    - special.betaln(a, b),
)  # fmt: skip
_mass(stats.logser, "p", lambda k, p: special.xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)), low=1.0)
_mass(stats.planck, "lambda_", lambda k, a: np.log(-np.expm1(-a)) - a * k)
_mass(
    stats.boltzmann, "lambda_ N", lambda k, a, n: np.log(-np.expm1(-a)) - a * k - np.log(-np.expm1(-a * n)),
    top=lambda a, n: n - 1,
)  # fmt: skip
_mass(stats.dlaplace, "a", lambda k, a: np.log(np.tanh(a / 2.0)) - a * np.abs(k), low=-math.inf)
_mass(stats.yulesimon, "alpha", lambda k, a: np.log(a) + special.betaln(k, a + 1), low=1.0)
