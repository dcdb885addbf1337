"""scipy.stats' distribution functions and quantiles, and masses of discrete families.

Where what a family defines, its `_cdf` or `_ppf`, computes by functions with rules, it is run on traced values, and
differentiated in shapes too. Elsewhere SciPy's function is an op: its derivative in x is the density, of a quantile one over it,
and in shapes a central difference of eighth order where nothing but smooth functions stands behind it; other families have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.stats
from scipy import special, stats

from ...unpatched import np
from ..errors import NoRuleError
from ..ops import Kind
from ..registry import composition, primitive, rule
from ..result_types import UNKNOWN
from .distribution_families import _OUT_OF_SIGHT, _between, _wide, log_below, log_mass, support_of
from .distributions import checked, defines, is_valid, of_arrays
from .scipy_functions import made, refused
from .shape_slopes import SHARE, slope_of
from .special import zeta
from .support import chosen, is_traced

_METHODS = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")


def _types(z: Any) -> Any:
    return UNKNOWN if z.dtype.kind == "c" else np.empty(np.shape(z))[()]


@primitive("family, method, z, [shapes]", Kind.opaque, types=lambda z: _types(z))
def of_family(family: Any, method: Any, z: Any, shapes: Any) -> Any:
    """A function of a distribution of SciPy's, which does not dispatch, in its standard form."""
    return np.asarray(getattr(getattr(scipy.stats, family), method)(z, *shapes))[()]


def _called(family: str, method: str, z: Any, shapes: list[Any]) -> Any:
    """`of_family`, of which any number may be traced."""
    return made(of_family, next((v for v in (z, *shapes) if is_traced(v)), z), family, method, z, shapes)


def _density(family: str, z: Any, shapes: Any, logarithm: bool = False) -> Any:
    """The density, as far as there is a formula; else SciPy's, which is not differentiated again."""
    found = getattr(stats, family)
    method = "logpdf" if logarithm else "pdf"
    if family in _OUT_OF_SIGHT:
        return _called(family, method, z, list(shapes))
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


def _in_shape(g: Any, family: str, method: str, z: Any, shapes: Any, out: Any, i: int) -> Any:
    """The cotangent of a shape: of a quantile by the distribution function, at the quantile."""
    if method not in _METHODS or family not in _SMOOTH:
        raise NoRuleError(
            f"scipy.stats.{family}.{method} has no gradient rule in gradscribe for its shapes, of which one requires grad: pass "
            "it as a constant (gs.stop_gradient), or write the function with those of scipy.special that have a rule."
        )
    if method in ("ppf", "isf"):
        moved = _in_shape(g, family, "cdf", out, shapes, _called(family, "cdf", out, shapes), i)
        return -moved / _density(family, out, shapes)
    tail = np.minimum(_called(family, "cdf", z, shapes), _called(family, "sf", z, shapes))
    length = np.minimum(np.abs(shapes[i]), 1.0) / (1 - np.log(np.maximum(tail, 1e-300)))
    step = np.exp2(np.floor(np.log2(SHARE * np.maximum(length, 1e-3))))

    def of(name: str) -> Any:
        return slope_of(lambda e: _called(family, name, z, [s + e if k == i else s for k, s in enumerate(shapes)]), step)

    if method in ("cdf", "sf"):
        found = np.where(_called(family, "cdf", z, shapes) < 0.5, of("cdf"), -of("sf"))
        return g * (found if method == "cdf" else -found)
    return g * of(method)


rule(
    of_family,
    z=lambda g, family, method, z, shapes, out: _slope(g, family, method, z, shapes, out),
    shapes=lambda g, family, method, z, shapes, out, i: _in_shape(g, family, method, z, shapes, out, i),
)

