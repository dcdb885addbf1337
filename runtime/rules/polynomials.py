"""Polynomials as vectors of coefficients, the highest power first: np.poly, np.polyadd, np.polyfit, np.roots and the like."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, primitive, rule
from ..result_types import BY_VALUE, UNKNOWN
from .support import happens, literal


@primitive(
    "p", Kind.opaque, may_raise=True,
    types=lambda p: UNKNOWN if p.dtype.char in "fF" else BY_VALUE,  # zeros have no roots, and those in double precision
)  # fmt: skip
def complex_roots(p: Any) -> Any:
    """The roots of a polynomial, complex also where all are real."""
    z = np.roots(p)
    z = z.astype(np.result_type(z, np.complex64))
    return z


rule(complex_roots, p=lambda g, p, out, p_shape: unrooted(g, p, out, p_shape[0]))


def unrooted(g: Any, p: Any, out: Any, n: int) -> Any:
    """The cotangent of the coefficients: at a single root z, p(z) stays 0, so that dz = -z**k / p'(z) dp_k."""
    slope: Any = 0 * out
    for k in range(n - 1):
        slope = slope * out + (n - 1 - k) * p[k]
    g, powers = g / slope, [np.ones_like(out)]
    for _ in range(n - 1):
        powers.append(powers[-1] * out)
    return -np.stack(powers[::-1]) @ g


@composed(np.roots)
def roots(p: Any) -> Any:
    """The roots, real where NumPy's are; there are as many as the degree, which zeros in front make less."""
    p, first = np.atleast_1d(p), 0
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    while first < np.size(p) and not happens(p[first] != 0):
        first += 1
    found = complex_roots(p)
    return found if p.dtype.kind == "c" or happens(np.imag(found) != 0) else np.copy(np.real(found))


def line(a: Any, *beside: Any) -> Any:
    """Coefficients as a vector: a number is a polynomial of degree 0."""
    return np.atleast_1d(literal(a, *beside))


@composed(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these roots, or with the eigenvalues of this matrix as its roots."""
    shape = np.shape(np.atleast_1d(seq_of_zeros))
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        roots = np.linalg.eigvals(seq_of_zeros)
    elif len(shape) == 1:
        roots = line(seq_of_zeros)
    else:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not np.shape(roots)[0]:
        return 1.0
    found = np.ones_like(roots[:1])
    for k in range(np.shape(roots)[0]):
        found = np.convolve(found, np.stack([np.ones_like(roots[k]), -roots[k]]), mode="full")
    if found.dtype.kind == "c" and not happens(np.sort(roots) != np.sort(np.conjugate(roots))):
        found = np.copy(np.real(found))  # conjugate pairs
    return found


def _added(a1: Any, a2: Any, sign: int) -> Any:
    a1, a2 = line(a1, a2), line(a2, a1)
    n = max(np.shape(a1)[0], np.shape(a2)[0])
    a1, a2 = (np.pad(a, (n - np.shape(a)[0], 0)) if np.shape(a)[0] < n else a for a in (a1, a2))
    return a1 + a2 if sign > 0 else a1 - a2


@composed(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum, the shorter one filled up with zeros."""
    return _added(a1, a2, 1)


@composed(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference, the shorter one filled up with zeros."""
    return _added(a1, a2, -1)


@composed(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product: coefficients are convolved."""
    return np.convolve(line(a1, a2), line(a2, a1))


@composed(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """The quotient and the remainder, by long division."""
    u, v = line(u, v) + 0.0, line(v, u) + 0.0
    steps = np.shape(u)[0] - np.shape(v)[0] + 1
    scale, rest, quotient = 1.0 / v[0], u, []
    for k in range(steps):
        factor = scale * rest[k]
        quotient.append(factor)
        rest = np.concatenate([rest[:k], rest[k : k + np.shape(v)[0]] - factor * v, rest[k + np.shape(v)[0] :]])
    while np.shape(rest)[0] > 1 and not happens(np.absolute(rest[0]) > 1e-8):
        rest = rest[1:]
    return (np.stack(quotient) if quotient else np.zeros_like(u[:1]) + 0 * v[:1]), rest


@composed(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    found = line(p)
    for _ in range(int(m)):
        found = found[:-1] * list(range(np.shape(found)[0] - 1, 0, -1)) if np.shape(found)[0] > 1 else found[:0]
    return found


@composed(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative, with the constants `k`."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants: Any = [0.0] * m if k is None else line(k) if hasattr(k, "dtype") else k if isinstance(k, list) else [k]
    if len(constants) == 1 and m > 1:
        constants = [constants[0]] * m
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    found = line(p)
    for j in range(int(m)):
        risen = found / list(range(np.shape(found)[0], 0, -1)) if np.shape(found)[0] else found
        found = np.concatenate([risen, np.reshape(constants[j], (1,)) if hasattr(constants[j], "dtype") else [constants[j]]])
    return found


@composed(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:  # fmt: skip
    """Least squares for the coefficients, on columns of one length as NumPy does it."""
    if np.ndim(deg):
        raise NotImplementedError("np.polyfit with a list of degrees has no gradient rule; give the degree as a number")
    x, y = literal(x, y, w) + 0.0, literal(y, x, w) + 0.0
    for wrong, error in (
        (deg < 0, ValueError("expected deg >= 0")), (np.ndim(x) != 1, TypeError("expected 1D vector for x")),
        (np.size(x) == 0, TypeError("expected non-empty vector for x")),
        (np.ndim(y) < 1 or np.ndim(y) > 2, TypeError("expected 1D or 2D array for y")),
        (np.shape(x)[:1] != np.shape(y)[:1], TypeError("expected x and y to have same length")),
    ):  # fmt: skip
        if wrong:
            raise error
    n = np.shape(x)[0]
    columns, right = np.vander(x, deg + 1), y
    if w is not None:
        w = literal(w, x, y) + 0.0
        columns = columns * w[:, None]
        right = right * (w[:, None] if np.ndim(right) == 2 else w)
    length = np.sqrt(np.sum(columns * columns, axis=0))
    rcond = n * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    columns = columns / length
    c, residuals, rank, s = np.linalg.lstsq(columns, right, rcond)
    c = (c.T / length).T
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = np.linalg.inv(np.dot(columns.T, columns)) / np.outer(length, length)
    if cov == "unscaled":
        factor: Any = 1
    elif n <= deg + 1:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        factor = residuals / (n - (deg + 1))
    return c, (base * factor if np.ndim(y) == 1 else base[:, :, None] * factor)
