"""Densities of scipy.stats' continuous families without a formula in `distributions.py`: their `_pdf` and `_logpdf`, traced.

SciPy's public functions check and reorder their arguments by `np.place`, which no Tensor survives. What computes the density
stands in the private methods of a family; around them this file does what SciPy does: location, scale, support, what is invalid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import special, stats

from ...unpatched import np
from ..errors import NoRuleError
from .distributions import INF, defines, is_valid, of_arrays  # whose formulas come first, and stay
from .support import chosen

# What computes their densities is compiled code, or takes one number after the other.
_OUT_OF_SIGHT = {
    "dpareto_lognorm", "genhyperbolic", "geninvgauss", "irwinhall", "kappa4", "ksone", "kstwo", "kstwobign", "landau",
    "levy_stable", "ncf", "nct", "ncx2", "studentized_range",
}  # fmt: skip


def _genhalflogistic(z: Any, c: Any) -> Any:
    base = 1 - c * z
    return 2 * base ** (1 / c - 1) / (1 + base ** (1 / c)) ** 2


def _pearson3(z: Any, skew: Any) -> Any:
    """A gamma distribution, shifted; of no skew to speak of the normal one."""
    bent = np.abs(skew) >= 1.6e-5
    beta = 2 / chosen(bent, skew, 1.0)
    shifted = beta * (z + beta)
    outside = shifted <= 0
    safe, alpha = chosen(outside, 1.0, shifted), beta**2
    density = np.abs(beta) * np.exp(special.xlogy(alpha - 1, safe) - safe - special.gammaln(alpha))
    normal = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return chosen(bent, chosen(outside, 0.0, density), normal)


def _trapezoid(z: Any, c: Any, d: Any) -> Any:
    height = 2 / (d - c + 1)
    rising = z / chosen(c > 0, c, 1.0)
    falling = (1 - z) / chosen(d < 1, 1 - d, 1.0)
    return height * chosen(z < c, rising, chosen(z <= d, 1.0, falling))


def _triang(z: Any, c: Any) -> Any:
    rising = z / chosen(c > 0, c, 1.0)
    falling = (1 - z) / chosen(c < 1, 1 - c, 1.0)
    return 2 * chosen((z < c) | (c == 1), rising, falling)


def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the normal distribution's mass between two bounds, by the tail in which it has all digits."""
    flipped = a > 0
    low, high = chosen(flipped, -b, a), chosen(flipped, -a, b)
    return log_below(high) + np.log1p(-np.exp(np.minimum(log_below(low) - log_below(high), -1e-300)))


def log_below(z: Any) -> Any:
    """`special.log_ndtr`, with a derivative of 0 at the infinities."""
    there = np.isfinite(z)
    return chosen(there, special.log_ndtr(chosen(there, z, 0.0)), chosen(z > 0, 0.0, -1e300))


def _truncpareto(z: Any, b: Any, c: Any) -> Any:
    return b / -np.expm1(-b * np.log(c)) * z ** -(b + 1)


def _tukeylambda(z: Any, lam: Any) -> Any:
    share = special.tklmbda(z, lam)
    return 1 / (share ** (lam - 1) + (1 - share) ** (lam - 1))


# Logarithms of densities that SciPy 1.15 computes by a helper for plain arrays.


def _log1p_share(c: Any, z: Any, factor: Any = 1.0) -> Any:
    """`factor * log1p(c z) / c`, by its series where `c` is next to zero."""
    product = c * z
    far = np.abs(product) > 1e-5
    small = chosen(np.abs(product) <= 1e-5, product, 0.0)
    series = z * (1 - small * (0.5 - small * (1 / 3 - small / 4)))
    return chosen(far, special.xlog1py(factor, chosen(far, product, 0.0)) / chosen(far, c, 1.0), factor * series)


def _beyond(outside: Any, z: Any, formula: Callable[[Any], Any]) -> Any:
    """The logarithm of a density that is zero outside, where the formula sees 1; NaN of NaN."""
    return chosen(outside, -INF, formula(chosen(outside, 1.0, z)))


