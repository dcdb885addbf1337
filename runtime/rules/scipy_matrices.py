"""scipy.linalg's structured matrices, LU and polar factors, and functions of matrices; the systems are in scipy_linalg.py.

Formulas: S. F. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010 (LU); R. Mathias, SIAM J.
Matrix Anal. Appl. 17, 1996 (functions of matrices, by a block of the same function); N. J. Higham, Functions of matrices, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.linalg
from scipy import linalg

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, primitive, rule
from ..result_types import KIND, LENGTHS, UNKNOWN
from .scipy_functions import arrays, made, refused
from .scipy_linalg import _shifted, expm, solve_banded, solve_sylvester, solve_triangular, sqrtm

opaque = Kind.opaque


def _square(name: str, *matrices: Any) -> None:
    """Raise where there are more matrices than one."""
    if any(np.ndim(m) != 2 for m in matrices):
        raise refused(f"linalg.{name}", "more than two axes", "loop over the matrices")


def _vectors(name: str, *vectors: Any) -> tuple[Any, ...]:
    found = arrays(*vectors)
    if any(v is not None and np.ndim(v) != 1 for v in found):
        raise refused(f"linalg.{name}", "more than one axis", "loop over the vectors, or np.ravel them")
    return found


# LU.


@primitive("x", opaque, may_raise=True, types=lambda x: np.empty(np.shape(x)[0], np.intp))
def row_order(x: Any) -> Any:
    """The order of rows in which LU takes them: the largest number of what is left of a column comes first."""
    out = np.arange(len(x))
    for k, p in enumerate(scipy.linalg.lu_factor(x)[1]):
        out[[k, p]] = out[[p, k]]
    return out


rule(row_order, x=None)


@primitive("x", opaque, may_raise=True, types=lambda x: UNKNOWN if x.dtype.kind in "biu" else np.empty(np.shape(x), x.dtype))
def lu_packed(x: Any) -> Any:
    """Both factors of a matrix whose rows are in order, in one matrix."""
    out = np.ascontiguousarray(scipy.linalg.lu_factor(x)[0])
    return out


@primitive("piv, count", opaque, types=lambda count: np.empty(count, np.intp))
def order_of(piv: Any, count: Any) -> Any:
    """The order of rows after the exchanges of LAPACK's."""
    out = np.arange(count)
    for k in range(len(piv)):
        out[[k, piv[k]]] = out[[piv[k], k]]
    return out


rule(order_of, piv=None)


@primitive("order, count", opaque, types=lambda count: np.empty(count, np.int32))
def exchanges(order: Any, count: Any) -> Any:
    """The exchanges of rows, as LAPACK states them, that lead to an order."""
    out, now = np.zeros(count, np.int32), np.arange(len(order))
    for k in range(count):
        p = k + int(np.flatnonzero(now[k:] == order[k])[0])
        now[[k, p]] = now[[p, k]]
        out[k] = p
    return out


rule(exchanges, order=None)


def _lower(lu: Any, k: int) -> Any:
    """The factor with ones on its diagonal."""
    return np.tril(lu[:, :k], -1) + made(np.eye, lu, np.shape(lu)[0], k, 0, lu.dtype)


def _lu_back(g: Any, out: Any) -> Any:
    """The cotangent of a matrix from those of both factors, packed."""
    lu, (m, n) = out, np.shape(out)
    k = min(m, n)
    lower, upper = _lower(lu[:k], k), np.triu(lu[:k, :k])
    d_lower, d_upper, rest = np.tril(g[:k, :k], -1), np.triu(g[:k, :k]), None
    if m > n:  # the rows below are solved by the upper factor
        rest = solve_triangular(upper, g[k:].T, 0, False, False).T
        d_upper = d_upper - np.triu(lu[k:, :k].T @ rest)
    elif n > m:
        rest = solve_triangular(lower, g[:, k:], 1, True, True)
        d_lower = d_lower - np.tril(rest @ lu[:, k:].T, -1)
    inner = np.tril(lower.T @ d_lower, -1) + np.triu(d_upper @ upper.T)
    left = solve_triangular(lower, inner, 1, True, True)
    found = solve_triangular(upper, left.T, 0, False, False).T
    if rest is not None:
        found = np.concatenate([found, rest], axis=0 if m > n else 1)
    return found


rule(lu_packed, x=lambda g, out: _lu_back(g, out))


@composed(linalg.lu_factor)
def _lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    _square("lu_factor", a)
    order = row_order(a)
    return lu_packed(a[order]), exchanges(order, min(np.shape(a)))


@composed(linalg.lu)
def _lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    _square("lu", a)
    order = row_order(a)
    lu = lu_packed(a[order])
    m, k = np.shape(a)[0], min(np.shape(a))
    back = np.argsort(order)
    lower, upper = _lower(lu, k), np.triu(lu[:k])
    if permute_l:
        return lower[back], upper
    return (back if p_indices else made(np.eye, lu, m)[back]), lower, upper


