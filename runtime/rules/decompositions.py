"""cholesky, eigh, svd and qr. Symmetric input gets a symmetric cotangent; complex phases are taken as free (gauge)."""

from __future__ import annotations

import functools
from typing import Any

from ...unpatched import np
from ..arrays import PLACE
from ..batching import of_matrices
from ..hermitian import takes_hermitian
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, op, rule, singular_at
from ..result_types import LENGTHS
from .contraction import adjoint, conj

opaque = Kind.opaque


def column(s: Any) -> Any:
    """A vector as a column: what scales the rows of a matrix."""
    return np.expand_dims(s, -1)


def row(s: Any) -> Any:
    """A vector as a row: what scales the columns of a matrix."""
    return np.expand_dims(s, -2)


def gaps(s: Any) -> Any:
    """The differences s_j - s_i; infinite where they vanish, so that what is divided by them does too."""
    found = row(s) - column(s)
    return np.where(found == 0, np.inf, found)


def not_none(s: Any) -> Any:
    """Singular values, infinite where they are zero: the vectors that belong to those are arbitrary, and left out."""
    return np.where(s == 0, np.inf, s)


def plus(x: Any, y: Any) -> Any:
    """A sum in which None is nothing."""
    return y if x is None else x if y is None else x + y


def crowded(w: Any, g_w: Any, g_v: Any) -> Any:
    """Matrices with equal eigenvalues (or singular values), in order, that are told apart: by vectors, or by cotangents."""
    equal = np.abs(w[..., 1:] - w[..., :-1]) <= rounding(w)
    if g_v is None:
        equal = equal & (g_w[..., 1:] != g_w[..., :-1])
    return np.any(equal, axis=-1)[..., None, None]


def feels_phase(*parts: Any) -> Any:
    """Matrices whose complex vectors are asked for their phases, which are arbitrary: each a cotangent, vectors, their axis."""
    turn: Any = 0.0
    size: Any = None
    for g, v, axis in parts:
        if g is not None and v.dtype.kind == "c":
            n = min(v.shape[-2:])
            turn = turn + np.imag(np.sum(g * v, axis=axis))[..., :n]
            size = plus(size, np.sum(np.absolute(g * v), axis=axis)[..., :n])
    return False if size is None else np.any(np.absolute(turn) > 1e-6 * size, axis=-1)[..., None, None]


def at_zero(s: Any) -> Any:
    """Matrices with a singular value of zero."""
    return np.any(s <= rounding(s), axis=-1)[..., None, None]


def rounding(values: Any) -> Any:
    """How far singular values, or eigenvalues, may be from zero that are zero but for rounding."""
    top = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    return values.shape[-1] * np.finfo(values.dtype).eps * top


op(np.linalg.cholesky, "x, *, upper=False", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.cholesky, x=lambda g, out, upper: cholesky_back(
    *((adjoint(conj(g)), adjoint(out)) if upper else (conj(g), out))
))  # fmt: skip
takes_hermitian(np.linalg.cholesky, upper=lambda x, *, upper=False: bool(upper))


def cholesky_back(g: Any, low: Any) -> Any:
    """Murray's derivative of `low @ low.H`, by two triangular solves."""
    half = np.tril(adjoint(low) @ g / 2)
    by_lapack = _by_scipy("solve_cholesky") if np.ndim(low) == 2 and low.dtype == np.float64 and PLACE.module is None else None
    if by_lapack is not None and low.shape[0] > 0:
        return by_lapack(low, adjoint(by_lapack(low, half + adjoint(np.tril(half, -1)))))
    left = solved(low, half + adjoint(np.tril(half, -1)), True)
    full = solved(low, adjoint(left), True)
    return conj(full + adjoint(full)) / 2 if low.dtype.kind == "c" else full  # a real one is symmetric by now


def solved(factor: Any, y: Any, lower: bool) -> Any:
    """The solution of `adjoint(low) @ x = y`, or of `upper @ x = y`: by SciPy where it is, in a third of the time."""
    by_scipy = _by_scipy("solve_factor") if np.ndim(factor) == np.ndim(y) == 2 and PLACE.module is None else None
    if by_scipy is None:
        return np.linalg.solve(adjoint(factor) if lower else factor, y)
    return by_scipy(factor, y, (2 if factor.dtype.kind == "c" else 1) if lower else 0, lower)


@functools.cache
def _by_scipy(name: str) -> Any:
    """Return a solver of triangular systems that stands on SciPy; None where that is not."""
    try:
        from . import scipy_linalg
    except ImportError:
        return None
    return getattr(scipy_linalg, name)


def _reads_upper(x: Any, UPLO: str = "L") -> bool:
    return UPLO.upper() == "U"


op(np.linalg.eigh, "x, UPLO='L'", opaque, n_out=2, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.eigh, x=lambda g, out: eigh_back(g[0], g[1], out[0], out[1]))
takes_hermitian(np.linalg.eigh, upper=_reads_upper)
singular_at(np.linalg.eigh, x=lambda g, out: crowded(out[0], g[0], g[1]) | feels_phase((g[1], out[1], -2)))

