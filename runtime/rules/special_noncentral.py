"""scipy.special's noncentral distributions and their inverses, and Kolmogorov's, one line each.

A noncentral distribution is a Poisson mixture of central ones, so that its slope in the noncentrality is half the difference of
two of its values. Densities: N. L. Johnson, S. Kotz, N. Balakrishnan, "Continuous univariate distributions", vol. 2, chapters
29 to 31, in functions of https://dlmf.nist.gov, chapters 10, 12 and 13. Degrees of freedom have no rule.
"""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from ...unpatched import np
from ..ops import Kind
from ..registry import op, rule
from .special_integrals import beta_density, gamma_density
from .support import not_zero, widened

elementwise = Kind.elementwise

ROOT_TAU = math.sqrt(2 * math.pi)

# The noncentral chi-squared distribution.


def chi_squared_density(x: Any, df: Any, nc: Any, out: Any) -> Any:
    """The slope of `special.chndtr` in x, of the dtype of `out`."""
    x, df, nc = widened(x, out), widened(df, out), widened(nc, out)
    near = x * nc < 1
    series = (
        gamma_density(df / 2, x / 2, out) / 2 * np.exp(-nc / 2) * special.hyp0f1(df / 2, np.where(near, x * nc, 1) / 4)
    )
    far = np.where(near, 1, nc)
    scaled = special.ive(df / 2 - 1, np.sqrt(far * x)) * np.exp(-((np.sqrt(x) - np.sqrt(far)) ** 2) / 2)
    return np.where(near, series, scaled * (x / far) ** (df / 4 - 0.5) / 2).astype(out.dtype)


def chi_squared_shift(x: Any, df: Any, nc: Any, out: Any) -> Any:
    """The slope of `special.chndtr`, which is `out`, in nc."""
    return (special.chndtr(x, widened(df, out) + 2, nc) - out) / 2


op(special.chndtr, "x, df, nc", elementwise)
rule(
    special.chndtr,
    x=lambda g, x, df, nc, out: g * chi_squared_density(x, df, nc, out),
    nc=lambda g, x, df, nc, out: g * chi_squared_shift(x, df, nc, out),
)

op(special.chndtrix, "p, df, nc", elementwise)
rule(
    special.chndtrix,
    p=lambda g, df, nc, out: g / chi_squared_density(out, df, nc, out),
    nc=lambda g, p, df, nc, out: -g * (chi_squared_shift(out, df, nc, p) / chi_squared_density(out, df, nc, out)),
)

# The noncentral F distribution.


def fisher_density(dfn: Any, dfd: Any, nc: Any, f: Any, out: Any) -> Any:
    """The slope of `special.ncfdtr` in f, of the dtype of `out`."""
    dfn, dfd, nc, f = [widened(v, out) for v in (dfn, dfd, nc, f)]
    a, b, whole = dfn / 2, dfd / 2, dfn * f + dfd
    x = dfn * f / whole
    weight = np.exp(-nc / 2) * special.hyp1f1(a + b, a, nc * x / 2)
    return (beta_density(a, b, x, out) * weight * (dfn * dfd / whole**2)).astype(out.dtype)


def fisher_shift(dfn: Any, dfd: Any, nc: Any, f: Any, out: Any) -> Any:
    """The slope of `special.ncfdtr`, which is `out`, in nc."""
    dfn, f = widened(dfn, out), widened(f, out)
    return (special.ncfdtr(dfn + 2, dfd, nc, f * dfn / (dfn + 2)) - out) / 2


op(special.ncfdtr, "dfn, dfd, nc, f", elementwise)
rule(
    special.ncfdtr,
    nc=lambda g, dfn, dfd, nc, f, out: g * fisher_shift(dfn, dfd, nc, f, out),
    f=lambda g, dfn, dfd, nc, f, out: g * fisher_density(dfn, dfd, nc, f, out),
)

op(special.ncfdtri, "dfn, dfd, nc, p", elementwise)
rule(
    special.ncfdtri,
    nc=lambda g, dfn, dfd, nc, p, out: -g * (
        fisher_shift(dfn, dfd, nc, out, p) / fisher_density(dfn, dfd, nc, out, out)
    ),
    p=lambda g, dfn, dfd, nc, out: g / fisher_density(dfn, dfd, nc, out, out),
)  # fmt: skip

# The noncentral t distribution. Its density and its slope in nc are one integral, of s**k exp(-s**2 (1 + u**2) / 2 + s u nc).

MANY = 100.0  # degrees of freedom, from which on the integral's factors leave the range of floats


