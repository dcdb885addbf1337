"""Still more of scipy.special, one line each: Kelvin, Struve, Hankel and Mathieu functions, and those of parabolic cylinders.

Formulas: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov (chapters 5, 7, 8, 10 to 14, 18, 19, 22 and
28), and the definitions in SciPy's reference. Parameters without a formula of their own have no rule; the error names them.
"""

from __future__ import annotations

import math
from typing import Any

import scipy.special
from scipy import special

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, jumps, op, rule, singular_at
from .shape_slopes import order_slope
from .special import zeta, zeta_slope
from .special_integrals import DEGREE, both, of_degree
from .support import not_zero

elementwise = Kind.elementwise

ROOT_PI = math.sqrt(math.pi)

# Kelvin functions: ber + i bei and ker + i kei solve w'' + w' / x = i w.

op(special.ber, "x", elementwise)
rule(special.ber, x=lambda g, x: g * special.berp(x))

op(special.bei, "x", elementwise)
rule(special.bei, x=lambda g, x: g * special.beip(x))

op(special.berp, "x", elementwise)
rule(special.berp, x=lambda g, x, out: -g * (special.bei(x) + out / x))

op(special.beip, "x", elementwise)
rule(special.beip, x=lambda g, x, out: g * (special.ber(x) - out / x))

op(special.ker, "x", elementwise)
rule(special.ker, x=lambda g, x: g * special.kerp(x))

op(special.kei, "x", elementwise)
rule(special.kei, x=lambda g, x: g * special.keip(x))

op(special.kerp, "x", elementwise)
rule(special.kerp, x=lambda g, x, out: -g * (special.kei(x) + out / x))

op(special.keip, "x", elementwise)
rule(special.keip, x=lambda g, x, out: g * (special.ker(x) - out / x))

op(special.kelvin, "x", elementwise, n_out=4)
rule(special.kelvin, x=lambda g, x, out: both(g, out[2], out[3], 1j * out[0] - out[2] / x, 1j * out[1] - out[3] / x))

# Struve functions, and integrals of these and of Bessel functions.

op(special.struve, "v, x", elementwise)
rule(special.struve, x=lambda g, v, x, out: g * (special.struve(v - 1, x) - v * out / x))

op(special.modstruve, "v, x", elementwise)
rule(special.modstruve, x=lambda g, v, x, out: g * (special.modstruve(v - 1, x) - v * out / x))

op(special.itstruve0, "x", elementwise)
rule(special.itstruve0, x=lambda g, x, out: g * special.struve(0, x).astype(out.dtype))  # which knows doubles only

op(special.it2struve0, "x", elementwise)
rule(special.it2struve0, x=lambda g, x, out: -g * (special.struve(0, x).astype(out.dtype) / x))

op(special.itmodstruve0, "x", elementwise)
rule(special.itmodstruve0, x=lambda g, x, out: g * special.modstruve(0, x).astype(out.dtype))

op(special.itj0y0, "x", elementwise, n_out=2)
rule(special.itj0y0, x=lambda g, x: both(g, special.j0(x), special.y0(x)))

op(special.iti0k0, "x", elementwise, n_out=2)
rule(special.iti0k0, x=lambda g, x: both(g, special.i0(x), special.k0(x)))

op(special.it2j0y0, "x", elementwise, n_out=2)
rule(special.it2j0y0, x=lambda g, x: both(g, (1 - special.j0(x)) / x, -special.y0(x) / x))

op(special.it2i0k0, "x", elementwise, n_out=2)
rule(special.it2i0k0, x=lambda g, x: both(g, (special.i0(x) - 1) / x, -special.k0(x) / x))

op(special.itairy, "x", elementwise, n_out=4)
rule(
    special.itairy,
    x=lambda g, x: both(g, special.airy(x)[0], special.airy(x)[2], special.airy(-x)[0], special.airy(-x)[2]),
)

op(special.airye, "x", elementwise, n_out=4)
rule(special.airye, x=lambda g, x, x_dtype, out: both(g, *airye_slopes(real_only(x, x_dtype, "airye"), *out)))


def real_only(x: Any, x_dtype: Any, name: str) -> Any:
    """`x`, unless it is complex: there a function that is scaled by the size of its argument has no derivative."""
    if x_dtype.kind == "c":
        raise NotImplementedError(
            f"scipy.special.{name} of a complex argument is not holomorphic; use the unscaled function"
        )
    return x


def airye_slopes(x: Any, ai: Any, ai_slope: Any, bi: Any, bi_slope: Any) -> tuple[Any, ...]:
    """The slopes of the four: scaled by exp(2/3 x**1.5) and its inverse, those of Bi from 0 on only."""
    root = np.sqrt(np.maximum(x, 0))
    return ai_slope + root * ai, x * ai + root * ai_slope, bi_slope - root * bi, x * bi - root * bi_slope