def _burr(z: Any, c: Any, d: Any) -> Any:
    small = z < 1
    part = chosen(small, z, 1 / chosen(small, 1.0, z))
    both = np.log(c) + np.log(d) - (d + 1) * np.log1p(part**c)
    return both + chosen(small, special.xlogy(c * d - 1, chosen(small, z, 1.0)), -(c + 1) * np.log(chosen(small, 1.0, z)))


def _crystalball(z: Any, beta: Any, m: Any) -> Any:
    mass = m / beta / (m - 1) * np.exp(-(beta**2) / 2) + math.sqrt(2 * math.pi) * special.ndtr(beta)
    bell = z > -beta
    tail = m * np.log(m / beta) - beta**2 / 2 - m * np.log(m / beta - beta - chosen(bell, -beta, z))
    return chosen(bell, -(z**2) / 2, tail) - np.log(mass)


def _genextreme(z: Any, c: Any) -> Any:
    outside = (c * z >= 1) | (z == -INF)
    safe = chosen(outside, 0.0, z)
    power = -_log1p_share(-c, safe)
    found = power - np.exp(power) - np.log1p(-c * chosen((c == 0) & (z == INF), 0.0, safe))
    return chosen(outside, chosen((c == 1) & (z == 1), 0.0, -INF), found)


def _gengamma(z: Any, a: Any, c: Any) -> Any:
    constant = np.log(np.abs(c)) - special.gammaln(a)
    return _beyond((z <= 0) & (c < 0), z, lambda y: constant + special.xlogy(c * a - 1, y) - y**c)


def _lognorm(z: Any, s: Any) -> Any:
    constant = np.log(s) + math.log(2 * math.pi) / 2
    return _beyond(z <= 0, z, lambda y: -(np.log(y) ** 2) / (2 * s**2) - np.log(y) - constant)


def _recipinvgauss(z: Any, mu: Any) -> Any:
    return _beyond(z <= 0, z, lambda y: -((1 - mu * y) ** 2) / (2 * y * mu**2) - np.log(2 * math.pi * y) / 2)


def _cosine(z: Any) -> Any:
    return _beyond(np.cos(z) <= -1, z, lambda y: np.log1p(np.cos(y)) - math.log(2 * math.pi))


# Densities as SciPy's documentation of the family states them, where its code is not seen through.
_FORMULAS: dict[str, Callable[..., Any]] = {
    "genhalflogistic": _genhalflogistic, "pearson3": _pearson3,
    "skewnorm": lambda z, a: 2 * np.exp(-(z**2) / 2) * special.ndtr(a * z) / math.sqrt(2 * math.pi),
    "trapezoid": _trapezoid, "triang": _triang,
    "truncnorm": lambda z, a, b: np.exp(-(z**2) / 2 - log_mass(a, b)) / math.sqrt(2 * math.pi), "truncpareto": _truncpareto,
    "tukeylambda": _tukeylambda, "uniform": lambda z: 1.0 + 0.0 * z,
}  # fmt: skip
_LOGARITHMS: dict[str, Callable[..., Any]] = {
    "skewnorm": lambda z, a: -(z**2) / 2 + special.log_ndtr(a * z) - math.log(math.pi / 2) / 2,
    "truncnorm": lambda z, a, b: -(z**2) / 2 - log_mass(a, b) - math.log(2 * math.pi) / 2,
    "burr": _burr, "cosine": _cosine, "crystalball": _crystalball, "fisk": lambda z, c: _burr(z, c, 1.0),
    "genextreme": _genextreme, "gengamma": _gengamma, "genpareto": lambda z, c: -_log1p_share(c, z, c + 1),
    "gibrat": lambda z: _lognorm(z, 1.0), "lognorm": _lognorm, "recipinvgauss": _recipinvgauss,
}  # fmt: skip


_SUPPORTS: dict[str, Callable[..., Any]] = {
    "genextreme": lambda c: (chosen(c < 0, 1 / chosen(c < 0, c, -1.0), -INF), chosen(c > 0, 1 / chosen(c > 0, c, 1.0), INF)),
    "genpareto": lambda c: (0.0, chosen(c < 0, -1 / chosen(c < 0, c, -1.0), INF)),
    "tukeylambda": lambda lam: tuple([chosen(lam > 0, side / chosen(lam > 0, lam, 1.0), side * INF) for side in (-1.0, 1.0)]),
}