# Families whose functions SciPy has to about 1e-12 at least, smooth in shapes that move no end of the support.
_SMOOTH = frozenset([
    "alpha", "argus", "betaprime", "crystalball", "exponnorm", "exponweib", "foldcauchy", "foldnorm", "genexpon",
    "genextreme", "invgauss", "jf_skew_t", "loggamma", "ncf", "nct", "ncx2", "norminvgauss", "pearson3", "rdist",
    "recipinvgauss", "rel_breitwigner", "skewnorm", "vonmises", "vonmises_line", "wrapcauchy",
])  # fmt: skip


def _trapezoid_cdf(z: Any, c: Any, d: Any) -> Any:
    width = d - c + 1
    rising = z**2 / chosen(c > 0, c, 1.0)
    falling = width - (1 - z) ** 2 / chosen(d < 1, 1 - d, 1.0)
    return chosen(z < c, rising, chosen(z > d, falling, c + 2 * (z - c))) / width


def _trapezoid_ppf(q: Any, c: Any, d: Any) -> Any:
    width = d - c + 1
    low, high = q < c / width, q > (2 * d - c) / width
    rising, falling = np.sqrt(chosen(low, q * c * width, 1.0)), 1 - np.sqrt(chosen(high, (1 - q) * width * (1 - d), 1.0))
    return chosen(low, rising, chosen(high, falling, (q * width + c) / 2))


def _triang_cdf(z: Any, c: Any) -> Any:
    return chosen(z < c, z**2 / chosen(c > 0, c, 1.0), 1 - (1 - z) ** 2 / chosen(c < 1, 1 - c, 1.0))


def _triang_ppf(q: Any, c: Any) -> Any:
    low = q < c
    return chosen(low, np.sqrt(chosen(low, c * q, 1.0)), 1 - np.sqrt(chosen(low, 1.0, (1 - c) * (1 - q))))


def _genhalflogistic_cdf(z: Any, c: Any) -> Any:
    power = (1 - c * z) ** (1 / c)
    return (1 - power) / (1 + power)


def _genpareto_logsf(z: Any, c: Any) -> Any:
    """-log(1 + c z) / c, by its series where c z is small."""
    u = c * z
    small = np.abs(u) < 1e-3
    series = 1 - u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u / 6))))
    return -z * chosen(small, series, np.log1p(chosen(small, 1.0, u)) / chosen(small, 1.0, u))


def _truncnorm_ppf(q: Any, a: Any, b: Any) -> Any:
    """By the logarithm of the mass in the tail that the support lies in."""
    whole = log_mass(a, b)
    left = special.ndtri_exp(np.logaddexp(log_below(a), np.log(q) + whole))
    right = -special.ndtri_exp(np.logaddexp(log_below(-b), np.log1p(-q) + whole))
    return chosen(a < 0, left, right)


