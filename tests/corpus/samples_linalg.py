"""Samples of linear algebra: general eigenvalues, least squares, the modes of qr and svd, forms of einsum, norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradscribe.runtime.rules import compositions, eigen, least_squares, linalg

from samples import Sample
from samples_arrays import MASK, SS, M, S, T, V, phases, spd, wide

L = (4, 3)  # more rows than columns


def apart(x: Any) -> Any:
    """A square matrix whose eigenvalues are real and far from each other."""
    return 0.1 * x + np.diag(np.arange(1.0, 1.0 + x.shape[-1])).astype(x.dtype)


def function(w: Any, v: Any) -> Any:
    """What eigenvalues and eigenvectors say whatever phases the vectors have: the matrix sine, and sizes."""
    return (v * np.sin(w)[..., None, :]) @ np.linalg.inv(v) + np.abs(v)


def solution(x: Any, y: Any) -> Any:
    """All that lstsq tells but the rank."""
    found, residuals, _, s = np.linalg.lstsq(x, y)
    return found * np.sum(np.sin(s)) + np.sum(np.cos(residuals))


GENERAL = [
    Sample(eigen.complex_eig, ((S,), (SS,)), call=lambda x: function(*np.linalg.eig(x)), complex=True),
    Sample(eigen.complex_eig, ((S,), (SS,)), call=lambda x: function(*np.linalg.eig(apart(x))), complex=True),
    Sample(eigen.complex_eig, ((S,),), call=lambda x: np.abs(np.linalg.eig(x).eigenvectors), complex=True),
    Sample(eigen.complex_eig, ((S,), (SS,)), call=lambda x: np.linalg.eig(apart(x))[0]),
    Sample(eigen.complex_eigvals, ((S,), (SS,)), call=lambda x: np.linalg.eigvals(x) ** 3, complex=True),
    Sample(eigen.complex_eigvals, ((S,), (SS,)), call=lambda x: np.linalg.eigvals(apart(x)), complex=True),
    Sample(np.linalg.matrix_rank, ((M,), (T,), (V,)), differentiable=False, order=0, finite=True),
]

EQUATIONS = [
    Sample(least_squares.least_squares, ((L, (4,)), (L, (4, 2)), (M, (3, 2)), (S, (3,))), complex=True, finite=True,
           call=lambda x, y: np.linalg.lstsq(x, y)[0]),
    Sample(least_squares.least_squares, ((L, (4,)), (L, (4, 2))), call=solution, complex=True, finite=True),
    Sample(least_squares.least_squares, ((L, (4, 2)),), call=lambda x, y: np.linalg.lstsq(x, y, rcond=0.01)[1], finite=True),
    Sample(np.linalg.solve, (((4, 4), (2, 2)),), complex=True,
           call=lambda x, y: np.linalg.tensorsolve(np.reshape(wide(x), (2, 2, 2, 2)), y)),
    Sample(np.linalg.solve, (((4, 4), (2, 2)),), call=lambda x, y: np.linalg.tensorsolve(np.reshape(x, (4, 2, 2)), y, axes=(0,))),
    Sample(np.linalg.inv, (((4, 4),),), call=lambda x: np.linalg.tensorinv(np.reshape(wide(x), (2, 2, 4)), 2), complex=True),
    Sample(np.linalg.inv, (((4, 4),),), call=lambda x: np.linalg.tensorinv(np.reshape(wide(x), (4, 2, 2)), ind=1)),
    Sample(np.linalg.pinv, ((L,),), call=lambda x: np.linalg.pinv(x, rtol=1e-9), domain=(0.5, 3.0), order=1, finite=True),
    Sample(np.linalg.pinv, ((S,),), call=lambda x: np.linalg.pinv(spd(x), hermitian=True), order=1, finite=True),
]  # fmt: skip

FACTORS = [
    Sample(np.linalg.qr, ((M,), ((2, 2, 3),)), call=lambda x: np.linalg.qr(x)[0] @ np.sin(np.linalg.qr(x)[1])),
    Sample(np.linalg.qr, ((S,), (L,), (M,)), call=lambda x: np.abs(np.linalg.qr(x)[1]), complex=True),
    Sample(np.linalg.qr, ((S,), (L,), (M,)), call=lambda x: np.abs(np.linalg.qr(x).Q), complex=True),
    Sample(np.linalg.qr, ((S,), (L,), (M,)), call=lambda x: np.linalg.qr(x, mode="r")),
    Sample(np.linalg.qr, ((L,),), call=lambda x: np.linalg.qr(x, "complete").R),
    Sample(np.linalg.qr, ((M,), (S,)), call=lambda x: np.linalg.qr(x, "complete").Q),
    Sample(np.linalg.svdvals, ((M,), (T,)), call=lambda x: np.linalg.svd(x, compute_uv=False), complex=True, finite=True),
    Sample(np.linalg.cond, ((M,), (T,)), kwargs=({}, {"p": -2}), complex=True, finite=True),
    *[Sample(np.linalg.cond, ((S,), (SS,)), call=lambda x, p=p: np.linalg.cond(wide(x), p), complex=True, finite=True)
      for p in (1, -1, 2, np.inf, -np.inf, "fro", "nuc")],
    Sample(np.linalg.eigh, ((S,),), call=lambda x: phases(*np.linalg.svd(spd(x) - 4 * np.eye(3), hermitian=True)), complex=True,
           finite=True),
    Sample(np.linalg.eigvalsh, ((S,),), call=lambda x: np.linalg.svd(spd(x) - 4 * np.eye(3), False, False, True), complex=True,
           finite=True),
    Sample(np.linalg.cholesky, ((SS,),), call=lambda x: np.linalg.cholesky(spd(x), upper=True), complex=True),
]  # fmt: skip

CONTRACTIONS = [
    *[
        Sample(np.einsum, (shapes,), call=lambda *xs, lists=lists, **k: np.einsum(
            *[part for pair in zip(xs, lists, strict=False) for part in pair], *lists[len(xs):], **k), complex=True)
        for lists, shapes in (
            (([0, 1], [1, 2], [0, 2]), (M, (4, 2))), (([1, 0], [0, 2]), (M, (4, 2))), (([0, 0],), (S,)),
            (([Ellipsis, 0, 1], [1, 2], [Ellipsis, 2]), (T, (4, 5))), (([40, 1], [1, 30], [40, 30]), (M, (4, 2))),
            (([0, 1], [0, 1], []), (M, M)),
            (([Ellipsis, 0, 1], [1, 2], [Ellipsis, 2]), ((2, 3, 1), (4, 1))), (([0, 0], [0], [0]), ((1, 1), (3,))),
        )
    ],
    *[
        Sample(np.einsum, ((M, (4, 2), (2, 3)),), call=lambda *xs, way=way: np.einsum("ij,jk,kl->il", *xs, optimize=way))
        for way in ("greedy", "optimal", ["einsum_path", (0, 1), (0, 1)])
    ],
    Sample(np.einsum, ((S, V),), call=lambda x, y: np.einsum("i i , ...->...", x, y)),
    Sample(np.vecdot, ((M, (3, 1)), (T, M)), call=lambda x, y: np.linalg.vecdot(x, y, axis=-2), complex=True),
    Sample(np.vecdot, ((M, V),), call=np.linalg.vecdot, complex=True),
    *[Sample(f, (((3,), (2, 3)),), complex=True) for f in (np.cross, np.linalg.cross)],
]  # fmt: skip

NORMS = [
    *[Sample(np.linalg.norm, ((V,), (M,)), call=lambda x, ord=ord: np.linalg.norm(x, ord, axis=0), complex=True, kinks=(0.0,))
      for ord in (-1, -2, 0.5, 4)],
    *[Sample(np.linalg.norm, ((T,),), kwargs=({"ord": ord, "axis": (0, 2), "keepdims": True}, {"ord": ord, "axis": (2, 1)}),
             complex=True, kinks=(0.0,), finite=True) for ord in (1, -1, np.inf, -np.inf, 2, -2, "fro", "nuc", None)],
    *[Sample(np.linalg.matrix_norm, ((T,),), kwargs=({"ord": ord}, {"ord": ord, "keepdims": True}), complex=True, kinks=(0.0,),
             finite=True) for ord in (1, -1, np.inf, -np.inf, 2, -2)],
    *[Sample(np.linalg.vector_norm, ((M,), (T,)), kwargs=({"ord": ord, "axis": -1}, {"ord": ord, "axis": (0, 1)}), complex=True,
             kinks=(0.0,)) for ord in (1, 2, 3, np.inf, -np.inf, 0)],
]  # fmt: skip

POWERS = [
    Sample(np.linalg.det, (((1, 1),), ((2, 1, 1),))),
    Sample(linalg.adjugate, ((S,), (SS,)), call=lambda x: linalg.adjugate(wide(x), np.linalg.det(wide(x))), complex=True,
           finite=True, empty=False),
    Sample(compositions.over_weights, ((V, V), (M, M)), domain=((-2.0, 2.0), (0.5, 2.0))),
    *[Sample(np.linalg.matrix_power, ((S,), (SS,)), call=lambda x, n=n: np.linalg.matrix_power(wide(x), n), complex=True)
      for n in (-3, -1, 1, 2, 5)],
    Sample(np.linalg.multi_dot, ((V, (4, 2), (2, 3), (3,)),), call=lambda *xs: np.linalg.multi_dot(xs), complex=True),
    Sample(np.kron, ((T, (2, 2)), (M, V)), complex=True),
    Sample(np.where, ((S, S),), call=lambda x, y: np.where(MASK[:, :3], np.linalg.det(wide(x)), np.trace(y)), complex=True),
]  # fmt: skip

SAMPLES_LINALG: list[Sample] = [*GENERAL, *EQUATIONS, *FACTORS, *CONTRACTIONS, *NORMS, *POWERS]
