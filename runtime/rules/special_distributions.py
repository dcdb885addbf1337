"""scipy.special's distributions of the Fisher, binomial and chi-squared families, derivatives of Bessel functions: one line each.

Densities follow from the incomplete gamma and beta functions, https://dlmf.nist.gov/8.17. Parameters
without a formula of their own have no rule; the error names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import scipy.special
from scipy import special

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, op, primitive, rule, singular_at
from .shape_slopes import beta_shape, gamma_shape
from .special_integrals import beta_density, boxcox_slope, gamma_density
from .support import widened

elementwise = Kind.elementwise

ROOT_TAU = math.sqrt(2 * math.pi)

# Chi-squared, gamma and Poisson.

op(special.chdtri, "v, p", elementwise)
rule(
    special.chdtri,
    v=lambda g, v, out: -g * (gamma_shape(v / 2, out / 2, out) / gamma_density(v / 2, out / 2, out)),
    p=lambda g, v, out: -2 * g / gamma_density(v / 2, out / 2, out),
)

op(special.gdtrc, "a, b, x", elementwise)
rule(
    special.gdtrc,
    a=lambda g, a, b, x, out: -g * (gamma_density(b, a * x, out) * x),
    b=lambda g, a, b, x, out: -g * gamma_shape(b, a * x, out),
    x=lambda g, a, b, x, out: -g * (gamma_density(b, a * x, out) * a),
)

op(special.gdtrix, "a, b, p", elementwise)
rule(
    special.gdtrix,
    a=lambda g, a, out: -g * (out / a),
    b=lambda g, a, b, out: -g * (gamma_shape(b, a * out, out) / (gamma_density(b, a * out, out) * a)),
    p=lambda g, a, b, out: g / (gamma_density(b, a * out, out) * a),
)

op(special.gdtria, "p, b, x", elementwise)
rule(
    special.gdtria,
    p=lambda g, b, x, out: g / (gamma_density(b, out * x, out) * x),
    b=lambda g, b, x, out: -g * (gamma_shape(b, out * x, out) / (gamma_density(b, out * x, out) * x)),
    x=lambda g, x, out: -g * (out / x),
)

op(special.pdtrc, "k, m", elementwise)
rule(special.pdtrc, k=None, m=lambda g, k, m, out: g * gamma_density(k // 1 + 1, m, out))

op(special.pdtri, "k, y", elementwise)
rule(special.pdtri, k=None, y=lambda g, k, out: -g / gamma_density(k // 1 + 1, out, out))

# Fisher's F, binomial and negative binomial.


def fisher_density(dfn: Any, dfd: Any, x: Any, out: Any) -> Any:
    """The slope of `special.fdtr` in x."""
    whole = dfn * x + dfd
    return beta_density(dfn / 2, dfd / 2, dfn * x / whole, out) * (dfn * dfd / whole**2)


def fisher_shape(dfn: Any, dfd: Any, x: Any, out: Any, second: bool) -> Any:
    """The slope of `special.fdtr` in dfn, or in dfd, the second shape: its beta function moves in a shape and in its argument."""
    dfn, dfd, x = dfn * np.float64(1), dfd * np.float64(1), x * np.float64(1)
    whole = dfn * x + dfd
    moved = x * (-dfn if second else dfd) / whole**2
    share = dfn * x / whole
    shape = beta_shape(dfn / 2, dfd / 2, share, share, second) / 2
    return (shape + beta_density(dfn / 2, dfd / 2, share, share) * moved).astype(out.dtype)


op(special.fdtr, "dfn, dfd, x", elementwise)
rule(
    special.fdtr,
    dfn=lambda g, dfn, dfd, x, out: g * fisher_shape(dfn, dfd, x, out, False),
    dfd=lambda g, dfn, dfd, x, out: g * fisher_shape(dfn, dfd, x, out, True),
    x=lambda g, dfn, dfd, x, out: g * fisher_density(dfn, dfd, x, out),
)

op(special.fdtrc, "dfn, dfd, x", elementwise)
rule(
    special.fdtrc,
    dfn=lambda g, dfn, dfd, x, out: -g * fisher_shape(dfn, dfd, x, out, False),
    dfd=lambda g, dfn, dfd, x, out: -g * fisher_shape(dfn, dfd, x, out, True),
    x=lambda g, dfn, dfd, x, out: -g * fisher_density(dfn, dfd, x, out),
)

op(special.fdtri, "dfn, dfd, p", elementwise)
rule(
    special.fdtri,
    dfn=lambda g, dfn, dfd, out: -g * (fisher_shape(dfn, dfd, out, out, False) / fisher_density(dfn, dfd, out, out)),
    dfd=lambda g, dfn, dfd, out: -g * (fisher_shape(dfn, dfd, out, out, True) / fisher_density(dfn, dfd, out, out)),
    p=lambda g, dfn, dfd, out: g / fisher_density(dfn, dfd, out, out),
)

op(special.bdtr, "k, n, p", elementwise)
rule(special.bdtr, k=None, n=None, p=lambda g, k, n, p, out: -g * beta_density(k // 1 + 1, n - k // 1, p, out))

op(special.bdtrc, "k, n, p", elementwise)
rule(special.bdtrc, k=None, n=None, p=lambda g, k, n, p, out: g * beta_density(k // 1 + 1, n - k // 1, p, out))

op(special.bdtri, "k, n, y", elementwise)
rule(special.bdtri, k=None, n=None, y=lambda g, k, n, out: -g / beta_density(k // 1 + 1, n - k // 1, out, out))

op(special.nbdtr, "k, n, p", elementwise)
rule(special.nbdtr, k=None, n=None, p=lambda g, k, n, p, out: g * beta_density(n, k + 1, p, out))

op(special.nbdtrc, "k, n, p", elementwise)
rule(special.nbdtrc, k=None, n=None, p=lambda g, k, n, p, out: -g * beta_density(n, k + 1, p, out))

op(special.nbdtri, "k, n, y", elementwise)
rule(special.nbdtri, k=None, n=None, y=lambda g, k, n, out: g / beta_density(n, k + 1, out, out))

# The normal distribution solved for its parameters, and Tukey's lambda distribution.

op(special.nrdtrimn, "p, std, x", elementwise)
rule(
    special.nrdtrimn,
    p=lambda g, p, std: -g * std * (ROOT_TAU * np.exp(special.ndtri(p) ** 2 / 2)),
    std=lambda g, p: -g * special.ndtri(p),
    x=lambda g: g,
)

op(special.nrdtrisd, "mn, p, x", elementwise)
rule(
    special.nrdtrisd,
    mn=lambda g, p: -g / special.ndtri(p),
    p=lambda g, p, out: -g * (out / special.ndtri(p) * ROOT_TAU * np.exp(special.ndtri(p) ** 2 / 2)),
    x=lambda g, p: g / special.ndtri(p),
)

op(special.tklmbda, "x, lmbda", elementwise)
rule(
    special.tklmbda,
    x=lambda g, x, lmbda, out: g * tukey_density(x, lmbda, out),
    lmbda=lambda g, x, lmbda, out: g * tukey_shift(x, lmbda, out),
)
singular_at(
    special.tklmbda, x=lambda x, lmbda: np.absolute(x) * lmbda == 1, lmbda=lambda x, lmbda: np.absolute(x) * lmbda == 1
)


def tukey_density(x: Any, lmbda: Any, out: Any) -> Any:
    """The slope of `special.tklmbda`, which is `out`, in x: 0 behind the ends of its support, -1 / lmbda and 1 / lmbda."""
    inside = np.absolute(x) * lmbda <= 1
    return np.where(inside, 1 / tukey_slope(lmbda, np.where(inside, out, 0.5)), 0).astype(out.dtype)


def tukey_shift(x: Any, lmbda: Any, out: Any) -> Any:
    """The slope of `special.tklmbda` in lmbda."""
    inside = np.absolute(x) * lmbda <= 1
    p = np.where(inside, out, 0.5)
    slope = (boxcox_slope(1 - p, lmbda) - boxcox_slope(p, lmbda)) / tukey_slope(lmbda, p)
    return np.where(inside, slope, 0).astype(out.dtype)


def tukey_slope(lmbda: Any, out: Any) -> Any:
    """The slope of the quantiles (out**lmbda - (1 - out)**lmbda) / lmbda, of which `special.tklmbda` is the inverse."""
    power = widened(lmbda, out) - 1
    return out**power + (1 - out) ** power


# Derivatives of Bessel functions: sums of the functions of neighbouring orders.


def neighbours(fn: Callable[..., Any], v: Any, z: Any, n: int, sign: int) -> Any:
    """The n-th derivative, from f' = (f(v - 1) + sign f(v + 1)) / 2."""
    total = fn(v - n, z)
    for k in range(1, n + 1):
        total = total + sign**k * math.comb(n, k) * fn(v - n + 2 * k, z)
    return total / 2.0**n


