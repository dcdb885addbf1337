"""More of scipy.special: integrals, distributions, orthogonal polynomials and hypergeometric functions, one line each.

Degrees and parameters without a formula of their own have no rule; the error names them. Formulas: NIST Digital
Library of Mathematical Functions, https://dlmf.nist.gov, chapters 6 to 19.
"""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from ...unpatched import np
from ..ops import Kind
from ..registry import op, rule, undifferentiable
from .shape_slopes import beta_shape, gamma_shape, order_slope, student_shape
from .support import not_zero, numpys_power, widened

elementwise = Kind.elementwise

ROOT_PI, ROOT_TAU, DEGREE = math.sqrt(math.pi), math.sqrt(2 * math.pi), math.pi / 180


def both(g: Any, *slopes: Any) -> Any:
    """The cotangent of the argument of a function of several results, from its slope in each."""
    return sum([h * slope for h, slope in zip(g, slopes, strict=True) if h is not None])


def ratio(x: Any, y: Any, limit: float) -> Any:
    """`x / y`, and its limit where `y` is zero."""
    return np.where(y == 0, limit, x / not_zero(y))


# Exponential, trigonometric and Fresnel integrals.

op(special.exp1, "x", elementwise)
rule(special.exp1, x=lambda g, x: -g * (np.exp(-x) / x))

op(special.expi, "x", elementwise)
rule(special.expi, x=lambda g, x: g * (np.exp(x) / x))

op(special.expn, "n, x", elementwise)
rule(special.expn, n=None, x=lambda g, n, x: -g * special.expn(n - 1, x))

op(special.exprel, "x", elementwise)
rule(special.exprel, x=lambda g, x, out: g * exprel_slope(x, out))


def exprel_slope(x: Any, out: Any) -> Any:
    """The slope of (exp(x) - 1) / x, by its series where the difference would lose its digits."""
    series = 1 / 2 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x / 144)))
    return np.where(np.abs(x) < 1e-2, series, (np.exp(x) - out) / not_zero(x))


op(special.sici, "x", elementwise, n_out=2)
rule(special.sici, x=lambda g, x: both(g, ratio(np.sin(x), x, 1.0), np.cos(x) / x))

op(special.shichi, "x", elementwise, n_out=2)
rule(special.shichi, x=lambda g, x: both(g, ratio(np.sinh(x), x, 1.0), np.cosh(x) / x))

op(special.fresnel, "x", elementwise, n_out=2)
rule(special.fresnel, x=lambda g, x: both(g, np.sin(math.pi / 2 * x**2), np.cos(math.pi / 2 * x**2)))

op(special.erfi, "x", elementwise)
rule(special.erfi, x=lambda g, x: g * (2 / ROOT_PI * np.exp(x**2)))

op(special.wofz, "x", elementwise)
rule(special.wofz, x=lambda g, x, out: g * (2j / ROOT_PI - 2 * x * out))

op(special.voigt_profile, "x, sigma, gamma", elementwise)
rule(
    special.voigt_profile,
    x=lambda g, x, sigma, gamma, out: g * np.real(voigt_slope(x, sigma, gamma, out)),
    sigma=lambda g, x, sigma, gamma, out: -g * (
        (out + np.real((x + 1j * gamma) * voigt_slope(x, sigma, gamma, out))) / sigma
    ),
    gamma=lambda g, x, sigma, gamma, out: -g * np.imag(voigt_slope(x, sigma, gamma, out)),
)  # fmt: skip


def voigt_slope(x: Any, sigma: Any, gamma: Any, out: Any) -> Any:
    """The slope of the analytic function in x + i gamma of which the Voigt profile is the real part."""
    x, sigma, gamma = widened(x, out), widened(sigma, out), widened(gamma, out)
    z = (x + 1j * gamma) / (sigma * math.sqrt(2))
    return (1j / ROOT_PI - z * special.wofz(z)) / (sigma**2 * ROOT_PI)


op(special.spence, "x", elementwise)
rule(special.spence, x=lambda g, x: g * ratio(np.log(x), 1 - x, -1.0))

op(special.owens_t, "x, y", elementwise)
rule(
    special.owens_t,
    x=lambda g, x, y: g * (np.exp(x**2 / -2) * special.erf(x * y / math.sqrt(2)) / (-2 * ROOT_TAU)),
    y=lambda g, x, y, out: g * (np.exp(widened(x, out) ** 2 / -2 * (1 + y**2)) / (2 * math.pi * (1 + y**2))),
)

# Lambert's W and what is solved by it.

op(special.lambertw, "x, k=0, tol=1e-8", elementwise, path="scipy.special.lambertw")
rule(special.lambertw, x=lambda g, out: g * (np.exp(-out) / (1 + out)))

