"""scipy.special's ops and their derivatives, one line each; loaded when somebody has imported SciPy."""

from __future__ import annotations

import math
from typing import Any

import scipy.special
from scipy import special

from ...unpatched import np
from ..batching import batched_reduction
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, bounded, forms, op, primitive, rule, singular_at
from .shape_slopes import order_slope, zeta_order
from .softmaxes import batched_along_axes
from .support import keep_axes

elementwise = Kind.elementwise

LN2, LN10, ROOT_PI, ROOT_TAU = math.log(2), math.log(10), math.sqrt(math.pi), math.sqrt(2 * math.pi)


@primitive("n, x", elementwise)
def polygamma(n: Any, x: Any) -> Any:
    """`special.polygamma`, which is no ufunc, for rules: it takes what a rule is given."""
    return scipy.special.polygamma(n, x)  # the full name: generated source shows it


@primitive("s, x", elementwise)
def zeta(s: Any, x: Any) -> Any:
    """`special.zeta`, which is no ufunc either; unlike polygamma it keeps float32."""
    return scipy.special.zeta(s, x)


def zeta_slope(s: Any, x: Any, out: Any) -> Any:
    """The slope of Hurwitz' zeta function in s; of Riemann's, where `x` is None, left of its pole at 1 too."""
    if x is not None:
        return zeta_order(zeta, s, x, out)
    right, one = s > 1, np.float64(1)
    far = zeta_order(zeta, np.where(right, s, 2.0), one, out)
    return np.where(right, far, zeta_order(lambda s, _: zeta(s, None), np.where(right, -1.0, s), one, out))


rule(zeta, s=lambda g, s, x, out: g * zeta_slope(s, x, out), x=lambda g, s, x: -g * (s * zeta(s + 1, x)))

# Sigmoids, and the normal distribution.

op(special.expit, "x", elementwise)
rule(special.expit, x=lambda g, out: g * (out * (1 - out)))
bounded(special.expit, 0, 1)

op(special.logit, "x", elementwise)
rule(special.logit, x=lambda g, x: g / (x * (1 - x)))
singular_at(special.logit, x=lambda x: (x == 0) | (x == 1))

op(special.log_expit, "x", elementwise)
rule(special.log_expit, x=lambda g, x: g * special.expit(-x))

op(special.erf, "x", elementwise)
rule(special.erf, x=lambda g, x: g * (2 / ROOT_PI * np.exp(-(x**2))))
bounded(special.erf, -1, 1)

op(special.erfc, "x", elementwise)
rule(special.erfc, x=lambda g, x: g * (-2 / ROOT_PI * np.exp(-(x**2))))

op(special.erfcx, "x", elementwise)
rule(special.erfcx, x=lambda g, x, out: g * (2 * x * out - 2 / ROOT_PI))

op(special.erfinv, "x", elementwise)
rule(special.erfinv, x=lambda g, out: g * (ROOT_PI / 2 * np.exp(out**2)))
singular_at(special.erfinv, x=lambda x: abs(x) == 1)

op(special.erfcinv, "x", elementwise)
rule(special.erfcinv, x=lambda g, out: g * (-ROOT_PI / 2 * np.exp(out**2)))
singular_at(special.erfcinv, x=lambda x: (x == 0) | (x == 2))

op(special.dawsn, "x", elementwise)
rule(special.dawsn, x=lambda g, x, out: g * (1 - 2 * x * out))

op(special.ndtr, "x", elementwise)
rule(special.ndtr, x=lambda g, x: g * (np.exp(-(x**2) / 2) / ROOT_TAU))

op(special.ndtri, "x", elementwise)
rule(special.ndtri, x=lambda g, out: g * (ROOT_TAU * np.exp(out**2 / 2)))
singular_at(special.ndtri, x=lambda x: (x == 0) | (x == 1))

op(special.log_ndtr, "x", elementwise)
rule(special.log_ndtr, x=lambda g, x, out: g * (np.exp(-(x**2) / 2 - out) / ROOT_TAU))

# Gamma and its kin.


def is_pole(x: Any) -> Any:
    """Where the gamma function has a pole."""
    return (x <= 0) & (x == np.floor(x))


op(special.gamma, "x", elementwise)
rule(special.gamma, x=lambda g, x, out: g * (out * special.psi(x)))
singular_at(special.gamma, x=lambda x: is_pole(x))

op(special.rgamma, "x", elementwise)
rule(special.rgamma, x=lambda g, x, out: g * (-out * special.psi(x)))

for _log_gamma in (special.gammaln, special.loggamma):
    op(_log_gamma, "x", elementwise)
    rule(_log_gamma, x=lambda g, x: g * special.psi(x))
    singular_at(_log_gamma, x=lambda x: is_pole(x))

op(special.psi, "x", elementwise)
rule(special.psi, x=lambda g, x: g * zeta(2, x))
singular_at(special.psi, x=lambda x: is_pole(x))

op(special.polygamma, "n, x", elementwise, path="scipy.special.polygamma")
for _polygamma in (special.polygamma, polygamma):
    rule(_polygamma, n=None, x=lambda g, n, x: g * polygamma(n + 1, x))