def support_of(family: Any, shapes: Any) -> tuple[Any, Any]:
    """Return the ends of the support of the standard member of a family."""
    found: tuple[Any, Any] = _SUPPORTS.get(family.name, family._get_support)(*shapes)
    return found


def _formula(family: Any, logarithm: bool) -> Callable[..., Any]:
    """Return the density of the standard member of a family, or its logarithm, from what the family defines itself."""
    tables = (_LOGARITHMS, _FORMULAS) if logarithm else (_FORMULAS, _LOGARITHMS)
    for table, same in zip(tables, (True, False), strict=True):
        if family.name in table:
            return table[family.name] if same else _turned(table[family.name], logarithm)
    defined = [name for name in ("_pdf", "_logpdf") if defines(family, name)]
    if family.name in _OUT_OF_SIGHT or not defined:
        method = "logpdf" if logarithm else "pdf"
        raise NoRuleError(
            f"scipy.stats.{family.name}.{method} has no gradient rule in gradscribe: SciPy computes it out of sight. "
            "Write its density with NumPy's functions, or those of scipy.special that have a rule."
        )
    method = "_logpdf" if logarithm else "_pdf"
    found: Callable[..., Any] = getattr(family, method if method in defined else defined[0])
    return found if method in defined else _turned(found, logarithm)


def _turned(formula: Callable[..., Any], logarithm: bool) -> Callable[..., Any]:
    """Return the logarithm of a density, or the density of its logarithm."""
    return lambda z, *shapes: (np.log if logarithm else np.exp)(formula(z, *shapes))


def beyond(z: Any, low: Any, high: Any) -> Any:
    """Return whether points lie outside of bounds, NaN within: it stays NaN.

    By functions, since an operator of a NumPy scalar hands a Tensor an array of its own.
    """
    return np.logical_or(np.less(z, low), np.greater(z, high))


def _between(low: Any, high: Any) -> Any:
    """Return a point within a support, where the formula is evaluated in place of points beyond it."""
    if np.ndim(low) == np.ndim(high) == 0 and all(isinstance(v, (int, float, np.generic)) for v in (low, high)):
        if low > -INF and high < INF:
            return (low + high) / 2
        return low + 1.0 if low > -INF else high - 1.0
    left, right = np.isfinite(low), np.isfinite(high)
    a, b = chosen(left, low, 0.0), chosen(right, high, 0.0)
    return chosen(left & right, (a + b) / 2, chosen(left, a + 1.0, chosen(right, b - 1.0, 0.0)))


def _wide(value: Any) -> Any:
    """Return a number or array in double precision, as SciPy computes."""
    if isinstance(value, (int, float, list, tuple)):
        return np.asarray(value, float)[()]
    return value if value.dtype == np.float64 or value.dtype.kind == "c" else value.astype(np.float64)


def _density(family: Any, logarithm: bool) -> Callable[..., Any]:
    """Return what `family.pdf` is of Tensors, or with `logarithm` `family.logpdf`."""
    names = [*(family.shapes or "").replace(",", " ").split(), "loc", "scale"]

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        at = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
        formula = _formula(family, logarithm)
        shapes, scale = tuple([_wide(at[n]) for n in names[:-2]]), _wide(at["scale"])
        z = (_wide(x) - _wide(at["loc"])) / scale
        low, high = support_of(family, shapes)
        whole = isinstance(low, float) and isinstance(high, float) and low == -INF and high == INF
        outside = False if whole else beyond(z, low, high)
        found = formula(z if whole else chosen(outside, _between(low, high), z), *shapes)
        if not whole:
            found = chosen(outside, -INF if logarithm else 0.0, found)
        found = found - np.log(scale) if logarithm else found / scale
        valid = np.logical_and(is_valid(family, shapes), scale > 0)
        return chosen(valid, found, np.nan)

    return call


for _family in [one for one in vars(stats).values() if isinstance(one, stats.rv_continuous)]:
    of_arrays(_family.logpdf)(_density(_family, logarithm=True))
    of_arrays(_family.pdf)(_density(_family, logarithm=False))