# Hankel functions, and Bessel functions scaled for complex arguments.

op(special.hankel1, "v, x", elementwise)
rule(
    special.hankel1,
    v=lambda g, v, x, out: g * order_slope(special.hankel1, v, x, out),
    x=lambda g, v, x: g * ((special.hankel1(v - 1, x) - special.hankel1(v + 1, x)) / 2),
)

op(special.hankel2, "v, x", elementwise)
rule(
    special.hankel2,
    v=lambda g, v, x, out: g * order_slope(special.hankel2, v, x, out),
    x=lambda g, v, x: g * ((special.hankel2(v - 1, x) - special.hankel2(v + 1, x)) / 2),
)

op(special.hankel1e, "v, x", elementwise)
rule(
    special.hankel1e,
    v=lambda g, v, x, out: g * order_slope(special.hankel1e, v, x, out),
    x=lambda g, v, x, out: g * ((special.hankel1e(v - 1, x) - special.hankel1e(v + 1, x)) / 2 - 1j * out),
)

op(special.hankel2e, "v, x", elementwise)
rule(
    special.hankel2e,
    v=lambda g, v, x, out: g * order_slope(special.hankel2e, v, x, out),
    x=lambda g, v, x, out: g * ((special.hankel2e(v - 1, x) - special.hankel2e(v + 1, x)) / 2 + 1j * out),
)

for _scaled in (special.jve, special.yve):
    op(_scaled, "v, x", elementwise)
rule(
    special.jve,
    v=lambda g, v, x, out: g * order_slope(special.jve, v, x, out),
    x=lambda g, v, x, x_dtype: g * ((special.jve(v - 1, real_only(x, x_dtype, "jve")) - special.jve(v + 1, x)) / 2),
)
rule(
    special.yve,
    v=lambda g, v, x, out: g * order_slope(special.yve, v, x, out),
    x=lambda g, v, x, x_dtype: g * ((special.yve(v - 1, real_only(x, x_dtype, "yve")) - special.yve(v + 1, x)) / 2),
)

# Wright's function, Fresnel integrals from x on, parabolic cylinders, Mathieu functions (of degrees, but for the modified ones).

op(special.wright_bessel, "a, b, x", elementwise)
rule(special.wright_bessel, x=lambda g, a, b, x: g * special.wright_bessel(a, a + b, x))

op(special.log_wright_bessel, "a, b, x", elementwise)
rule(special.log_wright_bessel, x=lambda g, a, b, x, out: g * np.exp(special.log_wright_bessel(a, a + b, x) - out))

op(special.modfresnelp, "x", elementwise, n_out=2)
rule(
    special.modfresnelp,
    x=lambda g, x, out: both(g, -np.exp(1j * x**2), -2j * x * out[1] - (1 - 1j) / math.sqrt(2) / ROOT_PI),
)

op(special.modfresnelm, "x", elementwise, n_out=2)
rule(
    special.modfresnelm,
    x=lambda g, x, out: both(g, -np.exp(-1j * x**2), 2j * x * out[1] - (1 + 1j) / math.sqrt(2) / ROOT_PI),
)

for _cylinder in (special.pbdv, special.pbvv):
    op(_cylinder, "v, x", elementwise, n_out=2)
    rule(_cylinder, x=lambda g, v, x, out: both(g, out[1], (x**2 / 4 - v - 0.5) * out[0]))

op(special.pbwa, "a, x", elementwise, n_out=2)
rule(special.pbwa, x=lambda g, a, x, out: both(g, out[1], (a - x**2 / 4) * out[0]))

for _mathieu in (special.mathieu_cem, special.mathieu_sem):
    op(_mathieu, "m, q, x", elementwise, n_out=2)
rule(
    special.mathieu_cem,
    x=lambda g, m, q, x, out: DEGREE * both(
        g, out[1], (2 * q * np.cos(2 * DEGREE * x) - special.mathieu_a(m, q)) * out[0]
    ),
)  # fmt: skip
rule(
    special.mathieu_sem,
    x=lambda g, m, q, x, out: DEGREE * both(
        g, out[1], (2 * q * np.cos(2 * DEGREE * x) - special.mathieu_b(m, q)) * out[0]
    ),
)  # fmt: skip

for _mathieu in (special.mathieu_modcem1, special.mathieu_modcem2):
    op(_mathieu, "m, q, x", elementwise, n_out=2)
    rule(
        _mathieu,
        x=lambda g, m, q, x, out: both(g, out[1], (special.mathieu_a(m, q) - 2 * q * np.cosh(2 * x)) * out[0]),
    )