def _double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The distribution function of a distribution on both sides of 0 from that of its absolute value."""

    def cdf(z: Any, *shapes: Any) -> Any:
        half = function(np.abs(z), *shapes) / 2
        return chosen(z > 0, 1 - half, half)

    return cdf


# Formulas as SciPy's documentation of the family states them.
_OWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("dgamma", "cdf"): _double(lambda z, a: special.gammaincc(a, z)),
    ("dgamma", "ppf"): lambda q, a: chosen(q < 0.5, -1.0, 1.0) * special.gammainccinv(a, 2 * np.minimum(q, 1 - q)),
    ("genhalflogistic", "cdf"): _genhalflogistic_cdf,
    ("genhalflogistic", "ppf"): lambda q, c: (1 - ((1 - q) / (1 + q)) ** c) / c,
    ("genpareto", "logsf"): _genpareto_logsf,
    ("genpareto", "sf"): lambda z, c: np.exp(_genpareto_logsf(z, c)),
    ("genpareto", "cdf"): lambda z, c: -np.expm1(_genpareto_logsf(z, c)),
    ("trapezoid", "cdf"): _trapezoid_cdf, ("trapezoid", "ppf"): _trapezoid_ppf,
    ("triang", "cdf"): _triang_cdf, ("triang", "ppf"): _triang_ppf,
    ("truncnorm", "logcdf"): lambda z, a, b: log_mass(a, z) - log_mass(a, b),
    ("truncnorm", "logsf"): lambda z, a, b: log_mass(z, b) - log_mass(a, b),
    ("truncnorm", "cdf"): lambda z, a, b: np.exp(log_mass(a, z) - log_mass(a, b)),
    ("truncnorm", "sf"): lambda z, a, b: np.exp(log_mass(z, b) - log_mass(a, b)),
    ("truncnorm", "ppf"): _truncnorm_ppf,
    ("truncpareto", "cdf"): lambda z, b, c: np.expm1(-b * np.log(z)) / np.expm1(-b * np.log(c)),
    ("truncpareto", "ppf"): lambda q, b, c: np.exp(-np.log1p(np.expm1(-b * np.log(c)) * q) / b),
}  # fmt: skip

# Where what a family defines is not run on traced values: compiled code, functions without a rule, or writes by index.
_UNSEEN = {
    "cdf": _OUT_OF_SIGHT | {
        "norminvgauss", "pearson3", "skewnorm", "vonmises", "vonmises_line",
    },
    "ppf": _OUT_OF_SIGHT | {
        "alpha", "betaprime", "exponweib", "genexpon", "invgauss", "jf_skew_t", "norminvgauss", "rdist", "skewnorm", "truncnorm",
    },
}  # fmt: skip
if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 16):  # which chooses between formulas by writes
    _UNSEEN["cdf"] |= {"betaprime", "crystalball", "genextreme", "loggamma", "wrapcauchy"}
    _UNSEEN["ppf"] |= {"crystalball", "genextreme", "loggamma"}


def _formula(family: Any, method: str) -> Callable[..., Any] | None:
    """Return a function of the standard member of a family, of traced values; None where there is none."""
    if (family.name, method) in _OWN:
        return _OWN[family.name, method]
    if (family.name, "cdf") in _OWN:
        known = method in ("cdf", "ppf")
    else:
        known = family.name not in _UNSEEN["ppf" if method in ("ppf", "isf") else "cdf"] and defines(family, f"_{method}")
    if known:
        own: Callable[..., Any] = getattr(family, f"_{method}")
        return own
    if method == "isf":
        ppf = _formula(family, "ppf")
        return None if ppf is None else lambda q, *shapes: ppf(1 - q, *shapes)
    cdf = _formula(family, "cdf") if method not in ("cdf", "ppf") else None
    if cdf is None:
        return None
    if method == "sf":
        return lambda z, *shapes: 1 - cdf(z, *shapes)
    sf = _formula(family, "sf")
    assert sf is not None
    here, other = (cdf, sf) if method == "logcdf" else (sf, cdf)

    def logarithm(z: Any, *shapes: Any) -> Any:
        value, rest = here(z, *shapes), other(z, *shapes)
        low = value < 0.5
        return chosen(low, np.log(chosen(low, value, 0.5)), np.log1p(-chosen(low, 0.5, rest)))

    return logarithm


def _seen(formula: Callable[..., Any], family: Any, method: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
    """A function of a family by its formula, with SciPy's values at the ends of the support and beyond."""
    low, high = support_of(family, shapes)
    valid = np.logical_and(is_valid(family, tuple(shapes)), scale > 0)
    if method in ("ppf", "isf"):
        inside = (x > 0) & (x < 1)
        at_low = x == (0 if method == "ppf" else 1)
        at_high = x == (1 if method == "ppf" else 0)
        ends = chosen(at_low, low, chosen(at_high, high, math.nan))
        return chosen(valid, chosen(inside, formula(chosen(inside, x, 0.5), *shapes), ends) * scale + loc, math.nan)
    z = (x - loc) / scale
    inside = np.logical_and(np.greater(z, low), np.less(z, high))
    found = formula(chosen(inside, z, _between(low, high)), *shapes)
    none, all_of = (-math.inf, 0.0) if method.startswith("log") else (0.0, 1.0)
    below, above = (none, all_of) if method.endswith("cdf") else (all_of, none)
    outside = chosen(np.less_equal(z, low), below, chosen(np.greater_equal(z, high), above, math.nan))
    found = chosen(inside, found, outside)
    return chosen(valid, found, math.nan)


