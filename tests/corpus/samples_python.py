"""Samples of the functions of math, cmath and statistics: numbers, within a function under a transform."""

from __future__ import annotations

import cmath
import math
import statistics
from collections.abc import Callable
from typing import Any

from gradscribe.runtime.rules import python_math as py
from gradscribe.runtime.rules import python_statistics as stats

from samples import INSIDE, POSITIVE, WIDE, Domain, Sample, binary, unary

NUMBER, NUMBERS = (((),),), (((), ()),)
SAMPLE, TWO_SAMPLES = (((5,),), ((2,),)), (((5,), (5,)),)


def one(fn: Any, domain: Domain = (-2.0, 2.0), **options: Any) -> Sample:
    """A sample of a function of one number of Python's."""
    return Sample(fn, NUMBER, call=lambda x: fn(x), domain=domain, scoped=True, finite=True, **options)


def two(fn: Any, *domains: Domain, **options: Any) -> Sample:
    """A sample of a function of two."""
    return Sample(fn, NUMBERS, call=lambda x, y: fn(x, y), domain=domains or WIDE, scoped=True, finite=True, **options)


def of_parts(fn: Any, domain: Domain = (0.2, 2.0), **options: Any) -> Sample:
    """A sample of a function of a complex number, made of a real one so that both its parts tell."""
    return Sample(
        fn, NUMBER, domain=domain, scoped=True, finite=True, **options,
        call=lambda x: (lambda w: w.real + 2.0 * w.imag)(fn(x * (0.7 + 0.4j))),
    )  # fmt: skip


def sample(fn: Any, call: Callable[..., Any] | None = None, shapes: Any = SAMPLE, **options: Any) -> Sample:
    """A sample of a function of arrays, as lists are to it."""
    options.setdefault("domain", POSITIVE)
    return Sample(fn, shapes, call=call or (lambda x: fn(x)), scoped=True, finite=True, empty=False, **options)


SAMPLES_PYTHON = [
    *[one(f) for f in (math.sin, math.cos, math.sinh, math.cosh, math.exp, math.exp2, math.expm1, math.tanh, math.atan,
                       math.asinh, math.erf, math.erfc, math.degrees, math.radians)],
    *[one(f, POSITIVE) for f in (math.log, math.log2, math.log10, math.log1p, math.sqrt, math.cbrt, math.fabs, math.gamma)],
    *[one(f, INSIDE) for f in (math.tan, math.asin, math.acos, math.atanh)],
    one(math.acosh, (1.2, 3.0)), one(math.lgamma, (-0.9, -0.1)), one(math.gamma, (-1.8, -1.2)),
    two(math.pow, POSITIVE, WIDE), two(math.atan2), two(math.copysign, POSITIVE, POSITIVE),
    two(math.fmod, (2.1, 2.3), (0.6, 0.65)), two(math.remainder, (2.1, 2.3), (0.6, 0.65)), two(math.hypot),
    Sample(math.ldexp, NUMBER, call=lambda x: math.ldexp(x, 3), scoped=True, finite=True),
    Sample(math.nextafter, NUMBER, call=lambda x: math.nextafter(x, 9.0), scoped=True, finite=True, order=1),
    *[Sample(f, NUMBER, call=lambda x, f=f: x * f(x), scoped=True, finite=True, differentiable=False, order=0)
      for f in (math.isnan, math.isinf, math.isfinite, math.ulp)],
    *[Sample(m.isclose, NUMBER, call=lambda x, m=m: x * m.isclose(x, 1.0), scoped=True, finite=True, differentiable=False,
             order=0) for m in (math, cmath)],
    *[Sample(f, NUMBER, call=lambda x, f=f: x * f(x * 1j), scoped=True, finite=True, differentiable=False, order=0)
      for f in (cmath.isnan, cmath.isinf, cmath.isfinite)],
    Sample(py.exponent, NUMBER, call=lambda x: math.frexp(x)[0], domain=(0.55, 0.95), scoped=True, finite=True),
    Sample(py.fraction, NUMBER, call=lambda x: math.modf(x)[0], domain=(1.2, 1.8), scoped=True, finite=True),
    Sample(py.whole, NUMBER, call=lambda x: x * math.modf(x)[1], domain=(1.2, 1.8), scoped=True, finite=True),
    *[unary(f) for f in (py.erf, py.erfc)],
    *[unary(f, POSITIVE, finite=True) for f in (py.gamma, py.lgamma)],
    *[unary(py.digamma, domain, finite=True) for domain in (POSITIVE, (-0.9, -0.1), (5.0, 40.0))],
    *[unary(py.polygamma, domain, call=lambda x, n=n: py.polygamma(n, x), finite=True)
      for n in (1, 2) for domain in (POSITIVE, (-0.9, -0.1), (5.0, 40.0))],
    binary(py.remainder, (2.1, 2.3), (0.6, 0.65), finite=True),
    sample(math.fsum), sample(math.dist, lambda x, y: math.dist(x, y), TWO_SAMPLES),
    *[of_parts(f) for f in (cmath.exp, cmath.log, cmath.log10, cmath.sqrt, cmath.sin, cmath.cos, cmath.tan, cmath.sinh,
                            cmath.cosh, cmath.tanh, cmath.asin, cmath.acos, cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh)],
    Sample(cmath.phase, NUMBER, call=lambda x: cmath.phase(x + 0.5j), scoped=True, finite=True),
    Sample(cmath.rect, NUMBERS, call=lambda r, phi: abs(cmath.rect(r, phi) - 3j), scoped=True, finite=True),
    *[sample(f) for f in (statistics.mean, statistics.fmean, statistics.geometric_mean, statistics.harmonic_mean,
                          statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)],
    *[sample(f, lambda x, y, f=f: f(x, y), TWO_SAMPLES)
      for f in (statistics.fmean, statistics.harmonic_mean, statistics.covariance, statistics.correlation)],
    sample(statistics.fmean, lambda x, w: statistics.fmean(x, w) * 100.0, TWO_SAMPLES),
    *[sample(f, lambda x, c, f=f: f(x, c), (((5,), ()),))
      for f in (statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev)],
    *[sample(stats.regression_slope, lambda x, y, p=p: statistics.linear_regression(x, y, proportional=p)[0], TWO_SAMPLES)
      for p in (False, True)],
    Sample(stats.normal_quantile, (((), (), ()),), call=lambda p, mu, sigma: statistics.NormalDist(mu, sigma).inv_cdf(p),
           domain=((0.1, 0.9), (-1.0, 1.0), POSITIVE), scoped=True, finite=True),
    sample(stats.regression_intercept, lambda x, y: statistics.linear_regression(x, y)[1], TWO_SAMPLES),
    *[sample(f, lambda x, y, f=f: f(x, y), TWO_SAMPLES)
      for f in (stats.fmean, stats.covariance, stats.correlation, stats.intercept)],
    *[sample(stats.slope, lambda x, y, p=p: stats.slope(x, y, p), TWO_SAMPLES) for p in (False, True)],
    sample(stats.geometric_mean),
]  # fmt: skip
if hasattr(math, "sumprod"):
    SAMPLES_PYTHON += [sample(f, lambda x, y, f=f: f(x, y), TWO_SAMPLES) for f in (math.sumprod, py.sumprod)]
if hasattr(math, "fma"):
    THREE = (((), (), ()),)
    SAMPLES_PYTHON += [
        Sample(f, THREE, call=lambda x, y, z, f=f: f(x, y, z), scoped=True, finite=True) for f in (math.fma, py.fma)
    ]