for _mathieu in (special.mathieu_modsem1, special.mathieu_modsem2):
    op(_mathieu, "m, q, x", elementwise, n_out=2)
    rule(
        _mathieu,
        x=lambda g, m, q, x, out: both(g, out[1], (special.mathieu_b(m, q) - 2 * q * np.cosh(2 * x)) * out[0]),
    )

# Polynomials on other intervals, Legendre functions, spherical harmonics.

op(special.eval_chebyc, "n, x", elementwise)
rule(special.eval_chebyc, x=lambda g, n, x: g * of_degree(n, n * special.eval_chebyu(n - 1, x / 2)))

op(special.eval_chebys, "n, x", elementwise)
rule(special.eval_chebys, x=lambda g, n, x: g * of_degree(n, special.eval_gegenbauer(n - 1, 2, x / 2)))

op(special.eval_sh_legendre, "n, x", elementwise)
rule(
    special.eval_sh_legendre, x=lambda g, n, x: g * of_degree(n, (n + 1) * special.eval_jacobi(n - 1, 1, 1, 2 * x - 1))
)

op(special.eval_sh_chebyt, "n, x", elementwise)
rule(special.eval_sh_chebyt, x=lambda g, n, x: g * of_degree(n, 2 * n * special.eval_chebyu(n - 1, 2 * x - 1)))

op(special.eval_sh_chebyu, "n, x", elementwise)
rule(special.eval_sh_chebyu, x=lambda g, n, x: g * of_degree(n, 4 * special.eval_gegenbauer(n - 1, 2, 2 * x - 1)))

op(special.eval_sh_jacobi, "n, p, q, x", elementwise)
rule(
    special.eval_sh_jacobi,
    x=lambda g, n, p, q, x: g * of_degree(
        n, (n + p) / special.binom(2 * n + p - 1, n) * special.eval_jacobi(n - 1, p - q + 1, q, 2 * x - 1)
    ),
)  # fmt: skip

op(special.lpmv, "m, v, x", elementwise)
rule(
    special.lpmv,
    x=lambda g, m, v, x, out: g * ((v * x * out - (v + m) * special.lpmv(m, v - 1, x)) / (x**2 - 1)),
)


@composed(special.assoc_laguerre)
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """The same polynomial under another name."""
    return special.eval_genlaguerre(n, k, x)


op(special.diric, "x, n", elementwise, path="scipy.special.diric")
rule(special.diric, x=lambda g, x, n, out: g * diric_slope(x, n, out))


def diric_slope(x: Any, n: Any, out: Any) -> Any:
    """The slope of sin(n x / 2) / (n sin(x / 2)), flat at the multiples of 2 pi."""
    half = np.sin(x / 2)
    return np.where(np.abs(half) < 1e-8, 0, (np.cos(n * x / 2) - np.cos(x / 2) * out) / (2 * not_zero(half)))


# Angles, rounding, the gamma function of several dimensions, Hurwitz' zeta function.

op(special.radian, "d, m, s", elementwise)
rule(
    special.radian,
    d=lambda g: g * DEGREE,
    m=lambda g: g * (DEGREE / 60),
    s=lambda g: g * (DEGREE / 3600),
)

op(special.round, "x", elementwise)
rule(special.round, x=lambda g: np.zeros_like(g))
singular_at(special.round, x=lambda x, out: abs(x - out) == 0.5)
jumps(lambda out: out, special.round)

op(special.zeta, "x, q=None, out=None", elementwise, path="scipy.special.zeta")
rule(
    special.zeta,
    x=lambda g, x, q, out: g * zeta_slope(x, q, out),
    q=lambda g, x, q: -g * (x * zeta(x + 1, q)),
)



@composed(special.multigammaln)
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function."""
    if np.any(a <= 0.5 * (d - 1)):
        raise ValueError(f"condition a (={a}) > 0.5 * (d-1) (={0.5 * (d - 1)}) not met")
    steps = [special.gammaln(a + (1 - j) / 2.0) for j in range(1, d + 1)]
    return (d * (d - 1) * 0.25) * math.log(math.pi) + np.sum(np.stack(steps), axis=0)


if hasattr(scipy.special, "softplus"):  # SciPy 1.17
    op(special.softplus, "x", elementwise, path="scipy.special.softplus")
    rule(special.softplus, x=lambda g, x: g * special.expit(x))


@composed(special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Binomial coefficients of real numbers; zero where k lies outside."""
    if exact:
        raise NotImplementedError("scipy.special.comb with exact=True counts whole numbers, and has no gradient")
    if repetition:
        return comb(N + k - 1, k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), special.binom(N, k), 0.0)