def _standard(family: Any, method: str) -> Callable[..., Any]:
    """What a method of a family is of Tensors: by what it defines, or that of its standard member, moved and scaled."""
    names = [*(family.shapes or "").replace(",", " ").split(), "loc", "scale"]
    formula = _formula(family, method) if len(names) > 2 else None

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        at = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
        shapes, loc, scale = [_wide(at[n]) for n in names[:-2]], _wide(at["loc"]), _wide(at["scale"])
        if formula is not None:
            return _seen(formula, family, method, _wide(x), shapes, loc, scale)
        inverse = method in ("ppf", "isf")
        z = _wide(x) if inverse else (_wide(x) - loc) / scale
        whole = np.broadcast_shapes(np.shape(z), *map(np.shape, shapes))
        found = _called(family.name, method, np.broadcast_to(z, whole) if whole != np.shape(z) else z, shapes)
        found = found * scale + loc if inverse else found
        plain = isinstance(at["scale"], (int, float)) and at["scale"] > 0
        return found if plain else np.where(scale > 0, found, math.nan)

    return call


for _family in [one for one in vars(stats).values() if isinstance(one, stats.rv_continuous)]:
    for _method in _METHODS:
        of_arrays(getattr(_family, _method))(_standard(_family, _method))


# Masses: those of `distributions.py` come first, so that they stay.