def _derivative(name: str, fn: Callable[..., Any], sign: int, factor: int = 1) -> None:
    def of_order(v: Any, z: Any, n: int = 1) -> Any:
        return factor**n * neighbours(fn, v, z, n, sign) if n else fn(v, z)

    of_order.__doc__ = f"`scipy.special.{name}`, by `{fn.__name__}` of other orders."
    composed(getattr(special, name))(of_order)


_derivative("jvp", special.jv, -1)
_derivative("yvp", special.yv, -1)
_derivative("h1vp", special.hankel1, -1)
_derivative("h2vp", special.hankel2, -1)
_derivative("ivp", special.iv, 1)
_derivative("kvp", special.kv, 1, -1)

# Spherical Bessel functions, and their slopes by their differential equation.


@primitive("name, n, z, derivative", elementwise)
def spherical(name: Any, n: Any, z: Any, derivative: Any) -> Any:
    """`special.spherical_jn` and its like, which are no ufuncs, for rules: it takes what a rule is given."""
    return getattr(scipy.special, name)(n, z, derivative)


def spherical_slope(name: Any, n: Any, z: Any, derivative: Any, out: Any) -> Any:
    """The slope of a spherical Bessel function, or of its derivative."""
    if not derivative:
        return spherical(name, n, z, True)
    return (n * (n + 1) / z**2 - (-1 if name[-2:] in ("in", "kn") else 1)) * spherical(name, n, z, False) - 2 / z * out


rule(spherical, n=None, z=lambda g, name, n, z, derivative, out: g * spherical_slope(name, n, z, derivative, out))


def _spherical(fn: Any) -> None:
    name = fn.__name__
    op(fn, "n, z, derivative=False", elementwise, path=f"scipy.special.{name}")
    rule(fn, n=None, z=lambda g, n, z, derivative, out: g * spherical_slope(name, n, z, derivative, out))


for _fn in (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn):
    _spherical(_fn)