op(special.beta, "x, y", elementwise)
rule(
    special.beta,
    x=lambda g, x, y, out: g * (out * (special.psi(x) - special.psi(x + y))),
    y=lambda g, x, y, out: g * (out * (special.psi(y) - special.psi(x + y))),
)

op(special.betaln, "x, y", elementwise)
rule(
    special.betaln,
    x=lambda g, x, y: g * (special.psi(x) - special.psi(x + y)),
    y=lambda g, x, y: g * (special.psi(y) - special.psi(x + y)),
)

# Logarithms and entropies.

op(special.xlogy, "x, y", elementwise)
rule(
    special.xlogy,
    x=lambda g, x, y: np.where((x == 0) & (y <= 0), 0, special.xlogy(g, y)),
    y=lambda g, x, y: g * (x / np.where((x == 0) & (y == 0), 1, y)),
)
singular_at(special.xlogy, x=lambda y: y == 0, y=lambda x, y: (y == 0) & (x != 0))

op(special.xlog1py, "x, y", elementwise)
rule(
    special.xlog1py,
    x=lambda g, x, y: np.where((x == 0) & (y <= -1), 0, special.xlog1py(g, y)),
    y=lambda g, x, y: g * (x / np.where((x == 0) & (y == -1), 1, y + 1)),
)
singular_at(special.xlog1py, x=lambda y: y == -1, y=lambda x, y: (y == -1) & (x != 0))

op(special.entr, "x", elementwise)
rule(special.entr, x=lambda g, x: g * (-1 - np.log(x)))
singular_at(special.entr, x=lambda x: x == 0)

op(special.rel_entr, "x, y", elementwise)
rule(special.rel_entr, x=lambda g, x, y: g * (np.log(x / y) + 1), y=lambda g, x, y: -g * (x / y))
singular_at(special.rel_entr, x=lambda x, y: (x == 0) | (y == 0), y=lambda x, y: y == 0)

op(special.kl_div, "x, y", elementwise)
rule(special.kl_div, x=lambda g, x, y: g * np.log(x / y), y=lambda g, x, y: g * (1 - x / y))
singular_at(special.kl_div, x=lambda x, y: (x == 0) | (y == 0), y=lambda x, y: y == 0)

op(special.exp2, "x", elementwise)
rule(special.exp2, x=lambda g, out: g * (out * LN2))

op(special.exp10, "x", elementwise)
rule(special.exp10, x=lambda g, out: g * (out * LN10))

op(special.expm1, "x", elementwise)
rule(special.expm1, x=lambda g, out: g * (out + 1))

op(special.log1p, "x", elementwise)
rule(special.log1p, x=lambda g, x: g / (x + 1))
singular_at(special.log1p, x=lambda x: x == -1)

op(special.cosm1, "x", elementwise)
rule(special.cosm1, x=lambda g, x: -g * np.sin(x))

op(special.cbrt, "x", elementwise)
rule(special.cbrt, x=lambda g, out: g / (3 * out**2))
singular_at(special.cbrt, x=lambda x: x == 0)

# Bessel functions.

op(special.j0, "x", elementwise)
rule(special.j0, x=lambda g, x: -g * special.j1(x))

op(special.j1, "x", elementwise)
rule(special.j1, x=lambda g, x: g * ((special.j0(x) - special.jv(2, x)) / 2))

op(special.y0, "x", elementwise)
rule(special.y0, x=lambda g, x: -g * special.y1(x))
singular_at(special.y0, x=lambda x: x == 0)

op(special.y1, "x", elementwise)
rule(special.y1, x=lambda g, x, out: g * (special.y0(x) - out / x))
singular_at(special.y1, x=lambda x: x == 0)

op(special.i0, "x", elementwise)
rule(special.i0, x=lambda g, x: g * special.i1(x))

op(special.i1, "x", elementwise)
rule(special.i1, x=lambda g, x, out: g * ((special.i0(x) + special.iv(2, x)) / 2))

op(special.i0e, "x", elementwise)
rule(special.i0e, x=lambda g, x, out: g * (special.i1e(x) - np.sign(x) * out))
singular_at(special.i0e, x=lambda x: x == 0)

op(special.i1e, "x", elementwise)
rule(special.i1e, x=lambda g, x, out: g * ((special.i0e(x) + special.ive(2, x)) / 2 - np.sign(x) * out))

op(special.k0, "x", elementwise)
rule(special.k0, x=lambda g, x: -g * special.k1(x))
singular_at(special.k0, x=lambda x: x == 0)

op(special.k1, "x", elementwise)
rule(special.k1, x=lambda g, x, out: -g * (special.k0(x) + out / x))
singular_at(special.k1, x=lambda x: x == 0)

op(special.jv, "v, x", elementwise)
rule(
    special.jv,
    v=lambda g, v, x, out: g * order_slope(special.jv, v, x, out),
    x=lambda g, v, x: g * ((special.jv(v - 1, x) - special.jv(v + 1, x)) / 2),
)