@composed(linalg.lu_solve)
def _lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    lu, piv = lu_and_piv
    lu, b = arrays(lu, b)
    _square("lu_solve", lu)
    order = order_of(piv, np.shape(lu)[0])
    if trans == 0:
        return solve_triangular(lu, solve_triangular(lu, b[order], 0, True, True), 0, False, False)
    half = solve_triangular(lu, solve_triangular(lu, b, trans, False, False), trans, True, True)
    return half[np.argsort(order)]


# Structured matrices.


@composed(linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with one number along each diagonal, from its first column and its first row."""
    c, r = _vectors("toeplitz", c, r)
    r = np.conj(c) if r is None else r
    m, n = np.shape(c)[0], np.shape(r)[0]
    places = made(np.arange, c, m)[::-1][:, None] + made(np.arange, c, n)
    return np.concatenate([c[::-1], r[1:]])[places]


@composed(linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with one number along each diagonal from the right to the left."""
    c, r = _vectors("hankel", c, r)
    r = np.zeros_like(c) if r is None else r
    places = made(np.arange, c, np.shape(c)[0])[:, None] + made(np.arange, c, np.shape(r)[0])
    return np.concatenate([c, r[1:]])[places]


@composed(linalg.circulant)
def circulant(c: Any) -> Any:
    """The matrix of which each column is the one before, moved down by one."""
    (c,) = _vectors("circulant", c)
    i = made(np.arange, c, np.shape(c)[0])
    return c[np.mod(i[:, None] - i, np.shape(c)[0])]


@composed(linalg.companion)
def companion(a: Any) -> Any:
    """The matrix whose eigenvalues are the roots of a polynomial."""
    (a,) = _vectors("companion", a)
    n = np.shape(a)[0] - 1
    return np.concatenate([(-a[1:] / a[0])[None], made(np.eye, a, n)[:-1]])


@composed(linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Kronecker's product of each column with the one of the other matrix."""
    a, b = arrays(a, b)
    return np.reshape(a[:, None, :] * b[None, :, :], (-1, np.shape(b)[1]))


def _of_pair(c_or_cr: Any) -> Any:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


@composed(linalg.solve_toeplitz)
def _solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    return np.linalg.solve(_of_pair(c_or_cr), b)


@composed(linalg.matmul_toeplitz)
def _matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    return _of_pair(c_or_cr) @ x


@composed(linalg.solve_circulant)
def _solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    if (caxis, baxis, outaxis) != (-1, 0, 0) or singular != "raise":
        raise refused("linalg.solve_circulant", "axes, or singular=", "move the axes by np.moveaxis")
    return np.linalg.solve(circulant(c), b)


@composed(linalg.solveh_banded)
def _solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    ab, b = arrays(ab, b)
    u = np.shape(ab)[0] - 1
    if lower:
        above = [np.conj(_shifted(ab[k], -k)) for k in range(u, 0, -1)]
        return solve_banded((u, u), np.stack([*above, *[ab[k] for k in range(u + 1)]]), b)
    below = [np.conj(_shifted(ab[u - k], k)) for k in range(1, u + 1)]
    return solve_banded((u, u), np.stack([*[ab[k] for k in range(u + 1)], *below]), b)


@composed(linalg.solve_continuous_lyapunov)
def _lyapunov(a: Any, q: Any) -> Any:
    return solve_sylvester(a, np.conj(a.T), q)


if hasattr(linalg, "solve_lyapunov"):
    composed(linalg.solve_lyapunov)(_lyapunov)


@composed(linalg.solve_discrete_lyapunov)
def _discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    n = np.shape(a)[0]
    return np.reshape(np.linalg.solve(made(np.eye, a, n * n) - np.kron(a, np.conj(a)), np.reshape(q, (-1,))), (n, n))


# Least squares, and eigenvalues.


@composed(linalg.lstsq)
def _lstsq(
    a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:  # fmt: skip
    a, b = arrays(a, b)
    _square("lstsq", a)
    x, _, rank, s = np.linalg.lstsq(a, b, np.finfo(float).eps if cond is None else cond)
    m, n = np.shape(a)
    off = b - a @ x if m > n and rank == n else np.zeros((0, 0))
    left = np.sum(np.abs(off) ** 2, axis=0)
    return x, left, rank, None if lapack_driver == "gelsy" else s


@composed(linalg.qr)
def _qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if pivoting or mode == "raw":
        raise refused("linalg.qr", "pivoting, or mode='raw'", "leave it out")
    if mode == "full" and np.shape(a)[-2] > np.shape(a)[-1]:
        raise refused("linalg.qr", "more rows than columns", "take mode='economic'")
    found = np.linalg.qr(a, "r" if mode == "r" else "reduced")
    return (found,) if mode == "r" else tuple(found)


def _plain_problem(name: str, b: Any, **others: Any) -> None:
    if b is not None or any(others.values()):
        raise refused(f"linalg.{name}", "b=, left= or homogeneous_eigvals=", "take np.linalg.solve(b, a) in place of a")


@composed(linalg.eig)
def _eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    _plain_problem("eig", b, left=left, homogeneous=homogeneous_eigvals)
    if not right:
        return np.linalg.eigvals(a) + 0j
    w, v = np.linalg.eig(a)
    return w + 0j, v


@composed(linalg.eigvals)
def _eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    _plain_problem("eigvals", b, homogeneous=homogeneous_eigvals)
    return np.linalg.eigvals(a) + 0j


@composed(linalg.eigh_tridiagonal)
def _eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    d, e = arrays(d, e)
    if not eigvals_only or select not in ("a", 0):
        raise refused("linalg.eigh_tridiagonal", "eigenvectors, or select=", "take np.linalg.eigh of the whole matrix")
    return np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1))


@composed(linalg.pinvh)
def _pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    if return_rank or atol is not None:
        raise refused("linalg.pinvh", "atol= or return_rank=", "leave it out")
    rest = np.tril(a, -1) if lower else np.triu(a, 1)
    whole = rest + np.conj(rest.T) + np.diag(np.real(np.diagonal(a)))
    return np.linalg.pinv(whole, rtol, True)


# Functions of matrices.


@primitive("x", opaque, may_raise=True, types=lambda x: LENGTHS if x.dtype.kind == "c" else KIND)
def logm(x: Any) -> Any:
    """`linalg.logm`, which does not dispatch."""
    return scipy.linalg.logm(x)


def _block_back(function: Callable[[Any], Any], g: Any, x: Any) -> Any:
    """The cotangent of `x`: the upper right block of the function of [[xᵀ, g], [0, xᵀ]]."""
    n = np.shape(x)[-1]
    above = np.concatenate([x.T, g], axis=1)
    below = np.concatenate([np.zeros_like(x.T), x.T], axis=1)
    return function(np.concatenate([above, below]))[:n, n:]


rule(logm, x=lambda g, x: _block_back(logm, g, x))


@composed(linalg.logm)
def _logm(A: Any, disp: Any = True) -> Any:
    _square("logm", A)
    wide = np.result_type(A, np.float64)  # SciPy gives this, and warns of less
    return logm(A if A.dtype == wide else A.astype(wide))


def _wave(A: Any) -> tuple[Any, Any]:
    """The cosine and the sine."""
    if A.dtype.kind != "c":
        found = expm(1j * A)
        return np.real(found), np.imag(found)
    up, down = expm(1j * A), expm(-1j * A)
    return 0.5 * (up + down), -0.5j * (up - down)


def _growth(A: Any) -> tuple[Any, Any]:
    """The hyperbolic cosine and sine."""
    up, down = expm(A), expm(-A)
    return 0.5 * (up + down), 0.5 * (up - down)


composed(linalg.cosm)(lambda A: _wave(A)[0])
composed(linalg.sinm)(lambda A: _wave(A)[1])
composed(linalg.tanm)(lambda A: np.linalg.solve(*_wave(A)))
composed(linalg.coshm)(lambda A: _growth(A)[0])
composed(linalg.sinhm)(lambda A: _growth(A)[1])
composed(linalg.tanhm)(lambda A: np.linalg.solve(*_growth(A)))


@composed(linalg.expm_frechet)
def _expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    A, E = arrays(A, E)
    n = np.shape(A)[0]
    found = expm(np.concatenate([np.concatenate([A, E], axis=1), np.concatenate([np.zeros_like(A), A], axis=1)]))
    return (found[:n, :n], found[:n, n:]) if compute_expm else found[:n, n:]


@composed(linalg.fractional_matrix_power)
def _power(A: Any, t: Any) -> Any:
    if isinstance(t, int) or (isinstance(t, float) and t.is_integer()):
        return np.linalg.matrix_power(A, int(t))
    return expm(t * logm(A))


@composed(linalg.polar)
def _polar(a: Any, side: str = "right") -> Any:
    """The unitary factor and the positive one, a square root."""
    _square("polar", a)
    m, n = np.shape(a)
    flipped = np.conj(a.T)
    if (m < n) if side == "right" else (m > n):
        raise refused("linalg.polar", f"side={side!r} of a matrix of {m} x {n}", "take the other side")
    if side == "right":
        p = sqrtm(flipped @ a)
        return np.conj(np.linalg.solve(p, flipped).T), p
    p = sqrtm(a @ flipped)
    return np.linalg.solve(p, a), p


@composed(linalg.orthogonal_procrustes)
def _procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    A, B = arrays(A, B)
    u, p = _polar(A.T @ B)
    return u, np.trace(p)
