"""np.linalg's functions that are compositions of others, and such forms of svd and qr."""

from __future__ import annotations

import math
from typing import Any

from ...unpatched import np
from ..batching import of_matrices
from ..errors import NoRuleError
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, composed, forms, op, rule, singular_at, undifferentiable
from ..result_types import LENGTHS
from .contraction import conj, flip
from .decompositions import column, row
from .norms import norm_back
from .support import happens

QRResult: Any = type(np.linalg.qr(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))


@forms(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Without the vectors the singular values alone; of a Hermitian matrix what eigh gives, in another order."""
    if not hermitian:
        return NotImplemented if compute_uv else np.linalg.svdvals(a)
    if not compute_uv:
        return np.flip(np.sort(np.abs(np.linalg.eigvalsh(a))), -1)
    w, u = np.linalg.eigh(a)
    order = np.flip(np.argsort(np.abs(w)), -1)
    one = w.dtype.type(1)
    sign = np.take_along_axis(np.where(np.signbit(w), -one, one), order, axis=-1)
    s = np.take_along_axis(np.abs(w), order, axis=-1)
    u = np.take_along_axis(u, order[..., None, :], axis=-1)
    return SVDResult(u, s, conj(np.swapaxes(u * sign[..., None, :], -1, -2)))


@forms(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """R alone is that of both; what LAPACK leaves has no rule."""
    if mode == "r":
        return np.linalg.qr(a)[1]
    if mode in ("reduced", "complete"):
        return NotImplemented
    raise NoRuleError(
        f"np.linalg.qr with mode={mode!r} gives LAPACK's own form, which has no gradient rule; use mode='reduced' or 'r'"
    )


op(np.linalg.cond, "x, p=None", Kind.opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(
    np.linalg.cond,
    x=lambda g, x, p, out: cond_back(np.expand_dims(_real(g), (-2, -1)), x, p, np.expand_dims(_real(out), (-2, -1))),
)


singular_at(np.linalg.cond, x=lambda x, p: share_ends(x, p))


def share_ends(x: Any, p: Any) -> Any:
    """Tell where the greatest or the least singular value stands there twice, and a condition number is made of the two."""
    s = np.linalg.svdvals(x) if p is None or p in (2, -2) else None
    if s is None or np.shape(s)[-1] < 2:
        return False
    return np.expand_dims((s[..., 0] == s[..., 1]) | (s[..., -1] == s[..., -2]), (-2, -1))


def _real(x: Any) -> Any:
    """The number itself, of which NumPy 2.0 makes a complex one where the matrix is complex."""
    return np.real(x) if x.dtype.kind == "c" else x


def cond_back(g: Any, x: Any, p: Any, out: Any) -> Any:
    """The cotangent under the greatest singular value over the least, or the norm of the matrix times that of its inverse."""
    if p is None or p in (2, -2):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        over, under = (-1, 0) if p == -2 else (0, -1)
        if happens(s[..., under] == 0):
            raise np.linalg.LinAlgError("the condition number of a singular matrix has no gradient")
        of_over, of_under = (conj(column(u[..., k]) * row(vh[..., k, :])) for k in (over, under))
        return g / column(row(s)[..., under]) * (of_over - out * of_under)
    inverse = np.linalg.inv(x)
    one, its = (np.linalg.norm(m, p, axis=(-2, -1), keepdims=True) for m in (x, inverse))
    of_inverse = norm_back(g * one, inverse, its, p, (-2, -1), True)
    return norm_back(g * its, x, one, p, (-2, -1), True) - flip(inverse) @ of_inverse @ flip(inverse)


@composed(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of the matrix whose rows are the first `ind` axes."""
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows, columns = a.shape[:ind], a.shape[ind:]
    return np.reshape(np.linalg.inv(np.reshape(a, (math.prod(columns), -1))), (*columns, *rows))


@composed(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution of the equation whose matrix has as columns the axes that `b` lacks."""
    if axes is not None:
        order = list(range(np.ndim(a)))
        for k in axes:
            order.remove(k)
            order.append(k)
        a = np.transpose(a, order)
    shape = np.shape(a)[-(np.ndim(a) - np.ndim(b)) :]
    n = math.prod(shape)
    if math.prod(np.shape(a)) != n * n:
        raise np.linalg.LinAlgError(
            f"np.linalg.tensorsolve needs a square matrix, but the axes of the unknown have {n} elements and the others "
            f"{math.prod(np.shape(a)) // n}"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (n, n)), np.ravel(b)), shape)


@composed(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """np.vecdot along an axis."""
    if axis == -1 or 0 in (np.ndim(x1), np.ndim(x2)):
        return np.vecdot(x1, x2)
    return np.vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))


undifferentiable(np.linalg.matrix_rank, "x, tol=None, hermitian=False, *, rtol=None", Kind.opaque, memory=NEW, types=LENGTHS)
batching(np.linalg.cond, np.linalg.matrix_rank)(of_matrices)