def _mass(
    family: Any, shapes: str, logmass: Callable[..., Any], low: float = 0.0, top: Callable[..., Any] | None = None,
    cdf: Callable[..., Any] | None = None, sf: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """The masses of a family of whole numbers, from the formula of their logarithm, and the sums of them, if it has formulas."""
    names = [*shapes.split(), "loc"]

    def given(k: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        at = {"loc": 0, **dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names) or set(at) != set(names):
            raise TypeError(f"scipy.stats.{family.name} takes {names}, but got {[*args, *kwargs]}")
        return _wide(k) - _wide(at["loc"]), tuple([_wide(at[name]) for name in names[:-1]])

    def logarithm(k: Any, *args: Any, **kwargs: Any) -> Any:
        n, more = given(k, args, kwargs)
        inside = (n >= low) & (np.floor(n) == n)
        if top is not None:
            inside = inside & (n <= top(*more))
        found = logmass(np.where(inside, n, max(low, 0.0))[()], *more)
        return checked(np.where(inside, found, chosen(n == n, -math.inf, math.nan)), is_valid(family, more))

    of_arrays(family.logpmf)(logarithm)
    of_arrays(family.pmf)(lambda k, *args, **kwargs: np.exp(logarithm(k, *args, **kwargs)))
    if cdf is None or sf is None:
        return

    def summed(formula: Callable[..., Any], below: float, above: float) -> Callable[..., Any]:
        def call(k: Any, *args: Any, **kwargs: Any) -> Any:
            n, more = given(k, args, kwargs)
            n = np.floor(n)
            past = n >= (math.inf if top is None else top(*more))
            inside = (n >= low) & ~past
            found = formula(np.where(inside, n, max(low, 0.0))[()], *more)
            outer = chosen(past, above, chosen(n == n, below, math.nan))
            return checked(np.where(inside, found, outer), is_valid(family, more))

        return call

    of_arrays(family.cdf)(summed(cdf, 0.0, 1.0))
    of_arrays(family.sf)(summed(sf, 1.0, 0.0))
    of_arrays(family.logcdf)(summed(lambda k, *more: np.log(cdf(k, *more)), -math.inf, 0.0))
    of_arrays(family.logsf)(summed(lambda k, *more: np.log(sf(k, *more)), 0.0, -math.inf))


def _harmonic(a: Any, n: Any) -> Any:
    """The sum of the first powers of whole numbers."""
    if is_traced(n) or np.ndim(n):
        raise refused("stats.zipfian", "an n that is differentiated, or an array", "state n as one number")
    terms = made(np.arange, a, 1.0, float(n) + 1.0)
    return np.sum(terms ** -(a[..., None] if np.ndim(a) else a), axis=-1)


def _log_choose(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)


_mass(
    stats.geom, "p", lambda k, p: special.xlog1py(k - 1, -p) + np.log(p), low=1.0,
    cdf=lambda k, p: -np.expm1(k * np.log1p(-p)), sf=lambda k, p: np.exp(k * np.log1p(-p)),
)  # fmt: skip
_mass(
    stats.nbinom, "n p",
    lambda k, n, p: special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n) + n * np.log(p) + special.xlog1py(k, -p),
    cdf=lambda k, n, p: special.betainc(n, k + 1, p), sf=lambda k, n, p: special.betainc(k + 1, n, 1 - p),
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
_mass(
    stats.planck, "lambda_", lambda k, a: np.log(-np.expm1(-a)) - a * k,
    cdf=lambda k, a: -np.expm1(-a * (k + 1)), sf=lambda k, a: np.exp(-a * (k + 1)),
)  # fmt: skip
_mass(
    stats.zipfian, "a n", lambda k, a, n: -a * np.log(k) - np.log(_harmonic(a, n)), low=1.0, top=lambda a, n: n,
)  # fmt: skip
_mass(
    stats.boltzmann, "lambda_ N", lambda k, a, n: np.log(-np.expm1(-a)) - a * k - np.log(-np.expm1(-a * n)),
    top=lambda a, n: n - 1, cdf=lambda k, a, n: np.expm1(-a * (k + 1)) / np.expm1(-a * n),
    sf=lambda k, a, n: np.exp(-a * (k + 1)) * np.expm1(-a * (n - 1 - k)) / np.expm1(-a * n),
)  # fmt: skip


def _dlaplace_below(k: Any, a: Any) -> Any:
    """The mass up to a k below 0."""
    return np.exp(a * (k + 1)) / (np.exp(a) + 1)


def _dlaplace_cdf(k: Any, a: Any) -> Any:
    low = k < 0
    return chosen(low, _dlaplace_below(chosen(low, k, -1.0), a), 1 - _dlaplace_below(chosen(low, -1.0, -k - 1), a))


_mass(
    stats.dlaplace, "a", lambda k, a: np.log(np.tanh(a / 2.0)) - a * np.abs(k), low=-math.inf,
    cdf=_dlaplace_cdf, sf=lambda k, a: _dlaplace_cdf(-k - 1, a),
)  # fmt: skip
_mass(
    stats.yulesimon, "alpha", lambda k, a: np.log(a) + special.betaln(k, a + 1), low=1.0,
    cdf=lambda k, a: 1 - k * special.beta(k, a + 1), sf=lambda k, a: k * special.beta(k, a + 1),
)  # fmt: skip
_mass(stats.zipf, "a", lambda k, a: -a * np.log(k) - np.log(zeta(a, 1.0)), low=1.0)


def _skellam_logmass(k: Any, a: Any, b: Any) -> Any:
    """By the Bessel function whose order is the number (J. G. Skellam, J. Royal Stat. Soc. 109, 1946)."""
    z = 2 * np.sqrt(a * b)
    return k / 2 * np.log(a / b) + np.log(special.ive(np.abs(k), z)) + z - a - b


_mass(stats.skellam, "mu1 mu2", _skellam_logmass, low=-math.inf)