def student_integral(df: Any, nc: Any, t: Any, k: int) -> Any:
    """The mean of S**k phi(S t / sqrt(df) - nc), where S**2 is chi-squared of `df`, phi the normal density."""
    u = t / np.sqrt(df)
    r = np.sqrt(1 + u**2)
    height = special.gammaln(df + k) - special.gammaln(df / 2) - (df / 2 - 1) * math.log(2) - (df + k) * np.log(r)
    scale = np.exp(height - nc**2 / 2 + (u * nc / r) ** 2 / 4) / ROOT_TAU
    return scale * special.pbdv(-df - k, -u * nc / r)[0]


def student_density(df: Any, nc: Any, t: Any, out: Any) -> Any:
    """The slope of `special.nctdtr`, which is `out`, in t; of many degrees of freedom by its values at two of them."""
    df, nc, t = widened(df, out), widened(nc, out), widened(t, out)
    few = np.minimum(df, MANY)
    by_integral = student_integral(few, nc, t, 1) / np.sqrt(few)
    moved = special.nctdtr(df + 2, nc, t * np.sqrt(1 + 2 / df)) - special.nctdtr(df, nc, t)
    near = np.absolute(nc * t) <= 1  # where the difference of the two is small against either, or zero
    many = np.where(near, student_series(np.maximum(df, MANY), nc, np.where(near, t, 0)), df * moved / not_zero(t))
    return np.where(df <= MANY, by_integral, many).astype(out.dtype)


def student_series(df: Any, nc: Any, t: Any) -> Any:
    """The density of the noncentral t distribution as its series in nc t, where this is at most 1."""
    z = nc * t / np.sqrt(df + t**2)
    even: Any = 1.0
    odd = np.exp(special.gammaln(df / 2 + 1) - special.gammaln((df + 1) / 2)) * math.sqrt(2) * z
    total = even + odd
    for j in range(2, 20, 2):
        even = even * ((df + j - 1) * z**2 / (j * (j - 1)))
        odd = odd * ((df + j) * z**2 / (j * (j + 1)))
        total = total + (even + odd)
    height = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - np.log(np.pi * df) / 2
    return total * np.exp(height - nc**2 / 2 - (df + 1) / 2 * np.log1p(t**2 / df))


def student_shift(df: Any, nc: Any, t: Any, out: Any) -> Any:
    """The slope of `special.nctdtr` in nc; of many degrees of freedom by the density at one less."""
    df, nc, t = widened(df, out), widened(nc, out), widened(t, out)
    few, less = np.minimum(df, MANY), np.maximum(df, MANY) - 1
    mean = np.exp(special.gammaln((less + 1) / 2) - special.gammaln(less / 2)) * np.sqrt(2 / less)
    at_less = student_density(less, nc, t * np.sqrt(less / (less + 1)), out) / mean
    return -np.where(df <= MANY, student_integral(few, nc, t, 0), at_less).astype(out.dtype)


op(special.nctdtr, "df, nc, t", elementwise)
rule(
    special.nctdtr,
    nc=lambda g, df, nc, t, out: g * student_shift(df, nc, t, out),
    t=lambda g, df, nc, t, out: g * student_density(df, nc, t, out),
)

op(special.nctdtrit, "df, nc, p", elementwise)
rule(
    special.nctdtrit,
    nc=lambda g, df, nc, out: -g * (student_shift(df, nc, out, out) / student_density(df, nc, out, out)),
    p=lambda g, df, nc, out: g / student_density(df, nc, out, out),
)

# Kolmogorov's distribution: two series, one for each end.


def kolmogorov_slope(y: Any) -> Any:
    """The slope of `special.kolmogorov`."""
    high, low = np.maximum(y, 0.8), np.minimum(np.maximum(y, 0.02), 1)
    tail = sum([8 * high * (-1) ** k * k**2 * np.exp(-2 * k**2 * high**2) for k in range(1, 8)])
    rates = [(j * math.pi) ** 2 / 8 for j in (1, 3, 5)]
    head = sum([np.exp(-c / low**2) * (1 / low**2 - 2 * c / low**4) for c in rates])
    return np.where(y > 0.9, tail, ROOT_TAU * np.where(y < 0.02, 0, head))


op(special.kolmogorov, "y", elementwise)
rule(special.kolmogorov, y=lambda g, y: g * kolmogorov_slope(y))

op(special.kolmogi, "p", elementwise)
rule(special.kolmogi, p=lambda g, out: g / kolmogorov_slope(out))