op(np.linalg.eigvalsh, "x, UPLO='L'", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.eigvalsh, x=lambda g, x, UPLO: eigh_back(g, None, None, np.linalg.eigh(x, UPLO)[1]))
takes_hermitian(np.linalg.eigvalsh, upper=_reads_upper)
singular_at(np.linalg.eigvalsh, x=lambda g, out: crowded(out, g, None))


def eigh_back(g_w: Any, g_v: Any, w: Any, v: Any) -> Any:
    """The cotangent of a symmetric matrix, from those of its eigenvalues and eigenvectors."""
    total = None
    if g_w is not None:
        total = (v * row(g_w)) @ adjoint(v)
    if g_v is not None:
        turned = adjoint(v) @ conj(g_v)
        total = plus(total, v @ ((turned - adjoint(turned)) / (2 * gaps(w))) @ adjoint(v))
    return None if total is None else conj(total)


op(np.linalg.svdvals, "x", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.svdvals, x=lambda g, x: svd_back((None, g, None), x, np.linalg.svd(x, False), False))
singular_at(np.linalg.svdvals, x=lambda g, out: crowded(out, g, None) | at_zero(out))

op(np.linalg.svd, "x, full_matrices=True, *, hermitian=False", opaque, n_out=3, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.svd, x=lambda g, x, out, full_matrices: svd_back(g, x, out, full_matrices))
singular_at(np.linalg.svd, x=lambda g, out: (
    crowded(out[1], g[1], g[2] if g[0] is None else g[0])
    | at_zero(out[1])
    | feels_phase((g[0], out[0], -2), (g[2], -out[2], -1))
))  # fmt: skip


def svd_back(g: Any, x: Any, out: Any, full_matrices: bool) -> Any:
    """The cotangent of a matrix, from those of its singular values and vectors."""
    (g_u, g_s, g_vh), (u, s, vh) = g, out
    m, n = x.shape[-2:]
    if full_matrices and m != n:
        if g_u is not None or g_vh is not None:
            raise NotImplementedError(
                "np.linalg.svd of a matrix that is not square has no gradient rule for the vectors that "
                "full_matrices=True adds, which are arbitrary; pass full_matrices=False"
            )
        u, s, vh = np.linalg.svd(x, full_matrices=False)
    v = adjoint(vh)
    core = total = None
    if g_s is not None:
        total = (u * row(g_s)) @ vh
    if g_u is not None:
        g_u = conj(g_u)
        turned = adjoint(u) @ g_u
        core = (turned - adjoint(turned)) / gaps(s**2) * row(s)
        if x.dtype.kind == "c":  # the phase that u and v share, written as u's
            core = core + _diagonal(turned - adjoint(turned)) / column(2 * not_none(s))
        if m > n:
            total = plus(total, (g_u / row(not_none(s)) - u @ (turned / row(not_none(s)))) @ vh)
    if g_vh is not None:
        g_v = adjoint(conj(g_vh))
        turned = vh @ g_v
        core = plus(core, column(s) * ((turned - adjoint(turned)) / gaps(s**2)))
        if n > m:
            total = plus(total, u @ adjoint(g_v / row(not_none(s)) - v @ (turned / row(not_none(s)))))
    if core is not None:
        total = plus(total, u @ core @ vh)
    return None if total is None else conj(total)


def _diagonal(x: Any) -> Any:
    return np.tril(np.triu(x))


op(np.linalg.qr, "x, mode='reduced'", opaque, n_out=2, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.qr, x=lambda g, x, out, mode: qr_back(g[0], g[1], x, out[0], out[1], mode))
batching(
    np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.svd, np.linalg.qr
)(of_matrices)


def qr_back(g_q: Any, g_r: Any, x: Any, q: Any, r: Any, mode: str) -> Any:
    """The cotangent of a matrix from those of its factors.

    Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010); of a matrix with more columns
    than rows the first columns are decomposed, and Q turns the others.
    """
    m, n = x.shape[-2:]
    if mode == "complete" and m > n:
        if g_q is not None:
            raise NotImplementedError(
                "np.linalg.qr with mode='complete' has no gradient rule for the columns of Q that it adds, which are "
                "arbitrary; use mode='reduced'"
            )
        (q, r), g_r = np.linalg.qr(x), None if g_r is None else g_r[..., :n, :]
    g_q, g_r = (None if part is None else conj(part) for part in (g_q, g_r))
    if m >= n:
        return None if g_q is None and g_r is None else conj(qr_tall(g_q, g_r, q, r))
    g_left, g_right = (None, None) if g_r is None else (g_r[..., :m], g_r[..., m:])
    if g_right is not None:
        g_q = plus(g_q, x[..., m:] @ adjoint(g_right))
    left = qr_tall(g_q, g_left, q, r[..., :m])
    right = np.zeros_like(x[..., m:]) if g_right is None else q @ g_right
    return conj(np.concatenate([left, right], axis=-1))


def qr_tall(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """The same, conjugate, of a matrix with at least as many rows as columns."""
    inner: Any = None if g_r is None else r @ adjoint(g_r)
    if g_q is not None:
        inner = plus(inner, -(adjoint(g_q) @ q))
    inner = np.tril(inner, -1) + adjoint(np.tril(inner))
    return adjoint(solved(r, adjoint(plus(g_q, q @ inner)), False))