op(special.wrightomega, "x", elementwise)
rule(special.wrightomega, x=lambda g, out: g * (out / (1 + out)))

# Incomplete gamma and beta functions, their inverses, and the distributions that are made of them.


def gamma_density(a: Any, x: Any, out: Any) -> Any:
    """The slope of `special.gammainc` in x, of the dtype of `out`."""
    return np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a)).astype(out.dtype)


def beta_density(a: Any, b: Any, x: Any, out: Any) -> Any:
    """The slope of `special.betainc` in x, of the dtype of `out`."""
    return np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b)).astype(out.dtype)


def student_density(df: Any, x: Any, out: Any) -> Any:
    """The slope of `special.stdtr` in t, of the dtype of `out`."""
    df, x = widened(df, out), widened(x, out)
    height = np.exp(-special.betaln(df / 2, 0.5)) / df**0.5
    return ((1 + x**2 / df) ** ((df + 1) / -2) * height).astype(out.dtype)


op(special.gammainc, "a, x", elementwise)
rule(
    special.gammainc,
    a=lambda g, a, x, out: g * gamma_shape(a, x, out),
    x=lambda g, a, x, out: g * gamma_density(a, x, out),
)

op(special.gammaincc, "a, x", elementwise)
rule(
    special.gammaincc,
    a=lambda g, a, x, out: -g * gamma_shape(a, x, out),
    x=lambda g, a, x, out: -g * gamma_density(a, x, out),
)

op(special.gammaincinv, "a, y", elementwise)
rule(
    special.gammaincinv,
    a=lambda g, a, out: -g * (gamma_shape(a, out, out) / gamma_density(a, out, out)),
    y=lambda g, a, out: g / gamma_density(a, out, out),
)

op(special.gammainccinv, "a, y", elementwise)
rule(
    special.gammainccinv,
    a=lambda g, a, out: -g * (gamma_shape(a, out, out) / gamma_density(a, out, out)),
    y=lambda g, a, out: -g / gamma_density(a, out, out),
)

op(special.betainc, "a, b, x", elementwise)
rule(
    special.betainc,
    a=lambda g, a, b, x, out: g * beta_shape(a, b, x, out, False),
    b=lambda g, a, b, x, out: g * beta_shape(a, b, x, out, True),
    x=lambda g, a, b, x, out: g * beta_density(a, b, x, out),
)

op(special.betaincc, "a, b, x", elementwise)
rule(
    special.betaincc,
    a=lambda g, a, b, x, out: -g * beta_shape(a, b, x, out, False),
    b=lambda g, a, b, x, out: -g * beta_shape(a, b, x, out, True),
    x=lambda g, a, b, x, out: -g * beta_density(a, b, x, out),
)

op(special.betaincinv, "a, b, y", elementwise)
rule(
    special.betaincinv,
    a=lambda g, a, b, out: -g * (beta_shape(a, b, out, out, False) / beta_density(a, b, out, out)),
    b=lambda g, a, b, out: -g * (beta_shape(a, b, out, out, True) / beta_density(a, b, out, out)),
    y=lambda g, a, b, out: g / beta_density(a, b, out, out),
)

op(special.betainccinv, "a, b, y", elementwise)
rule(
    special.betainccinv,
    a=lambda g, a, b, out: -g * (beta_shape(a, b, out, out, False) / beta_density(a, b, out, out)),
    b=lambda g, a, b, out: -g * (beta_shape(a, b, out, out, True) / beta_density(a, b, out, out)),
    y=lambda g, a, b, out: -g / beta_density(a, b, out, out),
)

op(special.chdtr, "v, x", elementwise)
rule(
    special.chdtr,
    v=lambda g, v, x, out: g * (gamma_shape(v / 2, x / 2, out) / 2),
    x=lambda g, v, x, out: g * (gamma_density(v / 2, x / 2, out) / 2),
)

op(special.chdtrc, "v, x", elementwise)
rule(
    special.chdtrc,
    v=lambda g, v, x, out: -g * (gamma_shape(v / 2, x / 2, out) / 2),
    x=lambda g, v, x, out: -g * (gamma_density(v / 2, x / 2, out) / 2),
)

op(special.gdtr, "a, b, x", elementwise)
rule(
    special.gdtr,
    a=lambda g, a, b, x, out: g * (gamma_density(b, a * x, out) * x),
    b=lambda g, a, b, x, out: g * gamma_shape(b, a * x, out),
    x=lambda g, a, b, x, out: g * (gamma_density(b, a * x, out) * a),
)

