"""Samples of the array ops: shaping, indexing, sorting, creation and linear algebra, a line or three each."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gradscribe.runtime.rules import creation, differences, indexing, linalg, shaping, support

from samples import Sample, dispatched

V, M, T = (4,), (3, 4), (2, 3, 4)  # a vector, a matrix, a stack of matrices
S, SS = (3, 3), (2, 3, 3)  # square ones
MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])
ROWS = np.array([2, 0, 0, 1])  # positions, one of them twice


def spd(x: Any) -> Any:
    """A symmetric positive definite matrix made of any square one; Hermitian for a complex one."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 3.0 * np.eye(x.shape[-1], dtype=x.dtype)


def wide(x: Any) -> Any:
    """A square matrix made well conditioned."""
    return x + 5.0 * np.eye(x.shape[-1], dtype=x.dtype)


def ramp(x: Any) -> Any:
    """A vector with elements far from each other, so that sorting has no ties near."""
    return x + 10.0 * np.reshape(np.argsort(np.argsort(np.sin(7.0 * np.arange(x.size)))), x.shape).astype(x.dtype)


def kw(*options: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The keyword cases, after the one without any."""
    return ({}, *options)


def shared(x: Any, w: Any) -> Any:
    """`x @ w` for each of three examples, with a copy of `w` for each."""
    return linalg.shared_matmul(x, np.broadcast_to(w, (3, *w.shape)))


VIEWS = [
    Sample(np.transpose, shapes=((M,), (T,))),
    Sample(np.transpose, shapes=((T,),), kwargs=({"axes": (2, 0, 1)}, {"axes": (-1, 0, 1)})),
    Sample(np.swapaxes, shapes=((T,),), call=lambda x: np.swapaxes(x, 0, -1)),
    Sample(np.matrix_transpose, shapes=((M,), (T,))),
    Sample(shaping.view_as_real, shapes=((V,), ((),)), call=lambda x: shaping.view_as_real(x * (1.0 - 2.0j))),
    Sample(
        shaping.view_as_complex, shapes=(((3, 2),), ((2,),)), call=lambda x: np.real(shaping.view_as_complex(x) ** 2)
    ),
    Sample(np.moveaxis, shapes=((T,),), call=lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    Sample(
        np.rollaxis, shapes=((T,),), call=lambda x, **k: np.rollaxis(x, 2, **k), kwargs=kw({"start": 1}, {"start": -1})
    ),
    Sample(
        np.reshape,
        shapes=((T,), ((1, 24),)),
        call=lambda x, **k: np.reshape(x, (4, -1), **k),
        kwargs=kw({"order": "F"}),
    ),
    Sample(np.ravel, shapes=((M,), (V,), ((),)), kwargs=kw({"order": "F"})),
    Sample(np.expand_dims, shapes=((M,), (V,)), kwargs=({"axis": 0}, {"axis": (0, -1)})),
    Sample(np.squeeze, shapes=(((1, 3, 1),), ((1, 3),)), kwargs=kw({"axis": 0})),
    Sample(np.atleast_1d, shapes=(((),), (V,))),
    Sample(np.atleast_2d, shapes=(((),), (V,), (M,))),
    Sample(np.atleast_3d, shapes=(((),), (V,), (M,))),
    Sample(np.broadcast_to, shapes=((V,), ((3, 1),), ((),)), call=lambda x: np.broadcast_to(x, (2, 3, 4))),
    Sample(np.broadcast_arrays, shapes=((V, (3, 1)),), call=lambda x, y: np.multiply(*np.broadcast_arrays(x, y))),
    Sample(np.broadcast_arrays, shapes=((V, (3, 1)),), call=lambda x, y: np.broadcast_arrays(x, y)[1]),
    Sample(np.copy, shapes=((M,),)),
    Sample(np.flip, shapes=((T,),), kwargs=kw({"axis": 1}, {"axis": (0, 2)})),
    Sample(np.fliplr, shapes=((M,),)),
    Sample(np.flipud, shapes=((M,), (V,))),
    Sample(np.rot90, shapes=((M,),), kwargs=kw({"k": 2}, {"k": -1, "axes": (1, 0)})),
    Sample(np.roll, shapes=((M,),), call=lambda x, **k: np.roll(x, 2, **k), kwargs=kw({"axis": 1})),
    Sample(np.roll, shapes=((M,),), call=lambda x: np.roll(x, (1, -2), axis=(0, 1))),
]

JOINS = [
    Sample(
        np.concatenate,
        shapes=((M, (2, 4), (1, 4)),),
        call=lambda *xs, **k: np.concatenate(xs, **k),
        kwargs=kw({"axis": None}),
    ),
    Sample(np.concatenate, shapes=((T, (2, 1, 4)),), call=lambda x, y: np.concatenate([x, y], axis=-2)),
    Sample(np.concatenate, shapes=((T,),), call=lambda x: np.concatenate(x, axis=1)),
    Sample(np.append, shapes=((M, V), (V, ())), call=lambda x, y: np.append(x, y)),
    Sample(np.append, shapes=((M, (3, 2)),), kwargs=({"axis": 1},)),
    Sample(
        np.stack,
        shapes=((M, M), (V, V)),
        call=lambda x, y, **k: np.stack([x, y], **k),
        kwargs=kw({"axis": 1}, {"axis": -1}),
    ),
    Sample(np.stack, shapes=((T,),), call=lambda x: np.stack(x, axis=2)),
    Sample(np.vstack, shapes=((M, V), (V, V)), call=lambda x, y: np.vstack([x, y])),
    Sample(np.hstack, shapes=((V, ()), (M, (3, 1))), call=lambda x, y: np.hstack((x, y))),
    Sample(np.dstack, shapes=((V, V), (M, (3, 4, 2))), call=lambda x, y: np.dstack([x, y])),
    Sample(np.column_stack, shapes=((V, V), (M, (3,))), call=lambda x, y: np.column_stack([x, y])),
    Sample(
        np.meshgrid,
        shapes=((V, (3,)),),
        call=lambda x, y, **k: operator.mul(*np.meshgrid(x, y, **k)),
        kwargs=kw({"indexing": "ij"}, {"sparse": True}),
    ),
    Sample(np.meshgrid, shapes=((V, (3,), (2,)),), call=lambda x, y, z: np.meshgrid(x, y, z)[1]),
]

CUTS = [
    Sample(np.split, shapes=((V,), ((6, 2),)), call=lambda x: operator.mul(*np.split(x, 2))),
    Sample(np.split, shapes=((T,),), call=lambda x: np.split(x, [1, 3], axis=-1)[1]),
    Sample(np.split, shapes=((V,),), call=lambda x: operator.mul(*np.split(x, [3, 1])[::2])),
    Sample(np.array_split, shapes=(((7,),),), call=lambda x: np.array_split(x, 3)[0][:2] * np.array_split(x, 3)[2]),
    Sample(np.vsplit, shapes=(((4, 2),),), call=lambda x: operator.mul(*np.vsplit(x, 2))),
    Sample(np.hsplit, shapes=((M,), (V,)), call=lambda x: operator.mul(*np.hsplit(x, 2))),
    Sample(np.dsplit, shapes=((T,),), call=lambda x: np.dsplit(x, 2)[1]),
    Sample(np.tril, shapes=((M,), (T,)), kwargs=kw({"k": -1}, {"k": 1})),
    Sample(np.triu, shapes=((M,), (T,)), kwargs=kw({"k": -1}, {"k": 1})),
    Sample(np.diag, shapes=((V,), (M,), ((4, 2),)), kwargs=kw({"k": 1}, {"k": -1})),
    Sample(np.diagflat, shapes=((M,), (V,)), kwargs=kw({"k": -1})),
    Sample(
        np.lib.stride_tricks.sliding_window_view,
        shapes=((M,),),
        call=lambda x, window_shape=(2, 2), **k: np.lib.stride_tricks.sliding_window_view(x, window_shape, **k),
        kwargs=kw({"window_shape": 3, "axis": -1}, {"axis": (1, 0)}, {"axis": (1, 1)}),
    ),
    Sample(np.diagonal, shapes=((M,), (T,)), kwargs=kw({"offset": 1}, {"offset": -1, "axis1": -1, "axis2": 0})),
    Sample(np.trace, shapes=((M,), (T,)), kwargs=kw({"offset": 1}, {"offset": -1, "axis1": -1, "axis2": 0})),
    Sample(
        support.place_diagonal, shapes=(((3,),),), call=lambda v: support.place_diagonal(v, 1, 0, 1, (3, 5), v.dtype)
    ),
    Sample(
        support.place_main_diagonal, shapes=(((3,),),), call=lambda v: support.place_main_diagonal(v, (3, 5), v.dtype)
    ),
]

REPEATS = [
    Sample(np.repeat, shapes=((M,),), call=lambda x, **k: np.repeat(x, 2, **k), kwargs=kw({"axis": 0}, {"axis": -1})),
    Sample(np.repeat, shapes=((V,), (M,)), call=lambda x: np.repeat(x, [2, 0, 1, 3], axis=-1)),
    Sample(shaping.sum_repeats, shapes=((V,),), call=lambda g: shaping.sum_repeats(g, [1, 0, 3], 0, (3,), g.dtype)),
    Sample(np.tile, shapes=((M,), (V,), (T,)), call=lambda x: np.tile(x, (2, 3))),
    Sample(np.tile, shapes=((M,), ((),)), call=lambda x: np.tile(x, 3)),
    Sample(np.pad, shapes=((M,),), call=lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=3.0)),
    Sample(
        np.pad,
        shapes=((V,), (M,)),
        call=lambda x, **k: np.pad(x, 2, **k),
        kwargs=({"mode": "edge"}, {"mode": "wrap"}, {"mode": "reflect"}, {"mode": "symmetric"}),
    ),
    Sample(shaping.fold_pad, shapes=(((6,),),), call=lambda g: shaping.fold_pad(g, ((1, 2),), "edge", (3,), g.dtype)),
]

INDEX = [
    Sample(operator.getitem, shapes=((T,),), call=lambda x: x[1]),
    Sample(operator.getitem, shapes=((M,),), call=lambda x: x[1:, ::-1]),
    Sample(operator.getitem, shapes=((T,),), call=lambda x: x[..., None, -1] * x[0, ::-2, None, 1, None][:1]),
    Sample(operator.getitem, shapes=((M,), (V,)), call=lambda x: x[[0, 2, 0]]),
    Sample(operator.getitem, shapes=((M,),), call=lambda x: x[ROWS, ::2] * np.sum(x[ROWS, np.array([[1], [2]])])),
    Sample(operator.getitem, shapes=((M,),), call=lambda x: x[MASK]),
    Sample(operator.getitem, shapes=((M,),), call=lambda x: x[1:, MASK[0]] * x[MASK[:, 0], None][:, :, :3][:, 0]),
    Sample(operator.getitem, shapes=((M,),), call=lambda x: x[x > 0.25], kinks=(0.25,)),
    Sample(indexing.place, shapes=(((2, 4),), (V,)), call=lambda v: indexing.place(v, slice(1, 3), (3, 4), v.dtype)),
    Sample(indexing.add_place, shapes=((V,),), call=lambda v: indexing.add_place(v, 1, (3, 4), v.dtype)),
    Sample(indexing.place, shapes=((V,),), call=lambda v: indexing.place(v, ROWS, (3,), v.dtype)),
    Sample(indexing.scatter, shapes=((V,),), call=lambda v: indexing.scatter(v, ROWS, (3,), v.dtype)),
    Sample(
        indexing.scatter_rows,
        shapes=(((4, 3),), ((4, 2, 2),)),
        call=lambda v: indexing.scatter_rows(v, ROWS, (3, *v.shape[1:]), v.dtype),
    ),
    Sample(indexing.index_add, shapes=((M, V), (M, ())), call=lambda x, v: indexing.index_add(np.copy(x), 1, v)),
    Sample(indexing.index_add_at, shapes=(((3,), V),), call=lambda x, v: indexing.index_add_at(np.copy(x), ROWS, v)),
    Sample(
        indexing.index_increase, shapes=(((3,), V),), call=lambda x, v: indexing.index_increase(np.copy(x), ROWS, v)
    ),
    Sample(indexing.index_increase, shapes=((M, V),), call=lambda x, v: indexing.index_increase(np.copy(x), 1, v)),
    Sample(
        indexing.index_set,
        shapes=((M, (2, 1)), (M, (1, 1, 4)), (M, ())),
        call=lambda x, v: indexing.index_set(x, slice(1, 3), v),
    ),
    Sample(indexing.index_set, shapes=(((3,), V),), call=lambda x, v: indexing.index_set(x, ROWS, v)),
    Sample(indexing.index_set, shapes=((M, (7,)), (M, ())), call=lambda x, v: indexing.index_set(x, MASK, v)),
    Sample(indexing.read_last, shapes=(((3,),),), call=lambda x: indexing.read_last(x, ROWS)),
    Sample(
        np.take, shapes=((M,),), call=lambda x, **k: np.take(x, [2, 0, -1], **k), kwargs=kw({"axis": 0}, {"axis": -1})
    ),
    Sample(
        np.take,
        shapes=((M,),),
        call=lambda x, **k: np.take(x, ROWS + 2, **k),
        kwargs=({"mode": "wrap", "axis": 0}, {"mode": "clip"}),
    ),
    Sample(np.take_along_axis, shapes=((M,),), call=lambda x: np.take_along_axis(x, ROWS[None, :, None][0, :3], 1)),
    Sample(np.take_along_axis, shapes=((M,),), call=lambda x: np.take_along_axis(x, ROWS, None)),
    Sample(
        indexing.scatter_along,
        shapes=(((3, 2),),),
        call=lambda v: indexing.scatter_along(v, np.array([[0, 0], [1, 3], [2, 0]]), 1, (3, 4), v.dtype),
    ),
    Sample(
        np.compress,
        shapes=((M,),),
        call=lambda x, **k: np.compress([True, False, True], x, **k),
        kwargs=kw({"axis": 0}),
    ),
    Sample(np.extract, shapes=((M,),), call=lambda x: np.extract(MASK, x)),
    Sample(np.delete, shapes=((M,),), call=lambda x, **k: np.delete(x, [0, 2], **k), kwargs=kw({"axis": 1})),
    Sample(indexing.undelete, shapes=(((2,),),), call=lambda g: indexing.undelete(g, [1], 0, (3,), g.dtype)),
]

SORTS = [
    Sample(
        np.sort, shapes=((V,), (M,)), call=lambda x, **k: np.sort(ramp(x), **k), kwargs=kw({"axis": 0}, {"axis": None})
    ),
    Sample(np.sort, shapes=((V,),)),
    Sample(
        np.partition, shapes=((V,), (M,)), call=lambda x, **k: np.partition(ramp(x), 2, **k), kwargs=kw({"axis": None})
    ),
    Sample(np.argsort, shapes=((M,),), differentiable=False),
    Sample(np.argpartition, shapes=((M,),), call=lambda x: np.argpartition(x, 2), differentiable=False),
    Sample(
        np.searchsorted, shapes=((V, (3,)),), call=lambda x, v: np.searchsorted(np.sort(x), v), differentiable=False
    ),
    Sample(np.nonzero, shapes=((M,),), call=lambda x: np.nonzero(x)[0], differentiable=False),
    Sample(np.flatnonzero, shapes=((M,),), differentiable=False),
    Sample(np.argwhere, shapes=((M,),), differentiable=False),
]

DIFFERENCES = [
    Sample(np.diff, shapes=((V,), (M,)), kwargs=kw({"n": 2}, {"n": 0}, {"n": 6}, {"axis": 0})),
    Sample(np.diff, shapes=((V,), (M,)), call=lambda x: np.diff(x, 2, prepend=x.dtype.type(1), append=x.dtype.type(2))),
    Sample(np.trapezoid, shapes=((V,), (M,)), kwargs=kw({"dx": 0.5}, {"axis": 0})),
    Sample(np.trapezoid, shapes=((M, V), (M, M))),
    Sample(differences.entry, shapes=(((3,),),), call=lambda x: differences.entry(x, ROWS)),
    Sample(
        np.interp,
        shapes=((V, (3,)),),
        call=lambda x, fp: np.interp(x, [-1.0, 0.5, 1.0], fp),
        kinks=(-1.0, 0.5, 1.0),
    ),
    Sample(
        np.interp,
        shapes=((V, (2,)),),
        call=lambda x, fp: np.interp(x, [-1.0, 1.0], fp, left=0.0),
        kinks=(-1.0, 1.0),
    ),
    Sample(
        np.interp,
        shapes=((V, (), ()),),
        call=lambda x, left, right: np.interp(x, [-0.3, 0.3], [0.5, 2.0], left=left, right=right),
        kinks=(-0.3, 0.3),
    ),
]

CREATION = [
    Sample(np.full, shapes=(((),), (V,)), call=lambda v: np.full((3, 4), v), scoped=True),
    Sample(
        np.full_like,
        shapes=(((),), (V,)),
        call=lambda v: np.full_like(np.zeros((3, 4), np.result_type(v)), v),
        scoped=True,
    ),
    Sample(np.array, shapes=((M,), ((),)), scoped=True),
    Sample(np.asarray, shapes=((M,),), scoped=True),
    Sample(np.asanyarray, shapes=((M,),), scoped=True),
    Sample(np.ascontiguousarray, shapes=((M,), ((),)), scoped=True),
    *[Sample(f, shapes=((M,), ((),)), call=dispatched(f)) for f in (np.array, np.asarray, np.asanyarray)],
    Sample(np.array, shapes=((V,),), call=dispatched(np.array), kwargs=({"ndmin": 2},)),
    Sample(np.asfortranarray, shapes=((M,),), scoped=True),
    Sample(np.linspace, shapes=(((), ()), (V, V)), kwargs=({"num": 5}, {"num": 4, "endpoint": False, "axis": -1})),
    Sample(creation.ramp_sum, shapes=(((5, 2),),), call=lambda x: creation.ramp_sum(x, 5, True, 0)),
    *[Sample(f, shapes=((M,),), differentiable=False) for f in (np.zeros_like, np.ones_like)],
    Sample(np.empty_like, shapes=((M,),), call=lambda x: np.isnan(np.empty_like(x)) & False, differentiable=False),
    *[
        Sample(f, shapes=((),), call=lambda f=f: f((2, 3)), differentiable=False)
        for f in (np.zeros, np.ones, np.indices)
    ],
    *[
        Sample(f, shapes=((),), call=lambda f=f: f(3), differentiable=False)
        for f in (np.arange, np.eye, np.identity, np.tri)
    ],
    *[
        Sample(f, shapes=((),), call=lambda f=f: f(4), differentiable=False)
        for f in (np.tril_indices, np.triu_indices, np.diag_indices, np.bartlett, np.blackman, np.hamming, np.hanning)
    ],
    *[
        Sample(f, ((),), call=lambda f=f: f(4), differentiable=False)
        for f in (
            np.polynomial.legendre.leggauss,
            np.polynomial.chebyshev.chebgauss,
            np.polynomial.hermite.hermgauss,
            np.polynomial.hermite_e.hermegauss,
            np.polynomial.laguerre.laggauss,
        )
    ],
    Sample(np.kaiser, shapes=((),), call=lambda: np.kaiser(4, 5.0), differentiable=False),
    Sample(
        np.logspace,
        shapes=(((), ()), (V, V)),
        kwargs=({"num": 5}, {"num": 4, "endpoint": False, "base": 2.0, "axis": -1}),
    ),
    Sample(
        np.geomspace,
        shapes=(((), ()), (V, V)),
        domain=(0.5, 2.0),
        kwargs=({"num": 5}, {"num": 4, "endpoint": False, "axis": -1}),
    ),
    Sample(np.empty, shapes=((),), call=lambda: np.empty((0, 3)), differentiable=False),
]

PRODUCTS = [
    Sample(np.matmul, shapes=((M, V), ((3,), M), (V, V), (M, (4, 2))), complex=True),
    Sample(np.matmul, shapes=((T, (4, 2)), (M, (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), (T, V), ((3,), T)), complex=True),
    Sample(operator.matmul, shapes=((M, (4, 2)), (M, V))),
    *[
        Sample(linalg.shared_matmul, shapes=(shapes,), call=shared, complex=True)
        for shapes in ((M, V), (M, (4, 2)), ((3, 2, 4), V), ((3, 2, 4), (4, 2)))
    ],
    Sample(
        np.dot,
        shapes=(((), M), (V, V), (M, V), (V, (4, 2)), (M, (4, 2)), (T, (5, 4, 2)), (V, (5, 4, 2)), (T, V)),
        complex=True,
    ),
    Sample(np.inner, shapes=(((), M), (V, V), (M, V), (V, M), (T, (5, 4)), (M, (2, 5, 4))), complex=True),
    Sample(np.vdot, shapes=((V, V), (M, (4, 3))), complex=True),
    Sample(np.vecdot, shapes=((V, V), (M, V), (T, M)), complex=True),
    Sample(np.outer, shapes=((V, (3,)), (M, V), ((), M)), complex=True),
    Sample(np.tensordot, shapes=((T, (3, 4, 5)), (M, M)), complex=True),
    Sample(
        np.tensordot,
        shapes=((T, (4, 5, 2)),),
        kwargs=({"axes": ((2, 0), (0, 2))}, {"axes": ((0, -1), (-1, 0))}, {"axes": 0}),
    ),
    Sample(np.tensordot, shapes=((T, (5, 3)),), kwargs=({"axes": (1, 1)},)),
    *[
        Sample(np.einsum, shapes=(shapes,), call=lambda *xs, text=text, **k: np.einsum(text, *xs, **k), complex=True)
        for text, shapes in (
            ("ij,jk->ik", (M, (4, 2))),
            ("ij,jk", (M, (4, 2))),
            ("ji", (M,)),
            ("ii", (S,)),
            ("ii->i", (S,)),
            ("iii->i", ((3, 3, 3),)),
            ("iji,k->jk", ((3, 2, 3), V)),
            ("ij->", (M,)),
            ("ij,k->i", (M, (2,))),
            ("i,i->", (V, V)),
            ("i,j", (V, (3,))),
            (",ij->ji", ((), M)),
            ("...ij,...jk->...ik", (T, (4, 5))),
            ("...i,...i", (T, M)),
            ("ij...,j->i...", (T, (3,))),
            ("i...->...", (T,)),
            ("bij,bj,b->i", (T, (2, 4), (2,))),
            ("i,i,i->i", (V, V, V)),
            ("ij,jk->ik", ((3, 1), (4, 2))),
            ("ii,ij->j", (S, M)),
        )
    ],
    Sample(np.einsum, shapes=((M, (4, 2), (2, 3)),), call=lambda *xs: np.einsum("ij,jk,kl->il", *xs, optimize=True)),
    Sample(np.kron, shapes=((M, (2, 2)), (V, M), (M, (2,)), ((), V)), complex=True),
    Sample(np.cross, shapes=(((3,), (3,)), ((4, 3), (3,)), ((2, 4, 3), (4, 3)))),
    Sample(np.cross, shapes=(((3, 4), (4, 3)),), kwargs=({"axisa": 0, "axisc": 0},)),
    Sample(np.cross, shapes=(((3, 4), (3, 4)), ((3, 4), (3, 1))), kwargs=({"axis": 0},)),
    Sample(np.linalg.multi_dot, shapes=((M, (4, 2), (2, 3)), ((3,), M, V)), call=lambda *xs: np.linalg.multi_dot(xs)),
    Sample(np.linalg.matmul, shapes=((M, (4, 2)),)),
    Sample(np.linalg.outer, shapes=((V, (3,)),)),
    Sample(np.linalg.tensordot, shapes=((T, (3, 4, 5)),)),
    Sample(np.linalg.cross, shapes=(((2, 3), (3,)),)),
    Sample(np.linalg.matrix_transpose, shapes=((T,),)),
    Sample(np.linalg.diagonal, shapes=((T,),), kwargs=kw({"offset": 1})),
    Sample(np.linalg.trace, shapes=((T,),), kwargs=kw({"offset": 1})),
]

MATRICES = [
    Sample(np.linalg.norm, shapes=((V,), (M,), (T,)), complex=True, kinks=(0.0,)),
    Sample(
        np.linalg.norm,
        shapes=((M,),),
        kwargs=({"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}),
        complex=True,
        kinks=(0.0,),
    ),
    *[
        Sample(np.linalg.norm, shapes=((V,), (M,)), kwargs=({"ord": ord, "axis": -1},), complex=True, kinks=(0.0,))
        for ord in (1, 2, 3, 1.5, np.inf, -np.inf, 0)
    ],
    *[
        Sample(
            np.linalg.norm, shapes=((M,), (T,)), kwargs=({"ord": ord, "axis": (-1, -2)},), complex=True, kinks=(0.0,)
        )
        for ord in (1, -1, np.inf, -np.inf, "fro")
    ],
    *[
        Sample(np.linalg.norm, shapes=((M,),), kwargs=({"ord": ord},), complex=True, finite=True)
        for ord in (2, -2, "nuc")
    ],
    Sample(
        np.linalg.vector_norm,
        shapes=((M,),),
        kwargs=kw({"axis": 0, "ord": 3}, {"ord": 1}, {"axis": (0, 1), "keepdims": True}),
    ),
    Sample(np.linalg.matrix_norm, shapes=((T,),), kwargs=kw({"ord": 1}), kinks=(0.0,)),
    Sample(np.linalg.matrix_norm, shapes=((T,),), kwargs=({"ord": "nuc", "keepdims": True},), finite=True),
    Sample(np.linalg.inv, shapes=((S,), (SS,)), call=lambda x: np.linalg.inv(wide(x)), complex=True),
    Sample(np.linalg.pinv, shapes=((M,), ((4, 3),), (T,)), domain=(0.5, 3.0), order=1, complex=True, finite=True),
    Sample(np.linalg.det, shapes=((S,), (SS,)), call=lambda x: np.linalg.det(wide(x)), complex=True),
    Sample(np.linalg.slogdet, shapes=((S,), (SS,)), call=lambda x: np.linalg.slogdet(wide(x))[1], complex=True),
    Sample(np.linalg.slogdet, shapes=((S,),), call=lambda x: operator.mul(*np.linalg.slogdet(wide(x))), complex=True),
    Sample(
        np.linalg.solve,
        shapes=((S, (3,)), (S, (3, 2)), (SS, (3, 2)), (SS, (3,)), (S, (2, 3, 2))),
        call=lambda x, y: np.linalg.solve(wide(x), y),
        complex=True,
    ),
    Sample(np.linalg.matrix_power, shapes=((S,), (SS,)), call=lambda x: np.linalg.matrix_power(x, 3)),
    Sample(np.linalg.matrix_power, shapes=((S,),), call=lambda x: np.linalg.matrix_power(wide(x), -2)),
    Sample(np.linalg.matrix_power, shapes=((S,),), call=lambda x: np.linalg.matrix_power(x, 0)),
    Sample(
        np.linalg.cholesky,
        shapes=((S,), (SS,)),
        call=lambda x, **k: np.linalg.cholesky(spd(x), **k),
        complex=True,
        kwargs=kw({"upper": True}),
    ),
    Sample(
        np.linalg.eigvalsh,
        shapes=((S,), (SS,)),
        call=lambda x, **k: np.linalg.eigvalsh(spd(x), **k),
        kwargs=kw({"UPLO": "U"}),
        complex=True,
    ),
    Sample(np.linalg.eigh, shapes=((S,), (SS,)), call=lambda x: np.linalg.eigh(spd(x))[0], complex=True),
    Sample(np.linalg.eigh, shapes=((S,), (SS,)), call=lambda x: np.linalg.eigh(spd(x))[1] ** 2),
    Sample(np.linalg.eigh, shapes=((S,), (SS,)), call=lambda x: gauge(*np.linalg.eigh(spd(x))), complex=True),
    Sample(np.linalg.svdvals, shapes=((M,), (T,)), complex=True, finite=True),
    Sample(np.linalg.svd, shapes=((M,), (S,)), call=lambda x: np.linalg.svd(x)[1], complex=True, finite=True),
    Sample(
        np.linalg.svd,
        shapes=((M,), ((4, 3),), (S,), (T,)),
        complex=True,
        finite=True,
        call=lambda x: phases(*np.linalg.svd(x, full_matrices=False)),
    ),
    Sample(
        np.linalg.svd,
        shapes=((M,), ((4, 3),)),
        call=lambda x: np.linalg.svd(x, full_matrices=False)[2] ** 2,
        finite=True,
    ),
    Sample(
        np.linalg.qr, shapes=((S,), ((4, 3),), ((2, 4, 3),)), call=lambda x: operator.matmul(*product(np.linalg.qr(x)))
    ),
    Sample(np.linalg.qr, shapes=((S,), ((4, 3),)), call=lambda x: np.linalg.qr(x)[1]),
]


def gauge(w: Any, v: Any) -> Any:
    """What eigenvalues and eigenvectors say whatever their phases: the matrix sine."""
    return (v * np.sin(w)[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2))


def phases(u: Any, s: Any, vh: Any) -> Any:
    """What a singular value decomposition says whatever its phases."""
    return (u * np.sin(s)[..., None, :]) @ vh


def product(qr: Any) -> Any:
    """Both factors, each changed, so that their product is not just the matrix again."""
    return qr[0], np.sin(qr[1])


SAMPLES_ARRAYS: list[Sample] = [
    *VIEWS,
    *JOINS,
    *CUTS,
    *REPEATS,
    *INDEX,
    *SORTS,
    *DIFFERENCES,
    *CREATION,
    *PRODUCTS,
    *MATRICES,
]