op(special.yv, "v, x", elementwise)
rule(
    special.yv,
    v=lambda g, v, x, out: g * order_slope(special.yv, v, x, out),
    x=lambda g, v, x: g * ((special.yv(v - 1, x) - special.yv(v + 1, x)) / 2),
)

op(special.iv, "v, x", elementwise)
rule(
    special.iv,
    v=lambda g, v, x, out: g * order_slope(special.iv, v, x, out),
    x=lambda g, v, x: g * ((special.iv(v - 1, x) + special.iv(v + 1, x)) / 2),
)

op(special.ive, "v, x", elementwise)
rule(
    special.ive,
    v=lambda g, v, x, out: g * order_slope(special.ive, v, x, out),
    x=lambda g, v, x, x_dtype, out: ive_back(g, x, x_dtype, out, (special.ive(v - 1, x) + special.ive(v + 1, x)) / 2),
)
singular_at(special.ive, x=lambda x: x == 0)


def ive_back(g: Any, x: Any, x_dtype: Any, out: Any, slope: Any) -> Any:
    """The cotangent under `iv(v, x) * exp(-abs(real(x)))`, of which `slope` scales the derivative of the first factor."""
    if x_dtype.kind == "c":
        return g * slope - np.sign(np.real(x)) * np.real(g * out)
    return g * (slope - np.sign(x) * out)


# Along an axis.

op(
    special.logsumexp, "x, axis=None, b=None, keepdims=False, return_sign=False", Kind.reduction,
    path="scipy.special.logsumexp",
)  # fmt: skip
rule(
    special.logsumexp,
    x=lambda g, x, x_shape, b, out, axis, keepdims: weights(g, x, x_shape, b, out, axis, keepdims),
    b=lambda g, x, x_shape, out, axis, keepdims: weights(g, x, x_shape, None, out, axis, keepdims),
)
batching(special.logsumexp)(lambda call: NotImplemented if call["return_sign"] else batched_reduction(call))


def weights(g: Any, x: Any, x_shape: tuple[int, ...], b: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent under `logsumexp`: shared by weight; nothing where everything is -inf."""
    out = keep_axes(np.where(out == -np.inf, 0, out), x_shape, axis, keepdims)
    share = keep_axes(g, x_shape, axis, keepdims) * np.exp(x - out)
    return share if b is None else share * b


# SciPy takes five times as long for the same bits: it asks which library its arguments are of, and computes for the case of
# infinite results what that of finite ones does not need.
@primitive("x, axis", Kind.reduction)
def logsumexp_kept(x: Any, axis: Any) -> Any:
    """`special.logsumexp` of float32 and float64 along axes that stay; the largest are counted apart, as SciPy has it."""
    top = np.max(x, axis=axis, keepdims=True)
    at_top, shift = x == top, np.where(top == -np.inf, 0.0, top)
    rest = np.sum(np.exp(np.where(at_top, -np.inf, x) - shift), axis=axis, keepdims=True)
    count = np.maximum(np.sum(at_top, axis=axis, keepdims=True, dtype=x.dtype), 1.0)
    out = np.where(top < shift, top, np.log1p(rest / count) + np.log(count) + top)
    return out


@primitive("x, axis", Kind.reduction)
def logsumexp_over(x: Any, axis: Any) -> Any:
    """The same along axes that do not stay."""
    top = np.max(x, axis=axis, keepdims=True)
    at_top, shift = x == top, np.where(top == -np.inf, 0.0, top)
    rest = np.sum(np.exp(np.where(at_top, -np.inf, x) - shift), axis=axis, keepdims=True)
    count = np.maximum(np.sum(at_top, axis=axis, keepdims=True, dtype=x.dtype), 1.0)
    log_sum = np.where(top < shift, top, np.log1p(rest / count) + np.log(count) + top)
    out = np.squeeze(log_sum, axis)[()]
    return out


rule(logsumexp_kept, x=lambda g, x, x_shape, out, axis: weights(g, x, x_shape, None, out, axis, True))
rule(logsumexp_over, x=lambda g, x, x_shape, out, axis: weights(g, x, x_shape, None, out, axis, False))
batching(logsumexp_over)(batched_reduction)
batching(logsumexp_kept)(batched_along_axes)


@forms(special.logsumexp)
def logsumexp(x: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """Of arrays of real numbers, without weights; SciPy 1.15 lays its results out in another way."""
    if SCIPY < (1, 16) or b is not None or return_sign or not np.ndim(x) or x.dtype not in _FLOATS or not np.size(x):
        return NotImplemented
    return (logsumexp_kept if keepdims else logsumexp_over)(x, axis)


SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
_FLOATS = (np.float64, np.float32)


op(special.softmax, "x, axis=None", Kind.opaque, path="scipy.special.softmax", memory=NEW)
rule(special.softmax, x=lambda g, out, axis: out * (g - np.sum(g * out, axis=axis, keepdims=True)))

op(special.log_softmax, "x, axis=None", Kind.opaque, path="scipy.special.log_softmax", memory=NEW)
rule(special.log_softmax, x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True))
batching(special.softmax, special.log_softmax)(batched_along_axes)