op(special.pdtr, "k, m", elementwise)
rule(special.pdtr, k=None, m=lambda g, k, m, out: -g * gamma_density(k // 1 + 1, m, out))

op(special.stdtr, "df, t", elementwise)
rule(
    special.stdtr,
    df=lambda g, df, t, out: g * student_shape(df, t, out),
    t=lambda g, df, t, out: g * student_density(df, t, out),
)

op(special.stdtrit, "df, p", elementwise)
rule(
    special.stdtrit,
    df=lambda g, df, out: -g * (student_shape(df, out, out) / student_density(df, out, out)),
    p=lambda g, df, out: g / student_density(df, out, out),
)

op(special.ndtri_exp, "y", elementwise)
rule(special.ndtri_exp, y=lambda g, y, out: g * (ROOT_TAU * np.exp(y + out**2 / 2)))

# Binomials and the like.

op(special.binom, "n, k", elementwise)
rule(
    special.binom,
    n=lambda g, n, k, out: g * (out * (special.psi(n + 1) - special.psi(n - k + 1))),
    k=lambda g, n, k, out: g * (out * (special.psi(n - k + 1) - special.psi(k + 1))),
)

op(special.poch, "x, m", elementwise)
rule(
    special.poch,
    x=lambda g, x, m, out: g * (out * (special.psi(x + m) - special.psi(x))),
    m=lambda g, x, m, out: g * (out * special.psi(x + m)),
)

op(special.powm1, "x, y", elementwise)
rule(
    special.powm1,
    x=lambda g, x, y: g * (y * numpys_power(x, y - 1.0)),
    y=lambda g, x, out: g * ((out + 1) * np.log(widened(x, out))),
)

undifferentiable(special.gammasgn, "x")

# Losses and transforms of data.

op(special.huber, "delta, r", elementwise)
rule(
    special.huber,
    delta=lambda g, delta, r: g * np.maximum(np.abs(r) - delta, 0),
    r=lambda g, delta, r, out: g * np.clip(r, -widened(delta, out), delta),
)

op(special.pseudo_huber, "delta, r", elementwise)
rule(
    special.pseudo_huber,
    delta=lambda g, delta, r: g * ((np.sqrt(1 + (r / delta) ** 2) - 1) ** 2 * delta / np.sqrt(1 + (r / delta) ** 2)),
    r=lambda g, delta, r: g * (r / np.sqrt(1 + (r / delta) ** 2)),
)


def boxcox_slope(x: Any, y: Any) -> Any:
    """The slope of `special.boxcox` in the power."""
    return power_slope(np.log(x), y)


def power_slope(log: Any, y: Any) -> Any:
    """The slope of `(exp(log * y) - 1) / y` in `y`."""
    return log**2 * exprel_slope(log * y, special.exprel(log * y))


def root_slope(x: Any, y: Any) -> Any:
    """The slope of `log1p(x * y) / y` in `y`, by its series where the difference would lose its digits."""
    z = x * y
    series = -1 / 2 + z * (2 / 3 + z * (-3 / 4 + z * (4 / 5 + z * (-5 / 6 + z * (6 / 7)))))
    apart = np.where(np.abs(z) < 1e-2, 1, z)
    return x**2 * np.where(np.abs(z) < 1e-2, series, (apart / (1 + apart) - np.log1p(apart)) / apart**2)


op(special.boxcox, "x, y", elementwise)
rule(
    special.boxcox,
    x=lambda g, x, y: g * numpys_power(x, y - 1.0),
    y=lambda g, x, y, out: g * boxcox_slope(widened(x, out), y),
)

op(special.inv_boxcox, "x, y", elementwise)
rule(
    special.inv_boxcox,
    x=lambda g, y, out: g * out ** (1.0 - y),
    y=lambda g, x, y, out: g * (out * root_slope(widened(x, out), y)),
)

op(special.boxcox1p, "x, y", elementwise)
rule(
    special.boxcox1p,
    x=lambda g, x, y: g * numpys_power(x + 1, y - 1.0),
    y=lambda g, x, y, out: g * power_slope(np.log1p(widened(x, out)), y),
)

op(special.inv_boxcox1p, "x, y", elementwise)
rule(
    special.inv_boxcox1p,
    x=lambda g, y, out: g * (out + 1) ** (1.0 - y),
    y=lambda g, x, y, out: g * ((out + 1) * root_slope(widened(x, out), y)),
)

# Angles in degrees.

op(special.sindg, "x", elementwise)
rule(special.sindg, x=lambda g, x: g * (DEGREE * special.cosdg(x)))

op(special.cosdg, "x", elementwise)
rule(special.cosdg, x=lambda g, x: g * (-DEGREE * special.sindg(x)))

op(special.tandg, "x", elementwise)
rule(special.tandg, x=lambda g, out: g * (DEGREE * (1 + out**2)))

op(special.cotdg, "x", elementwise)
rule(special.cotdg, x=lambda g, out: g * (-DEGREE * (1 + out**2)))

# Modified and scaled Bessel functions, Airy functions.

op(special.kv, "v, x", elementwise)
rule(
    special.kv,
    v=lambda g, v, x, out: g * order_slope(special.kv, v, x, out),
    x=lambda g, v, x: g * ((special.kv(v - 1, x) + special.kv(v + 1, x)) / -2),
)

op(special.kn, "n, x", elementwise)
rule(special.kn, n=None, x=lambda g, n, x: g * ((special.kv(n - 1, x) + special.kv(n + 1, x)) / -2))

op(special.yn, "n, x", elementwise)
rule(special.yn, n=None, x=lambda g, n, x: g * ((special.yv(n - 1, x) - special.yv(n + 1, x)) / 2))

op(special.kve, "v, x", elementwise)
rule(
    special.kve,
    v=lambda g, v, x, out: g * order_slope(special.kve, v, x, out),
    x=lambda g, v, x, out: g * (out - (special.kve(v - 1, x) + special.kve(v + 1, x)) / 2),
)

op(special.k0e, "x", elementwise)
rule(special.k0e, x=lambda g, x, out: g * (out - special.k1e(x)))

op(special.k1e, "x", elementwise)
rule(special.k1e, x=lambda g, x, out: g * (out - special.k0e(x) - out / x))

op(special.airy, "x", elementwise, n_out=4)
rule(special.airy, x=lambda g, x, out: both(g, out[1], x * out[0], out[3], x * out[2]))

# Orthogonal polynomials: the slope of one is one of lower degree.


def of_degree(n: Any, slope: Any) -> Any:
    """A slope, which a polynomial of degree 0 has none of."""
    return np.where(np.equal(n, 0), 0, slope)


op(special.eval_legendre, "n, x", elementwise)
rule(special.eval_legendre, x=lambda g, n, x: g * of_degree(n, (n + 1) / 2 * special.eval_jacobi(n - 1, 1, 1, x)))

op(special.eval_chebyt, "n, x", elementwise)
rule(special.eval_chebyt, x=lambda g, n, x: g * of_degree(n, n * special.eval_chebyu(n - 1, x)))

op(special.eval_chebyu, "n, x", elementwise)
rule(special.eval_chebyu, x=lambda g, n, x: g * of_degree(n, 2 * special.eval_gegenbauer(n - 1, 2, x)))

op(special.eval_hermite, "n, x", elementwise)
rule(special.eval_hermite, x=lambda g, n, x: g * of_degree(n, 2 * n * special.eval_hermite(np.maximum(n - 1, 0), x)))

op(special.eval_hermitenorm, "n, x", elementwise)
rule(
    special.eval_hermitenorm, x=lambda g, n, x: g * of_degree(n, n * special.eval_hermitenorm(np.maximum(n - 1, 0), x))
)

op(special.eval_laguerre, "n, x", elementwise)
rule(special.eval_laguerre, x=lambda g, n, x: -g * of_degree(n, special.eval_genlaguerre(n - 1, 1, x)))

op(special.eval_genlaguerre, "n, y, x", elementwise)
rule(special.eval_genlaguerre, x=lambda g, n, y, x: -g * of_degree(n, special.eval_genlaguerre(n - 1, y + 1, x)))

op(special.eval_gegenbauer, "n, y, x", elementwise)
rule(
    special.eval_gegenbauer,
    x=lambda g, n, y, x: g * of_degree(n, 2 * y * special.eval_gegenbauer(n - 1, y + 1, x)),
)

op(special.eval_jacobi, "n, p, q, x", elementwise)
rule(
    special.eval_jacobi,
    x=lambda g, n, p, q, x: g * of_degree(n, (n + p + q + 1) / 2 * special.eval_jacobi(n - 1, p + 1, q + 1, x)),
)

# Hypergeometric functions.

op(special.hyp0f1, "v, x", elementwise)
rule(special.hyp0f1, x=lambda g, v, x: g * (special.hyp0f1(v + 1, x) / v))

op(special.hyp1f1, "a, b, x", elementwise)
rule(special.hyp1f1, x=lambda g, a, b, x: g * (a / b * special.hyp1f1(a + 1, b + 1, x)))

op(special.hyp2f1, "a, b, c, x", elementwise)
rule(special.hyp2f1, x=lambda g, a, b, c, x: g * (a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, x)))

op(special.hyperu, "a, b, x", elementwise)
rule(special.hyperu, x=lambda g, a, b, x: g * (-a * special.hyperu(a + 1, b + 1, x)))
